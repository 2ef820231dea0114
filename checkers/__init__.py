"""Checkers: a history's columns in, a verdict with its evidence out.

    from mqchaos.checkers import History, RunFacts, check_all  a run of ours, under the contract of its mode
    from mqchaos.checkers import check_file                    anyone's history against a model
    from mqchaos.checkers import LogInput, check_log           the theorems themselves, on numpy columns

Names are loaded when they are first used, so that importing one checker does not load all of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from checkers.contract import classify, contract_of
    from checkers.external.check import check_calls, check_file
    from checkers.history.facts import RunFacts
    from checkers.history.history import History, HistoryFormatError
    from checkers.logs.deliveries import delivery_counts, delivery_order
    from checkers.logs.linear import LogInput, LogResult, check_log
    from checkers.logs.sequential import check_sequential
    from checkers.logs.sessions import check_sessions
    from checkers.objects.max_register import MaxRegisterInput, check_max_register
    from checkers.objects.mutex import MutexInput, check_mutex, check_semaphore
    from checkers.objects.queue import QueueInput, check_queue, total_queue
    from checkers.objects.register import RegisterInput, check_register
    from checkers.objects.search import Operation, search_parts
    from checkers.objects.sets import SetInput, check_set
    from checkers.runs.checks import check_all
    from checkers.show.explain import timeline
    from checkers.verdict import Anomaly, Outcome, Verdict, worst

_HOMES = {
    "runs.checks": ("check_all",),
    "contract": ("classify", "contract_of"),
    "logs.deliveries": ("delivery_counts", "delivery_order"),
    "show.explain": ("timeline",),
    "history.facts": ("RunFacts",),
    "external.check": ("check_calls", "check_file"),
    "history.history": ("History", "HistoryFormatError"),
    "logs.linear": ("LogInput", "LogResult", "check_log"),
    "objects.max_register": ("MaxRegisterInput", "check_max_register"),
    "objects.mutex": ("MutexInput", "check_mutex", "check_semaphore"),
    "objects.queue": ("QueueInput", "check_queue", "total_queue"),
    "objects.register": ("RegisterInput", "check_register"),
    "objects.search": ("Operation", "search_parts"),
    "logs.sequential": ("check_sequential",),
    "logs.sessions": ("check_sessions",),
    "objects.sets": ("SetInput", "check_set"),
    "verdict": ("Anomaly", "Outcome", "Verdict", "worst"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Anomaly",
    "History",
    "HistoryFormatError",
    "LogInput",
    "LogResult",
    "MaxRegisterInput",
    "MutexInput",
    "Operation",
    "Outcome",
    "QueueInput",
    "RegisterInput",
    "RunFacts",
    "SetInput",
    "Verdict",
    "check_all",
    "check_calls",
    "check_file",
    "check_log",
    "check_max_register",
    "check_mutex",
    "check_queue",
    "check_register",
    "check_semaphore",
    "check_sequential",
    "check_sessions",
    "check_set",
    "classify",
    "contract_of",
    "delivery_counts",
    "delivery_order",
    "search_parts",
    "timeline",
    "total_queue",
    "worst",
]


def __getattr__(name: str) -> Any:
    """A public name, from its module."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
