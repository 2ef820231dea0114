"""The common case of a queue in one compiled pass: nothing came out twice, too early or in the wrong order.

Question: ten million operations on an event log are usually legal; need it take seconds to see that?

Model. Where numba is installed, the conditions of :mod:`checkers.objects.queue` are asked in a few loops, by stamp
instead of by position: the greatest di of all values with er < ei(b) must not exceed dr(b), and an "empty" [i, r] needs
a stamp s in i … r at which no value covers it (er < s < di); between two stamps more is covered than at either. A value
that never came out covers everything after its er, as if no unknown dequeue could have taken it. Stamps must be numbers
of events or as dense as these; others are numbered first, which is sorting and takes most of the time. The pass gives
an answer only if nothing contradicts anything; otherwise the numpy path decides and explains. So it can say "legal"
faster and nothing else.

Limits. The first call in a process loads the compiled loops (about a second, more when they are compiled for the first
time): only inputs of :data:`LARGE` operations are worth it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from checkers.compiled.numba_loops import compiled, has_numba
from checkers.history.columns import NEVER, Ints
from checkers.objects.event_positions import positions

if TYPE_CHECKING:
    from checkers.objects.queue import QueueInput

LARGE = 2_000_000
"""Enqueues and dequeues together."""

SPARE = 1 << 20
"""Stamps and values may range so much further than four times the number of operations."""

Small = npt.NDArray[np.int32]
"""Rows and stamps: the half of the memory, and so of the time."""


def is_worth_it(queue: QueueInput) -> bool:
    """Whether numba is there and the input is large."""
    return len(queue.e_value) + len(queue.d_value) >= LARGE and has_numba()


def is_plainly_legal(queue: QueueInput, ordered: bool) -> bool:
    """Whether *queue* is linearizable at first sight; ``False``: somebody else has to look."""
    allowed = min(4 * (len(queue.e_value) + len(queue.d_value)) + SPARE, int(np.iinfo(np.int32).max))
    top = 1 + max(int(queue.e_value.max(initial=-1)), int(queue.d_value.max(initial=-1)))
    least = min(int(queue.e_value.min(initial=0)), int(queue.d_value.min(initial=0)))
    first, last = _span(queue)
    soonest = min(int(column.min(initial=NEVER)) for column in (queue.e_ret, queue.d_ret, queue.n_ret))
    if top > allowed or min(least, soonest - first) < 0:
        return False
    if last - first >= allowed:
        queue = on_events(queue)
        first, last = _span(queue)
    return _is_legal(queue, ordered, top, first, last - first + 2)


def on_events(queue: QueueInput) -> QueueInput:
    """The same with numbers of events instead of stamps; unknown dequeues of unknown values are left as they are."""
    (e_invoke, d_invoke, n_invoke), (e_ret, d_ret, n_ret), end = positions(
        [queue.e_invoke, queue.d_invoke, queue.n_invoke], [queue.e_ret, queue.d_ret, queue.n_ret]
    )
    e_ret[e_ret == end], d_ret[d_ret == end], n_ret[n_ret == end] = NEVER, NEVER, NEVER
    return replace(
        queue, e_invoke=e_invoke, d_invoke=d_invoke, n_invoke=n_invoke, e_ret=e_ret, d_ret=d_ret, n_ret=n_ret
    )


def _is_legal(queue: QueueInput, ordered: bool, top: int, first: int, count: int) -> bool:
    """Values are below *top*, stamps from *first* on, fewer than *count* of them."""
    loops = _loops()
    row_of, is_out = np.full(top, -1, dtype=np.int32), np.zeros(len(queue.e_value), dtype=np.bool_)
    latest = np.full(count if ordered else 0, -1, dtype=np.int32)
    change = np.zeros(count if len(queue.n_invoke) else 0, dtype=np.int32)
    enqueues = queue.e_invoke, queue.e_ret, queue.e_outcome
    dequeues = queue.d_value, queue.d_invoke, queue.d_ret
    if not loops["enter"](queue.e_value, queue.e_outcome, row_of):
        return False
    if not loops["match"](*enqueues, *dequeues, row_of, is_out, first, latest, change):
        return False
    lost = loops["first_left"](queue.e_ret, queue.e_outcome, is_out)
    return bool(
        (not ordered or loops["order"](*enqueues, *dequeues, row_of, first, latest, lost))
        and (not len(change) or loops["empties"](queue.n_invoke, queue.n_ret, first, change, lost))
    )


def _span(queue: QueueInput) -> tuple[int, int]:
    """The first and the last stamp that matter; a failed enqueue does not."""
    calls = (queue.e_invoke, queue.d_invoke, queue.n_invoke)
    first = min(int(column.min(initial=NEVER)) for column in calls)
    last = max(int(column.max(initial=first)) for column in (*calls, queue.n_ret))  # an "empty" has returned
    return first, max(last, _last(queue.e_ret), _last(queue.d_ret))


def _last(returns: Ints) -> int:
    greatest = int(returns.max(initial=-1))
    return greatest if greatest < NEVER else int(returns[returns < NEVER].max(initial=-1))


@cache
def _loops() -> dict[str, Callable[..., Any]]:
    """Where there is no numba they are plain Python, and slow: only tests run them so."""
    return {loop.__name__.removeprefix("_loop_"): compiled(loop) for loop in _LOOPS}


_NEVER = 1 << 62


def _loop_enter(values: Ints, outcome: Ints, row_of: Small) -> bool:
    for row in range(len(values)):
        if outcome[row] != 2:
            if row_of[values[row]] != -1:
                return False
            row_of[values[row]] = row
    return True


def _loop_match(
    e_invoke: Ints, e_ret: Ints, e_outcome: Ints, values: Ints, invoke: Ints, ret: Ints, row_of: Small, is_out: Any,
    first: int, latest: Small, change: Small,
) -> bool:  # fmt: skip
    """Dequeues find their enqueues; by er the greatest di, and where values begin and cease to cover instants."""
    for row in range(len(values)):
        enqueue = row_of[values[row]]
        if enqueue < 0 or is_out[enqueue] or ret[row] < e_invoke[enqueue]:
            return False
        is_out[enqueue] = True
        er, di = e_ret[enqueue], invoke[row]
        if e_outcome[enqueue] != 0 or er >= _NEVER:
            continue  # er = ∞: it is before nothing and covers nothing
        if len(latest) and latest[er - first] < di - first:
            latest[er - first] = di - first
        if len(change) and er < di:
            change[er + 1 - first] += 1
            change[di - first] -= 1
    return True


def _loop_first_left(ret: Ints, outcome: Ints, is_out: Any) -> int:
    """The first er of a value that never came out."""
    soonest = _NEVER
    for row in range(len(ret)):
        if outcome[row] == 0 and not is_out[row] and ret[row] < soonest:
            soonest = ret[row]
    return soonest


def _loop_order(
    e_invoke: Ints, e_ret: Ints, e_outcome: Ints, values: Ints, invoke: Ints, ret: Ints, row_of: Small, first: int,
    latest: Small, lost: int,
) -> bool:  # fmt: skip
    running = -1
    for stamp in range(len(latest)):
        here = latest[stamp]
        latest[stamp] = running  # of what returned before it
        running = max(running, here)
    for row in range(len(values)):
        enqueue = row_of[values[row]]
        if ret[row] >= _NEVER and e_outcome[enqueue] != 0:
            continue  # neither is known to have happened
        ei = e_invoke[enqueue]
        if (ei > lost and ret[row] < _NEVER) or latest[ei - first] > ret[row] - first:
            return False
    return True


def _loop_empties(invoke: Ints, ret: Ints, first: int, change: Small, lost: int) -> bool:
    covering = free = 0
    for stamp in range(len(change)):
        covering += change[stamp]
        if covering == 0 and stamp + first <= lost:
            free += 1
        change[stamp] = free  # of the instants up to this one
    for row in range(len(invoke)):
        before = change[invoke[row] - 1 - first] if invoke[row] > first else 0
        if change[ret[row] - first] == before:
            return False
    return True


_LOOPS = (_loop_enter, _loop_match, _loop_first_left, _loop_order, _loop_empties)
