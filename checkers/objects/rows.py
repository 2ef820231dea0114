"""Histories of registers and queues as lists of what clients did, for whoever has no columns.

Question: I have a list of operations on a register, or on a queue; is it what such an object may have answered?

Model. Values are numbers from 0 on, stamps are of one clock or counter. What has no ``ret`` was never answered: it may
have happened or not. The number of an operation is its place in the list::

    from checkers import Read, Write, check_register, register_of

    history = [Write(7, 0, 1), Write(8, 2), Read(8, 3, 4), Read(7, 5, 6)]
    result = check_register(register_of(history))

Limits. A value that is written twice is UNKNOWN unless it is plainly wrong: :func:`checkers.objects.search.search`
looks for an order then, with a model of :mod:`checkers.objects.models`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from checkers.history.columns import NEVER, Ints
from checkers.logs.columns import ACKED, FAILED, UNKNOWN
from checkers.objects.queue import QueueInput
from checkers.objects.register import INITIAL, RegisterInput


class Write(NamedTuple):
    value: int
    invoke: int
    ret: int | None = None


class Read(NamedTuple):
    """``value`` ``None``: nothing had been written."""

    value: int | None
    invoke: int
    ret: int


class Swap(NamedTuple):
    """Compare-and-set. ``refused``: the value was not ``old``."""

    old: int | None
    new: int
    invoke: int
    ret: int | None = None
    refused: bool = False


def register_of(history: Iterable[Write | Read | Swap]) -> RegisterInput:
    """Columns of *history*."""
    rows = list(enumerate(history))
    writes = [(row.value, row.invoke, _never(row.ret), op) for op, row in rows if isinstance(row, Write)]
    reads = [(_value(row.value), row.invoke, row.ret, op) for op, row in rows if isinstance(row, Read)]
    swaps = [(op, row) for op, row in rows if isinstance(row, Swap)]
    done = [(_value(row.old), row.new, row.invoke, _never(row.ret), op) for op, row in swaps if not row.refused]
    refused = [(_value(row.old), row.invoke, _never(row.ret), op) for op, row in swaps if row.refused]
    return RegisterInput(*_columns(writes, 4), *_columns(done, 5), *_columns(reads, 4), *_columns(refused, 4))


class Enqueue(NamedTuple):
    """``refused``: it certainly was not put in."""

    value: int
    invoke: int
    ret: int | None = None
    refused: bool = False


class Dequeue(NamedTuple):
    """``value`` ``None``: the queue was said to be empty or, without ``ret``, nobody knows what was taken."""

    value: int | None
    invoke: int
    ret: int | None = None


def queue_of(history: Iterable[Enqueue | Dequeue]) -> QueueInput:
    """Columns of *history*."""
    rows = list(enumerate(history))
    took = [(op, row) for op, row in rows if isinstance(row, Dequeue)]
    return QueueInput(
        *_columns([_put_in(op, row) for op, row in rows if isinstance(row, Enqueue)], 5),
        *_columns([(row.value, row.invoke, _never(row.ret), op) for op, row in took if row.value is not None], 4),
        *_columns([(row.invoke, row.ret, op) for op, row in took if row.value is None and row.ret is not None], 3),
        *_columns([(row.invoke, op) for op, row in took if row.value is None and row.ret is None], 2),
    )


def _put_in(op: int, row: Enqueue) -> tuple[int, ...]:
    outcome = FAILED if row.refused else UNKNOWN if row.ret is None else ACKED
    return row.value, row.invoke, _never(row.ret), outcome, op


def _value(value: int | None) -> int:
    return INITIAL if value is None else value


def _never(ret: int | None) -> int:
    return int(NEVER) if ret is None else ret


def _columns(rows: Sequence[tuple[int, ...]], width: int) -> list[Ints]:
    return [np.array([row[column] for row in rows], dtype=np.int64) for column in range(width)]
