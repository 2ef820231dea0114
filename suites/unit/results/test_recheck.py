"""Judging stored runs again: the same verdicts as one process gives, what changed is listed and can be kept."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from harness.run import run_scenario
from results.dashboard import read_mart
from results.lake import Lake
from results.lake.ingest import add
from results.marts.check_costs import costs_of, write_costs
from results.recheck import changes, judged_again, recheck, write


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    runs = [run_scenario("single-master-async-power-cut", seed=seed, out=tmp_path / "runs") for seed in (1, 2, 3)]
    return [run.folder for run in runs if run.folder is not None]


def age(folder: Path) -> None:
    """The verdict as an older checker might have given it: loss not noticed."""
    path = folder / "verdict.json"
    verdict = json.loads(path.read_text())
    for check in verdict["verdicts"]:
        if check["check"] == "accounting":
            check["anomalies"], check["outcome"] = [], "UNKNOWN"
    path.write_text(json.dumps({**verdict, "outcome": "UNKNOWN"}))


def test_a_run_that_was_judged_by_today_s_checkers_is_judged_the_same(folders: list[Path]) -> None:
    row = judged_again("r", folders[0])
    assert (row["problem"], row["changed"]) == ("", "")
    assert json.loads(row["verdict"]) == json.loads((folders[0] / "verdict.json").read_text())
    assert {"accounting", "log", "availability"} <= json.loads(row["costs"]).keys()


def test_what_changed_is_named_by_check(folders: list[Path]) -> None:
    age(folders[0])
    row = judged_again("r", folders[0])
    assert (row["before"], row["after"]) == ("UNKNOWN", "PASS")
    assert row["changed"] == "accounting: UNKNOWN → PASS"


@pytest.mark.parametrize("file", ["verdict.json", "run.json", "ops.parquet"])
def test_a_run_that_cannot_be_judged_says_why(folders: list[Path], file: str) -> None:
    (folders[0] / file).write_text("nonsense")
    assert judged_again("r", folders[0])["problem"]


def test_costs_are_those_of_a_table_of_seconds(tmp_path: Path) -> None:
    seconds = [{"log": 0.5, "routes": 0.25}, {"log": 1.5}, {"log": 0.75}, {}]
    rows = pa.table({"costs": [json.dumps(one) for one in seconds]})
    expected = [
        {"check": "log", "runs": 3, "total_s": 2.75, "p50_ms": 750.0, "max_ms": 1500.0},
        {"check": "routes", "runs": 1, "total_s": 0.25, "p50_ms": 250.0, "max_ms": 250.0},
    ]
    assert costs_of(rows).to_pylist() == expected
    written = write_costs(rows, tmp_path / "marts")
    assert read_mart(tmp_path / "marts", "check_costs").to_pylist() == expected
    assert list(written.parent.iterdir()) == [written]


@pytest.mark.requires("java")
def test_all_runs_of_a_lake_over_spark_and_the_new_verdicts_come_into_it(folders: list[Path], tmp_path: Path) -> None:
    age(folders[1])
    (folders[2] / "run.json").write_text((folders[2] / "run.json").read_text())
    lake = Lake(tmp_path / "lake")
    add(folders, lake)
    (folders[2] / "ops.parquet").unlink()
    (folders[2] / "journal.jsonl").unlink()
    rows = recheck(lake)
    assert rows["run"].to_pylist() == sorted(folder.name for folder in folders)
    alone = [judged_again(folder.name, folder) for folder in sorted(folders)]
    assert [row["verdict"] for row in rows.to_pylist()] == [row["verdict"] for row in alone]
    found = {change.run: change.what for change in changes(rows)}
    assert found.keys() == {folders[1].name, folders[2].name}
    assert found[folders[1].name] == "accounting: UNKNOWN → PASS"
    costs = {row["check"]: row["runs"] for row in costs_of(rows).to_pylist()}
    assert costs["accounting"] == 2
    assert write(rows) == [folders[1]]
    assert add(write(rows), lake).words() == "0 runs added, 1 with a new verdict"
