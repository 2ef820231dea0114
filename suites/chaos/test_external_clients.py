"""Clients of another implementation under faults: what they do is in the history, and judged like everything else.

Question: does a run with somebody else's client tell as much as one with ours: every attempt, every delivery, faults
that end and pause the clients themselves?
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from checkers.history.history import History
from checkers.verdict import Outcome
from harness import runfolder
from harness.run import RunResult, run_scenario
from harness.scenario_file import load

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.on("process"), pytest.mark.requires("root")]

MASTER_DIES = """\
name: {name}
mode: multi-master
topology: {{brokers: 2}}
workload: {{kind: external, client: "{client}", producers: 1, consumers: {consumers}, queues: 2, rate: 40/s, for: 8s}}
faults:
{faults}
"""


def ran(
    folder: Path, client: str, faults: str, consumers: int = 0, target: str = "reference"
) -> tuple[RunResult, History]:
    path = folder / "external.yaml"
    path.write_text(MASTER_DIES.format(name="external", client=client, faults=faults, consumers=consumers))
    result = run_scenario(load(path), backend="process", target=target, seed=1, out=folder / "runs")
    assert result.folder is not None
    return result, runfolder.load_history(result.folder)


def test_ninety_lines_of_python_are_a_producer_of_a_run(tmp_path: Path) -> None:
    """It asks for the route before each send: while a master is dead all goes to the other one."""
    result, history = ran(tmp_path, "python", "  - {at: 3s, do: kill, on: master(broker-a), for: 2s}")
    assert result.outcome is Outcome.PASS, [verdict.to_json() for verdict in result.verdicts if verdict.outcome]
    ops = history.ops
    produced = ops.f.mask("produce")
    attempts = ops.f.mask("send") & np.isin(ops.message, ops.message[produced])  # without those of the operator
    assert attempts.sum() == (produced & ~ops.status.mask("NO_ROUTE")).sum() > 200
    by_broker = Counter(ops.node[row] for row in np.flatnonzero(attempts).tolist())
    assert by_broker["broker-b"] > by_broker["broker-a"] + 40  # half of 40 a second for 2 s, and more
    assert (ops.queue[attempts] >= 0).all()


def test_its_stamps_are_known_within_bounds(tmp_path: Path) -> None:
    result, history = ran(tmp_path, "python", "  - {at: 3s, do: kill, on: master(broker-a), for: 2s}")
    hello = [
        json.loads(text)
        for text, step in zip(history.events.detail, history.events.step, strict=True)
        if step == "hello"
    ]
    assert [line["client"] for line in hello] == ["ninety lines of Python"]
    assert result.measures["withheld"] < 40


@pytest.mark.requires("java")
def test_the_official_consumer_gets_everything_although_a_member_is_killed(tmp_path: Path) -> None:
    """The killed member's queues pass to the other one; both are told in the history, with what each was given."""
    faults = "  - {at: 4s, do: kill, on: client(2), for: 3s}"
    result, history = ran(tmp_path, "java:4.9.8", faults, consumers=2)
    assert result.outcome is Outcome.PASS, [verdict.to_json() for verdict in result.verdicts if verdict.outcome]
    ops, reads = history.ops, history.reads
    stored = set(ops.message[ops.f.mask("produce") & ops.outcome.mask("ok")].tolist())
    given = reads.message[np.isin(reads.op, ops.op[ops.f.mask("deliver")])]
    assert stored <= set(given.tolist())
    by = Counter(ops.node[row] for row in np.flatnonzero(ops.f.mask("deliver")).tolist())
    assert by["client-3"] > 0
