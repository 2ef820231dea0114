"""All marts of a lake in one Spark session: which, in which order, and into which files.

Question: given a lake, what must be computed once, what again, and what does a reader find if it breaks off?

Model. The lake's tables become views, with their schemas given: inferring them costs a look at every file. The marts
are made one after the other, each written under a temporary name and renamed; a mart is a view, too, for those after
it. A view of the lake, or a stage that several marts share and that is kept as Parquet while the session lasts, is made
when the first query names it, so that the marts that read little are there after seconds. ``marts.json`` is written
last and says of which lake, when and how long.

Limits. A file of the lake that cannot be read is an error that names it; nothing is skipped in silence.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
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
from results.session import small_plans, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMMITTING: Final = "SELECT DISTINCT run, `group` FROM ops WHERE f = 'commit_offset'"
"""Consumer groups that commit offsets: what they pull was delivered."""

SMALL_OPS: Final = 2_000_000
OPS_A_PARTITION: Final = 1_000_000
"""A shuffle of a large lake is split so that a partition fits in memory beside its neighbours."""

FEW_A_RUN: Final = {"runs", "verdicts", "anomalies", "nodes"}
"""Tables of the lake that have some rows a run, not thousands."""

_SPARK_TYPES: Final = {
    pa.int64(): "bigint",
    pa.string(): "string",
    pa.bool_(): "boolean",
    pa.list_(pa.field("element", pa.int64())): "array<bigint>",
}

OnStep = Callable[[str, int, int], None]
OnFirst = Callable[[pa.Table], None]


@dataclass(frozen=True)
class Built:
    """What was built: rows and seconds by mart and stage; ``session_s`` is what Spark took to start."""

    rows: dict[str, int]
    seconds: dict[str, float]
    session_s: float
    runs: int
    ops: int


def build(
    lake: Lake,
    out: Path,
    on_step: OnStep = lambda name, done, total: None,
    on_first: OnFirst = lambda table: None,
) -> Built:
    """Build every mart from *lake* into the folder *out*. Starts Spark, and stops it. *on_first* gets the first mart
    (``outcomes``) as soon as it is there."""
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
            building = _Building(spark, lake, commits, work, on_step)
            for name in MARTS:
                table = building.mart(name, out)
                if name == MARTS[0]:
                    on_first(table)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    runs = sum(len(commit.runs) for commit in commits)
    built = Built(building.rows, building.seconds, session_s, runs, ops)
    replace(out / "marts.json", lambda path: path.write_text(json.dumps(_about(lake, commits, built), indent=1)))
    return built


def _partitions(ops: int) -> int:
    return 0 if ops <= SMALL_OPS else max(8, -(-ops // OPS_A_PARTITION))


def register(spark: SparkSession, lake: Lake) -> None:
    """The lake's tables as temporary views, all as of one moment."""
    commits = lake.commits()
    for table in SCHEMAS:
        _register(spark, lake, table, commits)


def _register(spark: SparkSession, lake: Lake, table: str, commits: Sequence[Commit]) -> None:
    columns = ", ".join(f"`{field.name}` {_SPARK_TYPES[field.type]}" for field in SCHEMAS[table])
    with_partitions = f"{columns}, mode string, day string"
    files = lake.files(table, commits)
    if files:
        reader = spark.read.schema(with_partitions).option("basePath", f"{lake.place.uri}/{table}")
        frame = reader.parquet(*files)
    else:
        frame = spark.createDataFrame([], with_partitions)
    frame.createOrReplaceTempView(table)


def queries() -> dict[str, str]:
    """Name → SQL of everything that a build computes: stages before the marts, each after what it reads."""
    return {**_stages(), **{name: import_module(f"{__package__}.{name}").QUERY for name in MARTS}}


def _stages() -> dict[str, str]:
    return {**STAGES, "committing": COMMITTING, "recoveries": recovery_times.STAGE}


class _Building:
    """One build: what a query reads is made before it, once."""

    def __init__(self, spark: SparkSession, lake: Lake, commits: Sequence[Commit], work: Path, on_step: OnStep) -> None:
        self.rows: dict[str, int] = {}
        self.seconds: dict[str, float] = {}
        self._spark, self._lake, self._commits, self._work, self._on_step = spark, lake, commits, work, on_step
        self._queries, self._stages, self._there = queries(), frozenset(_stages()), set[str]()

    def mart(self, name: str, out: Path) -> pa.Table:
        """Make one, and write it."""
        query = self._queries[name]
        self._provide(query)
        started = self._step(name)
        with readable(), small_plans(self._spark) if self._is_small(query) else nullcontext():
            frame = self._spark.sql(query)
            table: pa.Table = frame.toArrow()
        path = out / f"{name}.parquet"
        replace(path, lambda target: pq.write_table(table, target, compression="zstd"))
        self._spark.read.schema(frame.schema).parquet(f"file://{path.absolute()}").createOrReplaceTempView(name)
        self.rows[name], self.seconds[name] = len(table), round(time.monotonic() - started, 3)
        return table

    def _provide(self, query: str) -> None:
        for name in read_by(query):
            if name in self._there:
                continue
            self._there.add(name)
            if name in SCHEMAS:
                _register(self._spark, self._lake, name, self._commits)
            elif name in self._stages:
                self._stage(name)

    def _stage(self, name: str) -> None:
        query, path = self._queries[name], f"file://{(self._work / name).absolute()}"
        self._provide(query)
        started = self._step(f"stage {name}")
        with readable():
            frame = self._spark.sql(query)
            frame.write.mode("overwrite").parquet(path)
        self._spark.read.schema(frame.schema).parquet(path).createOrReplaceTempView(name)
        self.seconds[f"stage {name}"] = round(time.monotonic() - started, 3)

    def _is_small(self, query: str) -> bool:
        return {name for name in read_by(query) if name in self._stages or name in SCHEMAS} <= FEW_A_RUN

    def _step(self, name: str) -> float:
        self._on_step(name, len(self.rows), len(MARTS))
        return time.monotonic()


def read_by(query: str) -> list[str]:
    """Names after FROM and JOIN: tables, stages and marts that *query* reads, and its own subqueries."""
    return list(dict.fromkeys(re.findall(r"\b(?:FROM|JOIN)\s+(\w+)", query)))


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
