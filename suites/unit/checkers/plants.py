"""One violation planted into a large history of a queue, a register or a lock, at the distance of one stamp.

Question: is each kind of the catalogue found among thousands of valid operations, and is the same change one stamp
less still legal?

Model. A plant takes a valid history, a fraction of it at which to act, and a distance: 1 makes the violation, 0 the
*near miss*, which must stay legal. Where a kind has no stamp that could be one less (a value that comes out twice), the
near miss is the valid history.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from checkers.history.columns import Ints
from checkers.logs.columns import ACKED, FAILED, UNKNOWN, Claims, LogInput
from checkers.objects.max_register import MaxRegisterInput
from checkers.objects.mutex import MutexInput
from checkers.objects.queue import QueueInput
from checkers.objects.register import RegisterInput

QueuePlant = Callable[[QueueInput, float, int], QueueInput]


def _set(column: Ints, row: int, value: int) -> Ints:
    changed = column.copy()
    changed[row] = value
    return changed


def _with(columns: Any, prefix: str, **cells: int) -> Any:
    """One more row in the columns of one kind of operation."""
    more = {f"{prefix}_{name}": np.append(getattr(columns, f"{prefix}_{name}"), cell) for name, cell in cells.items()}
    return replace(columns, **more)


def _without_dequeue(queue: QueueInput, value: int) -> QueueInput:
    keep = queue.d_value != value
    names = ("d_value", "d_invoke", "d_ret", "d_op")
    return replace(queue, **{name: getattr(queue, name)[keep] for name in names})


def drained(queue: QueueInput) -> QueueInput:
    """Without the messages that are still in the queue at the end."""
    keep = np.isin(queue.e_value, queue.d_value)
    names = ("e_value", "e_invoke", "e_ret", "e_outcome", "e_op")
    return replace(queue, **{name: getattr(queue, name)[keep] for name in names})


def _victim(queue: QueueInput, fraction: float) -> tuple[int, int]:
    """(row of a dequeue, row of the acknowledged enqueue of its value)."""
    acked = queue.e_value[queue.e_outcome == ACKED]
    row = int(len(queue.d_value) * fraction)
    while queue.d_value[row] not in acked:
        row += 1
    return row, int((queue.e_value == queue.d_value[row]).argmax())


def _end(queue: QueueInput) -> int:
    """A stamp after everything."""
    return int(max(queue.e_invoke.max(), queue.d_ret.max(), queue.n_ret.max(initial=0))) + 1_000


def overtaken(queue: QueueInput, fraction: float, distance: int) -> QueueInput:
    """A value comes out after one that was put in later has come out."""
    row, put = _victim(queue, fraction)
    later = np.isin(queue.d_value, queue.e_value[queue.e_invoke > queue.e_ret[put]])
    invoke = int(queue.d_ret[later].min()) + distance
    ret = max(int(queue.d_ret[row]), invoke)
    return replace(queue, d_invoke=_set(queue.d_invoke, row, invoke), d_ret=_set(queue.d_ret, row, ret))


def taken_before_put(queue: QueueInput, fraction: float, distance: int) -> QueueInput:
    """A value comes out before its enqueue begins."""
    row, put = _victim(queue, fraction)
    invoke = int(queue.d_ret[row]) + distance
    ret = max(int(queue.e_ret[put]), invoke)
    return replace(queue, e_invoke=_set(queue.e_invoke, put, invoke), e_ret=_set(queue.e_ret, put, ret))


def taken_twice(queue: QueueInput, fraction: float, distance: int) -> QueueInput:
    row, _ = _victim(queue, fraction)
    at = _end(queue)
    again = {"value": int(queue.d_value[row]), "invoke": at, "ret": at + 1, "op": 1 << 40}
    more: QueueInput = _with(queue, "d", **again) if distance else queue
    return more


def lost_and_overtaken(queue: QueueInput, fraction: float, distance: int) -> QueueInput:
    """A value never comes out, though the last one that did was put in after it was acknowledged."""
    row, put = _victim(queue, fraction)
    last = int(queue.e_invoke[np.isin(queue.e_value, queue.d_value)].max())
    lost = _without_dequeue(queue, int(queue.d_value[row]))
    return replace(lost, e_ret=_set(queue.e_ret, put, last - distance))


def lost_and_empty(queue: QueueInput, fraction: float, distance: int) -> QueueInput:
    """A value never comes out, and after it was acknowledged the queue says that it is empty."""
    row, put = _victim(queue, fraction)
    end = _end(queue)
    lost = _without_dequeue(queue, int(queue.d_value[row]))
    lost = replace(lost, e_ret=_set(queue.e_ret, put, end))
    said: QueueInput = _with(lost, "n", invoke=end + distance, ret=end + distance, op=1 << 40)
    return said


def empty_while_held(queue: QueueInput, fraction: float, distance: int) -> QueueInput:
    """The queue says that it is empty while one value is certainly in it."""
    row, put = _victim(queue, fraction)
    end = _end(queue)
    held = replace(
        queue,
        e_ret=_set(queue.e_ret, put, end),
        d_invoke=_set(queue.d_invoke, row, end + 100),
        d_ret=_set(queue.d_ret, row, end + 101),
    )
    said: QueueInput = _with(held, "n", invoke=end + distance, ret=end + 99, op=1 << 40)
    return said


QUEUE_PLANTS: dict[str, tuple[QueuePlant, str, bool]] = {
    "overtaken": (overtaken, "VOrd", True),
    "taken before it was put": (taken_before_put, "VFresh", False),
    "taken twice": (taken_twice, "VRepet", True),
    "taken twice from a bag": (taken_twice, "VRepet", False),
    "lost, overtaken": (lost_and_overtaken, "lost-overtaken", True),
    "lost, then empty": (lost_and_empty, "lost-empty", True),
    "lost from a bag, then empty": (lost_and_empty, "lost-empty", False),
    "empty while held": (empty_while_held, "VWit", True),
    "empty while the bag holds": (empty_while_held, "VWit", False),
}
"""name → (plant, the violation, whether the object is a FIFO queue)."""


RegisterPlant = Callable[[RegisterInput, float, int], RegisterInput]


def _read(register: RegisterInput, value: int, invoke: int) -> RegisterInput:
    more: RegisterInput = _with(register, "r", value=value, invoke=invoke, ret=invoke + 1, op=1 << 40)
    return more


def old_read(register: RegisterInput, fraction: float, distance: int) -> RegisterInput:
    """A value is read once more after another certainly stood there. Without swaps: each value has a zone of its
    own."""
    first, last = _bounds(register)
    value = int(register.w_value[int(len(register.w_value) * fraction)])
    after = np.flatnonzero(last > first[value])
    after = after[after != value]
    return _read(register, value, int(first[after].min()) + distance)


def _bounds(register: RegisterInput) -> tuple[Ints, Ints]:
    """(least return, greatest invocation) by value, over its write or swap and its reads."""
    size = int(max(register.w_value.max(initial=-1), register.c_new.max(initial=-1))) + 1
    first, last = np.full(size, 1 << 60, dtype=np.int64), np.full(size, -1, dtype=np.int64)
    for value, invoke, ret in (
        (register.w_value, register.w_invoke, register.w_ret),
        (register.c_new, register.c_invoke, register.c_ret),
        (register.r_value, register.r_invoke, register.r_ret),
    ):
        known = value >= 0
        np.minimum.at(first, value[known], ret[known])
        np.maximum.at(last, value[known], invoke[known])
    return first, last


def read_after_swap(register: RegisterInput, fraction: float, distance: int) -> RegisterInput:
    """A value is read after its successor in the same chain of swaps has been seen."""
    first, last = _bounds(register)
    follows = dict(zip(register.c_old.tolist(), register.c_new.tolist(), strict=True))
    for old in register.c_old[int(len(register.c_old) * fraction) :].tolist():
        chain, at = [], old
        while at in follows:
            at = follows[at]
            chain.append(at)
        bound = int(first[chain].min())
        if old >= 0 and int(last[chain].max()) >= bound:
            return _read(register, old, bound + distance)
    raise AssertionError("no chain of swaps is long enough")


def never_written(register: RegisterInput, fraction: float, distance: int) -> RegisterInput:
    row = int(len(register.r_value) * fraction)
    strange = int(max(register.w_value.max(), register.c_new.max(initial=0))) + 1
    return replace(register, r_value=_set(register.r_value, row, strange)) if distance else register


def swapped_twice(register: RegisterInput, fraction: float, distance: int) -> RegisterInput:
    """Two swaps of the same value succeed."""
    if not distance:
        return register
    row = int(len(register.c_old) * fraction)
    return replace(register, c_old=_set(register.c_old, row + 1, int(register.c_old[row])))


REGISTER_PLANTS: dict[str, tuple[RegisterPlant, tuple[str, ...], float]] = {
    "old read": (old_read, ("zones-overlap", "zone-inside-zone"), 0.0),
    "read after the swap": (read_after_swap, ("order-in-block",), 0.9),
    "never written": (never_written, ("phantom",), 0.25),
    "swapped twice": (swapped_twice, ("two-cas-one-value",), 0.25),
}
"""name → (plant, kinds by which the checker may call it, share of swaps in the valid history)."""


def hold_history(count: int) -> MutexInput:
    """*count* holds one after the other, sixteen stamps each."""
    at = np.arange(count, dtype=np.int64) * 16
    return MutexInput(at, at + 2, np.arange(count, dtype=np.int64), at + 8, at + 10)


def double_hold(mutex: MutexInput, fraction: float, distance: int) -> MutexInput:
    row = int(len(mutex.a_op) * fraction)
    release = int(mutex.a_ret[row + 1]) + distance
    return replace(mutex, r_invoke=_set(mutex.r_invoke, row, release), r_ret=_set(mutex.r_ret, row, release + 1))


def refused_while_free(mutex: MutexInput, fraction: float, distance: int) -> MutexInput:
    row = int(len(mutex.a_op) * fraction)
    begin, end = int(mutex.r_ret[row]) + distance, int(mutex.a_invoke[row + 1]) - 1
    more: MutexInput = _with(mutex, "n", invoke=begin, ret=end, op=1 << 40)
    return more


MUTEX_PLANTS: dict[str, tuple[Callable[[MutexInput, float, int], MutexInput], str]] = {
    "double hold": (double_hold, "double-hold"),
    "refused while free": (refused_while_free, "busy-while-free"),
}


def commit_history(count: int) -> MaxRegisterInput:
    """Commits of 1, 2, 3 … and a fetch after each."""
    at, value = np.arange(count, dtype=np.int64) * 16, np.arange(1, count + 1, dtype=np.int64)
    op = np.arange(count, dtype=np.int64)
    return MaxRegisterInput(value, at, at + 4, op, value, at + 6, at + 9, op + count)


def fetch_of_less(commits: MaxRegisterInput, fraction: float, distance: int) -> MaxRegisterInput:
    """The commit before is fetched after the acknowledgement of this one."""
    row = int(len(commits.w_value) * fraction)
    invoke = int(commits.w_ret[row]) + distance
    less: MaxRegisterInput = _with(
        commits, "r", value=int(commits.w_value[row]) - 1, invoke=invoke, ret=invoke + 1, op=1 << 40
    )
    return less


def trimmed(log: LogInput, fraction: float, distance: int) -> LogInput:
    """The start is past an offset before the last poll that begins at or below it."""
    first = log.polls.offset[log.polls.ends() - log.polls.count]
    row = int(len(log.polls) * fraction)
    queue, offset = int(log.polls.queue[row]), int(first[row])
    below = (log.polls.queue == queue) & (first <= offset)
    ret = int(log.polls.invoke[below].max()) - distance
    cells = (queue, offset, ret - 1, ret, 1 << 40)
    return replace(log, refused=Claims(*(np.array([cell], dtype=np.int64) for cell in cells)))


def never_there(log: LogInput, fraction: float, distance: int) -> LogInput:
    """An offset below the end belongs to a send that certainly failed (the near miss: that nobody answered)."""
    appends = log.appends
    top = np.zeros(log.queue_count, dtype=np.int64)
    np.maximum.at(top, appends.queue, appends.offset)
    below = (appends.outcome == ACKED) & (appends.offset < top[appends.queue])
    unseen = np.flatnonzero(below & ~np.isin(appends.value, log.polls.value))
    row = int(unseen[int(len(unseen) * fraction)])
    outcome = _set(appends.outcome, row, FAILED if distance else UNKNOWN)
    ret = appends.ret if distance else _set(appends.ret, row, 1 << 62)
    return replace(log, appends=replace(appends, outcome=outcome, offset=_set(appends.offset, row, -1), ret=ret))


LOG_PLANTS: dict[str, tuple[Callable[[LogInput, float, int], LogInput], str]] = {
    "read of trimmed": (trimmed, "read-of-trimmed"),
    "never there": (never_there, "hole-without-writer"),
}
"""Kinds that need more than an acknowledged append; the rest is in :mod:`suites.unit.checkers.synthetic`."""
