"""A history in memory: the five tables of :mod:`checkers.history.schema` as columns, validated once, read by all.

Question: what did clients, faults and nodes do, in a form in which a question about ten million operations is one
numpy expression?

Model. ``History`` is a value. Rows of ``ops`` are sorted by op number, reads by (op, position), events by their number.
The order of time is the event counter (``invoke_event``, ``complete_event``): it is total, so that ties of the clock
cannot hide a violation. Nanoseconds are for people and for windows.

Validation (:func:`History.validated`) finds what no recorder of ours writes: completions before invocations, one event
number used twice, reads of an operation that is not there, an ``ok`` that never completed. All of it is
:class:`HistoryFormatError` with table, row and reason, and never a verdict.

Limits. The whole history is in memory: 19 columns of 4 to 8 bytes an operation (about 125 bytes), 33 a message read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from checkers.history import schema
from checkers.history.columns import (
    NEVER,
    Bools,
    Column,
    HistoryFormatError,
    Ints,
    Text,
    empty_table,
    from_arrow,
    from_columns,
    from_rows,
)

__all__ = ["NEVER", "Events", "History", "HistoryFormatError", "Messages", "Ops", "Queues", "Reads", "Text"]

OUTCOMES = ("ok", "weak", "fail", "info")
NO_SUCH_QUEUE = re.compile(r"queueId\[-?\d+\] is illegal")
"""How RocketMQ refuses a queue that the topic has not got."""


@dataclass(frozen=True, slots=True)
class Ops:
    """Columns of ``ops``; one entry an operation, sorted by ``op``."""

    op: Ints
    process: Ints
    f: Text
    queue: Ints
    message: Ints
    offset: Ints
    count: Ints
    position: Ints
    invoke_event: Ints
    complete_event: Ints
    invoke_ns: Ints
    complete_ns: Ints
    outcome: Text
    status: Text
    node: Text
    group: Text
    detail: Text
    next_offset: Ints
    suggested: Ints

    def __len__(self) -> int:
        return len(self.op)

    def rows(self, ops: Ints) -> Ints:
        """Rows of the given op numbers; every one of them must exist."""
        if len(self.op) and int(self.op[-1]) - int(self.op[0]) == len(self.op) - 1:
            dense: Ints = ops - self.op[0]
            return dense
        return np.searchsorted(self.op, ops).astype(np.int64)

    def of_no_queue(self) -> Bools:
        """Which operations asked for a queue that the topic has not got."""
        return self.detail.mask(*(text for text in self.detail.values if NO_SUCH_QUEUE.search(text)))

    def return_event(self) -> Ints:
        """``complete_event`` of answered operations; :data:`NEVER` where the outcome is unknown or missing."""
        open_ = self.outcome.mask("info") | (self.complete_event < 0)
        return np.where(open_, NEVER, self.complete_event)


@dataclass(frozen=True, slots=True)
class Reads:
    """Columns of ``reads``; one entry a message read, sorted by (op, position)."""

    op: Ints
    position: Ints
    offset: Ints
    message: Ints
    detail: Text

    def __len__(self) -> int:
        return len(self.op)


@dataclass(frozen=True, slots=True)
class Queues:
    """``queue`` is the dense number used everywhere; topic, broker name and RocketMQ's queue id say what it is."""

    queue: Ints
    topic: Text
    broker: Text
    queue_id: Ints

    def __len__(self) -> int:
        return len(self.queue)

    def name(self, queue: int) -> str:
        """``topic/broker/id`` as people and reports write it."""
        row = int(np.searchsorted(self.queue, queue))
        if row >= len(self.queue) or int(self.queue[row]) != queue:
            return f"queue {queue}"
        return f"{self.topic[row]}/{self.broker[row]}/{int(self.queue_id[row])}"

    def broker_of(self, queue: int) -> str:
        """Broker name of a queue, empty if the queue is unknown."""
        row = int(np.searchsorted(self.queue, queue))
        known = row < len(self.queue) and int(self.queue[row]) == queue
        return self.broker[row] if known else ""


@dataclass(frozen=True, slots=True)
class Messages:
    """Columns of ``messages``, sorted by ``message``."""

    message: Ints
    process: Ints
    sequence: Ints
    sharding_key: Text
    size: Ints
    tags: Text
    kind: Text
    due_ns: Ints

    def __len__(self) -> int:
        return len(self.message)


@dataclass(frozen=True, slots=True)
class Events:
    """Columns of ``events``, sorted by ``event``: phases, nodes, roles, faults, notes."""

    ns: Ints
    event: Ints
    kind: Text
    node: Text
    fault: Text
    step: Text
    effective: Ints
    detail: Text

    def __len__(self) -> int:
        return len(self.ns)

    @property
    def load_ns(self) -> int:
        """When the load began: the zero of the scenario's ``at:``, and of every instant that people read. Else 0."""
        began = (self.kind.mask("phase") & self.step.mask("steady")).nonzero()[0]
        return int(self.ns[began[0]]) if len(began) else 0


@dataclass(frozen=True, slots=True)
class History:
    """Everything a checker may look at. Build it with one of the four constructors; all of them validate."""

    ops: Ops
    reads: Reads
    queues: Queues
    messages: Messages
    events: Events

    @staticmethod
    def from_rows(tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> History:
        """From decoded JSONL rows, one sequence of dicts a table; absent tables are empty."""
        return _build(
            {
                name: from_rows(name, fields, tables[name]) if name in tables else empty_table(fields)
                for name, fields in schema.TABLES.items()
            }
        )

    @staticmethod
    def from_columns(tables: Mapping[str, Mapping[str, Any]]) -> History:
        """From lists or arrays by column, one mapping a table; absent tables are empty."""
        return _build(
            {
                name: from_columns(name, fields, tables[name]) if name in tables else empty_table(fields)
                for name, fields in schema.TABLES.items()
            }
        )

    @staticmethod
    def from_arrow(tables: Mapping[str, pa.Table]) -> History:
        """From Arrow tables; absent tables are empty."""
        return _build(
            {
                name: from_arrow(name, fields, tables[name]) if name in tables else empty_table(fields)
                for name, fields in schema.TABLES.items()
            }
        )

    @staticmethod
    def load(folder: Path) -> History:
        """From the Parquet files of a run folder. All five must be there: without reads everything would seem lost."""
        missing = [name for name in schema.TABLES if not (folder / f"{name}.parquet").is_file()]
        if missing:
            raise HistoryFormatError(missing[0], -1, f"there is no {missing[0]}.parquet", place=str(folder))
        return History.from_arrow({name: _read_parquet(folder / f"{name}.parquet", name) for name in schema.TABLES})

    def op_text(self, op: int) -> str:
        """One operation in a line, for explanations: ``op 17: send m5 → t/broker-a/0 @12 ok [1.200 s, 1.204 s]``."""
        row = int(self.ops.rows(np.array([op]))[0])
        ops = self.ops
        message = f" m{int(ops.message[row])}" if ops.message[row] >= 0 else ""
        where = f" {self.queues.name(int(ops.queue[row]))}" if ops.queue[row] >= 0 else ""
        offset = f" @{int(ops.offset[row])}" if ops.offset[row] >= 0 else ""
        end = self.clock(int(ops.complete_ns[row])) if ops.complete_ns[row] >= 0 else "never"
        status = ops.status[row] or ops.outcome[row]
        return f"op {op}: {ops.f[row]}{message}{where}{offset} {status} [{self.clock(int(ops.invoke_ns[row]))}, {end}]"

    def clock(self, ns: int) -> str:
        """An instant for people, on the clock of the scenario: 0 when the load begins, negative before."""
        return seconds(ns - self.events.load_ns)


def seconds(ns: int) -> str:
    """Nanoseconds for people: ``12.345 s``; exact to the millisecond, never through a float."""
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    return f"{sign}{ns // 1_000_000_000}.{ns // 1_000_000 % 1000:03d} s"


def _read_parquet(path: Path, name: str) -> pa.Table:
    try:
        texts = [field.name for field in schema.TABLES[name] if pa.types.is_string(field.type)]
        # An absolute path: pyarrow would read "rocketmq:4.9.7/…" as the address of a file system.
        there = pq.read_schema(path.absolute()).names
        optional = schema.OPTIONAL.get(name, {})
        wanted = [column for column in schema.TABLES[name].names if column in there or column not in optional]
        return pq.read_table(path.absolute(), columns=wanted, read_dictionary=texts)
    except (OSError, pa.ArrowException) as error:
        raise HistoryFormatError(name, -1, f"unreadable: {error}", place=str(path)) from error


def _build(tables: Mapping[str, dict[str, Column]]) -> History:
    parts = {name: _sorted_by(columns, _SORT_KEYS[name]) for name, columns in tables.items()}
    history = History(
        Ops(**cast(dict[str, Any], parts["ops"])),
        Reads(**cast(dict[str, Any], parts["reads"])),
        Queues(**cast(dict[str, Any], parts["queues"])),
        Messages(**cast(dict[str, Any], parts["messages"])),
        Events(**cast(dict[str, Any], parts["events"])),
    )
    _validate(history)
    return history


_SORT_KEYS = {
    "ops": ("op",),
    "reads": ("op", "position"),
    "queues": ("queue",),
    "messages": ("message",),
    "events": ("event",),
}


def _sorted_by(columns: dict[str, Column], keys: tuple[str, ...]) -> dict[str, Column]:
    arrays = [cast(Ints, columns[key]) for key in keys]
    if _is_sorted(arrays):
        return columns
    order = np.lexsort(arrays[::-1])
    return {name: column.take(order) if isinstance(column, Text) else column[order] for name, column in columns.items()}


def _is_sorted(arrays: list[Ints]) -> bool:
    first = arrays[0]
    if len(first) < 2:
        return True
    if (first[1:] < first[:-1]).any():
        return False
    return len(arrays) == 1 or not ((first[1:] == first[:-1]) & (arrays[1][1:] < arrays[1][:-1])).any()


def _validate(history: History) -> None:
    _validate_ops(history)
    _validate_events(history)
    _validate_reads(history)
    for table, keys in (
        ("ops", history.ops.op),
        ("queues", history.queues.queue),
        ("messages", history.messages.message),
    ):
        _refuse(table, np.append(False, np.diff(keys) == 0), "the key occurs twice")


def _refuse(table: str, bad: Bools, reason: str) -> None:
    if bad.any():
        raise HistoryFormatError(table, int(bad.argmax()), reason)


def _refuse_rows(table: str, bad: Ints, reason: str) -> None:
    if len(bad):
        raise HistoryFormatError(table, int(bad[0]), reason)


def _validate_ops(history: History) -> None:
    ops = history.ops
    for value in ops.outcome.values:
        if value not in OUTCOMES:
            _refuse("ops", ops.outcome.mask(value), f"outcome {value!r} is not one of {', '.join(OUTCOMES)}")
    answered = ops.complete_event >= 0
    _refuse("ops", ops.invoke_ns < 0, "invoked before the run began")
    _refuse("ops", ops.invoke_event < 0, "without an invocation event")
    _refuse("ops", answered & (ops.complete_ns < ops.invoke_ns), "completed before it was invoked (time)")
    _refuse("ops", answered & (ops.complete_event <= ops.invoke_event), "completed before it was invoked (event)")
    _refuse("ops", ~answered & ~ops.outcome.mask("info"), "never completed, but its outcome is not 'info'")
    if len(history.queues):
        _refuse("ops", (ops.queue >= 0) & ~_known(ops.queue, history.queues.queue), "queue is not in table queues")
    if len(history.messages):
        known = _known(ops.message, history.messages.message)
        _refuse("ops", (ops.message >= 0) & ~known, "message is not in table messages")


def _validate_events(history: History) -> None:
    """One counter: no number twice, over invocations, completions and events."""
    ops = history.ops
    answered = ops.complete_event[ops.complete_event >= 0]
    numbers = np.sort(np.concatenate([ops.invoke_event, answered, history.events.event]))
    twice = numbers[1:][np.diff(numbers) == 0]
    if not len(twice):
        return
    number = int(twice[0])
    rows = np.flatnonzero((ops.invoke_event == number) | (ops.complete_event == number))
    table, row = ("ops", int(rows[-1])) if len(rows) else ("events", int((history.events.event == number).argmax()))
    raise HistoryFormatError(table, row, f"event number {number} is used twice")


def _validate_reads(history: History) -> None:
    reads, ops = history.reads, history.ops
    _refuse("reads", ~_known(reads.op, ops.op), "op is not in table ops")
    if not len(reads):
        return
    first = np.append(True, reads.op[1:] != reads.op[:-1])
    begins = np.flatnonzero(first)
    _refuse_rows("reads", begins[reads.position[begins] != 0], "positions of an operation do not begin with 0")
    step = reads.position[1:] - reads.position[:-1]
    _refuse_rows("reads", np.flatnonzero((step != 1) & ~first[1:]) + 1, "positions are not consecutive")
    _refuse("reads", reads.offset < 0, "offset is negative")


def _known(keys: Ints, table: Ints) -> Bools:
    """Which of *keys* occur in the sorted *table*."""
    if not len(table):
        return np.zeros(len(keys), dtype=np.bool_)
    if int(table[-1]) - int(table[0]) == len(table) - 1:
        dense: Bools = (keys >= table[0]) & (keys <= table[-1])
        return dense
    place = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    found: Bools = table[place] == keys
    return found
