"""What a member of a group has on its disk: from its files to the facts that checkers compare.

Question: members agree on one log. Which entries has this one, are its files as DLedger writes them, do its consume
queues show what the log holds, and what of it would a power cut take?

Model (DLedger: DLedgerMmapFileStore, DLedgerEntryCoder; RocketMQ: ConsumeQueue). Below ``dledger-<id>``:

    data/         records one behind the other; a record that does not fit is preceded by a blank, which ends its file
    index/        a unit of 32 bytes for entry i at byte 32·i
    currterm      term and vote          checkpoint    last index, committed index

The body of an entry is a message, which holds its own place (entry + 48), topic, queue and number in it; the unit of
that number in ``consumequeue/<topic>/<queue>`` leads to it. The log is read from its first file to the first record
that does not follow the one before. What a member has written of its end (``checkpoint``) is at most three seconds old:
only entries up to there are told, since bytes that were cut off may lie behind.

Entries are told as check sums: one for every 64 (index 0 to 63, 64 to 127 …) that are all there, and one each for those
behind the last 64.

Limits. The bytes are decoded here and not by the reference's own code: what judges a member must not share its
mistakes. A member that writes while it is read can be seen half way: the run is over when this is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Final
from zlib import crc32

from checkers.runs.member_logs import BLOCK
from harness.backends.backend import Store
from harness.on_disk import WRONG_MAX, Place, Wrong
from reference_impl.configuration import parse_properties
from reference_impl.wire.message import (
    BORN_HOST_IPV6,
    MAGIC_V1,
    STORE_HOST_IPV6,
    TRANSACTION_MASK,
    TRANSACTION_PREPARED,
    TRANSACTION_ROLLBACK,
)

UNFORCED_MAX: Final = 50

_HEAD: Final = Struct(">iiqqqiiii")
_BLANK: Final = Struct(">ii")
_UNIT: Final = Struct(">iqiqq")
_MESSAGE: Final = Struct(">iiiiiqqi")
_QUEUE_UNIT: Final = Struct(">qiq")
_MAGIC, _MAGIC_BLANK, _FILLER = 1, -1, 0x7FFFFFFF
_HOST_BYTES, _HOST_BYTES_IPV6 = 8, 20
_OFFSETLESS: Final = (TRANSACTION_PREPARED, TRANSACTION_ROLLBACK)

SELF_ID: Final = "dLegerSelfId"
FILE_BYTES: Final = "mappedFileSizeCommitLog"

_DATA: Final = re.compile(r"(?P<root>.*?)dledger-(?P<member>[^/]+)/data/(?P<start>\d{20})")
_QUEUE: Final = re.compile(r"consumequeue/(?P<topic>[^/]+)/(?P<queue>\d+)/(?P<start>\d{20})")


@dataclass(frozen=True, slots=True)
class Entry:
    """One record: where it is, what its message says of itself, and a check sum of all its bytes."""

    index: int
    term: int
    pos: int
    size: int
    check: int
    place: Place | None
    stamp: int
    message_size: int


@dataclass
class MemberLog:
    """The log of one member. ``root``: what its folder is in; ``wrong``: what contradicts the format."""

    entries: list[Entry] = field(default_factory=list)
    files: list[tuple[int, str]] = field(default_factory=list)
    wrong: list[Wrong] = field(default_factory=list)
    position: int = 0
    root: str = ""


def has_log(properties: Mapping[str, str]) -> bool:
    """Whether a node with these properties is a member of a group that keeps messages."""
    return properties.get("enableDLegerCommitLog") == "true"


def last_index(store: Store, properties: Mapping[str, str]) -> int:
    """Of the entries that can be read now; −1 where there is none."""
    entries = _read(store, properties).entries
    return entries[-1].index if entries else -1


def member_log(store: Store, properties: Mapping[str, str]) -> dict[str, Any] | None:
    """Everything that is told of the member with these properties; ``None`` where there is no log at all."""
    log = _read(store, properties)
    if not log.files:
        return None
    folder = f"{log.root}dledger-{properties[SELF_ID]}"
    term, checkpoint = _numbers(store, f"{folder}/currterm"), _numbers(store, f"{folder}/checkpoint")
    known = checkpoint.get("endIndex", -1)
    told = [entry for entry in log.entries if entry.index <= known]
    if checkpoint and (not log.entries or log.entries[-1].index < known):
        end = log.entries[-1].index if log.entries else -1
        log.wrong.append(Wrong("end", f"its records end with {end}, and it says that {known} is its last"))
    log.wrong += [*_stamps(told), *_units(store, f"{folder}/index", told), *_queues(store, log.root, told)]
    return {
        "begin": told[0].index if told else -1,
        "end": told[-1].index if told else -1,
        "terms": _terms(told),
        "term": term.get("currTerm", 0),
        "checkpoint": [known, checkpoint["committedIndex"]] if "committedIndex" in checkpoint else [],
        **_checks(told),
        "wrong": [list(wrong) for wrong in log.wrong[:WRONG_MAX]],
        "unforced": _unforced(store, log, f"{folder}/index", told),
    }


# The log --------------------------------------------------------------------------------------------------------------


def _read(store: Store, properties: Mapping[str, str]) -> MemberLog:
    """Its own log: a disk that was another member's before may have that one's beside it."""
    log, file_bytes = MemberLog(), int(properties[FILE_BYTES])
    for name in store.files(""):
        if (found := _DATA.fullmatch(name)) is not None and found["member"] == properties[SELF_ID]:
            log.files.append((int(found["start"]), name))
            log.root = found["root"]
    log.files.sort()
    log.position = log.files[0][0] if log.files else 0
    for start, name in log.files:
        if store.size(name) != file_bytes:
            log.wrong.append(Wrong("file", f"{name} has {store.size(name)} bytes, {file_bytes} are a file"))
        if start != log.position or not _read_file(store, log, start, name):
            break
    return log


def _read_file(store: Store, log: MemberLog, start: int, name: str) -> bool:
    """Whether a blank, which ends the file, leads to the next one."""
    data = store.read(name, 0, store.size(name)) if store.size(name) <= _WHOLE_MAX else None
    size = store.size(name)
    while True:
        at = log.position - start
        head = data[at : at + _HEAD.size] if data is not None else store.read(name, at, _HEAD.size)
        if len(head) >= _BLANK.size and _BLANK.unpack_from(head)[0] == _MAGIC_BLANK:
            if (left := _BLANK.unpack_from(head)[1]) != size - at:
                log.wrong.append(
                    Wrong("blank", f"the blank at {log.position} tells {left} bytes, {size - at} are left")
                )
            log.position = start + size
            return True
        entry = _entry(store, name, at, log, head)
        if entry is None:
            return False
        if at == 0 and log.entries and _would_fit(log, start, entry, size):
            log.wrong.append(Wrong("border", f"entry {entry.index} begins a file, and fitted into the one before"))
        log.entries.append(entry)
        log.position += entry.size


_WHOLE_MAX: Final = 4 << 20
"""Files up to this size are read at once."""


def _would_fit(log: MemberLog, start: int, entry: Entry, size: int) -> bool:
    last = log.entries[-1]
    return last.pos + last.size + entry.size + _BLANK.size <= start and last.pos // size == start // size - 1


def _entry(store: Store, name: str, at: int, log: MemberLog, head: bytes) -> Entry | None:
    """The record there, if it follows the one before."""
    if len(head) < _HEAD.size:
        return None
    magic, size, index, term, pos, _, _, _, body_size = _HEAD.unpack(head)
    if magic != _MAGIC or body_size < 0 or size != _HEAD.size + body_size or pos != log.position:
        return None
    if log.entries and (index != log.entries[-1].index + 1 or term < log.entries[-1].term):
        return None
    record = store.read(name, at, size)
    if len(record) < size:
        return None
    return Entry(index, term, pos, size, crc32(record), *_message(record[_HEAD.size :]))


def _message(body: bytes) -> tuple[Place | None, int, int]:
    """(where its queue has it, its own place, its size); no place for what is in no queue, stamp −1 for no message."""
    if len(body) < _MESSAGE.size:
        return None, -1, 0
    size, magic, _, queue, _, number, stamp, flags = _MESSAGE.unpack_from(body)
    born = _HOST_BYTES_IPV6 if flags & BORN_HOST_IPV6 else _HOST_BYTES
    stored = _HOST_BYTES_IPV6 if flags & STORE_HOST_IPV6 else _HOST_BYTES
    at = _MESSAGE.size + 8 + born + 8 + stored + 12
    if size != len(body) or at + 4 > len(body):
        return None, -1, 0
    at += 4 + int.from_bytes(body[at : at + 4], "big")
    length = 1 if magic == MAGIC_V1 else 2
    topic = body[at + length : at + length + int.from_bytes(body[at : at + length], "big")]
    is_queued = flags & TRANSACTION_MASK not in _OFFSETLESS
    return ((topic.decode("utf-8", "replace"), queue, number) if is_queued else None), stamp, size


def _stamps(entries: list[Entry]) -> Iterator[Wrong]:
    for entry in entries:
        if entry.stamp >= 0 and entry.stamp != entry.pos + _HEAD.size:
            yield Wrong("stamp", f"the message of entry {entry.index} says {entry.stamp}, and is at {entry.pos + 48}")


def _units(store: Store, folder: str, entries: list[Entry]) -> Iterator[Wrong]:
    """The index against the records."""
    files = {int(name[-20:]): name for name in store.files(f"{folder}/") if name[-20:].isdecimal()}
    for entry in entries:
        place = entry.index * _UNIT.size
        start = max((start for start in files if start <= place), default=-1)
        unit = store.read(files[start], place - start, _UNIT.size) if start >= 0 else b""
        if unit != _UNIT.pack(_MAGIC, entry.pos, entry.size, entry.index, entry.term):
            yield Wrong("index", f"the index of entry {entry.index} does not lead to its record at {entry.pos}")


# The queues ----------------------------------------------------------------------------------------------------------


def _queues(store: Store, root: str, entries: list[Entry]) -> Iterator[Wrong]:
    """Units that lead to no such message, and messages of a topic that is there without a unit."""
    units: dict[tuple[str, int], dict[int, tuple[int, int]]] = {}
    for name in store.files(f"{root}consumequeue/"):
        if (found := _QUEUE.fullmatch(name.removeprefix(root))) is not None:
            queue = units.setdefault((found["topic"], int(found["queue"])), {})
            queue.update(_queue_units(store, name, int(found["start"])))
    messages = {entry.place: entry for entry in entries if entry.place is not None}
    first, end = (entries[0].pos, entries[-1].pos + entries[-1].size) if entries else (0, 0)
    for (topic, queue_id), numbers in sorted(units.items()):
        for number, (position, size) in numbers.items():
            found_entry = messages.get((topic, queue_id, number))
            right = (found_entry.pos + _HEAD.size, found_entry.message_size) if found_entry else None
            if first <= position < end and right != (position, size):
                yield Wrong("unit", f"{topic}/{queue_id} @{number} leads to {position}, where it is not")
    topics = {topic for topic, _ in units}
    for (topic, queue_id, number), entry in messages.items():
        there = units.get((topic, queue_id), {})
        if topic in topics and number not in there and number >= min(there, default=0):
            yield Wrong("undispatched", f"entry {entry.index} is {topic}/{queue_id} @{number}, and the queue lacks it")


def _queue_units(store: Store, name: str, start: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """(number, (position, size)) up to the first that is empty."""
    number, at, step = start // _QUEUE_UNIT.size, 0, 200 * _QUEUE_UNIT.size
    while data := store.read(name, at, step):
        for position, size, _ in _QUEUE_UNIT.iter_unpack(data[: len(data) // _QUEUE_UNIT.size * _QUEUE_UNIT.size]):
            if size <= 0:
                return
            if size != _FILLER:
                yield number, (position, size)
            number += 1
        at += step


# What is told ---------------------------------------------------------------------------------------------------------


def _terms(entries: list[Entry]) -> list[list[int]]:
    """``[term, first index]`` of each."""
    found: list[list[int]] = []
    for entry in entries:
        if not found or found[-1][0] != entry.term:
            found.append([entry.term, entry.index])
    return found


def _checks(entries: list[Entry]) -> dict[str, Any]:
    """``block``: number of the first whole one; ``blocks``: their sums; ``rest``: those of the entries behind."""
    if not entries:
        return {"block": 0, "blocks": [], "rest": []}
    first = -(-entries[0].index // BLOCK)
    checks = [entry.check for entry in entries if entry.index >= first * BLOCK]
    ends = range(BLOCK, len(checks) + 1, BLOCK)
    sums = [crc32(b"".join(check.to_bytes(4, "big") for check in checks[end - BLOCK : end])) for end in ends]
    return {"block": first, "blocks": sums, "rest": checks[len(sums) * BLOCK :]}


def _unforced(store: Store, log: MemberLog, index: str, entries: list[Entry]) -> list[list[int]] | None:
    """``[instant, bytes]`` of what was written to these entries and their units and is not forced."""
    if not entries:
        return []
    data = [(name, entries[0].pos - start, entries[-1].pos + entries[-1].size - start) for start, name in log.files]
    units = [
        (name, entries[0].index * _UNIT.size - int(name[-20:]), (entries[-1].index + 1) * _UNIT.size - int(name[-20:]))
        for name in store.files(f"{index}/")
        if name[-20:].isdecimal()
    ]
    found: list[list[int]] = []
    for name, begin, end in (*data, *units):
        if (writes := store.unforced(name)) is None:
            return None
        found += [[ns, size] for ns, offset, size in writes if offset < end and offset + size > begin]
    return sorted(found)[-UNFORCED_MAX:]


def _numbers(store: Store, file: str) -> dict[str, int]:
    """The numbers of a small file; none where it cannot be read."""
    try:
        text = store.read(file, 0, max(0, store.size(file))).decode("utf-8", "replace")
    except OSError:
        return {}
    return {key: int(value) for key, value in parse_properties(text).values.items() if re.fullmatch(r"-?\d+", value)}
