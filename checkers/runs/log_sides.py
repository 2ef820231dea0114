"""Operations in flight over a power cut: on which side of it did each take effect?

Question: a send, a read or a query was invoked before a power cut and answered after it. It may have seen the old log
or the one that was recovered. Is there a choice for all of them that explains every answer?

Model. Each operation in flight is given to one of the epochs from its invocation to its answer. Within an epoch its
interval need not be cut to the epoch's length: whatever bounds a message from below there began before the epoch
ended, and whatever bounds it from above was answered after the epoch began.

In each queue, depth first: the operations are given to their epochs one after the other, the earliest epoch first,
while those without one are *loose* (a send may have been stored, anything else is left out). Loosening never makes a
legal history illegal, so a branch that is illegal with the rest loose is dropped with all its choices. If everything is
illegal with all of them loose, the contradiction is one of the other operations alone. Queues are objects by
themselves, so one look judges a choice of each.

Limits. At most :data:`TRIES` choices a queue are judged; after that the answer is *unknown*.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from checkers.history.columns import Ints
from checkers.runs.log_operations import Rows

TRIES: Final = 512

TOO_MANY_SIDES = (
    "operations that were answered over a power cut may each have seen the log before or after it, and there are too "
    "many possibilities to try them all"
)

Judge = Callable[[Rows, list[int]], Callable[[int], bool | None]]
"""Of some queues and their rows: whether each is legal; ``None`` if that cannot be said."""


@dataclass(frozen=True, slots=True)
class Sides:
    """``rows`` with the operations in flight on the sides that explain most.

    ``moved``: queues of which the rows differ from what they were. ``contradicted``: those of which no choice explains
    all; ``open``: those of which that is not known.
    """

    rows: Rows
    moved: tuple[int, ...]
    contradicted: tuple[int, ...]
    open: tuple[int, ...]


def choose_sides(queues: Ints, rows: Rows, judge: Judge, doubtful: Collection[int]) -> Sides:
    """Sides for the operations in flight of the *doubtful* queues, which are not known to be legal with *rows* as they
    are; *queues* is the queue by row of ``ops``."""
    flying = rows.in_flight()
    searches = {queue: _Search(rows, flying[queues[flying] == queue]) for queue in sorted(doubtful)}
    searches = {queue: search for queue, search in searches.items() if len(search.flying)}
    _ask_all(queues, rows, judge, searches)
    epoch, loose = rows.epoch.copy(), [np.zeros(0, dtype=np.int64)]
    for search in searches.values():
        if search.found is not None:
            epoch[search.flying] = search.found
        elif not search.is_contradicted:
            loose.append(search.flying)
    return Sides(
        replace(rows, epoch=epoch).loosened(np.concatenate(loose)),
        tuple(queue for queue, search in searches.items() if not search.is_contradicted),
        tuple(queue for queue, search in searches.items() if search.is_contradicted),
        tuple(queue for queue, search in searches.items() if search.is_open),
    )


def _ask_all(queues: Ints, rows: Rows, judge: Judge, searches: dict[int, _Search]) -> None:
    """Let all *searches* go on, a choice of each at a time, until they are over."""
    steps = {queue: search.steps() for queue, search in searches.items()}
    asked = {queue: next(steps_of_queue) for queue, steps_of_queue in steps.items()}
    while asked:
        tried = rows.only(np.isin(queues, list(asked)))
        epoch = rows.epoch.copy()
        for queue, choice in asked.items():
            epoch[searches[queue].flying] = choice.epoch
        loose = np.concatenate([choice.loose for choice in asked.values()])
        is_legal = judge(replace(tried, epoch=epoch).loosened(loose), list(asked))
        for queue in list(asked):
            try:
                asked[queue] = steps[queue].send(is_legal(queue))
            except StopIteration:
                del asked[queue]


@dataclass(frozen=True, slots=True)
class Choice:
    """``epoch`` of each operation in flight, and which of them are ``loose``."""

    epoch: Ints
    loose: Ints


class _Search:
    """Epochs for the operations *flying* of one queue: what is yielded is to be judged."""

    def __init__(self, rows: Rows, flying: Ints) -> None:
        self.rows, self.flying = rows, flying
        self.left = TRIES
        self.found: Ints | None = None
        self.is_open = self.is_contradicted = False

    def steps(self) -> Generator[Choice, bool | None, None]:
        """Look for the epochs that explain all, and leave them in ``found``."""
        epoch = self.rows.epoch[self.flying]
        if (yield Choice(epoch, self.flying)) is False:
            return
        self.found = yield from self._from(0, epoch)
        self.is_open = self.is_open and self.found is None
        self.is_contradicted = self.found is None and not self.is_open

    def _from(self, number: int, epoch: Ints) -> Generator[Choice, bool | None, Ints | None]:
        """The epochs that explain all, given those of the first *number*; ``None`` if there are none."""
        if number == len(self.flying):
            return epoch
        row, rest = self.flying[number], self.flying[number + 1 :]
        for side in range(int(self.rows.began[row]), int(self.rows.last[row]) + 1):
            if self.left == 0:
                self.is_open = True
                return None
            self.left -= 1
            tried = epoch.copy()
            tried[number] = side
            answer = yield Choice(tried, rest)
            if answer is None and not len(rest):
                self.is_open = True
            elif answer is not False and (found := (yield from self._from(number + 1, tried))) is not None:
                return found
        return None
