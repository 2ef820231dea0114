"""Campaigns: the same plans everywhere, no result lost or doubled, each failure once and as small as it gets."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from faults.plan import bind_fault
from harness.matrix import scenario_of
from harness.scenario_file import dump, load, parse
from results.campaign import fanout, plans
from results.campaign.fanout import rows_of, run_campaign
from results.campaign.findings import findings_of
from results.campaign.plans import plan_of, seed_of
from results.campaign.runs import ROW, run_plan

DEFECT = ("ack-before-fsync",)


def test_plan_number_n_is_always_the_same() -> None:
    assert [plan_of(7, n) for n in range(20)] == [plan_of(7, n) for n in range(20)]
    assert len({seed_of(7, n) for n in range(1000)}) == 1000
    assert plan_of(7, 1) != plan_of(8, 1)


def test_plans_cover_every_mode_and_overlap() -> None:
    drawn = [plan_of(1, n) for n in range(300)]
    assert {f"{plan.mode}/{plan.topology.flush}" for plan in drawn} == {row.name for row in plans.ROWS}
    assert {len(plan.faults) for plan in drawn} == {1, 2, 3}


def test_a_row_is_enough_to_see_the_run_again() -> None:
    number = next(n for n in range(200) if plan_of(3, n).mode == "single-master" and len(plan_of(3, n).faults) == 1)
    row, again = run_plan(3, number), run_plan(3, number)
    assert {**row, "seconds": 0} == {**again, "seconds": 0}
    if row["scenario"]:
        assert parse(row["scenario"], "x").faults == plan_of(3, number).faults


def failing_row(number: int, faults: int = 2) -> dict[str, object]:
    """A planted bug that a power cut shows, beside faults that have nothing to do with it."""
    scenario = scenario_of("single-master/sync", "cut_power")
    others = [bind_fault(n + 2, at="1s", do="pause", on="masters", hold="1s") for n in range(faults - 1)]
    scenario = replace(scenario, faults=(*scenario.faults, *others))
    return {
        "number": number, "seed": "0x1", "mode": scenario.mode, "flush": "sync",
        "faults": "; ".join(map(str, scenario.faults)), "outcome": "FAIL", "cause": "accounting/lost",
        "headline": "accounting: some are gone", "lost": 1, "seconds": 0.1, "history_sha256": "",
        "scenario": dump(scenario),
    }  # fmt: skip


def test_failures_of_one_cause_are_one_finding_with_the_least_plan(tmp_path: Path) -> None:
    rows = pa.Table.from_pylist([failing_row(1, 3), failing_row(2, 2)], schema=ROW)
    (found,) = findings_of(rows, tmp_path, DEFECT)
    assert (found.outcome, found.cause, found.plans) == ("FAIL", "accounting/lost", 2)
    least = load(found.file)
    assert [fault.do for fault in least.faults] == ["cut_power"]
    assert found.command(DEFECT) == f"mqchaos run {found.file} --seed 0x1 --defect ack-before-fsync"


def test_an_error_of_the_harness_is_a_row_and_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.errors import ClusterError
    from results.campaign import runs

    def fails(*arguments: object, **options: object) -> None:
        raise ClusterError("did not start")

    monkeypatch.setattr(runs, "run_scenario", fails)
    assert (row := run_plan(1, 1))["outcome"] == "ERROR"
    assert row["cause"] == "harness/ClusterError"


def numbered(numbers: list[int]) -> pa.Table:
    zero = {pa.int64(): 0, pa.float64(): 0.0, pa.string(): ""}
    blank = {field.name: zero[field.type] for field in ROW}
    return pa.Table.from_pylist([{**blank, "number": number, "outcome": "PASS"} for number in numbers], schema=ROW)


def dying_once(flag: Path, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The worker that gets plan 13 first is killed in the middle of its rows."""
    for batch in batches:
        numbers = batch.column(0).to_pylist()
        for number in numbers:
            if number == 13 and not flag.exists():
                flag.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield from numbered([number]).to_batches()


@pytest.mark.requires("java")
def test_a_killed_worker_and_a_broken_off_campaign_lose_and_double_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fanout, "WAVE", 16)
    task, flag, seen = partial(dying_once, tmp_path / "died"), tmp_path / "died", []

    def stop_after_two_waves(done: int) -> None:
        seen.append(done)
        if done == 32:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_campaign(1, 40, tmp_path / "c", on_progress=stop_after_two_waves, task=task)
    assert flag.exists()
    assert seen == [0, 16, 32]
    assert sorted(rows_of(tmp_path / "c")["number"].to_pylist()) == list(range(32))
    rows = run_campaign(1, 40, tmp_path / "c", task=task)
    assert rows["number"].to_pylist() == list(range(40))
    assert run_campaign(1, 40, tmp_path / "c", task=task).equals(rows), "nothing is left to run"
