"""Groups that elect their leader: the mode's scenarios over a few seeds."""

from __future__ import annotations

import pytest

from harness.scenario import find
from harness.scenario_file import load

pytestmark = pytest.mark.chaos
SEEDS = range(1, 3)


@pytest.mark.on("sim")
@pytest.mark.parametrize("name", ["dledger-leader-killed", "dledger-leader-cut-off"])
def test_another_leads(chaos_run, name: str) -> None:
    for seed in SEEDS:
        chaos_run(load(find(name)), seed=seed)


@pytest.mark.on("sim")
def test_without_a_majority_nothing_is_acknowledged_and_nothing_lost(chaos_run) -> None:
    for seed in SEEDS:
        chaos_run(load(find("dledger-majority-killed")), seed=seed)
