"""A NameServer, a master and its slaves on any backend, each of them to be talked to.

Question: what is asked of whom? ``Pair.master`` and ``Pair.slave`` are peers in the sense of
``suites.conformance.broker.peer``, so that its words (send, pull, create_topic …) work with either. Faults go through
``pair.backend.levers``, nodes are ``namesrv-1``, ``broker-a-0``, ``broker-a-1`` ….
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from harness.backends.backend import Backend, NodeSpec
from harness.backends.sim.world import SimBackend
from harness.targets.reference import ReferenceTarget
from reference_impl.environment import MS, SECOND
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import Command, encode_frame
from suites.conformance.broker.backend_peer import PATIENCE, START_TIMEOUT_NS, Talker, slack_of, wall_ms
from suites.conformance.broker.peer import ANSWER_TIMEOUT_NS, Raw, max_offset

SMALL_FILES = {"mappedFileSizeCommitLog": str(1 << 16), "mappedFileSizeConsumeQueue": "20000", "maxHashSlotNum": "100"}
SMALL_FILES |= {"maxIndexNum": "2000"} | PATIENCE


class View:
    """One broker of the pair (a ``Peer``)."""

    broker_name = "broker-a"
    cluster = "DefaultCluster"

    def __init__(self, pair: Pair, node: str) -> None:
        self._pair, self.node, self.release = pair, node, pair.release
        self.slack_ns = slack_of(pair.backend)
        self.broker = f"{pair.backend.host(node)}:10911"

    def ask(self, request: Command, channel: str = "main", timeout_ns: int = ANSWER_TIMEOUT_NS) -> Command | None:
        return self._pair.ask(request, f"{self.node}:{channel}", timeout_ns)

    def write(self, channel: str, data: bytes) -> None:
        self._pair.write(f"{self.node}:{channel}", data)

    def read(self, channel: str, wait_ns: int) -> Raw:
        talk = self._pair.talker.channels[f"{self.node}:{channel}"]
        self._pair.backend.run_until(lambda: talk.closed, self._pair.backend.now() + wait_ns)
        data, talk.data = bytes(talk.data), bytearray()
        return Raw(data, talk.closed)

    def inbox(self, channel: str) -> list[Command]:
        talk = self._pair.talker.channels[f"{self.node}:{channel}"]
        received, talk.inbox = talk.inbox, []
        return received

    def hang_up(self, channel: str) -> None:
        talk = self._pair.talker.channels.pop(f"{self.node}:{channel}")
        self._pair.backend.step("client-1", lambda env: env.close(talk.link))

    def is_closed(self, channel: str) -> bool:
        return self._pair.talker.channels[f"{self.node}:{channel}"].closed

    def sleep(self, duration_ns: int) -> None:
        self._pair.sleep(duration_ns)

    def now_ns(self) -> int:
        return self._pair.backend.now()

    def now_ms(self) -> int:
        return wall_ms(self._pair.backend)


class Pair:
    """All nodes started, the slaves connected and confirmed (``is_joined``), unless *joined* is false. *others* are
    addresses by name, to be talked to as well."""

    def __init__(
        self,
        backend: Backend,
        *,
        slaves: int = 1,
        release: str = "4.9.7",
        joined: bool = True,
        in_turn: bool = False,
        defects: tuple[str, ...] = (),
        master: Mapping[str, str] | None = None,
        slave: Mapping[str, str] | None = None,
        others: Mapping[str, str] | None = None,
        nameserver: Mapping[str, str] | None = None,
        **both: str,
    ) -> None:
        self.backend, self.release, self.defects = backend, release, defects
        self.events: list[tuple[str, str, dict[str, Any]]] = []
        backend.on_event = self._event
        server = backend.host("namesrv-1")
        self.namesrv = f"{server}:9876"
        self.slaves = [f"broker-a-{number}" for number in range(1, slaves + 1)]
        self.nodes = ["broker-a-0", *self.slaves]
        given = {"bindAddress": server, "listenPort": "9876"} | dict(nameserver or {})
        backend.add_node(NodeSpec("namesrv-1", "namesrv", given))
        for number, node in enumerate(self.nodes):
            own = dict((slave if number else master) or {})
            role = {"brokerRole": "SLAVE"} if number else {}
            backend.add_node(NodeSpec(node, "broker", self._properties(node, number) | role | both | own, defects))
        addresses = {node: f"{backend.host(node)}:10911" for node in self.nodes} | {"namesrv": self.namesrv}
        addresses |= {f"{node}-ha": f"{backend.host(node)}:10912" for node in self.nodes} | dict(others or {})
        self.talker = Talker(addresses)
        self._opaque = 1000
        backend.add_client("client-1", self.talker)
        self.views = {node: View(self, node) for node in self.nodes}
        self.master = self.views["broker-a-0"]
        self.start("namesrv-1")
        self.until(lambda: self.ask(Command(Code.GET_BROKER_CLUSTER_INFO), "namesrv:", SECOND) is not None)
        for node in self.nodes:
            self.start(node)
            if in_turn:  # the first to register has no other to ask for what it may have missed
                self.until(partial(self.is_up, node))
        self.until(lambda: all(self.is_up(node) for node in self.nodes))
        if joined:
            self.until(lambda: all(self.is_joined(node) for node in self.slaves))

    def _properties(self, node: str, number: int) -> dict[str, str]:
        host = self.backend.host(node)
        own = {"brokerName": "broker-a", "brokerId": str(number), "brokerIP1": host, "brokerIP2": host}
        return own | {"namesrvAddr": self.namesrv, "release": self.release, **SMALL_FILES}

    @property
    def slave(self) -> View:
        """The first slave."""
        return self.views[self.slaves[0]]

    # --- nodes ------------------------------------------------------------------------------------------------------

    def start(self, node: str) -> None:
        self.backend.perform(lambda: self.backend.levers.start(node))

    def kill(self, node: str) -> None:
        self.backend.perform(lambda: self.backend.levers.kill(node))

    def stop(self, node: str) -> None:
        self.backend.perform(lambda: self.backend.levers.stop(node, 30 * SECOND))

    def cut_power(self, node: str) -> None:
        self.backend.perform(lambda: self.backend.levers.cut_power(node))

    def is_up(self, node: str) -> bool:
        """The broker answers."""
        return self.views[node].ask(Command(Code.GET_ALL_TOPIC_CONFIG), timeout_ns=SECOND) is not None

    def is_joined(self, node: str) -> bool:
        """The slave has begun: its connection to the master of this life is up and past its first report."""
        host = self.backend.host(node)
        last = ""
        for name, event, fields in self.events:
            if name == "broker-a-0" and event == "broker_started":
                last = ""
            elif event in ("ha_slave_begins", "ha_slave_gone") and str(fields["slave"]).startswith(f"{host}:"):
                last = event
        return last == "ha_slave_begins"

    def _event(self, node: str, event: str, fields: dict[str, Any]) -> None:
        assert event not in ("crashed", "handler_failed"), (node, event, fields)
        self.events.append((node, event, fields))

    def noted(self, node: str, event: str) -> list[dict[str, Any]]:
        """The fields of every such note of *node*."""
        return [fields for name, what, fields in self.events if (name, what) == (node, event)]

    # --- talking ----------------------------------------------------------------------------------------------------

    def ask(self, request: Command, channel: str, timeout_ns: int = ANSWER_TIMEOUT_NS) -> Command | None:
        self._opaque += 1
        request.opaque = request.opaque or self._opaque
        self.write(channel, encode_frame(request))
        talk, opaque = self.talker.channels[channel], request.opaque
        self.backend.run_until(lambda: opaque in talk.answers or talk.closed, self.backend.now() + timeout_ns)
        return talk.answers.pop(opaque, None)

    def write(self, channel: str, data: bytes) -> None:
        self.backend.step("client-1", lambda env: env.send(self.talker.channel(env, channel).link, data))

    # --- time -------------------------------------------------------------------------------------------------------

    def sleep(self, duration_ns: int) -> None:
        self.backend.run_until(lambda: False, self.backend.now() + duration_ns)

    def until(self, holds: Callable[[], bool], within_ns: int = START_TIMEOUT_NS) -> int:
        """How long it took, in ns; looked at every 50 ms."""
        begin = self.backend.now()
        while not holds():
            assert self.backend.now() - begin < within_ns, f"not within {within_ns / SECOND:g} s"
            self.sleep(50 * MS)
        return self.backend.now() - begin

    def has(self, node: str, topic: str, count: int, queue: int = 0) -> bool:
        """The node can serve *count* messages of the queue."""
        return max_offset(self.views[node], topic, queue) >= count


def simulated(seed: int = 1, **options: Any) -> Pair:
    """The reference in the simulator."""
    return Pair(SimBackend(ReferenceTarget(), seed), **options)


def log_of(pair: Pair, node: str) -> tuple[int, bytes]:
    """(first offset, written bytes) of a node's commit log in the simulator, as the page cache has it.

    The written part ends where the last file holds nothing but zeros.
    """
    backend = pair.backend
    assert isinstance(backend, SimBackend)
    disk = backend.node(node).disk
    files = [name for name in disk.files("store/commitlog/") if name.rpartition("/")[2].isdigit()]
    if not files:
        return 0, b""
    data = b"".join(disk.read(name, 0, disk.size(name)) for name in files)
    return int(files[0].rpartition("/")[2]), data.rstrip(b"\0")


def differing(pair: Pair, one: str, other: str) -> int:
    """The first offset at which the logs of two nodes differ in their common range; −1 if nowhere."""
    (begin_one, log_one), (begin_other, log_other) = log_of(pair, one), log_of(pair, other)
    begin = max(begin_one, begin_other)
    left, right = log_one[begin - begin_one :], log_other[begin - begin_other :]
    for index, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return begin + index
    return -1
