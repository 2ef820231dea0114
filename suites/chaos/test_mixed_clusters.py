"""A cluster of reference and Apache nodes under faults: the same verdicts as a cluster of one make.

Question: does anything depend on who plays which part? A synchronous pair loses its master's machine, an operator makes
a new one from the slave's data, across the makes: Apache starts on what the reference had copied, or the other way
round. The verdict, check by check, is the one that the scenario has in the simulator.

Limits. Short scenarios, asked with ``MQCHAOS_TESTS=all``, since a JVM costs seconds; ``docs/backends.md`` has the
command for any other scenario, and what came out.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from checkers.verdict import Outcome
from harness import runfolder
from harness.run import RunResult, run_scenario
from suites.minutes import only_with_minutes

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.slow,
    pytest.mark.on("process"),
    pytest.mark.requires("java", "process:network"),
    only_with_minutes,
]

SCENARIO = """\
name: mixed-pair-adopted
mode: multi-master-multi-slave-sync
topology: {nameservers: 1, brokers: 1, slaves: 1, flush: async}
workload: {producers: 2, consumers: 1, queues: 2, rate: 150/s, for: 5s}
faults:
  - {at: 3s, do: adopt_slave, on: master(broker-a), for: 1s}
expect: {lost: none}
"""

MIXES = ["reference,slaves=rocketmq:4.9.7", "rocketmq:4.9.7,slaves=reference"]


@pytest.mark.parametrize("target", MIXES)
def test_a_mixed_pair_gets_the_verdict_of_a_pure_one(
    target: str, chaos_run: Callable[..., RunResult], tmp_path: Path
) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO)
    mixed = chaos_run(path, target=target)
    pure = run_scenario(path, seed=mixed.seed, keep="none")
    assert checks(mixed) == checks(pure)
    assert mixed.folder is not None
    run = runfolder.read_run(mixed.folder)
    assert set(run["targets"].values()) == {"reference", "rocketmq:4.9.7"}
    assert run["targets"]["broker-a-1"] != run["targets"]["broker-a-0"]
    assert run["target"] == target, "what a replay reads"


def checks(result: RunResult) -> dict[str, Outcome]:
    return {verdict.check: verdict.outcome for verdict in result.verdicts}
