"""``SimBackend``: a cluster and its clients in one thread, in virtual time, from one seed.

Question: what happens in this world between two lines of the life cycle that drives it?

Model. ``run_until`` pumps the heap; everything else returns at once and leaves virtual time where it is, but for the
levers that wait (``stop``, ``reaches``), which pump for a bounded while. Node roles come from the target, a new one
for every life; client roles are the harness's own objects. Whatever a role raises ends its node and is told to
``on_event`` as ``crashed``; so are an exit it chose (``exited``) and what a power cut did (``power_was_cut``).

Limits. Only targets with a Python role run here. A target's roles must get all they know of the world through their
environment. Same seed, scenario and code: the same events in the same order, whatever PYTHONHASHSEED and machine.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from faults.levers import Levers
from harness.backends.backend import Backend, NodeSpec, Target
from harness.backends.sim.clock import SimClock
from harness.backends.sim.disk import SimDisk
from harness.backends.sim.hosts import Hosts
from harness.backends.sim.levers import TABLES, SimLevers
from harness.backends.sim.life import Life
from harness.backends.sim.models import Budgets, Model
from harness.backends.sim.net import SimNet
from harness.backends.sim.node import Node
from harness.backends.sim.ports import port_bits
from harness.backends.sim.scheduler import Scheduler, Trace
from harness.backends.sim.seeds import Seeds
from harness.backends.sim.weather import Weather
from harness.errors import ClusterError
from reference_impl.environment import Environment, Role

T = TypeVar("T")

COLLECT_EVERY = 200_000


class SimBackend:
    """A world. *trace*, if given, is told of every event before it runs (slow; for finding what differs)."""

    name = "sim"

    def __init__(
        self,
        target: Target,
        seed: int,
        budgets: Budgets | None = None,
        model: Model | None = None,
        trace: Trace | None = None,
    ) -> None:
        budgets = budgets or Budgets()
        self.seed = seed
        self.model = model or Model()
        self.on_event: Callable[[str, str, dict[str, Any]], None] = _tell_nobody
        self.nodes: dict[str, Node] = {}
        self.scheduler = Scheduler(budgets, trace)
        self.seeds = Seeds(seed)
        self.weather = Weather(self.model.net, self.seeds)
        self.net = SimNet(self.scheduler, self.weather, self.model.net, budgets)
        self.all_levers = SimLevers(self)
        self.levers: Levers = self.all_levers
        self._target = target
        self._hosts = Hosts()

    # -- Backend -----------------------------------------------------------------------------------------------------

    def now(self) -> int:
        return self.scheduler.now

    def host(self, node: str) -> str:
        return self._hosts.of(node)

    def add_node(self, spec: NodeSpec) -> None:
        node = self._add(spec.name, spec)
        self._name_ports(node, spec)

    def add_client(self, name: str, role: Role, again: Callable[[], Role] | None = None) -> None:
        node = self._add(name, None)
        node.again = again
        self._begin_life(node, role).take_start()

    def step(self, client: str, action: Callable[[Environment], None]) -> None:
        life = self.node(client).life
        if life is None or life.state == "dead":
            raise ClusterError(f"{client} is not running", place=f"{self.now()} ns", hint="see its `crashed` event")
        life.take_action(action)

    def after(self, delay_ns: int, action: Callable[[], None]) -> None:
        self.scheduler.at(self.scheduler.now + max(delay_ns, 0), _call, action)

    def run_until(self, done: Callable[[], bool], deadline_ns: int) -> bool:
        with _rare_collections():
            return self.scheduler.run_until(done, deadline_ns)

    def perform(self, work: Callable[[], T]) -> T:
        return work()

    def read_table(self, node: str, name: str) -> bytes | None:
        disk, file = self.node(node).disk, f"{TABLES}{name}"
        return None if (size := disk.size(file)) < 0 else disk.read(file, 0, size)

    def store(self, node: str) -> SimDisk:
        return self.node(node).disk

    def collect(self, node: str, into: Path) -> None:
        """``dump/`` (files as a process would see them, sparse), ``log/notes.jsonl``, ``config/node.properties``."""
        home = self.node(node)
        for file in home.disk.files(""):
            _write_sparse(home.disk, file, into / "dump" / file)
        _write_lines(into / "log" / "notes.jsonl", [_note_line(*note) for note in home.notes])
        if home.spec is not None:
            properties = [f"{key}={value}" for key, value in home.spec.properties.items()]
            _write_lines(into / "config" / "node.properties", properties)

    def entropy(self) -> int:
        """The final draw: depends on every draw, on the number of events, and on the time."""
        text = f"{self.seeds.final_draw()}/{self.scheduler.events}/{self.scheduler.now}"
        return int.from_bytes(sha256(text.encode()).digest()[:8], "big")

    def close(self) -> None:
        for node in self.nodes.values():
            if node.life is not None:
                node.life.end(silently=True)
        self.scheduler.heap.clear()

    # -- for the levers ----------------------------------------------------------------------------------------------

    def node(self, name: str) -> Node:
        """The node; ``ClusterError`` if there is none of that name."""
        node = self.nodes.get(name)
        if node is None:
            raise ClusterError(f"there is no node {name!r}", hint=f"there are {', '.join(self.nodes) or 'none yet'}")
        return node

    def boot(self, node: Node) -> None:
        """A new process on a node; its role starts when it has come up."""
        self.weather.set_power(node.name, True)
        life = self._begin_life(node, self._next_role(node))
        delay_ns = self.model.start_min_ns + life.rng.randrange(self.model.start_spread_ns + 1)
        self.scheduler.at(self.scheduler.now + delay_ns, life.take_start)

    def _next_role(self, node: Node) -> Role:
        if node.spec is not None:
            return self._target.role(node.spec)
        if node.again is None:
            raise ClusterError(f"nobody knows how {node.name} begins again")
        return node.again()

    def set_spec(self, node: Node, spec: NodeSpec) -> None:
        """What the next process of a server node is started with; its ports may be others."""
        node.spec = spec
        self._name_ports(node, spec)

    def lose_power(self, node: Node) -> None:
        """The process ends without a word, the page cache is gone, the host is dark until the next ``boot``."""
        if node.life is not None:
            node.life.end(silently=True)
        self.weather.set_power(node.name, False)
        node.last_cut = report = node.disk.cut_power()
        self._tell(node, "power_was_cut", dict(report._asdict()))

    # -- inside --------------------------------------------------------------------------------------------------------

    def _add(self, name: str, spec: NodeSpec | None) -> Node:
        if name in self.nodes:
            raise ClusterError(f"there is a node {name!r} already")
        disk = SimDisk(self.scheduler, self.seeds.child(f"disk/{name}"), self.model.disk)
        clock = SimClock(self.model.clock, self.seeds.child(f"clock/{name}"))
        node = self.nodes[name] = Node(name, self.host(name), spec, disk, clock, self._tell)
        self.net.nodes[node.host] = name
        return node

    def _name_ports(self, node: Node, spec: NodeSpec) -> None:
        for port, bit in port_bits(spec).items():
            self.net.port_bits[node.host, port] = bit

    def _begin_life(self, node: Node, role: Role) -> Life:
        node.lives += 1
        rng = self.seeds.child(f"node/{node.name}/{node.lives}")
        life = node.life = Life(node, role, self.scheduler, self.net, rng)
        return life

    def _tell(self, node: Node, event: str, fields: dict[str, Any]) -> None:
        node.notes.append((self.scheduler.now, event, fields))
        self.on_event(node.name, event, fields)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Events are many small tuples that live for a while and hold no cycles: looking for cycles every 700 of them is
    a fifth of the run. Memory stays bounded, since collections go on, a few hundred times rarer."""
    before = gc.get_threshold()
    gc.set_threshold(COLLECT_EVERY, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _call(action: Callable[[], None], _: None) -> None:
    action()


def _tell_nobody(node: str, event: str, fields: dict[str, Any]) -> None:
    """Until a run has set ``on_event``."""


def _note_line(ns: int, event: str, fields: dict[str, Any]) -> str:
    return json.dumps({"ns": ns, "event": event, **fields}, ensure_ascii=False)


def _write_lines(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def _write_sparse(disk: SimDisk, file: str, path: Path) -> None:
    """Holes stay holes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        for offset, data in disk.names[file].content.extents():
            out.seek(offset)
            out.write(data)
        out.truncate(disk.size(file))


def _conforms(world: SimBackend) -> Backend:
    return world
