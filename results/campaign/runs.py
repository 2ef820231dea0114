"""One plan run and told in one row: outcome, cause, and what it takes to see it again.

Question: what must come back from a task, so that nothing else of the run is needed?

Model. The *cause* is the check that failed first and the kind of its first finding: runs of one cause are most likely
one bug. An exception of the harness is an outcome of its own, ERROR, and does not stop the others. What a backend
refuses of a drawn plan is REFUSED: such a plan is no run.
"""

from __future__ import annotations

import time
from typing import Any, Final

import pyarrow as pa

from harness.errors import HarnessError, UsageError
from harness.run import run_scenario
from harness.scenario import Scenario
from harness.scenario_file import dump
from harness.summary import cause_of, headline, measure
from results.campaign.plans import plan_of, seed_of

ROW: Final = pa.schema(
    [
        ("number", pa.int64()),
        ("seed", pa.string()),
        ("mode", pa.string()),
        ("flush", pa.string()),
        ("faults", pa.string()),
        ("outcome", pa.string()),
        ("cause", pa.string()),
        ("headline", pa.string()),
        ("lost", pa.int64()),
        ("seconds", pa.float64()),
        ("history_sha256", pa.string()),
        ("scenario", pa.string()),
    ]
)


def run_plan(campaign: int, number: int, defects: tuple[str, ...] = ()) -> dict[str, Any]:
    """Run plan *number* on the simulator; a row of :data:`ROW`. ``scenario`` is empty for a PASS."""
    started = time.perf_counter()
    scenario, seed = plan_of(campaign, number), seed_of(campaign, number)
    row = _told(scenario, seed, defects)
    return {
        "number": number,
        "seed": f"{seed:#x}",
        "mode": scenario.mode,
        "flush": scenario.topology.flush,
        "faults": "; ".join(map(str, scenario.faults)),
        "seconds": time.perf_counter() - started,
        "scenario": "" if row["outcome"] == "PASS" else dump(scenario),
        **row,
    }


def _told(scenario: Scenario, seed: int, defects: tuple[str, ...]) -> dict[str, Any]:
    blank = {"cause": "", "headline": "", "lost": 0, "history_sha256": ""}
    try:
        result = run_scenario(scenario, seed=seed, defects=defects, keep="none")
    except UsageError as error:
        return {**blank, "outcome": "REFUSED", "headline": error.what}
    except HarnessError as error:
        return {**blank, "outcome": "ERROR", "cause": f"harness/{type(error).__name__}", "headline": error.what}
    return {
        "outcome": result.outcome.name,
        "cause": cause_of(result),
        "headline": headline(result),
        "lost": measure(result.verdicts, "lost"),
        "history_sha256": result.history_sha256,
    }
