"""Large histories of objects that really worked, and violations planted into them at the distance of one stamp.

Question: is a history of a million operations decided right and fast, and is one wrong event among them found?

Model. Operation i takes effect at instant 16·i; its interval reaches back and forward by up to ``processes`` instants.
So about that many operations are open at any time, as with as many clients. Everything is made with numpy, from a
seed. ``PLANTS`` puts one violation of each kind of the catalogue at a fraction of the history; each has a *near miss*,
the same change one stamp less, which must stay legal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from checkers.history.columns import NEVER, Ints
from checkers.logs.linear import ACKED, FAILED, UNKNOWN, Appends, Claims, LogInput, Polls
from checkers.objects.queue import QueueInput
from checkers.objects.register import RegisterInput
from checkers.objects.search import Operation

STEP = 16


def intervals(rng: np.random.Generator, count: int, processes: int, ties: bool = False) -> tuple[Ints, Ints]:
    """(invocations, returns) around instants; with *ties* on a coarse clock, so that many stamps are equal."""
    instant = np.arange(count, dtype=np.int64) * STEP + STEP * processes
    back, forth = (rng.integers(0, STEP * processes // 2 + 1, count) for _ in range(2))
    invoke, ret = instant - back, instant + forth
    return (invoke // 64 * 64, ret // 64 * 64 + 64) if ties else (invoke, ret)


def log_history(
    count: int,
    *,
    processes: int = 10,
    queues: int = 4,
    unknown: float = 0.01,
    batch: int = 20,
    seed: int = 1,
    ties: bool = False,
) -> LogInput:
    """*count* operations, half appends; polls read up to *batch* of the newest messages of a queue."""
    rng = np.random.default_rng(seed)
    invoke, ret = intervals(rng, count, processes, ties)
    is_append, queue = rng.random(count) < 0.5, rng.integers(0, queues, count)
    lost = is_append & (rng.random(count) < unknown)
    happened = is_append & ~(lost & (rng.random(count) < 0.5))
    value = np.cumsum(is_append) - 1
    offset, end = _offsets(queue, happened, queues)
    appends = np.flatnonzero(is_append)
    acked = ~lost[appends]
    return LogInput(
        queues,
        appends=Appends(
            queue=queue[appends],
            value=value[appends],
            offset=np.where(acked, offset[appends], -1),
            invoke=invoke[appends],
            ret=np.where(acked, ret[appends], NEVER),
            outcome=np.where(acked, ACKED, UNKNOWN).astype(np.int64),
            op=appends,
        ),
        **_polls(rng, np.flatnonzero(~is_append), queue, end, invoke, ret, batch, _contents(queue, happened, value)),
    )


def _offsets(queue: Ints, happened: Any, queues: int) -> tuple[Ints, Ints]:
    """(offset each operation would get, end of its queue at its instant)."""
    end = np.empty(len(queue), dtype=np.int64)
    for number in range(queues):
        own = np.flatnonzero(queue == number)
        end[own] = np.cumsum(happened[own]) - happened[own]
    return end, end


def _contents(queue: Ints, happened: Any, value: Ints) -> list[Ints]:
    return [value[happened & (queue == number)] for number in range(int(queue.max(initial=-1)) + 1)]


def _polls(
    rng: np.random.Generator,
    rows: Ints,
    queue: Ints,
    end: Ints,
    invoke: Ints,
    ret: Ints,
    batch: int,
    contents: list[Ints],
) -> dict[str, Any]:
    back = np.minimum(rng.integers(0, batch + 1, len(rows)), end[rows])
    asked = end[rows] - back
    full, empty = back > 0, rows[back == 0]
    rows, count, asked_full = rows[full], back[full], asked[full]
    first = np.repeat(asked_full - np.cumsum(count) + count, count)
    offset = first + np.arange(int(count.sum()), dtype=np.int64)
    base = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum([len(content) for content in contents])))
    everything = np.concatenate(contents) if contents else np.zeros(0, dtype=np.int64)
    polls = Polls(
        queue=queue[rows],
        count=count,
        invoke=invoke[rows],
        ret=ret[rows],
        op=rows,
        asked=asked_full,
        offset=offset,
        value=everything[np.repeat(base[queue[rows]], count) + offset],
    )
    return {"polls": polls, "empties": Claims(queue[empty], end[empty], invoke[empty], ret[empty], empty)}


def queue_history(
    count: int, *, processes: int = 10, seed: int = 1, unknown: float = 0.0, ties: bool = False
) -> QueueInput:
    """A FIFO queue: *count* operations, half enqueues; a dequeue that finds nothing answers "empty"."""
    rng = np.random.default_rng(seed)
    invoke, ret = intervals(rng, count, processes, ties)
    is_enqueue = rng.random(count) < 0.5
    balance = np.cumsum(np.where(is_enqueue, 1, -1))
    floor = np.minimum.accumulate(np.minimum(balance, 0))
    is_empty = ~is_enqueue & (np.diff(floor, prepend=0) < 0)
    enqueues, dequeues, empties = (np.flatnonzero(mask) for mask in (is_enqueue, ~is_enqueue & ~is_empty, is_empty))
    lost = rng.random(len(enqueues)) < unknown
    return QueueInput(
        e_value=np.arange(len(enqueues), dtype=np.int64),
        e_invoke=invoke[enqueues],
        e_ret=np.where(lost, NEVER, ret[enqueues]),
        e_outcome=np.where(lost, UNKNOWN, ACKED).astype(np.int64),
        e_op=enqueues,
        d_value=np.arange(len(dequeues), dtype=np.int64),
        d_invoke=invoke[dequeues],
        d_ret=ret[dequeues],
        d_op=dequeues,
        n_invoke=invoke[empties],
        n_ret=ret[empties],
        n_op=empties,
    )


def register_history(
    count: int, *, processes: int = 10, swaps: float = 0.25, seed: int = 1, ties: bool = False
) -> RegisterInput:
    """A register with distinct values: half reads, the rest writes and successful swaps."""
    rng = np.random.default_rng(seed)
    invoke, ret = intervals(rng, count, processes, ties)
    kind = rng.random(count)
    changes = kind < 0.5
    before = np.cumsum(changes) - changes - 1
    writes, cas, reads = (
        np.flatnonzero(mask) for mask in (changes & (kind >= swaps * 0.5), changes & (kind < swaps * 0.5), ~changes)
    )
    value = np.cumsum(changes) - 1
    return RegisterInput(
        *(value[writes], invoke[writes], ret[writes], writes),
        *(before[cas], value[cas], invoke[cas], ret[cas], cas),
        *(before[reads], invoke[reads], ret[reads], reads),
    )


Plant = Callable[[LogInput, int, int], LogInput]
"""(history, number of an acknowledged append, distance in stamps) → the history with the violation; 0: the near
miss."""


def _claim(log: LogInput, queue: int, at: int, invoke: int) -> LogInput:
    """One more empty poll."""
    claims = log.empties
    columns = (claims.queue, claims.at, claims.invoke, claims.ret, claims.op)
    more = (queue, at, invoke, invoke + 1, -1)
    return replace(log, empties=Claims(*(np.append(column, cell) for column, cell in zip(columns, more, strict=True))))


def stale_or_lost(log: LogInput, row: int, distance: int) -> LogInput:
    """An empty poll at the offset of an acknowledged message begins after the acknowledgement and all reads of it."""
    appends = log.appends
    queue, offset = int(appends.queue[row]), int(appends.offset[row])
    known = min(int(appends.ret[row]), _first_evidence(log, queue, offset))
    return _claim(log, queue, offset, known + distance)


def _first_evidence(log: LogInput, queue: int, offset: int, without: int = -1) -> int:
    """The least return of any acknowledgement or read at or beyond an offset; the append *without* does not count."""
    acked = (log.appends.queue == queue) & (log.appends.offset >= offset) & (log.appends.outcome == ACKED)
    if without >= 0:
        acked[without] = False
    read = (log.polls.queue == queue) & (log.polls.tops() >= offset)
    return int(min(log.appends.ret[acked].min(initial=NEVER), log.polls.ret[read].min(initial=NEVER)))


def sent_too_late(log: LogInput, row: int, distance: int) -> LogInput:
    """A message's send begins after it, or a later offset, was acknowledged or read."""
    appends = log.appends
    known = _first_evidence(log, int(appends.queue[row]), int(appends.offset[row]), row)
    invoke, ret = appends.invoke.copy(), appends.ret.copy()
    invoke[row] = known + distance
    ret[row] = max(int(ret[row]), int(invoke[row]))
    return replace(log, appends=replace(appends, invoke=invoke, ret=ret))


def _change_read(log: LogInput, row: int, value: int) -> LogInput:
    """The first read of that message shows *value* instead."""
    values = log.polls.value.copy()
    values[int((values == log.appends.value[row]).argmax())] = value
    return replace(log, polls=replace(log.polls, value=values))


def two_values(log: LogInput, row: int, distance: int) -> LogInput:
    other = (row + 1) % len(log.appends)
    return _change_read(log, row, int(log.appends.value[other if distance else row]))


def phantom(log: LogInput, row: int, distance: int) -> LogInput:
    """One message that nobody sent stands at the end of a queue."""
    if not distance:
        return log
    queue = int(log.appends.queue[row])
    ends = (log.appends.queue == queue) & (log.appends.outcome == ACKED)
    end = 1 + max(int(log.appends.offset[ends].max()), int(log.polls.tops()[log.polls.queue == queue].max(initial=-1)))
    return _more_polls(log, queue, end, int(log.appends.value.max()) + 1)


def _more_polls(log: LogInput, queue: int, offset: int, value: int) -> LogInput:
    polls = log.polls
    at = int(log.polls.ret.max(initial=0)) + 1000
    columns = (polls.queue, polls.count, polls.invoke, polls.ret, polls.op, polls.asked, polls.offset, polls.value)
    more = (queue, 1, at, at + 1, -1, offset, offset, value)
    return replace(log, polls=Polls(*(np.append(column, cell) for column, cell in zip(columns, more, strict=True))))


def failed_but_visible(log: LogInput, row: int, distance: int) -> LogInput:
    outcome, offset = log.appends.outcome.copy(), log.appends.offset.copy()
    if distance:
        outcome[row], offset[row] = FAILED, -1
    return replace(log, appends=replace(log.appends, outcome=outcome, offset=offset))


def duplicate(log: LogInput, row: int, distance: int) -> LogInput:
    """A message stands once more at the end of its queue."""
    if not distance:
        return log
    queue = int(log.appends.queue[row])
    own = log.appends.queue == queue
    end = 1 + max(int(log.appends.offset[own].max()), int(log.polls.tops()[log.polls.queue == queue].max(initial=-1)))
    return _more_polls(log, queue, end, int(log.appends.value[row]))


PLANTS: dict[str, tuple[Plant, tuple[str, ...]]] = {
    "stale-or-lost": (stale_or_lost, ("stale-or-lost", "went-backwards")),
    "sent too late": (sent_too_late, ("real-time-order", "read-from-future")),
    "two values": (two_values, ("two-values-one-offset",)),
    "phantom": (phantom, ("phantom",)),
    "failed but visible": (failed_but_visible, ("failed-append-visible",)),
    "duplicate": (duplicate, ("value-at-two-offsets",)),
}
"""name → (plant, kinds by which the checker may call it)."""


def victim(log: LogInput, fraction: float) -> int:
    """An acknowledged append about there in the history whose message was read."""
    acked = np.flatnonzero((log.appends.outcome == ACKED) & np.isin(log.appends.value, log.polls.value))
    return int(acked[int(len(acked) * fraction)])


def unanswered_writes(
    count: int, unanswered: int, *, clients: int = 10, values: int = 5, seed: int = 1
) -> list[Operation]:
    """A register that worked, with repeated values, swaps (also refused ones) and *unanswered* writes, half of which
    took place; at nine tenths one read of a value that was never there."""
    rng = Random(seed)
    lost = set(rng.sample(range(count * 8 // 10), unanswered))
    state, ops, bad = None, [], count * 9 // 10
    for number in range(count):
        instant = STEP * (number + clients)
        invoke, ret = (instant + way * rng.randrange(STEP * clients // 2) for way in (-1, 1))
        value, old, kind = rng.randrange(values), rng.randrange(values), rng.random()
        if number == bad:
            arg: tuple[Any, ...] = ("read", values)
        elif number in lost:
            arg, state = ("write", value), value if kind < 0.5 else state
        elif kind < 0.4:
            arg = ("read", state)
        elif kind < 0.7:
            arg, state = ("write", value), value
        elif old == state:
            arg, state = ("cas", old, value), value
        else:
            arg = ("refused", old)
        ops.append(Operation(invoke, None if number in lost else ret, arg, number))
    return ops
