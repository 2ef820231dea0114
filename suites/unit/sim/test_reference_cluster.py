"""The reference NameServer, broker and clients in the simulator: the roles that run in processes run here unchanged.

Below the chaos suite: short loads, a few seeds, and the questions that are the simulator's own (is it one run, whatever
the process? is the load really carried? does a power cut bite?).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from checkers.verdict import Outcome
from harness.run import RunResult, run_scenario
from harness.scenario_file import parse

ROOT = Path(__file__).parents[3]
SEEDS = range(3)

SCENARIO = """
name: simulated
mode: multi-master
topology: {{nameservers: 2, brokers: 2, flush: {flush}}}
workload: {{kind: log, producers: 3, consumers: 2, queues: 2, rate: 150/s, for: 6s}}
faults:
  - {{at: 2s..3s, do: {fault}, on: master(broker-a), for: 1s}}
"""


def run(flush: str, fault: str, seed: int) -> RunResult:
    return run_scenario(parse(SCENARIO.format(flush=flush, fault=fault), "test"), seed=seed, keep="none")


def measure(result: RunResult, name: str) -> int:
    """A measure of whichever check has it."""
    return next(int(verdict.measures[name]) for verdict in result.verdicts if name in verdict.measures)


@pytest.mark.parametrize("fault", ["kill", "pause", "cut_power"])
@pytest.mark.parametrize("flush", ["sync", "async"])
def test_a_load_is_carried_through_a_fault(flush: str, fault: str) -> None:
    results = [run(flush, fault, seed) for seed in SEEDS]
    assert [result.outcome for result in results] == [Outcome.PASS] * len(SEEDS)
    assert all(result.measures["ok"] > 500 and result.measures["read"] > 500 for result in results)
    losing = sum(measure(result, "lost") > 0 for result in results)
    if (flush, fault) == ("async", "cut_power"):
        assert losing >= len(SEEDS) - 1, "the power cut did not bite"
    else:
        assert losing == 0


def digest(result: RunResult) -> list[str]:
    return [result.history_sha256, f"{result.final_draw:#x}", result.outcome.name]


def digest_elsewhere(hash_seed: str) -> list[str]:
    """The same run in a process of its own."""
    code = "import json; from suites.unit.sim import test_reference_cluster as t; print(json.dumps(t.eventful()))"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-c", code]
    answer = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=300, check=True).stdout
    return [str(part) for part in json.loads(answer)]


def eventful() -> list[str]:
    return digest(run("async", "cut_power", 11))


def test_the_history_of_a_seed_is_the_same_in_every_process() -> None:
    assert eventful() == digest_elsewhere("0") == digest_elsewhere("4242")


def test_the_history_of_another_seed_is_another() -> None:
    assert eventful() != digest(run("async", "cut_power", 12))
