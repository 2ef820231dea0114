"""Random plans of overlapping faults: nothing but what RocketMQ is known for may FAIL, and every fault can take effect.

A slice; ``make swarm`` runs thousands.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from checkers.runs.mechanisms import unexplained
from faults.catalogue import VERBS
from harness.backends.table import BACKENDS
from harness.modes import MODES
from harness.random_plans import random_scenario
from harness.run import run_scenario
from harness.scenario_file import dump, parse

PLANS = range(1, 25)
DRAWN = range(1, 400)
LARGEST = max(row.slaves + 1 for row in MODES["dledger"].grid)


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


def test_every_verb_is_drawn_that_the_simulator_can_do_but_those_of_operators_of_groups_and_without_samples() -> None:
    drawn = {fault.do for seed in DRAWN for fault in random_scenario(seed).faults}
    left_out = set(VERBS) - drawn
    for name in left_out:
        verb = VERBS[name]
        needs_option = any(option.required and not option.samples for option in verb.options.values())
        can = BACKENDS["sim"].capabilities().refusal(verb.needs, ("broker-a-0",), ("client-1",)) is None
        is_special = verb.least_nodes > 1 or any(effect.does == "promotes" for effect in verb.effects)
        assert not can or needs_option or is_special, name


def test_shapes_of_several_nodes_are_drawn_for_groups_that_elect_and_are_large_enough() -> None:
    drawn = {fault.do for seed in DRAWN for fault in random_scenario(seed, mode="dledger").faults}
    assert {"ring", "bridge"} & drawn == {verb.name for verb in VERBS.values() if 1 < verb.least_nodes <= LARGEST}


def test_every_sample_of_an_option_is_drawn() -> None:
    """Both directions of a one-way cut, all classes of files and what becomes of them; none that cannot go together."""
    faults = [fault for seed in DRAWN for fault in random_scenario(seed).faults]
    for verb in {fault.do: fault.verb for fault in faults}.values():
        drawn = [fault.options for fault in faults if fault.do == verb.name]
        sampled = {name: set(option.samples) for name, option in verb.options.items() if option.samples}
        assert {name: {options[name] for options in drawn} for name in sampled} == sampled
        assert not any(verb.refuses(verb.filled(options)) for options in drawn)


def test_most_plans_overlap_somewhere() -> None:
    def overlaps(seed: int) -> bool:
        faults = random_scenario(seed).faults
        spans = sorted((f.at.low_ns, f.at.low_ns + (f.hold.low_ns if f.hold else 0)) for f in faults)
        return any(later[0] < earlier[1] for earlier, later in pairwise(spans))

    assert sum(map(overlaps, DRAWN)) > len(DRAWN) // 2
