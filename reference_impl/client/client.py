"""The client role: what RocketMQ's MQClientInstance is, one node that hosts producers, consumers and administration.

Question: how does a client find brokers, keep what it knows fresh, and stay known to them?

Model. One role, several parts. The client owns the connections, the NameServer choice and the route table; a part
(:class:`Producer`, :class:`PullConsumer`, :class:`PushConsumer`, :class:`Admin`) is made with the client and uses
them. Timers as RocketMQ's: routes of all known topics after 10 ms and every 30 s; after 1 s and every 30 s brokers that
no route names are dropped and all others get a heartbeat (slaves only from clients that consume); each part its own.

    client = Client(ClientSettings(ip="10.0.0.9", nameservers=("10.0.0.1:9876",)))
    producer = Producer(client, ProducerSettings(group="PG"))
    backend.add_client("client-1", client)
    backend.step("client-1", lambda env: producer.send(env, Message("T", b"hello"), on_result))

A broker that asks how far a group is (221) is told what its parts would commit; nothing, if they are of other groups.

Limits. One application thread: what RocketMQ does per thread (the queue rotation of a producer) exists once a part.
Requests of brokers that no part takes are answered code 3.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Final

from reference_impl.client.model import MessageQueue, Observer
from reference_impl.client.nameservers import NameServers
from reference_impl.client.routes import RouteTable
from reference_impl.environment import MS, SECOND, Address, Environment, Link
from reference_impl.wire import bodies
from reference_impl.wire.codes import RequestCode, ResponseCode
from reference_impl.wire.dialect import write_json
from reference_impl.wire.frame import Command
from reference_impl.wire.heartbeat import HeartbeatData
from reference_impl.wire.remoting import Answer, Remoting, not_supported

FIRST_POLL_NS: Final = 10 * MS
FIRST_HEARTBEAT_NS: Final = 1 * SECOND
_POLL, _HEARTBEAT = ("client", "poll"), ("client", "heartbeat")


@dataclass(frozen=True)
class ClientSettings:
    """RocketMQ: ClientConfig. ``instance`` completes the client id ``ip@instance``; durations in nanoseconds."""

    ip: str
    nameservers: tuple[Address, ...]
    instance: str = "DEFAULT"
    poll_nameserver_ns: int = 30 * SECOND
    heartbeat_ns: int = 30 * SECOND
    call_timeout_ns: int = 3_000 * MS


class Part:
    """What a client hosts. Every method does nothing here: override what concerns you."""

    def start(self, env: Environment) -> None:
        """The client has started."""

    def stop(self, env: Environment) -> None:
        """The client is about to end: say what must still be said."""

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Whether the timer was ours."""
        return False

    def describe(self, heartbeat: HeartbeatData) -> None:
        """Add our group to the heartbeat."""

    def on_request(self, env: Environment, link: Link, request: Command) -> bool:
        """A broker tells something; whether it was for us. All such requests are one-way but for a reply, which the
        client answers."""
        return False

    def progress(self, group: str, topic: str) -> Mapping[MessageQueue, int]:
        """How far *group* is in the queues of *topic* that we read, if it is ours."""
        return {}


class Client:
    """A client node (``Role``)."""

    def __init__(self, settings: ClientSettings, observer: Observer | None = None) -> None:
        if not settings.nameservers:
            raise ValueError("a client needs the address of at least one NameServer")
        self.settings = settings
        self.observer = observer or Observer()
        self.remoting = Remoting(self._handle)
        self.nameservers = NameServers(self.remoting, settings.nameservers)
        self.routes = RouteTable(self.nameservers, settings.call_timeout_ns, self.observer)
        self.parts: list[Part] = []
        self._started_parts: list[Part] = []

    @property
    def client_id(self) -> str:
        """``ip@instance``, RocketMQ's identity of a client."""
        return f"{self.settings.ip}@{self.settings.instance}"

    def start_parts(self, env: Environment) -> None:
        """Start the parts that are not yet started: needed for those made after the client had started."""
        for part in [part for part in self.parts if part not in self._started_parts]:
            self._started_parts.append(part)
            part.start(env)

    # --- Role -------------------------------------------------------------------------------------------------------

    def on_start(self, env: Environment) -> None:
        """Begin to poll and to send heartbeats."""
        self.nameservers.shuffle(env.rng)
        env.set_timer(_POLL, FIRST_POLL_NS)
        env.set_timer(_HEARTBEAT, FIRST_HEARTBEAT_NS)
        self.start_parts(env)

    def on_connected(self, env: Environment, link: Link) -> None:
        """A connection that we opened stands."""
        self.remoting.on_connected(env, link)

    def on_closed(self, env: Environment, link: Link) -> None:
        """A connection is gone; its calls fail."""
        self.remoting.on_closed(env, link)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        """Answers, and requests of brokers."""
        self.remoting.on_bytes(env, link, data)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        """Ours, the remoting end's, or a part's."""
        if key == _POLL:
            env.set_timer(_POLL, self.settings.poll_nameserver_ns)
            self.routes.refresh_all(env)
        elif key == _HEARTBEAT:
            env.set_timer(_HEARTBEAT, self.settings.heartbeat_ns)
            self.routes.forget_offline()
            self.heartbeat(env)
        elif not self.remoting.on_timer(env, key):
            any(part.on_timer(env, key) for part in self.parts)

    def on_synced(self, env: Environment, file: str, token: Hashable) -> None:
        """A client writes no files."""

    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> None:
        """A client writes no files."""

    def on_stop(self, env: Environment) -> None:
        """Parts say farewell (offsets, groups), then the client ends; nobody waits for answers."""
        for part in self.parts:
            part.stop(env)
        self.remoting.close_all(env)
        env.exit()

    # --- for parts --------------------------------------------------------------------------------------------------

    def heartbeat(self, env: Environment) -> None:
        """Tell every known broker who we are."""
        data = HeartbeatData(client_id=self.client_id, consumer_data_set=[], producer_data_set=[])
        for part in self.parts:
            part.describe(data)
        if not data.consumer_data_set and not data.producer_data_set:
            return
        body = write_json(data)
        for address in self.routes.addresses(masters_only=not data.consumer_data_set):
            self._tell(env, address, Command(RequestCode.HEART_BEAT, body=body))

    def unregister(self, env: Environment, *, producer_group: str = "", consumer_group: str = "") -> None:
        """A group leaves every known broker."""
        fields = {"clientID": self.client_id}
        fields |= {"producerGroup": producer_group} if producer_group else {}
        fields |= {"consumerGroup": consumer_group} if consumer_group else {}
        for address in self.routes.addresses(masters_only=False):
            self._tell(env, address, Command(RequestCode.UNREGISTER_CLIENT, dict(fields)))

    def _tell(self, env: Environment, address: Address, request: Command) -> None:
        """A call whose answer does not matter; a failure shows in the next one."""
        self.remoting.call(env, address, request, self.settings.call_timeout_ns, _ignore, close_on_timeout=True)

    def _handle(self, env: Environment, link: Link, request: Command) -> Command | None:
        if request.code == RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT:
            return self._status(request.fields.get("group", ""), request.fields.get("topic", ""))
        taken = [part.on_request(env, link, request) for part in self.parts]  # a notice concerns every group
        if not any(taken):
            return not_supported(request)
        is_answered = request.code == RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT
        return Command(ResponseCode.SUCCESS) if is_answered else None

    def _status(self, group: str, topic: str) -> Command:
        """RocketMQ: ClientRemotingProcessor#getConsumeStatus."""
        known = [entry for part in self.parts for entry in part.progress(group, topic).items()]
        own = {bodies.MessageQueue(queue.broker_name, queue.queue_id, queue.topic): offset for queue, offset in known}
        return Command(ResponseCode.SUCCESS, body=bodies.write_consumer_status(own, {}))


def _ignore(_env: Environment, _answer: Answer) -> None:
    """Nobody waits for this answer."""
