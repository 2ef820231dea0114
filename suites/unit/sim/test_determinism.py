"""The same seed twice is the same run, event for event, whatever PYTHONHASHSEED; another seed is another run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from suites.unit.sim.trace_of_a_run import trace

ROOT = Path(__file__).parents[3]


def traced_elsewhere(seed: int, hash_seed: str) -> str:
    """The same in a process of its own."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, str(Path(__file__).with_name("trace_of_a_run.py")), str(seed)]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=300, check=True).stdout


def test_a_seed_is_a_run_whatever_the_hash_seed() -> None:
    here = trace(7)
    assert len(here) == 64
    assert here == traced_elsewhere(7, "0") == traced_elsewhere(7, "12345")


def test_another_seed_is_another_run() -> None:
    assert trace(7) != trace(8)
