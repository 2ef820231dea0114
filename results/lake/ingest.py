"""How runs come into a lake: once, whole, with their latest verdict; a damaged one is named and the rest comes in.

Question: what changes when these run folders are added, whatever was added before and wherever that was broken off?

Model. A run that is in the lake with the same verdict is left alone. One that was judged again since has its rows in
``runs``, ``verdicts`` and ``anomalies`` replaced, file by file; the record is written last, so a replacement that was
broken off is done again. New runs are written in batches of one mode and day, at most :data:`OPS_MAX` operations each.
A run that cannot be read is put on the list of quarantined runs with its reason, and taken off when it comes in later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from results.lake.commits import Commit, Lake, data_file
from results.lake.folders import DamagedRun, RunFolder, with_run
from results.lake.places import ROW_GROUP
from results.lake.schemas import JUDGED, SCHEMAS

OPS_MAX: Final = 1_000_000
"""Of a batch: what is held in memory while it is written."""


@dataclass
class Added:
    """What came of adding: names of runs, and reasons by name for those that were quarantined."""

    added: list[str] = field(default_factory=list)
    present: list[str] = field(default_factory=list)
    rejudged: list[str] = field(default_factory=list)
    quarantined: dict[str, str] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)
    """Columns that this version does not know."""

    def words(self) -> str:
        """``3 runs added, 1 already in the lake``."""
        parts = [f"{len(self.added)} run{'' if len(self.added) == 1 else 's'} added"]
        parts += [f"{len(self.rejudged)} with a new verdict"] if self.rejudged else []
        parts += [f"{len(self.present)} already in the lake"] if self.present else []
        parts += [f"{len(self.quarantined)} quarantined"] if self.quarantined else []
        return ", ".join(parts)


OnProgress = Callable[[int], None]
"""Told how many runs have been dealt with."""


def add(folders: Iterable[Path], lake: Lake, on_progress: OnProgress = lambda done: None) -> Added:
    """Bring run folders in."""
    outcome = Added()
    with lake.place.alone():
        lake.sweep()
        fresh = _sorted_out(folders, lake, outcome)
        batches = _Batches(lake, outcome, on_progress)
        for run in fresh:
            batches.take(run)
        batches.close()
    return outcome


def _sorted_out(folders: Iterable[Path], lake: Lake, outcome: Added) -> list[RunFolder]:
    """The new runs; verdicts of known ones are brought up to date on the way."""
    holders = lake.holders()
    fresh: dict[str, RunFolder] = {}
    again: dict[str, list[RunFolder]] = defaultdict(list)
    for path in folders:
        try:
            run = RunFolder.read(path)
        except DamagedRun as damage:
            _quarantine(lake, outcome, path.name, path, damage)
            continue
        if run.name not in holders:
            fresh.setdefault(run.name, run)
        elif (known := holders[run.name].runs[run.name]) == run.digests:
            outcome.present.append(run.name)
        elif known["history"] != run.digests["history"]:
            reason = DamagedRun(f"{path}: a run of this name with another history is in the lake")
            _quarantine(lake, outcome, run.name, path, reason)
        else:
            again[holders[run.name].batch].append(run)
    commits = {commit.batch: commit for commit in lake.commits()}
    for batch, runs in again.items():
        _replace_verdicts(lake, commits[batch], runs)
        outcome.rejudged += [run.name for run in runs]
    return list(fresh.values())


def _quarantine(lake: Lake, outcome: Added, name: str, path: Path, damage: DamagedRun) -> None:
    lake.quarantine(name, str(path), str(damage))
    outcome.quarantined[name] = str(damage)


def _replace_verdicts(lake: Lake, commit: Commit, runs: list[RunFolder]) -> None:
    """The rows about *runs* in the three judged tables of a batch, made anew."""
    names = pa.array([run.name for run in runs])
    before = lake.place.read_table(commit.file("runs"))
    sizes = {
        row["run"]: (row["ops"], row["duration_ns"]) for row in before.select(["run", "ops", "duration_ns"]).to_pylist()
    }
    fresh = [(run.name, run.judged(*sizes[run.name])) for run in runs]
    rows = dict(commit.rows)
    for table in JUDGED:
        kept = lake.place.read_table(commit.file(table))
        kept = kept.filter(pc.invert(pc.is_in(kept["run"], names)))
        merged = pa.concat_tables(
            [padded(kept, SCHEMAS[table]), *(with_run(parts[table], table, name) for name, parts in fresh)]
        )
        with lake.place.table_writer(commit.file(table), SCHEMAS[table]) as writer:
            writer.write_table(merged.sort_by("run"), ROW_GROUP)
        rows[table] = len(merged)
    lake.commit(replace(commit, rows=rows, runs={**commit.runs, **{run.name: run.digests for run in runs}}))


def padded(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A file from before a column existed has NULL there."""
    for field_ in schema:
        if field_.name not in table.column_names:
            table = table.append_column(field_, pa.nulls(len(table), field_.type))
    return table.select(schema.names).cast(schema)


class _Batches:
    """New runs on their way, by mode and day; a batch is written when it is full, the rest at the end."""

    def __init__(self, lake: Lake, outcome: Added, on_progress: OnProgress) -> None:
        self._lake, self._outcome, self._on_progress = lake, outcome, on_progress
        self._open: dict[tuple[str, str], list[tuple[RunFolder, Mapping[str, pa.Table]]]] = defaultdict(list)
        self._ops: dict[tuple[str, str], int] = defaultdict(int)
        self._done = 0

    def take(self, run: RunFolder) -> None:
        try:
            tables = run.tables()
            self._outcome.left_out.update(run.unknown_columns())
            about = {"nodes": run.nodes(), **run.judged(len(tables["ops"]), _duration_ns(tables))}
        except DamagedRun as damage:
            _quarantine(self._lake, self._outcome, run.name, run.path, damage)
        except (KeyError, TypeError, ValueError) as problem:
            _quarantine(
                self._lake, self._outcome, run.name, run.path, DamagedRun(f"{run.path}: verdict.json: {problem!r}")
            )
        else:
            self._open[run.partition].append((run, {**tables, **about}))
            self._ops[run.partition] += len(tables["ops"])
            # What is open in all partitions together is what memory holds.
            if sum(self._ops.values()) >= OPS_MAX:
                self._write(max(self._ops, key=self._ops.__getitem__))
        self._done += 1
        self._on_progress(self._done)

    def close(self) -> None:
        for partition in list(self._open):
            self._write(partition)

    def _write(self, partition: tuple[str, str]) -> None:
        members = sorted(self._open.pop(partition), key=lambda member: member[0].name)
        self._ops.pop(partition)
        names = [run.name for run, _ in members]
        batch = f"{names[0]}+{len(names) - 1}-{sha256(' '.join(names).encode()).hexdigest()[:8]}"
        rows = {}
        for table, schema in SCHEMAS.items():
            whole = pa.concat_tables(with_run(parts[table], table, run.name) for run, parts in members)
            with self._lake.place.table_writer(data_file(table, *partition, batch), schema) as writer:
                writer.write_table(whole, ROW_GROUP)
            rows[table] = len(whole)
        self._lake.commit(Commit(batch, *partition, {run.name: run.digests for run, _ in members}, rows))
        for name in names:
            self._lake.release(name)
        self._outcome.added += names


def _duration_ns(tables: Mapping[str, pa.Table]) -> int:
    """From the start of the run to the last thing that it recorded."""
    columns = (tables["ops"]["invoke_ns"], tables["ops"]["complete_ns"], tables["events"]["ns"])
    return max((int(pc.max(column).as_py() or 0) for column in columns), default=0)
