"""Holes: offsets below the known end that nobody acknowledged and nobody read.

Question: can every hole be the work of an append whose outcome is unknown and whose value was never seen?

Model. Giving append A to hole o adds inv(A) to lo(o); it must not exceed d(o), the least hi of o and all later offsets
of its queue. d never decreases with o, so both sides are thresholds and the k-th earliest append goes to the k-th
lowest hole (exchange argument). Appends whose queue nobody knows are pooled: holes of all queues in the order of their
deadlines take an append of their own queue first, a pooled one otherwise.

Limits. Unknown batches of several messages, and several tries of one message of which one went to a queue that nobody
knows: see :func:`fill_holes`.
"""

from __future__ import annotations

import itertools
from heapq import heapify, heappop

import numpy as np

from checkers.history.columns import NEVER, Bools, Ints
from checkers.logs.columns import FAILED, UNKNOWN, LogInput, LogViolation
from checkers.logs.content import EMPTY, Content

UNEQUAL_BATCHES = (
    "an offset that nobody acknowledged or read can only belong to an unknown batch of several messages; which of them "
    "fit together is a bin packing problem that this checker does not solve"
)


POOLED_TRIES = (
    "which of several unanswered sends of one message was read, where nobody knows to which queue one of them went, "
    "may decide whether another one is left for an offset that nobody acknowledged or read"
)


def fill_holes(
    log: LogInput, content: Content, had_choice: bool = False
) -> tuple[tuple[str, ...], LogViolation | None]:
    """Enter the assigned invocations into ``content.lo``; reasons for *unknown*, and a violation if there is one.

    Unknown batches nobody saw count as that many singles first: if even that fails, it is a violation. If singles
    alone suffice, all is well. In between the answer is unknown; also where :func:`settle_tries` *had_choice*.
    """
    holes = np.flatnonzero(content.value == EMPTY)
    if not len(holes):
        return (), None
    _free_the_earliest(content)
    in_batch = ~content.appends.are_alone()[content.spare]
    deadline = _deadlines(content, holes)
    singles = content.spare[~in_batch]
    chosen = _assign(content, holes, deadline, singles)
    if chosen is None and in_batch.any():
        chosen = _assign(content, holes, deadline, content.spare)
        if chosen is not None:
            _enter(content, holes, chosen)
            return (UNEQUAL_BATCHES,), None
    if chosen is None:
        return ((POOLED_TRIES,), None) if had_choice else ((), _hall(log, content, holes, deadline))
    _enter(content, holes, chosen)
    return (), None


def settle_tries(content: Content) -> bool:
    """Where a message was read that was tried several times, and once with a queue that nobody knows: let each place
    have a try that is in time, if there are such. ``content.lo`` knows only of appends yet, ``content.hi`` all.

    Returns whether there was any such message."""
    appends = content.appends
    tries = np.flatnonzero((appends.outcome == UNKNOWN) & appends.are_alone())
    pooled = np.unique(appends.value[tries[appends.queue[tries] < 0]])
    if not len(pooled):
        return False
    read = np.flatnonzero((content.value >= 0) & (content.append >= 0) & np.isin(content.value, pooled))
    read = read[appends.outcome[content.append[read]] == UNKNOWN]
    several = np.intersect1d(content.value[read], _several(appends.value[tries]))
    places = by_value(read, content.value[read], several)
    for slots, chosen_rows in zip(places, by_value(tries, appends.value[tries], several), strict=True):
        chosen = _assign_pooled(content, slots, _deadlines(content, slots), chosen_rows)
        if chosen is not None:
            content.append[slots], content.lo[slots] = chosen, appends.invoke[chosen]
            spare = np.union1d(content.spare, chosen_rows)
            content.spare = spare[~np.isin(spare, content.append[read])]
    return len(several) > 0


def by_value(chosen_rows: Ints, values: Ints, wanted: Ints) -> list[Ints]:
    """For each of the *wanted* values, *its* that have it, in their order."""
    order = np.argsort(values, kind="stable")
    first = np.searchsorted(values[order], wanted)
    last = np.searchsorted(values[order], wanted, side="right")
    return [chosen_rows[order[begin:end]] for begin, end in zip(first.tolist(), last.tolist(), strict=True)]


def _several(values: Ints) -> Ints:
    """Those that occur more than once."""
    found, counts = np.unique(values, return_counts=True)
    return found[counts > 1]


def fill_with_copies(log: LogInput, content: Content) -> LogViolation | None:
    """As :func:`fill_holes`, where any append may be stored again unseen: every hole takes a copy of the earliest."""
    holes = np.flatnonzero(content.value == EMPTY)
    deadline = _deadlines(content, holes)
    appends = content.appends
    for start, end in _runs(content, holes):
        queue = content.slots.where(int(holes[start]))[0]
        possible = np.flatnonzero((appends.outcome != FAILED) & ((appends.queue == queue) | (appends.queue < 0)))
        earliest = possible[appends.invoke[possible].argmin()] if len(possible) else -1
        if earliest < 0 or appends.invoke[earliest] > deadline[start]:
            return _hole(log, content, int(holes[start]), 1, 0)
        _enter(content, holes[start:end], np.full(end - start, earliest, dtype=np.int64))
    return None


def _free_the_earliest(content: Content) -> None:
    """Where a message was tried several times without an answer, let its latest tries that are in time be the seen
    ones.

    The tries that a seen place can use are thresholds, too, so taking the latest feasible one for each place, greedily
    from the latest try on, leaves the earliest for the holes: no other choice leaves any of them earlier.
    """
    appends = content.appends
    alone = appends.are_alone()[content.spare]
    spare_values = np.unique(appends.value[content.spare[alone]])
    learned = np.flatnonzero((content.value >= 0) & np.isin(content.value, spare_values))
    learned = learned[appends.outcome[content.append[learned]] == UNKNOWN]
    groups: dict[tuple[int, int], list[int]] = {}
    for slot in learned.tolist():
        row = int(content.append[slot])
        groups.setdefault((int(appends.value[row]), int(appends.queue[row])), []).append(slot)
    for (value, queue), slots in groups.items():
        of_it = (appends.value[content.spare] == value) & (appends.queue[content.spare] == queue)
        of_it &= appends.are_alone()[content.spare]  # the spare ones change
        if of_it.any():
            _reassign(content, np.array(slots, dtype=np.int64), of_it)


def _reassign(content: Content, slots: Ints, of_it: Bools) -> None:
    """Give *slots* (ascending, of one message in one queue) the latest feasible of its tries; the rest is spare."""
    appends = content.appends
    tries = np.concatenate((content.append[slots], content.spare[of_it]))
    tries = tries[np.argsort(appends.invoke[tries], kind="stable")]
    deadline = _deadlines(content, slots)
    chosen: list[int] = []
    for row in tries[::-1].tolist():
        candidate = sorted([*chosen, row], key=lambda chosen_rows: int(appends.invoke[chosen_rows]))
        last = deadline[len(slots) - len(candidate) :]
        if len(chosen) < len(slots) and (appends.invoke[candidate] <= last).all():
            chosen = candidate
    if len(chosen) < len(slots):
        return  # not even the earliest fit: the theorem says so
    content.append[slots] = chosen
    content.lo[slots] = np.maximum(content.lo[slots], appends.invoke[chosen])  # none got an earlier one than it had
    rest = tries[~np.isin(tries, chosen)]
    content.spare = np.sort(np.concatenate((content.spare[~of_it], rest)))


def _enter(content: Content, holes: Ints, chosen: Ints) -> None:
    content.append[holes] = chosen
    content.lo[holes] = np.maximum(content.lo[holes], content.appends.invoke[chosen])


def _deadlines(content: Content, holes: Ints) -> Ints:
    """d(o) = least hi at or after o in its queue, for each hole; less where trimming says so."""
    hi = content.due_shared()
    deadlines = np.empty(len(holes), dtype=np.int64)
    for start, end in _runs(content, holes):
        queue = int(np.searchsorted(content.slots.base, holes[start], side="right")) - 1
        tail = hi[holes[start] : content.slots.base[queue + 1]]
        least = np.minimum.accumulate(tail[::-1])[::-1]
        deadlines[start:end] = least[holes[start:end] - holes[start]]
    return deadlines


def _runs(content: Content, holes: Ints) -> list[tuple[int, int]]:
    """[start, end) of the holes of each queue that has any."""
    cuts = np.searchsorted(holes, content.slots.base)
    return [(int(start), int(end)) for start, end in itertools.pairwise(cuts) if end > start]


def _assign(content: Content, holes: Ints, deadline: Ints, rows: Ints) -> Ints | None:
    """An append (row) for each hole, or ``None`` where that is impossible."""
    appends = content.appends
    pooled = rows[appends.queue[rows] < 0]
    if len(pooled):
        return _assign_pooled(content, holes, deadline, rows)
    chosen = np.empty(len(holes), dtype=np.int64)
    for start, end in _runs(content, holes):
        queue = content.slots.where(int(holes[start]))[0]
        own = _by_invocation(content, rows[appends.queue[rows] == queue])[: end - start]
        if len(own) < end - start or (appends.invoke[own] > deadline[start:end]).any():
            return None
        chosen[start:end] = own
    return chosen


def _by_invocation(content: Content, rows: Ints) -> Ints:
    return rows[np.argsort(content.appends.invoke[rows], kind="stable")]


def _assign_pooled(content: Content, holes: Ints, deadline: Ints, rows: Ints) -> Ints | None:
    """Own appends first, in the order of deadlines: an append that is in time for one hole is in time for all later."""
    heaps: dict[int, list[tuple[int, int]]] = {}
    for row in rows.tolist():
        heaps.setdefault(int(content.appends.queue[row]), []).append((int(content.appends.invoke[row]), row))
    for heap in heaps.values():
        heapify(heap)
    chosen = np.empty(len(holes), dtype=np.int64)
    for hole in np.argsort(deadline, kind="stable").tolist():
        queue = content.slots.where(int(holes[hole]))[0]
        for pool in (heaps.get(queue, []), heaps.get(-1, [])):
            if pool and pool[0][0] <= deadline[hole]:
                chosen[hole] = heappop(pool)[1]
                break
        else:
            return None
    return chosen


def _hall(log: LogInput, content: Content, holes: Ints, deadline: Ints) -> LogViolation:
    """The first hole (by deadline) for which too few appends had begun, and who proves that it exists."""
    appends = content.appends
    for start, end in _runs(content, holes):
        queue = content.slots.where(int(holes[start]))[0]
        usable = (appends.queue[content.spare] == queue) | (appends.queue[content.spare] < 0)
        begun = np.sort(appends.invoke[content.spare[usable]])
        needed = np.arange(1, end - start + 1)
        available = np.searchsorted(begun, deadline[start:end], side="right")
        short = np.flatnonzero(available < needed)
        if len(short):
            return _hole(log, content, int(holes[start + short[0]]), int(needed[short[0]]), int(available[short[0]]))
    first = int(deadline.argmin())
    return _hole(log, content, int(holes[first]), len(holes), len(content.spare))


def _hole(log: LogInput, content: Content, hole: int, needed: int, available: int) -> LogViolation:
    from checkers.logs.witness import high_source

    queue, offset = content.slots.where(hole)
    hi = content.hi_shared()[hole : int(content.slots.base[queue + 1])]
    evidence = hole + int(hi.argmin())
    if int(hi.min()) >= NEVER:
        evidence = int(content.slots.base[queue + 1]) - 1
    source, op = high_source(log, content, evidence)
    where = content.slots.where(evidence)[1]
    return LogViolation("hole-without-writer", queue, offset, where, (op,), (needed, available), "hole", source)
