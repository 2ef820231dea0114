"""All plans of a campaign over Spark tasks: on this machine or a cluster, resumable, none lost and none twice.

Question: ten thousand plans, a worker that dies in the middle, a Ctrl-C: which rows are there afterwards?

Model. Plans run in waves. A wave is a DataFrame of plan numbers; every task runs a few and yields their rows
(``mapInArrow``). The driver writes the rows of a wave as one Parquet file, renamed into place; so a wave is there
whole or not at all. What is there is not run again. A task whose worker dies is tried again by Spark, and its rows
count once, since only the rows of the attempt that ended well reach the driver.

Limits. A plan that kills its worker every time ends the campaign with an error after Spark's attempts; the waves before
it are kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from results.campaign.runs import ROW, run_plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WAVE: Final = 128
"""Plans of a wave: at most so many are lost by an interruption."""

A_TASK: Final = 8

Task = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def run_campaign(
    campaign: int,
    plans: int,
    out: Path,
    defects: tuple[str, ...] = (),
    on_progress: Callable[[int], None] = lambda done: None,
    task: Task | None = None,
) -> pa.Table:
    """Rows of all *plans*, those of an earlier call included. Starts Spark only if something is left to run.

    *task* turns batches of plan numbers into batches of rows, in a worker.
    """
    task = task or partial(_task, campaign, defects)
    done = rows_of(out)
    left = sorted(set(range(plans)) - set(done["number"].to_pylist()))
    on_progress(plans - len(left))
    if left:
        from results.session import spark_session

        with spark_session("mqchaos campaign") as spark:
            for begin in range(0, len(left), WAVE):
                wave = left[begin : begin + WAVE]
                _write(_run(spark, wave, task), out / f"wave-{wave[0]:07}-{len(wave)}.parquet")
                on_progress(plans - len(left) + begin + len(wave))
    whole = rows_of(out)
    return whole.filter(pa.compute.less(whole["number"], plans)).sort_by("number")


def rows_of(out: Path) -> pa.Table:
    """What earlier calls left."""
    parts = [pq.read_table(path, schema=ROW) for path in sorted(out.glob("wave-*.parquet"))]
    return pa.concat_tables(parts) if parts else ROW.empty_table()


def _run(spark: SparkSession, numbers: Sequence[int], task: Task) -> pa.Table:
    names = {pa.int64(): "bigint", pa.string(): "string", pa.float64(): "double"}
    columns = ", ".join(f"{field.name} {names[field.type]}" for field in ROW)
    frame = spark.createDataFrame([(number,) for number in numbers], "number bigint")
    tasks = frame.repartition(max(1, len(numbers) // A_TASK), "number")
    table: pa.Table = tasks.mapInArrow(task, columns).toArrow()
    return table.cast(ROW)


def _task(campaign: int, defects: tuple[str, ...], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In a worker of Spark."""
    for batch in batches:
        rows = [run_plan(campaign, number, defects) for number in batch.column(0).to_pylist()]
        yield from pa.Table.from_pylist(rows, schema=ROW).to_batches()


def _write(rows: pa.Table, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    pq.write_table(rows, temporary, compression="zstd")
    os.replace(temporary, path)
