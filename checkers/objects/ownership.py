"""Who had what, and when: two owners at once, and nobody.

Question: a lane (a queue of a group, a lock) may have one owner at a time. Did two ever have it together, for how long?
When had nobody it?

Model. A *span* is (lane, owner, begin, end): *owner* had *lane* from *begin* to *end*, and at an end somebody else may
begin. Two spans of one lane with different owners are together for ``min(ends) − max(begins)``.

**Theorem.** Go through the spans of a lane by begin. Of those that began before, only the latest end of each owner
matters, and of these only the two greatest: for a span of owner x, the greatest end of owners other than x is the
greatest of all, or, where that is x's own, the second one's. So one pass with two numbers decides for every span
whether it began while another owner had the lane, and for how long the two were together: O(n log n) for sorting, O(n)
for the pass. Gaps are what the union of a lane's spans leaves of a stretch.

Limits. Every span that began too early is told once, with the owner that stayed longest; not every pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.history.columns import Ints


@dataclass(frozen=True, slots=True)
class Owned:
    """Columns, one row a span; ``end`` of one that never ended is the end of the history."""

    lane: Ints
    owner: Ints
    begin: Ints
    end: Ints


@dataclass(frozen=True, slots=True)
class Together:
    """Rows of two spans; *second* began while *first* lasted, and they were together from *begin* to *end*."""

    first: int
    second: int
    begin: int
    end: int


def together(owned: Owned) -> list[Together]:
    """Every span that began while another owner had its lane, with the span of them that lasted longest."""
    found: list[Together] = []
    rows = np.lexsort((owned.begin, owned.lane)).tolist()
    lane, best, second = -1, -1, -1
    for row in rows:
        if int(owned.lane[row]) != lane:
            lane, best, second = int(owned.lane[row]), -1, -1
        other = second if best >= 0 and owned.owner[best] == owned.owner[row] else best
        if other >= 0 and owned.begin[row] < min(owned.end[other], owned.end[row]):
            end = int(min(owned.end[other], owned.end[row]))
            found.append(Together(other, row, int(owned.begin[row]), end))
        best, second = _two_latest(owned, best, second, row)
    return found


def _two_latest(owned: Owned, best: int, second: int, row: int) -> tuple[int, int]:
    """The spans with the greatest ends of two different owners, *row* among them now."""
    if best < 0 or owned.owner[best] == owned.owner[row]:
        return (row if best < 0 or owned.end[row] > owned.end[best] else best), second
    if owned.end[row] > owned.end[best]:
        return row, best
    if second < 0 or owned.end[row] > owned.end[second]:
        return best, row
    return best, second


def nobody(owned: Owned, lane: int, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Stretches of [begin, end) in which nobody had *lane*."""
    rows = np.flatnonzero(owned.lane == lane)
    at = begin
    for row in rows[np.argsort(owned.begin[rows], kind="stable")].tolist():
        if int(owned.begin[row]) > at:
            yield at, min(int(owned.begin[row]), end)
        at = max(at, int(owned.end[row]))
        if at >= end:
            return
    if at < end:
        yield at, end
