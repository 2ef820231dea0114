"""Marts over runs whose figures are known, in one Spark session: counted from raw operations, not from verdicts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from checkers.history.schema import TABLES
from results.dashboard import build as build_page
from results.lake import land
from results.marts import build
from suites.unit.results.test_lake import run_folder

SECOND = 1_000_000_000

pytestmark = pytest.mark.requires("java")


def write(folder: Path, table: str, rows: list[Mapping[str, Any]]) -> None:
    schema = TABLES[table]
    blank = {field.name: "" if field.type == "string" else -1 for field in schema}
    columns = {name: [{**blank, **row}[name] for row in rows] for name in blank}
    pq.write_table(schema.empty_table().from_pydict(columns, schema=schema), folder / f"{table}.parquet")


def lossy_run(parent: Path) -> Path:
    """Four messages: kept, lost, unknown but kept (recovered), stored twice. The power goes at 5 s, back at 8 s.

    A second fault, before it, found nobody to hit: no mart may take it for one.
    """
    folder = run_folder(parent, "r-lossy", faults=[{"do": "cut_power", "on": "master(broker-a)"}])
    send = {"f": "send", "queue": 0, "outcome": "ok"}
    write(folder, "ops", [
        {**send, "op": 0, "message": 0, "invoke_ns": 1 * SECOND, "complete_ns": 1 * SECOND},
        {**send, "op": 1, "message": 1, "invoke_ns": 4 * SECOND, "complete_ns": 4 * SECOND},
        {**send, "op": 2, "message": 2, "invoke_ns": 4 * SECOND, "complete_ns": 5 * SECOND, "outcome": "info"},
        {**send, "op": 3, "message": 3, "invoke_ns": 8 * SECOND, "complete_ns": 8 * SECOND + 500_000_000},
        {"op": 4, "f": "drain", "queue": 0, "invoke_ns": 9 * SECOND, "complete_ns": 9 * SECOND, "outcome": "ok"},
    ])  # fmt: skip
    places = [(0, 0), (1, 2), (2, 3), (3, 3)]
    reads = [{"op": 4, "position": n, "offset": offset, "message": message}
             for n, (offset, message) in enumerate(places)]  # fmt: skip
    write(folder, "reads", reads)
    write(folder, "queues", [{"queue": 0, "topic": "t", "broker": "broker-a", "queue_id": 0}])
    fault = {"kind": "fault", "node": "broker-a-0", "fault": "f1", "ns": 5 * SECOND}
    nobody = {**fault, "node": "", "fault": "f2", "ns": 4 * SECOND + 1, "effective": 0}
    write(folder, "events", [{**fault, "event": 0, "step": "resolve", "detail": "{}"},
                             {**fault, "event": 1, "step": "inject"},
                             {**nobody, "event": 2, "step": "resolve", "detail": "{}"},
                             {**nobody, "event": 3, "step": "inject"}])  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def marts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("results")
    planted = run_folder(home, "r-planted", defects=["ack-before-fsync"], flush="sync")
    (planted / "verdict.json").write_text(json.dumps({"outcome": "FAIL", "verdicts": [
        {"check": "accounting", "outcome": "FAIL", "reasons": [], "measures": {"lost": 3},
         "anomalies": [{"kind": "lost", "sentence": "", "ops": [], "allowed": False, "details": {}}]}]}))  # fmt: skip
    land([lossy_run(home), run_folder(home, "r-calm"), planted], home / "lake")
    assert build(home / "lake", home / "marts") == {"verdicts": 3, "losses": 3, "recoveries": 1}
    return home / "marts"


def by_run(path: Path) -> dict[str, dict[str, Any]]:
    return {row["run"]: row for row in pq.read_table(path).to_pylist()}


def test_losses_are_counted_from_operations(marts: Path) -> None:
    row = by_run(marts / "losses.parquet")["r-lossy"]
    counts = {key: row[key] for key in ("sent", "promised", "lost", "duplicated", "recovered", "oldest_lost_ms")}
    assert counts == {"sent": 4, "promised": 3, "lost": 1, "duplicated": 1, "recovered": 1, "oldest_lost_ms": 1000.0}


def test_a_calm_run_has_no_age_of_loss(marts: Path) -> None:
    row = by_run(marts / "losses.parquet")["r-calm"]
    assert (row["lost"], row["oldest_lost_ms"]) == (0, None)


def test_recovery_runs_from_the_fault_to_the_next_success(marts: Path) -> None:
    (row,) = pq.read_table(marts / "recoveries.parquet").to_pylist()
    assert (row["affected"], row["recoveries"], row["never"], row["p50_ms"]) == (True, 1, 0, 3500.0)


def test_verdicts_say_which_check_was_not_green(marts: Path) -> None:
    (planted,) = [row for row in pq.read_table(marts / "verdicts.parquet").to_pylist() if row["defects"]]
    assert (planted["runs"], planted["failed"], planted["unlike"]) == (1, 1, "accounting FAIL")


def test_the_page_stands_alone_and_shows_the_worst(marts: Path, tmp_path: Path) -> None:
    page = build_page(marts, tmp_path / "page.html").read_text()
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "2 runs of honest brokers: 2 passed, 0 unknown, 0 failed" in page
    assert "accounting FAIL" in page
