"""Recipes: faults that are put together in a way that has a name. Each of them takes effect, and the promise holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.scenario import recipes
from suites.chaos.came_out import Run, came_out

pytestmark = pytest.mark.chaos

SECOND = 1_000_000_000


@pytest.fixture
def show(chaos_run) -> Callable[[str], Run]:
    """Run a scenario that must pass, every fault of which must have taken effect."""
    return lambda name: came_out(chaos_run(name))


@pytest.mark.parametrize("name", [path.stem for path in recipes()])
def test_a_recipe_is_several_faults_and_loses_nothing(name: str, show) -> None:
    result, _, facts = show(name)
    assert len(facts.faults) >= 2
    assert next(v.measures["lost"] for v in result.verdicts if v.check == "accounting") == 0


def test_the_power_of_several_goes_within_a_second_the_slaves_first(show) -> None:
    _, _, facts = show("recipe-power-cut-of-several")
    slaves, masters = facts.faults
    assert 0 < masters.begin_ns - slaves.inject_ns < 2 * SECOND
    assert {*slaves.left, *masters.left} == {"broker-a-0", "broker-a-1", "broker-b-0", "broker-b-1"}
