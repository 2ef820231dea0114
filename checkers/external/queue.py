"""Queues and bags of anyone's history: the linear checker where values are distinct, the search where they are not.

Question: which enqueues and dequeues does this history mean?

Model. ``enqueue v``; ``dequeue`` answers a value, or nil (or ``empty``, ``exhausted``, where nobody put that in) for an
empty queue; an unknown dequeue may have taken anything; a failed one took nothing. ``drain`` answers a list: all of
them came out during the call, in any order, and then the queue was empty. Where values are distinct that was not before
the last of them was put in: with that, it may as well have been before they came out, since they could have come and
gone just then.

Limits. An unknown drain, and unknown dequeues of a bag with repeated values, do not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from checkers.external.calls import Call, DoesNotFit, by_key, malformed, proof
from checkers.external.values import frozen, shown
from checkers.history.columns import NEVER
from checkers.logs.columns import ACKED, FAILED, UNKNOWN
from checkers.objects.kinds import clause
from checkers.objects.models import IMPOSSIBLE, Arg, Model, bag, fifo
from checkers.objects.queue import REPEATED, QueueInput, check_queue, total_queue
from checkers.objects.result import Violation
from checkers.objects.search import Operation, search_parts
from checkers.verdict import Anomaly, Outcome, Verdict

_OUTCOMES = {"ok": ACKED, "info": UNKNOWN, "fail": FAILED}
_SAYS_EMPTY = ("empty", "exhausted")
"""Answers that say that nothing was there, unless they were put in as values."""
DRAINED = "drained"
"""Kind of the row that says that a queue was empty when a drain ended."""


def _says_empty(answered: object) -> bool:
    return isinstance(answered, str) and str(answered) in _SAYS_EMPTY


def judge_queue(calls: Sequence[Call], place: str, refusals: bool, *, ordered: bool) -> Verdict:
    """Queues by key; *refusals* do not matter (a refused dequeue says nothing)."""
    name = "queue" if ordered else "bag"
    measures: dict[str, Any] = {"operations": len(calls)}
    repeated = []
    for part in by_key(calls).values():
        rows = rows_of(part, place)
        queue, names = columns_of(rows)
        result = check_queue(queue, ordered=ordered)
        if not result.violations and REPEATED in result.unknown:
            repeated.append(rows)
            continue
        totals = total_queue(queue)
        measures |= {field: measures.get(field, 0) + getattr(totals, field) for field in totals.__slots__}
        if result.holds is not True:
            anomalies = tuple(_anomaly(calls, violation, names) for violation in result.violations)
            outcome = Outcome.FAIL if anomalies else Outcome.UNKNOWN
            return Verdict(name, outcome, anomalies, measures, result.reasons)
    return _searched(name, calls, repeated, ordered, measures)


Row = tuple[str, Any, int, int | None, str, int]
"""(kind, value, call, ret, type, line)"""


def rows_of(calls: Sequence[Call], place: str) -> list[Row]:
    """What the calls on one queue put in or took out."""
    put_in = {frozen(call.asked) for call in calls if call.f == "enqueue"}
    rows = [row for call in calls for row in _rows_of(call, put_in, place)]
    for word in put_in.intersection(_SAYS_EMPTY):
        came = [kind for kind, value, *_ in rows if value == word and kind in ("enqueue", "dequeue")]
        if came.count("dequeue") > came.count("enqueue"):
            raise DoesNotFit(f"{shown(word)} was put in, and it may also say that the queue was empty")
    return rows


def _rows_of(call: Call, put_in: set[Any], place: str) -> list[Row]:
    if call.f == "enqueue":
        if call.asked is None:
            raise malformed(place, call, "nil says that a queue is empty, so it cannot be put in")
        return [("enqueue", frozen(call.asked), call.call, call.ret, call.type, call.line)]
    if call.f == "drain":
        return _drain(call, place)
    if call.f != "dequeue":
        raise malformed(place, call, "a queue knows enqueue, dequeue and drain")
    if call.type == "fail":
        return []
    if call.type == "info":
        return [("crashed", None, call.call, None, "info", call.line)]
    value = frozen(call.answered)
    is_empty = value is None or (value not in put_in and _says_empty(call.answered))
    return [("empty" if is_empty else "dequeue", value, call.call, call.ret, "ok", call.line)]


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
    put_in = {value: call for kind, value, call, _, type_, _ in rows if kind == "enqueue" and type_ != "fail"}
    since = dict.fromkeys(drains, 0)
    for kind, value, *_, line in rows:
        if kind == "dequeue" and line in drains:
            since[line] = max(since[line], put_in.get(value, 0))
    return [("empty", None, _begun(row, since), *row[3:]) if row[0] == DRAINED else row for row in rows]


def _begun(row: Row, since: dict[int, int]) -> int:
    """From when on the end of a drain was an answer; a value that was put in after it is a violation of its own."""
    ret = row[2] if row[3] is None else row[3]
    return min(max(row[2], since[row[5]]), ret)


def _anomaly(calls: Sequence[Call], violation: Violation, names: dict[int, Any]) -> Anomaly:
    meaning = clause("queue", violation, lambda value: shown(names[value]))
    sentence = f"{violation.kind}: {meaning}. Proof: {proof(calls, violation.ops)}"
    return Anomaly(violation.kind, sentence, violation.ops, {"values": [shown(names[v]) for v in violation.values]})


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
