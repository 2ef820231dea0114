"""Checkers: a history's columns in, a verdict with its evidence out.

    from mqchaos.checkers import History, RunFacts, check_all  a run of ours, under the contract of its mode
    from mqchaos.checkers import check_file                    anyone's history against a model
    from mqchaos.checkers import Poll, Send, check_log, log_of a list of sends and polls; registers and queues alike
    from mqchaos.checkers import LogInput, check_log           the theorems themselves, on numpy columns

Whatever was asked, the answer has ``outcome``, ``anomalies`` (each with a sentence and the operations that prove it)
and ``reasons``. Names are loaded when they are first used, so that importing one checker does not load all of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from checkers.contract import classify, contract_of
    from checkers.external.calls import Call
    from checkers.external.check import check_calls, check_file
    from checkers.history.columns import NEVER, HistoryFormatError
    from checkers.history.facts import RunFacts
    from checkers.history.history import History
    from checkers.logs.columns import ACKED, FAILED, UNKNOWN, Appends, Claims, LogInput, LogViolation, Polls
    from checkers.logs.deliveries import Deliveries, delivery_counts, delivery_order
    from checkers.logs.entries import LEADERS_OWN, NOTHING, Gets, check_entries
    from checkers.logs.linear import LogResult, check_log
    from checkers.logs.rows import End, Get, Poll, Send, entries_of, log_of
    from checkers.logs.sequential import check_sequential
    from checkers.logs.sessions import check_sessions, claims_of
    from checkers.objects.max_register import MaxRegisterInput, check_max_register
    from checkers.objects.models import IMPOSSIBLE, Model
    from checkers.objects.mutex import MutexInput, check_mutex, check_semaphore
    from checkers.objects.queue import QueueInput, check_queue, total_queue
    from checkers.objects.register import RegisterInput, check_register
    from checkers.objects.result import Result, Violation
    from checkers.objects.rows import Dequeue, Enqueue, Read, Swap, Write, queue_of, register_of
    from checkers.objects.search import Operation, SearchResult, search, search_parts
    from checkers.objects.sets import SetInput, check_set
    from checkers.runs.checks import check_all
    from checkers.show.explain import timeline
    from checkers.verdict import Anomaly, Outcome, Verdict, worst

_HOMES = {
    "contract": (
        "classify",
        "contract_of",
    ),
    "external.calls": ("Call",),
    "external.check": (
        "check_calls",
        "check_file",
    ),
    "history.columns": (
        "HistoryFormatError",
        "NEVER",
    ),
    "history.facts": ("RunFacts",),
    "history.history": ("History",),
    "logs.columns": (
        "ACKED",
        "Appends",
        "Claims",
        "FAILED",
        "LogInput",
        "LogViolation",
        "Polls",
        "UNKNOWN",
    ),
    "logs.deliveries": (
        "Deliveries",
        "delivery_counts",
        "delivery_order",
    ),
    "logs.entries": (
        "LEADERS_OWN",
        "NOTHING",
        "Gets",
        "check_entries",
    ),
    "logs.linear": (
        "LogResult",
        "check_log",
    ),
    "logs.rows": (
        "End",
        "Get",
        "Poll",
        "Send",
        "entries_of",
        "log_of",
    ),
    "logs.sequential": ("check_sequential",),
    "logs.sessions": (
        "check_sessions",
        "claims_of",
    ),
    "objects.max_register": (
        "MaxRegisterInput",
        "check_max_register",
    ),
    "objects.models": (
        "IMPOSSIBLE",
        "Model",
    ),
    "objects.mutex": (
        "MutexInput",
        "check_mutex",
        "check_semaphore",
    ),
    "objects.queue": (
        "QueueInput",
        "check_queue",
        "total_queue",
    ),
    "objects.register": (
        "RegisterInput",
        "check_register",
    ),
    "objects.result": (
        "Result",
        "Violation",
    ),
    "objects.rows": (
        "Dequeue",
        "Enqueue",
        "Read",
        "Swap",
        "Write",
        "queue_of",
        "register_of",
    ),
    "objects.search": (
        "Operation",
        "SearchResult",
        "search",
        "search_parts",
    ),
    "objects.sets": (
        "SetInput",
        "check_set",
    ),
    "runs.checks": ("check_all",),
    "show.explain": ("timeline",),
    "verdict": (
        "Anomaly",
        "Outcome",
        "Verdict",
        "worst",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "ACKED",
    "FAILED",
    "IMPOSSIBLE",
    "LEADERS_OWN",
    "NEVER",
    "NOTHING",
    "UNKNOWN",
    "Anomaly",
    "Appends",
    "Call",
    "Claims",
    "Deliveries",
    "Dequeue",
    "End",
    "Enqueue",
    "Get",
    "Gets",
    "History",
    "HistoryFormatError",
    "LogInput",
    "LogResult",
    "LogViolation",
    "MaxRegisterInput",
    "Model",
    "MutexInput",
    "Operation",
    "Outcome",
    "Poll",
    "Polls",
    "QueueInput",
    "Read",
    "RegisterInput",
    "Result",
    "RunFacts",
    "SearchResult",
    "Send",
    "SetInput",
    "Swap",
    "Verdict",
    "Violation",
    "Write",
    "check_all",
    "check_calls",
    "check_entries",
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
    "claims_of",
    "classify",
    "contract_of",
    "delivery_counts",
    "delivery_order",
    "entries_of",
    "log_of",
    "queue_of",
    "register_of",
    "search",
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
    return getattr(import_module(f".{home}", __name__), name)
