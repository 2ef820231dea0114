"""Tests of a lane are run by one worker, whatever pytest and pytest-xdist think of marks; the others by any."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from suites.conftest import LANES, lane_of

ROOT = Path(__file__).resolve().parents[2]

CONFTEST = """
import suites.conftest
from suites.conftest import pytest_xdist_make_scheduler

suites.conftest.LANES = {"one": ("test_one.py",), "two": ("test_two.py", "test_three.py")}
"""
TESTS = """
import os
import time
from pathlib import Path

import pytest

@pytest.mark.parametrize("number", range(6))
def test_it(number):
    time.sleep(0.02)
    with Path("workers").open("a") as file:
        file.write(f"{Path(__file__).name} {os.environ['PYTEST_XDIST_WORKER']}\\n")
"""


@pytest.mark.parametrize("begins", [begins for lane in LANES.values() for begins in lane])
def test_a_lane_is_of_files_that_are_there(begins: str) -> None:
    assert (ROOT / begins).exists()


def test_a_test_in_no_lane_is_alone() -> None:
    alone = "suites/unit/test_lanes.py::test_a_test_in_no_lane_is_alone"
    assert lane_of(alone) == alone
    assert lane_of("suites/unit/process/test_levers.py::test_it[1]") == "machine"


def test_a_lane_has_one_worker(tmp_path: Path) -> None:
    for name in ("one", "two", "three", "any"):
        (tmp_path / f"test_{name}.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT}\n")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "3", "--dist", "loadgroup", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120, capture_output=True)
    ran = {tuple(line.split()) for line in (tmp_path / "workers").read_text().splitlines()}
    of = {name: {worker for file, worker in ran if file == f"test_{name}.py"} for name in ("one", "two", "three")}
    assert len(of["one"]) == 1
    assert of["two"] == of["three"]
    assert len(of["two"]) == 1
