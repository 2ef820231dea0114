"""Groups that elect their leader: the mode's scenarios over a few seeds.

``DLEDGER_SEEDS=1:20 pytest suites/chaos/test_dledger.py`` runs all of them over so many seeds.
"""

from __future__ import annotations

import os

import pytest

from harness.scenario import find, shipped
from harness.scenario_file import load

pytestmark = pytest.mark.chaos

SEEDS = range(*map(int, os.environ.get("DLEDGER_SEEDS", "1:2").split(":")))
OFTEN = ("dledger-leader-killed", "dledger-leader-cut-off", "dledger-majority-killed", "dledger-leader-paused")
"""Run with every ``make test``; the others when more seeds are asked for."""
ALL = [path.stem for path in shipped() if path.stem.startswith("dledger-")]


@pytest.mark.on("sim")
@pytest.mark.parametrize("name", ALL if len(SEEDS) > 1 else OFTEN)
def test_a_group_keeps_its_promise(chaos_run, name: str) -> None:
    for seed in SEEDS:
        chaos_run(load(find(name)), seed=seed)
