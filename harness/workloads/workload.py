"""What a workload is: client roles that put load on a cluster and record everything that happens to them.

Question: what must the life cycle of a run know of a workload, and a workload of a run?

Model. A workload hosts its client roles on the backend (``client-1``, ``client-2``, …). Between ``start`` and ``stop``
they invoke operations by themselves, from timers. The life cycle asks two things only: ``done`` (the load that was
asked for has been given) and ``idle`` (nothing is in flight). After ``stop`` no new operation begins, but for members
of a consumer group: they read on until ``finish`` has brought them to the end.

A *process* does one operation at a time. Who got ``info`` may not go on under the same number, since that operation
may still take effect at any time later: it asks the recorder for a fresh one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final, Protocol

from harness.addressing import Addressing
from harness.backends.backend import Backend
from harness.recorder import Recorder

SPARE: Final = ("drain", "replica drain", "strays", "newcomers", "companions", "dead letters")
"""Clients that a run may have besides its producers and consumers, in the order of their numbers."""


@dataclass(frozen=True)
class QueueAddress:
    """One queue of the topic; *address* is the client port of *node*, which serves it: at the start, or now."""

    queue: int
    """Its number in the history."""
    broker: str
    queue_id: int
    node: str
    address: str
    is_moved: bool = False
    """Another node serves it than at the start."""


@dataclass(frozen=True)
class Load:
    """How much: *rate_per_s* is of all producers together, *size_bytes* that of a body, which is up to *spread_bytes*
    longer."""

    producers: int
    consumers: int
    rate_per_s: int
    duration_ns: int
    size_bytes: int
    spread_bytes: int = 0
    client: str = ""
    """Which clients of another implementation, where the kind of load has such."""

    def spare_client(self, use: str) -> str:
        """The name of a client beyond producers and consumers; :data:`SPARE` has the uses."""
        return f"client-{self.producers + self.consumers + 1 + SPARE.index(use)}"

    def draw_size(self, rng: Random) -> int:
        """Of the next body, in bytes; nothing is drawn where all are equal."""
        return self.size_bytes + (rng.randrange(self.spread_bytes + 1) if self.spread_bytes else 0)


@dataclass(frozen=True)
class Stage:
    """What a workload is given: where, what, and whom to tell."""

    backend: Backend
    recorder: Recorder
    rng: Random
    """The workload's own generator, a child of the run's seed."""
    topic: str
    load: Load
    queues: tuple[QueueAddress, ...]
    """All queues of all brokers known at the start, in the order of the history's queue numbers."""
    nameservers: Mapping[str, str]
    """Node name → ``host:port``."""
    classify: Callable[[str, str], str]
    """(f, status) → outcome; ``checkers.contract``."""
    addressing: Addressing
    """Who serves a broker name now."""
    defects: tuple[str, ...] = ()
    """Planted bugs of this run; clients of ours have those that clients can have."""

    @property
    def brokers(self) -> Mapping[str, str]:
        """Node name → ``host:port`` of every broker, slaves as well."""
        return {node.node: node.address for node in self.addressing.brokers}

    def at(self, queue: QueueAddress) -> QueueAddress:
        """Where load goes for *queue*: in modes whose roles move to who serves it now, else where it always was."""
        return self.addressing.at(queue) if self.addressing.roles_move else queue


class Workload(Protocol):
    """Load on a cluster. All calls come from the life cycle, between two runs of the world."""

    def start(self) -> None:
        """Host the clients and begin."""

    def stop(self) -> None:
        """Begin no more operations; those in flight go on until they complete or time out."""

    def finish(self) -> None:
        """Everything is healed, and the masters were read to their ends: what still reads goes on to them and ends."""

    def finished(self) -> bool:
        """Nothing reads any more."""

    def done(self) -> bool:
        """All load that was asked for has been given."""

    def idle(self) -> bool:
        """No operation is in flight."""

    def measures(self) -> Mapping[str, int]:
        """Counts for the progress line: ``sent``, ``acknowledged``, ``read``, ``withheld`` (no process was free) …"""
