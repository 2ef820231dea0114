"""What clients meet on a slave: refusals, reads, offsets, tables (probes P52 to P64), in the simulator."""

from __future__ import annotations

import json

import pytest

from reference_impl.environment import MS, SECOND
from reference_impl.wire.bodies import TopicConfigTable, read_consumer_offsets
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import read_json
from reference_impl.wire.frame import Command, encode_frame
from suites.conformance.broker.peer import answer, create_topic, max_offset, messages, offsets, pull, send
from suites.conformance.replication.pair import Pair, View, log_of, simulated

BUSY = "[REJECTREQUEST]system busy"
QUEUE = {"consumerGroup": "CG", "topic": "T", "queueId": 0}


def pair_with(count: int, *, seed: int = 1, **options: object) -> Pair:
    """*count* messages on both, and the topic too."""
    pair = simulated(seed, **options)
    create_topic(pair.master, "T")
    for number in range(count):
        assert send(pair.master, "T", b"%d" % number).code == 0
    pair.until(lambda: "T" in topics(pair.slave) and pair.has("broker-a-1", "T", count), 70 * SECOND)
    return pair


def topics(view: View) -> dict[str, object]:
    return dict(read_json(answer(view, Code.GET_ALL_TOPIC_CONFIG).body, TopicConfigTable).topic_config_table)


def committed(view: View) -> int:
    return int(answer(view, Code.QUERY_CONSUMER_OFFSET, **QUEUE).fields["offset"])


def commit(view: View, offset: int) -> None:
    assert answer(view, Code.UPDATE_CONSUMER_OFFSET, **QUEUE, commitOffset=offset).code == 0


# --- what it refuses ---


@pytest.mark.conformance("P52", "W46")
def test_p52_a_send_to_a_slave_is_refused_and_not_stored() -> None:
    pair = pair_with(1)
    before = log_of(pair, "broker-a-1")
    refused = send(pair.slave, "T")
    assert refused.code == 14
    assert log_of(pair, "broker-a-1") == before


@pytest.mark.conformance("P52", "W46")
def test_p52_the_refused_send_still_makes_the_topic_until_the_masters_tables_come() -> None:
    pair = pair_with(0)
    assert send(pair.slave, "New").code == 14
    assert "New" in topics(pair.slave)
    pair.sleep(11 * SECOND)
    assert "New" not in topics(pair.slave)


@pytest.mark.conformance("P52", "W46")
@pytest.mark.parametrize("code", [Code.SEND_MESSAGE_V2, Code.SEND_BATCH_MESSAGE])
def test_p52_5x_says_busy_before_it_looks(code: Code) -> None:
    pair = pair_with(0, release="5.3.3")
    refused = send(pair.slave, "New", code=code)
    assert (refused.code, (refused.remark or "")[: len(BUSY)]) == (2, BUSY)
    assert "New" not in topics(pair.slave)


@pytest.mark.parametrize(("release", "code"), [("4.9.7", 1), ("5.3.3", 2)])
def test_send_back_to_a_slave(release: str, code: int) -> None:
    pair = pair_with(1, release=release)
    refused = answer(
        pair.slave, Code.CONSUMER_SEND_MSG_BACK, offset=0, group="CG", delayLevel=0, originMsgId="", originTopic="T"
    )
    assert refused.code == code


@pytest.mark.conformance("P53")
@pytest.mark.parametrize("release", ["4.9.7", "5.3.3"])
def test_p53_the_end_of_a_transaction_is_not_for_slaves(release: str) -> None:
    pair = simulated(joined=False, release=release)
    refused = answer(pair.slave, Code.END_TRANSACTION, producerGroup="PG")
    assert (refused.code, refused.remark) == (11, "not set any response code")


CHANGES = [
    (Code.DELETE_TOPIC_IN_BROKER, {"topic": "T"}, b""),
    (Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, b'{"groupName":"G"}'),
    (Code.DELETE_SUBSCRIPTIONGROUP, {"groupName": "G"}, b""),
]


@pytest.mark.parametrize(("code", "fields", "body"), CHANGES)
def test_only_the_master_changes_topics_and_groups(code: Code, fields: dict[str, str], body: bytes) -> None:
    pair = simulated(joined=False)
    refused = answer(pair.slave, code, body, **fields)
    assert (refused.code, (refused.remark or "")[:12]) == (1, "Can't modify")
    modern = simulated(joined=False, release="5.3.3")
    assert answer(modern.slave, code, body, **fields).code == 0


# --- reads ---


@pytest.mark.conformance("P54", "W47")
def test_p54_a_4_9_slave_serves_pulls_and_suggests_the_master() -> None:
    pair = pair_with(3)
    found = pull(pair.slave, "T", 0)
    assert [message.body for message in messages(found)] == [b"0", b"1", b"2"]
    assert offsets(found) == {"suggestWhichBrokerId": 0, "nextBeginOffset": 3, "minOffset": 0, "maxOffset": 3}


@pytest.mark.conformance("P54", "W47")
def test_p54_a_topic_that_the_tables_do_not_have_yet_is_unknown_though_its_messages_are_there() -> None:
    pair = simulated()
    pair.sleep(11 * SECOND)
    create_topic(pair.master, "T")
    send(pair.master, "T")
    pair.until(lambda: pair.has("broker-a-1", "T", 1), SECOND)
    assert pull(pair.slave, "T", 0).code == 17


@pytest.mark.conformance("P54", "W47")
@pytest.mark.parametrize(("enabled", "code"), [("false", 2), ("true", 0)])
def test_p54_a_5x_slave_serves_only_if_it_may(enabled: str, code: int) -> None:
    pair = pair_with(1, release="5.3.3", slaveReadEnable=enabled)
    assert pull(pair.slave, "T", 0).code == code


@pytest.mark.conformance("P55", "P57")
def test_p55_p57_a_slave_does_not_correct_an_offset() -> None:
    pair = pair_with(3)
    for offset in (10, 100):
        found = pull(pair.slave, "T", offset, suspend_ms=15_000)
        assert (found.code, offsets(found)["nextBeginOffset"]) == (20, offset)
        assert offsets(found)["suggestWhichBrokerId"] == 0
    moved = pull(pair.master, "T", 10)
    assert (moved.code, offsets(moved)["nextBeginOffset"]) == (21, 3)


def test_with_offset_check_in_slave_it_does() -> None:
    pair = pair_with(3, slave={"offsetCheckInSlave": "true"})
    moved = pull(pair.slave, "T", 10)
    assert (moved.code, offsets(moved)["nextBeginOffset"]) == (21, 3)


@pytest.mark.conformance("P58")
def test_p58_a_parked_pull_on_a_slave_is_woken_by_the_sweep_only() -> None:
    waits = {}
    for view in ("master", "slave"):
        pair = pair_with(1)
        target = getattr(pair, view)
        pair.sleep(300 * MS)
        pair.backend.after(100 * MS, lambda pair=pair: send_one_way(pair))  # type: ignore[misc]
        begin = pair.backend.now()
        assert pull(target, "T", 1, suspend_ms=15_000, timeout_ns=20 * SECOND).code == 0
        waits[view] = pair.backend.now() - begin
    assert waits["master"] < 200 * MS
    assert 200 * MS < waits["slave"] <= 5200 * MS


def send_one_way(pair: Pair) -> None:
    """A send nobody waits for."""
    fields = {"a": "PG", "b": "T", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0", "i": "", "j": "0"}
    request = Command(Code.SEND_MESSAGE_V2, fields | {"k": "false", "m": "false"}, b"late", opaque=77)
    pair.write("broker-a-0:late", encode_frame(request))


@pytest.mark.conformance("P58")
def test_p58_with_nothing_to_read_the_hold_ends() -> None:
    pair = pair_with(1)
    begin = pair.backend.now()
    assert pull(pair.slave, "T", 1, suspend_ms=15_000, timeout_ns=30 * SECOND).code == 19
    assert 15 * SECOND <= pair.backend.now() - begin <= 20_500 * MS


def test_cl_13_a_consumer_far_behind_is_sent_to_the_slave_if_it_may_be() -> None:
    for enabled, suggested in (("false", 0), ("true", 1)):
        pair = pair_with(3, slaveReadEnable=enabled, accessMessageInMemoryMaxRatio="0")
        assert offsets(pull(pair.master, "T", 0))["suggestWhichBrokerId"] == suggested


def test_cl_14_is_not_what_the_broker_does_a_slave_that_lags_is_suggested_all_the_same() -> None:
    """4.9.7 and 5.3.3 look at the distance from the log's end only, never at how far a slave is."""
    pair = pair_with(1, slaveReadEnable="true", accessMessageInMemoryMaxRatio="0")
    pair.kill("broker-a-1")
    for number in range(3):
        send(pair.master, "T", b"%d" % number)
    pair.sleep(10 * MS)
    assert offsets(pull(pair.master, "T", 1))["suggestWhichBrokerId"] == 1


def test_cl_38_without_its_master_the_slave_goes_on_serving() -> None:
    pair = pair_with(5)
    pair.kill("broker-a-0")
    pair.sleep(SECOND)
    assert len(messages(pull(pair.slave, "T", 0))) == 5
    assert send(pair.slave, "T").code == 14
    assert max_offset(pair.slave, "T") == 5


# --- consumer offsets and tables ---


def test_pulls_bring_no_commits_to_a_slave() -> None:
    pair = pair_with(3)
    pull(pair.slave, "T", 0, sysFlag=1 | 4, commitOffset=2)
    pull(pair.master, "T", 0, sysFlag=1 | 4, commitOffset=2)
    assert (committed(pair.slave), committed(pair.master)) == (0, 2)


@pytest.mark.conformance("P64", "W48")
@pytest.mark.parametrize(("release", "within"), [("4.9.7", 10), ("5.3.3", 64)])
def test_p64_tables_come_within_their_period(release: str, within: int) -> None:
    pair = simulated(release=release)
    pair.sleep(70 * SECOND)
    create_topic(pair.master, "T")
    answer(pair.master, Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, b'{"groupName":"G"}')
    commit(pair.master, 7)
    took = pair.until(lambda: "T" in topics(pair.slave) and committed(pair.slave) == 7, (within + 1) * SECOND)
    assert took > 100 * MS
    groups = json.loads(answer(pair.slave, Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).body)
    assert "G" in groups["subscriptionGroupTable"]


@pytest.mark.conformance("P64")
def test_p64_the_first_tables_come_3_s_after_the_start() -> None:
    pair = simulated(joined=False)
    create_topic(pair.master, "T")
    took = pair.until(lambda: "T" in topics(pair.slave), 5 * SECOND)
    assert 1 * SECOND < took < 4 * SECOND


@pytest.mark.conformance("P63")
def test_p63_offsets_committed_on_the_slave_are_overwritten_and_never_go_back() -> None:
    pair = pair_with(5)
    commit(pair.master, 2)
    pair.until(lambda: committed(pair.slave) == 2, 11 * SECOND)
    pair.kill("broker-a-0")
    pair.sleep(SECOND)
    commit(pair.slave, 5)
    pair.start("broker-a-0")
    pair.until(lambda: pair.is_up("broker-a-0"))
    assert committed(pair.master) == 2  # whoever starts now reads three messages again
    took = pair.until(lambda: committed(pair.slave) == 2, 50 * SECOND)
    assert took > 0


def test_entries_that_only_the_slave_has_are_kept() -> None:
    pair = pair_with(1)
    own = {"consumerGroup": "Mine", "topic": "T", "queueId": 0}
    answer(pair.slave, Code.UPDATE_CONSUMER_OFFSET, **own, commitOffset=1)
    pair.sleep(21 * SECOND)
    table = read_consumer_offsets(answer(pair.slave, Code.GET_ALL_CONSUMER_OFFSET).body)
    assert table["T@Mine"] == {0: 1}


def test_delay_offsets_are_a_file_and_nothing_is_delivered_by_a_slave() -> None:
    pair = pair_with(0)
    send(pair.master, "T", b"later", "DELAY\x011")
    pair.until(lambda: pair.has("broker-a-0", "T", 1), 3 * SECOND)
    pair.sleep(22 * SECOND)
    assert max_offset(pair.slave, "T") == 1  # the master's delivery, copied
    disk = pair.backend.node("broker-a-1").disk  # type: ignore[attr-defined]
    name = "store/config/delayOffset.json"
    assert disk.read(name, 0, disk.size(name)) == b'{"offsetTable":{1:1}}'


def test_a_slave_whose_master_is_gone_keeps_its_tables() -> None:
    pair = pair_with(1)
    pair.kill("broker-a-0")
    pair.sleep(45 * SECOND)
    assert "T" in topics(pair.slave)
    pair.kill("broker-a-1")
    pair.start("broker-a-1")
    pair.until(lambda: pair.is_up("broker-a-1"))
    assert [message.body for message in messages(pull(pair.slave, "T", 0))] == [b"0"]
