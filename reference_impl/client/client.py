"""The client role: what RocketMQ's MQClientInstance is, one node that hosts producers, consumers and administration.

Question: how does a client find brokers, keep what it knows fresh, and stay known to them?

Model. One role, several parts. The client owns the connections, the NameServer choice and the route table; a part
(:class:`Producer`, :class:`PullConsumer`, :class:`PushConsumer`, :class:`Admin`) is made with the client and uses
them. Timers as RocketMQ's: routes of all known topics every 30 s, heartbeats to known brokers every 30 s (first after
1 s), each part its own.

    client = Client(ClientSettings(ip="10.0.0.9", nameservers=("10.0.0.1:9876",)))
    producer = Producer(client, ProducerSettings(group="PG"))
    backend.add_client("client-1", client)
    backend.step("client-1", lambda env: producer.send(env, Message("T", b"hello"), on_result))

Limits. One application thread: what RocketMQ does per thread (the queue rotation of a producer) exists once a part.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from reference_impl.client.model import Observer
from reference_impl.environment import MS, SECOND, Address, Environment, Link


@dataclass(frozen=True)
class ClientSettings:
    """RocketMQ: ClientConfig. ``instance`` completes the client id ``ip@instance``; durations in nanoseconds."""

    ip: str
    nameservers: tuple[Address, ...]
    instance: str = "DEFAULT"
    poll_nameserver_ns: int = 30 * SECOND
    heartbeat_ns: int = 30 * SECOND
    call_timeout_ns: int = 3_000 * MS


class Client:
    """A client node (``Role``)."""

    def __init__(self, settings: ClientSettings, observer: Observer | None = None) -> None:
        self.settings = settings
        self.observer = observer or Observer()

    @property
    def client_id(self) -> str:
        """``ip@instance``, RocketMQ's identity of a client."""
        return f"{self.settings.ip}@{self.settings.instance}"

    def on_start(self, env: Environment) -> None: ...

    def on_connected(self, env: Environment, link: Link) -> None: ...

    def on_closed(self, env: Environment, link: Link) -> None: ...

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None: ...

    def on_timer(self, env: Environment, key: Hashable) -> None: ...

    def on_synced(self, env: Environment, file: str, token: Hashable) -> None: ...

    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> None: ...

    def on_stop(self, env: Environment) -> None: ...
