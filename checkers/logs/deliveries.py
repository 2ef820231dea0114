"""Deliveries to consumer groups: how often, in which order, with what left out.

Question: did every group get every promised message, at least (or exactly) once, in the order of its queue?

Model. A delivery is (group, consumer, assignment, queue, offset, value), in the order in which it happened. An
*assignment* is the time in which one consumer has one queue; a new one begins anew.

    lost         a promised value that a group never got
    duplicated   a value that a group got more often than once (allowed where delivery is at least once)
    inversion    within one assignment and queue, an offset below one that was delivered before it
    repeat       the same offset again, within one assignment
    skip         within one assignment, an offset that exists was left out between two deliveries

Counts are bincounts over the promised values: 160 million deliveries take a few seconds.

Limits. Whether an offset exists is told by the caller (``known``: sorted offsets by queue); without, skips are not
judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from checkers.history.columns import Ints
from checkers.objects.door import as_ints, require_one_length
from checkers.objects.result import Result


@dataclass(frozen=True, slots=True)
class Deliveries:
    """Columns in the order in which deliveries happened."""

    group: Ints
    assignment: Ints
    queue: Ints
    offset: Ints
    value: Ints
    op: Ints


@dataclass(frozen=True, slots=True)
class Counts:
    """One group: how often each promised value came. ``histogram[k]``: values delivered k times."""

    group: int
    lost: Ints
    duplicated: Ints
    histogram: Ints


def delivery_counts(deliveries: Deliveries, promised: Ints) -> list[Counts]:
    """Counts by group over the *promised* values (distinct)."""
    result = []
    deliveries = _admitted(deliveries)
    names = np.unique(promised)
    place = np.searchsorted(names, promised)
    for group in np.unique(deliveries.group).tolist():
        came = deliveries.value[deliveries.group == group]
        at = np.minimum(np.searchsorted(names, came), max(len(names) - 1, 0))
        at = at[names[at] == came] if len(names) else at[:0]
        times = np.bincount(at, minlength=len(names))[place]
        result.append(Counts(group, promised[times == 0], promised[times > 1], np.bincount(times, minlength=3)))
    return result


@dataclass(frozen=True, slots=True)
class OrderViolation:
    """``kind``: inversion, repeat or skip; ``offsets`` the two deliveries (for a skip: the one left out comes last)."""

    kind: str
    queue: int
    offsets: tuple[int, ...]
    ops: tuple[int, int]
    count: int = 1

    @property
    def values(self) -> tuple[int, ...]:
        """No message is concerned, but places."""
        return ()

    def where(self) -> Mapping[str, int]:
        left_out = self.offsets[-1]
        return {"queue": self.queue, "low": self.offsets[0], "high": self.offsets[1], "left_out": left_out}


def delivery_order(deliveries: Deliveries, known: Mapping[int, Ints] | None = None) -> Result[OrderViolation]:
    """The first violation of each kind; none if every assignment went through its queues in order."""
    return Result("deliveries", _out_of_order(_admitted(deliveries), known))


def _admitted(deliveries: Deliveries) -> Deliveries:
    columns = {name: as_ints("deliveries", name, getattr(deliveries, name)) for name in Deliveries.__slots__}
    require_one_length("deliveries", columns)
    return Deliveries(**columns)


def _out_of_order(deliveries: Deliveries, known: Mapping[int, Ints] | None) -> tuple[OrderViolation, ...]:
    lane = np.lexsort((np.arange(len(deliveries.op)), deliveries.queue, deliveries.assignment))
    assignment, queue, offset, op = (
        column[lane] for column in (deliveries.assignment, deliveries.queue, deliveries.offset, deliveries.op)
    )
    same = np.flatnonzero((assignment[1:] == assignment[:-1]) & (queue[1:] == queue[:-1]))
    step = offset[same + 1] - offset[same]
    found = []
    for kind, bad in (("inversion", same[step < 0]), ("repeat", same[step == 0])):
        if len(bad):
            row = int(bad[0])
            offsets = (int(offset[row]), int(offset[row + 1]))
            ops = (int(op[row]), int(op[row + 1]))
            found.append(OrderViolation(kind, int(queue[row]), offsets, ops, len(bad)))
    if known is not None:
        found += _skips(same[step > 1], queue, offset, op, known)
    return tuple(found)


def _skips(rows: Ints, queue: Ints, offset: Ints, op: Ints, known: Mapping[int, Ints]) -> list[OrderViolation]:
    skipped = []
    for row in rows.tolist():
        offsets = known.get(int(queue[row]), np.zeros(0, dtype=np.int64))
        place = int(np.searchsorted(offsets, offset[row], side="right"))
        if place < len(offsets) and offsets[place] < offset[row + 1]:
            skipped.append((row, int(offsets[place])))
    if not skipped:
        return []
    row, missing = skipped[0]
    ops = (int(op[row]), int(op[row + 1]))
    return [
        OrderViolation("skip", int(queue[row]), (int(offset[row]), int(offset[row + 1]), missing), ops, len(skipped))
    ]
