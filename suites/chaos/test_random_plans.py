"""Random plans of overlapping faults: nothing but what RocketMQ is known for may FAIL, and every fault can take effect.

A slice; ``make swarm`` runs thousands.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from checkers.runs.mechanisms import unexplained
from faults.catalogue import VERBS
from harness.backends.table import BACKENDS
from harness.random_plans import random_scenario
from harness.run import run_scenario
from harness.scenario_file import dump, parse

PLANS = range(1, 25)
DRAWN = range(1, 400)


@pytest.mark.parametrize("seed", PLANS)
def test_a_random_plan_raises_no_false_alarm(seed: int) -> None:
    result = run_scenario(random_scenario(seed), seed=seed, keep="none")
    found = [anomaly for verdict in result.verdicts for anomaly in verdict.anomalies]
    assert [anomaly.sentence for anomaly in unexplained(found)] == []


def test_a_plan_is_a_function_of_its_seed_and_a_scenario_file() -> None:
    for seed in PLANS:
        scenario = random_scenario(seed)
        assert scenario == random_scenario(seed)
        assert parse(dump(scenario), scenario.source).faults == scenario.faults


def test_every_verb_is_drawn_that_the_simulator_can_do_and_that_needs_no_option_and_no_operator() -> None:
    drawn = {fault.do for seed in DRAWN for fault in random_scenario(seed).faults}
    left_out = set(VERBS) - drawn
    for name in left_out:
        verb = VERBS[name]
        needs_option = any(option.required for option in verb.options.values())
        can = BACKENDS["sim"].capabilities().refusal(verb.needs, ("broker-a-0",), ("client-1",)) is None
        assert not can or needs_option or any(effect.does == "promotes" for effect in verb.effects), name


def test_most_plans_overlap_somewhere() -> None:
    def overlaps(seed: int) -> bool:
        faults = random_scenario(seed).faults
        spans = sorted((f.at.low_ns, f.at.low_ns + (f.hold.low_ns if f.hold else 0)) for f in faults)
        return any(later[0] < earlier[1] for earlier, later in pairwise(spans))

    assert sum(map(overlaps, DRAWN)) > len(DRAWN) // 2
