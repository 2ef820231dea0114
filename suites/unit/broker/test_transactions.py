"""Halves, ends and checks: the very bytes of 4.9.7, and that an open half is never passed over, an ended one never
asked about."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_impl.environment import MS, SECOND
from reference_impl.store.request import PutStatus
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import Command
from reference_impl.wire.message import Message, decode_record, decode_records, parse_message_id
from suites.conformance.golden_wire import golden_frames
from suites.unit.broker.broker_by_hand import HOST, BrokerByHand, LateStore

HALF, OP, GIVEN_UP = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC"
COMMIT, ROLLBACK = 8, 12
INTERVAL = 10 * SECOND


def broker(**properties: str) -> BrokerByHand:
    made = BrokerByHand(**({"transactionCheckInterval": "10000", "transactionTimeOut": "2000"} | properties))
    made.create_topic("TT")
    body = {"clientID": "p@1", "producerDataSet": [{"groupName": "PG_T"}], "consumerDataSet": []}
    made.answer(Code.HEART_BEAT, json.dumps(body).encode())
    return made


def half(made: BrokerByHand, body: bytes, more: str = "", **fields: object) -> Command:
    text = f"TRAN_MSG\x01true\x02UNIQ_KEY\x01{body.decode()}\x02PGROUP\x01PG_T\x02{more}"
    return made.send("TT", body, text, queue=1, f=4, **({"g": made.env.wall()} | fields))


def end(made: BrokerByHand, sent: Command, kind: int) -> Command:
    position = parse_message_id(sent.fields["msgId"])[1]
    fields = {"producerGroup": "PG_T", "tranStateTableOffset": sent.fields["queueOffset"], "commitLogOffset": position}
    found = made.answer(Code.END_TRANSACTION, **fields, commitOrRollback=kind, msgId="K")
    made.env.advance(2 * MS)
    return found


def records(made: BrokerByHand, topic: str, queue: int = 0) -> list[Message]:
    store, env = made.role.state.store, made.env
    found = store.get(env, topic, queue, store.min_offset(topic, queue), 1000)
    return [] if found is None else [decode_record(record) for record in found.records]


def asked_about(made: BrokerByHand) -> list[Message]:
    """What the producer was asked since the last look."""
    received = made.received(made.client)
    assert all(command.code == Code.CHECK_TRANSACTION_STATE and command.is_one_way for command in received)
    return [decode_records(command.body)[0] for command in received]


def test_half_and_question_are_apaches_byte_for_byte() -> None:
    """The recorded question 39 of 4.9.7 about the half of a scripted client."""
    (golden,) = [f.command for f in golden_frames("4.9.7") if f.name == "check_transaction_state_39"]
    wanted = decode_record(golden.body)
    made = BrokerByHand(transactionCheckInterval="10000", brokerClusterName="C")
    made.create_topic("TT")
    body = {"clientID": "p@1", "producerDataSet": [{"groupName": "PG_T"}], "consumerDataSet": []}
    made.answer(Code.HEART_BEAT, json.dumps(body).encode())
    key = golden.fields["msgId"]
    text = f"UNIQ_KEY\x01{key}\x02TRAN_MSG\x01true\x02PGROUP\x01PG_T\x02TAGS\x01TagA"
    sent = made.send("TT", b"half3", text, 1, f=4, g=made.env.wall())
    (stored,) = records(made, HALF)
    assert stored.properties == wanted.properties.replace("\x02WAIT\x01false", "").replace(
        "\x02TRANSACTION_CHECK_TIMES\x011", ""
    )
    made.env.advance(INTERVAL)
    (question,) = made.received(made.client)
    told = decode_record(question.body)
    assert (question.code, question.flag) == (golden.code, golden.flag)
    assert list(question.fields) == ["tranStateTableOffset", "commitLogOffset", "msgId", "transactionId", "offsetMsgId"]
    assert sorted(question.fields) == sorted(golden.fields)
    assert told.properties == wanted.properties
    assert (told.topic, told.queue_id, told.body, told.body_crc) == (wanted.topic, 1, b"half3", wanted.body_crc)
    assert told.sys_flag == wanted.sys_flag
    assert question.fields["msgId"] == question.fields["transactionId"] == key
    assert told.queue_offset == int(sent.fields["queueOffset"]) + 1


def test_the_op_is_the_brokers_own_message() -> None:
    made = broker()
    end(made, half(made, b"a"), ROLLBACK)
    (op,) = records(made, OP)
    assert (op.body, op.properties, op.queue_id) == (b"0", "WAIT\x01true\x02TAGS\x01d", 0)
    assert op.born_host == op.store_host == f"{HOST}:10911"


@pytest.mark.parametrize(("text", "waits"), [("", True), ("WAIT\x01true", True), ("WAIT\x01false", False)])
def test_half_and_final_message_wait_as_the_sender_wished(text: str, waits: bool) -> None:
    made = broker(flushDiskType="SYNC_FLUSH")
    made.sync_everything()
    fields = {"a": "PG", "b": "TT", "c": "TBW102", "d": 4, "e": 1, "f": 4, "g": 1, "h": 0, "j": 0, "k": False}
    text = f"TRAN_MSG\x01true\x02PGROUP\x01PG_T\x02{text}"
    answers = made.ask(Code.SEND_MESSAGE_V2, b"half", **fields, m=False, i=text)
    assert bool(answers) is not waits
    made.sync_everything()
    (sent,) = answers or made.received(made.client)
    position = parse_message_id(sent.fields["msgId"])[1]
    fields = {"producerGroup": "PG_T", "tranStateTableOffset": 0, "commitLogOffset": position, "commitOrRollback": 8}
    answers = made.ask(Code.END_TRANSACTION, **fields, msgId="K")
    assert bool(answers) is not waits
    made.env.advance(5 * MS)
    assert records(made, OP) == [] or not waits  # the op follows the final message
    made.sync_everything()
    made.env.advance(5 * MS)
    assert len(records(made, OP)) == 1


def test_a_young_half_ends_the_walk_and_an_own_immunity_does_not() -> None:
    made = broker(transactionTimeOut="30000")
    half(made, b"immune", "CHECK_IMMUNITY_TIME_IN_SECONDS\x0160\x02")
    half(made, b"short", "CHECK_IMMUNITY_TIME_IN_SECONDS\x015\x02")
    half(made, b"young")
    half(made, b"behind", "CHECK_IMMUNITY_TIME_IN_SECONDS\x015\x02")
    made.env.advance(INTERVAL)
    assert [message.body for message in asked_about(made)] == [b"short"]
    moved = [(record.body, record.property_map().get("TRAN_PREPARED_QUEUE_OFFSET")) for record in records(made, HALF)]
    assert moved[4:] == [(b"immune", "0"), (b"short", None)]


def test_an_end_that_names_the_first_place_of_an_immune_half_is_seen() -> None:
    made = broker()
    first = half(made, b"immune", "CHECK_IMMUNITY_TIME_IN_SECONDS\x0115\x02")
    made.env.advance(INTERVAL)
    assert len(records(made, HALF)) == 2
    end(made, first, COMMIT)
    made.env.advance(INTERVAL)
    made.env.advance(INTERVAL)
    assert [message.body for message in records(made, "TT", 1)] == [b"immune"]


@pytest.mark.parametrize("kind", [COMMIT, ROLLBACK])
def test_a_half_is_asked_about_three_times_and_then_given_up(kind: int) -> None:
    made = broker(transactionCheckMax="3")
    half(made, b"open")
    end(made, half(made, b"ended"), kind)
    asked = []
    for _ in range(6):
        made.env.advance(INTERVAL)
        asked += asked_about(made)
    assert [message.body for message in asked] == [b"open"] * 3
    assert [message.property_map()["TRANSACTION_CHECK_TIMES"] for message in asked] == ["1", "2", "3"]
    assert [message.body for message in records(made, GIVEN_UP)] == [b"open"]


def test_without_a_producer_a_half_is_counted_all_the_same() -> None:
    made = broker(transactionCheckMax="2")
    made.answer(Code.UNREGISTER_CLIENT, clientID="p@1", producerGroup="PG_T")
    half(made, b"open")
    made.env.advance(4 * INTERVAL)
    assert asked_about(made) == []
    assert [message.body for message in records(made, GIVEN_UP)] == [b"open"]


def test_producers_are_asked_in_turn() -> None:
    made = broker()
    other = made.env.accept()
    body = {"clientID": "p@2", "producerDataSet": [{"groupName": "PG_T"}], "consumerDataSet": []}
    made.answer(Code.HEART_BEAT, json.dumps(body).encode(), link=other)
    for number in range(4):
        half(made, b"%d" % number)
    made.env.advance(INTERVAL)
    assert [len(made.received(link)) for link in (made.client, other)] == [2, 2]


def test_progress_survives_a_restart() -> None:
    made = broker()
    for number in range(3):
        end(made, half(made, b"%d" % number), COMMIT)
    made.env.advance(2 * INTERVAL)
    offsets = made.role.state.offsets
    assert offsets.query("CID_RMQ_SYS_TRANS", HALF, 0) == 3
    assert offsets.query("CID_RMQ_SYS_TRANS", OP, 0) == 3


def test_ops_of_5_x_name_several_halves() -> None:
    """Met in a store that a 5.x broker has written."""
    from reference_impl.store.request import PutRequest

    made = broker()
    for number in range(3):
        half(made, b"%d" % number)
    op = PutRequest(topic=OP, queue_id=0, body=b"0,2,", properties="TAGS\x01d", is_internal=True, wait=False)
    made.role.state.store.put(made.env, op, lambda env, result: None)
    made.env.advance(INTERVAL)
    assert [message.body for message in asked_about(made)] == [b"1"]


@settings(max_examples=40)
@given(st.lists(st.sampled_from([COMMIT, ROLLBACK, 0]), min_size=1, max_size=60), st.data())
def test_exactly_the_committed_are_visible_and_exactly_the_open_are_asked_about(kinds: list[int], data) -> None:
    made = broker()
    sent = [half(made, b"%d" % number) for number in range(len(kinds))]
    for number in data.draw(st.permutations(range(len(kinds)))):
        if kinds[number]:
            assert end(made, sent[number], kinds[number]).code == 0
    committed = sorted(number for number, kind in enumerate(kinds) if kind == COMMIT)
    assert sorted(int(message.body) for message in records(made, "TT", 1)) == committed
    open_ones = [number for number, kind in enumerate(kinds) if not kind]
    for _ in range(2):
        made.env.advance(INTERVAL)
        assert [int(message.body) for message in asked_about(made)] == open_ones


def test_a_walk_waits_until_each_copy_is_decided_and_no_second_one_begins() -> None:
    made = broker()
    for body in (b"a", b"b"):
        half(made, body)
    store = LateStore(made)
    made.env.advance(3 * INTERVAL)
    assert store.waiting == [b"a"]
    assert asked_about(made) == []
    store.decide()
    assert [message.body for message in asked_about(made)] == [b"a"]
    assert store.waiting == [b"b"]
    store.decide()
    assert [message.body for message in asked_about(made)] == [b"b"]
    assert store.waiting == []


def test_a_copy_that_no_majority_took_ends_the_walk_before_it() -> None:
    made = broker()
    half(made, b"a")
    store = LateStore(made)
    made.env.advance(INTERVAL)
    store.decide(PutStatus.OS_PAGE_CACHE_BUSY)
    assert asked_about(made) == []
    made.env.advance(INTERVAL)
    assert store.waiting == [b"a"], "the next walk begins there"


def test_what_is_decided_after_a_stop_asks_nobody() -> None:
    made = broker()
    half(made, b"a")
    store = LateStore(made)
    made.env.advance(INTERVAL)
    made.role.transaction_check.stop(made.env)
    store.decide()
    assert asked_about(made) == []


@pytest.mark.parametrize("status", [status for status in PutStatus if not status.is_stored])
def test_a_commit_that_is_not_stored_is_refused_whatever_the_reason(status: PutStatus) -> None:
    made = broker()
    sent = half(made, b"a")
    store = LateStore(made)
    position = parse_message_id(sent.fields["msgId"])[1]
    fields = {"producerGroup": "PG_T", "tranStateTableOffset": 0, "commitLogOffset": position, "commitOrRollback": 8}
    assert made.ask(Code.END_TRANSACTION, **fields, msgId="K") == []
    store.decide(status)
    (answer,) = made.received(made.client)
    assert answer.code != 0
    assert records(made, OP) == []
