"""How much faster do all cores judge stored runs again than one process does, with the same verdicts?

Thirty-two simulated runs of about 10,000 operations, of two kinds and sixteen seeds, one kind PASS and one FAIL, are
stored many times over. One process calls the checkers on one after the other; then ``recheck`` hands the same folders
to Spark, its start included, and a single run, which shows what the start takes. ``MQCHAOS_BENCHMARK_RECHECK`` is the
number of runs where a thousand take too long; the fewer they are, the more Spark's start weighs.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.figure import Figure, load_average, wall_seconds
from harness.run import run_scenario
from harness.runfolder import load_history
from harness.scenario_file import parse
from results.lake import Lake
from results.lake.ingest import add
from results.recheck import judged_again, recheck

SCENARIO: Final = """
name: benchmark-recheck
mode: single-master
topology: {nameservers: 1, brokers: 1, flush: async}
workload: {kind: log, producers: 4, consumers: 2, queues: 4, rate: %d/s, for: 20s}
faults:
  - {at: 8s, do: %s, on: master(broker-a), for: 2s}
expect: {lost: none}
"""
KINDS: Final = ("kill", "cut_power")
"""With asynchronous flush a power cut takes something, which the scenario does not allow."""
SEEDS: Final = 16
RATE: Final = 320
RUNS: Final = 1_000


def measure(quick: bool) -> Iterator[Figure]:
    count = 4 if quick else int(os.environ.get("MQCHAOS_BENCHMARK_RECHECK", RUNS))
    with TemporaryDirectory(prefix="mqc-recheck-") as temporary:
        folders = _folders(Path(temporary), count, RATE // 10 if quick else RATE)
        ops = sum(len(load_history(folder).ops) for folder in folders[:2]) // 2
        lake = Lake(Path(temporary) / "lake")
        add(folders, lake)
        alone: list[dict[str, Any]] = []
        alone_s = wall_seconds(lambda: alone.extend(judged_again(folder.name, folder) for folder in folders))
        what = f"{count:,} runs of {ops:,} operations"
        yield Figure(f"one process, {what}", count / alone_s, "runs/s", 1.0, "one process", note=load_average())
        start_s = _start_s(folders[0], Path(temporary) / "lake-of-one")
        spread: list[dict[str, Any]] = []
        spread_s = wall_seconds(lambda: spread.extend(recheck(lake).to_pylist()))
        same = {row["run"]: row["verdict"] for row in alone} == {row["run"]: row["verdict"] for row in spread}
        yield Figure(
            "Spark on all cores, its start included", count / spread_s, "runs/s", alone_s / spread_s, "one process",
            note=f"verdicts {'identical' if same else 'DIFFER'}; {load_average()}",
        )  # fmt: skip
        yield Figure(
            "the same, without what one run takes", count / (spread_s - start_s), "runs/s",
            alone_s / (spread_s - start_s), "one process", note=f"{start_s:.1f} s for one run: Spark's start",
        )  # fmt: skip


def _start_s(folder: Path, place: Path) -> float:
    """How long Spark takes to judge a single run."""
    lake = Lake(place)
    add([folder], lake)
    return wall_seconds(lambda: recheck(lake))


def _folders(place: Path, count: int, rate: int) -> list[Path]:
    """*count* runs by name, in order. Files are linked, so that a thousand of them are thirty-two on the disk."""
    made = [
        run_scenario(parse(SCENARIO % (rate, kind), "benchmark"), seed=seed, out=place / "made", keep="all").folder
        for seed in range(min(SEEDS, (count + 1) // 2))
        for kind in KINDS
    ]
    folders = [place / "runs" / f"r-{number:06}" for number in range(count)]
    for number, folder in enumerate(folders):
        run = made[number % len(made)]
        assert run is not None
        shutil.copytree(run, folder, copy_function=os.link)
        document = folder / "run.json"
        text = document.read_text()
        document.unlink()
        document.write_text(text.replace(run.name, folder.name))
    return folders
