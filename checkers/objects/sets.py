"""Sets that only grow and are read as a whole: exactly linearizable or not, in time linear in what was read.

Question: is there an instant for each add and each read such that every read shows exactly what had been added?

Model. What is read grows, so the reads must form a chain: each contains every smaller one. The chain gives layers

    what the smallest read shows, the reads that show it, what the next adds to that, those reads … what no read shows

and the history is linearizable iff for no two layers an operation of the earlier one was invoked after one of the later
one had returned: the running maximum of invocations of all layers before is at most the return of each operation. (Put
each operation at the greater of that maximum and its own invocation.) An unknown add returns never, and is left out
where no read shows it. A value that is added twice is there from the first add on.

Kinds: phantom, failed-append-visible, duplicated-in-read; reads-disagree (neither read contains the other);
stale-or-lost (a read lacks what was acknowledged before it began), went-backwards (… what a read had shown),
read-from-future, real-time-order (a value is read without one that was acknowledged before it was sent).

Beside that, as Jepsen's set-full counts: *lost* is what was known (acknowledged, or read) before the last read began
that lacks it, and is in no later one; *stale* what was missing once after it was known, and came back.

Limits. Nothing is removed. Reads of single elements are registers, one an element (:mod:`checkers.objects.register`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from checkers.history.columns import NEVER, Bools, HistoryFormatError, Ints
from checkers.logs.columns import ACKED, FAILED, no_ints
from checkers.objects.door import Names, Table, admitted, as_ints, renumbered, require
from checkers.objects.result import Result, Violation


@dataclass(frozen=True, slots=True)
class SetInput:
    """``a_*`` adds (outcome ACKED, UNKNOWN, FAILED; an unknown one returns never). ``r_*`` answered reads; read i shows
    the next ``r_count[i]`` entries of ``shown``. Values are non-negative."""

    a_value: Ints = field(default_factory=no_ints)
    a_invoke: Ints = field(default_factory=no_ints)
    a_ret: Ints = field(default_factory=no_ints)
    a_outcome: Ints = field(default_factory=no_ints)
    a_op: Ints = field(default_factory=no_ints)
    r_invoke: Ints = field(default_factory=no_ints)
    r_ret: Ints = field(default_factory=no_ints)
    r_count: Ints = field(default_factory=no_ints)
    r_op: Ints = field(default_factory=no_ints)
    shown: Ints = field(default_factory=no_ints)

    def read_of_shown(self) -> Ints:
        """The read that each entry of ``shown`` belongs to."""
        return np.repeat(np.arange(len(self.r_count), dtype=np.int64), self.r_count)


@dataclass(frozen=True, slots=True)
class _First:
    """By value: the earliest of some instants (never: none), and the row it came from (−1)."""

    at: Ints
    row: Ints

    @staticmethod
    def of(value: Ints, at: Ints, rows: Ints, size: int) -> _First:
        order = rows[np.argsort(at[rows], kind="stable")[::-1]]
        earliest, row = np.full(size, NEVER, dtype=np.int64), np.full(size, -1, dtype=np.int64)
        earliest[value[order]], row[value[order]] = at[order], order
        return _First(earliest, row)


def check_set(history: SetInput) -> Result[Violation]:
    """Decide *its*."""
    history, names = _admitted(history)
    return Result("set", names.of(_violations(history)))


_TABLES = (
    Table("adds", ("a_value", "a_invoke", "a_ret", "a_outcome", "a_op"), "a_invoke", "a_ret", ("a_value",),
          outcome="a_outcome"),
    Table("reads", ("r_invoke", "r_ret", "r_count", "r_op"), "r_invoke", "r_ret"),
)  # fmt: skip


def _admitted(history: SetInput) -> tuple[SetInput, Names]:
    history = replace(admitted(history, _TABLES), shown=as_ints("values read", "shown", history.shown))
    require("reads", history.r_count >= 0, "it shows fewer than no values")
    require("values read", history.shown >= 0, "a value is below 0")
    if int(history.r_count.sum()) != len(history.shown):
        told = f"{int(history.r_count.sum())} values are counted, {len(history.shown)} are there"
        raise HistoryFormatError("reads", -1, told)
    return renumbered(history, ("a_value", "shown"))


def _violations(history: SetInput) -> tuple[Violation, ...]:
    begun, acked = _adds(history)
    found = _content(history, begun)
    if found:
        return (found,)
    order = np.argsort(history.r_count, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    first = np.full(len(begun.at), len(order), dtype=np.int64)
    np.minimum.at(first, history.shown, place[history.read_of_shown()])
    known = np.cumsum(np.bincount(first, minlength=len(order) + 1)[: len(order)])
    torn = np.flatnonzero(known != history.r_count[order])
    if len(torn):
        return (_disagreement(history, order, first, int(torn[0]), len(torn)),)
    return _order(history, begun, acked, order, first)


def _adds(history: SetInput) -> tuple[_First, _First]:
    size = int(max(history.a_value.max(initial=-1), history.shown.max(initial=-1))) + 1
    possible, acked = np.flatnonzero(history.a_outcome != FAILED), np.flatnonzero(history.a_outcome == ACKED)
    return _First.of(history.a_value, history.a_invoke, possible, size), _First.of(
        history.a_value, history.a_ret, acked, size
    )


def _content(history: SetInput, begun: _First) -> Violation | None:
    """Each read by itself: nothing that nobody added, nothing twice."""
    read = history.read_of_shown()
    strange = np.flatnonzero(begun.row[history.shown] < 0)
    if len(strange):
        value, op = int(history.shown[strange[0]]), int(history.r_op[read[strange[0]]])
        failed = history.a_op[history.a_value == value].tolist()
        return Violation("failed-append-visible" if failed else "phantom", (value,), (*failed[:1], op), len(strange))
    order = np.lexsort((history.shown, read))
    twice = np.flatnonzero((np.diff(history.shown[order]) == 0) & (np.diff(read[order]) == 0))
    if len(twice):
        row = int(order[twice[0]])
        return Violation("duplicated-in-read", (int(history.shown[row]),), (int(history.r_op[read[row]]),), len(twice))
    return None


def _disagreement(history: SetInput, order: Ints, first: Ints, at: int, count: int) -> Violation:
    """The read at place *at* of the chain lacks something that a read of at most its size shows."""
    starts = np.cumsum(history.r_count) - history.r_count
    larger = int(order[at])
    shown = history.shown[starts[larger] : starts[larger] + history.r_count[larger]]
    missing = int(np.setdiff1d(np.flatnonzero(first < at), shown)[0])
    other = int(order[first[missing]])
    there = history.shown[starts[other] : starts[other] + history.r_count[other]]
    extra = int(np.setdiff1d(shown, there)[0])
    return Violation("reads-disagree", (missing, extra), (int(history.r_op[other]), int(history.r_op[larger])), count)


def _order(history: SetInput, begun: _First, acked: _First, order: Ints, first: Ints) -> tuple[Violation, ...]:
    """The theorem, over items: first all values, then all reads."""
    level = np.cumsum(np.append(False, np.diff(history.r_count[order]) > 0)) if len(order) else order
    level = np.append(level, level[-1] + 1 if len(level) else 0)
    values = np.flatnonzero((first < len(order)) | (acked.row >= 0))
    layer = np.concatenate((2 * level[first[values]], 2 * level[:-1] + 1))
    invoke = np.concatenate((begun.at[values], history.r_invoke[order]))
    ret = np.concatenate((acked.at[values], history.r_ret[order]))
    items = _Items(layer, invoke, ret, np.arange(len(layer)) >= len(values))
    pair = items.contradiction()
    if pair is None:
        return ()
    low, high, count = pair
    kinds = {(False, False): "real-time-order", (False, True): "read-from-future"}
    kinds |= {(True, False): "stale-or-lost", (True, True): "went-backwards"}
    kind = kinds[bool(items.is_read[low]), bool(items.is_read[high])]
    ops = [
        int(history.r_op[order[item - len(values)]] if items.is_read[item] else history.a_op[rows.row[values[item]]])
        for item, rows in ((low, begun), (high, acked))
    ]
    if kind == "real-time-order":
        ops.append(int(history.r_op[order[first[values[low]]]]))
    of = tuple(int(values[item]) for item in (low, high) if not items.is_read[item])
    return (Violation(kind, of, tuple(ops), count),)


@dataclass(frozen=True, slots=True)
class _Items:
    """Values and reads, each with its layer in the chain."""

    layer: Ints
    invoke: Ints
    ret: Ints
    is_read: Bools

    def contradiction(self) -> tuple[int, int, int] | None:
        """(an item, one of a later layer that had returned before it was invoked, how many such later ones): with two
        reads or a read that came too late if there are such, since they are the shortest proofs."""
        everyone = np.ones(len(self.layer), dtype=np.bool_)
        for early, late in ((self.is_read, everyone), (everyone, self.is_read), (everyone, everyone)):
            latest = np.full(int(self.layer.max(initial=-1)) + 2, -1, dtype=np.int64)
            np.maximum.at(latest, self.layer[early] + 1, self.invoke[early])
            np.maximum.accumulate(latest, out=latest)
            bad = np.flatnonzero((latest[self.layer] > self.ret) & late)
            if len(bad):
                high = int(bad[self.ret[bad].argmin()])
                before = early & (self.layer < self.layer[high]) & (self.invoke > self.ret[high])
                return int(before.argmax()), high, len(bad)
        return None


@dataclass(frozen=True, slots=True)
class Fates:
    """Values that were known once and then missing: for good, or for a while."""

    lost: Ints
    stale: Ints


def fates(history: SetInput) -> Fates:
    """Jepsen's account of each element, whether or not the whole is linearizable."""
    history, names = _admitted(history)
    _, acked = _adds(history)
    size, reads = len(acked.at), len(history.r_op)
    rank_of = np.empty(reads, dtype=np.int64)
    by_invoke = np.argsort(history.r_invoke, kind="stable")
    rank_of[by_invoke] = np.arange(reads)
    known = acked.at.copy()
    read = history.read_of_shown()
    np.minimum.at(known, history.shown, history.r_ret[read])
    missing = _last_missing(history.shown, rank_of[read], size, reads)
    candidates = np.flatnonzero((missing >= 0) & (known < NEVER))
    late = candidates[history.r_invoke[by_invoke[missing[candidates]]] > known[candidates]]
    is_last: Bools = missing[late] == reads - 1
    old = late if names.old is None else names.old[late]
    return Fates(old[is_last], old[~is_last])


def _last_missing(value: Ints, rank: Ints, size: int, reads: int) -> Ints:
    """By value: the rank of the last read that lacks it, −1 if all show it."""
    pairs = np.unique(value * (reads + 1) + (reads - 1 - rank))
    value, back = pairs // (reads + 1), pairs % (reads + 1)
    begin = np.searchsorted(value, np.arange(size))
    count = np.bincount(value, minlength=size)
    gap = np.arange(len(value)) - begin[value] != back
    last = reads - 1 - count
    where = np.flatnonzero(gap)[::-1]
    last[value[where]] = reads - 1 - (where - begin[value[where]])
    return last
