"""Registers, keys and locks of anyone's history: zones where values are distinct, the search where they are not.

Question: which operations does this history mean, and which checker decides them?

Limits. A read that answered nil read the initial value. Values of any kind are compared by equality.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from checkers.external.calls import Call, DoesNotFit, by_key, frozen, malformed
from checkers.history.columns import NEVER
from checkers.objects.models import Arg, Model, key, mutex, register
from checkers.objects.register import INITIAL, RegisterInput, check_register
from checkers.objects.search import Operation, SearchResult, search_parts
from checkers.objects.window import window_of
from checkers.verdict import Anomaly, Outcome, Verdict


def check_foreign_register(calls: Sequence[Call], place: str, refusals: bool) -> Verdict:
    """read, write and cas by key."""
    parts = [register_part(part, place, refusals) for part in by_key(calls).values()]
    undecided = []
    for part in parts:
        result = check_register(_columns(part)) if _is_distinct(part) else None
        if result is not None and result.violations:
            violation = result.violations[0]
            words = "; ".join(_words(calls, line) for line in violation.ops)
            values = _shown(part, violation.values)
            anomaly = Anomaly(violation.kind, f"{violation.kind}{values}: {words}", violation.ops)
            return Verdict("register", Outcome.FAIL, (anomaly,), _measures(calls, parts, 0))
        if result is None or result.unknown:
            undecided.append(part)
    return _searched("register", calls, undecided, register(), len(parts))


def check_foreign_kv(calls: Sequence[Call], place: str, refusals: bool) -> Verdict:
    """get, put and append of texts by key."""
    parts = [kv_part(part, place) for part in by_key(calls).values()]
    return _searched("kv", calls, parts, key(), len(parts))


def check_foreign_mutex(calls: Sequence[Call], place: str, refusals: bool) -> Verdict:
    """acquire and release by process; a refused acquire counts with *refusals*."""
    parts = []
    for part in by_key(calls).values():
        operations = []
        for call in part:
            if call.f not in ("acquire", "release"):
                raise malformed(place, call, "a lock knows acquire and release")
            if call.type == "fail":
                if refusals and call.f == "acquire":
                    operations.append(_operation(call, ("refused", call.process)))
                continue
            operations.append(_operation(call, (call.f, call.process)))
        parts.append(operations)
    return _searched("mutex", calls, parts, mutex(), len(parts))


def _searched(name: str, calls: Sequence[Call], parts: list[list[Operation]], model: Model, objects: int) -> Verdict:
    result, index = search_parts(parts, model) if parts else (SearchResult(True, 0), -1)
    measures = {"operations": len(calls), "objects": objects, "configurations": result.configurations}
    if result.holds:
        return Verdict(name, Outcome.PASS, measures=measures)
    if result.holds is None:
        reason = f"the search was given up after {result.reason}; part {index} of {len(parts)} is still open"
        return Verdict(name, Outcome.UNKNOWN, measures=measures, reasons=(reason,))
    return Verdict(name, Outcome.FAIL, (_stuck(calls, result, parts[index], model),), measures)


def _stuck(calls: Sequence[Call], result: SearchResult, part: list[Operation], model: Model) -> Anomaly:
    """The operation nothing could get past, and the window that proves it."""
    stuck = result.stuck
    if stuck is None:
        return Anomaly("no-order", "no order of the operations agrees with their answers")
    if result.proof:
        return _late(calls, result.proof, stuck)
    window = window_of(part, model, stuck)
    states = " or ".join(repr(state) for state in result.states[:4])
    more = f" (or {len(result.states) - 4} more)" if len(result.states) > 4 else ""
    sentence = (
        f"no order agrees with {_words(calls, stuck.op)}: whatever is tried, the state before its return is "
        f"{states}{more}, and no open operation leads from there to its answer. Proof, from the state "
        f"{window.initial!r} on: {_listed(calls, window.operations)}"
    )
    details = {"states": [repr(state) for state in result.states[:16]], "from": repr(window.initial)}
    return Anomaly("no-order", sentence, _ops(stuck, window.operations), details)


def _late(calls: Sequence[Call], proof: Sequence[Operation], stuck: Operation) -> Anomaly:
    """Operations that have no order, whatever came before them."""
    sentence = (
        f"no order agrees with {_words(calls, stuck.op)}: from no state at all is there one for the operations up to "
        f"it. Proof: {_listed(calls, proof)}"
    )
    return Anomaly("no-order", sentence, _ops(stuck, proof), {"from": "any state"})


def _listed(calls: Sequence[Call], operations: Sequence[Operation]) -> str:
    lines = sorted(operation.op for operation in operations)
    return f"{calls[0].unit}s {', '.join(map(str, lines[:20]))}{' …' if len(lines) > 20 else ''}"


def _ops(stuck: Operation, operations: Sequence[Operation]) -> tuple[int, ...]:
    """The operation in question first."""
    return (stuck.op, *sorted(operation.op for operation in operations if operation.op != stuck.op))


def _words(calls: Sequence[Call], line: int) -> str:
    return next((call.words() for call in calls if call.line == line), f"{calls[0].unit} {line}")


def _shown(part: list[Operation], values: tuple[int, ...]) -> str:
    names = {number: value for value, number in _numbers(part).items()}
    return f" ({', '.join(repr(names.get(value)) for value in values)})" if values else ""


def _measures(calls: Sequence[Call], parts: list[list[Operation]], configurations: int) -> dict[str, Any]:
    return {"operations": len(calls), "objects": len(parts), "configurations": configurations}


def _operation(call: Call, arg: Arg) -> Operation:
    return Operation(call.call, call.ret, arg, call.line)


def register_part(part: list[Call], place: str, refusals: bool) -> list[Operation]:
    operations = []
    for call in part:
        if call.f == "read":
            if call.type == "ok":
                operations.append(_operation(call, ("read", frozen(call.answered))))
        elif call.f == "write":
            if call.type != "fail":
                operations.append(_operation(call, ("write", frozen(call.asked))))
        elif call.f == "cas":
            operations += _swap(call, place, refusals)
        elif call.f == "txn":
            raise DoesNotFit(f"a transaction over registers is no operation of one ({call.words()})")
        else:
            raise malformed(place, call, "a register knows read, write and cas")
    return operations


def _swap(call: Call, place: str, refusals: bool) -> list[Operation]:
    value = frozen(call.asked)
    if not isinstance(value, tuple) or len(value) != 2:
        raise malformed(place, call, "a swap needs a pair [old new]")
    if call.type == "fail":
        return [_operation(call, ("refused", value[0]))] if refusals else []
    return [_operation(call, ("cas", *value))]


def kv_part(part: list[Call], place: str) -> list[Operation]:
    operations = []
    for call in part:
        if call.f not in ("get", "put", "append"):
            raise malformed(place, call, "a key knows get, put and append")
        value = call.answered if call.f == "get" else call.asked
        if call.type == "fail" or (call.f == "get" and call.type != "ok"):
            continue
        if not isinstance(value, str) and not (call.f == "get" and value is None):
            raise malformed(place, call, "a key holds a text")
        operations.append(_operation(call, (call.f, value or "")))
    return operations


def _is_distinct(part: list[Operation]) -> bool:
    """Whether every written value is new and none is the initial one."""
    written = [operation.arg[-1] for operation in part if operation.arg[0] in ("write", "cas")]
    return len(set(written)) == len(written) and None not in written


def _numbers(part: list[Operation]) -> dict[Any, int]:
    """Values as numbers in the order of first mention; nil is the initial value."""
    numbers: dict[Any, int] = {None: INITIAL}
    for operation in part:
        for value in operation.arg[1:]:
            numbers.setdefault(value, len(numbers) - 1)
    return numbers


def _columns(part: list[Operation]) -> RegisterInput:
    numbers = _numbers(part)

    def columns(kind: str) -> list[Any]:
        some = [operation for operation in part if operation.arg[0] == kind]
        rows = [
            [numbers[operation.arg[1]] for operation in some],
            [numbers[operation.arg[-1]] for operation in some],
            [operation.call for operation in some],
            [int(NEVER) if operation.ret is None else operation.ret for operation in some],
            [operation.op for operation in some],
        ]
        return [np.array(row, dtype=np.int64) for row in rows]

    w, c, r, n = columns("write"), columns("cas"), columns("read"), columns("refused")
    return RegisterInput(*(w[0], *w[2:], *c, r[0], *r[2:], n[0], *n[2:]))
