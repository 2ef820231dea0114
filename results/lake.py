"""How run folders become a lake: schemas, layout, and landing without duplicates.

Question: where does the data of many runs lie, so that any engine reads it with partition pruning?

    <lake>/<table>/mode=<mode>/day=<yyyy-mm-dd>/<run>[+n].parquet      one file a table, mode, day and landing

Tables: the five of a history (each with the run's name as first column), ``runs`` (one row a run) and ``verdicts`` (one
row a check). Landing n runs at once writes one file for all of them: a thousand files of one run each cost Spark ten
times the read. ``<lake>/_landed/<run>`` marks what is in; landing again is a no-op. Files are written under a
temporary name and renamed, marks come last: a landing that dies half-way is repeated whole and leaves no mark, and the
files it left are named so that the repetition replaces them.

Limits: a run folder without ``run.json`` and ``verdict.json`` is refused by name, it never lands in part.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from checkers.schema import TABLES

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
        for name in ("run.json", "verdict.json"):
            try:
                documents.append(json.loads((path / name).read_text()))
            except (OSError, ValueError) as problem:
                raise LakeError(f"{path}: not a finished run, {name}: {problem}") from problem
        return cls(path, documents[0], documents[1])


def _fault_label(fault: Mapping[str, Any]) -> str:
    target = str(fault.get("on", ""))
    return f"{fault['do']} clients" if target.startswith("client") else str(fault["do"])


def land(folders: Iterable[Path], lake: Path) -> list[str]:
    """Bring run folders into the lake; the names of the runs that were new, in order."""
    fresh = [run for run in map(RunFolder.read, folders) if not (lake / "_landed" / run.name).exists()]
    by_partition: dict[tuple[str, str], list[RunFolder]] = defaultdict(list)
    for run in fresh:
        by_partition[run.partition].append(run)
    for partition, runs in by_partition.items():
        _land_partition(partition, runs, lake)
    return [run.name for run in fresh]


def _land_partition(partition: tuple[str, str], runs: list[RunFolder], lake: Path) -> None:
    file_name = f"{runs[0].name}.parquet" if len(runs) == 1 else f"{runs[0].name}+{len(runs) - 1}.parquet"
    for table, schema in SCHEMAS.items():
        folder = lake / table / f"mode={partition[0]}" / f"day={partition[1]}"
        _write(folder / file_name, schema, (_rows(table, run) for run in runs))
    marks = lake / "_landed"
    marks.mkdir(parents=True, exist_ok=True)
    for run in runs:
        (marks / run.name).touch()


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
        columns = pq.read_table(path, schema=TABLES[table])
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
