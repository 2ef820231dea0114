"""The values that RocketMQ's clients deal in: messages, queues, routes, results, and who may watch.

Question: what does an application see of a client, and what can a watcher record of it without changing it?

Model. Plain frozen values. Times are nanoseconds of the node's monotonic clock unless a name says ``_ms`` (wall
clock, milliseconds since the epoch). ``status`` texts: the four of a stored message (``SEND_OK``,
``FLUSH_DISK_TIMEOUT``, ``FLUSH_SLAVE_TIMEOUT``, ``SLAVE_NOT_AVAILABLE``), RocketMQ's name of any other response code
(``TOPIC_NOT_EXIST`` …, ``CODE_n`` if it has none), and for calls without an answer ``CONNECT_FAILED`` (certainly not
sent), ``TIMEOUT`` and ``CONNECTION_CLOSED`` (both: may have been stored).

Limits. A watcher sees every attempt; a result is the producer's own summary of its attempts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reference_impl.environment import Address, Environment


@dataclass(frozen=True, order=True)
class MessageQueue:
    """One queue of a topic; the order is RocketMQ's (topic, broker name, queue id)."""

    topic: str
    broker_name: str
    queue_id: int


@dataclass(frozen=True)
class Message:
    """What an application sends. ``properties`` are RocketMQ's (TAGS, KEYS, DELAY, WAIT …)."""

    topic: str
    body: bytes
    properties: Mapping[str, str] = field(default_factory=dict)
    flag: int = 0


@dataclass(frozen=True)
class TopicRoute:
    """A topic's route as a NameServer gave it: broker name → broker id → address, and the queues of each broker."""

    brokers: Mapping[str, Mapping[int, Address]] = field(default_factory=dict)
    read_queues: Mapping[str, int] = field(default_factory=dict)
    write_queues: Mapping[str, int] = field(default_factory=dict)
    permissions: Mapping[str, int] = field(default_factory=dict)
    order: str = ""


@dataclass(frozen=True)
class Attempt:
    """One try of one send: which broker, which queue, how it ended (``status``) and when."""

    send: int
    number: int
    queue: MessageQueue
    address: Address
    started_ns: int
    ended_ns: int
    status: str
    remark: str = ""


@dataclass(frozen=True)
class SendResult:
    """How one send ended. ``queue_offset`` and ``message_id`` are −1 and empty where nothing was answered."""

    send: int
    status: str
    queue: MessageQueue | None
    queue_offset: int
    message_id: str
    unique_key: str
    attempts: int
    started_ns: int
    ended_ns: int
    remark: str = ""


@dataclass(frozen=True)
class PulledMessage:
    """One message as a consumer gets it (body inflated)."""

    queue: MessageQueue
    queue_offset: int
    physical_offset: int
    body: bytes
    properties: Mapping[str, str]
    born_ms: int
    stored_ms: int
    reconsume_times: int
    message_id: str
    stored_in: MessageQueue
    """What the record itself says; ``queue`` is the one that was asked."""


@dataclass(frozen=True)
class PullOutcome:
    """One pull. ``status`` is OK (messages found), PULL_NOT_FOUND, PULL_RETRY_IMMEDIATELY, PULL_OFFSET_MOVED or the
    word of a failure; with a failure the three offsets and the suggestion are −1. ``broker_id`` is the one asked."""

    queue: MessageQueue
    address: Address
    broker_id: int
    offset: int
    status: str
    next_offset: int
    min_offset: int
    max_offset: int
    suggested_broker_id: int
    messages: tuple[PulledMessage, ...]
    started_ns: int
    ended_ns: int
    remark: str = ""
    number: int = 0
    """As in :meth:`Observer.on_pulling`."""


class Observer:
    """Watches a client. Every method does nothing here: override what you record. Never call back into the client."""

    def on_route(self, env: Environment, topic: str, server: Address, status: str, route: TopicRoute | None) -> None:
        """A NameServer answered (``status`` OK, TOPIC_NOT_EXIST …) or did not (CONNECT_FAILED, TIMEOUT …)."""

    def on_try(self, env: Environment, send: int, number: int, queue: MessageQueue, address: Address) -> None:
        """A send request leaves for *address*."""

    def on_attempt(self, env: Environment, attempt: Attempt) -> None:
        """An attempt ended."""

    def on_result(self, env: Environment, result: SendResult) -> None:
        """A send ended; called before the application's own callback."""

    def on_pulling(
        self, env: Environment, number: int, queue: MessageQueue, address: Address, offset: int, committed: int
    ) -> None:
        """A pull leaves for *address*; *committed* travels with it (−1: nothing does)."""

    def on_pull(self, env: Environment, outcome: PullOutcome) -> None:
        """A pull ended."""

    def on_late_pull(self, env: Environment, outcome: PullOutcome) -> None:
        """A pull ended whose queue had been taken away meanwhile: the application does not get what it brought."""

    def on_asking_offset(self, env: Environment, number: int, queue: MessageQueue, address: Address) -> None:
        """The group's committed offset is asked for."""

    def on_offset(self, env: Environment, number: int, status: str, offset: int) -> None:
        """The committed offset was told (−1: it was not)."""

    def on_committing(self, env: Environment, number: int, queue: MessageQueue, address: Address, offset: int) -> None:
        """An offset leaves for a broker that is asked to confirm it."""

    def on_committed(self, env: Environment, number: int, status: str) -> None:
        """That commit ended."""

    def on_commit(self, env: Environment, group: str, queue: MessageQueue, offset: int) -> None:
        """An offset was sent to a broker (one-way: nobody confirms it)."""

    def on_assigned(self, env: Environment, group: str, queues: tuple[MessageQueue, ...]) -> None:
        """A rebalance gave this consumer exactly these queues."""

    def on_locking(self, env: Environment, number: int, queues: tuple[MessageQueue, ...], address: Address) -> None:
        """The locks of these queues are asked for, or asked for again."""

    def on_locked(self, env: Environment, number: int, status: str, granted: frozenset[MessageQueue]) -> None:
        """That call ended; with any status but OK nothing was granted or refused."""

    def on_unlocking(self, env: Environment, number: int, queues: tuple[MessageQueue, ...], address: Address) -> None:
        """The locks of these queues are given back."""

    def on_unlocked(self, env: Environment, number: int, status: str) -> None:
        """That call ended; ``ONE_WAY``: nobody waits for an answer."""
