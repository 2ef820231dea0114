"""Random small histories of logs, honest or damaged, for the brute-force oracle and for the checker.

Honest ones come from logs that really ran: each operation gets an instant, takes effect there, and an interval around
it; some answers get lost. Damage changes a stamp, an offset, a value, an answer: about half of the histories end up
illegal. Stamps are small integers, so ties are frequent.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

import numpy as np

from checkers.columns import NEVER
from checkers.facts import RunFacts
from checkers.history import History
from checkers.log import ACKED, FAILED, UNKNOWN, Appends, Claims, LogInput, Polls
from suites.unit.checkers.brute import INFINITE, Op
from suites.unit.checkers.build import Build


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


def draw(rng: Random, shape: Shape) -> list[Drawn]:
    """Operations of real logs, then damaged with probability 0.6 (0.9 where copies excuse most of it)."""
    count = rng.randint(*shape.operations)
    logs: list[list[int]] = [[] for _ in range(shape.queues)]
    starts = [0] * shape.queues
    drawn: list[Drawn] = []
    value, width = 0, rng.choice((1, 2, 3, 5))
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
            _outcome(rng, op, log, shape)
        elif kind < 0.85 or not shape.ends:
            _poll(rng, op, log, starts[queue])
        elif kind < 0.95 or not shape.trim:
            op.kind, op.offset = "end", len(log)
        else:
            op.kind, op.offset = "start", starts[queue]
        drawn.append(op)
    if rng.random() < (0.9 if shape.copies else 0.6):
        for _ in range(rng.choice((1, 1, 2, 3))):
            _damage(rng, drawn, shape)
    return drawn


def _again(rng: Random, drawn: list[Drawn]) -> list[int]:
    """What was sent before, or only the end of it."""
    values = rng.choice([op.values for op in drawn if op.kind == "append"] or [[0]])
    return values[rng.randrange(len(values)) if rng.random() < 0.3 else 0 :]


def run_log(rng: Random, log: list[int], begin: int, first_value: int, shape: Shape) -> list[Drawn]:
    """A few operations of one real log from *begin* on; *log* is what it holds, and is changed. What was trimmed before
    may be there again."""
    count, width, start = rng.randint(1, 5), rng.choice((1, 2, 4)), 0
    drawn: list[Drawn] = []
    for number, instant in enumerate(sorted(rng.randrange(3 * count) for _ in range(count))):
        at = begin + instant
        if shape.trim and rng.random() < 0.3:
            start = rng.randint(start, len(log))
        op = Drawn("", 0, max(begin, at - rng.randrange(width)), at + rng.randrange(width), "ok", [], -1, [])
        if rng.random() < 0.55:
            op.kind, op.values, op.offset = "append", [first_value + number], len(log)
            _outcome(rng, op, log, shape)
        elif shape.trim and rng.random() < 0.3:
            op.kind, op.offset = rng.choice((("start", start), ("end", len(log))))
        else:
            _poll(rng, op, log, start)
        drawn.append(op)
    return drawn


def run_half_blind(rng: Random, log: list[int], begin: int, sent: list[int]) -> list[Drawn]:
    """As :func:`run_log`, but half of the sends get no answer, some messages are sent again, and the end is asked for
    more often than what stands before it: who stood where is left open as often as can be. *sent* grows."""
    count, width = rng.randint(1, 4), rng.choice((1, 2, 4))
    drawn: list[Drawn] = []
    for instant in sorted(rng.randrange(3 * count) for _ in range(count)):
        at = begin + instant
        op = Drawn("", 0, max(begin, at - rng.randrange(width)), at + rng.randrange(width), "ok", [], -1, [])
        kind = rng.random()
        if kind < 0.6:
            again = bool(sent) and rng.random() < 0.15
            op.kind, op.values, op.offset = "append", [rng.choice(sent) if again else len(set(sent))], len(log)
            sent += op.values
            if rng.random() < 0.55:
                op.outcome, op.offset, op.ret = "info", -1, INFINITE
            if op.outcome == "ok" or rng.random() < 0.6:
                log += op.values
        elif kind < 0.8:
            op.kind, op.offset = "end", len(log)
        else:
            _poll(rng, op, log, 0)
        drawn.append(op)
    return drawn


def stretch(rng: Random, drawn: list[Drawn], cuts: list[int]) -> None:
    """Some begin at or before a cut that came before them, or are answered at or after one that came later."""
    for op in drawn:
        before = [cut for cut in cuts if cut <= op.inv]
        if before and rng.random() < 0.35:
            op.inv = max(0, rng.choice(before) - rng.randrange(4))
        after = [cut for cut in cuts if cut >= op.ret]
        if after and op.ret < INFINITE and rng.random() < 0.35:
            op.ret = rng.choice(after) + rng.randrange(4)


def spoil(rng: Random, parts: list[list[Drawn]], cuts: list[int], sent: list[int], shape: Shape) -> None:
    """One to three changes somewhere: a stamp, an offset, a message where another was, an answer in another epoch."""
    for _ in range(rng.randint(1, 3)):
        number, way = rng.randrange(len(parts)), rng.random()
        if not parts[number]:
            continue
        if way < 0.2:
            _damage(rng, parts[number], shape)
        elif way < 0.7:
            mislay(rng, parts[number], sent)
        else:
            _carry(rng, parts, cuts, number)


def _carry(rng: Random, parts: list[list[Drawn]], cuts: list[int], number: int) -> None:
    """One operation goes from part *number* to a neighbour: what was lost is back, or what is new was there before."""
    op = rng.choice(parts[number])
    other = number + rng.choice((-1, 1))
    if not 0 <= other < len(parts):
        return
    parts[number].remove(op)
    parts[other].append(op)
    begin = cuts[other - 1] + 2 if other else 0
    end = cuts[other] - 1 if other < len(cuts) else begin + 12
    op.inv = rng.randint(begin, max(begin, end))
    op.ret = op.ret if op.ret >= INFINITE else rng.randint(op.inv, max(op.inv, end))


def mislay(rng: Random, drawn: list[Drawn], sent: list[int]) -> None:
    """One message where another was, or an end that is a little too far: no stamp changes."""
    answers = [op for op in drawn if op.kind in ("poll", "end", "start", "refused") or op.outcome == "ok"]
    if not answers:
        return
    op = rng.choice(answers)
    if op.kind == "poll":
        op.values[rng.randrange(len(op.values))] = rng.choice(sent)
    else:
        op.offset = max(0, op.offset + rng.choice((-1, 1, 1, 2)))


def run_of(logs: list[tuple[list[list[Drawn]], list[int]]]) -> tuple[History, RunFacts]:
    """A run of ours, a broker for each log, with power cuts of its own between its parts; times are milliseconds."""
    names = ("broker-a", "broker-b")[: len(logs)]
    build = Build(names)
    for op in [op for parts, _ in logs for part in parts for op in part]:
        _enter(build, op)
    cuts = [(cut, name) for name, (_, its) in zip(names, logs, strict=True) for cut in its]
    for number, (cut, name) in enumerate(cuts):
        build.fault("cut_power", f"{name}-0", cut, cut, heal=cut + 1, fault=f"f{number}")
    history = build.history()
    nodes: dict[str, dict[str, str]] = {f"{name}-0": {} for name in names}
    return history, RunFacts.from_run({"mode": "multi-master", "nodes": nodes}, history)


def _enter(build: Build, op: Drawn) -> None:
    ret = None if op.ret >= INFINITE else op.ret
    if op.kind == "append":
        status = {"ok": "SEND_OK", "info": "TIMEOUT", "fail": "SERVICE_NOT_AVAILABLE"}[op.outcome]
        build.send(op.inv, ret, op.values[0], op.offset, status=status, queue=op.queue)
    elif op.kind == "end":
        build.query_max(op.inv, op.ret, op.offset, op.queue)
    elif op.kind == "start":
        build.query_min(op.inv, op.ret, op.offset, op.queue)
    elif op.kind == "refused":
        build.trimmed(op.inv, op.ret, op.offset, op.queue)
    else:
        build.pull(op.inv, op.ret, op.offset, op.values, op.queue)


def _outcome(rng: Random, op: Drawn, log: list[int], shape: Shape) -> None:
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


def _poll(rng: Random, op: Drawn, log: list[int], start: int) -> None:
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


def _damage(rng: Random, drawn: list[Drawn], shape: Shape) -> None:
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
