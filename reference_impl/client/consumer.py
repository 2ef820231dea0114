"""The pull consumer: assigned queues, one outstanding pull a queue, offsets committed to the broker.

Question: which messages does a consumer see, in which order, and from where does it go on after a failure?

Model (RocketMQ: PullAPIWrapper, DefaultMQPushConsumerImpl#pullMessage). Each assigned queue has a position. A pull asks
the broker that the last answer suggested; FOUND, PULL_NOT_FOUND and PULL_RETRY_IMMEDIATELY go on at once from
``next_offset``, PULL_OFFSET_MOVED jumps there, any failure waits 1 s. Offsets are committed every 5 s, one-way, and
with each pull from the master.

Limits. Queues are assigned by the caller; rebalancing is the push consumer's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reference_impl.client.client import Client
from reference_impl.client.model import MessageQueue, PullOutcome
from reference_impl.environment import MS, SECOND, Environment

OnPull = Callable[[Environment, PullOutcome], None]
"""Called for every finished pull."""


@dataclass(frozen=True)
class PullSettings:
    """RocketMQ: DefaultMQPullConsumer / DefaultMQPushConsumer defaults."""

    group: str
    expression: str = "*"
    batch_size: int = 32
    suspend_ns: int = 15_000 * MS
    pull_timeout_ns: int = 30_000 * MS
    failure_pause_ns: int = 1_000 * MS
    persist_ns: int = 5 * SECOND
    commit: bool = True


class PullConsumer:
    """Pulls assigned queues for ever and hands every outcome to ``on_pull``."""

    def __init__(self, client: Client, settings: PullSettings, on_pull: OnPull) -> None:
        self.client = client
        self.settings = settings
        self.on_pull = on_pull

    def assign(self, env: Environment, offsets: Mapping[MessageQueue, int]) -> None:
        """Pull exactly these queues, from these offsets (−1: the group's committed offset, else RocketMQ's rule)."""
        raise NotImplementedError

    def commit(self, env: Environment, queue: MessageQueue, offset: int) -> None:
        """Everything below *offset* is processed; sent with the next pull and every ``persist_ns``."""
        raise NotImplementedError

    def position(self, queue: MessageQueue) -> int:
        """The offset that the next pull asks for; −1 if the queue is not assigned."""
        raise NotImplementedError
