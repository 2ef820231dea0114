"""All marts of a lake in one Spark session: which, in which order, and into which files.

Question: given a lake, what must be computed once, what again, and what does a reader find if it breaks off?

Model. The lake's tables become views, with their schemas given: inferring them costs a look at every file. Stages come
first, kept as Parquet while the session lasts, then the marts, each written under a temporary name and renamed. A mart
is a view, too, for the marts after it. ``marts.json`` is written last and says of which lake, when and how long.

Limits. A file of the lake that cannot be read is an error that names it; nothing is skipped in silence.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from harness.errors import HistoryError
from results.lake import SCHEMAS, Lake
from results.lake.commits import Commit
from results.marts import MARTS, recovery_times
from results.marts.stages import STAGES
from results.marts.whole import replace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMMITTING: Final = "SELECT DISTINCT run, `group` FROM ops WHERE f = 'commit_offset'"
"""Consumer groups that commit offsets: what they pull was delivered."""

SMALL_OPS: Final = 2_000_000
OPS_A_PARTITION: Final = 1_000_000
"""A shuffle of a large lake is split so that a partition fits in memory beside its neighbours."""

_SPARK_TYPES: Final = {
    pa.int64(): "bigint",
    pa.string(): "string",
    pa.bool_(): "boolean",
    pa.list_(pa.field("element", pa.int64())): "array<bigint>",
}

OnStep = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Built:
    """What was built: rows and seconds by mart; ``session_s`` is what Spark took to start."""

    rows: dict[str, int]
    seconds: dict[str, float]
    session_s: float
    runs: int
    ops: int


def build(lake: Lake, out: Path, on_step: OnStep = lambda name, done, total: None) -> Built:
    """Build every mart from *lake* into the folder *out*. Starts Spark, and stops it."""
    from results.session import spark_session

    commits = lake.commits()
    if not commits:
        raise HistoryError(f"the lake {lake.place.uri} is empty", hint="mqchaos lake add RUN… brings runs in")
    ops = sum(commit.rows["ops"] for commit in commits)
    started = time.monotonic()
    on_step("starting Spark", 0, len(MARTS))
    with spark_session("mqchaos marts", partitions=_partitions(ops)) as spark:
        session_s = time.monotonic() - started
        work = out / "_work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        try:
            register(spark, lake)
            rows, seconds = _build_all(spark, out, work, on_step)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    built = Built(rows, seconds, session_s, sum(len(commit.runs) for commit in commits), ops)
    replace(out / "marts.json", lambda path: path.write_text(json.dumps(_about(lake, commits, built), indent=1)))
    return built


def _partitions(ops: int) -> int:
    return 0 if ops <= SMALL_OPS else max(8, -(-ops // OPS_A_PARTITION))


def register(spark: SparkSession, lake: Lake) -> None:
    """The lake's tables as temporary views, all as of one moment."""
    commits = lake.commits()
    for table, schema in SCHEMAS.items():
        columns = ", ".join(f"`{field.name}` {_SPARK_TYPES[field.type]}" for field in schema)
        with_partitions = f"{columns}, mode string, day string"
        files = lake.files(table, commits)
        if files:
            reader = spark.read.schema(with_partitions).option("basePath", f"{lake.place.uri}/{table}")
            frame = reader.parquet(*files)
        else:
            frame = spark.createDataFrame([], with_partitions)
        frame.createOrReplaceTempView(table)


def _build_all(spark: SparkSession, out: Path, work: Path, on_step: OnStep) -> tuple[dict[str, int], dict[str, float]]:
    rows: dict[str, int] = {}
    seconds: dict[str, float] = {}
    stages = {**STAGES, "committing": COMMITTING, "recoveries": recovery_times.STAGE}
    for name, query in stages.items():
        on_step(f"stage {name}", 0, len(MARTS))
        started = time.monotonic()
        _stage(spark, name, query, work)
        seconds[f"stage {name}"] = round(time.monotonic() - started, 3)
    for done, name in enumerate(MARTS):
        on_step(name, done, len(MARTS))
        started = time.monotonic()
        rows[name] = _mart(spark, name, import_module(f"{__package__}.{name}").QUERY, out)
        seconds[name] = round(time.monotonic() - started, 3)
    return rows, seconds


def _stage(spark: SparkSession, name: str, query: str, work: Path) -> None:
    path = f"file://{(work / name).absolute()}"
    with readable():
        frame = spark.sql(query)
        frame.write.mode("overwrite").parquet(path)
    spark.read.schema(frame.schema).parquet(path).createOrReplaceTempView(name)


def _mart(spark: SparkSession, name: str, query: str, out: Path) -> int:
    with readable():
        table: pa.Table = spark.sql(query).toArrow()
    path = out / f"{name}.parquet"
    replace(path, lambda target: pq.write_table(table, target, compression="zstd"))
    spark.read.parquet(f"file://{path.absolute()}").createOrReplaceTempView(name)
    return len(table)


class readable:
    """What Spark says of a file that it cannot read, in one line."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        text = str(problem) if problem is not None else ""
        if "FAILED_READ_FILE" in text or "CANNOT_READ_FILE" in text or "is not a Parquet file" in text:
            named = re.search(r"[^\s'\"]*/[^\s'\"]*\.parquet", text)
            raise HistoryError(
                f"a file of the lake cannot be read: {named[0] if named else text[:300]}", hint="mqchaos lake verify"
            ) from problem


def _about(lake: Lake, commits: Sequence[Commit], built: Built) -> dict[str, object]:
    return {
        "lake": lake.place.uri,
        "runs": built.runs,
        "ops": built.ops,
        "rows": built.rows,
        "seconds": built.seconds,
        "session_s": round(built.session_s, 3),
        "quarantined": lake.quarantined(),
        "state": state_of(commits),
    }


def state_of(commits: Iterable[Commit]) -> str:
    """A digest of the runs and verdicts that are in a lake, however they are laid out."""
    runs = {run: digests for commit in commits for run, digests in commit.runs.items()}
    return sha256(json.dumps(runs, sort_keys=True).encode()).hexdigest()


def is_current(lake: Lake, out: Path) -> bool:
    """Whether the tables in *out* are those of what is in *lake* now."""
    about = out / "marts.json"
    return about.is_file() and json.loads(about.read_text()).get("state") == state_of(lake.commits())
