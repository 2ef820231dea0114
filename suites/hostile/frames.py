"""Hostile frames at a broker: one client must not cost a message of another, nor the broker.

Question: whatever bytes come in at any of its ports, does a broker go on, and is every message that it has acknowledged
there after its next start?

Model. One seed is a broker in the hand with SYNC_FLUSH, a plain producer and, between its sends, FRAMES frames: a
request of any code that the broker serves, built after a right one and then disturbed; now and then damaged bytes, torn
into pieces. Then the process ends, by a kill or in order, and the queues of the plain topic are read. It does not hold
if an exception leaves the role, if a handler fails (``handler_failed``: it was ours that broke), if timers never come
to rest, or if an acknowledged message is missing.

Limits. ``strictSysFlag`` and ``strictHaReport`` are on: without them one frame does cost messages, as with RocketMQ
(docs/findings.md). The plain topic's name is not among the hostile texts, so nobody deletes it by right.
"""

from __future__ import annotations

from random import Random
from typing import Any

from reference_impl.environment import MS, SECOND, Link
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import BINARY, JSON, Command, LocalWireError, encode_frame
from reference_impl.wire.message import BatchEntry, encode_batch
from suites.hostile.values import damaged, disturbed, json_text, number, properties, text
from suites.unit.broker.broker_by_hand import BrokerByHand

NAME = "frames"
A_SEED = "50 frames at a broker, and its next start"
FRAMES = 50
PLAIN = "PlainTopic"
STRICT = {"flushDiskType": "SYNC_FLUSH", "strictSysFlag": "true", "strictHaReport": "true"}

_SEND = {"a": "PG", "b": "T", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0", "i": "", "j": "0"}
_LONG = {"producerGroup": "PG", "topic": "T", "defaultTopic": "TBW102", "defaultTopicQueueNums": "4", "queueId": "0"}
_LONG |= {"sysFlag": "0", "bornTimestamp": "1", "flag": "0", "properties": "", "reconsumeTimes": "0", "batch": "false"}
_PULL = {"consumerGroup": "CG", "topic": "T", "queueId": "0", "queueOffset": "0", "maxMsgNums": "32", "sysFlag": "6"}
_PULL |= {"commitOffset": "0", "suspendTimeoutMillis": "20000", "subVersion": "0", "subscription": "*"}
_QUEUE = {"consumerGroup": "CG", "topic": "T", "queueId": "0"}
_TOPIC = {"topic": "T", "defaultTopic": "TBW102", "readQueueNums": "4", "writeQueueNums": "4", "perm": "6"}
_TOPIC |= {"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false"}
_BACK = {
    "offset": "0",
    "group": "CG",
    "delayLevel": "0",
    "originMsgId": "",
    "originTopic": "T",
    "maxReconsumeTimes": "3",
}
_END = {"producerGroup": "PG", "tranStateTableOffset": "0", "commitLogOffset": "0", "commitOrRollback": "8"}
_TIME = {"topic": "T", "key": "k", "maxNum": "32", "beginTimestamp": "0", "endTimestamp": "9223372036854775807"}
_WORDS = {"topic": "T", "group": "CG", "consumerGroup": "CG", "groupName": "CG", "queueId": "0", "offset": "0"}
_WORDS |= {"timestamp": "0", "isForce": "true", "index": "0", "count": "16", "clientId": "c", "brokerName": "broker-a"}
_WORDS |= {
    "removeOffset": "true",
    "filterGroups": "x",
    "offsetTable": "{}",
    "statsName": "TOPIC_PUT_NUMS",
    "statsKey": "T",
}

FIELDS: dict[int, dict[str, str]] = {
    Code.SEND_MESSAGE: _LONG,
    Code.SEND_MESSAGE_V2: _SEND,
    Code.SEND_BATCH_MESSAGE: _SEND | {"m": "true"},
    Code.PULL_MESSAGE: _PULL,
    Code.LITE_PULL_MESSAGE: _PULL,
    Code.QUERY_MESSAGE: _TIME,
    Code.UPDATE_AND_CREATE_TOPIC: _TOPIC,
    Code.CONSUMER_SEND_MSG_BACK: _BACK,
    Code.END_TRANSACTION: _END,
    Code.UPDATE_CONSUMER_OFFSET: _QUEUE | {"commitOffset": "1"},
}
"""Code → a right header; of the others any of ``_WORDS`` may be one."""

_SUBSCRIPTION = {
    "topic": "T",
    "subString": "*",
    "tagsSet": ["a"],
    "codeSet": [97],
    "subVersion": 1,
    "expressionType": "TAG",
}
_CONSUMER = {"groupName": "CG", "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING", "unitMode": False}
_CONSUMER |= {"consumeFromWhere": 0, "subscriptionDataSet": [_SUBSCRIPTION]}
_LOCKS = {"consumerGroup": "CG", "clientId": "c", "mqSet": [{"topic": "T", "brokerName": "broker-a", "queueId": 0}]}
BODIES: dict[int, Any] = {
    Code.HEART_BEAT: {"clientID": "c", "producerDataSet": [{"groupName": "PG"}], "consumerDataSet": [_CONSUMER]},
    Code.LOCK_BATCH_MQ: _LOCKS,
    Code.UNLOCK_BATCH_MQ: _LOCKS,
    Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: {
        "groupName": "CG",
        "retryQueueNums": 1,
        "retryMaxTimes": 16,
        "brokerId": 0,
    },
}

_SETTINGS = [
    "brokerPermission",
    "defaultTopicQueueNums",
    "transactionCheckMax",
    "transactionTimeOut",
    "autoCreateTopicEnable",
]
_SETTINGS += [
    "flushConsumerOffsetInterval",
    "registerNameServerPeriod",
    "shortPollingTimeMills",
    "transactionCheckInterval",
]
_SETTINGS += [
    "longPollingEnable",
    "slaveReadEnable",
    "namesrvAddr",
    "startAcceptSendRequestTimeStamp",
    "brokerName",
    "x",
]


def request(rng: Random, codes: list[int]) -> bytes:
    """One frame."""
    code = rng.choice(codes) if rng.random() < 0.98 else rng.choice([-1, 0, 9999, 2**31 - 1])
    known = FIELDS.get(code)
    fields = dict(known or {name: _WORDS[name] for name in rng.sample(sorted(_WORDS), rng.randrange(8))})
    for name in rng.sample(sorted(fields), min(len(fields), rng.choice([0, 1, 1, 1, 2, 3]))):
        fields[name] = _instead(rng, name, fields[name])
    if fields and rng.random() < 0.1:
        del fields[rng.choice(sorted(fields))]
    command = Command(code, fields, _body(rng, code), flag=rng.choice([0, 0, 0, 0, 2]), opaque=rng.getrandbits(31))
    command.version = rng.choice([0, 121, 401, 469, 2**31 - 1])
    command.serialization = rng.choice([JSON, JSON, BINARY])
    try:
        frame = encode_frame(command)
    except (LocalWireError, UnicodeEncodeError):
        frame = rng.randbytes(rng.randrange(1, 60))
    return damaged(rng, frame) if rng.random() < 0.15 else frame


def _instead(rng: Random, name: str, right: str) -> str:
    if name in ("i", "properties"):
        return properties(rng)
    is_number = right.lstrip("-").isdigit()
    return number(rng) if is_number == (rng.random() < 0.95) else text(rng)


def _body(rng: Random, code: int) -> bytes:
    if code in BODIES:
        return json_text(rng, disturbed(rng, BODIES[code]))
    if code == Code.UPDATE_BROKER_CONFIG:
        return "\n".join(f"{rng.choice(_SETTINGS)}={number(rng)}" for _ in range(rng.randrange(3))).encode()
    if code in (Code.SEND_BATCH_MESSAGE, Code.SEND_MESSAGE_V2) and rng.random() < 0.3:
        batch = encode_batch([BatchEntry(b"b", properties(rng)[:1000], 0) for _ in range(rng.randrange(4))])
        return damaged(rng, batch) if rng.random() < 0.5 else batch
    return rng.randbytes(rng.choice([0, 0, 1, 30, 300]))


def attack(seed: int) -> None:
    """One seed."""
    rng = Random(seed)
    broker = BrokerByHand(**STRICT)
    broker.create_topic(PLAIN)
    codes = sorted(broker.role._handlers)
    acknowledged: list[bytes] = []
    link = broker.env.accept("10.0.0.66:6666")
    for number_ in range(FRAMES):
        link = _shoot(rng, broker, link, request(rng, codes))
        broker.sync_everything()
        if number_ % 5 == 0:
            acknowledged += _plain_send(broker, b"%d" % number_)
        if rng.random() < 0.1:
            _time_passes(broker, rng.choice([MS, SECOND, 11 * SECOND, 61 * SECOND]))
    _check_notes(broker)
    again = _next_life(rng, broker)
    _check_notes(again)
    missing = [body for body in acknowledged if body not in _read(again)]
    assert not missing, f"acknowledged and not there: {missing}"
    assert _plain_send(again, b"and on"), "it takes no messages any more"


def _shoot(rng: Random, broker: BrokerByHand, link: Link, frame: bytes) -> Link:
    """One frame, perhaps in pieces, perhaps at another port; a new connection if this one was closed."""
    env = broker.env
    if link not in env._peers or rng.random() < 0.1:
        listener = rng.choice([*env.listening, env.listening[0]])
        link = env.accept(f"10.0.0.66:{rng.randrange(1, 65535)}", listener)
    pieces = rng.choice([1, 1, 1, 2, 5])
    step = max(1, -(-len(frame) // pieces))
    for at in range(0, len(frame), step):
        if link in env._peers:
            env.deliver(link, frame[at : at + step])
    env.take(link)
    if rng.random() < 0.03 and link in env._peers:
        env.hang_up(link)
    return link


def _time_passes(broker: BrokerByHand, duration_ns: int) -> None:
    broker.env.advance(duration_ns)
    broker.sync_everything()
    broker.env.advance(MS)


def _plain_send(broker: BrokerByHand, body: bytes) -> list[bytes]:
    """The body, if it was acknowledged."""
    if broker.client not in broker.env._peers:
        broker.client = broker.env.accept()
    fields = {
        "a": "PG",
        "b": PLAIN,
        "c": "TBW102",
        "d": "4",
        "e": "0",
        "f": "0",
        "g": "1",
        "h": "0",
        "i": "",
        "j": "0",
    }
    broker.env.deliver(broker.client, encode_frame(Command(Code.SEND_MESSAGE_V2, fields, body, opaque=7)))
    broker.sync_everything()
    answers = [command for command in broker.received(broker.client) if command.is_answer and command.opaque == 7]
    broker.env.advance(2 * MS)
    return [body] if any(answer.code == 0 for answer in answers) else []


def _next_life(rng: Random, broker: BrokerByHand) -> BrokerByHand:
    if rng.random() < 0.3:
        broker.role.on_stop(broker.env)
        for _ in range(20):
            broker.sync_everything()
            broker.env.advance(SECOND)
        assert broker.env.exit_code == 0, "an orderly stop does not end"
    again = BrokerByHand(disk=broker.env.disk, **STRICT)
    assert again.env.exit_code is None, again.env.exit_reason
    _time_passes(again, 2 * SECOND)
    return again


def _read(broker: BrokerByHand) -> list[bytes]:
    store, env, bodies = broker.role.state.store, broker.env, list[bytes]()
    for queue in range(4):
        offset = 0
        while (found := store.get(env, PLAIN, queue, offset, 32)) is not None and found.records:
            bodies += [record[88 : 88 + int.from_bytes(record[84:88], "big")] for record in found.records]
            offset = found.next_offset
    return bodies


def _check_notes(broker: BrokerByHand) -> None:
    failed = broker.env.noted("handler_failed")
    assert not failed, failed[0]
