"""Whole plans as values that Hypothesis draws, and makes smaller when one fails.

Question: does a property hold whatever befalls the cluster, and which is the least plan where it does not?

    @PLANS
    @given(plan=plans(mode="multi-master"))
    def test_nothing_is_lost(plan):
        holds(plan)

Model. A plan is drawn as :mod:`harness.random_plans` draws it, by a generator whose choices Hypothesis knows: it is a
strategy like any other, to be filtered, combined and replayed; what failed is tried first the next time. :func:`holds`
runs the plan in the simulator. If that FAILs it takes out what is not needed (:mod:`harness.shrink`: fewer faults, a
shorter load) and says what is left, as a scenario file with its seed. Hypothesis's own shrinking is off in
:data:`PLANS`: it would take hundreds of runs where ours takes a dozen.

Limits. A run takes a second or more: tens of examples a test, not hundreds, and no deadline. Simulated only. Needs
hypothesis (the extra ``hypothesis``).
"""

from __future__ import annotations

from random import Random
from typing import Final

from hypothesis import HealthCheck, Phase, assume, settings
from hypothesis import strategies as st

from checkers.runs.mechanisms import unexplained
from harness.random_plans import drawn_plan
from harness.run import RunResult, run_scenario
from harness.scenario import Scenario
from harness.scenario_file import dump
from harness.shrink import Failure, shrunk
from harness.summary import cause_of

NAME: Final = "drawn-plan"
PLANS: Final = settings(
    max_examples=20,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=(HealthCheck.too_slow,),
)
"""How a test over plans is run; ``settings(PLANS, max_examples=100)`` for more of them."""


@st.composite
def plans(draw: st.DrawFn, *, mode: str = "", target: str = "reference", faults: tuple[int, int] = (1, 4)) -> Scenario:
    """Scenarios of *mode* (else of any whose roles stay), with so many faults, at least and at most."""
    rng: Random = draw(st.randoms(use_true_random=False))
    plan = drawn_plan(rng, NAME, NAME, mode, target=target, counts=faults)
    assume(len(plan.faults) >= faults[0])  # the drawing gives up when nothing more goes with what it has
    return plan


def holds(plan: Scenario, *, seed: int = 1, defects: tuple[str, ...] = ()) -> RunResult:
    """Run *plan*; ``AssertionError`` with the least that still fails, if it FAILs in no way RocketMQ is known for."""
    result = run_scenario(plan, seed=seed, defects=defects, keep="none")
    found = [anomaly for verdict in result.verdicts for anomaly in verdict.anomalies]
    sentences = [anomaly.sentence for anomaly in unexplained(found)]
    if sentences:
        least = shrunk(plan, Failure(plan, seed, cause_of(result), defects).shows)
        raise AssertionError(f"{sentences[0]}\n\nmqchaos run FILE --seed {seed}, with this file:\n\n{dump(least)}")
    return result
