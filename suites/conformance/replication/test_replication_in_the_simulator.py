"""A master and its slaves through kills, power cuts and partitions: what is copied, when, and what never agrees again.

The simulator's virtual times are RocketMQ's (P40 to P51, hazards H1 to H7). At the end of every run in which the
documents guarantee it, the logs are compared byte for byte.
"""

from __future__ import annotations

import pytest

from faults.levers import LinkSet
from harness.targets.releases import row_of
from reference_impl.environment import MS, SECOND
from reference_impl.wire.bodies import ClusterInfo
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import read_json
from reference_impl.wire.frame import Command
from suites.conformance.broker.peer import create_topic, max_offset, pull, send
from suites.conformance.replication.pair import Pair, differing, log_of, simulated

OK, NO_SLAVE, SLAVE = 0, 11, 12
LONG = {"timeout_ns": 10 * SECOND}
HA = LinkSet("ha", ("broker-a-0",), ("broker-a-1",), "ha")


def sync_pair(seed: int = 1, **options: object) -> Pair:
    pair = simulated(seed, master={"brokerRole": "SYNC_MASTER"}, **options)
    create_topic(pair.master, "T")
    return pair


def async_pair(seed: int = 1, **options: object) -> Pair:
    pair = simulated(seed, master={"brokerRole": "ASYNC_MASTER"}, **options)
    create_topic(pair.master, "T")
    return pair


def send_all(pair: Pair, count: int, size: int = 200) -> list[int]:
    """The codes of *count* sends, one after the other."""
    return [send(pair.master, "T", b"%06d" % number * (size // 6), **LONG).code for number in range(count)]


def caught_up(pair: Pair, node: str = "broker-a-1") -> bool:
    begin, log = log_of(pair, "broker-a-0")
    other_begin, other = log_of(pair, node)
    return begin + len(log) == other_begin + len(other)


# --- normal life ---


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_everything_arrives_byte_for_byte_over_several_files(seed: int) -> None:
    pair = sync_pair(seed)
    assert set(send_all(pair, 400, 600)) == {OK}
    pair.until(lambda: caught_up(pair), SECOND)
    assert differing(pair, "broker-a-0", "broker-a-1") == -1
    assert len(log_of(pair, "broker-a-1")[1]) > 3 << 16
    assert pair.has("broker-a-1", "T", 400)


def test_an_async_master_answers_before_the_slave_has_it() -> None:
    pair = async_pair()
    before = pair.backend.now()
    assert send_all(pair, 5) == [OK] * 5
    assert pair.backend.now() - before < 20 * MS
    took = pair.until(lambda: caught_up(pair), SECOND)
    assert took <= 150 * MS


@pytest.mark.conformance("P40")
def test_p40_replication_begins_10_s_after_a_slave_has_started() -> None:
    """No address at first: 5 s until it looks again, then more than 5 s until its first report."""
    pair = simulated(joined=False)
    took = pair.until(lambda: pair.is_joined("broker-a-1"))
    assert 9 * SECOND < took < 12 * SECOND


@pytest.mark.conformance("P40")
def test_p40_a_5x_slave_begins_5_s_after_its_start() -> None:
    pair = simulated(joined=False, release="5.3.3")
    took = pair.until(lambda: pair.is_joined("broker-a-1"))
    assert 4 * SECOND < took < 6 * SECOND


def test_two_slaves_have_the_same_log() -> None:
    pair = sync_pair(slaves=2)
    send_all(pair, 50)
    for node in pair.slaves:
        pair.until(lambda node=node: caught_up(pair, node), SECOND)  # type: ignore[misc]
        assert differing(pair, "broker-a-0", node) == -1


@pytest.mark.conformance("H6")
def test_h6_a_new_slave_begins_with_the_last_file() -> None:
    pair = async_pair(slaves=2)
    pair.kill("broker-a-2")
    pair.backend.levers.wipe("broker-a-2")  # type: ignore[attr-defined]
    send_all(pair, 300, 600)
    pair.start("broker-a-2")
    pair.until(lambda: pair.is_up("broker-a-2"))
    pair.until(lambda: caught_up(pair, "broker-a-2"), 30 * SECOND)
    pair.sleep(12 * SECOND)  # the topic comes with the tables
    begin, _ = log_of(pair, "broker-a-2")
    assert begin > 0
    assert differing(pair, "broker-a-0", "broker-a-2") == -1
    first = pull(pair.views["broker-a-2"], "T", 0)
    assert (first.code, first.fields["nextBeginOffset"]) == (20, "0")
    assert int(first.fields["minOffset"]) > 0


# --- faults that leave the logs equal ---


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("how", ["kill", "stop", "cut_power"])
def test_a_slave_that_comes_back_catches_up(how: str, seed: int) -> None:
    pair = sync_pair(seed)
    assert set(send_all(pair, 30)) == {OK}
    getattr(pair, how)("broker-a-1")
    pair.sleep(SECOND)
    codes = send_all(pair, 5)
    assert set(codes) <= ({SLAVE, NO_SLAVE} if how == "cut_power" else {NO_SLAVE})
    pair.start("broker-a-1")
    pair.until(lambda: caught_up(pair), 60 * SECOND)
    pair.sleep(6 * SECOND)
    assert send_all(pair, 5) == [OK] * 5
    pair.sleep(SECOND)
    assert differing(pair, "broker-a-0", "broker-a-1") == -1


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_master_that_comes_back_with_its_disk_goes_on(how: str, seed: int) -> None:
    pair = sync_pair(seed)
    assert set(send_all(pair, 30)) == {OK}
    getattr(pair, how)("broker-a-0")
    pair.sleep(2 * SECOND)
    pair.start("broker-a-0")
    pair.until(lambda: pair.is_up("broker-a-0"))
    early = send_all(pair, 1)[0]
    assert early in (SLAVE, NO_SLAVE)  # even with a healthy slave: it reports after 5 s
    pair.until(lambda: caught_up(pair), 60 * SECOND)
    assert send_all(pair, 10) == [OK] * 10
    pair.sleep(SECOND)
    assert differing(pair, "broker-a-0", "broker-a-1") == -1


@pytest.mark.parametrize("seed", [1, 2])
def test_a_partition_of_the_ha_port_heals_by_itself(seed: int) -> None:
    pair = sync_pair(seed)
    assert set(send_all(pair, 10)) == {OK}
    pair.backend.levers.partition(HA)
    assert send_all(pair, 2) == [SLAVE, SLAVE]
    pair.sleep(20 * SECOND)
    assert send_all(pair, 2) == [NO_SLAVE] * 2
    pair.backend.levers.heal_partition("ha")
    pair.until(lambda: caught_up(pair), 200 * SECOND)
    pair.sleep(6 * SECOND)
    assert send_all(pair, 3) == [OK] * 3
    pair.sleep(SECOND)
    assert differing(pair, "broker-a-0", "broker-a-1") == -1


@pytest.mark.conformance("P43")
def test_p43_a_paused_slave_costs_3_s_each_until_it_is_given_up() -> None:
    pair = sync_pair()
    pair.backend.levers.pause("broker-a-1")
    begin, codes = pair.backend.now(), []
    while pair.backend.now() - begin < 24 * SECOND:
        codes += send_all(pair, 1)
    assert codes[:5] == [SLAVE] * 5
    assert codes[-1] == NO_SLAVE
    given_up = pair.noted("broker-a-0", "ha_slave_closed")
    assert [fields["why"] for fields in given_up] == ["silent"]
    pair.backend.levers.resume("broker-a-1")
    pair.until(lambda: caught_up(pair), 30 * SECOND)
    assert differing(pair, "broker-a-0", "broker-a-1") == -1


@pytest.mark.conformance("P44")
def test_p44_one_of_two_slaves_is_enough() -> None:
    pair = sync_pair(slaves=2)
    pair.backend.levers.pause("broker-a-2")
    assert send_all(pair, 5) == [OK] * 5


@pytest.mark.conformance("P50")
def test_p50_a_slave_acknowledges_what_it_has_not_forced() -> None:
    pair = sync_pair(flushDiskType="ASYNC_FLUSH", slave={"flushDiskType": "SYNC_FLUSH"})
    pair.backend.levers.delay_forces("broker-a-1", 0)  # type: ignore[attr-defined]
    assert send_all(pair, 5) == [OK] * 5


# --- hazards: what never agrees again ---


def lose_the_tail(pair: Pair) -> int:
    """The master loses its unflushed tail in a power cut, the slave keeps it; returns the slave's log end."""
    assert set(send_all(pair, 20)) == {OK}
    pair.sleep(11 * SECOND)
    assert set(send_all(pair, 10)) == {OK}
    pair.backend.levers.lie("broker-a-0")  # type: ignore[attr-defined]
    pair.cut_power("broker-a-0")
    pair.backend.levers.repair_disk("broker-a-0")  # type: ignore[attr-defined]
    begin, log = log_of(pair, "broker-a-1")
    return begin + len(log)


def came_back_shorter(pair: Pair, end: int) -> bool:
    pair.start("broker-a-0")
    pair.until(lambda: pair.is_up("broker-a-0"))
    return bool(pair.noted("broker-a-0", "broker_started")[-1]["log_end"] < end)


def diverged(seed: int, release: str = "4.9.7") -> Pair | None:
    """A pair whose master has lost a tail that its slave has; ``None`` where the power cut took nothing."""
    options = {"inSyncReplicas": "2"} if not row_of(release).is_4 else {}
    pair = sync_pair(seed, release=release, **options)
    return pair if came_back_shorter(pair, lose_the_tail(pair)) else None


@pytest.mark.conformance("P49", "H1", "H2")
@pytest.mark.parametrize("release", ["4.9.7", "5.3.3"])
def test_p49_h1_h2_a_slave_ahead_of_its_master_gives_false_send_ok_and_diverges(release: str) -> None:
    shown = 0
    for seed in range(1, 7):
        pair = diverged(seed, release)
        if pair is None:
            continue
        shown += 1
        create_topic(pair.master, "T")
        pair.until(lambda pair=pair: pair.is_joined("broker-a-1"), 30 * SECOND)  # type: ignore[misc]
        behind = log_of(pair, "broker-a-1")[1]
        assert len(log_of(pair, "broker-a-0")[1]) < len(behind)
        before = pair.backend.now()
        assert send(pair.master, "T", b"false promise", **LONG).code == OK
        assert pair.backend.now() - before < 20 * MS
        assert log_of(pair, "broker-a-1")[1] == behind  # nobody has a copy
        pair.sleep(60 * SECOND)
        closes = [f for f in pair.noted("broker-a-0", "ha_slave_closed") if f["why"] == "reports more than there is"]
        assert bool(closes) is row_of(release).is_4
        send_all(pair, 40)
        pair.sleep(30 * SECOND)
        assert differing(pair, "broker-a-0", "broker-a-1") >= 0
    assert shown >= 3


@pytest.mark.conformance("H1")
def test_h1_the_connection_flaps_about_every_10_s() -> None:
    pair = next(found for seed in range(1, 20) if (found := diverged(seed)) is not None)
    pair.sleep(60 * SECOND)
    closes = [f for f in pair.noted("broker-a-0", "ha_slave_closed") if f["why"] == "reports more than there is"]
    assert 5 <= len(closes) <= 7


@pytest.mark.conformance("H3")
def test_h3_a_slave_beside_its_master_confirms_what_it_cannot_serve() -> None:
    pair = next(found for seed in range(1, 20) if (found := diverged(seed)) is not None)
    create_topic(pair.master, "T")
    stuck = max_offset(pair.slave, "T")
    for _ in range(4):
        send_all(pair, 15, 350)
        pair.sleep(12 * SECOND)
    assert send_all(pair, 3) == [OK] * 3
    pair.sleep(SECOND)
    assert caught_up(pair)
    assert max_offset(pair.slave, "T") - stuck <= 1
    assert max_offset(pair.master, "T") > stuck + 30


@pytest.mark.conformance("H4")
def test_h4_a_master_with_a_new_disk_does_not_get_its_data_back() -> None:
    pair = sync_pair()
    send_all(pair, 20)
    pair.kill("broker-a-0")
    pair.backend.levers.wipe("broker-a-0")  # type: ignore[attr-defined]
    pair.start("broker-a-0")
    pair.until(lambda: pair.is_up("broker-a-0"))
    pair.sleep(30 * SECOND)
    assert log_of(pair, "broker-a-0")[1] == b""
    assert max_offset(pair.slave, "T") == 20
    assert pull(pair.slave, "T", 0).code == 17  # its tables have followed the empty master


@pytest.mark.conformance("H7")
def test_h7_two_masters_of_one_name_take_turns_in_the_routes() -> None:
    """A slave made a master by hand, and the old master back: the NameServer shows whoever has registered last."""
    pair = simulated(joined=False, slave={"brokerRole": "ASYNC_MASTER"})
    pair.kill("broker-a-1")
    pair.sleep(13 * SECOND)
    pair.start("broker-a-1")
    shown = []
    for _ in range(70):
        pair.sleep(SECOND)
        cluster = read_json(pair.ask(Command(Code.GET_BROKER_CLUSTER_INFO), "namesrv:").body, ClusterInfo)  # type: ignore[union-attr]
        shown.append(cluster.broker_addr_table["broker-a"].broker_addrs)
    assert all(list(addresses) == [0] for addresses in shown)
    turns = [addresses[0] for addresses in shown]
    assert {address.rpartition(":")[0] for address in turns} == {pair.backend.host(node) for node in pair.nodes}
