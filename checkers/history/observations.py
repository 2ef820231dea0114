"""Observations and acts of a history: what nodes said of themselves, and what an operator had told them.

Question: which node showed what, when? (``harness/workloads/observing.py`` records both.)

Model. An *observation* is an answered question to one node: op ``look``, ``end`` or ``master``, ``detail`` subject →
value. An *act* is a request that was obeyed or refused: op ``act``, ``detail`` its name, ``shows``: node → subject →
value, and perhaps what undoes it without another act. Text is one of several values; whole numbers only grow, so that a
node which shows a greater one shows it, too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from checkers.history.history import History


@dataclass(frozen=True)
class Observed:
    """One answered question: what *node* showed between ``invoke_ns`` and ``complete_ns``."""

    op: int
    node: str
    invoke_ns: int
    complete_ns: int
    shown: dict[str, Any]


@dataclass(frozen=True)
class Undone:
    """What undoes an act without another act: a change of one of the subjects ``by``; then ``to`` is shown again."""

    by: tuple[str, ...]
    to: str


@dataclass(frozen=True)
class Acted:
    """One act. ``is_done``: it was answered with success."""

    op: int
    name: str
    node: str
    invoke_ns: int
    complete_ns: int
    is_done: bool
    status: str
    shows: dict[str, dict[str, Any]]
    undone: Undone = Undone((), "")


def observations_of(history: History, f: str) -> list[Observed]:
    """Answered observations of kind *f*, in the order of their invocation."""
    ops = history.ops
    rows = (ops.f.mask(f) & ops.outcome.mask("ok")).nonzero()[0].tolist()
    return [
        Observed(int(ops.op[r]), ops.node[r], int(ops.invoke_ns[r]), int(ops.complete_ns[r]), json.loads(ops.detail[r]))
        for r in rows
    ]


def acts_of(history: History) -> list[Acted]:
    """All acts, in the order of their invocation."""
    ops = history.ops
    return [_act(history, row) for row in ops.f.mask("act").nonzero()[0].tolist()]


def _act(history: History, row: int) -> Acted:
    ops = history.ops
    text = ops.detail[row]
    detail: dict[str, Any] = json.loads(text) if text.startswith("{") else {"act": "", "shows": {}}
    return Acted(
        int(ops.op[row]),
        detail["act"],
        ops.node[row],
        int(ops.invoke_ns[row]),
        int(ops.complete_ns[row]),
        ops.outcome[row] == "ok",
        ops.status[row],
        detail["shows"],
        _undone(detail.get("undone", {})),
    )


def _undone(detail: dict[str, Any]) -> Undone:
    return Undone(tuple(detail.get("by", ())), detail.get("to", ""))


def shows(value: Any, wanted: Any) -> bool:
    """Whether a node that shows *value* shows *wanted*."""
    return bool(value >= wanted) if isinstance(wanted, int) and isinstance(value, int) else bool(value == wanted)
