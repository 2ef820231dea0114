"""Where write buffers are on, a mere kill takes acknowledged messages: the checkers say so, and only then."""

from __future__ import annotations

import dataclasses

import pytest

from checkers.verdict import Outcome
from harness.scenario import Scenario, find
from harness.scenario_file import load

pytestmark = pytest.mark.chaos
SEEDS = range(1, 6)


def scenario() -> Scenario:
    return load(find("write-buffers-kill"))


@pytest.mark.on("sim")
def test_a_kill_takes_the_newest_of_each_queue_and_nothing_else(chaos_run) -> None:
    """In nearly every seed: a commit just before the kill leaves nothing to take."""
    failed = 0
    for seed in SEEDS:
        result = chaos_run(scenario(), seed=seed, expect=None)
        (accounting,) = [verdict for verdict in result.verdicts if verdict.check == "accounting"]
        failed += result.outcome is Outcome.FAIL
        assert (accounting.outcome is Outcome.FAIL) is (accounting.measures["lost"] > 0)
        assert accounting.measures["lost"] <= 80  # 200 ms of 200 messages a second, and a margin
    assert failed >= len(SEEDS) - 2


@pytest.mark.on("sim")
def test_without_them_the_same_kill_takes_nothing(chaos_run) -> None:
    plain = dataclasses.replace(scenario(), properties={}, expect=load(find("single-master-kill")).expect)
    for seed in SEEDS:
        chaos_run(plain, seed=seed)
