"""Small roles for testing the simulator itself: a log server with both kinds of flush, its client, and a recorder.

The log server appends 16-byte records (``>8sQ``: magic, number) and answers each with its number; with sync flush only
when a sync that covers it has ended. It recovers by reading until the first bad record. ``Recorder`` is a role that
does what it is told and remembers what reached it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from struct import Struct
from typing import Any

from harness.backends.backend import NodeSpec
from harness.backends.sim.models import Budgets, Model
from harness.backends.sim.scheduler import Trace
from harness.backends.sim.world import SimBackend
from reference_impl.environment import MS, SECOND, Environment, Link, Role

RECORD = Struct(">8sQ")
MAGIC = b"TOYLOG\x00\x01"
ANSWER = Struct(">Q")
PORT = 10911
FLUSH_EVERY = 500 * MS


class Silent:
    """A role that ignores everything; a basis for the others."""

    def on_start(self, env: Environment) -> None: ...

    def on_connected(self, env: Environment, link: Link) -> None: ...

    def on_closed(self, env: Environment, link: Link) -> None: ...

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None: ...

    def on_timer(self, env: Environment, key: Hashable) -> None: ...

    def on_synced(self, env: Environment, file: str, token: Hashable) -> None: ...

    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> None: ...

    def on_stop(self, env: Environment) -> None:
        env.exit()


class LogServer(Silent):
    """Appends records. Defects: ``ack-early`` (answers before the sync), ``no-check`` (recovers without reading)."""

    def __init__(self, properties: dict[str, str], defects: tuple[str, ...] = ()) -> None:
        self.is_sync = properties.get("flush") == "sync"
        self.defects = defects
        self.end = 0
        self.waiting: dict[int, list[tuple[Link, int]]] = {}
        self.syncs = 0
        self.torn: dict[Link, bytes] = {}

    def on_start(self, env: Environment) -> None:
        while (record := env.read("log", self.end, RECORD.size) if env.size("log") > self.end else b"")[:8] == MAGIC:
            if len(record) < RECORD.size:
                break
            self.end += RECORD.size
        if env.size("log") >= 0:
            env.truncate("log", self.end)
        env.note("recovered", records=self.end // RECORD.size)
        env.listen(f"0.0.0.0:{PORT}")
        env.set_timer("flush", FLUSH_EVERY)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        data = self.torn.pop(link, b"") + data
        whole = len(data) // 8 * 8
        if whole < len(data):
            self.torn[link] = data[whole:]
        answers = []
        for at in range(0, whole, 8):
            number = int.from_bytes(data[at : at + 8], "big")
            env.write("log", self.end, RECORD.pack(MAGIC, number))
            self.end += RECORD.size
            answers.append((link, number))
        if self.is_sync and "ack-early" not in self.defects:
            self.syncs += 1
            self.waiting[self.syncs] = answers
            env.sync("log", self.syncs)
        else:
            self._answer(env, answers)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        env.sync("log", 0)
        env.set_timer("flush", FLUSH_EVERY)

    def on_synced(self, env: Environment, file: str, token: Hashable) -> None:
        if isinstance(token, int):
            self._answer(env, self.waiting.pop(token, []))

    def _answer(self, env: Environment, answers: list[tuple[Link, int]]) -> None:
        for link, number in answers:
            env.send(link, ANSWER.pack(number))


class LogClient(Silent):
    """Sends numbers at a fixed pace and remembers which were answered; connects again when it loses its link."""

    def __init__(self, address: str, first: int, every_ns: int) -> None:
        self.address, self.next, self.every_ns = address, first, every_ns
        self.link = 0
        self.is_up = False
        self.acknowledged: list[int] = []
        self.torn = b""

    def on_start(self, env: Environment) -> None:
        self.link = env.connect(self.address)
        env.set_timer("send", self.every_ns)

    def on_connected(self, env: Environment, link: Link) -> None:
        self.is_up = True

    def on_closed(self, env: Environment, link: Link) -> None:
        self.is_up, self.torn = False, b""
        env.set_timer("again", 50 * MS)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        if key == "again":
            self.link = env.connect(self.address)
            return
        if self.is_up:
            env.send(self.link, self.next.to_bytes(8, "big"))
            self.next += 1
        env.set_timer("send", self.every_ns)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        data = self.torn + data
        whole = len(data) // 8 * 8
        self.torn = data[whole:]
        self.acknowledged += [int.from_bytes(data[at : at + 8], "big") for at in range(0, whole, 8)]


class Recorder(Silent):
    """Remembers (time since the run began, what, detail) of everything that reaches it; ``on_start`` may be given."""

    def __init__(self, world: list[SimBackend], start: Callable[[Environment], None] | None = None) -> None:
        self._world, self._start = world, start
        self.seen: list[tuple[int, str, Any]] = []
        self.fail_on = ""
        self.stops = True

    def _see(self, what: str, detail: Any) -> None:
        self.seen.append((self._world[0].now(), what, detail))
        if what == self.fail_on:
            raise ValueError(f"told to fail on {what}")

    def what(self) -> list[tuple[str, Any]]:
        """Without the times."""
        return [(what, detail) for _, what, detail in self.seen]

    def received(self) -> bytes:
        """All bytes, in order."""
        return b"".join(detail for _, what, detail in self.seen if what == "bytes")

    def when(self, what: str) -> int:
        """Time of the first *what*."""
        return next(ns for ns, name, _ in self.seen if name == what)

    def on_start(self, env: Environment) -> None:
        self._see("start", None)
        if self._start is not None:
            self._start(env)

    def on_connected(self, env: Environment, link: Link) -> None:
        self._see("connected", link)

    def on_closed(self, env: Environment, link: Link) -> None:
        self._see("closed", link)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        self._see("bytes", data)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        self._see("timer", key)

    def on_synced(self, env: Environment, file: str, token: Hashable) -> None:
        self._see("synced", (file, token))

    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> None:
        self._see("disk_error", (file, token, error))

    def on_stop(self, env: Environment) -> None:
        self._see("stop", None)
        if self.stops:
            env.exit()


class ToyTarget:
    """Makes roles by a given function; keeps every role it made, by node."""

    name = "toy"

    def __init__(self, make: Callable[[NodeSpec], Role]) -> None:
        self._make = make
        self.made: dict[str, list[Any]] = {}

    def prepare(self) -> None: ...

    def at(self, node: str) -> ToyTarget:
        return self

    def role(self, spec: NodeSpec) -> Role:
        role = self._make(spec)
        self.made.setdefault(spec.name, []).append(role)
        return role

    def command(self, spec: NodeSpec, folder: Any) -> Any:
        raise NotImplementedError("toys have no process")


def spec(name: str, **properties: str) -> NodeSpec:
    """A server node."""
    return NodeSpec(name, "namesrv" if name.startswith("namesrv") else "broker", properties)


def log_world(seed: int, flush: str, defects: tuple[str, ...] = (), trace: Trace | None = None) -> SimBackend:
    """One started log server ``broker-a-0``."""
    target = ToyTarget(lambda node: LogServer(dict(node.properties), node.defects))
    world = SimBackend(target, seed, trace=trace)
    world.add_node(NodeSpec("broker-a-0", "broker", {"flush": flush}, defects))
    world.levers.start("broker-a-0")
    return world


class Pair:
    """A server ``broker-a-0`` that listens and a client ``client-1``, both recorders, the client connected."""

    def __init__(self, seed: int = 1, model: Model | None = None, budgets: Budgets | None = None) -> None:
        box: list[SimBackend] = []
        self.target = ToyTarget(lambda node: Recorder(box, lambda env: env.listen(f"0.0.0.0:{PORT}")))
        self.world = SimBackend(self.target, seed, budgets, model)
        box.append(self.world)
        self.events: list[tuple[str, str, dict[str, Any]]] = []
        self.world.on_event = lambda node, event, fields: self.events.append((node, event, fields))
        self.world.add_node(spec("broker-a-0"))
        self.levers = self.world.all_levers
        self.levers.start("broker-a-0")
        self.run(100 * MS)
        self.client = Recorder(box)
        self.world.add_client("client-1", self.client)
        self.link = self.connect()
        self.run(100 * MS)

    @property
    def server(self) -> Recorder:
        """The role of the server's present life."""
        role = self.target.made["broker-a-0"][-1]
        assert isinstance(role, Recorder)
        return role

    @property
    def address(self) -> str:
        return f"{self.world.host('broker-a-0')}:{PORT}"

    def run(self, for_ns: int) -> None:
        """Let time pass."""
        self.world.run_until(lambda: False, self.world.now() + for_ns)

    def connect(self) -> Link:
        """A new connection of the client."""
        links: list[Link] = []
        self.client_does(lambda env: links.append(env.connect(self.address)))
        return links[0]

    def client_does(self, action: Callable[[Environment], None]) -> None:
        self.world.step("client-1", action)

    def send(self, data: bytes) -> None:
        """Client to server, on the first connection."""
        self.client_does(lambda env: env.send(self.link, data))

    def server_does(self, action: Callable[[Environment], None]) -> None:
        """One step of the server's role."""
        life = self.world.node("broker-a-0").life
        assert life is not None
        life.take_action(action)


def seconds(number: float) -> int:
    """Nanoseconds."""
    return round(number * SECOND)
