"""How many simulated runs a minute do two cores do, faults and checks included?

A run: a single master with SYNC_FLUSH, 300 sends over 20 simulated seconds, all read, a kill, a pause and a power cut,
then drained and checked; nothing is kept. Two worker processes, as a matrix uses them, warm when the clock starts. Wall
time is what is waited for; processor time of the workers says what two cores of one's own would give. The yardstick is
one core alone: with two free cores the ratio comes near 2.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from time import process_time_ns

from benchmarks.figure import Figure, wall_seconds
from harness.run import run_scenario
from harness.scenario import Scenario
from harness.scenario_file import parse

SCENARIO = """
name: benchmark-run
mode: single-master
topology: {nameservers: 1, brokers: 1, flush: sync}
workload: {kind: log, producers: 2, consumers: 1, queues: 4, rate: 16/s, for: 20s}
faults:
  - {at: 3s..4s, do: kill, on: master(broker-a), for: 1s}
  - {at: 8s..9s, do: pause, on: master(broker-a), for: 2s}
  - {at: 13s..14s, do: cut_power, on: master(broker-a), for: 1s}
"""

JOBS = 2
RUNS = 60
ROUNDS = 2
AIM = 1_000
FIRST_SEED = 2


@cache
def scenario() -> Scenario:
    """Parsed once a process."""
    return parse(SCENARIO, "benchmark")


def one(seed: int) -> tuple[str, int, float, int]:
    """(outcome, messages sent, seconds of processor time, process) of one run."""
    begin_ns = process_time_ns()
    result = run_scenario(scenario(), seed=seed, keep="none")
    return result.outcome.name, result.measures["sent"], (process_time_ns() - begin_ns) / 1e9, os.getpid()


def measure(quick: bool) -> Iterator[Figure]:
    count, rounds = (4, 1) if quick else (RUNS, ROUNDS)
    seeds = range(FIRST_SEED, FIRST_SEED + count)
    with ProcessPoolExecutor(JOBS, mp_context=get_context("spawn")) as pool:
        list(pool.map(one, range((1 if quick else 4) * JOBS)))  # imports and first-time work are not the question
        results: list[tuple[str, int, float, int]] = []

        def both_cores() -> None:
            results[:] = pool.map(one, seeds, chunksize=1)

        walls, each = [], []
        for _ in range(rounds):
            walls.append(wall_seconds(both_cores))
            each.append(sum(used for _, _, used, _ in results) / count)
    outcomes = ", ".join(f"{n} {name}" for name, n in sorted(Counter(outcome for outcome, *_ in results).items()))
    sent = sum(sent for _, sent, _, _ in results) / count
    alone = 60 / min(each)
    yield Figure(
        "one core, processor time", alone, "runs/minute", 1.0, "one core", note=f"{1000 * min(each):.0f} ms a run"
    )
    wall = 60 * count / min(walls)
    yield Figure(
        "two worker processes, wall time", wall, "runs/minute", wall / alone, "one core", at_least=AIM,
        note=f"{count} runs, {rounds} times, the best: {outcomes}; {sent:.0f} sent and read a run, three faults each",
    )  # fmt: skip
