"""A broker's life: what it listens on, what it refuses to start with, in which order it ends."""

from __future__ import annotations

import pytest

from reference_impl.environment import MS, SECOND
from reference_impl.wire.codes import RequestCode as Code
from suites.unit.broker.broker_by_hand import HOST, BrokerByHand

CONFIG = "store/config"


def test_it_listens_on_the_main_port_two_below_and_one_above() -> None:
    assert BrokerByHand().env.listening == [f"{HOST}:10911", f"{HOST}:10909", f"{HOST}:10912"]


def test_pulls_are_served_on_the_main_port_only() -> None:
    made = BrokerByHand()
    made.create_topic("T")
    fast = made.env.accept(listener=f"{HOST}:10909")
    assert [answer.code for answer in made.pull("T", 0, link=fast)] == [3]
    assert made.answer(Code.GET_MAX_OFFSET, link=fast, topic="T", queueId=0).code == 0
    assert [answer.code for answer in made.pull("T", 0)] == [19]


@pytest.mark.parametrize("name", ["topics.json", "subscriptionGroup.json", "consumerOffset.json", "delayOffset.json"])
def test_a_table_whose_two_copies_are_broken_stops_the_start_with_253(name: str) -> None:
    disk = {f"{CONFIG}/{name}": bytearray(b"{broken"), f"{CONFIG}/{name}.bak": bytearray(b"{broken")}
    made = BrokerByHand(disk=disk)
    assert made.env.exit_code == 253
    assert made.env.exit_reason.startswith(f"broker-a does not start: {CONFIG}/{name}.bak: ")
    assert len(made.env.noted("load_failed")) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("consumerOffset.json", '{"offsetTable":{"T@G":5}}'),
        ("consumerOffset.json", '{"offsetTable":{"T@G":{"0":null}}}'),
        ("consumerOffset.json", "[]"),
        ("delayOffset.json", '{"offsetTable":[1,2]}'),
        ("delayOffset.json", '{"offsetTable":{"one":1}}'),
        ("topics.json", '{"topicConfigTable":[]}'),
        ("topics.json", '{"topicConfigTable":{"T":{"perm":"all"}}}'),
        ("subscriptionGroup.json", '{"subscriptionGroupTable":{"G":7}}'),
        ("topics.json", "[" * 100_000),
    ],
)
def test_a_table_of_another_shape_gives_way_to_its_bak_and_else_stops_the_start(name: str, text: str) -> None:
    path = f"{CONFIG}/{name}"
    made = BrokerByHand(disk={path: bytearray(text.encode())})
    assert made.env.exit_code is None, "there is no .bak: that is an empty table"
    made = BrokerByHand(disk={path: bytearray(text.encode()), f"{path}.bak": bytearray(text.encode())})
    assert made.env.exit_code == 253
    assert "\n" not in made.env.exit_reason
    assert name in made.env.exit_reason


def test_a_commit_log_file_of_another_size_stops_the_start_with_253() -> None:
    made = BrokerByHand(disk={"store/commitlog/00000000000000000000": bytearray(5)})
    assert made.env.exit_code == 253


def test_tables_come_back_from_their_files() -> None:
    made = BrokerByHand()
    made.create_topic("T", queues=3)
    made.answer(Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, b'{"groupName":"G","retryQueueNums":2}')
    made.answer(Code.UPDATE_CONSUMER_OFFSET, consumerGroup="G", topic="T", queueId=1, commitOffset=42)
    made.env.advance(10 * SECOND)
    again = BrokerByHand(disk=made.env.disk)
    assert b'"T":{"order":false,"perm":6,"readQueueNums":3' in again.answer(Code.GET_ALL_TOPIC_CONFIG).body
    assert b'"retryQueueNums":2' in again.answer(Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).body
    fields = {"consumerGroup": "G", "topic": "T", "queueId": 1}
    assert again.answer(Code.QUERY_CONSUMER_OFFSET, **fields).fields == {"offset": "42"}


def test_offsets_are_saved_after_ten_seconds_and_then_every_five() -> None:
    made = BrokerByHand()
    made.answer(Code.UPDATE_CONSUMER_OFFSET, consumerGroup="G", topic="T", queueId=0, commitOffset=1)
    made.env.advance(10 * SECOND - MS)
    assert f"{CONFIG}/consumerOffset.json" not in made.env.disk
    made.env.advance(MS)
    assert b"{0:1" in made.env.disk[f"{CONFIG}/consumerOffset.json"]
    made.answer(Code.UPDATE_CONSUMER_OFFSET, consumerGroup="G", topic="T", queueId=0, commitOffset=2)
    made.env.advance(5 * SECOND - MS)
    assert b"{0:1" in made.env.disk[f"{CONFIG}/consumerOffset.json"]
    made.env.advance(MS)
    assert b"{0:2" in made.env.disk[f"{CONFIG}/consumerOffset.json"]
    assert b"{0:1" in made.env.disk[f"{CONFIG}/consumerOffset.json.bak"]


def test_a_stop_closes_clients_first_flushes_writes_the_tables_and_exits() -> None:
    made = BrokerByHand()
    made.send("T")
    made.answer(Code.UPDATE_CONSUMER_OFFSET, consumerGroup="G", topic="T", queueId=0, commitOffset=7)
    made.role.on_stop(made.env)
    assert made.client in made.env.closed_by_role
    late = made.env.accept()
    assert late in made.env.closed_by_role
    made.sync_everything()
    assert made.env.exit_code == 0
    assert b"{0:7" in made.env.disk[f"{CONFIG}/consumerOffset.json"]
    assert "store/abort" not in made.env.disk
    assert [event for event, _ in made.env.notes][-2:] == ["store_stopped", "broker_stopped"]


def test_with_metadata_sync_a_stop_waits_until_its_tables_are_durable() -> None:
    made = BrokerByHand(metadataSync="true")
    made.role.on_stop(made.env)
    syncs = 0
    while made.env.exit_code is None:
        assert made.env.syncs, "it waits for nothing and does not end"
        file, token = made.env.syncs.pop(0)
        syncs += "config/" in file
        made.role.on_synced(made.env, file, token)
    assert syncs >= 4


def test_a_second_stop_changes_nothing() -> None:
    made = BrokerByHand()
    made.role.on_stop(made.env)
    made.role.on_stop(made.env)
    made.sync_everything()
    assert len(made.env.noted("broker_stopped")) == 1


def test_a_send_that_waits_for_its_flush_is_answered_when_the_disk_has_obeyed() -> None:
    made = BrokerByHand(flushDiskType="SYNC_FLUSH")
    made.create_topic("T")
    fields = {"a": "PG", "b": "T", "c": "TBW102", "d": 4, "e": 0, "f": 0, "g": 1, "h": 0, "i": "", "m": False}
    assert made.ask(Code.SEND_MESSAGE_V2, b"x", **fields) == []
    made.env.advance(20 * MS)
    assert made.received(made.client) == []
    made.sync_everything()
    (answer,) = made.received(made.client)
    assert answer.code == 0


def test_a_flush_that_takes_five_seconds_is_code_10_and_the_message_can_be_read() -> None:
    made = BrokerByHand(flushDiskType="SYNC_FLUSH")
    made.create_topic("T")
    fields = {"a": "PG", "b": "T", "c": "TBW102", "d": 4, "e": 0, "f": 0, "g": 1, "h": 0, "i": "", "m": False}
    made.ask(Code.SEND_MESSAGE_V2, b"x", **fields)
    made.env.advance(4_900 * MS)
    assert made.received(made.client) == []
    made.env.advance(200 * MS)
    (answer,) = made.received(made.client)
    assert (answer.code, answer.fields["queueOffset"]) == (10, "0")
    assert [found.code for found in made.pull("T", 0)] == [0]


def test_unread_requests_of_a_client_that_has_gone_do_no_harm() -> None:
    made = BrokerByHand(flushDiskType="SYNC_FLUSH")
    made.create_topic("T")
    gone = made.env.accept("10.0.0.8:1")
    fields = {"a": "PG", "b": "T", "c": "TBW102", "d": 4, "e": 0, "f": 0, "g": 1, "h": 0, "i": "", "m": False}
    made.ask(Code.SEND_MESSAGE_V2, b"x", link=gone, **fields)
    assert made.pull("T", 1, queueId=1, queueOffset=0, link=gone, sysFlag=6, suspendTimeoutMillis=15_000) == []
    made.env.hang_up(gone)
    made.sync_everything()
    made.env.advance(30 * SECOND)
    assert made.answer(Code.GET_MAX_OFFSET, topic="T", queueId=0).fields == {"offset": "1"}


def test_with_metadata_sync_a_send_that_makes_a_topic_waits_for_the_topics_file() -> None:
    made = BrokerByHand(metadataSync="true")
    fields = {"a": "PG", "b": "T", "c": "TBW102", "d": 4, "e": 0, "f": 0, "g": 1, "h": 0, "i": "", "m": False}
    assert made.ask(Code.SEND_MESSAGE_V2, b"x", **fields) == []
    made.sync_everything()
    assert [answer.code for answer in made.received(made.client)] == [0]
    assert [answer.code for answer in made.ask(Code.SEND_MESSAGE_V2, b"x", **fields)] == [0]


def test_with_metadata_sync_a_later_save_answers_for_one_that_failed() -> None:
    made = BrokerByHand(metadataSync="true")
    fields = {"a": "PG", "c": "TBW102", "d": 4, "e": 0, "f": 0, "g": 1, "h": 0, "i": "", "m": False}
    assert made.ask(Code.SEND_MESSAGE_V2, b"x", b="T1", **fields) == []
    for file, token in made.env.syncs:
        made.role.on_disk_error(made.env, file, token, "EIO")
    made.env.syncs.clear()
    assert made.received(made.client) == []
    assert made.ask(Code.SEND_MESSAGE_V2, b"x", b="T2", **fields) == []
    made.sync_everything()
    assert [answer.code for answer in made.received(made.client)] == [0, 0]


def test_a_stop_ends_although_the_tables_cannot_be_written() -> None:
    made = BrokerByHand(metadataSync="true")
    made.role.on_stop(made.env)
    for _ in range(50):
        for file, token in [entry for entry in made.env.syncs if "config" not in str(entry)]:
            made.env.syncs.remove((file, token))
            made.role.on_synced(made.env, file, token)
    made.env.advance(5 * SECOND)
    assert made.env.exit_code == 0


def test_a_full_disk_refuses_sends_with_14_and_still_serves_pulls() -> None:
    made = BrokerByHand()
    made.create_topic("T")
    assert made.send("T", b"before").code == 0
    made.env.disk_usage = lambda path="": (92, 100)  # type: ignore[method-assign]
    made.env.advance(11 * SECOND)
    refused = made.send("T", b"full")
    assert (refused.code, refused.fields) == (14, {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"})
    assert [answer.code for answer in made.pull("T", 0)] == [0]
    made.env.disk_usage = lambda path="": (50, 100)  # type: ignore[method-assign]
    made.env.advance(11 * SECOND)
    assert made.send("T", b"after").code == 0


def test_a_broker_may_begin_to_accept_sends_later() -> None:
    begins_ms = 1_700_000_060_000
    made = BrokerByHand(startAcceptSendRequestTimeStamp=str(begins_ms))
    refused = made.send("T")
    assert (refused.code, refused.remark) == (1, f"broker[{HOST}] unable to service, until {begins_ms}")
    made.env.advance(61 * SECOND)
    assert made.send("T").code == 0


def test_where_transactions_are_refused_a_half_is_never_stored() -> None:
    made = BrokerByHand(rejectTransactionMessage="true")
    made.create_topic("T")
    refused = made.send("T", b"half", "TRAN_MSG\x01true\x02PGROUP\x01PG")
    assert refused.code == 16
    assert "sending transaction message is forbidden" in (refused.remark or "")
    assert made.send("T", b"plain", "user\x01TRAN_MSG is a word").code == 0
    assert made.answer(Code.GET_MAX_OFFSET, topic="T", queueId=0).fields == {"offset": "1"}
    assert made.answer(Code.GET_MAX_OFFSET, topic="RMQ_SYS_TRANS_HALF_TOPIC", queueId=0).fields == {"offset": "0"}
