"""Installed, it works: the wheel in an empty environment and an empty folder, all that the README lists.

Question: does somebody who has the wheel and nothing else get what somebody with the checkout gets?

Model. The wheel is built once and installed, with the extras for Spark, pytest and Docker, into a fresh virtual
environment. Every command runs in a folder of its own without ``PYTHONPATH``, and beside modules and packages of the
user that have the names of our rooms.

Limits. Needs a package registry, or pip's cache of it, for the dependencies.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest

from harness.pytest_plugin import REQUIRE_ALL

ROOT = Path(__file__).resolve().parents[2]
INSTALL_S = 900
COMMAND_S = 300
ROOMS = ("checkers", "faults", "harness", "reference_impl", "results")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    argv = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(argv, check=True, timeout=INSTALL_S)
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel and what it declares, nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    argv = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    done = subprocess.run(
        [*argv, f"{wheel}[spark,pytest,docker]"], stderr=subprocess.PIPE, text=True, timeout=INSTALL_S
    )
    if done.returncode:
        end = done.stderr.strip().splitlines()[-1]
        pytest.fail(end) if os.environ.get(REQUIRE_ALL) == "1" else pytest.skip(f"the dependencies are not here: {end}")
    return folder


@dataclass(frozen=True)
class Place:
    """A folder where somebody works who has the wheel."""

    environment: Path
    folder: Path

    def __call__(self, *words: str, code: int | tuple[int, ...] = 0) -> str:
        """What a command prints; it must end with *code*, or one of them."""
        outside = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        path = f"{self.environment / 'bin'}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            words,
            cwd=self.folder,
            env=outside | {"PATH": path, "XDG_STATE_HOME": str(self.folder / "state")},
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
        )
        assert done.returncode in (code if isinstance(code, tuple) else (code,)), (
            f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
        return done.stdout


@pytest.fixture
def place(environment: Path, tmp_path: Path) -> Place:
    """An empty folder."""
    return Place(environment, tmp_path)


def test_one_name_is_installed(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"mqchaos"}


def test_nothing_is_found_under_a_short_name(place: Place) -> None:
    program = "from importlib.util import find_spec; print([name for name in {ROOMS!r} if find_spec(name)])"
    assert place("python", "-c", program.replace("{ROOMS!r}", repr(ROOMS))) == "[]\n"


def test_every_list(place: Place) -> None:
    for what in ("modes", "faults", "checkers", "scenarios", "promises", "defects", "backends", "targets"):
        assert json.loads(place("mqchaos", "list", what, "--json")), what
    assert "single-master-sync-power-cut" in place("mqchaos", "list", "scenarios")


def test_a_run_its_replay_its_judgement_and_its_page(place: Place) -> None:
    assert place("mqchaos", "run", "single-master-sync-power-cut", "--seed", "7").startswith("PASS")
    assert "identical: journal SHA-256" in place("mqchaos", "replay", "runs/latest")
    assert place("mqchaos", "check", "runs/latest").startswith("PASS")
    assert (place.folder / "runs" / "latest" / "report.html").is_file()
    version = json.loads((place.folder / "runs" / "latest" / "run.json").read_text())["commit"]
    assert version.startswith("v"), "no commit of somebody else's repository"


def test_planted_bugs(place: Place) -> None:
    words = ("mqchaos", "run", "single-master-sync-power-cut", "--seed", "1", "--defect", "ack-before-fsync")
    assert place(*words, code=1).startswith("FAIL")
    exhibit = ("mqchaos", "run", "museum-kills", "--defect", "offset-table-ignores-tail", "--seed", "1")
    assert place(*exhibit, code=1).startswith("FAIL")


def test_the_matrix_over_two_processes(place: Place) -> None:
    words = ("--seeds", "1", "--seed", "1", "--row", "single-master/sync", "--fault", "kill", "--fault", "pause")
    assert "PASS 1/1" in place("mqchaos", "matrix", *words, "--jobs", "2")


HISTORY = """
{:process 0, :type :invoke, :f :write, :value 1}
{:process 0, :type :ok, :f :write, :value 1}
{:process 1, :type :invoke, :f :read, :value nil}
{:process 1, :type :ok, :f :read, :value 2}
"""


def test_anyones_history(place: Place) -> None:
    (place.folder / "history.edn").write_text(HISTORY)
    assert place("mqchaos", "check", "history.edn", "--model", "register", code=1).startswith("FAIL")


def test_real_processes_and_the_lake_and_the_page(place: Place) -> None:
    assert place("mqchaos", "run", "multi-master-kill", "--backend", "process").startswith("PASS")
    place("mqchaos", "lake", "add", "runs")
    place("mqchaos", "lake", "marts")
    place("mqchaos", "dashboard")
    assert (place.folder / "dashboard.html").read_text().startswith("<!doctype html>")


@pytest.mark.requires("java")
def test_apaches_broker(place: Place) -> None:
    words = ("mqchaos", "run", "multi-master-kill", "--backend", "process", "--target", "rocketmq:5.3.3")
    assert "PASS" in place(*words)


@pytest.mark.requires("docker")
def test_containers(place: Place) -> None:
    """The image is made of the installed package, by its own recipe."""
    assert "PASS" in place("mqchaos", "run", "multi-master-kill", "--backend", "docker")


def test_the_reference_by_itself(place: Place) -> None:
    assert "usage: python -m mqchaos.reference_impl" in place("python", "-m", "mqchaos.reference_impl", "--help")
    assert "usage: python -m mqchaos.reference_impl" in place("mqchaos", "broker", "--help")


def test_the_machine(place: Place) -> None:
    """What others left on the machine is trouble, and none of ours."""
    document = json.loads(place("mqchaos", "doctor", "--json", code=(0, 3)))
    found = {finding["name"]: finding["state"] for finding in document["findings"]}
    assert found["packages"] == found["Spark"] == "ok"
    place("mqchaos", "heal")


LIBRARY = """
import mqchaos.checkers
from mqchaos.checkers import Outcome, check_log
from mqchaos.checkers.verdict import Outcome as same

assert Outcome is same
assert all(hasattr(mqchaos.checkers, name) for name in mqchaos.checkers.__all__)
"""


def test_checkers_as_a_library(place: Place) -> None:
    place("python", "-c", LIBRARY)


# -- pytest ------------------------------------------------------------------------------------------------------------

TESTS = """
import faults
import harness


def test_holds(chaos_run):
    assert chaos_run("single-master-kill").outcome == "PASS"


def test_breaks(chaos_run):
    chaos_run("single-master-sync-power-cut", seed=1, defects=("ack-before-fsync",))


def test_ours():
    assert (harness.OURS, faults.OURS) == (1, 2)
"""
OWN_FIXTURE = """
import pytest


@pytest.fixture
def backend():
    return "ours"


def test_a_fixture_of_the_project_is_left_alone(backend):
    assert backend == "ours"
"""


@pytest.fixture
def project(place: Place) -> Place:
    """A folder whose modules have the names of our rooms."""
    (place.folder / "harness.py").write_text("OURS = 1\n")
    for room in ("checkers", "faults", "reference_impl", "results"):
        (place.folder / room).mkdir()
        (place.folder / room / "__init__.py").write_text("OURS = 2\n")
    (place.folder / "test_ours.py").write_text(TESTS)
    return place


def test_the_fixture_is_there_without_a_conftest_and_beside_modules_of_the_same_names(project: Place) -> None:
    for backend in ("sim", "process"):
        words = ("--backend", backend, "-k", "not breaks")
        said = project("python", "-m", "pytest", "-p", "no:cacheprovider", *words)
        assert "2 passed" in said
        assert "warning" not in said.lower()


def test_commands_run_beside_modules_of_the_same_names(project: Place) -> None:
    assert project("python", "-m", "mqchaos", "run", "single-master-kill", "--backend", "process").startswith("PASS")
    words = ("--seeds", "1", "--seed", "1", "--row", "single-master/sync", "--fault", "kill")
    assert "PASS 1/1" in project("python", "-m", "mqchaos", "matrix", *words)


def test_a_conftest_that_loads_the_plugin_by_hand_does_not_load_it_twice(project: Place) -> None:
    (project.folder / "conftest.py").write_text('pytest_plugins = ["mqchaos.harness.pytest_plugin"]\n')
    said = project("python", "-m", "pytest", "-p", "no:cacheprovider", code=1)
    assert "2 passed" in said
    assert "FAILED test_ours.py::test_breaks" in said


def test_who_has_a_fixture_named_backend_keeps_it(project: Place) -> None:
    (project.folder / "test_ours.py").write_text(OWN_FIXTURE)
    assert "1 passed" in project("python", "-m", "pytest", "-p", "no:cacheprovider")
