"""The least that still fails: fewer faults, a shorter load, the same seed and the same cause.

Question: a run with four faults and ninety seconds of load fails. What of it is needed?

Model. Faults are left out one by one as long as the same cause comes back (``summary.cause_of``: the check that fails
first, and of what kind), until none can go. Then the load is halved as long as it does. Everything runs in the
simulator with the seed that the run had.

Limits. Another fault more or less moves draws of the run, so a failure that needs luck may need all of its plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from harness import runfolder
from harness.backends.table import backend_named
from harness.errors import HarnessError, UsageError
from harness.run import run_scenario
from harness.scenario import SECOND, Scenario
from harness.scenario_file import load
from harness.seeds import parse_seed
from harness.summary import cause_of

SHORTEST_NS: Final = SECOND

Shows = Callable[[Scenario], bool]


@dataclass(frozen=True)
class Failure:
    """What is to come back: its *cause* with this *seed* and these planted bugs."""

    scenario: Scenario
    seed: int
    cause: str
    defects: tuple[str, ...] = ()

    def shows(self, scenario: Scenario) -> bool:
        """Whether *scenario* fails in the same way."""
        try:
            return cause_of(run_scenario(scenario, seed=self.seed, defects=self.defects, keep="none")) == self.cause
        except HarnessError:
            return False


def failure_of(folder: Path) -> Failure:
    """The failure of a simulated run; ``UsageError`` for one that passed, or that nobody can repeat."""
    run = runfolder.read_run(folder)
    if not backend_named(run["backend"]).is_deterministic:
        raise UsageError(f"{folder.name} ran on {run['backend']}", hint="only simulated runs come back as they were")
    scenario, seed = load(folder / "scenario.yaml"), parse_seed(run["seed"])
    defects = tuple(run["defects"])
    cause = cause_of(run_scenario(scenario, seed=seed, defects=defects, keep="none"))
    if not cause:
        raise UsageError(f"{folder.name} passes today: nothing is left to be shrunk")
    return Failure(scenario, seed, cause, defects)


def shrunk(scenario: Scenario, shows: Shows) -> Scenario:
    """*scenario* with the fewest faults and the shortest load with which it still *shows* it."""
    return shortest(fewest(scenario, shows), shows)


def fewest(scenario: Scenario, shows: Shows) -> Scenario:
    """Without every fault that is not needed; one is kept."""
    for without in _without_one(scenario):
        if shows(without):
            return fewest(without, shows)
    return scenario


def _without_one(scenario: Scenario) -> Iterator[Scenario]:
    if len(scenario.faults) > 1:
        for fault in scenario.faults:
            yield replace(scenario, faults=tuple(other for other in scenario.faults if other is not fault))


def shortest(scenario: Scenario, shows: Shows) -> Scenario:
    """With half the load, as often as that still shows it."""
    half_ns = scenario.workload.duration_ns // 2 // SHORTEST_NS * SHORTEST_NS
    half = replace(scenario, workload=replace(scenario.workload, duration_ns=half_ns))
    return shortest(half, shows) if half_ns >= SHORTEST_NS and shows(half) else scenario
