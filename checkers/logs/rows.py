"""A log's history as a list of what clients did, for whoever has no columns.

Question: I have a list of sends and polls; is it what a log may have answered?

Model. Messages, queues and offsets are numbers from 0 on, stamps are of one clock or counter. A send without ``ret``
was never answered: it may have happened or not. The number of an operation is its place in the list::

    from checkers import Poll, Send, check_log, log_of

    history = [Send(7, 0, 1, offset=0), Send(8, 2, 5), Poll(0, [8], 6, 9)]
    result = check_log(log_of(history))

Limits. Batches, trimming and messages of many queues at once are columns (:class:`~checkers.logs.columns.LogInput`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from checkers.history.columns import NEVER, Ints
from checkers.logs.columns import ACKED, FAILED, UNKNOWN, Appends, Claims, LogInput, Polls
from checkers.logs.entries import NOTHING, Gets


class Send(NamedTuple):
    """``offset``: where it was stored, as the broker said. ``refused``: it certainly was not stored."""

    message: int
    invoke: int
    ret: int | None = None
    offset: int | None = None
    queue: int = 0
    refused: bool = False


class Poll(NamedTuple):
    """What was there from offset ``at`` on; no messages: the log ended at or before it."""

    at: int
    messages: Sequence[int]
    invoke: int
    ret: int
    queue: int = 0


class Get(NamedTuple):
    """The entry at index ``at``; ``None``: there was none. ``LEADERS_OWN``: it is no client's, a leader wrote it."""

    at: int
    message: int | None
    invoke: int
    ret: int
    queue: int = 0


class End(NamedTuple):
    """The log was said to end at ``at``."""

    at: int
    invoke: int
    ret: int
    queue: int = 0


def entries_of(history: Iterable[Send | Get]) -> tuple[Appends, Gets]:
    """Columns of what was appended to the log of a group, and read of it by index (:func:`check_entries`)."""
    rows = list(enumerate(history))
    sends = [_sent(op, row) for op, row in rows if isinstance(row, Send)]
    gets = [(op, row) for op, row in rows if isinstance(row, Get)]
    read = [
        (row.queue, row.at, NOTHING if row.message is None else row.message, row.invoke, row.ret, op)
        for op, row in gets
    ]
    return Appends(*_transposed(sends, 7)), Gets(*_transposed(read, 6))


def log_of(history: Iterable[Send | Poll | End]) -> LogInput:
    """Columns of *history*. A send that was answered without an offset counts as one that was not answered."""
    rows = list(enumerate(history))
    sends = [(op, row) for op, row in rows if isinstance(row, Send)]
    polls = [(op, row) for op, row in rows if isinstance(row, Poll) and row.messages]
    empties = [(op, row) for op, row in rows if isinstance(row, Poll) and not row.messages]
    ends = [(op, row) for op, row in rows if isinstance(row, End)]
    return LogInput(
        1 + max((row.queue for _, row in rows), default=0),
        appends=Appends(*_transposed([_sent(op, row) for op, row in sends], 7)),
        polls=_polls(polls),
        empties=_claims(empties),
        ends=_claims(ends),
    )


def _sent(op: int, row: Send) -> tuple[int, ...]:
    outcome = FAILED if row.refused else UNKNOWN if row.ret is None or row.offset is None else ACKED
    ret = int(NEVER) if outcome == UNKNOWN or row.ret is None else row.ret
    offset = row.offset if outcome == ACKED and row.offset is not None else -1
    return row.queue, row.message, offset, row.invoke, ret, outcome, op


def _polls(polls: list[tuple[int, Poll]]) -> Polls:
    each = [(row.queue, len(row.messages), row.invoke, row.ret, op, row.at) for op, row in polls]
    read = [(row.at + place, message) for _, row in polls for place, message in enumerate(row.messages)]
    return Polls(*_transposed(each, 6), *_transposed(read, 2))


def _claims(rows: Sequence[tuple[int, Poll | End]]) -> Claims:
    return Claims(*_transposed([(row.queue, row.at, row.invoke, row.ret, op) for op, row in rows], 5))


def _transposed(rows: Sequence[tuple[int, ...]], width: int) -> list[Ints]:
    return [np.array([row[column] for row in rows], dtype=np.int64) for column in range(width)]
