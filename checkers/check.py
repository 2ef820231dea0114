"""All checks of a run in one call.

Question: did this run keep the contract of its mode?

Model. Every check is guarded: an exception in it is UNKNOWN with its traceback. The verdict of the run is the worst of
the list (:func:`checkers.verdict.worst`). The order of the list is the order of the report: what may be believed first
(``faults``), then what was lost (``accounting``), what contradicts itself (``log``), what slaves hold (``replicas``),
who was not served (``availability``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from checkers.accounting import check_accounting
from checkers.availability import check_availability
from checkers.facts import RunFacts
from checkers.faults_bit import check_faults
from checkers.history import History
from checkers.log_check import check_logs
from checkers.replicas import check_replicas
from checkers.routes import check_routes
from checkers.verdict import Outcome, Verdict, guarded

Check = Callable[[History, RunFacts], Verdict]

CHECKS: Final[dict[str, Check]] = {
    "faults": lambda history, facts: check_faults(facts),
    "accounting": check_accounting,
    "log": check_logs,
    "replicas": check_replicas,
    "availability": check_availability,
    "routes": check_routes,
}
"""Every check by name, in the order of the report."""

NEEDS: Final[dict[str, str]] = {"routes": "route", "replicas": "replica"}
"""Checks that apply only where the history has operations of this kind."""


def check_all(history: History, facts: RunFacts) -> list[Verdict]:
    """Every check of *history* under *facts*; never empty. An empty history is UNKNOWN, not checked at all."""
    if not len(history.ops):
        return [Verdict("history", Outcome.UNKNOWN, reasons=("the history is empty: nothing happened",))]
    asked = [name for name in CHECKS if name not in NEEDS or NEEDS[name] in history.ops.f.values]
    return [guarded(name, lambda check=CHECKS[name]: check(history, facts)) for name in asked]  # type: ignore[misc]
