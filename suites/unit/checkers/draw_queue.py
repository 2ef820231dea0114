"""Random small histories of FIFO queues and bags, valid or damaged: for the oracle and for the checker."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from checkers.history.columns import NEVER
from checkers.logs.columns import ACKED, FAILED, UNKNOWN
from checkers.objects.queue import QueueInput
from suites.unit.checkers.brute import INFINITE, Op
from suites.unit.checkers.draw_log import ints, move


@dataclass
class Call:
    """kind: enqueue, dequeue (value known), empty, crashed (an unknown dequeue)."""

    kind: str
    value: int
    inv: int
    ret: int
    outcome: str = "ok"


def draw(rng: Random, ordered: bool, operations: tuple[int, int] = (3, 9)) -> list[Call]:
    """Calls of a queue that really ran, then damaged with probability 0.6."""
    count, width = rng.randint(*operations), rng.choice((1, 2, 3, 5))
    held: list[int] = []
    calls: list[Call] = []
    value = 0
    for instant in sorted(rng.randrange(3 * count) for _ in range(count)):
        inv, ret = max(0, instant - rng.randrange(width)), instant + rng.randrange(width)
        if rng.random() < 0.5:
            calls.append(_enqueue(rng, held, value, inv, ret))
            value += 1
        else:
            calls.append(_dequeue(rng, held, ordered, inv, ret))
    if rng.random() < 0.6:
        for _ in range(rng.choice((1, 1, 2, 3))):
            _damage(rng, calls, value)
    return calls


def _enqueue(rng: Random, held: list[int], value: int, inv: int, ret: int) -> Call:
    fate = rng.random()
    if fate < 0.05:
        return Call("enqueue", value, inv, ret, "fail")
    if fate < 0.2:
        if rng.random() < 0.6:
            held.append(value)
        return Call("enqueue", value, inv, INFINITE, "info")
    held.append(value)
    return Call("enqueue", value, inv, ret)


def _dequeue(rng: Random, held: list[int], ordered: bool, inv: int, ret: int) -> Call:
    is_lost, knows = rng.random() < 0.2, rng.random() < 0.3
    if not held:
        return Call("crashed", -1, inv, INFINITE, "info") if is_lost else Call("empty", -1, inv, ret)
    value = held.pop(0 if ordered else rng.randrange(len(held)))
    if not is_lost:
        return Call("dequeue", value, inv, ret)
    if rng.random() < 0.3:
        held.insert(0, value)
    return Call("dequeue" if knows else "crashed", value if knows else -1, inv, INFINITE, "info")


def _damage(rng: Random, calls: list[Call], values: int) -> None:
    call = rng.choice(calls)
    way = rng.choice(("later", "earlier", "value", "kind"))
    if way in ("later", "earlier"):
        move(rng, call, way)
    elif way == "value" and call.kind == "dequeue":
        call.value = rng.randrange(values + 1)
    elif way == "kind" and call.kind == "dequeue" and call.outcome == "ok":
        call.kind, call.value = "empty", -1


def oracle_ops(calls: list[Call]) -> list[Op]:
    return [
        Op(call.inv, call.ret, call.outcome == "ok", (call.kind, call.value))
        for call in calls
        if call.outcome != "fail"
    ]


def queue_input(calls: list[Call]) -> QueueInput:
    """For the checker; op numbers are indexes."""

    def some(kind: str) -> list[tuple[int, Call]]:
        return [(number, call) for number, call in enumerate(calls) if call.kind == kind]

    def never(call: Call) -> int:
        return int(NEVER) if call.outcome == "info" else call.ret

    outcomes = {"ok": ACKED, "info": UNKNOWN, "fail": FAILED}
    enqueues, dequeues, empties, crashed = (some(kind) for kind in ("enqueue", "dequeue", "empty", "crashed"))
    return QueueInput(
        e_value=ints([call.value for _, call in enqueues]),
        e_invoke=ints([call.inv for _, call in enqueues]),
        e_ret=ints([never(call) for _, call in enqueues]),
        e_outcome=ints([outcomes[call.outcome] for _, call in enqueues]),
        e_op=ints([number for number, _ in enqueues]),
        d_value=ints([call.value for _, call in dequeues]),
        d_invoke=ints([call.inv for _, call in dequeues]),
        d_ret=ints([never(call) for _, call in dequeues]),
        d_op=ints([number for number, _ in dequeues]),
        n_invoke=ints([call.inv for _, call in empties]),
        n_ret=ints([call.ret for _, call in empties]),
        n_op=ints([number for number, _ in empties]),
        c_invoke=ints([call.inv for _, call in crashed]),
        c_op=ints([number for number, _ in crashed]),
    )
