"""Transactions (W43, W44, P71, P72)."""

from __future__ import annotations

import json

from harness.targets.releases import row_of
from reference_impl.client import (
    Client,
    ClientSettings,
    ProducerSettings,
    SendResult,
    TransactionProducer,
    TransactionState,
)
from reference_impl.client import (
    Message as Sent,
)
from reference_impl.environment import MS, SECOND
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.fields import ext_fields
from reference_impl.wire.frame import Command
from reference_impl.wire.message import Message, decode_record, decode_records, parse_message_id
from suites.conformance.broker.lives import LivingPeer
from suites.conformance.broker.peer import (
    PATIENCE_NS,
    Peer,
    answer,
    create_topic,
    drained,
    eventually,
    max_offset,
    pull,
    send,
)
from suites.conformance.broker.probing import Start, life, probe

HALF, OP = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC"
COMMIT, ROLLBACK, UNKNOWN = 8, 12, 0


def send_half(peer: Peer, topic: str, body: bytes, group: str, more: str = "", **fields: int) -> Command:
    """A half message for queue 1."""
    sent = send(
        peer,
        topic,
        body,
        f"TRAN_MSG\x01true\x02PGROUP\x01{group}\x02UNIQ_KEY\x01{group}-{body.decode()}\x02{more}",
        queue=1,
        f=4,
        **fields,
    )
    assert (sent.code, sent.fields["queueId"]) == (0, "1")
    return sent


def end(peer: Peer, half: Command, kind: int, group: str, **other: int) -> Command | None:
    """END_TRANSACTION of what *half* was answered, two-way."""
    fields = {
        "producerGroup": group,
        "tranStateTableOffset": half.fields["queueOffset"],
        "commitLogOffset": parse_message_id(half.fields["msgId"])[1],
        "commitOrRollback": kind,
        "fromTransactionCheck": False,
        "msgId": "K",
    } | other
    is_silent = kind == UNKNOWN
    timeout_ns = 2 * SECOND if is_silent else PATIENCE_NS
    return peer.ask(Command(Code.END_TRANSACTION, ext_fields(**fields)), timeout_ns=timeout_ns)


def settled_end(peer: Peer, topic: str) -> int:
    """The end of a queue in which nothing is on its way any more (5.x gathers ops for 3 s)."""
    peer.sleep((100 * MS) if row_of(peer.release).is_4 else 4 * SECOND)
    return max_offset(peer, topic)


def record_at(peer: Peer, position: int) -> Message:
    """Of the log."""
    return decode_record(answer(peer, Code.VIEW_MESSAGE_BY_ID, offset=position).body)


@probe("W43", "a half is invisible until it is committed")
def commit_makes_visible(peer: Peer) -> None:
    create_topic(peer, "T43")
    half = send_half(peer, "T43", b"real", "PG43", "TAGS\x01TagA")
    position = parse_message_id(half.fields["msgId"])[1]
    stored = record_at(peer, position)
    assert (stored.topic, stored.queue_id, stored.sys_flag & 0xC) == (HALF, 0, 0)
    assert str(stored.queue_offset) == half.fields["queueOffset"]
    told = stored.property_map()
    assert (told["REAL_TOPIC"], told["REAL_QID"], told["CLUSTER"]) == ("T43", "1", peer.cluster)
    peer.sleep(100 * MS)
    assert max_offset(peer, "T43", 1) == 0
    found = end(peer, half, COMMIT, "PG43")
    assert found is not None
    assert (found.code, found.remark, dict(found.fields)) == (0, None, {})
    (message,) = drained(peer, "T43", 1, queue=1)
    assert (message.body, message.sys_flag & 0xC, message.prepared_transaction_offset) == (b"real", 8, position)
    origin = () if row_of(peer.release).commits_keep_origin else ("REAL_TOPIC", "REAL_QID")
    kept = {name: value for name, value in stored.property_map().items() if name not in origin}
    assert message.property_map() == kept
    assert (message.born_timestamp, message.born_host) == (stored.born_timestamp, stored.born_host)
    again = end(peer, half, COMMIT, "PG43")
    assert again is not None
    assert again.code == 0
    assert [message.body for message in drained(peer, "T43", 2, queue=1)] == [b"real", b"real"]


@probe("W43", "a rolled back half is never seen")
def rollback_hides(peer: Peer) -> None:
    create_topic(peer, "T43b")
    half = send_half(peer, "T43b", b"never", "PG43b")
    ops = settled_end(peer, OP)
    found = end(peer, half, ROLLBACK, "PG43b")
    assert found is not None
    assert (found.code, found.remark) == (0, "not set any response code")
    eventually(peer, lambda: max_offset(peer, OP) > ops or None)  # 5.x gathers ops for 3 s
    assert max_offset(peer, "T43b", 1) == 0


@probe("W43", "an end that decides nothing or names nothing")
def useless_ends(peer: Peer) -> None:
    create_topic(peer, "T43c")
    half = send_half(peer, "T43c", b"open", "PG43c")
    position = parse_message_id(half.fields["msgId"])[1]
    assert end(peer, half, UNKNOWN, "PG43c") is None
    table = [
        (end(peer, half, COMMIT, "PG43other"), "The producer group wrong"),
        (end(peer, half, COMMIT, "PG43c", tranStateTableOffset=1 << 20), "The transaction state table offset wrong"),
        (end(peer, half, COMMIT, "PG43c", commitLogOffset=position + 1), "Find prepared transaction message failed"),
        (end(peer, half, 5, "PG43c"), "commitOrRollback field wrong"),
    ]
    assert all(found is not None and found.code == 1 and remark in (found.remark or "") for found, remark in table)
    assert max_offset(peer, "T43c", 1) == 0
    end(peer, half, ROLLBACK, "PG43c")


@probe("W43", "what an end writes")
def the_op(peer: Peer) -> None:
    """4.9 writes an op an end; 5.x gathers them (``0,1,``)."""
    create_topic(peer, "T43d")
    half = send_half(peer, "T43d", b"open", "PG43d")
    before = settled_end(peer, OP)
    end(peer, half, ROLLBACK, "PG43d")
    eventually(peer, lambda: max_offset(peer, OP) > before or None)
    if not row_of(peer.release).is_4:
        (op,) = [decode_record(pull(peer, OP, before, group="CG43").body)]
        assert half.fields["queueOffset"] in op.body.decode().split(",")
        return
    assert pull(peer, OP, before, group="CG43").code == 17  # nobody has made that topic
    record = record_at(peer, parse_message_id(half.fields["msgId"])[1])
    op = record_at(peer, record.physical_offset + record.size)
    assert (op.topic, op.queue_id, op.body, op.properties) == (
        OP,
        0,
        half.fields["queueOffset"].encode(),
        "WAIT\x01true\x02TAGS\x01d",
    )
    assert (op.born_host, op.store_host) == (peer.broker, peer.broker)


@life("W44", "P71", "an open half is asked about and given up", is_slow=True)
def open_half(start: Start) -> None:
    """Interval 4 s, time-out 2 s, at most three times; the defaults are 60 s, 6 s and 15."""
    peer = start(transactionCheckInterval="4000", transactionTimeOut="2000", transactionCheckMax="3")
    create_topic(peer, "T44")
    producer = {"clientID": "p@1", "producerDataSet": [{"groupName": "PG44"}], "consumerDataSet": []}
    answer(peer, Code.HEART_BEAT, json.dumps(producer).encode(), channel="p44")
    half = send_half(peer, "T44", b"open", "PG44", "TAGS\x01TagA")
    position = int(half.fields["queueOffset"])
    asked: list[Command] = []

    def given_up() -> bool | None:
        asked.extend(peer.inbox("p44"))
        return bool(max_offset(peer, "TRANS_CHECK_MAX_TIME_TOPIC")) or None

    eventually(peer, given_up)
    asked += peer.inbox("p44")
    assert [(command.code, command.is_one_way) for command in asked] == [(39, True)] * 3
    for times, command in enumerate(asked, 1):
        fields = command.fields
        copy = record_at(peer, int(fields["commitLogOffset"]))
        told = decode_record(command.body)
        assert (copy.topic, copy.queue_offset) == (HALF, position + times)
        assert fields["tranStateTableOffset"] == str(copy.queue_offset)
        assert (fields["msgId"], fields["transactionId"]) == ("PG44-open", "PG44-open")
        assert fields["offsetMsgId"] == copy.message_id()
        assert copy.property_map()["TRANSACTION_CHECK_TIMES"] == str(times)
        assert "WAIT" not in copy.property_map()
        assert (told.topic, told.queue_id, told.body) == ("T44", 1, b"open")
        assert told.property_map() == copy.property_map() | {"WAIT": "false"}
        assert (told.queue_offset, told.physical_offset) == (copy.queue_offset, copy.physical_offset)
        assert told.store_timestamp < copy.store_timestamp
    assert max_offset(peer, "T44", 1) == 0
    (dead,) = drained(peer, "TRANS_CHECK_MAX_TIME_TOPIC", 1)
    assert (dead.body, dead.property_map()["TRANSACTION_CHECK_TIMES"]) == (b"open", "3")


@life("W44", "P71", "an answer to the check commits the new copy", is_slow=True)
def answered_check(start: Start) -> None:
    """5.x writes that a half has ended up to 3 s later, and may ask about it meanwhile."""
    peer = start(transactionCheckInterval="4000", transactionTimeOut="2000")
    create_topic(peer, "T44")
    producer = {"clientID": "p@1", "producerDataSet": [{"groupName": "PG44"}], "consumerDataSet": []}
    answer(peer, Code.HEART_BEAT, json.dumps(producer).encode(), channel="p44")
    half = send_half(peer, "T44", b"open", "PG44")
    ended = send_half(peer, "T44", b"ended", "PG44")
    end(peer, ended, ROLLBACK, "PG44")
    others: list[Command] = []

    def about_the_open_one() -> Command | None:
        questions = {command.fields["msgId"]: command for command in peer.inbox("p44")}
        others.extend(command for about, command in questions.items() if about != "PG44-open")
        return questions.get("PG44-open")

    asked = eventually(peer, about_the_open_one)
    half.fields = half.fields | {"queueOffset": asked.fields["tranStateTableOffset"]}
    found = end(peer, half, COMMIT, "PG44", commitLogOffset=int(asked.fields["commitLogOffset"]))
    assert found is not None
    assert found.code == 0
    (message,) = drained(peer, "T44", 1, queue=1)
    assert (message.body, message.prepared_transaction_offset) == (b"open", int(asked.fields["commitLogOffset"]))
    assert message.property_map()["TRANSACTION_CHECK_TIMES"] == "1"
    peer.sleep(9 * SECOND)
    assert about_the_open_one() is None
    assert not (others and row_of(peer.release).is_4)
    fields = {"consumerGroup": "CID_RMQ_SYS_TRANS", "topic": HALF, "queueId": 0}
    assert answer(peer, Code.QUERY_CONSUMER_OFFSET, **fields).fields == {"offset": str(3 + len(others))}


@life("W43", "a half with a delay is dropped")
def delayed_half(start: Start) -> None:
    """It takes the way of a delayed message, back to the half topic, and there the broker drops it."""
    peer = start()
    create_topic(peer, "T43e")
    half = send_half(peer, "T43e", b"late", "PG43e", "DELAY\x011\x02")
    record = record_at(peer, parse_message_id(half.fields["msgId"])[1])
    assert (record.topic, record.property_map()["REAL_TOPIC"]) == ("SCHEDULE_TOPIC_XXXX", HALF)
    peer.sleep(3 * SECOND)
    assert max_offset(peer, HALF) == 0


# The producer --------------------------------------------------------------------------------------------------------


class Application:
    """A transactional producer on a client of its own; says *words* one after the other when it is asked.

    Asked about what it has decided it says the same again, as applications do.
    """

    def __init__(self, peer: LivingPeer, *words: TransactionState) -> None:
        self.peer, self.words = peer, list(words)
        self.ran: list[SendResult] = []
        self.decided: dict[bytes, TransactionState] = {}
        self.checked: list[bytes] = []
        self.ended: list[tuple[str, TransactionState | None]] = []
        settings = ClientSettings(peer.backend.host("client-2"), (peer.namesrv,), heartbeat_ns=SECOND)
        self.client = Client(settings)
        producer = ProducerSettings(group="PG72", send_timeout_ns=30 * SECOND)
        self.producer = TransactionProducer(self.client, producer, lambda env, half: self._check(half.body))
        peer.backend.add_client("client-2", self.client)
        peer.sleep(2 * SECOND)

    def _check(self, body: bytes) -> TransactionState:
        self.checked.append(body)
        return self.decided.get(body) or self.words.pop(0)

    def _local(self, result: SendResult, body: bytes) -> TransactionState:
        self.ran.append(result)
        word = self.words.pop(0)
        if word is not TransactionState.UNKNOWN:
            self.decided[body] = word
        return word

    def send(self, topic: str, body: bytes) -> tuple[str, TransactionState | None]:
        """(status of the half, word that was sent)."""
        count = len(self.ended)
        self.peer.backend.step(
            "client-2",
            lambda env: self.producer.send_in_transaction(
                env,
                Sent(topic, body, {"DELAY": "1"}),
                lambda env, result: self._local(result, body),
                lambda env, result, state: self.ended.append((result.status, state)),
            ),
        )
        eventually(self.peer, lambda: len(self.ended) > count or None)
        return self.ended[-1]


def visible(peer: Peer, topic: str) -> list[bytes]:
    """Everything in four queues."""
    found = [pull(peer, topic, 0, queue=queue, group="CG72") for queue in range(4)]
    return sorted(m.body for pulled in found if pulled.code == 0 for m in decode_records(pulled.body))


@life("P72", "without a slave a sync master's half is rolled back by its producer")
def rolled_back_by_producer(start: Start) -> None:
    """5.x says SEND_OK there: it waits for no slave by default."""
    peer = start(brokerRole="SYNC_MASTER")
    create_topic(peer, "T72")
    application = Application(peer, TransactionState.COMMIT)
    if not row_of(peer.release).is_4:
        assert application.send("T72", b"m") == ("SEND_OK", TransactionState.COMMIT)
        return
    assert application.send("T72", b"m") == ("SLAVE_NOT_AVAILABLE", TransactionState.ROLLBACK)
    assert application.ran == []
    eventually(peer, lambda: max_offset(peer, OP) or None)
    assert visible(peer, "T72") == []


@life("W43", "W44", "a producer commits, rolls back, and answers a question", is_slow=True)
def producer_answers(start: Start) -> None:
    """5.x asks about a committed half whose end it has not written yet, and then stores its message once more."""
    states = TransactionState
    peer = start(transactionCheckInterval="4000", transactionTimeOut="2000")
    create_topic(peer, "T72")
    application = Application(peer, states.COMMIT, states.ROLLBACK, states.UNKNOWN, states.COMMIT)
    for body in (b"yes", b"no", b"later"):
        application.send("T72", body)
    assert [status for status, _ in application.ended] == ["SEND_OK"] * 3
    assert [state for _, state in application.ended] == [states.COMMIT, states.ROLLBACK, states.UNKNOWN]
    eventually(peer, lambda: visible(peer, "T72") == [b"yes"] or None)
    is_4 = row_of(peer.release).is_4
    eventually(peer, lambda: b"later" in visible(peer, "T72") or None)
    assert application.checked == [b"later"] if is_4 else b"later" in application.checked
    assert visible(peer, "T72") == [b"later", *[b"yes"] * (1 + (b"yes" in application.checked))]
