"""Plans that Hypothesis draws: what holds of each of them, and what is said of one that fails."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from checkers.verdict import Outcome
from faults.catalogue import VERBS
from harness.backends.table import BACKENDS
from harness.plan_strategies import PLANS, holds, plans
from harness.preflight import check_plan
from harness.run import run_scenario
from harness.scenario import Scenario
from harness.scenario_file import dump, parse

DRAWN = settings(max_examples=30, deadline=None, suppress_health_check=(HealthCheck.too_slow,))
FEWEST = settings(DRAWN, max_examples=300, phases=(Phase.generate, Phase.shrink), derandomize=True, database=None)


@DRAWN
@given(plan=plans())
def test_a_drawn_plan_is_a_scenario_that_can_be_run(plan: Scenario) -> None:
    check_plan(plan, BACKENDS["sim"].name, "reference")
    assert 1 <= len(plan.faults) <= 4
    assert parse(dump(plan), plan.source).faults == plan.faults


@DRAWN
@given(plan=plans(mode="dledger", faults=(2, 2)))
def test_mode_and_number_of_faults_are_as_asked(plan: Scenario) -> None:
    assert (plan.mode, len(plan.faults)) == ("dledger", 2)


def test_hypothesis_makes_plans_smaller() -> None:
    """Its choices are those of the drawing: it gets to the one fault that matters, early."""

    def matters(plan: Scenario) -> bool:
        return any(any(effect.does == "takes" for effect in VERBS[fault.do].effects) for fault in plan.faults)

    least = find(plans(), matters, settings=FEWEST)
    assert len(least.faults) == 1


@pytest.mark.slow
@settings(PLANS, max_examples=8)
@given(plan=plans())
def test_nothing_but_what_rocketmq_is_known_for_fails(plan: Scenario) -> None:
    holds(plan)


@pytest.mark.slow
def test_a_failure_says_the_least_that_still_fails_as_a_file_with_its_seed() -> None:
    bug = ("skip-last-record",)

    @settings(PLANS, database=None, derandomize=True, max_examples=40)
    @given(plan=plans(mode="single-master", faults=(3, 4)))
    def nothing_is_lost(plan: Scenario) -> None:
        holds(plan, seed=7, defects=bug)

    with pytest.raises(AssertionError) as told:
        nothing_is_lost()
    found = re.fullmatch(r".+\n\nmqchaos run FILE --seed 7, with this file:\n\n(.+)", str(told.value), re.DOTALL)
    assert found is not None
    least = parse(found[1], "least")
    assert len(least.faults) < 3
    again = run_scenario(least, seed=7, defects=bug, keep="none")
    assert again.outcome is Outcome.FAIL
    assert run_scenario(least, seed=7, keep="none").outcome is Outcome.PASS
