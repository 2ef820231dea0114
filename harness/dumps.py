"""What nodes left on their disks, as far as the fate of messages goes: from a run folder to values for the checkers.

Question: a message is lost. Is it in a commit log, in a consume queue, or only in the bytes behind a log's end?

Model. ``nodes/<node>/dump/store`` holds RocketMQ's files. The commit log is read record by record from its first file
to the first byte that begins no record; of each record that carries a body of this run its place is noted. Behind
that end bodies are looked for by their magic and run id: what recovery truncated is still there. A consume queue has
the slots whose record lies before the end of the log. A member of a DLedger group keeps messages as bodies of entries,
in ``dledger-<id>/data``.

Limits. Only files are read, nothing is repaired. A body whose head was torn is not recognised. Files are mapped, so
that sparse gigabytes cost what is written in them.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import Any, Final
from zlib import crc32

from checkers.history.cluster import Cluster
from checkers.history.dumps import NodeDump
from harness.payload import MAGIC, Body, decode
from reference_impl.dledger.entry import BLANK_SIZE, HEAD_SIZE, MAGIC_BLANK, record_head
from reference_impl.dledger.entry import decode_record as decode_entry
from reference_impl.wire.frame import RemoteWireError
from reference_impl.wire.message import decode_record

BLANK_MAGIC: Final = 0xCBD43194
"""The rest of a file is filler (RocketMQ: CommitLog.BLANK_MAGIC_CODE)."""

_SIZE_MAGIC: Final = Struct(">iI")
_UNIT: Final = Struct(">qiq")
_MESSAGE: Final = Struct(">Q")
_RECORD_MAX: Final = 8 * 1024 * 1024


@dataclass(frozen=True)
class _Format:
    """How a kind of log keeps messages: ``folder`` of its files, below a store; ``record_at`` finds what begins at a
    place of a file: its size, where the message is in it, and the message's own bytes; ``is_filler``: nothing follows
    in that file."""

    folder: str
    record_at: Callable[[mmap.mmap, int], tuple[int, int, bytes] | None]
    is_filler: Callable[[mmap.mmap, int], bool]


def read_dumps(folder: Path, run: Mapping[str, Any]) -> tuple[NodeDump, ...]:
    """One dump a broker node of the run in *folder*, in the order of names; nodes without a store are left out."""
    run_id = crc32(f"{run['scenario']}/{int(str(run['seed']), 16)}".encode())
    cluster = Cluster.of(run.get("nodes", {}), run.get("targets", {}))
    return tuple(
        _read_store(log, kind, log.relative_to(folder).parts[1], run_id, cluster)
        for log, kind in sorted(_logs(folder), key=lambda found: found[0])
    )


def _logs(folder: Path) -> Iterator[tuple[Path, _Format]]:
    """The folders of log files, and how they are written: a member of a group has its own log beside an empty one."""
    for kind in (_GROUP, _CLASSIC):
        for store in (path.parent for path in folder.glob("nodes/*/dump/**/consumequeue")):
            logs = [path for path in store.glob(kind.folder) if any(path.iterdir())]
            yield from ((path, kind) for path in logs if kind is _GROUP or not any(store.glob(_GROUP.folder)))


def _read_store(files: Path, kind: _Format, node: str, run_id: int, cluster: Cluster) -> NodeDump:
    log: dict[int, int] = {}
    behind: dict[int, int] = {}
    end = -1
    for path in sorted(files.iterdir()):
        if not path.name.isdecimal() or not path.stat().st_size:
            continue
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            stop = 0 if end >= 0 else _read_records(data, kind, int(path.name), run_id, log)
            if end < 0 and not kind.is_filler(data, stop):
                end = int(path.name) + stop
            if end >= 0:
                behind.update(_recognised(data, int(path.name), stop, run_id))
    behind = {message: position for message, position in behind.items() if message not in log}
    broker = cluster.broker_of(node)
    is_first_master = node == cluster.first_master(broker)
    store = next(parent for parent in files.parents if (parent / "consumequeue").is_dir())
    return NodeDump(node, broker, log, end, behind, _queues(store / "consumequeue", end), is_first_master)


def _read_records(data: mmap.mmap, kind: _Format, base: int, run_id: int, into: dict[int, int]) -> int:
    """Note the records of one file; where reading ended within it."""
    at = 0
    while (found := kind.record_at(data, at)) is not None:
        size, place, message = found
        try:
            record = decode_record(message)
        except RemoteWireError:
            break
        body = decode(record.body, run_id)
        if isinstance(body, Body):
            into[body.message] = base + place
        at += size
    return at


def _message_at(data: mmap.mmap, at: int) -> tuple[int, int, bytes] | None:
    if at + _SIZE_MAGIC.size > len(data):
        return None
    size, magic = _SIZE_MAGIC.unpack_from(data, at)
    if magic == BLANK_MAGIC or not 0 < size <= min(_RECORD_MAX, len(data) - at):
        return None
    return size, at, data[at : at + size]


def _entry_at(data: mmap.mmap, at: int) -> tuple[int, int, bytes] | None:
    """An entry of DLedger, whose body is the message; the broker counts positions from there."""
    if at + HEAD_SIZE > len(data):
        return None
    _, size = record_head(data[at : at + HEAD_SIZE])
    if not HEAD_SIZE <= size <= _RECORD_MAX:
        return None
    entry = decode_entry(data[at : at + size])
    return None if entry is None else (size, at + HEAD_SIZE, entry.body)


def _is_blank(data: mmap.mmap, at: int) -> bool:
    """Whether the file was closed there, so that the log goes on in the next one."""
    return at + _SIZE_MAGIC.size > len(data) or _SIZE_MAGIC.unpack_from(data, at)[1] == BLANK_MAGIC


def _is_blank_entry(data: mmap.mmap, at: int) -> bool:
    return at + BLANK_SIZE > len(data) or record_head(data[at : at + BLANK_SIZE])[0] == MAGIC_BLANK


_CLASSIC: Final = _Format("commitlog", _message_at, _is_blank)
_GROUP: Final = _Format("dledger-*/data", _entry_at, _is_blank_entry)


def _recognised(data: mmap.mmap, base: int, start: int, run_id: int) -> Iterator[tuple[int, int]]:
    """(message, position of its body) of every head of ours from *start* on."""
    head = MAGIC + run_id.to_bytes(4, "big")
    at = data.find(head, start)
    while at >= 0 and at + len(head) + _MESSAGE.size <= len(data):
        yield _MESSAGE.unpack_from(data, at + len(head))[0], base + at
        at = data.find(head, at + 1)


def _queues(folder: Path, log_end: int) -> dict[tuple[str, int], dict[int, int]]:
    """By queue, offset → position of every unit that names a record before the end of the log."""
    return {
        (queue.parent.name, int(queue.name)): dict(
            unit for file in sorted(queue.iterdir()) for unit in _units(file, log_end)
        )
        for queue in sorted(folder.glob("*/*"))
        if queue.name.isdecimal()
    }


def _units(path: Path, log_end: int) -> Iterator[tuple[int, int]]:
    if not path.name.isdecimal():
        return
    with path.open("rb") as file:
        offset = int(path.name) // _UNIT.size
        while len(unit := file.read(_UNIT.size)) == _UNIT.size:
            position, size, _ = _UNIT.unpack(unit)
            if size <= 0 or (log_end >= 0 and position >= log_end):
                return
            if size < (1 << 31) - 1:
                yield offset, position
            offset += 1
