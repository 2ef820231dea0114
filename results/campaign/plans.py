"""Plans drawn from the vocabulary of the matrix: number n of a campaign is the same plan on every machine.

Question: which combinations of faults, on which mode, when, would nobody write down?

Model. A plan is a configuration of the matrix and one to :data:`FAULTS_MAX` of its faults that fit it, each at a drawn
instant, so that faults overlap. Everything is drawn from a generator that is seeded with the campaign's seed and the
plan's number; so a plan needs no storage, and tasks may run in any order, anywhere, twice.

Limits. What the matrix has no row or column for is not drawn.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Final

from faults.plan import bind_fault
from harness.backends.sim.seeds import derive
from harness.matrix import COLUMNS, LOAD, ROWS, exists, scenario_of
from harness.scenario import SECOND, Scenario

FAULTS_MAX: Final = 3
FIRST_S: Final = 3.0
LAST_S: Final = 14.0
LOAD_S: Final = 20


def seed_of(campaign: int, number: int) -> int:
    """Of the run of plan *number*."""
    return derive(campaign, f"plan/{number}") & 0xFFFFFFFF


def plan_of(campaign: int, number: int) -> Scenario:
    """Plan *number* of the campaign with this seed."""
    rng = Random(derive(campaign, f"draw/{number}"))
    row = rng.choice([row.name for row in ROWS])
    fitting = [column for column in COLUMNS if exists(row, column)]
    faults = []
    for place in range(rng.randint(1, FAULTS_MAX)):
        column = COLUMNS[rng.choice(fitting)]
        at = f"{rng.uniform(FIRST_S, LAST_S):.1f}s"
        faults.append(
            bind_fault(place + 1, at=at, do=column.do, on=column.on, hold=column.hold, options=column.options)
        )
    like = scenario_of(row, fitting[0])
    return replace(
        like,
        name=f"campaign-{campaign:x}-{number}",
        faults=tuple(faults),
        workload=replace(LOAD, duration_ns=LOAD_S * SECOND),
        description=f"{'; '.join(map(str, faults))} in {row}",
        source="campaign",
    )
