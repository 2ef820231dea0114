"""Every mart against the same figures computed slowly in plain Python, over sixty runs drawn at random.

One Spark session builds all marts. The runs are valid but wild (``random_runs``); the oracle follows the docstrings of
the marts, not their SQL (``oracle``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from math import ceil
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.lake import duckdb_build
from harness.errors import HistoryError
from results.lake import SCHEMAS, Lake
from results.lake.ingest import add
from results.marts import MARTS
from results.marts.build import build, queries, read_by, readable, register
from results.marts.outcomes import in_words
from results.session import spark_session
from suites.unit.results import oracle
from suites.unit.results.random_runs import write_run

pytestmark = [pytest.mark.requires("java")]
RUNS = 60


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("marts")
    rng = Random(20)
    for number in range(RUNS):
        write_run(place / "runs", f"r-{number:03}", rng)
    lake = Lake(place / "lake")
    assert add(sorted((place / "runs").iterdir()), lake).words() == f"{RUNS} runs added"
    first: list[str] = []
    built = build(lake, place / "marts", on_first=lambda table: first.append(in_words(table)))
    assert set(built.rows) == set(MARTS)
    assert first == [in_words(pq.read_table(place / "marts" / "outcomes.parquet"))]
    assert next(iter(built.seconds)) == MARTS[0], "the first answer waits for no stage"
    return place


@pytest.fixture(scope="module")
def runs(home: Path) -> list[oracle.Run]:
    return [oracle.Run(folder) for folder in sorted((home / "runs").iterdir())]


@pytest.fixture(scope="module")
def cells(runs: list[oracle.Run]) -> Mapping[tuple[str, ...], list[oracle.Run]]:
    return oracle.by_cell(runs)


def rows(home: Path, mart: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(home / "marts" / f"{mart}.parquet").to_pylist()
    return found


def cell(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in oracle.CELL)


def close(expected: Any) -> Any:
    return None if expected is None else pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_losses(home: Path, runs: list[oracle.Run]) -> None:
    found = {row["run"]: row for row in rows(home, "losses")}
    assert len(found) == RUNS
    for run in runs:
        for key, value in oracle.losses(run).items():
            assert found[run.name][key] == value, (run.name, key)


@pytest.mark.parametrize("mart", ["outcomes", "cell_outcomes"])
def test_outcomes(home: Path, cells: Mapping[tuple[str, ...], list[oracle.Run]], mart: str) -> None:
    found = {cell(row): row for row in rows(home, mart)}
    assert found.keys() == cells.keys()
    for key, members in cells.items():
        for name, value in getattr(oracle, mart)(members).items():
            expected = close(value) if isinstance(value, float) else value
            assert found[key][name] == expected, (key, name)


def test_lost_messages(home: Path, runs: list[oracle.Run]) -> None:
    found = {(row["run"], row["message"]): row for row in rows(home, "lost_messages")}
    expected = {(run.name, message): row for run in runs for message, row in oracle.lost_messages(run).items()}
    assert found.keys() == expected.keys()
    assert len(expected) > 100
    for key, row in expected.items():
        seen = found[key]
        assert (seen["place"], seen["acked_ns"], seen["fault_ns"]) == (row["place"], row["acked_ns"], row["fault_ns"])
        assert sorted({step["op"] for step in seen["story"]}) == row["story"]
        assert row["acked_ns"] in [step["complete_ns"] for step in seen["story"]]


def test_duplicates(home: Path, cells: Mapping[tuple[str, ...], list[oracle.Run]]) -> None:
    found: dict[tuple[str, ...], tuple[int, int]] = {
        (*cell(row), row["kind"], row["cause"]): (row["messages"], row["runs"]) for row in rows(home, "duplicates")
    }
    expected = {
        (*key, *cause): count for key, members in cells.items() for cause, count in oracle.duplicates(members).items()
    }
    assert found == expected
    assert {key[-2] for key in expected} == {"stored", "delivered"}


def test_recovery_times(home: Path, cells: Mapping[tuple[str, ...], list[oracle.Run]]) -> None:
    found = {(*cell(row), row["affected"]): row for row in rows(home, "recovery_times")}
    expected = {
        (*key, side): seen for key, members in cells.items() for side, seen in oracle.recoveries(members).items()
    }
    assert found.keys() == expected.keys()
    for key, observations in expected.items():
        row = found[key]
        assert (row["observed"], row["censored"]) == (len(observations), sum(not back for _, back in observations))
        for name, quantile in (("p50_ms", 0.5), ("p90_ms", 0.9), ("p99_ms", 0.99)):
            middle, low, high = oracle.survival(observations, quantile)
            assert (row[name], row[f"{name}_low"], row[f"{name}_high"]) == (close(middle), close(low), close(high))
    assert any(row["p90_ms"] is None for row in found.values()), "some queues must have stayed away"


def test_recovery_points(home: Path, cells: Mapping[tuple[str, ...], list[oracle.Run]]) -> None:
    found = {cell(row): row for row in rows(home, "recovery_points")}
    expected = {key: members for key, members in cells.items() if key[2] != "none"}
    assert found.keys() == expected.keys()
    for key, members in expected.items():
        ages = [(oracle.losses(run)["oldest_lost_ms"] or 0.0, True) for run in members]
        for name, quantile in (("p50_ms", 0.5), ("p90_ms", 0.9)):
            middle, low, high = oracle.survival(ages, quantile)
            row = found[key]
            assert (row[name], row[f"{name}_low"], row[f"{name}_high"]) == (close(middle), close(low), close(high))


def test_availability(home: Path, cells: Mapping[tuple[str, ...], list[oracle.Run]]) -> None:
    found = {
        (*cell(row), row["affected"], row["bin"]): (row["attempts"], row["succeeded"])
        for row in rows(home, "availability")
    }
    expected = {
        (*key, *place): count for key, members in cells.items() for place, count in oracle.availability(members).items()
    }
    assert found == expected


def test_latencies(home: Path, cells: Mapping[tuple[str, ...], list[oracle.Run]]) -> None:
    found = {(*cell(row), row["f"], row["phase"]): row for row in rows(home, "latencies")}
    expected = {
        (*key, *what): taken for key, members in cells.items() for what, taken in oracle.latencies(members).items()
    }
    assert found.keys() == expected.keys()
    for key, taken in expected.items():
        row, ordered = found[key], sorted(taken)
        assert (row["answered"], row["max_ms"]) == (len(taken), close(ordered[-1]))
        for name, quantile in (("p50_ms", 0.5), ("p99_ms", 0.99)):
            assert row[name] == close(ordered[ceil(quantile * len(ordered)) - 1])


def test_latency_over_time(home: Path, cells: Mapping[tuple[str, ...], list[oracle.Run]]) -> None:
    found = {(*cell(row), row["second"]): row["answered"] for row in rows(home, "latency_over_time")}
    expected = {
        (*key, second): count
        for key, members in cells.items()
        for second, count in oracle.latency_over_time(members).items()
    }
    assert found == expected


def test_failovers(home: Path, runs: list[oracle.Run]) -> None:
    found = {(row["run"], row["fault_id"]): row for row in rows(home, "failovers")}
    expected = {(run.name, fault): row for run in runs for fault, row in oracle.failovers(run).items()}
    assert found.keys() == expected.keys()
    for key, stages in expected.items():
        for name, value in stages.items():
            assert found[key][name] == close(value), (key, name)


def test_replication_lags(home: Path, runs: list[oracle.Run]) -> None:
    for run in runs:
        found = [(row["master"], row["ns"], row["log_end"], row["behind_bytes"])
                 for row in rows(home, "replication_lags") if row["run"] == run.name]  # fmt: skip
        assert sorted(found, key=str) == oracle.replication_lags(run)


def test_fault_efficacy(home: Path, runs: list[oracle.Run]) -> None:
    found = {(row["verb"], row["role"], row["backend"], row["target"]): row for row in rows(home, "fault_efficacy")}
    expected = oracle.fault_efficacy(runs)
    assert found.keys() == expected.keys()
    for key, counts in expected.items():
        row = found[key]
        names = ("planned", "took_effect", "no_effect", "cannot_be_told", "refused", "undone", "not_undone")
        assert {name: row[name] for name in names} == {name: counts[name] for name in names}
        low, high = oracle.wilson(counts["took_effect"], counts["planned"])
        assert (row["took_effect_low"], row["took_effect_high"]) == (close(low), close(high))


def test_coverage(home: Path, runs: list[oracle.Run]) -> None:
    names = ("verb", "role", "state", "kind", "mode", "target")
    found = {tuple(row[name] for name in names): row["runs"] for row in rows(home, "coverage")}
    assert found == oracle.coverage(runs)
    assert any(key[2].startswith("during") for key in found)


def test_versions(home: Path, cells: Mapping[tuple[str, ...], list[oracle.Run]]) -> None:
    found = {cell({**row, "defects": ""}): row for row in rows(home, "versions")}
    assert found.keys() == {key for key in cells if not key[-1]}
    assert any(key[-1] for key in cells), "runs with planted bugs are there to be left out"
    for key, row in found.items():
        for name, value in oracle.versions(cells[key]).items():
            assert row[name] == close(value), (key, name)
        steady = sorted(oracle.latencies(cells[key]).get(("send", "steady"), []))
        assert row["steady_p99_ms"] == (close(steady[ceil(0.99 * len(steady)) - 1]) if steady else None)


def test_flakiness(home: Path, runs: list[oracle.Run]) -> None:
    found = oracle.sorted_rows(
        {name: row[name] for name in ("runs", "histories", "seen")} for row in rows(home, "flakiness")
    )
    assert found == oracle.sorted_rows(oracle.flakiness(runs).values())
    assert found


ESTIMATED = {"latencies": ("p50_ms", "p90_ms", "p99_ms"), "latency_over_time": ("p50_ms", "p99_ms"),
             "versions": ("steady_p99_ms",)}  # fmt: skip
"""Quantiles of many operations, which each engine estimates its own way; the oracle above bounds them."""


def test_another_engine_makes_the_same_tables_of_the_same_queries(home: Path) -> None:
    """The queries say what is counted, Spark only does it: DuckDB gets the same rows from the same files."""
    other = duckdb_build(str(home / "lake"))
    for mart in MARTS:
        columns = ", ".join(f'"{name}"' for name in pq.read_schema(home / "marts" / f"{mart}.parquet").names
                            if name not in ESTIMATED.get(mart, ()))  # fmt: skip
        theirs = rounded(other.sql(f"SELECT {columns} FROM {mart}").to_arrow_table().to_pylist())
        ours = rounded({name: row[name] for name in row if f'"{name}"' in columns} for row in rows(home, mart))
        assert theirs == ours, mart


def rounded(table: Iterable[Mapping[str, Any]]) -> list[str]:
    """Rows as sorted text; floats to nine digits, since sums are made in another order."""

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(item) for item in value]
        if isinstance(value, dict):
            return {name: plain(item) for name, item in value.items()}
        if isinstance(value, Decimal):  # what DuckDB makes of a sum of integers
            return int(value)
        return float(f"{value:.9g}") if isinstance(value, float) else value

    return sorted(repr({name: plain(value) for name, value in row.items()}) for row in table)


def test_each_query_reads_what_comes_before_it() -> None:
    """A build makes what a query names before it runs it."""
    there = set(SCHEMAS)
    for name, query in queries().items():
        own = set(re.findall(r"\b(\w+) AS \(", query))
        assert set(read_by(query)) - own <= there, name
        there.add(name)


def test_outcomes_in_words() -> None:
    names = ("runs", "passed", "unknown", "failed", "lost_allowed", "lost_broken")
    table = pa.table({name: [number, 1000] for number, name in enumerate(names)})
    assert in_words(table) == (
        "2 cells of 1,000 runs: 1,001 PASS, 1,002 UNKNOWN, 1,003 FAIL; "
        "1,004 messages lost within the contract, 1,005 outside it"
    )


def test_an_empty_lake_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="is empty"):
        build(Lake(tmp_path / "lake"), tmp_path / "marts")


def test_runs_in_which_nothing_happened_give_every_mart_its_columns(home: Path, tmp_path: Path) -> None:
    """One run without an operation, a fault or a check."""
    folder = write_run(tmp_path, "r-calm", Random(1))
    for table in SCHEMAS.keys() & {path.stem for path in folder.glob("*.parquet")}:
        schema = pq.read_schema(folder / f"{table}.parquet")
        pq.write_table(schema.empty_table(), folder / f"{table}.parquet")
    (folder / "verdict.json").write_text('{"outcome": "UNKNOWN", "verdicts": []}')
    lake = Lake(tmp_path / "lake")
    add([folder], lake)
    built = build(lake, tmp_path / "marts")
    assert {name: count for name, count in built.rows.items() if count} == {
        "outcomes": 1,
        "losses": 1,
        "cell_outcomes": 1,
        "versions": 1,
        "recovery_points": built.rows["recovery_points"],
    }
    for mart in MARTS:
        ours, full = (pq.read_schema(place / "marts" / f"{mart}.parquet") for place in (tmp_path, home))
        assert ours.equals(full, check_metadata=False), mart


def test_a_damaged_file_of_the_lake_is_named(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    add([write_run(tmp_path, "r-1", Random(1))], lake)
    (path,) = (tmp_path / "lake" / "ops").rglob("*.parquet")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(HistoryError, match=f"cannot be read: .*{re.escape(path.name)}"):
        build(lake, tmp_path / "marts")
    assert not (tmp_path / "marts" / "_work").exists()


def test_no_mart_is_made_of_damaged_files(tmp_path: Path) -> None:
    """Every file is cut short: each stage and mart names one, none comes out empty or with what could be read."""
    lake = Lake(tmp_path / "lake")
    add([write_run(tmp_path, "r-1", Random(1))], lake)
    for path in (tmp_path / "lake").rglob("*.parquet"):
        path.write_bytes(path.read_bytes()[:-100])
    told = []
    with spark_session("damaged") as spark:
        register(spark, lake)
        for name, query in queries().items():
            frame = spark.sql(query)
            with pytest.raises(HistoryError, match=r"cannot be read: .*r-1.*\.parquet"), readable():
                frame.toArrow()
            frame.createOrReplaceTempView(name)
            told.append(name)
    assert set(MARTS) < set(told)
