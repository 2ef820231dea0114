"""Queues and bags of anyone's history: the linear checker where values are distinct, the search where they are not.

Question: which enqueues and dequeues does this history mean?

Model. ``enqueue v``; ``dequeue`` answers a value, or nil (or ``empty``) for an empty queue; an unknown dequeue may have
taken anything; a failed one took nothing. ``drain`` answers a list: all of them came out during the call, in any order,
and then the queue was empty. Where values are distinct that was not before the last of them was put in: with that, it
may as well have been before they came out, since they could have come and gone just then.

Limits. An unknown drain, and unknown dequeues of a bag with repeated values, do not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from checkers.external.calls import Call, DoesNotFit, by_key, frozen, malformed
from checkers.history.columns import NEVER
from checkers.logs.columns import ACKED, FAILED, UNKNOWN
from checkers.objects.models import IMPOSSIBLE, Arg, Model, bag, fifo
from checkers.objects.queue import QueueInput, check_queue, total_queue
from checkers.objects.search import Operation, search_parts
from checkers.verdict import Anomaly, Outcome, Verdict

_OUTCOMES = {"ok": ACKED, "info": UNKNOWN, "fail": FAILED}
_EMPTY = (None, "empty", "exhausted")
DRAINED = "drained"
"""Kind of the row that says that a queue was empty when a drain ended."""


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
    return [*taken, (DRAINED, None, call.call, call.ret, "ok", call.line)]


def columns_of(rows: list[Row]) -> tuple[QueueInput, dict[int, Any]]:
    numbers: dict[Any, int] = {}
    for kind, value, *_ in rows:
        if kind in ("enqueue", "dequeue"):
            numbers.setdefault(value, len(numbers))
    rows = _empties(rows)

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


def _empties(rows: list[Row]) -> list[Row]:
    """Ends of drains as answers "empty" that were not asked for before the last value that came out was put in."""
    drains = {line for kind, *_, line in rows if kind == DRAINED}
    put_in = {value: call for kind, value, call, *_ in rows if kind == "enqueue"} if drains else {}
    since = dict.fromkeys(drains, 0)
    for kind, value, *_, line in rows:
        if kind == "dequeue" and line in drains:
            since[line] = max(since[line], put_in.get(value, 0))
    return [("empty", None, _begun(row, since), *row[3:]) if row[0] == DRAINED else row for row in rows]


def _begun(row: Row, since: dict[int, int]) -> int:
    """From when on the end of a drain was an answer; a value that was put in after it is a violation of its own."""
    ret = row[2] if row[3] is None else row[3]
    return min(max(row[2], since[row[5]]), ret)


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
    histories = [_operations(rows) for rows in parts]
    if not ordered and any(operation.arg == ("take",) for part in histories for operation in part):
        raise DoesNotFit("a bag with repeated values and unknown dequeues: anything may have been taken")
    result, index = search_parts(histories, _with_drains(fifo() if ordered else bag()))
    measures |= {"configurations": result.configurations}
    if result.holds:
        return Verdict(name, Outcome.PASS, measures=measures)
    if result.holds is None:
        reason = f"the search was given up after {result.reason}; part {index} is still open"
        return Verdict(name, Outcome.UNKNOWN, measures=measures, reasons=(reason,))
    line = result.stuck.op if result.stuck else -1
    words = next((call.words() for call in calls if call.line == line), "")
    sentence = (
        f"no order agrees with {words}; before it the queue was {tuple(queue for queue, _ in result.states[:2])!r}"
    )
    return Verdict(name, Outcome.FAIL, (Anomaly("no-order", sentence, (line,)),), measures)


def _operations(rows: list[Row]) -> list[Operation]:
    """For the search; what a drain took and its end bear its number and how many there were."""
    drains = {row[5]: number for number, row in enumerate(row for row in rows if row[0] == DRAINED)}
    taken = dict.fromkeys(drains, 0)
    for row in rows:
        if row[0] == "dequeue" and row[5] in drains:
            taken[row[5]] += 1
    operations = []
    for kind, value, call, ret, type_, line in rows:
        arg: Arg = {"enqueue": ("enqueue", value), "dequeue": ("dequeue", value), "crashed": ("take",)}.get(
            kind, ("empty",)
        )
        if line in drains:
            arg = (DRAINED, drains[line], taken[line]) if kind == DRAINED else (*arg, drains[line])
        if type_ != "fail":
            operations.append(Operation(call, ret, arg, line))
    return operations


def _with_drains(model: Model) -> Model:
    """*model* that also counts what each drain took: its end comes after all of it, and finds nothing."""

    def step(state: Any, arg: Arg) -> Any:
        queue, taken = state
        if arg[0] == DRAINED:
            return state if not queue and taken.count(arg[1]) == arg[2] else IMPOSSIBLE
        after = model.step(queue, arg[:2])
        if after is IMPOSSIBLE:
            return after
        return after, taken if len(arg) < 3 else tuple(sorted((*taken, arg[2])))

    def observes(arg: Arg) -> bool:
        return arg[0] == DRAINED or model.observes(arg)

    return Model(model.name, (model.initial, ()), step, observes, is_lazy=False)
