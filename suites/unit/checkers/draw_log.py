"""Random small histories of logs, valid or damaged, for the brute-force oracle and for the checker.

Valid ones come from logs that really ran: each operation gets an instant, takes effect there, and an interval around
it; some answers get lost. Damage changes a stamp, an offset, a value, an answer: about half of the histories end up
illegal. Stamps are small integers, so ties are frequent.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

import numpy as np

from checkers.history.columns import NEVER
from checkers.logs.linear import ACKED, FAILED, UNKNOWN, Appends, Claims, LogInput, Polls
from suites.unit.checkers.brute import INFINITE, Op


@dataclass
class Drawn:
    """One operation: what a client saw. ``outcome`` ok, info or fail (appends only may be info or fail)."""

    kind: str
    queue: int
    inv: int
    ret: int
    outcome: str
    values: list[int]
    offset: int
    """Answered (append), asked (poll, empty, refused) or answered (end, start)."""
    offsets: list[int]
    process: int = 0
    position: int = -1
    """Where in the log of its broker a message was stored, in bytes, if the broker said so and anybody asks."""


@dataclass(frozen=True)
class Shape:
    """Which features a draw may use."""

    queues: int = 1
    trim: bool = False
    batches: bool = False
    ends: bool = True
    pooled: bool = False
    retries: bool = False
    """A message may be sent again, as an operation of its own, to any queue; of a batch all or its end."""
    copies: bool = False
    """A message may be stored again, and nobody tells."""
    operations: tuple[int, int] = (3, 9)
    widths: tuple[int, ...] = (1, 2, 3, 5)
    """How far an operation may reach to either side of the instant at which it took effect."""


def draw(rng: Random, shape: Shape) -> list[Drawn]:
    """Operations of real logs, then damaged with probability 0.6 (0.9 where copies excuse most of it)."""
    count = rng.randint(*shape.operations)
    logs: list[list[int]] = [[] for _ in range(shape.queues)]
    starts = [0] * shape.queues
    drawn: list[Drawn] = []
    value, width = 0, rng.choice(shape.widths)
    for instant in sorted(rng.randrange(3 * count) for _ in range(count)):
        queue = rng.randrange(shape.queues)
        log = logs[queue]
        if shape.trim and rng.random() < 0.15 and log:
            starts[queue] = rng.randint(starts[queue], len(log))
        inv, ret = max(0, instant - rng.randrange(width)), instant + rng.randrange(width)
        if shape.copies and log and rng.random() < 0.25:
            log.append(rng.choice(log))
        op = Drawn("", queue, inv, ret, "ok", [], -1, [], rng.randrange(3))
        kind = rng.random()
        if kind < 0.5:
            size = rng.choice((1, 1, 2, 3)) if shape.batches else 1
            op.kind, op.values, op.offset = "append", list(range(value, value + size)), len(log)
            value += size
            if shape.retries and value > 1 and rng.random() < 0.4:
                op.values = _again(rng, drawn) if shape.batches else [rng.randrange(value - 1)]
            end_somehow(rng, op, log, shape)
        elif kind < 0.85 or not shape.ends:
            poll_somewhere(rng, op, log, starts[queue])
        elif kind < 0.95 or not shape.trim:
            op.kind, op.offset = "end", len(log)
        else:
            op.kind, op.offset = "start", starts[queue]
        drawn.append(op)
    if rng.random() < (0.9 if shape.copies else 0.6):
        for _ in range(rng.choice((1, 1, 2, 3))):
            damage(rng, drawn, shape)
    return drawn


def _again(rng: Random, drawn: list[Drawn]) -> list[int]:
    """What was sent before, or only the end of it."""
    values = rng.choice([op.values for op in drawn if op.kind == "append"] or [[0]])
    return values[rng.randrange(len(values)) if rng.random() < 0.3 else 0 :]


def end_somehow(rng: Random, op: Drawn, log: list[int], shape: Shape) -> None:
    """Let the append *op* be acknowledged, fail, or get no answer; *log* holds it, if it took effect."""
    fate = rng.random()
    if fate < 0.06:
        op.outcome, op.offset = "fail", -1
        return
    if fate < 0.3:
        op.outcome, op.offset, op.ret = "info", -1, INFINITE
        if shape.pooled and rng.random() < 0.5:
            op.queue = -1
        if rng.random() < 0.4:
            return
    log.extend(op.values)


def poll_somewhere(rng: Random, op: Drawn, log: list[int], start: int) -> None:
    """Let *op* read *log*, which begins at *start*."""
    asked = rng.randint(0, len(log) + 1)
    op.offset = asked
    if asked < start:
        op.kind = "refused"
    elif asked >= len(log):
        op.kind = "empty"
    else:
        op.kind = "poll"
        end = rng.randint(asked + 1, len(log))
        op.offsets, op.values = list(range(asked, end)), log[asked:end]


class Timed(Protocol):
    inv: int
    ret: int


def move(rng: Random, op: Timed, way: str) -> None:
    """Let *op* begin *later*, or return *earlier*, by up to ten stamps."""
    if way == "later":
        op.inv += rng.randint(1, 10)
        op.ret = max(op.ret, op.inv)
    elif op.ret < INFINITE:
        op.ret = max(0, op.ret - rng.randint(1, 10))
        op.inv = min(op.inv, op.ret)


def damage(rng: Random, drawn: list[Drawn], shape: Shape) -> None:
    """One change that fits the operation: its interval, its offset, what it read, or how it ended."""
    op = rng.choice(drawn)
    way = rng.choice(_WAYS[op.kind])
    if way in ("later", "earlier"):
        move(rng, op, way)
    elif way == "offset" and op.offset >= 0:
        op.offset = max(0, op.offset + rng.choice((-2, -1, 1)))
    elif way == "value":
        op.values[rng.randrange(len(op.values))] = rng.randrange(8)
    elif way == "empty":
        op.kind, op.values, op.offsets = "empty", [], []
    elif way == "outcome" and op.outcome == "ok":
        op.outcome = rng.choice(("info", "fail"))
        op.offset, op.ret = -1, INFINITE if op.outcome == "info" else op.ret


_WAYS = {
    "append": ("later", "earlier", "offset", "outcome"),
    "poll": ("later", "earlier", "value", "empty"),
    "empty": ("later", "earlier", "offset"),
    "end": ("later", "earlier", "offset"),
    "start": ("later", "earlier", "offset"),
    "refused": ("later", "earlier", "offset"),
}


def oracle_ops(drawn: list[Drawn]) -> list[Op]:
    """For the brute force; failed appends are no operations there (they never happened)."""
    ops = []
    for op in drawn:
        what: tuple[Any, ...]
        if op.kind == "append":
            if op.outcome == "fail":
                continue
            what = ("append", op.queue, tuple(op.values), None if op.outcome == "info" else op.offset)
        elif op.kind == "poll":
            what = ("poll", op.queue, op.offset, tuple(zip(op.offsets, op.values, strict=True)))
        else:
            what = (op.kind, op.queue, op.offset)
        ops.append(Op(op.inv, op.ret, op.outcome == "ok", what))
    return ops


def copies_of(drawn: list[Drawn], each: int) -> list[Op]:
    """For the brute force: each append that did not fail may be stored so many times more."""
    appends = [op for op in drawn if op.kind == "append" and op.outcome != "fail"]
    return [Op(op.inv, INFINITE, False, ("append", op.queue, tuple(op.values), None)) for op in appends] * each


def log_input(drawn: list[Drawn], queues: int) -> LogInput:
    """For the checker; op numbers are indexes into *drawn*."""
    return LogInput(
        queues,
        appends=_appends(drawn),
        polls=_polls(drawn),
        empties=_claims(drawn, "empty"),
        ends=_claims(drawn, "end"),
        starts=_claims(drawn, "start"),
        refused=_claims(drawn, "refused"),
    )


def ints(values: list[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


def _appends(drawn: list[Drawn]) -> Appends:
    rows = []
    for number, op in enumerate(drawn):
        if op.kind == "append":
            kind = {"ok": ACKED, "info": UNKNOWN, "fail": FAILED}[op.outcome]
            ret = int(NEVER) if kind == UNKNOWN else op.ret
            batch = number if len(op.values) > 1 else -1
            for index, value in enumerate(op.values):
                offset = op.offset + index if kind == ACKED else -1
                rows.append((op.queue, value, offset, op.inv, ret, kind, number, batch))
    columns = [ints([row[i] for row in rows]) for i in range(8)]
    return Appends(*columns) if (columns[7] >= 0).any() else Appends(*columns[:7])


def _polls(drawn: list[Drawn]) -> Polls:
    polls = [(number, op) for number, op in enumerate(drawn) if op.kind == "poll"]
    return Polls(
        queue=ints([op.queue for _, op in polls]),
        count=ints([len(op.values) for _, op in polls]),
        invoke=ints([op.inv for _, op in polls]),
        ret=ints([op.ret for _, op in polls]),
        op=ints([number for number, _ in polls]),
        asked=ints([op.offset for _, op in polls]),
        offset=ints([offset for _, op in polls for offset in op.offsets]),
        value=ints([value for _, op in polls for value in op.values]),
    )


def _claims(drawn: list[Drawn], kind: str) -> Claims:
    ops = [(number, op) for number, op in enumerate(drawn) if op.kind == kind]
    return Claims(
        queue=ints([op.queue for _, op in ops]),
        at=ints([op.offset for _, op in ops]),
        invoke=ints([op.inv for _, op in ops]),
        ret=ints([op.ret for _, op in ops]),
        op=ints([number for number, _ in ops]),
    )
