"""Today's checkers over all stored runs: file references go out, verdicts come back, and what changed is listed.

Question: a checker was improved. Which of ten thousand old verdicts are different now?

Model. A task gets the folders of some runs (``mapInArrow`` over names and paths, not over rows), reads each with
pyarrow and calls the very function that judges a run at its end. What comes back is the verdict as text and the time
that each check took. Verdicts are compared with those beside the runs by outcome and by findings; nothing is written
but by ``write``, which puts the new verdicts into the run folders, from where ``add`` brings them into the lake.

Limits. Run folders must be where the lake says they are, and reachable from every worker.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from checkers.runs.checks import CHECKS
from checkers.verdict import Verdict, worst
from harness import runfolder
from harness.errors import HarnessError
from harness.judge import judge
from results.lake import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROW: Final = pa.schema(
    [("run", pa.string()), ("folder", pa.string()), ("before", pa.string()), ("after", pa.string()),
     ("changed", pa.string()), ("verdict", pa.string()), ("problem", pa.string()), ("costs", pa.string())]
)  # fmt: skip
PLACES: Final = pa.schema([("run", pa.string()), ("folder", pa.string())])
A_TASK: Final = 20
"""Runs of a task: so few that cores end at about the same time, so many that what a task costs is nothing beside."""
A_WAVE: Final = 1_000
"""Runs between two reports of progress."""


@dataclass(frozen=True)
class Change:
    """A run whose verdict is not what it was. ``what`` names checks, before and after."""

    run: str
    folder: str
    before: str
    after: str
    what: str


def recheck(lake: Lake, on_progress: Callable[[int], None] = lambda done: None) -> pa.Table:
    """A row of :data:`ROW` for every run of the lake, in order of names. Starts Spark."""
    from results.session import spark_session

    places = _places(lake)
    with spark_session("mqchaos recheck") as spark:
        parts = []
        for begin in range(0, len(places), A_WAVE):
            parts.append(_judged(spark, places[begin : begin + A_WAVE]))
            on_progress(min(len(places), begin + A_WAVE))
    return pa.concat_tables(parts).sort_by("run") if parts else ROW.empty_table()


def changes(rows: pa.Table) -> list[Change]:
    """What is different now."""
    return [
        Change(row["run"], row["folder"], row["before"], row["after"], row["changed"] or row["problem"])
        for row in rows.to_pylist()
        if row["changed"] or row["problem"]
    ]


def write(rows: pa.Table) -> list[Path]:
    """Put changed verdicts into their run folders; the folders."""
    folders = []
    for row in rows.to_pylist():
        if row["changed"]:
            path = Path(row["folder"]) / "verdict.json"
            temporary = path.with_suffix(".tmp")
            temporary.write_text(row["verdict"], encoding="utf-8")
            os.replace(temporary, path)
            folders.append(path.parent)
    return folders


def judged_again(run: str, folder: Path) -> dict[str, Any]:
    """One run, in whatever process: a row."""
    blank = {"run": run, "folder": str(folder), "before": "", "after": "", "changed": "", "verdict": "", "costs": "{}"}
    try:
        before = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
        document = runfolder.read_run(folder)
        with _timed() as costs:
            verdicts = judge(runfolder.load_history(folder), document, folder)
    except (OSError, ValueError, HarnessError) as problem:
        return {**blank, "problem": str(problem).splitlines()[0]}
    after = {"outcome": worst(verdicts).name, "verdicts": [verdict.to_json() for verdict in verdicts]}
    return {
        **blank,
        "before": before["outcome"],
        "after": after["outcome"],
        "changed": _difference(before, after),
        "verdict": json.dumps(after, indent=1, ensure_ascii=False) + "\n",
        "problem": "",
        "costs": json.dumps(costs),
    }


def _difference(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Checks whose outcome, reasons or findings differ: ``log: PASS → FAIL``."""
    old, new = ({check["check"]: check for check in document["verdicts"]} for document in (before, after))
    said = []
    for name in sorted(old.keys() | new.keys()):
        one, two = old.get(name), new.get(name)
        if one is None or two is None:
            said.append(f"{name}: {'new' if one is None else 'gone'}")
        elif one["outcome"] != two["outcome"]:
            said.append(f"{name}: {one['outcome']} → {two['outcome']}")
        elif _essence(one) != _essence(two):
            said.append(f"{name}: other findings")
    return "; ".join(said)


def _essence(check: dict[str, Any]) -> Any:
    return [check["reasons"], [(found["kind"], found["ops"], found["allowed"]) for found in check["anomalies"]]]


class _timed:
    """While it lasts every check takes the time it needs; check → seconds."""

    def __enter__(self) -> dict[str, float]:
        self._checks = dict(CHECKS)
        self._costs: dict[str, float] = {}
        for name, check in self._checks.items():
            CHECKS[name] = self._taking_time(name, check)
        return self._costs

    def __exit__(self, *error: object) -> None:
        CHECKS.update(self._checks)

    def _taking_time(self, name: str, check: Callable[..., Verdict]) -> Callable[..., Verdict]:
        def measured(*arguments: Any) -> Verdict:
            started = time.perf_counter()
            try:
                return check(*arguments)
            finally:
                self._costs[name] = self._costs.get(name, 0.0) + time.perf_counter() - started

        return measured


def _places(lake: Lake) -> list[tuple[str, str]]:
    """(run, folder) of every run."""
    found: list[tuple[str, str]] = []
    for commit in lake.commits():
        table = lake.place.read_table(commit.file("runs"), ["run", "folder"])
        found += zip(table["run"].to_pylist(), table["folder"].to_pylist(), strict=True)
    return sorted(found)


def _judged(spark: SparkSession, places: Sequence[tuple[str, str]]) -> pa.Table:
    columns = ", ".join(f"{field.name} string" for field in ROW)
    references = pa.Table.from_arrays([pa.array(column) for column in zip(*places, strict=True)], schema=PLACES)
    tasks = spark.createDataFrame(references).repartition(-(-len(places) // A_TASK))
    table: pa.Table = tasks.mapInArrow(_task, columns).toArrow()
    return table.cast(ROW)


def _task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In a worker of Spark."""
    for batch in batches:
        rows = [
            judged_again(run, Path(folder))
            for run, folder in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
        ]
        yield from pa.Table.from_pylist(rows, schema=ROW).to_batches()
