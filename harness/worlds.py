"""Backends and targets by name: the one place that knows which there are.

Question: ``--backend process --target rocketmq:4.9.7``: which objects are these, and do they fit together?

Limits. Imports are late: the simulator must not load asyncio, and ``--help`` loads neither.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from faults.errors import suggestion
from faults.journal import HEAL_COMMAND, HealJournal
from harness.backends.backend import Backend, Target
from harness.errors import UsageError

BACKENDS: Final = ("sim", "process")
TARGETS: Final = ("reference", "rocketmq:VERSION", "a mix as reference,slaves=rocketmq:VERSION")
VERSION: Final = re.compile(r"\d+(\.\d+)+(-[A-Za-z0-9.]+)?")
"""Of Apache's releases: it becomes part of a folder's name and of a Maven project."""
SAME_NAME_MAX: Final = 100


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


def open_target(name: str, servers: Sequence[str] = ()) -> Target:
    """``reference``, ``rocketmq:VERSION``, or a mix for a cluster of these *servers*; ``UsageError`` for others."""
    from harness.targets import mixed

    if mixed.is_mix(name):
        return mixed.placed(mixed.parse(name), servers, _one_target)
    return _one_target(name)


def _one_target(name: str) -> Target:
    kind, _, version = name.partition(":")
    if name == "reference":
        from harness.targets.reference import ReferenceTarget

        return ReferenceTarget()
    if kind == "rocketmq" and VERSION.fullmatch(version):
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

    journal = open_heal_journal(run)
    return World(ProcessBackend(run, folder, target, journal), journal)


def open_heal_journal(run: str, folder: Path | None = None) -> HealJournal:
    """A heal journal of *run*. Runs of the same second and seed whose folders lie apart have one name, and may live at
    the same time: the second one's journal is ``<run>.2``, and so on."""
    for number in range(1, SAME_NAME_MAX + 1):
        try:
            return HealJournal.open(run if number == 1 else f"{run}.{number}", folder)
        except FileExistsError:
            continue
    raise UsageError(f"{SAME_NAME_MAX} runs named {run} have heal journals", hint=HEAL_COMMAND)
