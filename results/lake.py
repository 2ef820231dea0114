"""How run folders become a lake: schemas, layout, and landing without duplicates.

Question: where does the data of many runs lie, so that any engine reads it with partition pruning?

    <lake>/<table>/mode=<mode>/day=<yyyy-mm-dd>/<run>[+n].parquet      one file a table, mode, day and landing

Tables: the five of a history (each with the run's name as first column), ``runs`` (one row a run) and ``verdicts`` (one
row a check). Landing n runs at once writes one file for all of them: a thousand files of one run each cost Spark ten
times the read. ``<lake>/_landed/<run>`` marks what is in; landing again is a no-op. Files are written under a
temporary name and renamed, marks come last. While it is under way a landing stands in ``<lake>/_landing/<file>``,
locked by its process; the next landing takes back what a dead one left, so no run is ever in twice.

Limits: a run folder without ``run.json`` and ``verdict.json`` is refused by name, it never lands in part. A run that
is judged again after it has landed stays in the lake as it was. Locks are ``flock``: the lake must be on a local disk
while runs land.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from checkers.history.schema import TABLES

_i64, _text = pa.int64(), pa.string()

RUNS = pa.schema(
    [
        ("run", _text),
        ("scenario", _text),
        ("flush", _text),
        ("backend", _text),
        ("target", _text),
        ("seed", _text),
        ("commit", _text),
        ("fault", _text),
        ("outcome", _text),
        ("started_epoch_ms", _i64),
        ("defects", _text),
    ]
)
VERDICTS = pa.schema(
    [("run", _text), ("check", _text), ("outcome", _text), ("reasons", _text), ("measures", _text), ("anomalies", _i64)]
)
SCHEMAS: Mapping[str, pa.Schema] = {
    **{name: pa.schema([pa.field("run", _text), *schema]) for name, schema in TABLES.items()},
    "runs": RUNS,
    "verdicts": VERDICTS,
}
"""Table → columns, the two partition columns ``mode`` and ``day`` apart."""


_NEEDED: Mapping[str, tuple[str, ...]] = {
    "run.json": ("run", "mode", "started_epoch_ms"),
    "verdict.json": ("outcome", "verdicts"),
}


class LakeError(Exception):
    """A run folder that cannot land: which one, and what it lacks."""


@dataclass(frozen=True)
class RunFolder:
    """The two small files of a run folder, read; the big ones stay on disk until they land."""

    path: Path
    run: Mapping[str, Any]
    verdicts: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.run["run"])

    @property
    def partition(self) -> tuple[str, str]:
        day = datetime.fromtimestamp(self.run["started_epoch_ms"] / 1000, UTC).date().isoformat()
        return str(self.run["mode"]), day

    @property
    def fault(self) -> str:
        """The verbs of the plan in order of first use: ``kill``, ``kill+pause``, ``isolate clients``, or ``none``."""
        labels = dict.fromkeys(_fault_label(fault) for fault in self.run.get("faults", ()))
        return "+".join(labels) or "none"

    @classmethod
    def read(cls, path: Path) -> RunFolder:
        """Raises :class:`LakeError` naming the folder and the file that is missing or unreadable."""
        documents = []
        for name, needed in _NEEDED.items():
            try:
                document = json.loads((path / name).read_text())
            except (OSError, ValueError) as problem:
                raise LakeError(f"{path}: not a finished run, {name}: {problem}") from problem
            if missing := [key for key in needed if key not in document]:
                raise LakeError(f"{path}: not a finished run, {name} lacks {', '.join(missing)}")
            documents.append(document)
        return cls(path, documents[0], documents[1])


def _fault_label(fault: Mapping[str, Any]) -> str:
    target = str(fault.get("on", ""))
    return f"{fault['do']} clients" if target.startswith("client") else str(fault["do"])


def land(folders: Iterable[Path], lake: Path) -> list[str]:
    """Bring run folders into the lake; the names of the runs that were new, in order."""
    _take_back_dead_landings(lake)
    fresh = [run for run in map(RunFolder.read, folders) if not (lake / "_landed" / run.name).exists()]
    by_partition: dict[tuple[str, str], list[RunFolder]] = defaultdict(list)
    for run in fresh:
        by_partition[run.partition].append(run)
    for partition, runs in by_partition.items():
        _land_partition(partition, runs, lake)
    return [run.name for run in fresh]


def _land_partition(partition: tuple[str, str], runs: list[RunFolder], lake: Path) -> None:
    file_name = f"{runs[0].name}.parquet" if len(runs) == 1 else f"{runs[0].name}+{len(runs) - 1}.parquet"
    with _under_way(lake, file_name, [run.name for run in runs]):
        for table, schema in SCHEMAS.items():
            folder = lake / table / f"mode={partition[0]}" / f"day={partition[1]}"
            _write(folder / file_name, schema, (_rows(table, run) for run in runs))
        marks = lake / "_landed"
        marks.mkdir(parents=True, exist_ok=True)
        for run in runs:
            (marks / run.name).touch()


@contextmanager
def _under_way(lake: Path, file_name: str, names: Sequence[str]) -> Iterator[None]:
    """On record and locked until it is done; what is left on record by an error is taken back by the next landing."""
    record = lake / "_landing" / file_name
    record.parent.mkdir(parents=True, exist_ok=True)
    with record.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.write("\n".join(names))
        file.flush()
        yield
        record.unlink()


def _take_back_dead_landings(lake: Path) -> None:
    for record in sorted((lake / "_landing").glob("*")):
        with record.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # alive
            for name in file.read().split():
                (lake / "_landed" / name).unlink(missing_ok=True)
            for landed in (path for table in SCHEMAS for path in (lake / table).glob(f"*/*/{record.name}")):
                landed.unlink()
            record.unlink()


def _write(path: Path, schema: pa.Schema, parts: Iterator[pa.Table]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    pq.write_table(pa.concat_tables(part.cast(schema) for part in parts), temporary, compression="zstd")
    os.replace(temporary, path)


def _rows(table: str, run: RunFolder) -> pa.Table:
    if table == "runs":
        return pa.Table.from_pylist([_run_row(run)], schema=RUNS)
    if table == "verdicts":
        return pa.Table.from_pylist(
            [_verdict_row(run, verdict) for verdict in run.verdicts["verdicts"]], schema=VERDICTS
        )
    path = run.path / f"{table}.parquet"
    try:
        columns = pq.read_table(path.absolute(), schema=TABLES[table])
    except (OSError, pa.ArrowInvalid) as problem:
        raise LakeError(f"{run.path}: {table}.parquet: {problem}") from problem
    return columns.add_column(0, "run", pa.repeat(pa.scalar(run.name), len(columns)))


def _run_row(run: RunFolder) -> dict[str, Any]:
    facts = run.run
    return {
        **{key: str(facts.get(key, "")) for key in ("run", "scenario", "flush", "backend", "target", "seed", "commit")},
        "fault": run.fault,
        "outcome": str(run.verdicts["outcome"]),
        "started_epoch_ms": int(facts["started_epoch_ms"]),
        "defects": "+".join(facts.get("defects", ())),
    }


def _verdict_row(run: RunFolder, verdict: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "run": run.name,
        "check": verdict["check"],
        "outcome": verdict["outcome"],
        "reasons": "; ".join(verdict["reasons"]),
        "measures": json.dumps(verdict["measures"], sort_keys=True),
        "anomalies": sum(not anomaly["allowed"] for anomaly in verdict["anomalies"]),
    }
