"""Random small histories of sets, valid or damaged: for the oracle and for the checker."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from checkers.history.columns import NEVER
from checkers.logs.columns import ACKED, FAILED, UNKNOWN
from checkers.objects.sets import SetInput
from suites.unit.checkers.brute import INFINITE, Op
from suites.unit.checkers.draw_log import ints, move


@dataclass
class Call:
    """kind: add (one value) or read (what it showed)."""

    kind: str
    inv: int
    ret: int
    values: list[int] = field(default_factory=list)
    outcome: str = "ok"


def draw(rng: Random) -> list[Call]:
    """Calls of a set that really ran; some values are added twice; damaged with probability 0.6."""
    count, width = rng.randint(3, 9), rng.choice((1, 2, 3, 5))
    held: set[int] = set()
    calls: list[Call] = []
    for instant in sorted(rng.randrange(3 * count) for _ in range(count)):
        inv, ret = max(0, instant - rng.randrange(width)), instant + rng.randrange(width)
        if rng.random() < 0.5:
            calls.append(_add(rng, held, len(calls), inv, ret))
        else:
            shown = sorted(held)
            rng.shuffle(shown)
            calls.append(Call("read", inv, ret, shown))
    if rng.random() < 0.6:
        for _ in range(rng.choice((1, 1, 2, 3))):
            _damage(rng, rng.choice(calls), len(calls))
    return calls


def _add(rng: Random, held: set[int], fresh: int, inv: int, ret: int) -> Call:
    value = rng.randrange(fresh + 1) if rng.random() < 0.1 else fresh
    fate = rng.random()
    if fate < 0.05:
        return Call("add", inv, ret, [value], "fail")
    is_unknown = fate < 0.25
    if not is_unknown or rng.random() < 0.6:
        held.add(value)
    return Call("add", inv, INFINITE if is_unknown else ret, [value], "info" if is_unknown else "ok")


def _damage(rng: Random, call: Call, values: int) -> None:
    way = rng.choice(("later", "earlier", "more", "less"))
    if way in ("later", "earlier"):
        move(rng, call, way)
    elif way == "more" and call.kind == "read":
        call.values.append(rng.randrange(values))
    elif way == "less" and call.kind == "read" and call.values:
        call.values.pop()


def oracle_ops(calls: list[Call]) -> list[Op]:
    """A read is the sorted tuple of what it showed, so one that shows a value twice has no legal instant."""
    return [
        Op(call.inv, call.ret, call.outcome == "ok", (call.kind, tuple(sorted(call.values))))
        for call in calls
        if call.outcome != "fail"
    ]


def set_input(calls: list[Call]) -> SetInput:
    """For the checker; op numbers are indexes."""
    outcomes = {"ok": ACKED, "info": UNKNOWN, "fail": FAILED}
    adds = [(number, call) for number, call in enumerate(calls) if call.kind == "add"]
    reads = [(number, call) for number, call in enumerate(calls) if call.kind == "read"]
    return SetInput(
        a_value=ints([call.values[0] for _, call in adds]),
        a_invoke=ints([call.inv for _, call in adds]),
        a_ret=ints([int(NEVER) if call.outcome == "info" else call.ret for _, call in adds]),
        a_outcome=ints([outcomes[call.outcome] for _, call in adds]),
        a_op=ints([number for number, _ in adds]),
        r_invoke=ints([call.inv for _, call in reads]),
        r_ret=ints([call.ret for _, call in reads]),
        r_count=ints([len(call.values) for _, call in reads]),
        r_op=ints([number for number, _ in reads]),
        shown=ints([value for _, call in reads for value in call.values]),
    )
