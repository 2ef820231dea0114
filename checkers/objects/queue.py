"""FIFO queues and bags whose values are distinct: exactly linearizable or not, in linear time on an event log.

Question: did every message come out once, in order, and did "empty" only come when it could be?

Model. Enqueues may end unknown; dequeues that ended unknown may each have removed one message, nobody knows which.
M are the values that came out, L the acknowledged ones that never did ("left"), P the unknown dequeues. With [ei, er]
the enqueue of a value and [di, dr] its dequeue (er = ∞ for an unknown enqueue), the history is linearizable iff

    VFresh   nothing comes out that was not put in, or before it was
    VRepet   nothing comes out twice
    VOrd     no a, b in M with er(a) < ei(b) and dr(b) < di(a)                                   (FIFO only)
    Hall     with D(a) = min{dr(b) : b in M, ei(b) > er(a)} the time by which a left value must have been removed
             (∞ in a bag): for every t, #{a : D(a) ≤ t} ≤ #{p in P : inv(p) ≤ t}
    VWit     every "empty" [i, r] has an instant t that no value covers (er < t < di) and from which on, for every t' ≥
             t, #{a in L : er(a) < t or D(a) ≤ t'} ≤ #{p : inv(p) ≤ t'}

Why: R = "enqueued before or dequeued before" is a union of two interval orders, so its shortest cycle has length two,
which is VOrd; deadlines and invocations are thresholds, so matchings exist iff Hall's condition holds; "empty"
answers do not interact. One running maximum, one suffix minimum, one prefix sum.

An unknown dequeue that knows its value (received, acknowledgement lost) is that value's dequeue with dr = ∞. Assuming
that it happened never makes a history worse, unless an anonymous unknown dequeue may have taken the value earlier: then
both choices are tried for each such value.

Limits. Values are distinct (one enqueue each); where they are not, only what needs no search is a violation
(:mod:`checkers.objects.refutations`), and ``unknown`` says so. With k finite deadlines "empty" costs O(k log k) more.
Where anonymous and knowing unknown dequeues meet and it matters for more than 12 values, the answer is unknown.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field, replace

import numpy as np

from checkers.compiled.queue import is_plainly_legal, is_worth_it
from checkers.history.columns import NEVER, Bools, Ints
from checkers.logs.columns import FAILED, UNKNOWN, no_ints
from checkers.objects.door import Table, admitted, renumbered
from checkers.objects.event_positions import positions
from checkers.objects.refutations import refuted_queue
from checkers.objects.result import Result, Violation


@dataclass(frozen=True, slots=True)
class QueueInput:
    """Columns of one queue. ``e_*``: enqueues (outcome ACKED, UNKNOWN, FAILED). ``d_*``: dequeues that returned a value
    (``d_ret`` never: it knows its value, but not whether it happened). ``n_*``: "empty". ``c_*``: unknown dequeues."""

    e_value: Ints = field(default_factory=no_ints)
    e_invoke: Ints = field(default_factory=no_ints)
    e_ret: Ints = field(default_factory=no_ints)
    e_outcome: Ints = field(default_factory=no_ints)
    e_op: Ints = field(default_factory=no_ints)
    d_value: Ints = field(default_factory=no_ints)
    d_invoke: Ints = field(default_factory=no_ints)
    d_ret: Ints = field(default_factory=no_ints)
    d_op: Ints = field(default_factory=no_ints)
    n_invoke: Ints = field(default_factory=no_ints)
    n_ret: Ints = field(default_factory=no_ints)
    n_op: Ints = field(default_factory=no_ints)
    c_invoke: Ints = field(default_factory=no_ints)
    c_op: Ints = field(default_factory=no_ints)


@dataclass(slots=True)
class _Values:
    """By value: positions of its enqueue and dequeue, and rows of both in the input (−1: none). ``end`` is ∞."""

    ei: Ints
    er: Ints
    di: Ints
    dr: Ints
    e_row: Ints
    d_row: Ints
    came_out: Bools
    left: Bools
    end: int


_CHOICES_MAX = 12

REPEATED = "a value is put in more than once"


def check_queue(queue: QueueInput, *, ordered: bool = True) -> Result[Violation]:
    """Decide *queue* as a FIFO queue, or as a bag with ``ordered=False``; where a value is put in more than once, what
    needs no search only."""
    queue, names = renumbered(admitted(queue, _TABLES), ("e_value", "d_value"))
    violations, unknown = _decided(queue, ordered)
    return Result("queue" if ordered else "bag", names.of(violations), unknown)


_TABLES = (
    Table("enqueues", ("e_value", "e_invoke", "e_ret", "e_outcome", "e_op"), "e_invoke", "e_ret", ("e_value",),
          outcome="e_outcome"),
    Table("dequeues", ("d_value", "d_invoke", "d_ret", "d_op"), "d_invoke", "d_ret", ("d_value",)),
    Table("empty answers", ("n_invoke", "n_ret", "n_op"), "n_invoke", "n_ret"),
    Table("unknown dequeues", ("c_invoke", "c_op"), "c_invoke"),
)  # fmt: skip


Said = tuple[tuple[Violation, ...], tuple[str, ...]]
"""Violations, and why it is not known."""


def _decided(queue: QueueInput, ordered: bool) -> Said:
    if is_worth_it(queue) and is_plainly_legal(queue, ordered):
        return (), ()
    if _repeats(queue):
        return refuted_queue(queue), (REPEATED,)
    found = _decide(queue, ordered)
    open_ = np.flatnonzero(queue.d_ret == NEVER)
    by_values_alone = found and found[0].kind in ("VFresh", "VRepet")
    if not found or by_values_alone or not len(open_) or not len(queue.c_invoke):
        return found, ()
    return _try_choices(queue, ordered, open_, found)


def _repeats(queue: QueueInput) -> bool:
    sent = queue.e_value[queue.e_outcome != FAILED]
    return len(sent) > 0 and int(np.bincount(sent).max()) > 1


def _try_choices(queue: QueueInput, ordered: bool, open_: Ints, found: tuple[Violation, ...]) -> Said:
    """Each unknown dequeue of a known value happened or not; all happened is what *found* contradicts."""
    relaxed = _without(queue, open_)
    relaxed = replace(
        relaxed,
        c_invoke=np.concatenate((relaxed.c_invoke, queue.d_invoke[open_])),
        c_op=np.concatenate((relaxed.c_op, queue.d_op[open_])),
    )
    if _decide(relaxed, ordered):
        return found, ()
    if len(open_) > _CHOICES_MAX:
        return (), (f"{len(open_)} unknown dequeues know their value, beside anonymous ones",)
    for choice in range(1, 1 << len(open_)):
        dropped = open_[[index for index in range(len(open_)) if choice >> index & 1]]
        if not _decide(_without(queue, dropped), ordered):
            return (), ()
    return found, ()


def _without(queue: QueueInput, dequeues: Ints) -> QueueInput:
    keep = np.ones(len(queue.d_value), dtype=np.bool_)
    keep[dequeues] = False
    return replace(
        queue,
        d_value=queue.d_value[keep],
        d_invoke=queue.d_invoke[keep],
        d_ret=queue.d_ret[keep],
        d_op=queue.d_op[keep],
    )


def _decide(queue: QueueInput, ordered: bool) -> tuple[Violation, ...]:
    """The conditions, with every unknown dequeue of a known value taken to have happened."""
    found = _fresh_and_once(queue)
    if found:
        return tuple(found)
    calls, returns, end = positions(
        [queue.e_invoke, queue.d_invoke, queue.n_invoke, queue.c_invoke], [queue.e_ret, queue.d_ret, queue.n_ret]
    )
    values = _by_value(queue, calls, returns, end)
    early = np.flatnonzero(values.came_out & (values.dr < values.ei))
    if len(early):
        return (_violation(queue, values, "VFresh", [int(early[0])], len(early)),)
    crashed = np.sort(calls[3])
    count = int(values.left.sum())
    deadline = _deadlines(values, end) if ordered and count else np.full(count, end, dtype=np.int64)
    if ordered:
        found += _order(queue, values, use_left=not len(crashed))
    if len(crashed) and not found:
        found += _hall(queue, values, deadline, crashed)
    if len(queue.n_invoke) and not found:
        found += _empties(queue, values, deadline, crashed, calls[2], returns[2])
    return tuple(found)


def _fresh_and_once(queue: QueueInput) -> list[Violation]:
    """VFresh by existence, and VRepet; both are about values alone."""
    if not len(queue.d_value):
        return []
    found = []
    highest = 1 + max(int(queue.d_value.max()), int(queue.e_value.max(initial=-1)))
    possible = np.zeros(highest, dtype=np.bool_)
    possible[queue.e_value[queue.e_outcome != FAILED]] = True
    strange = np.flatnonzero(~possible[queue.d_value])
    if len(strange):
        row = int(strange[0])
        value = int(queue.d_value[row])
        failed = queue.e_op[queue.e_value == value].tolist()
        found.append(Violation("VFresh", (value,), (*failed[:1], int(queue.d_op[row])), len(strange)))
    known = np.flatnonzero(queue.d_ret < NEVER)
    times = np.bincount(queue.d_value[known], minlength=highest)
    twice = np.flatnonzero(times > 1)
    if len(twice):
        value = int(twice[0])
        ops = queue.d_op[known[queue.d_value[known] == value]].tolist()
        found.append(Violation("VRepet", (value,), tuple(ops[:2]), len(twice)))
    return found


def _by_value(queue: QueueInput, calls: list[Ints], returns: list[Ints], end: int) -> _Values:
    highest = 1 + max(int(queue.d_value.max(initial=-1)), int(queue.e_value.max(initial=-1)))
    e_row, d_row = (np.full(highest, -1, dtype=np.int64) for _ in range(2))
    possible = np.flatnonzero(queue.e_outcome != FAILED)
    e_row[queue.e_value[possible]] = possible
    # Unknown dequeues of a known value first, the earliest last: one that is known to have happened wins, then that.
    unknown = queue.d_ret == NEVER
    rows = np.lexsort((-queue.d_invoke, ~unknown)) if unknown.any() else np.arange(len(queue.d_value))
    d_row[queue.d_value[rows]] = rows
    has_e, has_d = e_row >= 0, d_row >= 0
    acked = np.zeros(highest, dtype=np.bool_)
    acked[has_e] = queue.e_outcome[e_row[has_e]] != UNKNOWN
    sure = np.zeros(highest, dtype=np.bool_)
    sure[has_d] = queue.d_ret[d_row[has_d]] < NEVER
    return _Values(
        ei=_pick(calls[0], e_row, has_e, end),
        er=np.where(acked, _pick(returns[0], e_row, has_e, end), end),
        di=_pick(calls[1], d_row, has_d, end),
        dr=_pick(returns[1], d_row, has_d, end),
        e_row=e_row,
        d_row=d_row,
        came_out=has_e & has_d & (sure | acked),
        left=acked & ~has_d,
        end=end,
    )


def _pick(column: Ints, row: Ints, has: Bools, otherwise: int) -> Ints:
    if not len(column):
        return np.full(len(row), otherwise, dtype=np.int64)
    return np.where(has, column[row], otherwise)


def _order(queue: QueueInput, values: _Values, use_left: bool) -> list[Violation]:
    """VOrd: the latest dequeue among values enqueued before b must not come after b's."""
    members = np.flatnonzero(values.came_out | values.left) if use_left else np.flatnonzero(values.came_out)
    latest = np.full(values.end + 1, -1, dtype=np.int64)
    latest[values.er[members]] = values.di[members]
    latest[values.end] = -1
    np.maximum.accumulate(latest, out=latest)
    out = np.flatnonzero(values.came_out)
    bad = out[latest[values.ei[out]] > values.dr[out]]
    if not len(bad):
        return []
    second = int(bad[values.dr[bad].argmin()])
    holders = members[(values.er[members] < values.ei[second]) & (values.di[members] > values.dr[second])]
    first = int(holders[values.er[holders].argmin()])
    kind = "lost-overtaken" if values.left[first] else "VOrd"
    return [_violation(queue, values, kind, [first, second], len(bad))]


def _deadlines(values: _Values, end: int) -> Ints:
    """D of each left value: the first return of a dequeue of a value enqueued later."""
    out = np.flatnonzero(values.came_out)
    soonest = np.full(end + 2, end, dtype=np.int64)
    soonest[values.ei[out]] = values.dr[out]
    soonest = np.minimum.accumulate(soonest[::-1])[::-1]
    return soonest[values.er[values.left] + 1]


def _hall(queue: QueueInput, values: _Values, deadline: Ints, crashed: Ints) -> list[Violation]:
    """The k-th deadline needs k unknown dequeues begun before it."""
    order = np.argsort(deadline, kind="stable")
    finite = deadline[order]
    finite = finite[finite < values.end]
    begun = np.searchsorted(crashed, finite)
    short = np.flatnonzero(begun < np.arange(1, len(finite) + 1))
    if not len(short):
        return []
    left = np.flatnonzero(values.left)[order[: int(short[0]) + 1]].tolist()
    of = [value for lost in left for value in (lost, _overtaker(values, lost))]
    return [_violation(queue, values, "lost-overtaken", list(dict.fromkeys(of)), len(short))]


def _overtaker(values: _Values, lost: int) -> int:
    """The value that was put in after *lost* and came out first of all."""
    later = np.flatnonzero(values.came_out & (values.ei > values.er[lost]))
    return int(later[values.dr[later].argmin()])


def _empties(
    queue: QueueInput, values: _Values, deadline: Ints, crashed: Ints, invoke: Ints, ret: Ints
) -> list[Violation]:
    """VWit. Gap g is the time between event g − 1 and event g; an "empty" [i, r] has the gaps i + 1 … r."""
    end = values.end
    out = np.flatnonzero(values.came_out & (values.er < values.di))
    change = np.zeros(end + 2, dtype=np.int64)
    np.add.at(change, values.er[out] + 1, 1)
    np.add.at(change, values.di[out] + 1, -1)
    free = np.cumsum(change[: end + 1]) == 0
    held_by_left = _gaps_of_left(values, deadline, crashed) if values.left.any() else ~free[:0]
    if len(held_by_left):
        covered = ~free
        free &= ~held_by_left
    uncovered = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(free)))
    bad = np.flatnonzero(uncovered[ret + 1] == uncovered[invoke + 1])
    if not len(bad):
        return []
    row = int(bad[(ret[bad] - invoke[bad]).argmin()])
    lost = len(held_by_left) and not covered[invoke[row] + 1 : ret[row] + 1].all()
    return [_witness(queue, values, row, int(invoke[row]), int(ret[row]), bool(lost), len(bad))]


def _gaps_of_left(values: _Values, deadline: Ints, crashed: Ints) -> Bools:
    """Gaps at which the left values cannot all have been removed."""
    end = values.end
    bad: Bools = _counted(values.er[values.left], end) > _counted(crashed, end)
    if not (deadline < end).any():
        return bad
    change = np.zeros(end + 2, dtype=np.int64)
    for first, last in _bad_spans(values, deadline, crashed):
        change[first] += 1
        change[last + 1] -= 1
    return bad | (np.cumsum(change[: end + 1]) > 0)


def _counted(places: Ints, end: int) -> Ints:
    """By gap: how many of *places* lie before it."""
    return np.cumsum(np.bincount(places + 1, minlength=end + 1)[: end + 1])


def _bad_spans(values: _Values, deadline: Ints, crashed: Ints) -> list[tuple[int, int]]:
    """For each finite deadline D_j, the gaps (τ_j, D_j] with #{er < t, D > D_j} + j > #{p : inv(p) ≤ D_j}.

    The left side grows with t; from the last deadline to the first, more values have a later one.
    """
    ends = values.er[values.left]
    later = sorted(ends[deadline >= values.end].tolist())
    finite = np.flatnonzero(deadline < values.end)
    finite = finite[np.argsort(deadline[finite], kind="stable")]
    spans = []
    for number in range(len(finite), 0, -1):
        limit = int(deadline[finite[number - 1]])
        missing = int(np.searchsorted(crashed, limit)) - number
        if missing < len(later):
            first = int(later[missing]) + 1 if missing >= 0 else 0
            if first <= limit:
                spans.append((first, limit))
        insort(later, int(ends[finite[number - 1]]))
    return spans


def _witness(queue: QueueInput, values: _Values, row: int, begin: int, end: int, lost: bool, count: int) -> Violation:
    """The fewest values that keep the queue filled all through [begin, end]: greedily the one reaching furthest."""
    if lost:
        holders = np.flatnonzero(values.left & (values.er < end))
        chosen = holders[np.argsort(values.er[holders], kind="stable")].tolist()
    else:
        chosen = _cover(values, begin, end)
    found = _violation(queue, values, "lost-empty" if lost else "VWit", chosen, count)
    return replace(found, ops=(*found.ops, int(queue.n_op[row])))


def _cover(values: _Values, begin: int, end: int) -> list[int]:
    members = np.flatnonzero((values.came_out | values.left) & (values.er < values.di))
    chosen: list[int] = []
    reached = begin
    while reached < end:
        inside = members[(values.er[members] <= reached) & (values.di[members] > reached)]
        if not len(inside):
            break
        best = int(inside[values.di[inside].argmax()])
        chosen.append(best)
        reached = int(values.di[best])
    return chosen


def _violation(queue: QueueInput, values: _Values, kind: str, of: list[int], count: int) -> Violation:
    ops: list[int] = []
    for value in of:
        ops.append(int(queue.e_op[values.e_row[value]]))
        if values.d_row[value] >= 0:
            ops.append(int(queue.d_op[values.d_row[value]]))
    return Violation(kind, tuple(of), tuple(ops), count)


@dataclass(frozen=True, slots=True)
class Totals:
    """Multiset accounting of a total-queue (any values, also repeated ones); counts of messages.

    ``lost``: acknowledged, never dequeued; of them ``lost_for_certain`` more than unknown dequeues can have taken.
    ``unexpected``: dequeued values that were never attempted. ``duplicated``: dequeued more often than attempted.
    ``recovered``: attempted without an acknowledgement, but dequeued.
    """

    attempted: int
    acknowledged: int
    dequeued: int
    lost: int
    lost_for_certain: int
    unexpected: int
    duplicated: int
    recovered: int


def total_queue(queue: QueueInput) -> Totals:
    """Jepsen's total-queue with two corrections: what unknown dequeues may have eaten is told apart, and duplicates
    count. O(n) by bincount."""
    queue, _ = renumbered(admitted(queue, _TABLES), ("e_value", "d_value"))
    highest = 1 + max(int(queue.d_value.max(initial=-1)), int(queue.e_value.max(initial=-1)))
    attempted = np.bincount(queue.e_value[queue.e_outcome != FAILED], minlength=highest)
    acked = np.bincount(queue.e_value[(queue.e_outcome != FAILED) & (queue.e_outcome != UNKNOWN)], minlength=highest)
    out = np.bincount(queue.d_value[queue.d_ret < NEVER], minlength=highest)
    lost = int(np.maximum(acked - out, 0).sum())
    unsure = len(queue.c_invoke) + int((queue.d_ret == NEVER).sum())
    return Totals(
        attempted=int(attempted.sum()),
        acknowledged=int(acked.sum()),
        dequeued=int(out.sum()),
        lost=lost,
        lost_for_certain=max(lost - unsure, 0),
        unexpected=int(out[attempted == 0].sum()),
        duplicated=int(np.maximum(out - attempted, 0)[attempted > 0].sum()),
        recovered=int(np.maximum(np.minimum(out, attempted) - acked, 0).sum()),
    )
