"""Which unanswered append stood where, if only the order of each process counts.

Question: a log has offsets that nobody acknowledged. Is there an unanswered append for each, of the message that was
read there, or of any where nobody read, such that no process appended below an end that it knew of?

Model. An unanswered append is the last operation of its process, so it comes after everything that the process knew:
it *needs* as much, and fits offset o of its own queue iff it needs no more than o. Who saw the start above an offset
comes after all who saw it at or below, and so after what they knew. These are thresholds: the k-th
lowest hole takes the k-th least demanding one (exchange argument). Where a message was tried several times, its most
demanding tries that fit are the ones that were read, so that the least demanding are left for the holes.

Limits. What fits in several ways may matter for a circle through several logs: ``had_choice`` says so. An append whose
queue nobody knows is taken where an own one does not fit; if that fails, the answer is unknown. So it is where only
an unanswered batch of several messages is left for a hole.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop
from itertools import pairwise
from typing import Final

import numpy as np

from checkers.history.columns import Ints
from checkers.logs.columns import ACKED, UNKNOWN, LogInput, LogViolation
from checkers.logs.content import EMPTY, Content
from checkers.logs.holes import UNEQUAL_BATCHES, by_value
from checkers.logs.sequential_order import program_order, trimming
from checkers.logs.sessions import SessionClaims, claims_of

ANY: Final = -1
"""Queue of an append, where nobody knows it."""

POOLED_UNKNOWN = (
    "unanswered sends to queues that nobody knows may fill holes, or be what was read, in ways that were not tried"
)


@dataclass(frozen=True, slots=True)
class Filling:
    """``violation``: nothing fits. ``unknown``: why that is not known. Otherwise every offset has its append."""

    violation: LogViolation | None = None
    unknown: tuple[str, ...] = ()
    had_choice: bool = False


def fill(log: LogInput, content: Content, process_of: Ints) -> Filling:
    """Enter an append for every offset of *content* that can have one."""
    tries = _Tries(log, content, process_of)
    chosen = tries.choose_read()
    holes = np.flatnonzero(content.value == EMPTY)
    short = tries.fill(holes, with_batches=False)
    had_choice = log.queue_count > 1 and (chosen or len(holes) > 0)
    if short is None:
        return Filling(had_choice=had_choice)
    if tries.has_pooled:
        return Filling(unknown=(POOLED_UNKNOWN,))
    if len(tries.in_batches) and tries.fill(holes, with_batches=True) is None:
        return Filling(unknown=(UNEQUAL_BATCHES,))
    return Filling(violation=short)


class _Tries:
    """The unanswered appends of a log, and what each needs."""

    def __init__(self, log: LogInput, content: Content, process_of: Ints) -> None:
        self.content, self.appends = content, content.appends
        self.process_of, self.knows = process_of, _knowledge(log, process_of)
        unknown = np.flatnonzero(self.appends.outcome == UNKNOWN)
        alone = np.ones(len(unknown), dtype=np.bool_) if self.appends.batch is None else self.appends.batch[unknown] < 0
        self.free, self.in_batches = unknown[alone], unknown[~alone]
        only = 0 if log.queue_count == 1 else ANY
        self.queue = np.where(self.appends.queue < 0, only, self.appends.queue)
        self.has_pooled = bool((self.queue[unknown] == ANY).any())

    def needs(self, row: int, queue: int) -> int:
        return self.knows.get((int(self.process_of[self.appends.op[row]]), queue), 0)

    def choose_read(self) -> bool:
        """Give what was read its most demanding tries that fit; whether there was a choice."""
        content, values = self.content, self.appends.value
        read = np.flatnonzero((content.value >= 0) & (content.append >= 0))
        read = read[self.appends.outcome[content.append[read]] == UNKNOWN]
        tried, counts = np.unique(values[self.free], return_counts=True)
        several = np.intersect1d(content.value[read], tried[counts > 1])
        for slots, rows in zip(
            by_value(read, content.value[read], several), by_value(self.free, values[self.free], several), strict=True
        ):
            self._choose(slots, rows.tolist())
        self.free = self.free[~np.isin(self.free, content.append[read])]
        return len(several) > 0

    def _choose(self, slots: Ints, left: list[int]) -> None:
        """For all places (ascending) of one message, of its tries; they stay as they are where that does not work."""
        chosen: list[int] = []
        for slot in slots[::-1].tolist():  # the highest offset may have the most demanding one
            queue, offset = self.content.slots.where(slot)
            fits = [row for row in left if self.queue[row] in (queue, ANY) and self.needs(row, queue) <= offset]
            if not fits:
                return
            chosen.append(max(fits, key=lambda row: (self.queue[row] != ANY, self.needs(row, queue))))
            left.remove(chosen[-1])
        self.content.append[slots[::-1]] = chosen

    def fill(self, holes: Ints, with_batches: bool) -> LogViolation | None:
        """Enter an append for each of *holes* (ascending), or say where there is none."""
        rows = np.concatenate((self.free, self.in_batches)) if with_batches else self.free
        base = self.content.slots.base
        pooled, taken = rows[self.queue[rows] == ANY].tolist(), set[int]()
        cuts = np.searchsorted(holes, base).tolist()
        for queue, (first, last) in enumerate(pairwise(cuts)):
            open_ = holes[first:last].tolist()
            if not open_:
                continue
            heaps = [self._heap(candidates, queue) for candidates in (rows[self.queue[rows] == queue].tolist(), pooled)]
            for hole in open_:
                row = self._least(heaps, hole - int(base[queue]), taken)
                if row < 0:
                    where = hole - int(base[queue]), open_[-1] - int(base[queue])
                    return LogViolation("hole-without-writer", queue, *where, ())
                self.content.append[hole] = row
        return None

    def _heap(self, rows: list[int], queue: int) -> list[tuple[int, int]]:
        return sorted((self.needs(row, queue), row) for row in rows)

    def _least(self, heaps: list[list[tuple[int, int]]], offset: int, taken: set[int]) -> int:
        """Take the least demanding one that fits *offset*, of the first of *heaps* that has any; −1: none has."""
        for heap in heaps:
            while heap and heap[0][1] in taken:
                heappop(heap)
            if heap and heap[0][0] <= offset:
                row = heappop(heap)[1]
                taken.add(row)
                return row
        return -1


def _knowledge(log: LogInput, process_of: Ints) -> dict[tuple[int, int], int]:
    """(process, queue) → the greatest end that it knew of; in a single log also what those knew who came before it
    since they saw a lower start."""
    claims = claims_of(log, process_of)
    lower = claims.lower
    if log.queue_count == 1 and (len(log.refused) or len(log.starts)):
        lower = _with_what_came_before(log, process_of, claims)
    known: dict[tuple[int, int], int] = {}
    for process, queue, end in zip(claims.process.tolist(), claims.queue.tolist(), lower.tolist(), strict=True):
        known[process, queue] = max(known.get((process, queue), 0), end)
    return known


def _with_what_came_before(log: LogInput, process_of: Ints, claims: SessionClaims) -> Ints:
    """By claim: the greatest end that it, or any operation that must come before it, knew of."""
    order = trimming(log, len(process_of))
    acked = np.flatnonzero(log.appends.outcome == ACKED)
    source, target = program_order(log, log.appends, acked, process_of)
    order.source, order.target = np.append(order.source, source), np.append(order.target, target)
    own = np.zeros(order.nodes, dtype=np.int64)
    np.maximum.at(own, claims.op, claims.lower)
    known: Ints = np.array(order.greatest_before(own), dtype=np.int64)[claims.op]
    return known
