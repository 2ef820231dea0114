"""The common case of a log in one compiled pass: everything acknowledged or read, nothing contradicts anything.

Question: ten million operations are usually legal; need it take seconds to see that?

Model. Where numba is installed, one loop over the columns enters acknowledgements, compares and learns from reads, sets
the bounds and takes the running maximum, as :mod:`checkers.logs.linear` does with numpy in a dozen passes. It gives an
answer only if there is nothing to think about: no violation, no batch, no trimming, no value that was sent twice.
Otherwise the numpy path decides and explains. So it can say "legal" faster and nothing else; the content it leaves is
the same to the number. Holes are filled by :mod:`checkers.logs.holes` in both.

Limits. The first call in a process loads the compiled loop (about a second, more when it is compiled for the first
time): only inputs of :data:`LARGE` messages are worth it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from checkers.compiled.numba_loops import compiled, has_numba
from checkers.history.columns import NEVER, Ints
from checkers.logs.columns import UNKNOWN, LogInput, Polls
from checkers.logs.content import EMPTY, UNSET, Content, Slots
from checkers.logs.holes import fill_holes

LARGE = 2_000_000
"""Appends and messages read together."""

SPARE_VALUES = 1 << 20
"""Values may be so much greater than four times the number of appends."""


def is_worth_it(log: LogInput) -> bool:
    """Whether numba is there, the input is large, and the loop knows all that is in it."""
    simple = log.appends.batch is None and not len(log.starts) and not len(log.refused)
    return simple and len(log.appends) + len(log.polls.value) >= LARGE and has_numba()


def legal_content(log: LogInput, fresh: bool) -> Content | None:
    """The content with its bounds if *log* is plainly legal; ``None``: somebody else has to look."""
    size, allowed = np.zeros(log.queue_count, dtype=np.int64), 4 * len(log.appends) + SPARE_VALUES
    top = int(log.appends.value.max(initial=-1)) + 1
    if top > allowed or int(log.appends.value.min(initial=0)) < 0 or not _measured(log, size):
        return None
    if int(size.max(initial=0)) > allowed or int(size.sum()) > allowed:
        return None
    base = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(size)))
    total = int(base[-1])
    value, append = np.full(total, EMPTY, dtype=np.int64), np.full(total, -1, dtype=np.int64)
    lo, hi = np.full(total, UNSET, dtype=np.int64), np.full(total, int(NEVER), dtype=np.int64)
    row_of = np.full(top, -1, dtype=np.int64)
    columns = log.appends, log.polls, log.empties, log.ends
    if not _entered(*columns, fresh, base, value, append, lo, hi, row_of):
        return None
    unknown = np.flatnonzero(log.appends.outcome == UNKNOWN)
    spare = unknown[row_of[log.appends.value[unknown]] != -2]
    content = Content(log.appends, Slots(base), value, append, lo, hi, spare)
    if fill_holes(log, content) != ((), None) or not _loops()["order"](base, lo, hi):
        return None
    return content


def _measured(log: LogInput, size: Ints) -> bool:
    """Fill *size*: how far each queue is known to reach."""
    appends, polls, ends = log.appends, log.polls, log.ends
    reads = polls.queue, polls.count, polls.offset
    return _loops()["sizes"](appends.queue, appends.offset, appends.outcome, *reads, ends.queue, ends.at, size)


def _entered(
    appends: Any, polls: Polls, empties: Any, ends: Any, fresh: bool, base: Ints, value: Ints, append: Ints, lo: Ints,
    hi: Ints, row_of: Ints,
) -> bool:  # fmt: skip
    loops = _loops()
    sent = (appends.queue, appends.value, appends.offset, appends.invoke, appends.ret, appends.outcome)
    read = (polls.queue, polls.count, polls.ret, polls.asked, polls.offset, polls.value)
    return bool(
        loops["acks"](*sent, base, value, append, lo, hi, row_of)
        and loops["reads"](*read, appends.queue, appends.invoke, appends.outcome, base, value, append, lo, hi, row_of)
        and (not fresh or loops["from_above"](empties.queue, empties.at, empties.invoke, base, lo))
        and (not fresh or loops["from_above"](ends.queue, ends.at, ends.invoke, base, lo))
        and loops["from_below"](ends.queue, ends.at, ends.ret, base, hi)
    )


@cache
def _loops() -> dict[str, Callable[..., bool]]:
    return {loop.__name__.removeprefix("_loop_"): compiled(loop) for loop in _LOOPS}


def _loop_sizes(
    queue: Ints, offset: Ints, outcome: Ints, read_queue: Ints, count: Ints, read: Ints, end_queue: Ints, end: Ints,
    size: Ints,
) -> bool:  # fmt: skip
    for row in range(len(queue)):
        if outcome[row] == 0:
            if queue[row] < 0 or queue[row] >= len(size):
                return False
            size[queue[row]] = max(size[queue[row]], offset[row] + 1)
    at = 0
    for poll in range(len(read_queue)):
        at += count[poll]
        if read_queue[poll] < 0 or read_queue[poll] >= len(size) or count[poll] < 1 or at > len(read):
            return False
        size[read_queue[poll]] = max(size[read_queue[poll]], read[at - 1] + 1)
    for row in range(len(end_queue)):
        if end_queue[row] < 0 or end_queue[row] >= len(size):
            return False
        size[end_queue[row]] = max(size[end_queue[row]], end[row])
    return True


def _loop_acks(
    queue: Ints, values: Ints, offset: Ints, invoke: Ints, ret: Ints, outcome: Ints, base: Ints, value: Ints,
    append: Ints, lo: Ints, hi: Ints, row_of: Ints,
) -> bool:  # fmt: skip
    for row in range(len(queue)):
        message = values[row]
        if row_of[message] != -1:
            return False
        row_of[message] = row
        if outcome[row] == 0:
            slot = base[queue[row]] + offset[row]
            if offset[row] < 0 or append[slot] != -1:
                return False
            value[slot] = message
            append[slot] = row
            lo[slot] = invoke[row]
            hi[slot] = ret[row]
    return True


def _loop_reads(
    queue: Ints, count: Ints, ret: Ints, asked: Ints, offset: Ints, values: Ints, sent_to: Ints, invoke: Ints,
    outcome: Ints, base: Ints, value: Ints, append: Ints, lo: Ints, hi: Ints, row_of: Ints,
) -> bool:  # fmt: skip
    at = 0
    for poll in range(len(queue)):
        first = offset[at]
        if first < 0 or offset[at + count[poll] - 1] != first + count[poll] - 1:
            return False  # before anything else: the slots of a poll that is out of order may not exist
        if asked[poll] >= 0 and asked[poll] != first:
            return False
        slot = base[queue[poll]] + first
        for index in range(count[poll]):
            if offset[at + index] != first + index:
                return False
            message = values[at + index]
            if value[slot + index] != message:
                if value[slot + index] != -1 or message < 0 or message >= len(row_of):
                    return False
                row = row_of[message]
                if row < 0 or outcome[row] != 1 or sent_to[row] != queue[poll]:
                    return False
                row_of[message] = -2
                value[slot + index] = message
                append[slot + index] = row
                lo[slot + index] = invoke[row]
        at += count[poll]
        last = slot + count[poll] - 1
        if ret[poll] < hi[last]:
            hi[last] = ret[poll]
    return True


def _loop_from_above(queue: Ints, at: Ints, invoke: Ints, base: Ints, lo: Ints) -> bool:
    for row in range(len(queue)):
        slot = base[queue[row]] + at[row]
        if slot < base[queue[row] + 1] and lo[slot] < invoke[row]:
            lo[slot] = invoke[row]
    return True


def _loop_from_below(queue: Ints, at: Ints, ret: Ints, base: Ints, hi: Ints) -> bool:
    for row in range(len(queue)):
        slot = base[queue[row]] + at[row] - 1
        if at[row] > 0 and ret[row] < hi[slot]:
            hi[slot] = ret[row]
    return True


def _loop_order(base: Ints, lo: Ints, hi: Ints) -> bool:
    for queue in range(len(base) - 1):
        latest = -1
        for slot in range(base[queue], base[queue + 1]):
            latest = max(latest, lo[slot])
            if latest > hi[slot]:
                return False
    return True


_LOOPS = (_loop_sizes, _loop_acks, _loop_reads, _loop_from_above, _loop_from_below, _loop_order)
