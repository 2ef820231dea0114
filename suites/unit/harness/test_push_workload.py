"""The push workloads on the simulator: what their histories say, with and without a master that dies."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from checkers.history.history import History
from checkers.verdict import Outcome
from harness import runfolder
from harness.run import RunResult, run_scenario
from harness.scenario import find
from harness.scenario_file import load
from harness.workloads.push import PushWorkload
from reference_impl.client import MessageQueue


def ran(name: str, folder: Path, seed: int = 3) -> tuple[RunResult, History]:
    result = run_scenario(load(find(name)), seed=seed, out=folder)
    assert result.folder is not None
    return result, runfolder.load_history(result.folder)


@pytest.mark.slow
def test_refused_messages_come_again_counted(tmp_path: Path) -> None:
    result, history = ran("push-master-dies", tmp_path)
    assert result.outcome is Outcome.PASS, [verdict.to_json() for verdict in result.verdicts if verdict.outcome]
    measures = next(verdict.measures for verdict in result.verdicts if verdict.check == "listeners")
    ops = history.ops
    refused = ops.f.mask("deliver") & ops.status.mask("LATER")
    assert refused.sum() > 50
    assert measures["again_by_cause"]["given-back"] >= refused.sum()
    times = [json.loads(ops.detail[row])["times"] for row in np.flatnonzero(ops.f.mask("deliver")).tolist()]
    assert max(times) == 1


@pytest.mark.slow
def test_delayed_messages_are_given_and_not_early(tmp_path: Path) -> None:
    result, history = ran("delayed-master-dies", tmp_path)
    assert result.outcome is Outcome.PASS, [verdict.to_json() for verdict in result.verdicts if verdict.outcome]
    measures = next(verdict.measures for verdict in result.verdicts if verdict.check == "delays")
    assert measures["delivered"] > 1_000
    assert 0 <= measures["late_p50_ms"] <= measures["late_p99_ms"]
    assert history.messages.kind.mask("delayed").sum() == measures["delayed"]


ORDERS, RETRIED = MessageQueue("chaos", "broker-a", 0), MessageQueue("%RETRY%readers", "broker-a", 0)


@pytest.mark.parametrize(
    ("had", "has", "is_settled"),
    [
        pytest.param([{ORDERS}, set()], [(ORDERS,), ()], True, id="one owner"),
        pytest.param([{ORDERS}, set()], [(), ()], False, id="nobody"),
        pytest.param([{ORDERS}, {ORDERS}], [(ORDERS,), (ORDERS,)], False, id="two"),
        pytest.param([{ORDERS, RETRIED}, set()], [(ORDERS,), ()], False, id="retries are left"),
        pytest.param([{ORDERS, RETRIED}, set()], [(ORDERS,), (RETRIED,)], True, id="retries have moved"),
    ],
)
def test_a_group_is_settled_when_each_queue_it_ever_had_has_one_owner(
    had: list[set[MessageQueue]], has: list[tuple[MessageQueue, ...]], is_settled: bool
) -> None:
    members = [
        SimpleNamespace(had=lambda before=before: before, consumer=SimpleNamespace(queues=lambda now=now: now))
        for before, now in zip(had, has, strict=True)
    ]
    stage = SimpleNamespace(topic="chaos", queues=[SimpleNamespace(broker="broker-a", queue_id=0)])
    load = cast("PushWorkload", SimpleNamespace(stage=stage, _members=members))
    assert PushWorkload.is_settled(load) is is_settled
