"""Runs that a comparison still lacks, both sides of a pair one after the other.

Question: a comparison of real brokers takes hours, and is broken off; what is left, and in which order?

Model. What is kept says what is there: a run folder with a verdict, by scenario, seed and target. What is left is done
pair by pair where runs follow one another, so that both sides meet the machine in the same state and every pair that
is begun is of use; where they run at once, seed by seed and side by side.

Limits. A run that no backend could do leaves no folder, and is tried again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.backends.table import backend_named
from harness.errors import HarnessError
from harness.matrix import Plan, Report, run_matrix, scenario_of
from harness.runfolder import read_outcome, read_run

Done = tuple[str, int, str]
"""Scenario, seed, target."""


@dataclass(frozen=True)
class Part:
    """What is run in one go: some cells, one seed, one side."""

    plan: Plan

    def wanted(self) -> list[Done]:
        (seed,) = self.plan.seeds
        return [(scenario_of(*cell).name, seed, self.plan.target) for cell in self.plan.cells()]


def parts(plan: Plan, targets: Sequence[str]) -> list[Part]:
    """The whole comparison, in order."""
    seeds = [replace(plan, seeds=(seed,)) for seed in plan.seeds]
    if backend_named(plan.backend).runs_at_once:
        return [Part(replace(one, target=target)) for one in seeds for target in targets]
    return [
        Part(replace(one, rows=(row,), columns=(column,), target=target))
        for one in seeds for row, column in one.cells() for target in targets
    ]  # fmt: skip


def done_in(folder: Path) -> set[Done]:
    """Runs that are there with a verdict."""
    found = set()
    for path in folder.glob("*/verdict.json"):
        if path.parent.is_symlink():
            continue
        try:
            run = read_run(path.parent)
            if read_outcome(path.parent) is not None:
                found.add((str(run["scenario"]), int(run["seed"], 16), str(run["target"])))
        except HarnessError:
            continue  # a damaged one is told when the sides are read, and is not done
    return found


def left(whole: Sequence[Part], done: set[Done]) -> list[Part]:
    """Parts of which something is missing. Of a part that runs at once all of it is run again."""
    return [part for part in whole if not done.issuperset(part.wanted())]


def run(todo: Sequence[Part], for_s: float = float("inf")) -> Iterator[Report]:
    """Reports as they come; after *for_s* seconds no further part begins."""
    end_s = time.monotonic() + for_s
    for part in todo:
        if time.monotonic() >= end_s:
            return
        yield from run_matrix(part.plan)
