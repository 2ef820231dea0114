"""The grid's cells: as bad as their worst run, and worth nothing where loss was allowed and never seen."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkers.runs.fault_efficacy import CANNOT_TELL
from checkers.verdict import Outcome, Verdict
from harness import cli
from harness.commands.matrix import _case
from harness.errors import EXIT_USAGE, UsageError
from harness.junit import write_cases
from harness.matrix import (
    COLUMNS,
    NAMES,
    PAIRS,
    RANDOM,
    ROWS,
    Cell,
    Plan,
    Report,
    cells_of,
    chosen,
    exists,
    is_idle,
    scenario_of,
    silent_control,
)
from harness.scenario_file import dump, parse

PASS, UNKNOWN, FAIL = Outcome.PASS, Outcome.UNKNOWN, Outcome.FAIL


def cell(*runs: tuple[Outcome, int], row: str = "single-master/async", column: str = "kill"):
    """The one cell of a plan with these (outcome, lost) runs."""
    plan = Plan((row,), (column,), range(len(runs)))
    reports = [Report(row, column, seed, outcome, "", lost) for seed, (outcome, lost) in enumerate(runs)]
    (found,) = cells_of(plan, reversed(reports))
    return found


@pytest.mark.parametrize(
    ("outcomes", "worst"),
    [([PASS], PASS), ([PASS, UNKNOWN], UNKNOWN), ([FAIL, PASS, UNKNOWN], FAIL), ([], UNKNOWN)],
)
def test_a_cell_is_as_bad_as_its_worst_run_and_nothing_is_no_pass(outcomes, worst) -> None:
    found = cell(*((outcome, 0) for outcome in outcomes))
    assert (found.outcome, found.passed) == (worst, outcomes.count(PASS))
    assert [report.seed for report in found.reports] == list(range(len(outcomes)))
    assert (found.worst.outcome if found.worst else None) == (worst if outcomes else None)


def verdict(check: str, outcome: Outcome, *reasons: str) -> Verdict:
    return Verdict(check, outcome, reasons=reasons)


def test_a_seed_is_idle_if_nothing_is_wrong_but_that_its_fault_did_nothing() -> None:
    untold = verdict("faults", UNKNOWN, f"{CANNOT_TELL} cut_power bit")
    assert is_idle([untold, verdict("log", PASS)])
    assert not is_idle([untold, verdict("log", UNKNOWN, "x")])
    assert not is_idle([verdict("faults", UNKNOWN, f"{CANNOT_TELL} it", "kill did not bite")])
    assert not is_idle([verdict("log", PASS)])


@pytest.mark.parametrize(("idle", "outcome"), [(1, PASS), (2, PASS), (3, UNKNOWN)])
def test_idle_seeds_are_no_harm_unless_most_are(idle: int, outcome: Outcome) -> None:
    row, column = "single-master/sync", "cut_power"
    reports = tuple(Report(row, column, n, UNKNOWN if n < idle else PASS, "", is_idle=n < idle) for n in range(4))
    assert (Cell(row, column, reports).outcome, Cell(row, column, reports).passed) == (outcome, 4 - idle)


def test_where_loss_is_allowed_some_seed_must_show_it() -> None:
    silent = cell((PASS, 0), (PASS, 0), column="cut_power")
    assert silent.outcome is UNKNOWN
    assert silent.reason == "cut_power may lose messages in single-master with async flush, and no seed of 2 shows it"
    shown = cell((PASS, 0), (PASS, 3), column="cut_power")
    assert (shown.outcome, shown.reason, shown.with_loss) == (PASS, "", 1)


@pytest.mark.parametrize(("row", "column"), [("single-master/sync", "cut_power"), ("single-master/async", "kill")])
def test_where_nothing_may_be_lost_silence_is_golden(row: str, column: str) -> None:
    assert silent_control(cell((PASS, 0), row=row, column=column)) == ""


def test_what_a_slave_loses_needs_no_control_and_without_slaves_there_is_no_such_cell() -> None:
    row = "multi-master-multi-slave-async/async"
    assert silent_control(cell((PASS, 0), row=row, column="slave-power")) == ""
    assert silent_control(cell((PASS, 0), row=row, column="cut_power")) != ""
    assert Plan(("multi-master/async",), ("kill", "slave-kill"), range(1)).cells() == [("multi-master/async", "kill")]


@pytest.mark.parametrize(("column", "must_show"), [("wipe", False), ("cut_power", False), ("pair-power", True)])
def test_a_group_has_a_loss_to_show_only_where_a_majority_is_hit(column: str, must_show: bool) -> None:
    assert bool(silent_control(cell((PASS, 0), row="dledger/async", column=column))) == must_show


def test_a_silent_control_does_not_hide_a_failure() -> None:
    assert cell((FAIL, 0), column="cut_power").outcome is FAIL


@pytest.mark.parametrize(("row", "column"), [(r.name, c) for r in ROWS for c in NAMES if exists(r.name, c)])
def test_every_cell_is_a_scenario_that_a_file_could_hold(row: str, column: str) -> None:
    scenario = scenario_of(row, column)
    assert dump(parse(dump(scenario), "matrix")) == dump(scenario)


@pytest.mark.parametrize("column", PAIRS)
def test_the_second_fault_of_a_pair_comes_when_a_slave_had_the_time_to_come_back(column: str) -> None:
    first, second = scenario_of("multi-master-multi-slave-sync/sync", column).faults
    assert (first.id, str(first.at), second.id, str(second.at)) == ("f1", "3s..6s", "f2", "19s..20s")
    assert not PAIRS[column].needs_slave or not exists("single-master/sync", column)


def test_a_pair_must_show_the_loss_that_one_of_its_faults_may_cause() -> None:
    assert silent_control(cell((PASS, 0), column="kill+power"))
    assert not silent_control(cell((PASS, 3), column="kill+power"))
    assert not silent_control(cell((PASS, 0), row="single-master/sync", column="kill+power"))


def test_a_random_cell_has_another_plan_for_each_seed_and_needs_no_control() -> None:
    plans = [scenario_of("multi-master/sync", RANDOM, seed) for seed in range(5)]
    assert len({str(plan.faults) for plan in plans}) == 5
    assert plans[3] == scenario_of("multi-master/sync", RANDOM, 3)
    assert silent_control(cell((PASS, 0), column=RANDOM)) == ""
    assert not exists("dledger/async", RANDOM)


def test_a_known_violation_of_a_random_plan_is_counted_and_a_new_one_fails_the_cell() -> None:
    row = "single-master/sync"
    known = Report(row, RANDOM, 1, FAIL, "", is_known=True)
    found = Cell(row, RANDOM, (known, Report(row, RANDOM, 2, PASS, "")))
    assert (found.outcome, found.known, found.passed) == (PASS, 1, 1)
    worse = Cell(row, RANDOM, (known, Report(row, RANDOM, 2, FAIL, "new")))
    assert (worse.outcome, worse.worst.headline if worse.worst else "") == (FAIL, "new")


def test_names_are_known_and_counted_once() -> None:
    assert chosen("fault", ["kill", "kill"], COLUMNS, ("pause",)) == ("kill",)
    assert chosen("fault", [], COLUMNS, ("pause",)) == ("pause",)
    with pytest.raises(UsageError, match="the matrix has no fault 'kil'"):
        chosen("fault", ["kil"], COLUMNS, ())


def test_a_cell_is_a_case_of_junit(tmp_path: Path) -> None:
    plan = Plan(("single-master/async",), ("kill",), (7,))
    failed = Report("single-master/async", "kill", 7, Outcome.FAIL, "2 lost", replay="mqchaos replay x", folder="x")
    write_cases(tmp_path / "m.xml", [_case(plan, failed)])
    text = (tmp_path / "m.xml").read_text()
    assert 'tests="1" failures="1" errors="0"' in text
    assert 'name="single-master/async × kill[sim-reference-0x7]"' in text
    assert '<failure message="2 lost">2 lost\nreplay: mqchaos replay x</failure>' in text


def test_a_matrix_finds_a_place_where_nothing_can_be_written_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    for place in (str(tmp_path / "runs"), "/proc/nothing-can-be-made-here"):
        assert cli.main(["matrix", "--seeds", "1", "--out", place]) == EXIT_USAGE


@pytest.fixture
def running(tmp_path) -> Iterator[subprocess.Popen[str]]:
    """A matrix of a thousand runs with one worker, in a process group of its own, that has runs to show."""
    cell = ["--fault", "kill", "--row", "single-master/async"]
    words = ["matrix", "--seeds", "1000", "--seed", "1", *cell, "--jobs", "1", "--out", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-m", "harness.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    assert any("a minute" in line for line in process.stderr), "it has runs to show"
    yield process
    if process.poll() is None:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("whom", ["the matrix", "its workers, too"])
def test_a_matrix_that_is_asked_to_end_says_so_and_shows_what_it_has(running, whom: str) -> None:
    if whom == "the matrix":
        running.terminate()
    else:
        os.killpg(running.pid, signal.SIGTERM)
    out, said = running.communicate(timeout=240)
    assert running.returncode == 130, said
    assert "single-master/async" in out
    assert re.search(r"PASS (\d+)/\1\b", out), "the table has the runs that were done, and no others"
    assert re.search(r"interrupted: \d+ of 1000 runs are missing", out)
    assert "SIGTERM: no more runs begin" in said
    assert "worker" not in said.split("1 workers")[-1]


def test_a_matrix_whose_worker_dies_shows_what_it_has_and_says_what_happened(running) -> None:
    os.kill(_worker_of(running.pid), signal.SIGKILL)
    out, said = running.communicate(timeout=240)
    assert running.returncode == 3, said
    assert re.search(r"PASS (\d+)/\1\b", out)
    assert re.search(r"broken off: \d+ of 1000 runs are missing", out)
    assert "a worker process died" in said
    assert "Traceback" not in said


def _worker_of(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    (worker,) = [int(c) for c in children if b"spawn_main" in Path(f"/proc/{c}/cmdline").read_bytes()]
    return worker
