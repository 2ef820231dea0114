"""Locks with owners, and semaphores: exact, O(n log n).

Question: did two hold it at once, and was anyone refused while nobody can have held it?

Model. A *hold* is an acquire and its release by one owner. It certainly lasts over Z = [return of the acquire,
invocation of the release], to the end of time if it was never released. A mutex history is linearizable iff the Z are
disjoint (a common end point is allowed), a semaphore of N permits iff at most N of them overlap at any instant.

A refused try-lock [i, r] is a violation iff it lies strictly inside a span in which the lock must have been free:
between the return of a release and the invocation of the next acquire (letting releases come as late and acquires as
early as they may shrinks all such spans at once). An unknown acquire without a release can only come after all holds.

With fencing tokens, the tokens of certain holds must also increase in their order.

Holds that are certain at one and the same instant only may come in any order there. What can be gained is the acquire
of the first and the release of the last; where one hold is the best for both, both choices are followed through.

Limits. Who pairs acquires with releases is the caller: by owner, in program order.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from checkers.history.columns import NEVER, Bools, HistoryFormatError, Ints
from checkers.logs.columns import no_ints
from checkers.objects.door import Table, admitted, as_ints, require, require_one_length, require_times
from checkers.objects.result import Result, Violation


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


def check_mutex(mutex: MutexInput) -> Result[Violation]:
    """Decide *mutex*; kinds: double-hold, token-order, busy-while-free."""
    return Result("mutex", _mutex(_admitted(mutex)))


_TABLES = (
    Table("holds", ("a_invoke", "a_ret", "a_op", "r_invoke", "r_ret"), "a_invoke", "a_ret"),
    Table("unknown acquires", ("u_invoke",), "u_invoke"),
    Table("refused acquires", ("n_invoke", "n_ret", "n_op"), "n_invoke", "n_ret"),
)


def _admitted(mutex: MutexInput) -> MutexInput:
    """A release was invoked when its acquire had returned."""
    mutex = admitted(mutex, _TABLES)
    require_times("releases", mutex.r_invoke, mutex.r_ret)
    require("holds", mutex.a_ret <= mutex.r_invoke, "it was released before its acquire had returned")
    if mutex.token is not None:
        token = as_ints("holds", "token", mutex.token)
        require_one_length("holds", {"token": token, "a_invoke": mutex.a_invoke})
        mutex = replace(mutex, token=token)
    return mutex


def _mutex(mutex: MutexInput) -> tuple[Violation, ...]:
    begin, end = _certain(mutex)
    orders = _orders(mutex, begin, end)
    order = orders[0]
    clash = np.flatnonzero(end[order][:-1] > begin[order][1:])
    if len(clash):
        ops = mutex.a_op[order[clash[0] : clash[0] + 2]]
        return (Violation("double-hold", (), tuple(ops.tolist()), len(clash)),)
    return _token_order(mutex, order) or _refusals(mutex, orders, begin[order], end[order])


def _certain(mutex: MutexInput) -> tuple[Ints, Ints]:
    """Z of each hold."""
    return mutex.a_ret, mutex.r_invoke


def _orders(mutex: MutexInput, begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """The holds in the order of Z, twice: of holds that are certain at one and the same instant only, the first has the
    earliest acquire (and of the rest the last the latest release), or the other way round. Nothing else can matter."""
    by_acquire = np.lexsort((mutex.r_ret, mutex.a_invoke, end, begin))
    by_release = np.lexsort((mutex.a_invoke, mutex.r_ret, end, begin))
    new = np.ones(len(begin) + 1, dtype=np.bool_)
    new[1:-1] = (np.diff(begin[by_acquire]) != 0) | (np.diff(end[by_acquire]) != 0)
    is_later, is_last = np.ones(len(begin), dtype=np.bool_), np.zeros(len(begin), dtype=np.bool_)
    is_later[by_acquire[new[:-1]]] = False
    is_last[by_release[new[1:]]] = True
    return np.lexsort((mutex.r_ret, is_later, end, begin)), np.lexsort((mutex.a_invoke, is_last, end, begin))


def _token_order(mutex: MutexInput, order: Ints) -> tuple[Violation, ...]:
    if mutex.token is None:
        return ()
    known = order[mutex.token[order] >= 0]
    back = np.flatnonzero(np.diff(mutex.token[known]) <= 0)
    if not len(back):
        return ()
    pair = known[back[0] : back[0] + 2]
    return (Violation("token-order", tuple(mutex.token[pair].tolist()), tuple(mutex.a_op[pair].tolist()), len(back)),)


def _refusals(mutex: MutexInput, orders: tuple[Ints, Ints], begin: Ints, end: Ints) -> tuple[Violation, ...]:
    """Refusals in spans in which the lock must have been free: before the first hold, between holds, after the last."""
    by_invoke = np.argsort(mutex.n_invoke, kind="stable")
    soonest = np.append(np.minimum.accumulate(mutex.n_ret[by_invoke][::-1])[::-1], NEVER)
    spans = [_free(mutex, order) for order in orders]
    after = [np.searchsorted(mutex.n_invoke[by_invoke], released, side="right") for released, _ in spans]
    # bad[left][right]: a span is free too long if its left end is as in one order, its right end as in the other
    bad = [[soonest[after[left]] < spans[right][1] for right in (0, 1)] for left in (0, 1)]
    if not bad[0][0].any():
        return ()
    is_same = np.zeros(len(begin) + 1, dtype=np.bool_)
    is_same[1:-1] = (begin[1:] == begin[:-1]) & (end[1:] == end[:-1])
    span = _first_hopeless(bad, is_same)
    if span is None:
        return ()
    row = int(by_invoke[after[0][span] :][mutex.n_ret[by_invoke[after[0][span] :]].argmin()])
    ops = (int(mutex.a_op[orders[0][span - 1]]),) if span else ()
    return (Violation("busy-while-free", (), (*ops, int(mutex.n_op[row]))),)


def _first_hopeless(bad: list[list[Bools]], is_same: Bools) -> int | None:
    """The first span up to which no choice of orders will do. Holds at one instant (*is_same*: on both sides of a span)
    have one order; what lies on either side of a span chooses for itself."""
    if not (bad[0][0] != bad[1][1]).any() and not (bad[0][1] != bad[1][0]).any():
        return int(bad[0][0].argmax())
    possible = {0, 1}
    for span, same in enumerate(is_same.tolist()):
        fine = {(left, right) for left in possible for right in (0, 1) if not bad[left][right][span]}
        possible = {right for left, right in sorted(fine) if not same or left == right}
        if not possible:
            return span
    return None


def _free(mutex: MutexInput, order: Ints) -> tuple[Ints, Ints]:
    """By span: the latest release before it, the earliest acquire after it."""
    first_unknown = int(mutex.u_invoke.min(initial=NEVER))
    latest = np.minimum(mutex.r_ret[order], np.append(mutex.a_ret[order][1:], NEVER))
    latest = np.minimum.accumulate(latest[::-1])[::-1]
    earliest = np.maximum(mutex.a_invoke[order], np.append(-1, mutex.r_invoke[order])[: len(order)])
    return np.append(-1, latest), np.append(np.maximum.accumulate(earliest), first_unknown)


def check_semaphore(mutex: MutexInput, permits: int) -> Result[Violation]:
    """Whether at most *permits* certain holds overlap at any instant; kind: too-many-holds."""
    if permits < 1:
        raise HistoryFormatError("permits", -1, f"{permits} is less than one")
    return Result("semaphore", _semaphore(_admitted(mutex), permits))


def _semaphore(mutex: MutexInput, permits: int) -> tuple[Violation, ...]:
    begin, end = _certain(mutex)
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
