"""Backends and targets by name: the one place that knows which there are.

Question: ``--backend process --target rocketmq:4.9.7``: which objects are these, and do they fit together?

Limits. Imports are late: the simulator must not load asyncio, and ``--help`` loads neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from faults.errors import suggestion
from faults.journal import HealJournal
from harness.backends.backend import Backend, Target
from harness.errors import UsageError

BACKENDS: Final = ("sim", "process")
TARGETS: Final = ("reference", "rocketmq:VERSION")


@dataclass(frozen=True)
class World:
    """A backend with what it owes. ``heal_journal`` is ``None`` where nothing outlives the harness."""

    backend: Backend
    heal_journal: HealJournal | None = None

    def close(self) -> None:
        """End every node and give back everything; idempotent."""
        self.backend.close()
        if self.heal_journal is not None:
            self.heal_journal.close()


def open_target(name: str) -> Target:
    """``reference`` or ``rocketmq:VERSION``; ``UsageError`` for others."""
    kind, _, version = name.partition(":")
    if name == "reference":
        from harness.targets.reference import ReferenceTarget

        return ReferenceTarget()
    if kind == "rocketmq" and version:
        from harness.targets.rocketmq import RocketmqTarget

        return RocketmqTarget(version)
    raise UsageError(f"unknown target {name!r}", hint=f"known: {', '.join(TARGETS)}")


def check_backend(name: str) -> None:
    """``UsageError`` for a backend that does not exist."""
    if name not in BACKENDS:
        raise UsageError(f"unknown backend {name!r}", hint=suggestion(name, BACKENDS))


def open_world(name: str, target: Target, seed: int, run: str, folder: Path | None) -> World:
    """A world with no node in it. *folder* (of the run) may be ``None`` in the simulator only."""
    check_backend(name)
    if name == "sim":
        from harness.backends.sim.world import SimBackend

        return World(SimBackend(target, seed))
    if folder is None:
        raise UsageError(f"runs on the backend {name!r} need a folder", hint="keep them: their nodes write files")
    from harness.backends.process import ProcessBackend

    journal = HealJournal.open(run)
    return World(ProcessBackend(run, folder, target, journal), journal)
