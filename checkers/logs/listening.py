"""Listeners at work: in order by key, and one at a time in a queue.

Question: messages of one key were sent one after the other; did a group's listeners get them in that order? And were
two listeners ever at work in one queue at once?

Model. A *send* is (key, value, begin, end) in event positions; ``end`` of one that was not acknowledged is −1. A
*delivery* is (lane, value, begin, end): a listener has the value from *begin* to *end* (−1: it never ended).

    a is before b      same key, and the acknowledgement of a came before b was sent
    disorder           a is before b, both were delivered, and the first delivery of b began before that of a had ended
    overlap            two deliveries of one lane, the second of which began before the first had ended

**Theorem.** Sort a key's sends by begin. Let ``M(b)`` be the greatest end of a first delivery among the delivered a
with ``end(a) < begin(b)``. There is a disorder at b iff ``begin(first delivery of b) < M(b)``. *Proof.* The a before b
are exactly those with ``end(a) < begin(b)``; a disorder at b is one such a whose first delivery ends after b's begins;
the greatest end is one of them. So one pass with a running maximum over acknowledgements, merged with the begins,
decides all b: O(n log n) for sorting, O(n) for the pass. Overlaps alike: sort by begin, compare with the greatest end
so far.

Limits. Only first deliveries are judged for order: what comes again is redelivery, and another matter. A value that was
never delivered orders nothing. A delivery that never ended counts as one that ends when the history does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.history.columns import Ints

NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Sends:
    """Columns, one row a send that may have been stored. ``end`` −1: not acknowledged, so it is before nothing."""

    key: Ints
    value: Ints
    begin: Ints
    end: Ints


@dataclass(frozen=True, slots=True)
class Listened:
    """Columns, one row a delivery; ``lane`` is what may have one listener at a time (a queue of a group)."""

    lane: Ints
    value: Ints
    begin: Ints
    end: Ints


@dataclass(frozen=True, slots=True)
class Pair:
    """Rows: of two sends (disorder), or of two deliveries (overlap); the first one should have been over."""

    first: int
    second: int


def first_deliveries(listened: Listened, size: int) -> Ints:
    """By value: the row of the delivery that began first, −1 for none. *size*: one more than the greatest value."""
    rows = np.argsort(listened.begin, kind="stable")[::-1]
    first = np.full(size, -1, dtype=np.int64)
    known = rows[listened.value[rows] >= 0]
    first[listened.value[known]] = known
    return first


def disorders(sends: Sends, listened: Listened) -> list[Pair]:
    """The disorder with the latest predecessor at every send that has one; rows of *sends*."""
    size = 1 + max(int(sends.value.max(initial=-1)), int(listened.value.max(initial=-1)))
    first = first_deliveries(listened, size)
    delivered = np.flatnonzero(first[sends.value] >= 0)
    begin, end = np.zeros(len(sends.value), np.int64), np.zeros(len(sends.value), np.int64)
    begin[delivered] = listened.begin[first[sends.value[delivered]]]
    end[delivered] = _ends(listened)[first[sends.value[delivered]]]
    found = []
    for key in np.unique(sends.key[delivered]).tolist():
        rows = delivered[sends.key[delivered] == key]
        found += _of_key(sends, rows, begin, end)
    return found


def _of_key(sends: Sends, rows: Ints, begin: Ints, end: Ints) -> list[Pair]:
    """The pass of the theorem over one key: *begin* and *end* are of first deliveries, by row of *sends*."""
    by_begin = rows[np.argsort(sends.begin[rows], kind="stable")]
    acknowledged = rows[sends.end[rows] >= 0]
    by_end = acknowledged[np.argsort(sends.end[acknowledged], kind="stable")]
    found, place, latest = [], 0, -1
    for row in by_begin.tolist():
        while place < len(by_end) and sends.end[by_end[place]] < sends.begin[row]:
            candidate = int(by_end[place])
            latest = candidate if latest < 0 or end[candidate] > end[latest] else latest
            place += 1
        if latest >= 0 and begin[row] < end[latest]:
            found.append(Pair(latest, row))
    return found


def overlaps(listened: Listened) -> list[Pair]:
    """Every delivery that began while an earlier one of its lane was going on; rows of *listened*."""
    end = _ends(listened)
    rows = np.lexsort((listened.begin, listened.lane))
    found: list[Pair] = []
    lane, latest = -1, -1
    for row in rows.tolist():
        if listened.lane[row] != lane:
            lane, latest = int(listened.lane[row]), row
            continue
        if listened.begin[row] < end[latest]:
            found.append(Pair(latest, row))
        latest = row if end[row] > end[latest] else latest
    return found


def _ends(listened: Listened) -> Ints:
    return np.where(listened.end >= 0, listened.end, NEVER)
