"""Random small histories of a group's log, read by index: as it was, or damaged; for the theorem and for its oracles.

A log runs: clients append to it, some of them without an answer, and leaders write entries of their own. Gets are
answered at an instant inside their interval, a few by a leader that was deposed (as the log was some entries ago) or
by one that shows what is not committed (an entry that comes later). Damage moves a stamp, an index or a value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from checkers.history.columns import NEVER
from checkers.logs.columns import ACKED, FAILED, UNKNOWN, Appends
from checkers.logs.entries import LEADERS_OWN, NOTHING, Gets
from checkers.objects.search import Operation
from suites.unit.checkers.brute import INFINITE, Op
from suites.unit.checkers.draw_log import ints, move

INDICES = 6
"""Entries of an oracle's log at most; drawn histories stay below."""


@dataclass
class Drawn:
    """``kind`` append or get. ``outcome`` ok, info or fail; a get's ok. A get's ``value`` also NOTHING, LEADERS_OWN."""

    kind: str
    value: int
    index: int
    inv: int
    ret: int
    outcome: str = "ok"


@dataclass
class _Running:
    """The log, and what came of it."""

    leaders_write: bool
    log: list[int] = field(default_factory=list)
    drawn: list[Drawn] = field(default_factory=list)


def draw(rng: Random, leaders_write: bool) -> list[Drawn]:
    """Three to eight operations, a half of the histories damaged."""
    running = _Running(leaders_write)
    count, width = rng.randint(3, 8), rng.choice((1, 2, 3, 5))
    for value, instant in enumerate(sorted(rng.randrange(3 * count) for _ in range(count))):
        inv, ret = max(0, instant - rng.randrange(width)), instant + rng.randrange(width)
        if leaders_write and len(running.log) < INDICES - 2 and rng.random() < 0.15:
            running.log.append(LEADERS_OWN)
        if rng.random() < 0.5 and len(running.log) < INDICES - 1:
            _append(rng, running, Drawn("append", value, len(running.log), inv, ret))
        else:
            _get(rng, running, inv, ret)
    if running.drawn and rng.random() < 0.5:
        for _ in range(rng.choice((1, 1, 2))):
            _damage(rng, running)
    return running.drawn


def _append(rng: Random, running: _Running, op: Drawn) -> None:
    fate = rng.random()
    running.drawn.append(op)
    if fate < 0.3:
        op.outcome = "fail" if fate < 0.07 else "info"
        op.index, op.ret = -1, op.ret if op.outcome == "fail" else INFINITE
    if fate >= 0.2:
        running.log.append(op.value)


def _get(rng: Random, running: _Running, inv: int, ret: int) -> None:
    log = running.log
    index = rng.randint(0, min(len(log) + 1, INDICES - 1))
    shown = len(log) - (rng.randint(1, 2) if rng.random() < 0.1 else 0)
    running.drawn.append(Drawn("get", log[index] if index < shown else NOTHING, index, inv, ret))


def _damage(rng: Random, running: _Running) -> None:
    op = rng.choice(running.drawn)
    way = rng.choice(("later", "earlier", "index", "value"))
    if way in ("later", "earlier"):
        move(rng, op, way)
    elif way == "index" and op.index >= 0:
        op.index = min(INDICES - 1, max(0, op.index + rng.choice((-1, 1))))
    elif op.kind == "get":
        own = [LEADERS_OWN] if running.leaders_write else []
        op.value = rng.choice([NOTHING, *own, *range(5)])


def columns(drawn: list[Drawn]) -> tuple[Appends, Gets]:
    """For the theorem; op numbers are indexes into *drawn*."""
    sent = [(number, op) for number, op in enumerate(drawn) if op.kind == "append"]
    outcomes = {"ok": ACKED, "info": UNKNOWN, "fail": FAILED}
    appends = Appends(
        queue=ints([0 for _ in sent]),
        value=ints([op.value for _, op in sent]),
        offset=ints([op.index if op.outcome == "ok" else -1 for _, op in sent]),
        invoke=ints([op.inv for _, op in sent]),
        ret=ints([int(NEVER) if op.outcome == "info" else op.ret for _, op in sent]),
        outcome=ints([outcomes[op.outcome] for _, op in sent]),
        op=ints([number for number, _ in sent]),
    )
    read = [(number, op) for number, op in enumerate(drawn) if op.kind == "get"]
    gets = Gets(
        queue=ints([0 for _ in read]),
        index=ints([op.index for _, op in read]),
        value=ints([op.value for _, op in read]),
        invoke=ints([op.inv for _, op in read]),
        ret=ints([op.ret for _, op in read]),
        op=ints([number for number, _ in read]),
    )
    return appends, gets


def oracle_ops(drawn: list[Drawn]) -> list[Op]:
    """For the brute force; what was refused never happened."""
    kept = [op for op in drawn if op.outcome != "fail"]
    return [
        Op(op.inv, op.ret, op.outcome == "ok", (op.kind, op.value, op.index if op.outcome == "ok" else None))
        for op in kept
    ]


def oracle_step(leaders_write: bool) -> Callable[[Any, tuple[Any, ...]], Iterable[Hashable]]:
    """A list; before an append or a read leaders may have written to it, as late as possible."""

    def step(state: tuple[int, ...], what: tuple[Any, ...]) -> Iterable[Hashable]:
        kind, value, index = what
        end = len(state)
        if kind == "append":
            for place in range(end, INDICES if leaders_write else end + 1):
                if index is None or index == place:
                    yield (*state, *(LEADERS_OWN,) * (place - end), value)
        elif value == NOTHING:
            if index >= end:
                yield state
        elif index < end:
            if state[index] == value:
                yield state
        elif leaders_write and value == LEADERS_OWN:
            yield (*state, *(LEADERS_OWN,) * (index + 1 - end))

    return step


def search_operations(drawn: list[Drawn], leaders_write: bool) -> list[Operation]:
    """For the general search on :func:`checkers.objects.models.stream`: a leader's entry is an append of a record like
    any other that began before everything and was not answered, as many of them as there are indices."""
    own = [Operation(0, None, ("append", ("own",), None))] * (1 + max((op.index for op in drawn), default=0))
    operations = own if leaders_write else []
    return operations + [
        Operation(op.inv, None if op.outcome == "info" else op.ret, _searched(op))
        for op in drawn
        if op.outcome != "fail"
    ]


def _searched(op: Drawn) -> tuple[Any, ...]:
    if op.kind == "append":
        return ("append", (op.value,), op.index if op.outcome == "ok" else None)
    if op.value == NOTHING:
        return ("empty", op.index)
    return ("poll", op.index, ("own" if op.value == LEADERS_OWN else op.value,))
