"""What cannot be, whoever wrote what: contradictions of registers and queues that no search is needed to see.

Question: values are written or put in more than once, so no theorem decides; is something plainly wrong all the same?

Model. Each rule is necessary for an order to exist and takes one sort:

    register   a value is read (or swapped away) that nobody wrote; or by a read that had returned before every write of
               it began; or after it was certainly overwritten: with W′ the write that began last of all that had
               returned before the read began, every write of the value that began before the read returned had itself
               returned before W′ began
    queue      a value comes out that nobody put in, or more often than it was put in, or the k-th time before it was
               put in the k-th time

An unknown write returns never. The initial value was written before everything.

Limits. Sound and not complete: where no rule is broken, nothing is said (:mod:`checkers.objects.search` decides).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from checkers.history.columns import NEVER, Ints
from checkers.objects.lanes import running_maximum
from checkers.objects.result import Violation

if TYPE_CHECKING:
    from checkers.objects.queue import QueueInput
    from checkers.objects.register import RegisterInput


class _Rows(NamedTuple):
    value: Ints
    invoke: Ints
    ret: Ints
    op: Ints


def refuted_register(register: RegisterInput) -> tuple[Violation, ...]:
    """The first rule that *register* breaks, with the operations that show it."""
    writes = _Rows(*map(np.concatenate, (
        (register.w_value, register.c_new), (register.w_invoke, register.c_invoke),
        (register.w_ret, register.c_ret), (register.w_op, register.c_op),
    )))  # fmt: skip
    swapped = register.c_ret < NEVER  # a swap that happened read what it swapped away
    reads = _Rows(*map(np.concatenate, (
        (register.r_value, register.c_old[swapped]), (register.r_invoke, register.c_invoke[swapped]),
        (register.r_ret, register.c_ret[swapped]), (register.r_op, register.c_op[swapped]),
    )))  # fmt: skip
    if not len(reads.op):
        return ()
    return _not_written(writes, reads) or _overwritten(writes, reads)


def _not_written(writes: _Rows, reads: _Rows) -> tuple[Violation, ...]:
    """Reads of what nobody wrote, or not yet."""
    order = np.lexsort((writes.invoke, writes.value))
    values, first = np.unique(writes.value[order], return_index=True)
    begun = writes.invoke[order][first]
    is_initial = reads.value < 0
    place = np.minimum(np.searchsorted(values, reads.value), max(len(values) - 1, 0))
    is_written = (values[place] == reads.value) if len(values) else np.zeros(len(reads.op), dtype=np.bool_)
    strange = np.flatnonzero(~is_written & ~is_initial)
    if len(strange):
        row = int(strange[0])
        return (Violation("phantom", (int(reads.value[row]),), (int(reads.op[row]),), len(strange)),)
    early = np.flatnonzero(is_written & ~is_initial)
    early = early[begun[place[early]] > reads.ret[early]]
    if not len(early):
        return ()
    row = int(early[0])
    ops = (*writes.op[writes.value == reads.value[row]].tolist(), int(reads.op[row]))
    return (Violation("read-from-future", (int(reads.value[row]),), ops, len(early)),)


def _overwritten(writes: _Rows, reads: _Rows) -> tuple[Violation, ...]:
    known = np.flatnonzero(writes.ret < NEVER)
    by_ret = known[np.argsort(writes.ret[known], kind="stable")]
    before = np.searchsorted(writes.ret[by_ret], reads.invoke)
    latest = np.append(-1, np.maximum.accumulate(writes.invoke[by_ret]))[before]
    bad = np.flatnonzero(_last_return(writes, reads) < latest)
    if not len(bad):
        return ()
    row = int(bad[reads.ret[bad].argmin()])
    over = by_ret[: before[row]]
    other = int(over[writes.invoke[over] == latest[row]][0])
    of_value = np.flatnonzero((writes.value == reads.value[row]) & (writes.invoke <= reads.ret[row]))
    values = (int(reads.value[row]), int(writes.value[other]))
    ops = (*writes.op[of_value].tolist(), int(writes.op[other]), int(reads.op[row]))
    return (Violation("stale-read", values, tuple(dict.fromkeys(ops)), len(bad)),)


def _last_return(writes: _Rows, reads: _Rows) -> Ints:
    """By read: the greatest return of the writes of its value that began by its return; −1: only the initial value."""
    stamps = np.unique(np.concatenate((writes.invoke, reads.ret)))
    keys = [rows.value * len(stamps) + np.searchsorted(stamps, at) for rows, at in (
        (writes, writes.invoke), (reads, reads.ret),
    )]  # fmt: skip
    order = np.argsort(keys[0], kind="stable")
    value = writes.value[order]
    lane = np.cumsum(np.append(False, value[1:] != value[:-1])) if len(value) else value
    greatest = running_maximum(writes.ret[order], lane)
    place = np.searchsorted(keys[0][order], keys[1], side="right") - 1
    found = np.full(len(reads.op), -1, dtype=np.int64)
    inside = np.flatnonzero(place >= 0)
    inside = inside[value[place[inside]] == reads.value[inside]]
    found[inside] = greatest[place[inside]]
    return found


def refuted_queue(queue: QueueInput) -> tuple[Violation, ...]:
    """The first rule that *queue* breaks, with the operations that show it."""
    from checkers.logs.columns import FAILED

    possible = np.flatnonzero(queue.e_outcome != FAILED)
    sure = np.flatnonzero(queue.d_ret < NEVER)
    put = possible[np.lexsort((queue.e_invoke[possible], queue.e_value[possible]))]
    out = sure[np.lexsort((queue.d_ret[sure], queue.d_value[sure]))]
    # The k-th of each value that came out belongs to the k-th that was put in.
    value = queue.d_value[out]
    number = np.arange(len(out)) - np.searchsorted(value, value)
    place = np.searchsorted(queue.e_value[put], value) + number
    inside = np.minimum(place, max(len(put) - 1, 0))
    has_one = (place < len(put)) & (queue.e_value[put][inside] == value) if len(put) else place < 0
    bad = np.flatnonzero(~has_one)
    if len(bad):
        first = int(bad[0])
        kind = "VRepet" if number[first] else "VFresh"
        return (_came_out(queue, kind, int(value[first]), len(bad)),)
    early = np.flatnonzero(queue.d_ret[out] < queue.e_invoke[put][place]) if len(out) else out
    return (_came_out(queue, "VFresh", int(value[early[0]]), len(early)),) if len(early) else ()


def _came_out(queue: QueueInput, kind: str, value: int, count: int) -> Violation:
    """All operations on *value* prove it."""
    ops = (*queue.e_op[queue.e_value == value].tolist(), *queue.d_op[queue.d_value == value].tolist())
    return Violation(kind, (value,), ops, count)
