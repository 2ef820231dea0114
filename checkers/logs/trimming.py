"""Trimming: a log's start moves up, and nobody may read below it afterwards.

Question: can the start have passed each offset at an instant that suits every read and every refusal?

Model. W(o) is the instant at which the start passes o; it never decreases with o. A refused poll of o, or a start query
that answers more than o, ends after it: W(o) ≤ ret. A read [f, h] saw the start at or below f, while h existed: inv ≤
W(f) and T(h) ≤ W(f). A start query that answers x needs inv ≤ W(x). Every condition between T and W reads T ≤ W, so T
is taken pointwise least (the running maximum of lo) and W pointwise greatest (suffix minimum of its upper bounds), and
each read is tested by itself: exact.
"""

from __future__ import annotations

import numpy as np

from checkers.history.columns import NEVER, Ints
from checkers.logs.columns import LogInput, LogViolation
from checkers.logs.content import Content


def trim_violations(log: LogInput, content: Content, earliest: Ints) -> list[LogViolation]:
    """Reads and start queries that contradict the start. *earliest*: T by slot."""
    limit = passed_at_the_latest(log, content)
    return [*_reads(log, content, limit, earliest), *_starts(log, content, limit)]


def passed_at_the_latest(log: LogInput, content: Content) -> Ints:
    """W by slot: the least return of whoever saw the start beyond this or a later offset of the queue."""
    limit = np.full(len(content.slots), NEVER, dtype=np.int64)
    for claims, more in ((log.refused, 1), (log.starts, 0)):
        slots = content.slots.below(claims.queue, claims.at + more)
        np.minimum.at(limit, slots[slots >= 0], claims.ret[slots >= 0])
    base = content.slots.base
    for queue in range(len(base) - 1):
        part = limit[base[queue] : base[queue + 1]]
        part[:] = np.minimum.accumulate(part[::-1])[::-1]
    return limit


def there_at_the_latest(log: LogInput, content: Content) -> Ints:
    """By slot: the least return of whoever saw the offset, and of whoever saw the start beyond what somebody read
    together with it: who read up to an offset while the start was lower saw it before the start passed the first."""
    due = content.hi.copy()
    if len(log.polls) and (len(log.refused) or len(log.starts)):
        passed = passed_at_the_latest(log, content)
        first = content.slots.of(log.polls.queue, log.polls.firsts())
        np.minimum.at(due, content.slots.of(log.polls.queue, log.polls.tops()), passed[first])
    return due


def _reads(log: LogInput, content: Content, limit: Ints, earliest: Ints) -> list[LogViolation]:
    polls = log.polls
    if not len(polls):
        return []
    first = polls.firsts()
    low = content.slots.of(polls.queue, first)
    high = content.slots.of(polls.queue, polls.tops())
    bad = np.flatnonzero((polls.invoke > limit[low]) | (earliest[high] > limit[low]))
    if not len(bad):
        return []
    row = int(bad[0])
    return [_violation(log, int(polls.queue[row]), int(first[row]), int(polls.op[row]), int(limit[low[row]]), len(bad))]


def _starts(log: LogInput, content: Content, limit: Ints) -> list[LogViolation]:
    starts = log.starts
    slots = content.slots.at_or_above(starts.queue, starts.at)
    rows = np.flatnonzero(slots >= 0)
    bad = rows[starts.invoke[rows] > limit[slots[rows]]]
    if not len(bad):
        return []
    row = int(bad[0])
    latest = int(limit[slots[row]])
    return [_violation(log, int(starts.queue[row]), int(starts.at[row]), int(starts.op[row]), latest, len(bad))]


def _violation(log: LogInput, queue: int, offset: int, op: int, latest: int, count: int) -> LogViolation:
    """*latest* is the return of the operation that saw the start above *offset*."""
    witness = -1
    for claims, more in ((log.refused, 1), (log.starts, 0)):
        seen = np.flatnonzero((claims.queue == queue) & (claims.at + more > offset) & (claims.ret == latest))
        if len(seen):
            witness = int(claims.op[seen[0]])
    return LogViolation("read-of-trimmed", queue, offset, offset, (witness, op), (), "read", "refused", count)
