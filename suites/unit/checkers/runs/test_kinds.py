"""The list of the kinds of failures: it has what the checks name, and nothing else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import checkers
from checkers.objects.kinds import CLAUSES
from checkers.runs.checks import CHECKS
from checkers.runs.kinds import FAILURES, KINDS
from reference_impl.defects import DEFECTS
from suites.museum.exhibits import EXHIBITS

FOLDER = Path(checkers.__file__).parent
ALWAYS_ALLOWED = {"expired", "skipped"}
OF_OTHERS = {"skip", "circle", "no-order"}
"""Theorems that no check of a run asks may name these."""
OTHER_TOOLS = "external"
"""What judges histories from other tools names anomalies as the reports of those tools do."""


def trees() -> Iterator[ast.Module]:
    for path in sorted(FOLDER.rglob("*.py")):
        if path.parent.name != OTHER_TOOLS and path.stem != "kinds":
            yield ast.parse(path.read_text(encoding="utf-8"))


def named(*callees: str) -> set[str]:
    """Words that are given as the first argument to one of *callees*."""
    return {
        call.args[0].value
        for tree in trees()
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in callees and call.args
        if isinstance(call.args[0], ast.Constant)
    }


def words() -> set[str]:
    """All texts of the modules."""
    return {
        node.value
        for tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_what_a_check_names_is_in_the_list() -> None:
    assert named("Anomaly") <= {*FAILURES, *ALWAYS_ALLOWED, *OF_OTHERS}
    assert named("Anomaly", "FalseAcks", "LogViolation", "OrderViolation") <= {
        *FAILURES,
        *ALWAYS_ALLOWED,
        "skip",
        "circle",
        "no-order",
    }
    assert named("LogViolation") - {"circle"} <= set(KINDS["log"])
    assert set(CLAUSES["log"]) - {"circle"} == set(KINDS["log"]) - {"stale"}


def test_what_is_in_the_list_is_a_word_of_a_check() -> None:
    composed = {f"replica-{kind}" for kind in ("differs", "missing", "ahead")}
    assert set(FAILURES) <= words() | composed
    assert composed <= set(KINDS["replicas"])


def test_every_check_that_can_fail_has_kinds() -> None:
    assert set(KINDS) == set(CHECKS) - {"faults"}  # that one says UNKNOWN


def test_the_museum_shows_kinds_of_the_list() -> None:
    for name, exhibit in EXHIBITS.items():
        assert set(exhibit.kinds) <= set(KINDS[{"entries": "log"}.get(DEFECTS[name].check, DEFECTS[name].check)]), name
