"""How long do answers over many runs take, with how much memory, and how does that grow?

Synthetic lakes (``scripts/synthetic_lake.py``, 5,000 operations a run) of 100, 1,000 and 10,000 runs. Build: ``mqchaos
lake marts``, all tables; its first answer is the line that says how all cells came out. Scan: a whole process that
starts Spark and counts operations by mode. Memory is what the process and its virtual machine had resident together,
the most of looks 0.2 s apart. The yardstick is DuckDB on the same files with the same queries (translated by sqlglot,
so that nobody tunes them), in a process with the same cores.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.figure import Figure
from results.lake import SCHEMAS
from results.marts import MARTS
from results.marts.build import queries

ROOT: Final = Path(__file__).resolve().parent.parent
SIZES: Final = (100, 1_000, 10_000)
OPS: Final = 5_000
FIRST_AIM_S: Final = 8
LOOK_S: Final = 0.2

SCAN: Final = """
import sys
from results.lake import Lake
from results.marts.build import register
from results.session import spark_session
with spark_session("scan") as spark:
    register(spark, Lake(sys.argv[1]))
    print(spark.sql("SELECT mode, count(*) FROM ops GROUP BY mode").collect(), flush=True)
"""


@dataclass(frozen=True)
class Took:
    """Of a whole process: until its first line, until its end, processor time, and the most memory that it and its
    children had."""

    first_s: float
    whole_s: float
    used_s: float
    most_mib: float

    @property
    def words(self) -> str:
        return f"{self.used_s:.1f} s of processor time, {self.most_mib:,.0f} MiB"


def measure(quick: bool) -> Iterator[Figure]:
    """``MQCHAOS_BENCHMARK_LAKES`` names a folder where lakes are kept from one measurement to the next."""
    with TemporaryDirectory(prefix="mqc-lakes-", ignore_cleanup_errors=True) as temporary:
        place = Path(os.environ.get("MQCHAOS_BENCHMARK_LAKES", temporary))
        for runs in (10,) if quick else SIZES:
            lake = _lake(place, runs)
            yield from _figures(lake, f"{runs:,} runs", place / "marts", is_largest=runs == SIZES[-1] or quick)


def _lake(place: Path, runs: int) -> Path:
    lake = place / f"lake{runs}"
    if not lake.is_dir():
        words = [sys.executable, str(ROOT / "scripts" / "synthetic_lake.py"), str(lake), "--runs", str(runs)]
        subprocess.run([*words, "--ops", str(OPS)], check=True, stderr=subprocess.DEVNULL)
    return lake


def _figures(lake: Path, what: str, marts: Path, *, is_largest: bool) -> Iterator[Figure]:
    duck = took([sys.executable, "-m", "benchmarks.lake", str(lake)])
    yield Figure(f"DuckDB, {what}", duck.whole_s, "s", 1.0, "DuckDB", note=duck.words)
    built = took([sys.executable, "-m", "harness.cli", "lake", "marts", "--lake", str(lake), "--out", str(marts)])
    yield Figure(
        f"Spark, {what}, all tables", built.whole_s, "s", built.whole_s / duck.whole_s, "DuckDB", note=built.words
    )
    yield Figure(
        f"Spark, {what}, start to the first answer", built.first_s, "s", built.first_s / duck.whole_s, "DuckDB",
        at_most=FIRST_AIM_S,
    )  # fmt: skip
    if is_largest:
        scan = min((took([sys.executable, "-c", SCAN, str(lake)]) for _ in range(3)), key=lambda one: one.first_s)
        yield Figure(
            f"Spark, {what}, start to a count of all operations", scan.first_s, "s", scan.first_s / duck.whole_s,
            "DuckDB", note=f"{scan.words}; {scan.whole_s:.1f} s until no Java is left",
        )  # fmt: skip


def took(words: list[str]) -> Took:
    """Run *words* and look at them as they run."""
    began_s, first_s, most, before_s = time.monotonic(), 0.0, 0.0, _used_s()
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        while process.poll() is None:
            most = max(most, _resident_mib(process.pid))
            if not first_s and process.stdout.readline():
                first_s = time.monotonic() - began_s
            time.sleep(LOOK_S if first_s or time.monotonic() - began_s < 1 else LOOK_S / 10)
        whole_s = time.monotonic() - began_s
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)
    return Took(first_s or whole_s, whole_s, _used_s() - before_s, most)


def _used_s() -> float:
    """Of children that have ended, and of theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _resident_mib(pid: int) -> float:
    """Of a process and all that it started."""
    parents, sizes = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "status").read_text()
        except OSError:
            continue  # it has ended meanwhile
        facts = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        parents[int(folder.name)] = int(facts["PPid"])
        sizes[int(folder.name)] = int(facts.get("VmRSS", "0").split()[0]) / 1024
    ours = {pid}
    while more := {one for one, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(sizes.get(one, 0.0) for one in ours)


def translated(query: str) -> str:
    """The same in DuckDB's SQL: sqlglot leaves a type of Spark's, and a cast of a list with an index from 0."""
    import sqlglot

    (text,) = sqlglot.transpile(query, read="spark", write="duckdb")
    text = text.replace("'array<string>'", "'[\"VARCHAR\"]'")
    listed = r"CAST\((APPROX_QUANTILE\((?:(?!CAST\(APPROX).)*?\[[\d., ]+\]\)) AS DOUBLE\)\[(\d+)\]"
    return re.sub(listed, lambda found: f"{found[1]}[{int(found[2]) + 1}]", text)


def duckdb_build(lake: str) -> Any:
    """A connection with every stage and table of *lake* in memory."""
    import duckdb

    connection = duckdb.connect()
    for table in SCHEMAS:
        files = f"read_parquet('{lake}/{table}/*/*/*.parquet', hive_partitioning = true, hive_types_autocast = false)"
        connection.execute(f"CREATE VIEW {table} AS SELECT {_columns(table)} FROM {files}")
    for name, query in queries().items():
        connection.execute(f"CREATE TABLE {name} AS {translated(query)}")
    return connection


def _columns(table: str) -> str:
    """What is no JSON has no fields for Spark; DuckDB takes it for an error."""
    texts = {"events": "detail", "verdicts": "measures", "anomalies": "details"}
    name = texts.get(table)
    return f"* REPLACE (CASE WHEN json_valid({name}) THEN {name} END AS {name})" if name else "*"


if __name__ == "__main__":
    built = duckdb_build(sys.argv[1])
    print({name: built.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in MARTS})
