"""A NameServer and a broker on any backend, as a :class:`Peer`: the reference or Apache's, simulated or real."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness.backends.backend import Backend, NodeSpec
from harness.backends.sim.world import SimBackend
from harness.targets.reference import ReferenceTarget
from reference_impl.environment import MS, SECOND, Address, Environment, Link
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import ANSWER, Command, FrameDecoder, RemoteWireError, encode_frame
from suites.conformance.broker.peer import ANSWER_TIMEOUT_NS, Raw
from suites.quiet_role import QuietRole

SMALL_FILES = {"mappedFileSizeCommitLog": str(8 << 20), "mappedFileSizeConsumeQueue": "20000"}
PATIENCE = {"waitTimeMillsInSendQueue": "20000"}
"""By default a broker answers "busy" to what waited 200 ms, as everything does on a machine with much to do."""
START_TIMEOUT_NS = 150 * SECOND


def slack_of(backend: Backend) -> int:
    """``Peer.slack_ns``."""
    return 0 if isinstance(backend, SimBackend) else 20 * SECOND


class _Channel:
    def __init__(self, link: Link) -> None:
        self.link = link
        self.data = bytearray()
        self.decoder = FrameDecoder()
        self.answers: dict[int, Command] = {}
        self.inbox: list[Command] = []
        self.closed = False

    def take(self, data: bytes) -> None:
        self.data += data
        try:
            for command in self.decoder.feed(data):
                if command.is_answer:
                    self.answers[command.opaque] = command
                else:
                    self.inbox.append(command)
        except RemoteWireError:
            self.decoder = FrameDecoder()  # a raw channel may carry anything


class Talker(QuietRole):
    """A client role without opinions: named connections, bytes out, commands in."""

    def __init__(self, addresses: Mapping[str, Address]) -> None:
        self._addresses = addresses
        self.channels: dict[str, _Channel] = {}

    def channel(self, env: Environment, name: str) -> _Channel:
        known = self.channels.get(name)
        if known is None or known.closed:
            prefix = name.partition(":")[0] if ":" in name else "main"
            known = self.channels[name] = _Channel(env.connect(self._addresses[prefix]))
        return known

    def on_closed(self, env: Environment, link: Link) -> None:
        for channel in self.channels.values():
            channel.closed = channel.closed or channel.link == link

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        for channel in self.channels.values():
            if channel.link == link:
                channel.take(data)


def wall_ms(backend: Backend) -> int:
    """The wall clock of ``client-1``."""
    wall: list[int] = []
    backend.step("client-1", lambda env: wall.append(env.wall()))
    backend.run_until(lambda: bool(wall), backend.now() + ANSWER_TIMEOUT_NS)
    return wall[0]


class BackendPeer:
    """``namesrv-1`` and ``broker-a-0``, started and registered; ``backend`` is there for faults."""

    broker_name = "broker-a"
    cluster = "DefaultCluster"

    def __init__(
        self,
        backend: Backend,
        *,
        release: str = "4.9.7",
        defects: tuple[str, ...] = (),
        properties: Mapping[str, str] | None = None,
        nameserver: Mapping[str, str] | None = None,
    ) -> None:
        self.backend, self.release, self.slack_ns = backend, release, slack_of(backend)
        self.events: list[tuple[str, str, dict[str, Any]]] = []
        backend.on_event = self._event
        server, host = backend.host("namesrv-1"), backend.host("broker-a-0")
        self.namesrv, self.broker = f"{server}:9876", f"{host}:10911"
        given = {"bindAddress": server, "listenPort": "9876"}
        backend.add_node(NodeSpec("namesrv-1", "namesrv", given | dict(nameserver or {})))
        own = {
            "brokerName": self.broker_name,
            "brokerIP1": host,
            "namesrvAddr": self.namesrv,
            **SMALL_FILES,
            **PATIENCE,
        }
        backend.add_node(NodeSpec("broker-a-0", "broker", own | dict(properties or {}), defects))
        addresses = {"main": self.broker, "fast": f"{host}:10909", "ha": f"{host}:10912", "namesrv": self.namesrv}
        self.talker = Talker(addresses)
        self._opaque = 1000
        backend.add_client("client-1", self.talker)
        self._start("namesrv-1", lambda: self._answers("namesrv:", Code.GET_BROKER_CLUSTER_INFO))
        self._start("broker-a-0", self.is_registered)

    def _start(self, node: str, ready: Callable[[], bool]) -> None:
        self.backend.perform(lambda: self.backend.levers.start(node))
        end_ns = self.backend.now() + START_TIMEOUT_NS
        while not ready():
            assert self.backend.now() < end_ns, f"{node} is not ready after {START_TIMEOUT_NS / SECOND:g} s"
            self.sleep(100 * MS)

    def _answers(self, channel: str, code: int) -> bool:
        return self.ask(Command(code), channel, SECOND) is not None

    def is_registered(self) -> bool:
        """Whether the NameServer knows the broker, and routes its template topic."""
        route = self.ask(Command(Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "TBW102"}), "namesrv:", SECOND)
        return route is not None and route.code == 0 and self.broker.encode() in route.body

    def _event(self, node: str, event: str, fields: dict[str, Any]) -> None:
        assert event not in ("crashed", "handler_failed"), (node, event, fields)
        self.events.append((node, event, fields))

    def ask(self, request: Command, channel: str = "main", timeout_ns: int = ANSWER_TIMEOUT_NS) -> Command | None:
        self._opaque += 1
        request.opaque = request.opaque or self._opaque
        self.write(channel, encode_frame(request))
        talk = self.talker.channels[channel]
        opaque = request.opaque
        self.backend.run_until(lambda: opaque in talk.answers or talk.closed, self.backend.now() + timeout_ns)
        return talk.answers.pop(opaque, None)

    def write(self, channel: str, data: bytes) -> None:
        self.backend.step("client-1", lambda env: env.send(self.talker.channel(env, channel).link, data))

    def read(self, channel: str, wait_ns: int) -> Raw:
        talk = self.talker.channels[channel]
        self.backend.run_until(lambda: talk.closed, self.backend.now() + wait_ns)
        data, talk.data = bytes(talk.data), bytearray()
        return Raw(data, talk.closed)

    def inbox(self, channel: str) -> list[Command]:
        talk = self.talker.channels[channel]
        received, talk.inbox = talk.inbox, []
        return received

    def reply(self, channel: str, request: Command, answer: Command) -> None:
        reply = Command(answer.code, answer.fields, answer.body, answer.remark, ANSWER, request.opaque)
        self.write(channel, encode_frame(reply))

    def hang_up(self, channel: str) -> None:
        talk = self.talker.channels.pop(channel)
        self.backend.step("client-1", lambda env: env.close(talk.link))

    def is_closed(self, channel: str) -> bool:
        return self.talker.channels[channel].closed

    def sleep(self, duration_ns: int) -> None:
        self.backend.run_until(lambda: False, self.backend.now() + duration_ns)

    def now_ns(self) -> int:
        return self.backend.now()

    def now_ms(self) -> int:
        return wall_ms(self.backend)

    def restart(self, *, how: str) -> None:
        """The broker ends (``stop``, ``kill`` or ``cut_power``) and comes back."""
        self.end(how)
        self.sleep(100 * MS)
        self.begin()

    def end(self, how: str) -> None:
        """``stop``, ``kill`` or ``cut_power``."""
        levers = self.backend.levers
        ends = {
            "stop": lambda: levers.stop("broker-a-0", 20 * SECOND),
            "kill": lambda: levers.kill("broker-a-0"),
            "cut_power": lambda: levers.cut_power("broker-a-0"),
        }
        self.backend.perform(ends[how])

    def begin(self) -> None:
        """Start the broker again, until it answers."""
        self._start("broker-a-0", lambda: self._answers("main", Code.GET_ALL_TOPIC_CONFIG))


def simulated(seed: int = 1, *, defects: tuple[str, ...] = (), **properties: str) -> BackendPeer:
    """The reference in the simulator."""
    return BackendPeer(SimBackend(ReferenceTarget(), seed), defects=defects, properties=properties)
