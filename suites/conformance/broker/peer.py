"""Whoever talks to a broker in a probe: connections by name, requests and answers, bytes, and time that passes.

Question: what must a world offer so that the probes of this folder can run against the broker in it? The probes know
nothing but this protocol, so the same texts run against the reference in the simulator, against it over TCP, and
against Apache's own broker.

A *channel* is one TCP connection, made at its first use and known by its name (heartbeats belong to a connection). It
leads to the broker's main port, ``fast:`` names lead to the fast port, ``ha:`` names to the port for slaves,
``namesrv:`` names to the NameServer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from reference_impl.environment import MS, SECOND, Address
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.fields import ext_fields
from reference_impl.wire.frame import Command, FrameDecoder
from reference_impl.wire.message import Message, decode_records

T = TypeVar("T")

PATIENCE_NS = 60 * SECOND
"""How long is waited for what must come. Where other work keeps the machine busy, seconds pass for nothing; so the
limit of a wait is never what a probe asks. What it asks of time it measures (``Peer.slack_ns``)."""
ANSWER_TIMEOUT_NS = 30 * SECOND


@dataclass(frozen=True)
class Raw:
    """What came back for bytes, and whether the broker closed the connection."""

    data: bytes
    closed: bool


class Peer(Protocol):
    """A world with one NameServer and one broker that is registered there."""

    release: str
    """What the broker behaves like: 4.9.7 or 5.3.3."""
    broker: Address
    broker_name: str
    cluster: str
    slack_ns: int
    """How much later than it was due anything may be seen: nothing in the simulator, seconds among real processes."""

    def ask(self, request: Command, channel: str = "main", timeout_ns: int = ANSWER_TIMEOUT_NS) -> Command | None:
        """Send *request* (its opaque is kept if it has one) and wait for its answer; ``None`` for silence."""

    def write(self, channel: str, data: bytes) -> None:
        """Send bytes as they are."""

    def read(self, channel: str, wait_ns: int) -> Raw:
        """All bytes that came on a channel that was only written to, within *wait_ns*; ends early if it is closed."""

    def inbox(self, channel: str) -> list[Command]:
        """Requests that the broker has sent on *channel* since the last call."""

    def reply(self, channel: str, request: Command, answer: Command) -> None:
        """Answer a request that the broker has sent on *channel*."""

    def hang_up(self, channel: str) -> None:
        """Close the connection from our end."""

    def is_closed(self, channel: str) -> bool:
        """Whether the broker has closed it."""

    def sleep(self, duration_ns: int) -> None:
        """Let time pass."""

    def now_ns(self) -> int:
        """Monotonic; for how long something took."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch, near the broker's clock."""


# The words that probes are written in --------------------------------------------------------------------------------


def answer(
    peer: Peer,
    code: int,
    body: bytes = b"",
    *,
    channel: str = "main",
    version: int = 401,
    timeout_ns: int = ANSWER_TIMEOUT_NS,
    **fields: str | int | bool | None,
) -> Command:
    """The one answer to one request."""
    found = peer.ask(Command(code, ext_fields(**fields), body, version=version), channel, timeout_ns)
    assert found is not None, f"no answer to code {code}"
    return found


def eventually(peer: Peer, look: Callable[[], T | None], within_ns: int = PATIENCE_NS) -> T:
    """Look again and again until there is something (a broker's queues are filled a little after its answer)."""
    end_ns = peer.now_ns() + within_ns
    while (found := look()) is None:
        assert peer.now_ns() < end_ns, f"nothing to be seen within {within_ns / SECOND:g} s"
        peer.sleep(20 * MS)
    return found


def create_topic(peer: Peer, topic: str, queues: int = 4, perm: int = 6) -> None:
    """A topic made by an operator."""
    made = answer(
        peer,
        Code.UPDATE_AND_CREATE_TOPIC,
        topic=topic,
        defaultTopic="TBW102",
        readQueueNums=queues,
        writeQueueNums=queues,
        perm=perm,
        topicFilterType="SINGLE_TAG",
        topicSysFlag=0,
        order=False,
    )
    assert made.code == 0, made


def send(
    peer: Peer,
    topic: str,
    body: bytes = b"hello",
    properties: str = "",
    *,
    queue: int = 0,
    code: int = Code.SEND_MESSAGE_V2,
    timeout_ns: int = ANSWER_TIMEOUT_NS,
    **more: str | int | bool,
) -> Command:
    """A send with one-letter names; *more* overrides them."""
    fields = {"a": "PG", "b": topic, "c": "TBW102", "d": 4, "e": queue, "f": 0, "g": peer.now_ms(), "h": 0}
    fields |= {"i": properties, "j": 0, "k": False, "m": False, **more}
    return answer(peer, code, body, timeout_ns=timeout_ns, **fields)


def stored(peer: Peer, topic: str, body: bytes = b"hello", properties: str = "", **more: int) -> Command:
    """A send that must be stored, and readable when this returns."""
    sent = send(peer, topic, body, properties, **more)
    assert sent.code == 0, sent
    queue, offset = int(sent.fields["queueId"]), int(sent.fields["queueOffset"])
    eventually(peer, lambda: offset < max_offset(peer, topic, queue) or None)
    return sent


def pull(
    peer: Peer,
    topic: str,
    offset: int,
    *,
    queue: int = 0,
    group: str = "CG",
    expression: str | None = "*",
    suspend_ms: int = 0,
    count: int = 32,
    timeout_ns: int = ANSWER_TIMEOUT_NS,
    **more: str | int,
) -> Command:
    """A pull with its own expression, or with ``None`` by the group's heartbeat."""
    fields: dict[str, str | int] = {
        "consumerGroup": group,
        "topic": topic,
        "queueId": queue,
        "queueOffset": offset,
        "maxMsgNums": count,
        "sysFlag": (2 if suspend_ms else 0) | (4 if expression is not None else 0),
        "commitOffset": 0,
        "suspendTimeoutMillis": suspend_ms,
        "subVersion": 0,
        "expressionType": "TAG",
    }
    fields |= {"subscription": expression} if expression is not None else {}
    return answer(peer, Code.PULL_MESSAGE, timeout_ns=timeout_ns, **(fields | more))


def messages(pulled: Command) -> list[Message]:
    """The records of a pull that found some."""
    assert pulled.code == 0, pulled
    return decode_records(pulled.body)


def offsets(pulled: Command) -> dict[str, int]:
    """The four numbers that every readable pull answer carries."""
    names = ("suggestWhichBrokerId", "nextBeginOffset", "minOffset", "maxOffset")
    return {name: int(pulled.fields[name]) for name in names}


def max_offset(peer: Peer, topic: str, queue: int = 0) -> int:
    """Code 30."""
    return int(answer(peer, Code.GET_MAX_OFFSET, topic=topic, queueId=queue).fields["offset"])


def drained(peer: Peer, topic: str, count: int, *, queue: int = 0) -> list[Message]:
    """All messages of a queue, once there are *count*."""
    eventually(peer, lambda: max_offset(peer, topic, queue) >= count or None)
    return messages(pull(peer, topic, 0, queue=queue))


def heartbeat(peer: Peer, channel: str, client: str, group: str, topic: str, **more: object) -> Command:
    """One consumer of one topic (everything, unless *more* says otherwise)."""
    subscription = {"topic": topic, "subString": "*", "tagsSet": [], "codeSet": [], "subVersion": 1} | more
    consumer = {
        "groupName": group,
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
        "unitMode": False,
        "subscriptionDataSet": [subscription],
    }
    body = {"clientID": client, "producerDataSet": [], "consumerDataSet": [consumer]}
    return answer(peer, Code.HEART_BEAT, json.dumps(body).encode(), channel=channel)


def notices_dropped(peer: Peer, channel: str) -> None:
    """Take what has come so far off the channel."""
    peer.sleep(50 * MS)
    peer.inbox(channel)


def raw_answers(peer: Peer, channel: str, count: int) -> list[Command]:
    """The next *count* answers on a channel that was only written to."""
    decoder, found = FrameDecoder(), list[Command]()
    end_ns = peer.now_ns() + PATIENCE_NS
    while len(found) < count:
        assert peer.now_ns() < end_ns, f"{len(found)} of {count} answers"
        found += decoder.feed(peer.read(channel, 20 * MS).data)
    return found
