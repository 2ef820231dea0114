"""Anyone's history against a model: ``mqchaos check FILE --model register|kv|queue|bag|total-queue|set|log|mutex``.

Question: is this history, written by somebody else's tool, linearizable?

What each model reads (function → values asked and answered):

    register   read → value or nil; write v; cas [old new] (refused: ``fail``)         values of any kind, also repeated
    kv         get → text; put v; append v                                              by ``key``
    queue      enqueue v; dequeue → v, or nil for "empty" (or ``fail``)                 FIFO; ``bag`` the same in any
               order
    total-queue  the same, by counting: values may repeat, and everything must have come out
    set        add v; read → all values                                                 by key
    log        append v → offset; read → all values; poll → [offset value] pairs; Elle's transactions of one
               operation; Jepsen's Kafka ``send`` and ``poll``                          by key
    mutex      acquire; release                                                        by process; refused: ``fail``

Objects are told apart by ``:key``, or by Jepsen's independent keys ``[key value]`` (:mod:`checkers.external.keys`).

The theorem decides where it applies (distinct values), else the search with its budget. The verdict's ``ops`` are line
numbers of invocations.

Limits. A history whose operations do not fit the model is UNKNOWN with the reason (transactions of several
operations), or malformed with the line (a swap that is no pair).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from checkers.external.calls import Call, DoesNotFit
from checkers.external.files import read
from checkers.external.kafka import ASSIGNS, SAYS_NOTHING
from checkers.external.keys import with_keys
from checkers.external.log import judge_log
from checkers.external.queue import judge_queue
from checkers.external.register import judge_kv, judge_mutex, judge_register
from checkers.external.sets import judge_set
from checkers.external.total_queue import judge_total_queue
from checkers.verdict import Outcome, Verdict

Judge = Callable[[Sequence[Call], str, bool], Verdict]

MODELS: Final[dict[str, Judge]] = {
    "register": judge_register,
    "kv": judge_kv,
    "queue": partial(judge_queue, ordered=True),
    "bag": partial(judge_queue, ordered=False),
    "total-queue": judge_total_queue,
    "set": judge_set,
    "log": judge_log,
    "mutex": judge_mutex,
}


def check_file(path: Path, model: str) -> Verdict:
    """Judge the history in *path*. :class:`HistoryFormatError` if it is none; ``KeyError`` for an unknown *model*.

    A refused operation (``fail``) is evidence in text logs, as Porcupine takes them. In EDN and JSON it only did not
    happen, since Jepsen's ``:fail`` may have any cause.
    """
    file = read(path)
    return check_calls(file.calls, model, str(path), refusals=file.is_log)


def check_calls(calls: Sequence[Call], model: str, place: str = "history", *, refusals: bool = False) -> Verdict:
    """Judge calls that were read already. A history in which nobody was told anything is UNKNOWN."""
    judge = MODELS[model]
    if not calls:
        return Verdict(model, Outcome.UNKNOWN, reasons=("the history is empty: nothing happened",))
    calls = with_keys(calls, place, may_lack_key=model == "set")
    try:
        verdict = judge(calls, place, refusals)
    except DoesNotFit as error:
        return Verdict(model, Outcome.UNKNOWN, measures={"operations": len(calls)}, reasons=(str(error),))
    if verdict.outcome is Outcome.PASS and not any(_tells(call, refusals) for call in calls):
        return replace(verdict, outcome=Outcome.UNKNOWN, reasons=(NOTHING_READ,))
    return verdict


NOTHING_READ = "nothing was read: nothing to compare the acknowledgements with"

_WRITES = ("write", "put", "append", "enqueue", "add", "send", *ASSIGNS, *SAYS_NOTHING)


_APPENDS = (["append"], ["send"])


def _tells(call: Call, refusals: bool) -> bool:
    """Whether the answer depends on what others did."""
    if call.f == "txn" and isinstance(call.asked, list):
        return call.type == "ok" and any(isinstance(step, list) and step[:1] not in _APPENDS for step in call.asked)
    return call.f not in _WRITES and (call.type == "ok" or (refusals and call.type == "fail" and not call.error))
