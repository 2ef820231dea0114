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
from checkers.history.history import History, seconds
from checkers.logs.columns import LogViolation
from checkers.show.drawing import Band, Bar, draw, span

DRAWN_MAX = 12


def log_sentence(history: History, facts: RunFacts, violation: LogViolation) -> str:
    """The violation of a log in words."""
    queue = history.queues.name(violation.queue)
    clause = _clause(violation).format(
        queue=queue,
        low=violation.low,
        high=violation.high,
        values=_messages(violation.values),
        first=_message(violation.values, 0),
        second=_message(violation.values, 1),
        needed=violation.values[0] if violation.values else "",
        available=violation.values[1] if len(violation.values) > 1 else "",
    )
    proof = "; ".join(history.op_text(op) for op in violation.ops if op >= 0)
    more = f" ({violation.count} such cases, this is the shortest)" if violation.count > 1 else ""
    return f"{clause}{more}. Proof: {proof}. {near(history, facts, violation.ops)}"


def _clause(violation: LogViolation) -> str:
    if violation.kind == "two-values-one-offset" and not violation.values:
        return "{queue} @{low} was seen or acknowledged with different messages, however far its log was cut back"
    return _CLAUSES[violation.kind]


_CLAUSES = {
    "two-values-one-offset": "{queue} @{low} holds two different messages, {first} and {second}",
    "value-at-two-offsets": "{first} stands at two offsets of {queue}, @{low} and @{high}, though it was sent once",
    "phantom": "{queue} @{low} holds a message that nobody sent",
    "failed-append-visible": "{first} was certainly refused, and yet it stands at {queue} @{low}",
    "resurrected": "{first} was cut off with the end of the log, and now it stands at {queue} @{low} again",
    "wrong-queue": "{first} stands at {queue} @{low}, but was sent to another queue",
    "skipped-in-read": "a poll of {queue} left out @{low}",
    "hole-without-writer": (
        "{queue} @{low} exists, since @{high} does, but no message can be there: {needed} are needed up to there, "
        "only {available} unanswered sends had begun"
    ),
    "real-time-order": "{queue} @{low} was given to a message whose send began after @{high} had been acknowledged",
    "read-from-future": "{queue} @{high} was seen before the message at @{low} was sent",
    "stale-or-lost": "{queue} @{high} was acknowledged, and a later answer says that the queue ends at @{low}",
    "went-backwards": "{queue} @{high} was seen, and a later answer says that the queue ends at @{low}",
    "torn-batch": "the end of {queue} was said to be @{low}, in the middle of one batch",
    "read-of-trimmed": "{queue} @{low} was read after the start had passed it",
}


def _message(values: Sequence[int], index: int) -> str:
    if index >= len(values):
        return "a message"
    return f"m{values[index]}" if values[index] >= 0 else "something that is none of ours"


def _messages(values: Sequence[int]) -> str:
    return ", ".join(_message(values, index) for index in range(len(values)))


def near(history: History, facts: RunFacts, ops: Sequence[int]) -> str:
    """The nearest fault to the last of *ops* that is known, as a sentence."""
    known = [op for op in ops if op >= 0]
    if not known or not facts.faults:
        return "No fault was injected."
    row = int(history.ops.rows(np.array(known[-1:]))[0])
    fault = facts.nearest_fault(int(history.ops.invoke_ns[row]))
    return f"Nearest fault: {fault.words()}." if fault else "No fault was injected."


def timeline(history: History, facts: RunFacts, ops: Sequence[int], title: str = "") -> str:
    """An SVG of *ops* (at most :data:`DRAWN_MAX`) on the run's clock, with the faults of that time behind them."""
    known = [op for op in dict.fromkeys(ops) if op >= 0][:DRAWN_MAX]
    rows = history.ops.rows(np.array(known, dtype=np.int64))
    rows = rows[np.argsort(history.ops.invoke_event[rows], kind="stable")]
    bars = [_bar(history, row) for row in rows.tolist()]
    begin, end = span(bars)
    bands = [Band(fault.kind, fault.begin_ns, fault.heal_ns) for fault in facts.faults]
    return draw(bars, title, bands, (seconds(begin), seconds(end)))


def _bar(history: History, row: int) -> Bar:
    ops = history.ops
    end = int(ops.complete_ns[row])
    return Bar(history.op_text(int(ops.op[row])), int(ops.invoke_ns[row]), end if end >= 0 else None, ops.outcome[row])
