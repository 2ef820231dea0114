"""What may judge a mutant: scenarios that come with the project, and cells of the matrix.

Question: which runs does somebody have who installs this project and asks for nothing of his own?

Model. A unit is named as people type it: a scenario by its name, a cell as ``row × column``. Those that the simulator
cannot run (clients of other makes) are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Final

from harness.errors import HarnessError
from harness.matrix import COLUMNS, PAIRS, ROWS, exists, scenario_of
from harness.preflight import check_mode, check_plan
from harness.scenario import MUSEUM, Scenario, server_names, shipped
from harness.scenario_file import load
from harness.worlds import open_target

TIMES: Final = " × "


@dataclass(frozen=True)
class Unit:
    """One scenario under one name."""

    name: str
    scenario: Scenario


def units(patterns: Sequence[str] = ()) -> list[Unit]:
    """All units, or those that one of *patterns* (``single-master/* × *``) is about."""
    found = [*_scenarios(), *_cells()]
    return [unit for unit in found if _is_wanted(unit.name, patterns) and _runs_simulated(unit.scenario)]


def unit_named(name: str) -> Unit:
    """The unit of this very name."""
    row, times, column = name.partition(TIMES)
    if times:
        return Unit(name, scenario_of(row, column))
    return next(unit for unit in _scenarios() if unit.name == name)


def _is_wanted(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatch(name, pattern) for pattern in patterns)


def _scenarios() -> list[Unit]:
    return [Unit(path.stem, load(path)) for path in (*sorted(MUSEUM.glob("*.yaml")), *shipped())]


def _cells() -> list[Unit]:
    names = ((row.name, column) for row in ROWS for column in (*COLUMNS, *PAIRS))
    return [Unit(f"{row}{TIMES}{column}", scenario_of(row, column)) for row, column in names if exists(row, column)]


def _runs_simulated(scenario: Scenario) -> bool:
    target = "reference"
    servers = server_names(scenario)
    try:
        check_plan(scenario, "sim", target)
        check_mode(scenario, open_target(target, servers), servers)
    except HarnessError:
        return False
    return not scenario.workload.client
