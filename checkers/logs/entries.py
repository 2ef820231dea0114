"""The log of a group that elects its leader, read by index: linearizable or not, in linear time but for a sort.

Question: is there an instant inside the interval of each append and each get, such that one list of entries, seen at
these instants, answers all of them as they were answered?

Model. ``append v → i``: v is the entry i, and i is the length of the list before. ``get i → v``: the entry i is v.
``get i → nothing``: the list is at most i long. A leader may write entries of its own (a marker of its term, Raft's
no-op), of which a reader sees only that they are no client's.

Theorem. With T(i) the instant at which entry i comes into being (is committed), T never decreases, and each operation
bounds it as in :mod:`checkers.logs.linear`:

    append → i         inv ≤ T(i) ≤ ret
    get i → v          T(i) ≤ ret
    get i → nothing    inv ≤ T(j) for every j ≥ i

so the history of n appends and m gets is linearizable **iff** no index shows two entries, no entry stands at two
indices or lacks its append, and max{lo(i) : i ≤ j} ≤ hi(j) for every j. An entry of a leader is an append that somebody
may have begun before everything and that nobody answered: it bounds nothing below, and one more of them can stand at
any index that nobody appended to and nobody read. So with ``leaders_write`` there are no holes, and nothing is ever
unknown; without (a log that only clients write to) a hole needs an append without an answer.

What it finds of a group: a leader that was deposed and still says "nothing there" (``stale-or-lost``,
``went-backwards``), an entry that was acknowledged, or read, before a majority had it, and whose index was given out
again (``two-values-one-offset``), entries out of order with real time.

Limits. Single appends (several entries that are acknowledged together are appends of one interval). A get that was
refused, or never answered, is left out. The log of one life: after a loss of a majority's disks there is another one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from checkers.history.columns import NEVER, HistoryFormatError, Ints
from checkers.logs.columns import UNKNOWN, Appends, Claims, LogInput, Polls, no_ints
from checkers.logs.linear import LogResult, check_log

NOTHING: Final = -1
"""A get that was told that there is no such entry."""
LEADERS_OWN: Final = -3
"""An entry that a leader wrote by itself."""


@dataclass(frozen=True, slots=True)
class Gets:
    """One row a get that was answered. ``value``: a client's (≥ 0), :data:`NOTHING`, :data:`LEADERS_OWN`, or
    ``UNKNOWN_VALUE`` for an entry that nobody can have written."""

    queue: Ints = field(default_factory=no_ints)
    index: Ints = field(default_factory=no_ints)
    value: Ints = field(default_factory=no_ints)
    invoke: Ints = field(default_factory=no_ints)
    ret: Ints = field(default_factory=no_ints)
    op: Ints = field(default_factory=no_ints)

    def __len__(self) -> int:
        return len(self.queue)


def check_entries(appends: Appends, gets: Gets, *, leaders_write: bool = True) -> LogResult:
    """Decide the logs of all groups; ``queue`` is the number of a group."""
    if not leaders_write and (own := np.flatnonzero(gets.value == LEADERS_OWN)).size:
        raise HistoryFormatError("gets", int(own[0]), "an entry of a leader, and leaders do not write")
    result = check_log(log_of_entries(appends, gets), gaps=leaders_write)
    told = (replace(found, ops=tuple(op for op in found.ops if op >= 0)) for found in result.violations)
    return LogResult("log", tuple(told), result.unknown, content=result.content)


def log_of_entries(appends: Appends, gets: Gets) -> LogInput:
    """The same as sends and polls of one message each."""
    nothing, shown = (np.flatnonzero(which) for which in (gets.value == NOTHING, gets.value != NOTHING))
    value = gets.value[shown]
    own = value == LEADERS_OWN
    queue, index = gets.queue[shown], gets.index[shown]
    places, number = np.unique(np.stack((queue[own], index[own])), axis=1, return_inverse=True)
    first = 1 + int(max(appends.value.max(initial=-1), value.max(initial=-1)))
    value[own] = first + number.ravel()
    return LogInput(
        1 + int(max(appends.queue.max(initial=0), gets.queue.max(initial=0))),
        appends=_with_leaders(appends, places[0], first + np.arange(places.shape[1], dtype=np.int64)),
        polls=Polls(
            queue, np.ones_like(queue), gets.invoke[shown], gets.ret[shown], gets.op[shown], index, index, value
        ),
        empties=Claims(*(column[nothing] for column in (gets.queue, gets.index, gets.invoke, gets.ret, gets.op))),
    )


def _with_leaders(appends: Appends, queue: Ints, value: Ints) -> Appends:
    """*appends*, and those of leaders: begun before everything, never answered, and no operation of anybody."""
    unknown, none = np.full_like(queue, UNKNOWN), np.full_like(queue, -1)
    rows = (queue, value, none, np.zeros_like(queue), np.full_like(queue, NEVER), unknown, none)
    names = ("queue", "value", "offset", "invoke", "ret", "outcome", "op")
    return Appends(*(np.concatenate((getattr(appends, n), row)) for n, row in zip(names, rows, strict=True)))
