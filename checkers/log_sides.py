"""Operations in flight over a power cut: on which side of it did each take effect?

Question: a send, a read or a query was invoked before a power cut and answered after it. It may have seen the old log
or the one that was recovered. Is there a choice for all of them that explains every answer?

Model. Each operation in flight is given to one of the epochs from its invocation to its answer. Within an epoch its
interval need not be cut to the epoch's length: whatever bounds a message from below there began before the epoch
ended, and whatever bounds it from above was answered after the epoch began.

Queue by queue, depth first: the operations are given to their epochs one after the other, the earliest epoch first,
while those without one are *loose* (a send may have been stored, anything else is left out). Loosening never makes a
legal history illegal, so a branch that is illegal with the rest loose is dropped with all its choices. If everything is
illegal with all of them loose, the contradiction is one of the other operations alone.

Limits. At most :data:`TRIES` choices a queue are judged; after that the answer is *unknown*.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from checkers.columns import Ints
from checkers.log_history import Rows

TRIES: Final = 512

TOO_MANY_SIDES = (
    "operations that were answered over a power cut may each have seen the log before or after it, and there are too "
    "many possibilities to try them all"
)

Judge = Callable[[Rows], bool | None]
"""Whether these rows are legal; ``None`` if that cannot be said."""


@dataclass(frozen=True, slots=True)
class Sides:
    """``rows`` with the operations in flight on the sides that explain most.

    ``contradicted``: queues of which no choice explains all; ``is_open``: there is one of which that is not known.
    """

    rows: Rows
    contradicted: tuple[int, ...] = ()
    is_open: bool = False


def choose_sides(queues: Ints, rows: Rows, judge: Judge, broken: Container[int] = ()) -> Sides:
    """Sides for all operations in flight; *queues* is the queue by row of ``ops``. Of *broken* queues it is known that
    *rows* are not legal as they are. If no other side explains more, *rows* are returned themselves."""
    flying = rows.in_flight()
    epoch, loose = rows.epoch.copy(), []
    contradicted, is_open = [], False
    for queue in np.unique(queues[flying]).tolist():
        its, mine = rows.only(queues == queue), flying[queues[flying] == queue]
        if queue not in broken and judge(its) is True:
            continue
        if judge(its.loosened(mine)) is False:
            loose.append(mine)
            continue
        search = _Search(its, mine, judge)
        found = search.from_(0, its.epoch)
        if found is not None:
            epoch[mine] = found[mine]
        elif search.is_open:
            loose.append(mine)
            is_open = True
        else:
            contradicted.append(queue)
    chosen = replace(rows, epoch=epoch) if (epoch != rows.epoch).any() else rows
    return Sides(chosen.loosened(np.concatenate(loose)) if loose else chosen, tuple(contradicted), is_open)


class _Search:
    """Epochs for the operations *flying* of one queue."""

    def __init__(self, rows: Rows, flying: Ints, judge: Judge) -> None:
        self.rows, self.flying, self.judge = rows, flying, judge
        self.left, self.is_open = TRIES, False

    def from_(self, number: int, epoch: Ints) -> Ints | None:
        """The epoch by row that explains all, given those of the first *number*; ``None`` if there is none."""
        if number == len(self.flying):
            return epoch
        row, rest = self.flying[number], self.flying[number + 1 :]
        for side in range(int(self.rows.began[row]), int(self.rows.last[row]) + 1):
            if self.left == 0:
                self.is_open = True
                return None
            self.left -= 1
            tried = epoch.copy()
            tried[row] = side
            answer = self.judge(replace(self.rows, epoch=tried).loosened(rest))
            if answer is None and not len(rest):
                self.is_open = True
            elif answer is not False and (found := self.from_(number + 1, tried)) is not None:
                return found
        return None
