"""Everything that a folder can be full of: messages of all kinds, groups and the progress of consumers.

Question: what must a broker understand of what another one wrote? Several topics and queues, tags, keys, flags and
properties, bodies of all sizes, batches, messages delivered after a delay and messages that still wait, messages that a
consumer sent back, groups made by an operator, committed offsets; and more bytes than a few log files have.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import Command, encode_frame
from reference_impl.wire.message import BatchEntry, encode_batch, parse_message_id
from suites.conformance.broker.backend_peer import BackendPeer
from suites.conformance.broker.peer import Peer, answer, create_topic, eventually, max_offset, send

TOPICS = {"Orders": 4, "Single": 1, "Wide": 8}
GROUPS = ("readers", "auditors")
FILE_SIZE = 1 << 16
QUICK_TABLES = {
    "flushConsumerOffsetInterval": "500",
    "flushDelayOffsetInterval": "500",
    "flushConsumeQueueThoroughInterval": "1000",
}
"""What is saved now and then, saved often: a kill takes what was not. The last (Apache's only) is the checkpoint."""
IN_FLIGHT = 64


@dataclass(frozen=True)
class Stored:
    """Where an acknowledged message is, by the broker's own answer."""

    topic: str
    queue: int
    offset: int
    position: int
    body: bytes


def make_tables(peer: Peer) -> None:
    """Topics and groups, by an operator."""
    for topic, queues in TOPICS.items():
        create_topic(peer, topic, queues)
    for group in GROUPS:
        config = {"groupName": group, "retryMaxTimes": 7, "consumeBroadcastEnable": False}
        assert answer(peer, Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, json.dumps(config).encode()).code == 0


def give(peer: Peer, act: str, count: int = 180) -> list[Stored]:
    """*count* plain messages, a few of every other kind, and commits; *act* keeps the bodies and keys of calls apart.

    All were acknowledged when this returns, and the delayed one was delivered.
    """
    stored = [_plain(peer, act, number) for number in range(count)]
    stored += [one for number in range(4) for one in _batch(peer, act, number)]
    _delayed(peer, act)
    _sent_back(peer, stored[0])
    for group in GROUPS:
        for queue in range(TOPICS["Orders"]):
            commit(peer, group, "Orders", queue, max_offset(peer, "Orders", queue) - queue - len(group))
    return stored


def _plain(peer: Peer, act: str, number: int) -> Stored:
    topic = list(TOPICS)[number % len(TOPICS)]
    queue = number % TOPICS[topic]
    body = f"{act} {number} ".encode().ljust(16 + number * 7 % 1900, b".")
    told = {
        "UNIQ_KEY": f"{act}-U{number}",
        "KEYS": f"{act}-{number} {act}-tens-{number // 10}",
        "TAGS": f"T{number % 5}",
    }
    told |= {"colour": ("rot", "grün")[number % 2]}
    sent = send(peer, topic, body, _text(told), queue=queue, f=number % 3)
    assert sent.code == 0, sent
    return _stored(sent, topic, body, sent.fields["msgId"], 0)


def _batch(peer: Peer, act: str, number: int) -> list[Stored]:
    entries = [
        BatchEntry(b"%s batch %d %d" % (act.encode(), number, part), _text({"UNIQ_KEY": f"{act}-B{number}.{part}"}))
        for part in range(5)
    ]
    sent = send(
        peer, "Wide", encode_batch(entries), "WAIT\x01true\x02", queue=number, code=Code.SEND_BATCH_MESSAGE, m=True
    )
    assert sent.code == 0, sent
    ids = sent.fields["msgId"].split(",")
    return [
        _stored(sent, "Wide", entry.body, message_id, part)
        for part, (entry, message_id) in enumerate(zip(entries, ids, strict=True))
    ]


def _stored(sent: Command, topic: str, body: bytes, message_id: str, further: int) -> Stored:
    offset = int(sent.fields["queueOffset"]) + further
    return Stored(topic, int(sent.fields["queueId"]), offset, parse_message_id(message_id)[1], body)


def _delayed(peer: Peer, act: str) -> None:
    """One that is due in a second and is waited for, two that wait for minutes."""
    before = max_offset(peer, "Single")
    assert send(peer, "Single", f"{act} soon".encode(), _text({"DELAY": "1", "KEYS": f"{act}-soon"})).code == 0
    for level in ("9", "10"):
        assert send(peer, "Single", f"{act} late".encode(), _text({"DELAY": level, "KEYS": f"{act}-late"})).code == 0
    eventually(peer, lambda: max_offset(peer, "Single") > before or None)


def _sent_back(peer: Peer, one: Stored) -> None:
    """A consumer could not use it and wants it again in minutes."""
    told = answer(
        peer,
        Code.CONSUMER_SEND_MSG_BACK,
        offset=one.position,
        group=GROUPS[0],
        delayLevel=9,
        originMsgId="",
        originTopic=one.topic,
        unitMode=False,
        maxReconsumeTimes=7,
    )
    assert told.code == 0, told


def commit(peer: Peer, group: str, topic: str, queue: int, offset: int) -> None:
    """A consumer's progress."""
    told = answer(
        peer, Code.UPDATE_CONSUMER_OFFSET, consumerGroup=group, topic=topic, queueId=queue, commitOffset=offset
    )
    assert told.code == 0, told


def send_without_waiting(peer: BackendPeer, act: str, count: int = IN_FLIGHT) -> None:
    """Sends that are under way when this returns."""
    peer.write("main:hasty", b"".join(encode_frame(_hasty(act, number)) for number in range(count)))


def _hasty(act: str, number: int) -> Command:
    properties = _text({"UNIQ_KEY": f"{act}-H{number}", "TAGS": "hasty"})
    fields = {"a": "PG", "b": "Orders", "c": "TBW102", "d": "4", "e": str(number % 4), "f": "0", "g": "1", "h": "0"}
    fields |= {"i": properties, "j": "0", "k": "false", "m": "false"}
    return Command(Code.SEND_MESSAGE_V2, fields, f"{act} hasty {number}".encode() * 20, opaque=900_000 + number)


def _text(properties: dict[str, str]) -> str:
    return "".join(f"{name}\x01{value}\x02" for name, value in properties.items())
