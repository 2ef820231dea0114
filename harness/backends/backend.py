"""What a world must offer to the run life cycle: one protocol, two implementations (simulator, processes).

The life cycle in ``harness/run.py`` is plain sequential code. It never sleeps: it asks the backend to run the world
until a condition holds or a deadline passes. In the simulator that pumps the event heap; with processes it runs the
asyncio loop that hosts the client roles. So one text of the life cycle serves both.

Client roles (the workload, the operator that creates topics and drains queues) live in the harness's own process in
every backend, so that one recorder with one counter and one clock sees all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from faults.levers import Nodes
from reference_impl.environment import Environment, Role

T = TypeVar("T")


@dataclass(frozen=True)
class NodeSpec:
    """One server node before it runs. ``properties`` use RocketMQ's own property names and text values."""

    name: str
    kind: Literal["namesrv", "controller", "broker", "dledger", "client"]
    properties: Mapping[str, str]
    defects: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    has_own_clock: bool = False
    """Its wall clock may be stepped. The simulator's always may; a process is started so that it can be."""


class Target(Protocol):
    """What runs on the nodes."""

    name: str
    """``reference``, ``rocketmq:4.9.7``, or a mix of them (``harness.targets.mixed``)."""
    has_roles: bool
    """Its nodes can be role objects (:meth:`role`), as worlds in the harness's own process need them."""
    has_defects: bool
    """Bugs can be planted in it."""

    def unknown_property(self, kind: Literal["broker", "namesrv"], name: str) -> str:
        """A sentence, if such a node would not know a property of that name; else empty."""

    def at(self, node: str) -> Target:
        """What runs on that node: itself, unless it is a mix."""

    def prepare(self) -> None:
        """Fetch what is needed (jars into a cache), once; ``BackendUnavailable`` with what is missing."""

    def role(self, spec: NodeSpec) -> Role:
        """The role object for the simulator; ``BackendUnavailable`` for a target that is not Python."""

    image: str
    """Of which container image its nodes are made (``harness/backends/docker/images.py``)."""

    def arguments(self, spec: NodeSpec, folder: Path) -> tuple[list[str], Mapping[str, str]]:
        """Write the configuration below *folder* and return what the program is told, and what its environment has
        besides. The program itself is that of the image, or of :meth:`command`."""

    def command(self, spec: NodeSpec, folder: Path) -> tuple[list[str], Mapping[str, str]]:
        """The same for a process of this machine: program and arguments, and its environment."""


class ClientPeer(Protocol):
    """Who talks to a client process over its standard input and output; called from within ``run_until``."""

    def on_started(self, write: Callable[[bytes], None]) -> None:
        """A life has begun; *write* sends to its standard input."""

    def on_output(self, data: bytes) -> None:
        """Bytes from its standard output, split anywhere."""

    def on_ended(self) -> None:
        """The process has ended, and all that it said was handed over."""


class Backend(Protocol):
    """A world with nodes in it. Single-threaded for its caller."""

    name: str
    on_event: Callable[[str, str, dict[str, Any]], None]
    """Set by the run: called as (node, event, fields) for every ``note`` of a role and every crash of a node."""

    @property
    def levers(self) -> Nodes:
        """Of the families that its capabilities name (``harness/backends/capabilities.py``)."""

    def now(self) -> int:
        """Nanoseconds since the run began, monotonic; virtual in the simulator."""

    def host(self, node: str) -> str:
        """The IPv4 literal of a node; fixed from the beginning, before it is added."""

    def add_node(self, spec: NodeSpec) -> None:
        """Make the node's home (namespace, disk, configuration) without starting it."""

    def add_client(self, name: str, role: Role, again: Callable[[], Role] | None = None) -> None:
        """Host a client role under its own address and start it. *again* makes the role of its next life: only a client
        that has one can be killed, stopped and started."""

    def step(self, client: str, action: Callable[[Environment], None]) -> None:
        """Run *action* as one step of that client's role, now."""

    def after(self, delay_ns: int, action: Callable[[], None]) -> None:
        """Call back from within ``run_until`` after *delay_ns*."""

    def run_until(self, done: Callable[[], bool], deadline_ns: int) -> bool:
        """Let the world run until *done* (→ True) or until ``now() >= deadline_ns`` (→ False)."""

    def perform(self, work: Callable[[], T]) -> T:
        """Do a blocking act (a lever) while clients go on; in the simulator simply ``work()``."""

    def read_table(self, node: str, name: str) -> bytes | None:
        """What one of a broker's tables (``delayOffset.json``) holds on its disk now; ``None`` where it cannot be read:
        not there, for a moment while it is replaced, or on a disk without power."""

    def collect(self, node: str, into: Path) -> None:
        """Copy log, configuration and store dump of a node into the run folder; node may be dead."""

    def entropy(self) -> int:
        """One more draw of the run's root generator (the *final draw*); 0 where the world is not deterministic."""

    def close(self) -> None:
        """End every node and give back everything; idempotent, never raises for what is already gone."""


class Store(Protocol):
    """The files on one node's disk as a process there would see them at this moment; names are relative."""

    def files(self, prefix: str) -> list[str]:
        """Names that begin with *prefix*, sorted."""

    def size(self, file: str) -> int:
        """Bytes, −1 if absent."""

    def read(self, file: str, offset: int, size: int) -> bytes:
        """Up to *size* bytes; ``OSError`` where they cannot be read."""

    def unforced(self, file: str) -> list[tuple[int, int, int]] | None:
        """(instant, offset, size) of every write that no force has reached; ``None`` where nobody can tell."""


@runtime_checkable
class ShowsStores(Protocol):
    """A backend that lets the harness look at the disks of its nodes while they run."""

    def store(self, node: str) -> Store:
        """The node's files."""


@runtime_checkable
class HostsProcesses(Protocol):
    """A backend on which a client may be a process of another implementation."""

    def add_client_process(
        self, name: str, argv: Sequence[str], environment: Mapping[str, str], peer: ClientPeer
    ) -> None:
        """Start it, with a network address of its own; from then on it is a node like any other."""
