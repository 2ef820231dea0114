"""Atomic batches without an answer: where one message of them was read, the others stand beside it.

Question: which unanswered batch is it of which a message was read, and where does it begin?

Model. What was read and acknowledged there is explained. Every other message that was read of an unanswered batch says
where that batch begins. A batch may have been tried several times, each of them an operation of its own: its places are
thresholds like holes (:mod:`checkers.logs.holes`), so the earliest try stands at the lowest place. From then on such a
batch is as if acknowledged, but never answered.

Limits. Tries that went to a queue that nobody knows, and messages that were also sent otherwise (alone, in another
batch): the choice made here may be the wrong one, which is said (``may_differ``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from checkers.history.columns import Ints
from checkers.logs.columns import ACKED, FAILED, UNKNOWN, Appends, Polls

Place = tuple[int, int]
"""Queue and offset."""


@dataclass(frozen=True, slots=True)
class SeenBatches:
    """``appends`` with an offset for each unanswered batch of which something was read; see :class:`Content`."""

    appends: Appends
    may_differ: bool = False
    spare_may_differ: bool = False


def with_seen_batches(appends: Appends, polls: Polls) -> SeenBatches:
    """Find out where unanswered batches stand."""
    if appends.batch is None or not len(polls.value):
        return SeenBatches(appends)
    rows = np.flatnonzero((appends.batch >= 0) & (appends.outcome == UNKNOWN))
    if not len(rows):
        return SeenBatches(appends)
    tries = _tries(appends, rows)
    places = _unexplained(appends, polls, np.unique(appends.value[rows]))
    queue, offset, outcome = appends.queue.copy(), appends.offset.copy(), appends.outcome.copy()
    several = pooled = False
    for values, rows_of_it in tries.items():
        begins = _begins(values, places)
        for row, (its_queue, its_offset) in _matched(appends, rows_of_it, begins):
            members = np.arange(row, row + len(values))
            queue[members], outcome[members] = its_queue, ACKED
            offset[members] = its_offset + np.arange(len(values))
        several = several or (len(rows_of_it) > 1 and bool(begins))
        pooled = pooled or (len(rows_of_it) > 1 and bool(begins) and bool((appends.queue[rows_of_it] < 0).any()))
    may_differ = pooled or _sent_otherwise(appends, tries, places)
    return SeenBatches(replace(appends, queue=queue, offset=offset, outcome=outcome), may_differ, several)


def _tries(appends: Appends, rows: Ints) -> dict[tuple[int, ...], list[int]]:
    """Messages of a batch → the first row of each of its tries, by invocation."""
    assert appends.batch is not None
    begins = np.flatnonzero(np.append(True, np.diff(appends.batch[rows]) != 0))
    tries: dict[tuple[int, ...], list[int]] = {}
    for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), len(rows)], strict=True):
        members = rows[begin:end]
        tries.setdefault(tuple(appends.value[members].tolist()), []).append(int(members[0]))
    return {
        values: sorted(rows_of_it, key=lambda row: int(appends.invoke[row])) for values, rows_of_it in tries.items()
    }


def _unexplained(appends: Appends, polls: Polls, values: Ints) -> dict[int, list[Place]]:
    """Value → where it was read, for *values*, except where it was acknowledged."""
    acked = np.flatnonzero((appends.outcome == ACKED) & np.isin(appends.value, values))
    known = set(
        zip(appends.value[acked].tolist(), appends.queue[acked].tolist(), appends.offset[acked].tolist(), strict=True)
    )
    hits = np.flatnonzero(np.isin(polls.value, values))
    queue = np.repeat(polls.queue, polls.count)[hits]
    places: dict[int, list[Place]] = {}
    read = dict.fromkeys(zip(polls.value[hits].tolist(), queue.tolist(), polls.offset[hits].tolist(), strict=True))
    for value, its_queue, its_offset in read:
        if (value, its_queue, its_offset) not in known:
            places.setdefault(value, []).append((its_queue, its_offset))
    return places


def _begins(values: tuple[int, ...], places: dict[int, list[Place]]) -> list[Place]:
    """Where a batch of *values* begins, from what was read of it, in order."""
    found = {
        (queue, offset - index): None
        for index, value in enumerate(values)
        for queue, offset in places.get(value, [])
        if offset >= index
    }
    return sorted(found)


def _matched(appends: Appends, tries: list[int], begins: list[Place]) -> Iterator[tuple[int, Place]]:
    """The earliest of *tries* that went to its queue, or to one that nobody knows, for each of *begins*."""
    left = list(tries)
    for place in begins:
        for wanted in (place[0], -1):
            row = next((row for row in left if int(appends.queue[row]) == wanted), None)
            if row is not None:
                left.remove(row)
                yield row, place
                break


def _sent_otherwise(appends: Appends, tries: dict[tuple[int, ...], list[int]], places: dict[int, list[Place]]) -> bool:
    """Whether a message that was read was sent with other messages, too, or alone, and nobody answered."""
    together: dict[int, int] = {}
    for values in tries:
        for value in values:
            together[value] = together.get(value, 0) + 1
    assert appends.batch is not None
    alone = np.flatnonzero((appends.batch < 0) & (appends.outcome != ACKED) & (appends.outcome != FAILED))
    for value in appends.value[alone].tolist():
        if value in together:
            together[value] += 1
    return any(times > 1 and value in places for value, times in together.items())
