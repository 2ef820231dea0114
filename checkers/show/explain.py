"""Words and pictures: what a violation means to a person, and a timeline of the operations that prove it.

Question: which message, which queue, which offset, which operations, and what was broken nearby at that time?

Model. A sentence says what is wrong in one clause, then names the operations with their times, then the nearest fault.
A drawing is a small SVG: one bar an operation from invocation to completion (open ones fade out at the right), in the
order of invocation, fault windows behind them. Both are pure functions of the history.

Limits. A drawing shows at most :data:`DRAWN_MAX` operations: it is for the proof, not for the run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.logs.columns import LogViolation
from checkers.objects.kinds import clause
from checkers.show.drawing import Band, Bar, draw, span

DRAWN_MAX = 12


def log_sentence(history: History, facts: RunFacts, violation: LogViolation) -> str:
    """The violation of a log in words."""
    meaning = _meaning(violation, history.queues.name(violation.queue))
    proof = "; ".join(history.op_text(op) for op in violation.ops if op >= 0)
    more = f" ({violation.count} cases; this one has the shortest proof)" if violation.count > 1 else ""
    return f"{meaning}{more}. Proof: {proof}. {near(history, facts, violation.ops)}"


def _meaning(violation: LogViolation, queue: str) -> str:
    if violation.kind == "two-values-one-offset" and not violation.values:
        return f"{queue} @{violation.low} was seen or acknowledged with different messages, wherever its log was cut"
    return clause("log", violation, _message, queue)


def _message(value: int) -> str:
    return f"m{value}" if value >= 0 else "something that is no message of this run"


def near(history: History, facts: RunFacts, ops: Sequence[int]) -> str:
    """The nearest fault to the last of *ops* that is known, as a sentence."""
    known = [op for op in ops if op >= 0]
    if not known or not facts.faults:
        return "No fault was injected."
    row = int(history.ops.rows(np.array(known[-1:]))[0])
    fault = facts.nearest_fault(int(history.ops.invoke_ns[row]))
    return f"Nearest fault: {fault.words()}." if fault else "No fault was injected."


def timeline(history: History, facts: RunFacts, ops: Sequence[int], title: str = "") -> str:
    """An SVG of *ops* (at most :data:`DRAWN_MAX`) on the scenario's clock, with the faults of that time behind them."""
    known = [op for op in dict.fromkeys(ops) if op >= 0][:DRAWN_MAX]
    rows = history.ops.rows(np.array(known, dtype=np.int64))
    rows = rows[np.argsort(history.ops.invoke_event[rows], kind="stable")]
    bars = [_bar(history, row) for row in rows.tolist()]
    begin, end = span(bars)
    bands = [Band(fault.kind, fault.begin_ns, fault.heal_ns) for fault in facts.faults]
    return draw(bars, title, bands, (history.clock(begin), history.clock(end)))


def _bar(history: History, row: int) -> Bar:
    ops = history.ops
    end = int(ops.complete_ns[row])
    return Bar(history.op_text(int(ops.op[row])), int(ops.invoke_ns[row]), end if end >= 0 else None, ops.outcome[row])
