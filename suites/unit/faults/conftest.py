"""A cluster of states in memory, with levers that can be made to refuse, fail, or do nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest

from faults.injector import Injector
from faults.journal import HealJournal
from faults.levers import FAMILIES, HealStep, LeverRefused, LinkSet, NodeState, PortClass
from faults.levers.acts import Act, Watched
from faults.plan import Fault, bind_fault
from faults.units import UNITS

T = TypeVar("T")
SECOND = UNITS["s"]
CLUSTER = ("namesrv-1", "namesrv-2", "broker-a-0", "broker-a-1", "broker-b-0", "broker-b-1", "client-1", "client-2")


def _role(node: str) -> str:
    return "SYNC_MASTER" if node.endswith("-0") else "SLAVE"


class World:
    """Levers over a table of states. ``levers`` are these, watched: ``broken`` maps one to what happens instead of the
    act. *families*: those that it has."""

    def __init__(self, nodes: Sequence[str] = CLUSTER, families: Sequence[str] = tuple(FAMILIES)) -> None:
        self.levers = Watched(Some(self, families), self._around, FAMILIES)
        self.states: dict[str, NodeState] = dict.fromkeys(nodes, "running")
        self.partitions: dict[str, LinkSet] = {}
        self.leaks, self.leaked = 0, 0
        """Bytes that a partition has let through so far, and until it was healed."""
        self.shares: dict[str, int] = {}
        self.held_up, self.closed_meanwhile = 3, 0
        self.files_free: dict[str, int] = {}
        self.memory_killed: dict[str, int] = {}
        self.lost: dict[str, int] = {}
        self.unwritten = 4096
        self.files: dict[str, int] = {}
        self.disk: dict[str, dict[str, bytes]] = {}
        self.settings: dict[str, dict[str, str]] = {}
        self.free: dict[str, int] = {}
        self.ahead_ms: dict[str, int] = {}
        self.failing: dict[str, int] = {}
        self.mended: dict[str, int] = {}
        self.disk_errors: dict[str, str] = {}
        self.log_ends: dict[str, int] = {}
        self.kept_ends: dict[str, int] = {}
        self.growth_bytes = 1 << 20
        self.forces_asked_for, self.log_bytes, self.flipped_back = 7, 100_000, -1
        self.links: dict[str, tuple[LinkSet, str, Mapping[str, int | str]]] = {}
        self.answer_ms, self.proxied_connections, self.frames = 3, 2, (5, 1)
        self.broken: dict[str, BaseException | None] = {}
        self.steps: list[HealStep] = []
        self.calls: list[tuple[str, str]] = []
        self.events: list[tuple[str, str, str, int, dict[str, Any]]] = []
        self.connected: dict[frozenset[str], int] = {}
        self.clock_ns = 0
        self.on_call: Callable[[str], None] = lambda lever: None

    def _around(self, act: Act, arguments: tuple[Any, ...], pull: Callable[[], Any]) -> Any:
        texts = (argument.name if isinstance(argument, LinkSet) else argument for argument in arguments)
        self.calls.append((act.lever, " ".join(text for text in texts if isinstance(text, str))))
        self.on_call(act.lever)
        if act.lever not in self.broken:
            return pull()
        if (error := self.broken[act.lever]) is not None:
            raise error
        return act.unless

    def nodes(self) -> Sequence[str]:
        return tuple(self.states)

    def state(self, node: str) -> NodeState:
        return self.states[node]

    def kill(self, node: str) -> None:
        self.states[node] = "dead"

    def stop(self, node: str, timeout_ns: int) -> None:
        self.states[node] = "dead"

    def start(self, node: str) -> None:
        self.states[node] = "running"

    def pause(self, node: str) -> None:
        self.states[node] = "paused"

    def resume(self, node: str) -> None:
        self.states[node] = "running"

    def starve_cpu(self, node: str, percent: int) -> None:
        self.shares[node] = percent

    def feed_cpu(self, node: str) -> None:
        self.shares.pop(node, None)

    def cpu_share(self, node: str) -> int:
        return self.shares.get(node, 100)

    def cpu_held_up(self, node: str, patience_ns: int = 0) -> int:
        return self.held_up if node in self.shares else 0

    def exhaust_files(self, node: str, left: int) -> None:
        self.files_free[node] = left + self.closed_meanwhile

    def free_files(self, node: str) -> None:
        self.files_free.pop(node, None)

    def files_left(self, node: str) -> int:
        return self.files_free.get(node, 1000)

    def run_out_of_memory(self, node: str) -> None:
        self.states[node] = "dead"
        self.memory_killed[node] = 1

    def memory_kills(self, node: str) -> int:
        return self.memory_killed.get(node, 0)

    def cut_power(self, node: str) -> None:
        self.states[node] = "dead"
        self.lost[node] = self.unwritten

    def power_cut_lost(self, node: str) -> int:
        return self.lost.get(node, 0)

    def kill_disk(self, node: str) -> None:
        self.disk_errors[node] = "EIO"

    def make_disk_read_only(self, node: str) -> None:
        self.disk_errors[node] = "EROFS"

    def mend_disk(self, node: str) -> None:
        self.disk_errors.pop(node, None)

    def write_error(self, node: str) -> str:
        return self.disk_errors.get(node, "")

    def fail_forces(self, node: str) -> None:
        self.failing[node] = self.forces_asked_for

    def delay_forces(self, node: str, by_ms: int) -> None:
        self.failing[node] = self.forces_asked_for

    def mend_forces(self, node: str) -> None:
        self.mended[node] = self.failing.pop(node, 0)

    def forces_hit(self, node: str) -> bool:
        return node in self.failing and self.states[node] != "dead"

    def count_forces_hit(self, node: str, patience_ns: int = 0) -> int:
        return self.failing.get(node, self.mended.get(node, 0))

    def flip_log(self, node: str, back_bytes: int) -> int:
        self.flipped_back = back_bytes
        return self.log_bytes - back_bytes if back_bytes <= self.log_bytes else -1

    def find_files(self, node: str, pattern: str) -> Mapping[str, tuple[int, int]]:
        files = self.disk.get(node, {})
        return {f: (len(data), len(data.rstrip(b"\0"))) for f, data in files.items() if re.fullmatch(pattern, f)}

    def file_part(self, node: str, file: str, offset: int, size: int) -> bytes:
        return self.disk[node].get(file, b"")[offset : offset + size]

    def change_file(self, node: str, file: str, offset: int, data: bytes) -> None:
        old = self.disk.setdefault(node, {}).get(file, b"")
        self.disk[node][file] = old[:offset] + data + old[offset + len(data) :]

    def cut_file(self, node: str, file: str, size: int) -> None:
        old = self.disk.get(node, {}).pop(file, b"")
        if size >= 0:
            self.disk.setdefault(node, {})[file] = old[:size]

    def disk_files(self, node: str) -> int:
        return self.files.get(node, 3)

    def wipe(self, node: str) -> None:
        self.files[node] = 0

    def keep_disk(self, node: str) -> None:
        self.kept_ends[node] = self.log_end(node)

    def put_disk_back(self, node: str) -> None:
        self.log_ends[node] = self.kept_ends.get(node, 0)

    def log_end(self, node: str, beyond: int = -1, patience_ns: int = 0) -> int:
        """It grows while somebody waits for it."""
        if patience_ns and self.states[node] == "running":
            self.log_ends[node] = self.log_end(node) + self.growth_bytes
        return self.log_ends.get(node, self.log_bytes)

    def copy_disk(self, source: str, target: str) -> None:
        self.files[target] = self.disk_files(source)
        self.disk[target] = dict(self.disk.get(source, {}))

    def remove_tables(self, node: str) -> None:
        """It has none."""

    def properties(self, node: str) -> Mapping[str, str]:
        return self.settings.setdefault(node, {"brokerId": node.rpartition("-")[2], "brokerRole": _role(node)})

    def reconfigure(self, node: str, properties: Mapping[str, str]) -> None:
        self.settings[node] = dict(properties)

    def fill_disk(self, node: str, free_bytes: int) -> None:
        self.free[node] = free_bytes

    def empty_disk(self, node: str) -> None:
        self.free.pop(node, None)

    def disk_space(self, node: str) -> tuple[int, int]:
        return self.free.get(node, 900), 1000

    def step_clock(self, node: str, by_ms: int) -> None:
        self.ahead_ms[node] = self.clock_ahead(node) + by_ms

    def clock_ahead(self, node: str) -> int:
        return self.ahead_ms.get(node, 0)

    def partition(self, links: LinkSet) -> None:
        self.partitions[links.name] = links

    def heal_partition(self, name: str) -> None:
        self.partitions.pop(name, None)

    def leaked_bytes(self, name: str) -> int:
        return self.leaks if name in self.partitions else self.leaked

    def reaches(self, source: str, target: str, port_class: PortClass) -> bool:
        dropping = [links for links in self.partitions.values() if not links.only_new]
        return self.states[target] != "dead" and not any(_lost(links, source, target, port_class) for links in dropping)

    def connects(self, source: str, target: str, port_class: PortClass) -> bool:
        is_closed = any(_lost(links, source, target, port_class) for links in self.partitions.values())
        return not is_closed and self.reaches(target, source, port_class)

    def connections(self, between: LinkSet) -> frozenset[str]:
        """One of each pair, with the number of its life."""
        pairs = [(a, b) for a in between.left for b in between.right]
        return frozenset(f"{a}-{b}/{self.connected.setdefault(frozenset((a, b)), 1)}" for a, b in pairs)

    def reset_connections(self, between: LinkSet) -> None:
        for a, b in [(a, b) for a in between.left for b in between.right]:
            self.connected[frozenset((a, b))] = self.connected.get(frozenset((a, b)), 1) + 1

    def shape_links(self, link: LinkSet, toxic: str, attributes: Mapping[str, int | str]) -> None:
        self.links[link.name] = (link, toxic, attributes)

    def unshape_links(self, name: str) -> None:
        self.links.pop(name, None)

    def links_shaped(self, name: str, patience_ms: int = 0) -> tuple[int, int]:
        return (1, self.proxied_connections) if name in self.links else (0, 0)

    def frames_hit(self, name: str, patience_ms: int = 0) -> tuple[int, int]:
        return self.frames if name in self.links else (0, 0)

    def answers_after_ms(self, source: str, target: str, patience_ms: int) -> int:
        if "dead" in (self.states[source], self.states[target]):
            return -1
        late = [
            2 * int(attributes["latency"])
            for link, toxic, attributes in self.links.values()
            if toxic == "latency" and {source, target} & {*link.left} and {source, target} & {*link.right}
        ]
        return self.answer_ms + sum(late)

    def heal_steps(self, state: str, node_or_partition: str) -> list[HealStep]:
        return [HealStep(f"end_{state}", {"of": node_or_partition})] if self.steps else []

    def emit(self, fault: str, step: str, node: str, effective: int, detail: dict[str, Any]) -> None:
        self.events.append((fault, step, node, effective, detail))

    def told(self, *columns: int) -> list[tuple[Any, ...]]:
        """Columns of the events: 0 fault, 1 step, 2 node, 3 effective."""
        return [tuple(event[column] for column in columns) for event in self.events]

    def detail(self, fault: str, step: str) -> dict[str, Any]:
        return next(event[4] for event in self.events if event[:2] == (fault, step))

    def perform(self, work: Callable[[], T]) -> T:
        return work()

    def injector(self, *faults: Fault, seed: int = 1, journal: HealJournal | None = None) -> Injector:
        injector = Injector(
            faults,
            self.levers,
            rng=Random(seed),
            emit=self.emit,
            now=lambda: self.clock_ns,
            perform=self.perform,
            journal=journal,
        )
        injector.begin()
        return injector

    def drive(self, injector: Injector, until_ns: int = 10**18) -> None:
        """Jump from act to act, as the life cycle of a run does."""
        while (due_ns := injector.next_ns()) is not None and due_ns <= until_ns:
            self.clock_ns = max(self.clock_ns, due_ns)
            injector.act()

    def is_whole(self) -> bool:
        return set(self.states.values()) == {"running"} and not self.partitions


def _lost(links: LinkSet, source: str, target: str, port_class: PortClass) -> bool:
    ways = ((links.left, links.right),) if links.one_way else ((links.left, links.right), (links.right, links.left))
    return links.port_class in ("any", port_class) and any(source in a and target in b for a, b in ways)


class Some:
    """What a world has that has these *families* only."""

    def __init__(self, world: World, families: Sequence[str]) -> None:
        self._world = world
        self._has = {name for family in families for name in dir(FAMILIES[family])}

    def __getattr__(self, name: str) -> Any:
        if name not in self._has:
            raise AttributeError(name)
        return getattr(self._world, name)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def refused() -> LeverRefused:
    return LeverRefused("no power can be cut here", "needs root")


@pytest.fixture
def heal_folder(tmp_path: Path) -> Path:
    return tmp_path / "heal"


@pytest.fixture
def fault() -> Callable[..., Fault]:
    """``fault("kill", "masters", at="1s", hold="2s", number=1, ports="ha")``."""

    def make(do: str, on: str = "", at: str = "1s", hold: str = "", number: int = 1, **options: str) -> Fault:
        return bind_fault(number, at=at, do=do, on=on, hold=hold, options=options)

    return make


@pytest.fixture(scope="session")
def make_world() -> type[World]:
    """For properties, which need a fresh world an example."""
    return World
