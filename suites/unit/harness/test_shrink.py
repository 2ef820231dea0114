"""The least that still fails: which faults can go, how short the load may be, and what nobody can shrink."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from faults.plan import Fault, bind_fault
from harness.cli import main
from harness.errors import EXIT_PASS, EXIT_USAGE
from harness.run import run_scenario
from harness.scenario import SECOND, Scenario, Workload, find
from harness.scenario_file import load
from harness.shrink import shrunk
from suites.unit.harness.tiny import tiny


def fault(number: int, do: str) -> Fault:
    return bind_fault(number, at="1s", do=do, on="master(broker-a)", hold="300ms")


PLAN = Scenario(
    "plan",
    "single-master",
    workload=Workload(duration_ns=16 * SECOND),
    faults=tuple(fault(number, do) for number, do in enumerate(("pause", "cut_power", "kill", "pause"), 1)),
)


def kinds(scenario: Scenario) -> list[str]:
    return [fault.do for fault in scenario.faults]


@pytest.mark.parametrize(
    ("needed", "seconds", "left"),
    [
        ({"cut_power"}, 1, ["cut_power"]),
        ({"cut_power", "kill"}, 5, ["cut_power", "kill"]),
        ({"pause", "cut_power", "kill"}, 16, ["cut_power", "kill", "pause"]),
        (set(), 1, ["pause"]),
    ],
)
def test_what_is_not_needed_goes(needed: set[str], seconds: int, left: list[str]) -> None:
    def shows(scenario: Scenario) -> bool:
        return needed <= set(kinds(scenario)) and scenario.workload.duration_ns >= seconds * SECOND

    least = shrunk(PLAN, shows)
    assert kinds(least) == left
    assert seconds * SECOND <= least.workload.duration_ns <= max(SECOND, 2 * seconds * SECOND - 1)


def test_a_plan_that_needs_all_of_it_keeps_all_of_it() -> None:
    assert shrunk(PLAN, lambda scenario: False) == PLAN


def test_a_run_that_failed_becomes_a_file_that_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = load(find("museum-sync-power-cut"))
    pause = bind_fault(2, at="500ms", do="pause", on="master(broker-a)", hold="300ms")
    defects = ("ack-before-fsync",)
    run = run_scenario(replace(cut, faults=(pause, *cut.faults)), seed=1, out=tmp_path, defects=defects)
    assert run.outcome.name == "FAIL"
    assert main(["shrink", str(run.folder), "--out", str(tmp_path / "least.yaml")]) == EXIT_PASS
    least = load(tmp_path / "least.yaml")
    assert kinds(least) == ["cut_power"]
    assert capsys.readouterr().out.splitlines()[-1].endswith("least.yaml --defect ack-before-fsync")
    assert run_scenario(least, seed=least.seed or 0, defects=defects, keep="none").outcome.name == "FAIL"


def test_a_run_that_passes_has_nothing_to_be_shrunk(tmp_path: Path) -> None:
    run = run_scenario(tiny(), seed=1, out=tmp_path)
    assert main(["shrink", str(run.folder)]) == EXIT_USAGE
