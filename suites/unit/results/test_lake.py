"""The lake: a run counts once and whole, whatever is added twice, judged again, damaged, broken off or merged."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from harness.errors import UsageError
from results.lake import SCHEMAS, DamagedRun, Lake
from results.lake.commits import Commit
from results.lake.folders import RunFolder
from results.lake.ingest import Added, add
from results.lake.schemas import JUDGED
from results.lake.upkeep import compact, drop_before, verify
from suites.unit.results.random_runs import DAY_MS, write_run


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def runs(tmp_path: Path, count: int, seed: int = 1) -> list[Path]:
    rng = Random(seed)
    return [write_run(tmp_path / f"runs-{seed}", f"r-{seed}{n}", rng) for n in range(count)]


def table(lake: Lake, name: str) -> list[dict[str, Any]]:
    """As another engine reads it: every Parquet file below the table's folder."""
    found: list[dict[str, Any]] = ds.dataset(f"{lake.place.path}/{name}", partitioning="hive").to_table().to_pylist()
    return found


def edit(folder: Path, file: str, **changes: Any) -> None:
    path = folder / file
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def snapshot(lake: Lake) -> dict[str, list[str]]:
    """Rows that count, in any order, whatever file they are in."""
    return {
        name: sorted(
            map(
                str,
                (
                    row
                    for path in (c.file(name) for c in lake.commits())
                    for row in lake.place.read_table(path).to_pylist()
                ),
            )
        )
        for name in SCHEMAS
    }


def test_every_table_has_one_file_a_batch_of_one_mode_and_day(lake: Lake, tmp_path: Path) -> None:
    folders = runs(tmp_path, 6)
    assert add(folders, lake).words() == "6 runs added"
    partitions = {RunFolder.read(folder).partition for folder in folders}
    assert {(commit.mode, commit.day) for commit in lake.commits()} == partitions
    expected = {commit.file(name) for commit in lake.commits() for name in SCHEMAS}
    assert set(lake.place.files(suffix=".parquet")) == expected


def test_the_lake_holds_what_the_run_folders_hold(lake: Lake, tmp_path: Path) -> None:
    folders = runs(tmp_path, 4)
    add(folders, lake)
    for name in ("ops", "reads", "queues", "messages", "events"):
        whole = [
            {"run": folder.name, **row}
            for folder in folders
            for row in pq.read_table(folder / f"{name}.parquet").to_pylist()
        ]
        plain = [{key: value for key, value in row.items() if key not in ("mode", "day")} for row in table(lake, name)]
        assert sorted(map(str, plain)) == sorted(map(str, whole))


def test_adding_again_adds_nothing(lake: Lake, tmp_path: Path) -> None:
    folders = runs(tmp_path, 3)
    add(folders[:1], lake)
    assert add(folders, lake).words() == "2 runs added, 1 already in the lake"
    before = snapshot(lake)
    assert add(folders * 2, lake).words() == "0 runs added, 6 already in the lake"
    assert snapshot(lake) == before
    assert sorted(row["run"] for row in table(lake, "runs")) == sorted(folder.name for folder in folders)


def test_the_same_folder_twice_in_one_call_counts_once(lake: Lake, tmp_path: Path) -> None:
    (folder,) = runs(tmp_path, 1)
    add([folder, folder], lake)
    assert len(table(lake, "runs")) == 1


def test_a_run_that_was_judged_again_replaces_its_verdict_and_nothing_else(lake: Lake, tmp_path: Path) -> None:
    folders = runs(tmp_path, 5)
    add(folders, lake)
    before = snapshot(lake)
    edit(
        folders[2],
        "verdict.json",
        outcome="FAIL",
        verdicts=[
            {
                "check": "log",
                "outcome": "FAIL",
                "reasons": [],
                "measures": {"sends": 3},
                "anomalies": [
                    {"kind": "phantom", "sentence": "one too many", "ops": [1, 2], "allowed": False, "details": {}}
                ],
            }
        ],
    )
    assert add(folders, lake).words() == "0 runs added, 1 with a new verdict, 4 already in the lake"
    after = snapshot(lake)
    assert {name for name in SCHEMAS if after[name] != before[name]} <= set(JUDGED)
    (found,) = [row for row in table(lake, "anomalies") if row["run"] == folders[2].name]
    assert (found["kind"], found["ops"], found["allowed"]) == ("phantom", [1, 2], False)
    assert [row["outcome"] for row in table(lake, "runs") if row["run"] == folders[2].name] == ["FAIL"]
    assert [row["check"] for row in table(lake, "verdicts") if row["run"] == folders[2].name] == ["log"]
    assert verify(lake) == []
    assert add(folders, lake).words() == "0 runs added, 5 already in the lake"


def test_a_replacement_that_was_broken_off_is_done_again(lake: Lake, tmp_path: Path) -> None:
    folders = runs(tmp_path, 2)
    add(folders, lake)
    edit(folders[0], "verdict.json", outcome="FAIL", judged="again")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lake, "commit", dies)
        with pytest.raises(KeyboardInterrupt):
            add(folders, lake)
    assert add(folders, lake).rejudged == [folders[0].name]
    assert verify(lake) == []
    assert len(table(lake, "runs")) == 2


def dies(*arguments: object) -> None:
    raise KeyboardInterrupt


def test_another_history_under_a_known_name_is_quarantined(lake: Lake, tmp_path: Path) -> None:
    (folder,) = runs(tmp_path, 1)
    add([folder], lake)
    edit(folder, "run.json", history_sha256="other")
    assert "another history" in add([folder], lake).quarantined[folder.name]


DAMAGES = {
    "run.json": lambda folder: (folder / "run.json").unlink(),
    "run.json: Expecting": lambda folder: (folder / "run.json").write_text("{"),
    "run.json is no object": lambda folder: (folder / "run.json").write_text("[]"),
    "run.json lacks mode": lambda folder: (folder / "run.json").write_text('{"run": "x", "started_epoch_ms": 1}'),
    "not a finished run, verdict.json": lambda folder: (folder / "verdict.json").unlink(),
    "verdict.json lacks verdicts": lambda folder: (folder / "verdict.json").write_text('{"outcome": "PASS"}'),
    "verdict.json: KeyError": lambda folder: edit(folder, "verdict.json", verdicts=[{"check": "log"}]),
    "ops.parquet": lambda folder: (folder / "ops.parquet").write_bytes(b"PAR1 not really"),
    "events.parquet": lambda folder: (folder / "events.parquet").unlink(),
    "reads.parquet: 'message'": lambda folder: without(folder, "reads", "message"),
    "used twice": lambda folder: with_constant(folder, "events", "event", 7),
    "outcome 'perhaps'": lambda folder: with_constant(folder, "ops", "outcome", "perhaps"),
}  # fmt: skip


def without(folder: Path, name: str, column: str) -> None:
    path = folder / f"{name}.parquet"
    pq.write_table(pq.read_table(path).drop_columns([column]), path)


def with_constant(folder: Path, name: str, column: str, value: Any) -> None:
    path = folder / f"{name}.parquet"
    found = pq.read_table(path)
    place = found.column_names.index(column)
    pq.write_table(found.set_column(place, column, pa.repeat(pa.scalar(value), len(found))), path)


@pytest.mark.parametrize("reason", DAMAGES)
def test_a_damaged_run_is_quarantined_with_its_reason_and_the_rest_is_added(
    lake: Lake, tmp_path: Path, reason: str
) -> None:
    folders = runs(tmp_path, 3)
    DAMAGES[reason](folders[1])
    added = add(folders, lake)
    assert added.words() == "2 runs added, 1 quarantined"
    (entry,) = lake.quarantined()
    assert reason in entry["reason"]
    assert (entry["run"], entry["folder"]) == (folders[1].name, str(folders[1]))
    assert sorted(row["run"] for row in table(lake, "runs")) == [folders[0].name, folders[2].name]
    assert verify(lake) == []


def test_a_quarantined_run_that_is_whole_again_is_released(lake: Lake, tmp_path: Path) -> None:
    (folder,) = runs(tmp_path, 1)
    (folder / "verdict.json").rename(folder / "away")
    add([folder], lake)
    (folder / "away").rename(folder / "verdict.json")
    assert add([folder], lake).words() == "1 run added"
    assert lake.quarantined() == []


@pytest.mark.parametrize("table_of_death", list(SCHEMAS))
def test_an_ingest_that_died_at_any_table_left_nothing_that_counts(
    lake: Lake, tmp_path: Path, table_of_death: str
) -> None:
    folders = runs(tmp_path, 3)
    tables = dict(SCHEMAS)

    class DiesAt(dict):  # type: ignore[type-arg]
        def items(self):  # type: ignore[no-untyped-def]
            for name, schema in tables.items():
                if name == table_of_death:
                    raise KeyboardInterrupt
                yield name, schema

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("results.lake.ingest.SCHEMAS", DiesAt(tables))
        with pytest.raises(KeyboardInterrupt):
            add(folders[:2], lake)
    assert lake.commits() == []
    assert add(folders, lake).words() == "3 runs added"
    assert sorted(row["run"] for row in table(lake, "runs")) == [folder.name for folder in folders]
    assert verify(lake) == []


def test_a_second_writer_is_refused(lake: Lake, tmp_path: Path) -> None:
    add(runs(tmp_path, 1), lake)
    with (tmp_path / "lake" / "_lock").open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another process is changing the lake"):
            add(runs(tmp_path, 1, seed=2), lake)


def test_a_path_and_its_uri_are_the_same_lake(tmp_path: Path) -> None:
    folders = runs(tmp_path, 2)
    add(folders, Lake(f"file://{tmp_path}/lake"))
    assert add(folders, Lake(tmp_path / "lake")).words() == "0 runs added, 2 already in the lake"


def test_a_history_from_before_an_optional_column_gets_its_default(lake: Lake, tmp_path: Path) -> None:
    (folder,) = runs(tmp_path, 1)
    without(folder, "ops", "next_offset")
    add([folder], lake)
    assert {row["next_offset"] for row in table(lake, "ops")} == {-1}


def test_a_column_of_a_later_version_is_left_out_and_named(lake: Lake, tmp_path: Path) -> None:
    (folder,) = runs(tmp_path, 1)
    path = folder / "ops.parquet"
    found = pq.read_table(path)
    pq.write_table(found.append_column("colour", pa.repeat(pa.scalar("red"), len(found))), path)
    assert add([folder], lake).left_out == {"ops.colour"}
    assert "colour" not in table(lake, "ops")[0]


def test_files_from_before_a_column_are_merged_with_nothing_in_it(lake: Lake, tmp_path: Path) -> None:
    old, new = runs(tmp_path, 4), runs(tmp_path, 4, seed=2)
    add(old, lake)
    for commit in lake.commits():
        path = Path(lake.place.below(commit.file("runs")))
        pq.write_table(pq.read_table(path, partitioning=None).drop_columns(["replay"]), path)
    add(new, lake)
    compact(lake)
    replays = {row["run"]: row["replay"] for row in table(lake, "runs")}
    assert {replays[folder.name] for folder in old} == {None}
    assert all(replays[folder.name] for folder in new)


def test_compaction_merges_files_and_changes_no_row(lake: Lake, tmp_path: Path) -> None:
    for folder in runs(tmp_path, 8):
        add([folder], lake)
    before, files = snapshot(lake), len(lake.place.files("ops"))
    batches = compact(lake)
    assert batches == (8, len({(commit.mode, commit.day) for commit in lake.commits()}))
    assert snapshot(lake) == before
    assert len(lake.place.files("ops")) == batches[1] < files
    assert verify(lake) == []
    assert compact(lake) == (batches[1], batches[1])


def test_a_compaction_that_died_before_its_sweep_counts_every_run_once(lake: Lake, tmp_path: Path) -> None:
    for folder in runs(tmp_path, 4):
        add([folder], lake)
    before = snapshot(lake)
    sweeps = iter([Lake.sweep, dies])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lake, "sweep", lambda self: next(sweeps)(self))
        with pytest.raises(KeyboardInterrupt):
            compact(lake)
    assert snapshot(lake) == before
    compact(lake)
    assert snapshot(lake) == before
    assert verify(lake) == []


def test_days_before_a_day_are_dropped_whole(lake: Lake, tmp_path: Path) -> None:
    old, new = runs(tmp_path, 2), runs(tmp_path, 2, seed=2)
    for folder in old:
        edit(folder, "run.json", started_epoch_ms=DAY_MS - 30 * 86_400_000)
    add([*old, *new], lake)
    assert drop_before(lake, "2026-11-01") == [folder.name for folder in old]
    assert sorted(row["run"] for row in table(lake, "runs")) == [folder.name for folder in new]
    assert verify(lake) == []


def test_verification_names_a_flipped_bit(lake: Lake, tmp_path: Path) -> None:
    add(runs(tmp_path, 2), lake)
    commit = lake.commits()[0]
    path = Path(lake.place.below(commit.file("ops")))
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    (wrong,) = verify(lake)
    assert wrong.startswith(commit.file("ops"))


def test_verification_names_missing_files_wrong_counts_strangers_and_doubles(lake: Lake, tmp_path: Path) -> None:
    add(runs(tmp_path, 1), lake)
    commit = lake.commits()[0]
    (run,) = commit.runs
    lake.place.remove(commit.file("queues"))
    lake.commit(Commit("twin", commit.mode, commit.day, {run: {}}, dict.fromkeys(SCHEMAS, 0)))
    (tmp_path / "lake" / commit.file("ops")).with_name("stray.parquet").write_bytes(b"")
    wrong = "\n".join(verify(lake))
    assert f"run {run} is in two batches" in wrong
    assert commit.file("queues") in wrong
    assert "stray.parquet: no record knows this file" in wrong


@pytest.mark.parametrize(
    ("faults", "label"),
    [
        ([], "none"),
        ([{"do": "kill", "on": "masters"}], "kill"),
        (
            [
                {"do": "kill", "on": "masters"},
                {"do": "pause", "on": "broker-a-0"},
                {"do": "kill", "on": "one of masters"},
            ],
            "kill+pause",
        ),
        ([{"do": "kill", "on": "master(broker-a)"}, {"do": "kill", "on": "nameservers"}], "kill+kill nameservers"),
        ([{"do": "isolate", "on": "client(1)"}], "isolate clients"),
        ([{"do": "partition", "on": "masters | clients, nameservers"}], "partition"),
        ([{"do": "partition", "on": "clients | masters"}], "partition clients"),
        ([{"do": "partition", "on": "link(master(broker-a), slave(broker-a), ha)"}], "partition link"),
        ([{"do": "kill", "on": "one of slaves"}], "kill slaves"),
        ([{"do": "cut_power", "on": "broker(broker-a)"}], "cut_power brokers"),
        ([{"do": "cut_power", "on": "minority"}], "cut_power minority"),
        ([{"do": "isolate", "on": "one(followers)"}], "isolate followers"),
    ],
)
def test_a_plan_has_one_label(tmp_path: Path, faults: list[dict[str, str]], label: str) -> None:
    (folder,) = runs(tmp_path, 1)
    edit(folder, "run.json", faults=faults)
    assert RunFolder.read(folder).fault == label


def test_runs_of_one_scenario_have_one_plan_whatever_their_seed(tmp_path: Path) -> None:
    first, second, other = runs(tmp_path, 3)
    for folder, text in ((first, "name: a"), (second, "name: a"), (other, "name: b")):
        (folder / "scenario.yaml").write_text(text)
    plans = [RunFolder.read(folder).judged(1, 1)["runs"]["plan"][0].as_py() for folder in (first, second, other)]
    assert plans[0] == plans[1] != plans[2]


def test_nothing_at_all_is_said_plainly(lake: Lake) -> None:
    assert add([], lake).words() == "0 runs added"
    assert Added(present=["r-1"]).words() == "0 runs added, 1 already in the lake"


def test_a_folder_that_is_no_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(DamagedRun, match=r"not a finished run, run\.json"):
        RunFolder.read(tmp_path)
