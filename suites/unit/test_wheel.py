"""The wheel: one top-level name, imports of rooms below it, nothing else changed; the same names in a checkout."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from harness.doctor import PACKAGES, SPARK_PACKAGES
from mqchaos.checkout import ROOMS
from scripts.hatch_build import rewritten, with_prefix, write_rooms

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from checkers import verdict", "from mqchaos.checkers import verdict"),
        ("from  checkers.logs.linear import a", "from mqchaos.checkers.logs.linear import a"),
        ("from faults.plan import (\n    a,\n    b,\n)", "from mqchaos.faults.plan import (\n    a,\n    b,\n)"),
        ("def f():\n    from results.lake import land\n", "def f():\n    from mqchaos.results.lake import land\n"),
        ("x = 'ä'; from harness import run", "x = 'ä'; from mqchaos.harness import run"),
        ("if T: from faults import a; import faults", "if T: from mqchaos.faults import a; from mqchaos import faults"),
        ("import reference_impl", "from mqchaos import reference_impl"),
        ("import reference_impl as r", "from mqchaos import reference_impl as r"),
        ("import reference_impl.wire as w", "from mqchaos.reference_impl import wire as w"),
        ("x = '\x0c'\r\nfrom faults import a\r\n", "x = '\x0c'\r\nfrom mqchaos.faults import a\r\n"),
    ],
)
def test_an_import_of_a_room_gets_the_prefix(before: str, after: str) -> None:
    assert with_prefix(before.encode()).decode() == after


@pytest.mark.parametrize(
    "source",
    [
        "import faultshandler, harness_of_others",
        "from checkersboard import checkers",
        "from . import checkers",
        "from .faults import x",
        "'from checkers import verdict'",
        "# from checkers import verdict",
        "results = harness.run(faults)",
    ],
)
def test_everything_else_stays(source: str) -> None:
    assert with_prefix(source.encode()).decode() == source


@pytest.mark.parametrize("statement", ["import checkers.verdict", "import os, faults"])
def test_an_import_that_cannot_be_rewritten_ends_the_build_with_its_place(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "module.py"
    path.write_text(f"x = 1\n{statement}\n")
    with pytest.raises(SyntaxError, match="needs another import") as raised:
        rewritten(path)
    assert (raised.value.filename, raised.value.lineno) == (str(path), 2)


def imports(path: Path) -> list[str]:
    """The modules that a file imports."""
    found = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.append(str(node.module))
    return found


def test_the_rooms_as_the_wheel_has_them(tmp_path: Path) -> None:
    """Every file is there, no short name is left, and only import statements changed."""
    write_rooms(ROOT, tmp_path)
    ours = {path.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    assert {path.relative_to(tmp_path) for path in tmp_path.rglob("*.py")} == ours
    for name in sorted(ours):
        assert not [module for module in imports(tmp_path / name) if module.partition(".")[0] in ROOMS], name
        pairs = zip((ROOT / name).read_text().splitlines(), (tmp_path / name).read_text().splitlines(), strict=True)
        assert all("import" in old for old, new in pairs if old != new), name
    assert (tmp_path / "checkers" / "contracts" / "single-master.yaml").is_file()
    assert (tmp_path / "harness" / "scenarios" / "multi-master-kill.yaml").is_file()
    assert (tmp_path / "results" / "dashboard" / "templates" / "dashboard.html").is_file()
    assert (tmp_path / "docker" / "reference.Dockerfile").is_file()
    assert (tmp_path / "docker" / "base-image").stat().st_mode & 0o111, "it is run"


# -- dependencies ------------------------------------------------------------------------------------------------------

DISTRIBUTIONS = {"toxiproxy": "toxiproxy-python", "yaml": "pyyaml"}
"""Where a distribution is named otherwise than its module."""


EXTRAS = ("spark", "compiled", "pytest", "hypothesis", "docker", "mutation")
"""What ``all`` has."""


def names(requirements: list[str]) -> set[str]:
    return {requirement.partition(">")[0].partition("[")[0] for requirement in requirements}


def used() -> set[str]:
    """Distributions that the rooms import."""
    own = {*ROOMS, "mqchaos", *sys.stdlib_module_names}
    found = {
        module.partition(".")[0] for room in ROOMS for path in (ROOT / room).rglob("*.py") for module in imports(path)
    }
    return {DISTRIBUTIONS.get(module, module) for module in found - own}


def test_what_is_imported_is_declared_and_what_only_tests_need_is_no_dependency() -> None:
    extras = PROJECT["optional-dependencies"]
    needed, optional = names(PROJECT["dependencies"]), names([r for name in EXTRAS for r in extras[name]])
    assert used() <= needed | optional
    assert needed <= used()
    assert not needed & optional


def test_the_doctor_looks_for_what_is_declared() -> None:
    assert set(PACKAGES) == names(PROJECT["dependencies"])
    assert set(SPARK_PACKAGES) == names(PROJECT["optional-dependencies"]["spark"])


# -- the same names in a checkout --------------------------------------------------------------------------------------

BOTH = """
import pickle
import {first}
import {second}
import mqchaos.checkers.verdict, checkers.verdict
from mqchaos.checkers.verdict import Outcome
from mqchaos.checkers import check_log, verdict

assert verdict is mqchaos.checkers.verdict is checkers.verdict
assert Outcome is checkers.verdict.Outcome and check_log is checkers.check_log
assert pickle.loads(pickle.dumps(Outcome.PASS)) is Outcome.PASS
assert checkers.verdict.__spec__.name == checkers.verdict.__name__ == "checkers.verdict"
try:
    import mqchaos.checkers.nothing
except ModuleNotFoundError as error:
    assert error.name == "mqchaos.checkers.nothing"
else:
    raise AssertionError
"""


@pytest.mark.parametrize(
    ("first", "second"), [("checkers.verdict", "mqchaos.checkers.verdict"), ("mqchaos.checkers.verdict", "checkers")]
)
def test_a_module_has_both_names_and_exists_once(first: str, second: str) -> None:
    subprocess.run([sys.executable, "-c", BOTH.format(first=first, second=second)], check=True, cwd=ROOT)


@pytest.mark.parametrize("module", ["mqchaos", "mqchaos.harness.cli", "mqchaos.reference_impl"])
def test_what_can_be_run_can_be_run_by_its_long_name(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, "--help"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.startswith("usage: python -m mqchaos.reference_impl" if "impl" in module else "usage: mqchaos ")
    assert done.stderr == ""
