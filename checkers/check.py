"""All checks of a run in one call.

Question: did this run keep the contract of its mode?

Model. Every check is guarded: an exception in it is UNKNOWN with its traceback. The verdict of the run is the worst of
the list (:func:`checkers.verdict.worst`). The order of the list is the order of the report.
"""

from __future__ import annotations

from checkers.facts import RunFacts
from checkers.history import History
from checkers.verdict import Verdict


def check_all(history: History, facts: RunFacts) -> list[Verdict]:
    """Every check that applies to *facts.mode*; never empty."""
    raise NotImplementedError
