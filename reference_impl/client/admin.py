"""Administration: what an operator does to a cluster, one call each, each with a callback.

Question: how are topics made, offsets looked up and configuration changed from outside?

Model (RocketMQ: DefaultMQAdminExt). Every call goes to one named address and ends in one callback with an
:class:`AdminAnswer`; nothing is retried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from reference_impl.client.client import Client
from reference_impl.environment import Address, Environment


@dataclass(frozen=True)
class AdminAnswer:
    """``status`` is OK, RocketMQ's name of the response code, or CONNECT_FAILED, TIMEOUT, CONNECTION_CLOSED."""

    status: str
    fields: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    remark: str = ""


OnAnswer = Callable[[Environment, AdminAnswer], None]


class Admin:
    """Operator calls of a client."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def create_topic(
        self, env: Environment, broker: Address, topic: str, queues: int, done: OnAnswer, permission: int = 6
    ) -> None:
        """Create or replace a topic on one broker (17)."""
        raise NotImplementedError

    def delete_topic(self, env: Environment, broker: Address, topic: str, done: OnAnswer) -> None:
        """Delete a topic on one broker (215)."""
        raise NotImplementedError
