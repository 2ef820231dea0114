"""``python -m suites.cluster``: lake, campaign and re-check on a standalone cluster, by spark-submit and over Connect.

Prints what held with its seconds; ends with 1 at the first thing that does not.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from results.campaign.runs import run_plan
from results.lake import Lake
from results.lake.ingest import add
from results.marts import MARTS
from suites.cluster import notebook
from suites.cluster.machines import PATIENCE_S, SPARK, at_work, connect_server, environment, executors, standalone
from suites.unit.results.random_runs import write_run

ROOT: Final = Path(__file__).resolve().parents[2]
CAMPAIGN: Final = 0x2A
PLANS: Final = 24
"""Three tasks on two cores: when the executor is killed two are under way, and one has not begun."""

COMPARED: Final = range(0, PLANS, 8)
RUNS: Final = 20


def main() -> int:
    with TemporaryDirectory(prefix="mqc-cluster-", ignore_cleanup_errors=True) as temporary:
        place = Path(temporary)
        with told("twenty runs in a lake, their tables by this process"):
            lake = _lake(place)
            _mqchaos({}, "lake", "marts", "--lake", str(lake), "--out", str(place / "here"))
        with told("the example notebook, every cell"):
            notebook.run(LAKE=lake, MARTS=place / "notebook")
        with standalone(place / "cluster") as master:
            there = {"MQCHAOS_SPARK_MASTER": master}
            with told("tables on a standalone cluster: the same"):
                _mqchaos(there, "lake", "marts", "--lake", str(lake), "--out", str(place / "there"))
                _same_tables(place / "here", place / "there")
            with told("tables by spark-submit on that cluster: the same"):
                _submit(master, "lake", "marts", "--lake", str(lake), "--out", str(place / "submitted"))
                _same_tables(place / "here", place / "submitted")
            with told(f"a campaign of {PLANS} plans there, an executor killed in the middle: none lost, none doubled"):
                _campaign(place / "campaign", there)
        with connect_server(place / "connect", ROOT) as remote:
            there = {"MQCHAOS_SPARK_REMOTE": remote}
            with told("tables over Spark Connect: the same"):
                _mqchaos(there, "lake", "marts", "--lake", str(lake), "--out", str(place / "connected"))
                _same_tables(place / "here", place / "connected")
            with told("twenty runs judged again over Spark Connect"):
                text = _mqchaos(there, "lake", "recheck", "--lake", str(lake), "--json")
                _holds(json.loads(text)["runs"] == RUNS, text)
    return 0


@contextmanager
def told(what: str) -> Iterator[None]:
    began_s = time.monotonic()
    yield
    sys.stdout.write(f"{time.monotonic() - began_s:6.1f} s  {what}\n")
    sys.stdout.flush()


def _holds(it: object, said: object) -> None:
    if not it:
        raise SystemExit(f"does not hold: {said}")


def _lake(place: Path) -> Path:
    rng = Random(7)
    add([write_run(place / "runs", f"r-{number:02}", rng) for number in range(RUNS)], Lake(place / "lake"))
    return place / "lake"


def _mqchaos(where: dict[str, str], *words: str) -> str:
    """A command as a user types it; what it printed. No Java may be left of it."""
    more = {"PYTHONPATH": str(ROOT), **where}
    return _run([sys.executable, "-m", "harness.cli", *words], more)


def _submit(master: str, *words: str) -> str:
    return _run([str(SPARK / "bin" / "spark-submit"), "--master", master, str(ROOT / "results" / "submit.py"), *words],
                {"PYSPARK_PYTHON": sys.executable})  # fmt: skip


def _run(words: list[str], more: dict[str, str]) -> str:
    done = subprocess.run(words, env=environment(more), cwd="/", capture_output=True, text=True, check=False)
    _holds(done.returncode in (0, 1, 2), f"{' '.join(words)}: exit code {done.returncode}\n{done.stderr[-3000:]}")
    return done.stdout


def _same_tables(one: Path, other: Path) -> None:
    for name in MARTS:
        first, second = (_comparable(folder / f"{name}.parquet") for folder in (one, other))
        _holds(first == second, f"{name} differs: {_first_difference(first, second)}")


def _comparable(path: Path) -> list[str]:
    """Rows as text; approximate quantiles depend on how rows were cut into parts."""
    table: pa.Table = pq.read_table(path)
    exact = [field.name for field in table.schema if not pa.types.is_floating(field.type)]
    return sorted(map(repr, table.select(exact).to_pylist()))


def _first_difference(one: list[str], other: list[str]) -> Any:
    return next(iter(set(one) ^ set(other)), "the number of equal rows")


def _campaign(out: Path, there: dict[str, str]) -> None:
    """The executor is killed as soon as it runs plans; Spark starts another."""
    words = ["campaign", "--plans", str(PLANS), "--seed", hex(CAMPAIGN), "--out", str(out)]
    command = subprocess.Popen(
        [sys.executable, "-m", "harness.cli", *words], env=environment({"PYTHONPATH": str(ROOT), **there}), cwd="/",
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    first = _until(at_work, command, "no executor ran a plan")
    os.kill(first[0], signal.SIGKILL)
    _until(lambda: set(executors()) - set(first), command, "no other executor was started")
    _, said = command.communicate()
    _holds(command.returncode in (0, 1, 2), said[-3000:])
    found = (row for path in out.glob("*/wave-*.parquet") for row in pq.read_table(path).to_pylist())
    rows = sorted(found, key=lambda row: row["number"])
    _holds([row["number"] for row in rows] == list(range(PLANS)), "plans are missing, or there twice")
    for number in COMPARED:
        here, row = run_plan(CAMPAIGN, number), rows[number]
        _holds({**here, "seconds": 0} == {**row, "seconds": 0}, f"plan {number} came out differently: {row} {here}")


def _until(found: Any, command: subprocess.Popen[str], otherwise: str) -> Any:
    deadline = time.monotonic() + 2 * PATIENCE_S
    while not (result := found()):
        if command.poll() is not None or time.monotonic() > deadline:
            said = command.communicate()[1] if command.poll() is not None else ""
            raise SystemExit(f"does not hold: {otherwise}\n{said[-3000:]}")
        time.sleep(0.05)
    return result


if __name__ == "__main__":
    sys.exit(main())
