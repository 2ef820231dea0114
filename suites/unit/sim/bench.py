"""A simulated disk for tests: its own time, what its syncs answered, and what a power cut leaves of a file."""

from __future__ import annotations

from random import Random
from typing import Any

from harness.backends.sim.disk import SimDisk
from harness.backends.sim.models import Budgets, DiskModel
from harness.backends.sim.scheduler import Scheduler
from reference_impl.environment import SECOND

NEVER = DiskModel(writeback_age_ns=None, journal_age_ns=None)


def only(mode: str, **changes: Any) -> DiskModel:
    """A model in which every power cut has the mode and write-back never happens."""
    return DiskModel(power_cut_weights=((mode, 1),), **{"writeback_age_ns": None, "journal_age_ns": None, **changes})


class Bench:
    """A disk, its time, and what its syncs answered."""

    def __init__(self, model: DiskModel = NEVER, seed: int = 1) -> None:
        self.scheduler = Scheduler(Budgets())
        self.disk = SimDisk(self.scheduler, Random(seed), model)
        self.answers: list[tuple[str, Any, str]] = []

    def sync(self, file: str = "f", token: Any = 0) -> None:
        self.disk.sync(file, token, lambda file, result: self.answers.append((file, *result)))

    def sync_dir(self, token: Any = "dir") -> None:
        self.disk.sync_dir(token, lambda file, result: self.answers.append((file, *result)))

    def run(self, for_ns: int = SECOND) -> None:
        self.scheduler.run_until(lambda: False, self.scheduler.now + for_ns)

    def durable(self, file: str = "f") -> bytes | None:
        """Content after a power cut, ``None`` if the file is gone."""
        self.disk.cut_power()
        return self.content(file)

    def content(self, file: str = "f") -> bytes | None:
        size = self.disk.size(file)
        return None if size < 0 else self.disk.read(file, 0, size)
