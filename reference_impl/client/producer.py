"""The producer: RocketMQ's retries, its avoidance of a failed broker, its one budget of time.

Question: what happens to a message between ``send`` and its result, and which broker gets it when one is down?

Model (RocketMQ: DefaultMQProducerImpl, MQFaultStrategy). Queues of a topic are used in rotation. ``send_timeout_ns`` is
the budget of *all* attempts together. An attempt that fails without an answer, or with a code of ``RETRY_CODES``, is
followed by the next queue of *another* broker. A stored but not promised status (FLUSH_DISK_TIMEOUT and its kin) is a
result, not a failure, unless ``retry_another_when_not_ok``. With ``latency_fault`` slow or failing brokers are left
alone for the time that RocketMQ's table gives.

Limits. A retry may store a message twice (same UNIQ_KEY): as with RocketMQ, nobody removes the second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reference_impl.client.client import Client
from reference_impl.client.model import Message, MessageQueue, SendResult
from reference_impl.environment import MS, Environment

OnResult = Callable[[Environment, SendResult], None]
"""Called exactly once a send, also for failures."""


@dataclass(frozen=True)
class ProducerSettings:
    """RocketMQ: DefaultMQProducer. ``release`` picks the table of latencies and the codes retried (4.9.7 or 5.3.3)."""

    group: str
    send_timeout_ns: int = 3_000 * MS
    retries: int = 2
    retry_another_when_not_ok: bool = False
    latency_fault: bool = False
    release: str = "4.9.7"
    default_topic: str = "TBW102"
    default_topic_queue_nums: int = 4
    compress_over_bytes: int = 4096
    max_message_size: int = 4 * 1024 * 1024


class Producer:
    """One producer group member on a client."""

    def __init__(self, client: Client, settings: ProducerSettings) -> None:
        self.client = client
        self.settings = settings

    def send(self, env: Environment, message: Message, on_result: OnResult, queue: MessageQueue | None = None) -> int:
        """Send with retries, or with exactly one attempt to *queue*. Returns the number of the send."""
        raise NotImplementedError

    def send_oneway(self, env: Environment, message: Message, queue: MessageQueue | None = None) -> None:
        """Send once and expect no answer; dropped silently where the topic has no route."""
        raise NotImplementedError
