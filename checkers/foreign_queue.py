"""Queues and bags of anyone's history: the linear checker where values are distinct, the search where they are not.

Question: which enqueues and dequeues does this history mean?

Model. ``enqueue v``; ``dequeue`` answers a value, or nil (or ``empty``) for an empty queue; an unknown dequeue may have
taken anything; a failed one took nothing. ``drain`` answers a list: all of them came out during the call, and the queue
was empty at its end.

Limits. An unknown drain, and unknown dequeues of a bag with repeated values, do not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from checkers.columns import NEVER
from checkers.importers.calls import Call, DoesNotFit, by_key, frozen, malformed
from checkers.log_input import ACKED, FAILED, UNKNOWN
from checkers.models import bag, fifo
from checkers.queue import QueueInput, check_queue, total_queue
from checkers.search import Operation, search_parts
from checkers.verdict import Anomaly, Outcome, Verdict

_OUTCOMES = {"ok": ACKED, "info": UNKNOWN, "fail": FAILED}
_EMPTY = (None, "empty", "exhausted")


def check_foreign_queue(calls: Sequence[Call], place: str, refusals: bool, *, ordered: bool) -> Verdict:
    """Queues by key; *refusals* do not matter (a refused dequeue says nothing)."""
    name = "queue" if ordered else "bag"
    measures: dict[str, Any] = {"operations": len(calls)}
    repeated = []
    for part in by_key(calls).values():
        rows = [row for call in part for row in rows_of(call, place)]
        values = [row[1] for row in rows if row[0] == "enqueue"]
        if len(set(values)) < len(values):
            repeated.append(rows)
            continue
        queue, names = columns_of(rows)
        totals = total_queue(queue)
        measures |= {field: measures.get(field, 0) + getattr(totals, field) for field in totals.__slots__}
        result = check_queue(queue, ordered=ordered)
        if result.violations or result.unknown:
            anomalies = tuple(_anomaly(calls, violation, names) for violation in result.violations)
            outcome = Outcome.FAIL if anomalies else Outcome.UNKNOWN
            return Verdict(name, outcome, anomalies, measures, result.unknown)
    return _searched(name, calls, repeated, ordered, measures)


Row = tuple[str, Any, int, int | None, str, int]
"""(kind, value, call, ret, type, line)"""


def rows_of(call: Call, place: str) -> list[Row]:
    """What one call put in or took out."""
    if call.f == "enqueue":
        return [("enqueue", frozen(call.asked), call.call, call.ret, call.type, call.line)]
    if call.f == "drain":
        return _drain(call, place)
    if call.f != "dequeue":
        raise malformed(place, call, "a queue knows enqueue, dequeue and drain")
    if call.type == "fail":
        return []
    if call.type == "info":
        return [("crashed", None, call.call, None, "info", call.line)]
    kind = "empty" if call.answered in _EMPTY else "dequeue"
    return [(kind, frozen(call.answered), call.call, call.ret, "ok", call.line)]


def _drain(call: Call, place: str) -> list[Row]:
    if call.type == "fail":
        return []
    if call.type == "info":
        raise DoesNotFit(f"an unknown drain may have taken any number of values ({call.words()})")
    if not isinstance(call.answered, list):
        raise malformed(place, call, "a drain answers a list")
    taken = [("dequeue", frozen(value), call.call, call.ret, "ok", call.line) for value in call.answered]
    return [*taken, ("empty", None, call.call, call.ret, "ok", call.line)]


def columns_of(rows: list[Row]) -> tuple[QueueInput, dict[int, Any]]:
    numbers: dict[Any, int] = {}
    for kind, value, *_ in rows:
        if kind in ("enqueue", "dequeue"):
            numbers.setdefault(value, len(numbers))

    def column(kind: str, pick: int) -> Any:
        cells: list[Any] = [row[pick] for row in rows if row[0] == kind]
        if pick == 1:
            cells = [numbers[cell] for cell in cells]
        elif pick == 3:
            cells = [int(NEVER) if cell is None else cell for cell in cells]
        elif pick == 4:
            cells = [_OUTCOMES[cell] for cell in cells]
        return np.array(cells, dtype=np.int64)

    queue = QueueInput(
        *(column("enqueue", pick) for pick in (1, 2, 3, 4, 5)),
        *(column("dequeue", pick) for pick in (1, 2, 3, 5)),
        *(column("empty", pick) for pick in (2, 3, 5)),
        *(column("crashed", pick) for pick in (2, 5)),
    )
    return queue, {number: value for value, number in numbers.items()}


_MEANS = {
    "VFresh": "came out although it was never (or not yet) put in",
    "VRepet": "came out twice",
    "VOrd": "came out in the wrong order",
    "VWit": "the queue was said to be empty while it cannot have been",
    "lost-overtaken": "never came out, although one put in later did",
    "lost-empty": "never came out, and yet the queue was said to be empty",
}


def _anomaly(calls: Sequence[Call], violation: Any, names: dict[int, Any]) -> Anomaly:
    values = ", ".join(repr(names[value]) for value in violation.values)
    words = "; ".join(call.words() for call in calls if call.line in violation.ops)
    sentence = f"{values}: {_MEANS[violation.kind]}. Proof: {words}"
    return Anomaly(violation.kind, sentence, violation.ops, {"values": [repr(names[v]) for v in violation.values]})


def _searched(
    name: str, calls: Sequence[Call], parts: list[list[Row]], ordered: bool, measures: dict[str, Any]
) -> Verdict:
    if not parts:
        return Verdict(name, Outcome.PASS, measures=measures)
    histories = [[_operation(row) for row in rows if row[4] != "fail"] for rows in parts]
    if not ordered and any(operation.arg == ("take",) for part in histories for operation in part):
        raise DoesNotFit("a bag with repeated values and unknown dequeues: anything may have been taken")
    result, index = search_parts(histories, fifo() if ordered else bag())
    measures |= {"configurations": result.configurations}
    if result.linearizable:
        return Verdict(name, Outcome.PASS, measures=measures)
    if result.linearizable is None:
        reason = f"the search was given up after {result.reason}; part {index} is still open"
        return Verdict(name, Outcome.UNKNOWN, measures=measures, reasons=(reason,))
    line = result.stuck.op if result.stuck else -1
    words = next((call.words() for call in calls if call.line == line), "")
    sentence = f"no order agrees with {words}; before it the queue was {result.states[:2]!r}"
    return Verdict(name, Outcome.FAIL, (Anomaly("no-order", sentence, (line,)),), measures)


def _operation(row: Row) -> Operation:
    kind, value, call, ret, _, line = row
    arg = {"enqueue": ("enqueue", value), "dequeue": ("dequeue", value), "empty": ("empty",), "crashed": ("take",)}[
        kind
    ]
    return Operation(call, ret, arg, line)
