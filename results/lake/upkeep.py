"""How a lake stays small and right: compaction, retention, verification.

Question: are there too many small files, is anything too old, is anything damaged?

Model. *Compaction* merges the batches of one mode and day that are small into batches of at most
:data:`COMPACT_OPS` operations; old files go once the new batch counts. *Retention* removes the batches of days before a
day, whole. *Verification* reads every page of every file against its checksum, counts rows against the record, looks
for runs that are in two batches, and for files that no record knows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Final

import pyarrow as pa

from results.lake.commits import Commit, Lake, data_file
from results.lake.ingest import padded
from results.lake.places import ROW_GROUP
from results.lake.schemas import SCHEMAS

COMPACT_OPS: Final = 4_000_000
"""About 100 MB of Parquet, at 25 bytes an operation."""


def compact(lake: Lake, on_progress: Callable[[int], None] = lambda done: None) -> tuple[int, int]:
    """(batches before, batches after)."""
    with lake.place.alone():
        lake.sweep()
        before = lake.commits()
        for done, group in enumerate(_groups(before)):
            _merge(lake, group)
            lake.sweep()
            on_progress(done + 1)
        return len(before), len(lake.commits())


def _groups(commits: list[Commit]) -> Iterator[list[Commit]]:
    """Batches of one partition that fit together, at least two of them."""
    partitions: dict[tuple[str, str], list[Commit]] = defaultdict(list)
    for commit in commits:
        partitions[commit.mode, commit.day].append(commit)
    for members in partitions.values():
        group: list[Commit] = []
        ops = 0
        for commit in sorted(members, key=lambda commit: commit.rows["ops"]):
            if group and ops + commit.rows["ops"] > COMPACT_OPS:
                yield from [group] if len(group) > 1 else []
                group, ops = [], 0
            group.append(commit)
            ops += commit.rows["ops"]
        yield from [group] if len(group) > 1 else []


def _merge(lake: Lake, group: list[Commit]) -> None:
    runs = {run: digests for commit in group for run, digests in commit.runs.items()}
    names = sorted(runs)
    batch = f"{names[0]}+{len(names) - 1}-{sha256(' '.join(names).encode()).hexdigest()[:8]}c"
    rows: dict[str, int] = {}
    mode, day = group[0].mode, group[0].day
    for table, schema in SCHEMAS.items():
        rows[table] = 0
        with lake.place.table_writer(data_file(table, mode, day, batch), schema) as writer:
            for commit in sorted(group, key=lambda commit: min(commit.runs)):
                part = padded(lake.place.read_table(commit.file(table)), schema)
                writer.write_table(part, ROW_GROUP)
                rows[table] += len(part)
    lake.commit(Commit(batch, mode, day, runs, rows, [commit.batch for commit in group]))


def drop_before(lake: Lake, day: str) -> list[str]:
    """Remove all runs of days before *day* (yyyy-mm-dd); their names."""
    with lake.place.alone():
        old = [commit for commit in lake.commits() if commit.day < day]
        for commit in old:
            lake.place.remove(commit.record)
        lake.sweep()
    return sorted(run for commit in old for run in commit.runs)


def verify(lake: Lake, on_progress: Callable[[int], None] = lambda done: None) -> list[str]:
    """What is wrong, one sentence each; nothing if all is well."""
    commits = lake.commits()
    wrong = _twice(commits)
    for done, commit in enumerate(commits):
        for table in SCHEMAS:
            wrong += _wrong_with(lake, commit, table)
        on_progress(done + 1)
    known = {commit.file(table) for commit in commits for table in SCHEMAS}
    wrong += [
        f"{path}: no record knows this file (adding a run sweeps it)"
        for table in SCHEMAS
        for path in lake.place.files(table, ".parquet")
        if path not in known
    ]
    return wrong


def _twice(commits: list[Commit]) -> list[str]:
    seen: dict[str, str] = {}
    wrong = []
    for commit in commits:
        for run in commit.runs:
            if run in seen:
                wrong.append(f"run {run} is in two batches, {seen[run]} and {commit.batch}")
            seen[run] = commit.batch
    return wrong


def _wrong_with(lake: Lake, commit: Commit, table: str) -> list[str]:
    path = commit.file(table)
    try:
        rows = lake.place.read_table(path, is_checked=True)
    except (OSError, pa.ArrowException) as problem:
        return [f"{path}: {problem}"]
    wrong = []
    if len(rows) != commit.rows[table]:
        wrong.append(f"{path}: {len(rows)} rows, its record says {commit.rows[table]}")
    if strangers := set(rows["run"].unique().to_pylist()) - set(commit.runs):
        wrong.append(f"{path}: rows of runs that its record does not name: {', '.join(sorted(strangers)[:3])}")
    return wrong
