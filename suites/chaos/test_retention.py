"""Log files are deleted while the last look at the queues goes on: nothing is lost, and no answer contradicts another.

Whole files go a tenth of a second apart, and the minimum that a broker tells is corrected when the last of them is
gone. Between these two a broker without a bug answers from behind what was asked for.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checkers.runs.expiry import begins_later
from harness.run import run_scenario
from harness.scenario import SECOND, find
from harness.scenario_file import load
from suites.chaos.came_out import came_out

pytestmark = [pytest.mark.chaos, pytest.mark.on("sim")]

RETENTION = load(find("museum-retention-under-reader"))
MOMENTS = {"before": (58, (False, False)), "within": (60, (True, True)), "after": (66, (True, False))}
"""When the load ends, in seconds (brokers clean up for the first time a minute after their start), and whether
anything has expired then, and any answer begins behind what was asked for."""


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("seed", [1, 4])
def test_the_last_look_may_meet_retention(moment: str, seed: int, tmp_path: Path) -> None:
    load_s, expected = MOMENTS[moment]
    scenario = replace(RETENTION, workload=replace(RETENTION.workload, duration_ns=load_s * SECOND))
    result, history, facts = came_out(run_scenario(scenario, seed=seed, out=tmp_path))
    accounting = next(verdict.measures for verdict in result.verdicts if verdict.check == "accounting")
    assert accounting["lost"] == 0
    assert (accounting["expired"] > 0, len(begins_later(history, facts)) > 0) == expected
