"""Landing run folders: once, whole, in the right partition, refused by name when unfinished."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checkers.history.schema import TABLES
from results.lake import SCHEMAS, LakeError, RunFolder, land

DAY_MS = 1_795_800_000_000  # 2026-11-27 15:20 UTC


def run_folder(parent: Path, name: str, **facts: object) -> Path:
    """A finished run with one acknowledged send and no loss."""
    folder = parent / name
    folder.mkdir(parents=True)
    run = {
        "run": name, "scenario": "s", "mode": "single-master", "flush": "async", "backend": "sim",
        "target": "reference", "seed": "0x1", "commit": "c", "started_epoch_ms": DAY_MS, "faults": [], "defects": [],
        **facts,
    }  # fmt: skip
    verdict = {"check": "accounting", "outcome": "PASS", "reasons": [], "measures": {"lost": 0}, "anomalies": []}
    (folder / "run.json").write_text(json.dumps(run))
    (folder / "verdict.json").write_text(json.dumps({"outcome": "PASS", "verdicts": [verdict]}))
    for table, schema in TABLES.items():
        pq.write_table(schema.empty_table(), folder / f"{table}.parquet")
    return folder


def rows(lake: Path, table: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = pa.concat_tables(
        pq.read_table(path, partitioning=None) for path in sorted((lake / table).rglob("*.parquet"))
    ).to_pylist()
    return found


def test_every_table_lands_under_its_mode_and_day(tmp_path: Path) -> None:
    land([run_folder(tmp_path, "r-1")], tmp_path / "lake")
    places = sorted(str(path.relative_to(tmp_path / "lake")) for path in (tmp_path / "lake").rglob("*.parquet"))
    assert places == sorted(f"{table}/mode=single-master/day=2026-11-27/r-1.parquet" for table in SCHEMAS)


def test_landing_twice_changes_nothing(tmp_path: Path) -> None:
    folder, lake = run_folder(tmp_path, "r-1"), tmp_path / "lake"
    assert land([folder], lake) == ["r-1"]
    assert land([folder], lake) == []
    assert [row["run"] for row in rows(lake, "runs")] == ["r-1"]


def test_many_runs_of_a_day_share_a_file(tmp_path: Path) -> None:
    folders = [run_folder(tmp_path, f"r-{n}") for n in range(3)]
    assert land(folders, tmp_path / "lake") == ["r-0", "r-1", "r-2"]
    assert [path.name for path in (tmp_path / "lake" / "runs").rglob("*.parquet")] == ["r-0+2.parquet"]


def test_a_landing_that_died_is_repeated_without_doubling(tmp_path: Path) -> None:
    folder, lake = run_folder(tmp_path, "r-1"), tmp_path / "lake"
    land([folder], lake)
    (lake / "_landed" / "r-1").unlink()
    assert land([folder], lake) == ["r-1"]
    assert len(rows(lake, "runs")) == 1


@pytest.mark.parametrize("table", ["ops", "verdicts"])
def test_a_landing_that_died_with_fewer_runs_is_not_counted_beside_its_repetition(tmp_path: Path, table: str) -> None:
    folders, lake = [run_folder(tmp_path, f"r-{n}") for n in range(3)], tmp_path / "lake"
    tables = dict(SCHEMAS)

    class DiesAt(dict):  # type: ignore[type-arg]
        def items(self):  # type: ignore[no-untyped-def]
            for name, schema in tables.items():
                if name == table:
                    raise KeyboardInterrupt
                yield name, schema

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("results.lake.SCHEMAS", DiesAt(tables))
        with pytest.raises(KeyboardInterrupt):
            land(folders[:2], lake)
    assert land(folders, lake) == ["r-0", "r-1", "r-2"]
    assert sorted(row["run"] for row in rows(lake, "runs")) == ["r-0", "r-1", "r-2"]
    assert {path.name for path in lake.rglob("*.parquet")} == {"r-0+2.parquet"}
    assert list((lake / "_landing").iterdir()) == []


def test_a_landing_that_died_between_its_marks_is_taken_back_whole(tmp_path: Path) -> None:
    folders, lake = [run_folder(tmp_path, f"r-{n}") for n in range(2)], tmp_path / "lake"
    land(folders, lake)
    (lake / "_landed" / "r-1").unlink()
    (lake / "_landing" / "r-0+1.parquet").write_text("r-0\nr-1")
    assert land([run_folder(tmp_path, "r-9"), *folders], lake) == ["r-9", "r-0", "r-1"]
    assert sorted(row["run"] for row in rows(lake, "runs")) == ["r-0", "r-1", "r-9"]


def test_a_landing_under_way_is_left_alone(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    land([run_folder(tmp_path, "r-1")], lake)
    with (lake / "_landing" / "r-1.parquet").open("w") as living:
        fcntl.flock(living, fcntl.LOCK_EX)
        living.write("r-1")
        living.flush()
        land([run_folder(tmp_path, "r-2")], lake)
    assert sorted(row["run"] for row in rows(lake, "runs")) == ["r-1", "r-2"]


@pytest.mark.parametrize(("file", "key"), [("run.json", "mode"), ("verdict.json", "verdicts")])
def test_a_run_that_lacks_a_key_is_refused_by_name(tmp_path: Path, file: str, key: str) -> None:
    folder = run_folder(tmp_path, "r-1")
    document = json.loads((folder / file).read_text())
    del document[key]
    (folder / file).write_text(json.dumps(document))
    with pytest.raises(LakeError, match=rf"r-1: not a finished run, {file} lacks {key}"):
        land([folder], tmp_path / "lake")


@pytest.mark.parametrize("missing", ["run.json", "verdict.json"])
def test_an_unfinished_run_is_refused_by_name(tmp_path: Path, missing: str) -> None:
    folder = run_folder(tmp_path, "r-1")
    (folder / missing).unlink()
    with pytest.raises(LakeError, match=rf"r-1.*{missing}"):
        land([folder], tmp_path / "lake")


def test_a_damaged_table_is_refused_by_name(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, "r-1")
    (folder / "ops.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(LakeError, match=r"r-1: ops\.parquet"):
        land([folder], tmp_path / "lake")


@pytest.mark.parametrize(
    ("faults", "label"),
    [
        ([], "none"),
        ([{"do": "kill", "on": "masters"}], "kill"),
        ([{"do": "kill", "on": "masters"}, {"do": "pause", "on": "all"}, {"do": "kill", "on": "all"}], "kill+pause"),
        ([{"do": "isolate", "on": "client(1)"}], "isolate clients"),
    ],
)
def test_a_plan_has_one_label(tmp_path: Path, faults: list[dict[str, str]], label: str) -> None:
    assert RunFolder.read(run_folder(tmp_path, "r-1", faults=faults)).fault == label
