"""Some seeds of every attack; ``make hostile`` takes many more."""

from __future__ import annotations

from importlib import import_module

import pytest

from suites.hostile.__main__ import ATTACKS

SEEDS = {"frames": 60, "nameserver_frames": 60, "stores": 60, "tables": 60, "configurations": 200, "histories": 300}


@pytest.mark.parametrize(("name", "seed"), [(name, seed) for name in ATTACKS for seed in range(1, SEEDS[name] + 1)])
def test_it_holds(name: str, seed: int) -> None:
    import_module(f"suites.hostile.{name}").attack(seed)
