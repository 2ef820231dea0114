"""Locks with owners, and semaphores: exact, O(n log n).

Question: did two hold it at once, and was anyone refused while nobody can have held it?

Model. A *hold* is an acquire and its release by one owner. It certainly lasts over Z = [return of the acquire,
invocation of the release], to the end of time if it was never released. A mutex history is linearizable iff the Z are
disjoint (a common end point is allowed), a semaphore of N permits iff at most N of them overlap at any instant.

A refused try-lock [i, r] is a violation iff it lies strictly inside a span in which the lock must have been free:
between the return of a release and the invocation of the next acquire (letting releases come as late and acquires as
early as they may shrinks all such spans at once). An unknown acquire without a release can only come after all holds.

With fencing tokens, the tokens of certain holds must also increase in their order.

Limits. Who pairs acquires with releases is the caller: by owner, in program order. Where stamps are equal, two holds
that are certain at one and the same single instant only are taken in the order of their releases.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from checkers.columns import NEVER, Ints
from checkers.log_input import no_ints
from checkers.result import Violation


@dataclass(frozen=True, slots=True)
class MutexInput:
    """Holds, and tries that were none.

    ``a_*``: the acquire of each hold; ``r_*``: its release (both never if there was none, ``r_ret`` never if unknown);
    ``token``: its fencing token, −1 if there is none. ``u_*``: unknown acquires without a release. ``n_*``: refused.
    """

    a_invoke: Ints = field(default_factory=no_ints)
    a_ret: Ints = field(default_factory=no_ints)
    a_op: Ints = field(default_factory=no_ints)
    r_invoke: Ints = field(default_factory=no_ints)
    r_ret: Ints = field(default_factory=no_ints)
    token: Ints | None = None
    u_invoke: Ints = field(default_factory=no_ints)
    n_invoke: Ints = field(default_factory=no_ints)
    n_ret: Ints = field(default_factory=no_ints)
    n_op: Ints = field(default_factory=no_ints)


def check_mutex(mutex: MutexInput) -> tuple[Violation, ...]:
    """Empty iff linearizable; kinds: double-hold, token-order, busy-while-free."""
    begin = np.minimum(mutex.a_ret, mutex.r_ret)
    end = np.maximum(mutex.a_invoke, mutex.r_invoke)
    order = np.lexsort((mutex.r_ret, end, begin))
    begin, end = begin[order], end[order]
    clash = np.flatnonzero(end[:-1] > begin[1:])
    if len(clash):
        ops = mutex.a_op[order[clash[0] : clash[0] + 2]]
        return (Violation("double-hold", (), tuple(ops.tolist()), len(clash)),)
    return _token_order(mutex, order) or _refusals(mutex, order)


def _token_order(mutex: MutexInput, order: Ints) -> tuple[Violation, ...]:
    if mutex.token is None:
        return ()
    known = order[mutex.token[order] >= 0]
    back = np.flatnonzero(np.diff(mutex.token[known]) <= 0)
    if not len(back):
        return ()
    pair = known[back[0] : back[0] + 2]
    return (Violation("token-order", tuple(mutex.token[pair].tolist()), tuple(mutex.a_op[pair].tolist()), len(back)),)


def _refusals(mutex: MutexInput, order: Ints) -> tuple[Violation, ...]:
    """Spans in which the lock must have been free: before the first hold, between holds, after the last."""
    first_unknown = int(mutex.u_invoke.min(initial=NEVER))
    latest = np.minimum(mutex.r_ret[order], np.append(mutex.a_ret[order][1:], NEVER))
    latest = np.minimum.accumulate(latest[::-1])[::-1]
    earliest = np.maximum(mutex.a_invoke[order], np.append(-1, mutex.r_invoke[order])[: len(order)])
    released = np.append(-1, latest)
    acquired = np.append(np.maximum.accumulate(earliest), first_unknown)
    span = np.searchsorted(released, mutex.n_invoke) - 1
    inside = np.flatnonzero(span >= 0)
    bad = inside[mutex.n_ret[inside] < acquired[span[inside]]]
    if not len(bad):
        return ()
    row = int(bad[0])
    holder = int(span[row]) - 1
    ops = (int(mutex.a_op[order[holder]]),) if holder >= 0 else ()
    return (Violation("busy-while-free", (), (*ops, int(mutex.n_op[row])), len(bad)),)


def check_semaphore(mutex: MutexInput, permits: int) -> tuple[Violation, ...]:
    """Empty iff at most *permits* certain holds overlap at any instant; kind: too-many-holds."""
    begin = np.minimum(mutex.a_ret, mutex.r_ret)
    end = np.maximum(mutex.a_invoke, mutex.r_invoke)
    certain = np.flatnonzero((begin < end) & (begin < NEVER))
    starts, ends = np.sort(begin[certain]), np.sort(end[certain])
    # At each start, holds that end at the same instant may end first. A hold that is certain at one instant only needs
    # a permit beside those that began before it and end after it.
    held = np.searchsorted(starts, starts, side="right") - np.searchsorted(ends, starts, side="right")
    instants = np.flatnonzero(begin == end)
    beside = np.searchsorted(starts, begin[instants]) - np.searchsorted(ends, begin[instants], side="right")
    crowded = np.concatenate((starts[held > permits], begin[instants][beside + 1 > permits]))
    if not len(crowded):
        return ()
    at = int(crowded.min())
    holders = np.flatnonzero((begin <= at) & ((end > at) | (begin == at)))
    ops = tuple(mutex.a_op[holders][: permits + 1].tolist())
    return (Violation("too-many-holds", (permits,), ops, len(crowded)),)
