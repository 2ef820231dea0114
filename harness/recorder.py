"""One recorder for a run: what clients, faults and nodes did, in one order, on one clock, on disk as it happens.

Question: how does a history come into being so that it can be trusted even if the harness dies in the middle?

Model. Everything passes through one object, in one thread. Each invocation, completion and event takes the next number
of one counter, so the order of the numbers is a total order, and its time from one clock (``Backend.now``, nanoseconds
since the run began). Each becomes one line of JSON at once:

    {"t":"head",...}      run id and layout version; the first line
    {"t":"queue",...}     a queue gets its number          {"t":"message",...}   a message gets its number
    {"t":"invoke",...}    an op begins                     {"t":"complete",...}  it ends, with what it read
    {"t":"event",...}     a phase, a fault step, a node's birth or death, a role's note

Lines are gathered, written in batches (64 KiB, or 100 ms of the run's clock) and forced to the disk at phase changes.
The lines are the history: tables are folded from them by a pure function, whether the run ended well
(``Recorder.columns``) or was killed (``read_journal``). A torn last line is what a killed writer leaves and is dropped;
anything else that cannot be read is a ``HistoryError`` with its line number.

Limits. No wall clock, no run name, no machine name enters the journal: in the simulator the bytes are a function of
scenario, seed and code. One thread only. An op without completion counts as ``info`` with complete_event −1.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from sys import intern
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from checkers.history.schema import TABLES
from harness.errors import HistoryError

LAYOUT: Final = 1
"""Version of the journal's lines."""

BATCH_BYTES: Final = 64 * 1024
IN_MEMORY_BYTES: Final = 32 << 20
"""Of a journal that has no file; a longer one goes to the temporary folder."""

BATCH_NS: Final = 100_000_000

Detail = str | dict[str, Any]
"""Free text, or a JSON object; a table shows the object as compact JSON."""

Columns = dict[str, dict[str, Sequence[Any]]]
"""table → column → values; the tables and columns of ``checkers.history.schema``."""


class Entry(msgspec.Struct, tag_field="t", omit_defaults=True, gc=False):
    """A line of the journal; fields at their default are left out."""


class Head(Entry, tag="head"):
    run: int
    """The 32-bit run id in every message body."""
    layout: int = LAYOUT


class Queue(Entry, tag="queue"):
    queue: int
    topic: str
    broker: str
    queue_id: int


class Message(Entry, tag="message"):
    message: int
    process: int
    sequence: int
    size: int
    sharding_key: str = ""
    tags: str = ""
    kind: str = "plain"
    due_ns: int = -1


class Invoke(Entry, tag="invoke"):
    e: int
    ns: int
    op: int
    p: int
    f: str
    q: int = -1
    m: int = -1
    offset: int = -1
    node: str = ""
    group: str = ""


class Complete(Entry, tag="complete"):
    e: int
    ns: int
    op: int
    outcome: str
    status: str = ""
    offset: int = -1
    count: int = -1
    position: int = -1
    node: str = ""
    detail: Detail = ""
    offsets: Sequence[int] = ()
    messages: Sequence[int] = ()
    unrecognised: tuple[tuple[int, str], ...] = msgspec.field(default=(), name="foreign")
    """By its first name in the journal, so that old runs can be read and new ones compared with them."""
    next_offset: int = -1
    suggested: int = -1


class Event(Entry, tag="event"):
    e: int
    ns: int
    kind: str
    node: str = ""
    fault: str = ""
    step: str = ""
    effective: int = -1
    detail: Detail = ""


AnyEntry = Head | Queue | Message | Invoke | Complete | Event
_decoder: Final = msgspec.json.Decoder(AnyEntry)
_json: Final = msgspec.json.Encoder(order="deterministic")


class Recorder:
    """The only writer of a history.

    *clock* gives nanoseconds since the run began. With *path* the journal is a file that grows as the run goes, and
    *durable* forces it to the disk at phase changes; without, it is held in memory (``journal()`` gives the bytes).
    """

    def __init__(self, clock: Callable[[], int], run: int, path: Path | None = None, *, durable: bool = True) -> None:
        self._clock, self._path, self._durable = clock, path, durable
        self._file: BinaryIO | None = path.open("xb", buffering=0) if path else None
        self._buffer = bytearray()
        self._written = SpooledTemporaryFile[bytes](IN_MEMORY_BYTES)
        self._hash, self._now_ns, self._flushed_ns = sha256(), 0, 0
        self._encode_into = msgspec.json.Encoder().encode_into
        self._queues: dict[tuple[str, str, int], int] = {}
        self.run, self.event_count, self.op_count, self.message_count = run, 0, 0, 0
        self._process_count = 0
        self._put(Head(run))

    def process(self) -> int:
        """A fresh process number: for a new logical client, and for one whose last op ended ``info``."""
        self._process_count += 1
        return self._process_count - 1

    def queue(self, topic: str, broker: str, queue_id: int) -> int:
        """The number of a queue; recorded when it is first asked for."""
        key = (topic, broker, queue_id)
        number = self._queues.get(key)
        if number is None:
            number = self._queues[key] = len(self._queues)
            self._put(Queue(number, topic, broker, queue_id))
        return number

    def queues(self) -> list[tuple[str, str, int]]:
        """(topic, broker, queue id) of every queue that was ever asked for, in the order of their numbers."""
        return list(self._queues)

    def message(
        self,
        process: int,
        sequence: int,
        size: int,
        *,
        sharding_key: str = "",
        tags: str = "",
        kind: str = "plain",
        due_ns: int = -1,
    ) -> int:
        """A fresh message number; *size* is the body's length in bytes."""
        number = self.message_count
        self.message_count += 1
        self._put(Message(number, process, sequence, size, sharding_key, tags, kind, due_ns))
        return number

    def invoke(
        self,
        process: int,
        f: str,
        *,
        queue: int = -1,
        message: int = -1,
        offset: int = -1,
        node: str = "",
        group: str = "",
    ) -> int:
        """An op begins now; returns its number. *offset* is the one asked for, *node* the one that is asked."""
        op, event = self.op_count, self.event_count
        self.op_count, self.event_count = op + 1, event + 1
        self._put(Invoke(event, self._tick(), op, process, f, queue, message, offset, node, group))
        return op

    def complete(
        self,
        op: int,
        outcome: str,
        status: str,
        *,
        offset: int = -1,
        count: int = -1,
        position: int = -1,
        node: str = "",
        detail: Detail = "",
        offsets: Sequence[int] = (),
        messages: Sequence[int] = (),
        unrecognised: Sequence[tuple[int, str]] = (),
        next_offset: int = -1,
        suggested: int = -1,
    ) -> None:
        """The op ends now. *offset* is the one answered (−1 keeps the one asked for); *node* as well (empty keeps).

        *offsets* and *messages* are what was read, in order, −1 for a message that is not ours; *unrecognised* says of
        those (index, digest of the body). *next_offset* and *suggested* are where to go on, and at which broker id.
        """
        event = self.event_count
        self.event_count = event + 1
        self._put(
            Complete(
                event,
                self._tick(),
                op,
                outcome,
                status,
                offset,
                count,
                position,
                node,
                detail,
                offsets,
                messages,
                tuple(unrecognised),
                next_offset,
                suggested,
            )
        )

    def event(
        self, kind: str, *, node: str = "", fault: str = "", step: str = "", effective: int = -1, detail: Detail = ""
    ) -> None:
        """A phase, a step of a fault, something about a node, or a note; *effective* is 1, 0 or −1 (unknown)."""
        event = self.event_count
        self.event_count = event + 1
        self._put(Event(event, self._tick(), kind, node, fault, step, effective, detail))

    def phase(self, name: str, detail: Detail = "") -> None:
        """A phase of the run begins; everything before it is on the disk when this returns (if *durable*)."""
        self.event("phase", step=name, detail=detail)
        self.flush()
        if self._file and self._durable:
            os.fsync(self._file.fileno())

    def flush(self) -> None:
        """Hand gathered lines to the operating system: they survive the harness's death, not the machine's."""
        self._hash.update(self._buffer)
        if self._file:
            _write_all(self._file, bytes(self._buffer))
        else:
            self._written.write(self._buffer)
        self._buffer.clear()

    def close(self) -> str:
        """No more lines; returns the SHA-256 of the journal. Idempotent."""
        self.flush()
        if self._file and not self._file.closed:
            if self._durable:
                os.fsync(self._file.fileno())
            self._file.close()
        return self._hash.hexdigest()

    def journal(self) -> bytes:
        """All lines so far."""
        self.flush()
        if self._path:
            return self._path.read_bytes()
        return b"".join(self._lines())

    def columns(self) -> Columns:
        """The history so far as plain columns; the journal, folded."""
        self.flush()
        return read_journal(self._path) if self._path else fold(decode_journal(self._lines()))

    def _lines(self) -> Iterator[bytes]:
        """Of a journal without a file of its own."""
        self._written.seek(0)
        yield from self._written
        self._written.seek(0, os.SEEK_END)

    def _tick(self) -> int:
        self._now_ns = now = self._clock()
        return now

    def _put(self, entry: Entry) -> None:
        buffer = self._buffer
        self._encode_into(entry, buffer, -1)
        buffer += b"\n"
        if len(buffer) >= BATCH_BYTES or self._now_ns - self._flushed_ns >= BATCH_NS:
            self._flushed_ns = self._now_ns
            self.flush()


def decode_journal(lines: bytes | Iterable[bytes], *, place: str = "journal") -> Iterator[AnyEntry]:
    """The entries of a journal, of its bytes or of its lines, one after another: a long one is never in memory twice. A
    torn last line is dropped; other damage is ``HistoryError``."""
    if isinstance(lines, bytes):
        lines = BytesIO(lines)  # shares the bytes
    for number, line in enumerate(lines, 1):
        if not line.endswith(b"\n"):
            return
        try:
            yield _decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise HistoryError(f"malformed journal line: {error}", place=f"{place}:{number}") from None


def read_journal(path: Path) -> Columns:
    """Fold a journal file, of a finished or of a killed run, into columns."""
    try:
        with path.open("rb") as lines:
            return fold(decode_journal(lines, place=str(path)), place=str(path))
    except OSError as error:
        raise HistoryError(f"cannot read the journal: {error.strerror}", place=str(path)) from None


def fold(entries: Iterable[AnyEntry], *, place: str = "journal") -> Columns:
    """Columns from entries: pure, one pass. ``HistoryError`` if a completion has no invocation."""
    rows = _Rows()
    for number, entry in enumerate(entries, 1):
        if (number == 1) != isinstance(entry, Head):
            raise HistoryError("a journal has one head line, its first", place=f"{place}:{number}")
        try:
            rows.add(entry)
        except (IndexError, ValueError, OverflowError) as error:
            raise HistoryError(
                f"a line that does not follow from those before: {error}", place=f"{place}:{number}"
            ) from None
    return rows.columns()


class _Rows:
    """The five tables while a journal is read. Operations and reads stand in columns from the start, whole numbers of
    eight bytes each: a long history is not there twice. Op numbers are dense, so a place finds the open op."""

    def __init__(self) -> None:
        self.ops, self.reads = _empty("ops"), _empty("reads")
        self.others: dict[str, list[Sequence[Any]]] = {"queues": [], "messages": [], "events": []}
        self._count = 0
        self._adders: dict[type, Callable[[Any], None]] = {
            Head: lambda entry: None,
            Invoke: self._invoke,
            Complete: self._complete,
            Event: self._event,
            Queue: self._queue,
            Message: self._message,
        }

    def add(self, entry: AnyEntry) -> None:
        self._adders[type(entry)](entry)

    def _invoke(self, i: Invoke) -> None:
        if i.op != self._count:
            raise ValueError(f"op {i.op} is invoked where op {self._count} is due")
        f, node, group = intern(i.f), intern(i.node), intern(i.group)
        cells = (i.op, i.p, f, i.q, i.m, i.offset, -1, -1, i.e, -1, i.ns, -1, *_OPEN, node, group, "", -1, -1)
        for column, cell in zip(self.ops, cells, strict=True):
            column.append(cell)
        self._count += 1

    def _complete(self, c: Complete) -> None:
        op, ops = c.op, self.ops
        if not 0 <= op < self._count or ops[_COMPLETE_EVENT][op] >= 0:
            raise ValueError(f"op {op} completes but is not open")
        if len(c.offsets) != len(c.messages):
            raise ValueError(f"op {op} read {len(c.offsets)} offsets and {len(c.messages)} messages")
        ops[_COUNT][op], ops[_POSITION][op] = c.count, c.position
        ops[_COMPLETE_EVENT][op], ops[_COMPLETE_NS][op] = c.e, c.ns
        ops[_OUTCOME][op], ops[_STATUS][op] = intern(c.outcome), intern(c.status)
        if c.offset >= 0:
            ops[_OFFSET][op] = c.offset
        if c.node:
            ops[_NODE][op] = intern(c.node)
        if c.detail:
            ops[_DETAIL][op] = _text(c.detail)
        ops[_NEXT][op], ops[_SUGGESTED][op] = c.next_offset, c.suggested
        if c.offsets:
            self._read(c)

    def _read(self, c: Complete) -> None:
        count = len(c.offsets)
        details = [""] * count
        for index, digest in c.unrecognised:
            details[index] = digest
        cells: tuple[Iterable[Any], ...] = ([c.op] * count, range(count), c.offsets, c.messages, details)
        for column, more in zip(self.reads, cells, strict=True):
            column.extend(more)

    def _event(self, e: Event) -> None:
        self.others["events"].append((e.ns, e.e, e.kind, e.node, e.fault, e.step, e.effective, _text(e.detail)))

    def _queue(self, q: Queue) -> None:
        self.others["queues"].append((q.queue, q.topic, q.broker, q.queue_id))

    def _message(self, m: Message) -> None:
        self.others["messages"].append(
            (m.message, m.process, m.sequence, m.sharding_key, m.size, m.tags, m.kind, m.due_ns)
        )

    def columns(self) -> Columns:
        columns = {name: _transposed(table, TABLES[name].names) for name, table in self.others.items()}
        for name, table in (("ops", self.ops), ("reads", self.reads)):
            columns[name] = dict(zip(TABLES[name].names, table, strict=True))
        return columns


def _empty(table: str) -> list[Any]:
    """A column a field: an array of whole numbers, or a list of texts."""
    return [array("q") if pa.types.is_integer(field.type) else [] for field in TABLES[table]]


_OPEN: Final = ("info", "NEVER_COMPLETED")
(
    _COUNT,
    _POSITION,
    _COMPLETE_EVENT,
    _COMPLETE_NS,
    _OUTCOME,
    _STATUS,
    _NODE,
    _DETAIL,
    _OFFSET,
    _NEXT,
    _SUGGESTED,
) = (
    TABLES["ops"].names.index(name)
    for name in (
        "count",
        "position",
        "complete_event",
        "complete_ns",
        "outcome",
        "status",
        "node",
        "detail",
        "offset",
        "next_offset",
        "suggested",
    )
)


def _transposed(rows: Sequence[Sequence[Any]], names: list[str]) -> dict[str, Sequence[Any]]:
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return dict(zip(names, map(list, columns), strict=True))


def _text(detail: Detail) -> str:
    return detail if isinstance(detail, str) else _json.encode(detail).decode()


def tables(columns: Columns) -> dict[str, pa.Table]:
    """Arrow tables with exactly the schemas of ``checkers.history.schema``."""
    return {name: pa.table(columns[name], schema=schema) for name, schema in TABLES.items()}


def write_tables(columns: Columns, folder: Path) -> None:
    """``ops.parquet``, ``reads.parquet``, ``queues.parquet``, ``messages.parquet``, ``events.parquet`` (zstd)."""
    for name, table in tables(columns).items():
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd")


def _write_all(file: BinaryIO, data: bytes) -> None:
    """``OSError`` with the file's name."""
    try:
        while data:
            data = data[file.write(data) :]
    except OSError as error:
        raise OSError(error.errno, error.strerror, file.name) from error
