"""The theorem of the logs once more, in plain Python: a second implementation that shares nothing with the first.

Question: do two programs that were written apart agree on large histories, and what does numpy gain?

Model. As :mod:`checkers.logs.linear`, for single messages, empty polls and end queries: contents by queue as lists, a
poll is one comparison of two slices, unknown sends fill holes by the order of their invocations.

Limits. No batches, no trimming, no gaps, no retries, no explanation: the answer is yes or no.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checkers.history.columns import NEVER, Ints
from checkers.logs.columns import ACKED, UNKNOWN, LogInput


@dataclass(frozen=True, slots=True)
class PlainLog:
    """One tuple an operation."""

    queue_count: int
    appends: list[tuple[int, int, int, int, int, int]]
    """(queue, value, offset, invoked, returned, outcome)"""
    polls: list[tuple[int, int, list[int], int]]
    """(queue, first offset, values, returned)"""
    empties: list[tuple[int, int, int]]
    """(queue, at, invoked)"""
    ends: list[tuple[int, int, int, int]]
    """(queue, at, invoked, returned)"""


def plain(log: LogInput) -> PlainLog:
    """*log* without numpy."""
    appends, polls = log.appends, log.polls
    ends, values, offsets = polls.ends().tolist(), polls.value.tolist(), polls.offset.tolist()
    rows = zip(polls.queue.tolist(), polls.count.tolist(), ends, polls.ret.tolist(), strict=True)
    return PlainLog(
        log.queue_count,
        _rows(appends.queue, appends.value, appends.offset, appends.invoke, appends.ret, appends.outcome),
        [(queue, offsets[end - count], values[end - count : end], ret) for queue, count, end, ret in rows],
        _rows(log.empties.queue, log.empties.at, log.empties.invoke),
        _rows(log.ends.queue, log.ends.at, log.ends.invoke, log.ends.ret),
    )


def _rows(*columns: Ints) -> list[Any]:
    return list(zip(*(column.tolist() for column in columns), strict=True))


def is_linearizable(log: PlainLog) -> bool:
    """The answer for a log of single messages whose polls are consecutive and begin where they were asked to."""
    content, lo, hi = _blank(log)
    unknown: dict[int, tuple[int, int]] = {}
    for queue, value, offset, invoke, ret, outcome in log.appends:
        if outcome == ACKED:
            if content[queue][offset] >= 0:
                return False
            content[queue][offset], lo[queue][offset], hi[queue][offset] = value, invoke, ret
        elif outcome == UNKNOWN:
            unknown[value] = (queue, invoke)
    for queue, first, values, ret in log.polls:
        last = first + len(values)
        held = content[queue]
        if held[first:last] != values and not _learn(held, lo[queue], first, values, queue, unknown):
            return False
        if hi[queue][last - 1] > ret:
            hi[queue][last - 1] = ret
    for queue, at, invoke in log.empties:
        if at < len(lo[queue]) and lo[queue][at] < invoke:
            lo[queue][at] = invoke
    for queue, at, invoke, ret in log.ends:
        if at < len(lo[queue]):
            lo[queue][at] = max(lo[queue][at], invoke)
        if at:
            hi[queue][at - 1] = min(hi[queue][at - 1], ret)
    free: list[list[int]] = [[] for _ in content]
    for queue, invoke in unknown.values():
        free[queue].append(invoke)
    return all(map(_in_order, content, lo, hi, free))


def _blank(log: PlainLog) -> tuple[list[list[int]], list[list[int]], list[list[int]]]:
    size = [0] * log.queue_count
    for queue, _, offset, _, _, _ in log.appends:
        if offset >= size[queue]:
            size[queue] = offset + 1
    for queue, first, values, _ in log.polls:
        if first + len(values) > size[queue]:
            size[queue] = first + len(values)
    for queue, at, _, _ in log.ends:
        size[queue] = max(size[queue], at)
    never = int(NEVER)
    return [[-1] * count for count in size], [[-1] * count for count in size], [[never] * count for count in size]


def _learn(
    content: list[int], lo: list[int], first: int, values: list[int], queue: int, unknown: dict[int, tuple[int, int]]
) -> bool:
    """A poll shows what nobody acknowledged; false if that contradicts anything."""
    for offset, value in enumerate(values, first):
        if content[offset] == value:
            continue
        if content[offset] >= 0 or value not in unknown:
            return False
        sent_to, invoke = unknown.pop(value)
        if sent_to != queue:
            return False
        content[offset], lo[offset] = value, invoke
    return True


def _in_order(content: list[int], lo: list[int], hi: list[int], free: list[int]) -> bool:
    """The theorem for one queue, after its holes have been filled."""
    holes = [offset for offset, value in enumerate(content) if value < 0]
    free.sort()
    if len(holes) > len(free):
        return False
    for hole, invoke in zip(holes, free, strict=False):
        if lo[hole] < invoke:
            lo[hole] = invoke
    latest = -1
    for low, high in zip(lo, hi, strict=True):
        if low > latest:
            latest = low
        if latest > high:
            return False
    return True
