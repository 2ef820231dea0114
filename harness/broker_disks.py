"""What a broker has on its disk: its consume queues and its index, compared with its log.

Question: when everything is over, does each unit of a queue lead to its message, with the hash of its tag, and each
entry of the index to a message with that key, so that another implementation would find everything in these files?

Model (RocketMQ: CommitLog, ConsumeQueue, IndexFile). The log is read from its first file to the first bytes that are no
record that says it is there.

    queue unit    place 8, size 4, then 8: the Java hash of the tag, 0 for none; of a delayed message when it is due
    index file    head: times 16, places of the first and last entry 16, used slots 4, entries + 1 4; slots 4 each: the
                  last entry; entries 20: absolute value of the Java hash of ``topic#key``, place, seconds since the
                  first, the entry before in this slot

Told are faults of these forms (:class:`Wrong`), and how much there was to compare.

Limits. Bytes are decoded here, not by the reference's own code: what judges a broker must not share its mistakes. What
a broker keeps in memory is not on its disk yet: nothing is said of messages behind the last unit of their queue, and
behind the last entry of the index. Units that are kept in another form (RocksDB) are not there to be looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Final
from zlib import crc32

from harness.backends.backend import Store
from harness.on_disk import WRONG_MAX, Place, Wrong

_HEAD: Final = Struct(">iIIiiqqiq")
"""Size, magic, check sum of the body, queue, flag, number in the queue, place, sysFlag, born."""
_STORED: Final = Struct(">q")
_LENGTH: Final = Struct(">i")
_UNIT: Final = Struct(">qiq")
_INDEX_HEAD: Final = Struct(">qqqqii")
_SLOT: Final = Struct(">i")
_ENTRY: Final = Struct(">iqii")
_MAGIC, _MAGIC_V2, _BLANK = 0xDAA320A7, 0xDAA320A3, 0xCBD43194
_IPV6_BORN, _IPV6_STORED, _PREPARED_OR_ROLLED_BACK = 1 << 4, 1 << 5, 4
_FILLER: Final = 0x7FFFFFFF
_CHUNK: Final = 256 << 10
_SLOTS: Final = ("maxHashSlotNum", 5_000_000)
_SCHEDULE: Final = "SCHEDULE_TOPIC_XXXX"
_LEVELS: Final = ("messageDelayLevel", "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h")
_UNIT_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

_FILE: Final = re.compile(r"(?P<folder>.*)/(?P<start>\d{20})")
_QUEUE: Final = re.compile(r".*?consumequeue/(?P<topic>[^/]+)/(?P<queue>\d+)/(?P<start>\d{20})")
_INDEX: Final = re.compile(r".*?index/\d{17}")


@dataclass(frozen=True, slots=True)
class _Record:
    place: Place
    at: int
    size: int
    stored_ms: int
    is_half: bool
    properties: Mapping[str, str]


@dataclass
class _Found:
    records: dict[int, _Record] = field(default_factory=dict)
    wrong: list[Wrong] = field(default_factory=list)
    units: int = 0
    entries: int = 0


def java_hash(text: str) -> int:
    """``String.hashCode``."""
    value, data = 0, text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(data), 2):
        value = (31 * value + (data[at] << 8 | data[at + 1])) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def index_hash(topic: str, key: str) -> int:
    """Of an entry: never negative."""
    value = abs(java_hash(f"{topic}#{key}"))
    return 0 if value == 1 << 31 else value


def broker_disk(store: Store, properties: Mapping[str, str]) -> dict[str, Any] | None:
    """Everything that is told of the broker with these properties; ``None`` where there is no record."""
    found = _Found()
    names = store.files("")
    _read_log(store, _log_files(names), found)
    if not found.records:
        return None
    levels_ms = [int(word[:-1]) * _UNIT_MS[word[-1]] for word in properties.get(*_LEVELS).split()]
    _compare_queues(store, names, found, levels_ms)
    _compare_index(store, names, found, int(properties.get(*_SLOTS)))
    return {
        "records": len(found.records),
        "units": found.units,
        "entries": found.entries,
        "wrong": [list(wrong) for wrong in found.wrong[:WRONG_MAX]],
    }


# The log --------------------------------------------------------------------------------------------------------------


def _log_files(names: list[str]) -> list[tuple[int, str]]:
    """In whichever folders they are; what recovery has set aside is no log."""
    found = ((match, name) for name in names if (match := _FILE.fullmatch(name)) is not None)
    return sorted(
        (int(match["start"]), name)
        for match, name in found
        if not any(word in match["folder"] for word in ("consumequeue", "set-aside", "dledger-"))
    )


def _read_log(store: Store, files: list[tuple[int, str]], found: _Found) -> None:
    end = files[0][0] if files else 0
    for start, name in files:
        if start != end:
            return
        window, size = _Window(store, name), store.size(name)
        while (record := _record(window, end - start, end)) is not None:
            if not isinstance(record, _Record):
                found.wrong.append(record)
                return
            found.records[end] = record
            end += record.size
        if end < start + size and window.bytes(end - start + 4, 4) != _BLANK.to_bytes(4, "big"):
            return
        end = start + size


class _Window:
    """A file, read in pieces."""

    def __init__(self, store: Store, name: str) -> None:
        self._store, self._name = store, name
        self._at, self._piece = 0, b""

    def bytes(self, at: int, size: int) -> bytes:
        if not self._at <= at <= at + size <= self._at + len(self._piece):
            self._at, self._piece = at, self._store.read(self._name, at, max(size, _CHUNK))
        return self._piece[at - self._at : at - self._at + size]


def _record(window: _Window, at: int, place: int) -> _Record | Wrong | None:
    """What begins there; ``None`` where the log ends."""
    head = window.bytes(at, _HEAD.size)
    if len(head) < _HEAD.size:
        return None
    size, magic, check, queue, _, number, said, flags, _ = _HEAD.unpack(head)
    if magic not in (_MAGIC, _MAGIC_V2) or size <= _HEAD.size or said != place:
        return None
    data = window.bytes(at, size)
    after = _HEAD.size + (20 if flags & _IPV6_BORN else 8)
    stored_ms = _STORED.unpack_from(data, after)[0]
    after += 8 + (20 if flags & _IPV6_STORED else 8) + 12
    body_end = after + 4 + _LENGTH.unpack_from(data, after)[0]
    if crc32(data[after + 4 : body_end]) & 0x7FFFFFFF != check:
        return Wrong("log", f"the body of the record at {place} has another check sum than the record says")
    length = 1 if magic == _MAGIC else 2
    topic_end = body_end + length + int.from_bytes(data[body_end : body_end + length], "big")
    topic = data[body_end + length : topic_end].decode("utf-8", "replace")
    text = data[topic_end + 2 : topic_end + 2 + int.from_bytes(data[topic_end : topic_end + 2], "big")]
    pairs = (pair.split("\x01", 1) for pair in text.decode("utf-8", "replace").split("\x02") if "\x01" in pair)
    is_half = bool(flags & _PREPARED_OR_ROLLED_BACK)
    return _Record((topic, queue, number), place, size, stored_ms, is_half, dict(pairs))


# The queues -----------------------------------------------------------------------------------------------------------


def _compare_queues(store: Store, names: list[str], found: _Found, levels_ms: list[int]) -> None:
    """Units that lead elsewhere, and messages that a queue passes over."""
    ends: dict[tuple[str, int], int] = {}
    seen: set[int] = set()
    last = max(found.records)
    for name in names:
        if (match := _QUEUE.fullmatch(name)) is None:
            continue
        queue = match["topic"], int(match["queue"])
        for number, unit in _units(store, name, int(match["start"])):
            ends[queue] = number + 1
            found.units += 1
            record = found.records.get(unit[0])
            if min(found.records) <= unit[0] <= last and (record is None or not _leads(record, queue, number, unit)):
                found.wrong.append(
                    Wrong("unit", f"{queue[0]}/{queue[1]} @{number} leads to {unit[0]}: not its message")
                )
            elif record is not None and not _has_code(record, unit[2], levels_ms):
                words = f"{queue[0]}/{queue[1]} @{number} has {unit[2]} beside its place: not the hash of its tag"
                found.wrong.append(Wrong("unit", words))
            seen.add(unit[0])
    for record in found.records.values():
        topic, queue_id, number = record.place
        if record.at not in seen and not record.is_half and number < ends.get((topic, queue_id), 0):
            words = f"the record at {record.at} is {topic}/{queue_id} @{number}, and the queue does not lead to it"
            found.wrong.append(Wrong("undispatched", words))


def _units(store: Store, name: str, start: int) -> Iterator[tuple[int, tuple[int, int, int]]]:
    """(number, (place, size, code)) up to the first that is empty."""
    number, at, step = start // _UNIT.size, 0, 200 * _UNIT.size
    while data := store.read(name, at, step):
        for unit in _UNIT.iter_unpack(data[: len(data) // _UNIT.size * _UNIT.size]):
            if unit[1] <= 0:
                return
            if unit[1] != _FILLER:
                yield number, unit
            number += 1
        at += step


def _leads(record: _Record, queue: tuple[str, int], number: int, unit: tuple[int, int, int]) -> bool:
    return record.place == (*queue, number) and record.size == unit[1]


def _has_code(record: _Record, code: int, levels_ms: list[int]) -> bool:
    level = record.properties.get("DELAY", "")
    if record.place[0] == _SCHEDULE and level.isdecimal():
        return code == record.stored_ms + levels_ms[min(int(level), len(levels_ms)) - 1]
    return code == java_hash(record.properties.get("TAGS", ""))


# The index ------------------------------------------------------------------------------------------------------------


def _compare_index(store: Store, names: list[str], found: _Found, slots: int) -> None:
    """Entries that are none of their message's, chains that do not lead on, and keys that are passed over."""
    entered: set[tuple[int, int]] = set()
    first, last = -1, -1
    for name in names:
        if _INDEX.fullmatch(name) is not None:
            head = _INDEX_HEAD.unpack(store.read(name, 0, _INDEX_HEAD.size))
            entries = _entries(store, name, slots, head[5] - 1)
            found.entries += len(entries)
            found.wrong += _wrong_entries(found, head, entries)
            found.wrong += _wrong_chains(store, name, slots, entries)
            entered |= {(entry[1], entry[0]) for entry in entries}
            if entries:
                first, last = (first if first >= 0 else entries[0][1]), entries[-1][1]
    for record in found.records.values():
        if first < record.at < last and not record.is_half and not _hashes(record) <= _of(entered, record):
            found.wrong.append(Wrong("unindexed", f"the record at {record.at} is not in the index under all its keys"))


def _of(entered: set[tuple[int, int]], record: _Record) -> set[int]:
    return {hash_ for hash_ in _hashes(record) if (record.at, hash_) in entered}


def _hashes(record: _Record) -> set[int]:
    keys = [record.properties.get("UNIQ_KEY", ""), *record.properties.get("KEYS", "").split(" ")]
    return {index_hash(record.place[0], key) for key in keys if key}


def _entries(store: Store, name: str, slots: int, count: int) -> list[tuple[int, int, int, int]]:
    """(hash, place, seconds, the one before), from number 1 on."""
    data = store.read(name, _INDEX_HEAD.size + _SLOT.size * slots + _ENTRY.size, _ENTRY.size * count) if count else b""
    return list(_ENTRY.iter_unpack(data[: len(data) // _ENTRY.size * _ENTRY.size]))


def _wrong_entries(found: _Found, head: tuple[int, ...], entries: list[tuple[int, int, int, int]]) -> Iterator[Wrong]:
    if entries and (entries[0][1], entries[-1][1]) != head[2:4]:
        yield Wrong("index", f"an index file says that it leads from {head[2]} to {head[3]}, and does not")
    for hash_, place, seconds, _ in entries:
        record = found.records.get(place)
        if record is None:
            if min(found.records) <= place <= max(found.records):
                yield Wrong("index", f"an entry of the index leads to {place}, where no record begins")
        elif hash_ not in _hashes(record):
            yield Wrong("index", f"an entry of the index leads to {place} by a hash of none of its keys")
        elif seconds != (record.stored_ms - head[0]) // 1000:
            yield Wrong("index", f"an entry of the index gives {place} another time than its record")


def _wrong_chains(store: Store, name: str, slots: int, entries: list[tuple[int, int, int, int]]) -> Iterator[Wrong]:
    newest: dict[int, int] = {}
    for number, (hash_, place, _, before) in enumerate(entries, 1):
        slot = hash_ % slots
        if before != newest.get(slot, 0):
            yield Wrong("index", f"the entry of {place} does not lead to the one before it in its slot")
        newest[slot] = number
    for slot, number in newest.items():
        data = store.read(name, _INDEX_HEAD.size + _SLOT.size * slot, _SLOT.size)
        if data != _SLOT.pack(number):
            yield Wrong("index", f"slot {slot} of the index does not lead to its last entry, {number}")
