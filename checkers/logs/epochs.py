"""One log over power cuts: is there a truncation for each cut, and a send for each offset, that explain every answer?

Question: a power cut may take the end of a log, and an unknown send may fill an offset that nobody acknowledged or
read. Do the acknowledgements and reads of all epochs together leave a choice of both, and which?

Model. Between cuts nothing disappears. What stands at an offset from one truncation below it to the next is one *life*:
one message, from its first epoch to its last. A history is legal iff truncations s(e) exist such that

    one value       all acknowledgements and reads within a life agree
    begun there     an acknowledged send's life begins in the epoch that acknowledged it
    one send each   every other life has an unknown send of its own: of its value, where anybody read it, else any that
                    nobody needs elsewhere; begun by the time by which the offset must have been there (the least bound
                    of it and all later offsets of the epoch in which the life begins)

A send that begins a life may be older than the life: unknown sends take effect whenever they like. A life that nobody
saw is only assumed where an epoch's own answers show that the offset was there.

Later truncation is never worse as long as no life has two values: it merges two lives into one, which needs one send
less and no earlier one. So each cut truncates at the first contradiction. There is one exception: where the offset's
next known value belongs to an unknown send of before that epoch, the life of that send may have begun at any cut in
between, and each of these is tried. Sends against lives are thresholds: the k-th earliest send to the k-th earliest
time (:mod:`checkers.logs.holes`), over all epochs at once. Of several tries of one message the latest that suffice are
the ones that were read, so that the earliest are left.

Limits. The choices just named multiply where several unknown sends turn up again two or more cuts later at offsets that
held something else before; beyond :data:`BUDGET` offsets looked at the answer is *unknown*. Trimming is judged apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from checkers.history.columns import NEVER, Ints

BUDGET = 200_000_000
"""Offsets visited, all choices together."""

NOT_TOLD: Final = -1
"""Nobody said what stands at an offset."""


@dataclass(frozen=True, slots=True)
class Told:
    """What one epoch's own answers say of the offsets that they show to exist.

    ``acked``: the append that was acknowledged there in this epoch, −1 if none. ``due``: when the offset was there at
    the latest.
    """

    value: Ints
    acked: Ints
    due: Ints


@dataclass(frozen=True, slots=True)
class Tries:
    """Sends to this log that nobody answered: ``row`` names them, ``invoke`` in ascending order."""

    value: Ints
    invoke: Ints
    row: Ints


@dataclass(frozen=True, slots=True)
class Lives:
    """Which append stood at an offset, from epoch ``begin`` to epoch ``last``; one entry a life."""

    offset: Ints
    value: Ints
    row: Ints
    begin: Ints
    last: Ints
    due: Ints


@dataclass(frozen=True, slots=True)
class Shortage:
    """No choice explains the log. The least contradictory one needs, in *epoch*, *needed* sends that nobody saw up to
    *offset*, and *available* of them had begun; needed 0: *offset* shows two messages whatever is chosen."""

    epoch: int
    offset: int
    needed: int = 0
    available: int = 0


def explain(told: Sequence[Told], tries: Tries, budget: int = BUDGET) -> Lives | Shortage | None:
    """The lives that explain one log, the reason why none do, or ``None`` where the budget is spent."""
    search = _Search(told, tries, budget)
    found = search.try_from(0, _State.empty(), ())
    if found is not None:
        return _lives(told, found, search)
    return None if search.left < 0 else search.shortage


@dataclass(frozen=True, slots=True)
class _State:
    """The log before an epoch: what stands at each offset, when it had to be there, and since which epoch."""

    value: Ints
    acked: Ints
    due: Ints
    begin: Ints

    @staticmethod
    def empty() -> _State:
        none = np.zeros(0, dtype=np.int64)
        return _State(none, none, none, none)

    def after(self, told: Told, epoch: int, truncation: int) -> _State:
        """Truncated at *cut*, then what the epoch says."""
        size = max(truncation, len(told.value))
        value, acked = np.full(size, NOT_TOLD, dtype=np.int64), np.full(size, -1, dtype=np.int64)
        due, begin = np.full(size, NEVER, dtype=np.int64), np.full(size, epoch, dtype=np.int64)
        for column, old in ((value, self.value), (acked, self.acked), (due, self.due), (begin, self.begin)):
            column[:truncation] = old[:truncation]
        kept = min(truncation, len(told.value))
        value[:kept] = np.where(value[:kept] == NOT_TOLD, told.value[:kept], value[:kept])
        for column, new in ((value, told.value), (acked, told.acked), (due, told.due)):
            column[truncation : len(new)] = new[truncation:]
        return _State(value, acked, due, begin)

    def open_above(self, truncation: int) -> tuple[Ints, Ints, Ints, Ints]:
        """Value, latest time, offset and first epoch of the lives from *cut* on that no acknowledgement explains."""
        one = truncation + np.flatnonzero(self.acked[truncation:] < 0)
        return self.value[one], self.due[one], one, self.begin[one]


class _Search:
    """Depth first over the truncations, the latest first."""

    def __init__(self, told: Sequence[Told], tries: Tries, budget: int) -> None:
        self.told, self.tries, self.left = told, tries, budget
        self.names, first, self.count = np.unique(tries.value, return_index=True, return_counts=True)
        self.first = tries.invoke[first]
        self.keep = _keep(told, self.names)
        self.returns = _returns(told, self)
        self.shortage = Shortage(0, 0)
        self.chosen: Ints = np.zeros(0, dtype=np.int64)

    def first_try(self, values: Ints) -> Ints:
        """When the earliest unknown send of each value began; never, if there is none."""
        if not len(self.names):
            return np.full(len(values), NEVER, dtype=np.int64)
        place = np.minimum(np.searchsorted(self.names, values), len(self.names) - 1)
        return np.where(self.names[place] == values, self.first[place], NEVER)

    def try_from(self, epoch: int, state: _State, ended: tuple[tuple[Ints, ...], ...]) -> list[int] | None:
        """The truncations from *epoch* on that explain the rest, given what came before."""
        if epoch == len(self.told):
            return [] if self._sends_suffice((*ended, state.open_above(0))) else None
        high = self._contradiction(epoch, state)
        if high < self.keep[epoch]:
            if not self.shortage.needed and epoch >= self.shortage.epoch:
                self.shortage = Shortage(epoch, high)
            return None
        for truncation in (high, *self._earlier(epoch, state, high)):
            self.left -= len(state.value) + len(self.told[epoch].value) + 1
            if self.left < 0:
                return None
            after = state.after(self.told[epoch], epoch, truncation)
            rest = self.try_from(epoch + 1, after, (*ended, state.open_above(truncation)))
            if rest is not None:
                return [truncation, *rest]
        return None

    def _contradiction(self, epoch: int, state: _State) -> int:
        """The first offset whose life must have ended before *epoch*; the length, if there is none."""
        told = self.told[epoch]
        size = min(len(state.value), len(told.value))
        new, old = told.value[:size], state.value[:size]
        differs = (new != NOT_TOLD) & (old != new)
        late = np.flatnonzero(differs & (old == NOT_TOLD))
        differs[late] = self.first_try(new[late]) > state.due[late]
        bad = np.flatnonzero(differs | (told.acked[:size] >= 0))
        return int(bad[0]) if len(bad) else len(state.value)

    def _earlier(self, epoch: int, state: _State, high: int) -> list[int]:
        """Other offsets at which it can help to truncate: where a send may begin that turns up later."""
        truncations = []
        for offset, value, again in self.returns[epoch]:
            if self.keep[epoch] <= offset < high:
                first = int(self.first_try(np.array([value]))[0])
                old = int(state.value[offset])
                if again or (old not in (NOT_TOLD, value)) or (old == NOT_TOLD and first > state.due[offset]):
                    truncations.append(offset)
        return sorted(set(truncations), reverse=True)

    def _sends_suffice(self, lives: tuple[tuple[Ints, ...], ...]) -> bool:
        """Whether each life without an acknowledgement gets a send; ``chosen`` then says which."""
        value, due, offset, begin = (np.concatenate(column) for column in zip(*lives, strict=True))
        chosen = np.full(len(value), -1, dtype=np.int64)
        order = np.lexsort((due, value))
        order = order[value[order] != NOT_TOLD]
        if not self._known(value[order], due[order], offset[order], begin[order], order, chosen):
            return False
        spare = np.setdiff1d(np.arange(len(self.tries.value)), chosen[chosen >= 0])
        holes = np.flatnonzero(value == NOT_TOLD)
        holes = holes[np.argsort(due[holes], kind="stable")]
        begun = np.searchsorted(self.tries.invoke[spare], due[holes], side="right")
        short = np.flatnonzero(begun < np.arange(1, len(holes) + 1))
        if len(short):
            hole = holes[short[0]]
            if not self.shortage.needed:
                where = int(begin[hole]), int(offset[hole])
                self.shortage = Shortage(*where, int(short[0]) + 1, int(begun[short[0]]))
            return False
        chosen[holes] = spare[: len(holes)]
        self.chosen = chosen
        return True

    def _known(self, value: Ints, due: Ints, offset: Ints, begin: Ints, order: Ints, chosen: Ints) -> bool:
        """Sends for lives whose value was read, sorted by value and time: the latest tries that suffice."""
        borders = np.flatnonzero(value[1:] != value[:-1]) + 1
        for start, end in pairwise((0, *borders.tolist(), len(value))) if len(value) else ():
            of_value = np.flatnonzero(self.tries.value == value[start])
            latest = _latest(self.tries.invoke[of_value], due[start:end])
            if latest is None:
                if not self.shortage.needed:
                    self.shortage = Shortage(int(begin[end - 1]), int(offset[end - 1]))
                return False
            chosen[order[start:end]] = of_value[latest]
        return True


def _latest(invoke: Ints, due: Ints) -> list[int] | None:
    """Indexes of the latest of *invoke* (ascending) that are in time for all of *due* (ascending), one each."""
    chosen: list[int] = []
    for index in range(len(invoke) - 1, -1, -1):
        candidate = [index, *chosen]
        if len(chosen) < len(due) and bool((invoke[candidate] <= due[len(due) - len(candidate) :]).all()):
            chosen = candidate
    return chosen if len(chosen) == len(due) else None


def _keep(told: Sequence[Told], names: Ints) -> list[int]:
    """By epoch: the cut before it took nothing below this, since what was known below was known again later and had no
    second send."""
    keep = np.zeros(len(told) + 1, dtype=np.int64)
    size = max((len(one.value) for one in told), default=0)
    value, seen = np.full(size, NOT_TOLD, dtype=np.int64), np.full(size, -1, dtype=np.int64)
    for epoch, one in enumerate(told):
        here = np.flatnonzero(one.value != NOT_TOLD)
        same = here[(value[here] == one.value[here]) & (one.acked[here] < 0)]
        same = same[~np.isin(value[same], names)] if len(same) and len(names) else same
        for before in np.unique(seen[same]).tolist():
            top = int(same[seen[same] == before].max()) + 1
            keep[before + 1 : epoch + 1] = np.maximum(keep[before + 1 : epoch + 1], top)
        value[here], seen[here] = one.value[here], epoch
    return [int(low) for low in keep[:-1]]


def _returns(told: Sequence[Told], search: _Search) -> list[list[tuple[int, int, bool]]]:
    """By epoch: (offset, value, tried more than once) of unknown sends that may have begun a life then, and were first
    read there in it or later."""
    found: list[list[tuple[int, int, bool]]] = [[] for _ in told]
    if not len(search.names):
        return found
    for last, one in enumerate(told):
        for offset in np.flatnonzero(np.isin(one.value, search.names) & (one.acked < 0)).tolist():
            value = int(one.value[offset])
            place = int(np.searchsorted(search.names, value))
            again = bool(search.count[place] > 1)
            if again:
                found[last].append((offset, value, again))
            for epoch in range(last - 1, 0, -1):
                here = told[epoch]
                if offset < len(here.value) and here.value[offset] != NOT_TOLD:
                    break
                found[epoch].append((offset, value, again))
    return found


def _lives(told: Sequence[Told], truncations: list[int], search: _Search) -> Lives:
    """All lives under the chosen truncations; the open ones in the order in which the search met them."""
    state, parts = _State.empty(), []
    for epoch, one in enumerate(told):
        parts.append(_ended(state, truncations[epoch], epoch - 1))
        state = state.after(one, epoch, truncations[epoch])
    parts.append(_ended(state, 0, len(told) - 1))
    offset, value, row, begin, last, due = (np.concatenate(column) for column in zip(*parts, strict=True))
    open_ = np.flatnonzero(row < 0)
    row[open_] = search.tries.row[search.chosen]
    value[open_] = search.tries.value[search.chosen]
    return Lives(offset, value, row, begin, last, due)


def _ended(state: _State, truncation: int, last: int) -> tuple[Ints, ...]:
    one = np.arange(truncation, len(state.value), dtype=np.int64)
    ended = np.full(len(one), last, dtype=np.int64)
    return (
        one,
        state.value[truncation:],
        state.acked[truncation:].copy(),
        state.begin[truncation:],
        ended,
        state.due[truncation:],
    )
