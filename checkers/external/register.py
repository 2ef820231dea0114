"""Registers, keys and locks of anyone's history: zones where values are distinct, the search where they are not.

Question: which operations does this history mean, and which checker decides them?

Limits. A read that answered nil read the initial value. Values of any kind are compared by equality.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from checkers.external.calls import Call, DoesNotFit, by_key, malformed, proof
from checkers.external.values import frozen, shown
from checkers.history.columns import NEVER
from checkers.objects.kinds import clause
from checkers.objects.models import Arg, Model, key, mutex, register
from checkers.objects.register import INITIAL, RegisterInput, check_register
from checkers.objects.result import Violation
from checkers.objects.search import Operation, SearchResult, search_parts
from checkers.objects.window import window_of
from checkers.verdict import Anomaly, Outcome, Verdict


def judge_register(calls: Sequence[Call], place: str, refusals: bool) -> Verdict:
    """read, write and cas by key."""
    parts = [register_part(part, place, refusals) for part in by_key(calls).values()]
    undecided = []
    for of_key, part in zip(by_key(calls).values(), parts, strict=True):
        numbers = _numbers(part)
        result = check_register(_columns(part, numbers))
        if result.violations:
            anomaly = _anomaly(of_key, result.violations[0], {number: value for value, number in numbers.items()})
            return Verdict("register", Outcome.FAIL, (anomaly,), _measures(calls, parts, 0))
        if result.unknown:
            undecided.append(part)
    return _searched("register", calls, undecided, register(), len(parts))


def _anomaly(calls: Sequence[Call], violation: Violation, names: dict[int, Any]) -> Anomaly:
    """A violation of a theorem in words; what is read though it was refused is told with the refusals."""
    refused = _refused_writes(calls, names[violation.values[0]]) if violation.kind == "phantom" else ()
    if refused:
        violation = replace(violation, kind="failed-write-visible", ops=(*refused, *violation.ops))
    meaning = clause("register", violation, lambda value: shown(names[value]))
    sentence = f"{violation.kind}: {meaning}. Proof: {proof(calls, violation.ops)}"
    return Anomaly(violation.kind, sentence, violation.ops, {"values": [shown(names[v]) for v in violation.values]})


def _refused_writes(calls: Sequence[Call], value: Any) -> tuple[int, ...]:
    failed = (call for call in calls if call.f == "write" and call.type == "fail")
    return tuple(call.line for call in failed if frozen(call.asked) == value)


def judge_kv(calls: Sequence[Call], place: str, refusals: bool) -> Verdict:
    """get, put and append of texts by key."""
    parts = [kv_part(part, place) for part in by_key(calls).values()]
    return _searched("kv", calls, parts, key(), len(parts))


def judge_mutex(calls: Sequence[Call], place: str, refusals: bool) -> Verdict:
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
    states = " or ".join(shown(state) for state in result.states[:4])
    more = f" (or {len(result.states) - 4} more)" if len(result.states) > 4 else ""
    sentence = (
        f"no order agrees with {proof(calls, (stuck.op,))}: whatever is tried, the state before its return is "
        f"{states}{more}, and no open operation leads from there to its answer. Proof, from the state "
        f"{shown(window.initial)} on: {_listed(calls, window.operations)}"
    )
    details = {"states": [shown(state) for state in result.states[:16]], "from": shown(window.initial)}
    return Anomaly("no-order", sentence, _ops(stuck, window.operations), details)


def _late(calls: Sequence[Call], last: Sequence[Operation], stuck: Operation) -> Anomaly:
    """Operations that have no order, whatever came before them."""
    sentence = (
        f"no order agrees with {proof(calls, (stuck.op,))}: from no state at all is there one for the operations up to "
        f"it. Proof: {_listed(calls, last)}"
    )
    return Anomaly("no-order", sentence, _ops(stuck, last), {"from": "any state"})


def _listed(calls: Sequence[Call], operations: Sequence[Operation]) -> str:
    lines = sorted(operation.op for operation in operations)
    return f"{calls[0].unit}s {', '.join(map(str, lines[:20]))}{' …' if len(lines) > 20 else ''}"


def _ops(stuck: Operation, operations: Sequence[Operation]) -> tuple[int, ...]:
    """The operation in question first."""
    return (stuck.op, *sorted(operation.op for operation in operations if operation.op != stuck.op))


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
        return [_operation(call, ("refused", value[0]))] if refusals and not call.error else []
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


def _numbers(part: list[Operation]) -> dict[Any, int]:
    """Values as numbers in the order of first mention; nil is the initial value."""
    numbers: dict[Any, int] = {None: INITIAL}
    for operation in part:
        for value in operation.arg[1:]:
            numbers.setdefault(value, len(numbers) - 1)
    return numbers


def _columns(part: list[Operation], numbers: dict[Any, int]) -> RegisterInput:
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
