"""The smallest proof that a log is not linearizable: two offsets i ≤ j, and the operation behind each of their bounds.

Question: of all the pairs with lo(i) > hi(j), which is the easiest to understand, and who set the two bounds?

Model. Among all offending j the pair with the least j − i, then the earliest hi. The name follows from what set the
bounds:

    lo set by         hi set by    name
    append invoked    append       real-time-order    sent after a later offset had been acknowledged
    append invoked    read, end    read-from-future   read before it was sent, or read past what was not sent yet
    empty poll, end   append       stale-or-lost      acknowledged, still invisible to a poll that began later
    empty poll, end   read, end    went-backwards     seen by one, gone for a later one
    unknown append    any          hole-without-writer

Limits. Pairs are looked for among the first 4,096 offending offsets; the answer is a proof in any case.
"""

from __future__ import annotations

import numpy as np

from checkers.history.columns import Ints
from checkers.logs.columns import ACKED, Claims, LogInput, LogViolation, Source
from checkers.logs.content import Content

_LOOKED_AT = 4096


def order_violation(log: LogInput, content: Content, bad: Ints, fresh: bool) -> LogViolation:
    """The best pair for the offending slots *bad* (those whose running maximum of lo exceeds their hi)."""
    lo, hi = content.lo_shared(), content.hi_shared()
    best: tuple[int, int, int, int] | None = None
    for high in bad[:_LOOKED_AT].tolist():
        queue = int(np.searchsorted(content.slots.base, high, side="right")) - 1
        low = _nearest_above(lo, int(content.slots.base[queue]), high, int(hi[high]))
        candidate = (high - low, int(hi[high]), low, high)
        best = candidate if best is None or candidate < best else best
    assert best is not None, "an offending slot has a slot at or before it that offends"
    return _pair(log, content, best[2], best[3], len(bad), fresh)


def _nearest_above(lo: Ints, start: int, high: int, bound: int) -> int:
    """The last slot in [start, high] with lo > bound; looked for backwards in growing pieces."""
    piece, end = 64, high + 1
    while end > start:
        begin = max(start, end - piece)
        found = np.flatnonzero(lo[begin:end] > bound)
        if len(found):
            return begin + int(found[-1])
        end, piece = begin, piece * 4
    return start


def _pair(log: LogInput, content: Content, low: int, high: int, count: int, fresh: bool) -> LogViolation:
    low_by, low_op = low_source(log, content, low, fresh)
    high_by, high_op = high_source(log, content, high)
    queue, low_offset = content.slots.where(low)
    high_offset = content.slots.where(high)[1]
    values = (int(content.value[low]), int(content.value[high]))
    kind = _NAMES.get((low_by in ("empty", "end"), high_by == "append"), "read-from-future")
    if low_by == "hole":
        kind = "hole-without-writer"
    return LogViolation(kind, queue, low_offset, high_offset, (low_op, high_op), values, low_by, high_by, count)


_NAMES = {
    (False, True): "real-time-order",
    (False, False): "read-from-future",
    (True, True): "stale-or-lost",
    (True, False): "went-backwards",
}


def low_source(log: LogInput, content: Content, slot: int, fresh: bool) -> tuple[Source, int]:
    """Who set lo of *slot* (or of its batch): (what, op)."""
    slot = _holder(content, slot, content.lo, int(content.lo_shared()[slot]))
    bound = int(content.lo[slot])
    row = int(content.append[slot])
    if row >= 0 and int(content.appends.invoke[row]) == bound:
        by_hole = content.value[slot] < 0
        return ("hole" if by_hole else "append"), int(content.appends.op[row])
    names: tuple[tuple[Source, Claims], ...] = (("empty", log.empties), ("end", log.ends)) if fresh else ()
    for name, claims in names:
        same = np.flatnonzero(claims.invoke == bound)
        at = content.slots.at_or_above(claims.queue[same], claims.at[same])
        found = same[at == slot]
        if len(found):
            return name, int(claims.op[found[0]])
    return "none", -1


def high_source(log: LogInput, content: Content, slot: int) -> tuple[Source, int]:
    """Who set hi of *slot* (or of its batch): (what, op)."""
    slot = _holder(content, slot, content.hi, int(content.hi_shared()[slot]))
    bound = int(content.hi[slot])
    row = int(content.append[slot])
    if row >= 0 and int(content.appends.outcome[row]) == ACKED and int(content.appends.ret[row]) == bound:
        return "append", int(content.appends.op[row])
    polls = log.polls
    same = np.flatnonzero(polls.ret == bound)
    found = same[content.slots.of(polls.queue[same], polls.tops()[same]) == slot] if len(same) else same
    if len(found):
        return "read", int(polls.op[found[0]])
    names: tuple[tuple[Source, Claims, int], ...] = (
        ("end", log.ends, 0),
        ("end", log.starts, 0),
        ("refused", log.refused, 1),
    )
    for name, claims, more in names:
        same = np.flatnonzero(claims.ret == bound)
        found = same[content.slots.below(claims.queue[same], claims.at[same] + more) == slot]
        if len(found):
            return name, int(claims.op[found[0]])
    return _any_evidence(log, content, slot)


def _any_evidence(log: LogInput, content: Content, slot: int) -> tuple[Source, int]:
    """Nobody bounds this offset from above: whoever shows that it, or a later one, exists."""
    queue, offset = content.slots.where(slot)
    appends, polls = content.appends, log.polls
    rows = np.flatnonzero((appends.queue == queue) & (appends.offset >= offset))
    if len(rows):
        return "append", int(appends.op[rows[0]])
    rows = np.flatnonzero((polls.queue == queue) & (polls.tops() >= offset))
    return ("read", int(polls.op[rows[0]])) if len(rows) else ("none", -1)


def _holder(content: Content, slot: int, bound: Ints, value: int) -> int:
    """The slot of the same batch that holds the shared bound."""
    if content.group is None or int(bound[slot]) == value:
        return slot
    members = np.flatnonzero(content.group == content.group[slot])
    return int(members[bound[members] == value][0])
