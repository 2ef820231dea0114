"""How far behind was a reader? The exact least bound on staleness, in time and in messages.

Question: a replica (or a lagging queue) said "the end is at most o". By how much was that out of date?

Model. T̄(o) = min{hi(j) : j ≥ o} is the latest instant at which offset o can have come into being, by the
acknowledgements and reads of the whole history, and by what was trimmed of what was read. An answer "the end is at most
o" of an operation invoked at t is stale by max(0, t − T̄(o)), and behind by the number of offsets from o on that
certainly existed at t. All T̄ are possible at once, so the maximum over the answers is exactly the least bound for which
"every answer is at most so old" can hold.

Limits. Upper claims only (empty polls, end queries): what a replica shows too early is a violation of content or order
and is found by :mod:`checkers.logs.linear` with ``fresh=False``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.history.columns import Ints
from checkers.logs.columns import Claims
from checkers.logs.content import Content


@dataclass(frozen=True, slots=True)
class Freshness:
    """By claim: ``late`` in the unit of the history's times, ``behind`` in messages; 0 where it was up to date."""

    late: Ints
    behind: Ints

    def percentile(self, percent: int) -> tuple[int, int]:
        """(late, behind) that *percent* of the claims do not exceed."""
        if not len(self.late):
            return 0, 0
        place = max(0, -(-len(self.late) * percent // 100) - 1)
        return int(np.sort(self.late)[place]), int(np.sort(self.behind)[place])


def latest_birth(content: Content) -> Ints:
    """T̄ by slot."""
    latest = content.due_shared().copy()
    base = content.slots.base
    for queue in range(len(base) - 1):
        part = latest[base[queue] : base[queue + 1]]
        part[:] = np.minimum.accumulate(part[::-1])[::-1]
    return latest


def freshness(content: Content, claims: Claims) -> Freshness:
    """Judge *claims* ("the end was ≤ at") against *content*, whose bounds ``check_log(…, fresh=False)`` has filled."""
    latest = latest_birth(content)
    slots = content.slots.at_or_above(claims.queue, claims.at)
    inside = slots >= 0
    late = np.zeros(len(claims), dtype=np.int64)
    late[inside] = np.maximum(claims.invoke[inside] - latest[slots[inside]], 0)
    behind = np.zeros(len(claims), dtype=np.int64)
    base = content.slots.base
    for queue in np.unique(claims.queue[inside]).tolist():
        of_queue = np.flatnonzero(inside & (claims.queue == queue))
        existed = np.searchsorted(latest[base[queue] : base[queue + 1]], claims.invoke[of_queue])
        behind[of_queue] = np.maximum(existed - (slots[of_queue] - base[queue]), 0)
    return Freshness(late, behind)
