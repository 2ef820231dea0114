"""One index file: from the hash of ``topic#key`` to places in the log.

Question: which messages of a topic carry this key? Model (RocketMQ: IndexFile). A hash table with chains, on disk:

    header 40   begin time 8 | end time 8 | begin offset 8 | end offset 8 | used slots 4 | entry count 4 (from 1)
    slots       4 bytes each: number of the newest entry, 0: none
    entries     20 bytes each: key hash 4 | physical offset 8 | seconds since begin time 4 | previous entry 4

Entry number 0 is never used. Only the hash is kept, so that an answer may hold strangers.

RocketMQ maps the file, so that its page cache knows an entry at once. Here entries stay in memory until ``write_out``:
when 4096 have come, somebody asks, the file is full, or the store stops. After a kill nobody can tell: an unfinished
file is thrown away by the next start and built again. Only who looks into the file of a running broker sees less.
"""

from __future__ import annotations

from operator import mul
from struct import Struct
from typing import Final

from reference_impl.environment import Environment

HEADER_SIZE: Final = 40
SLOT_SIZE: Final = 4
ENTRY_SIZE: Final = 20
_HEADER: Final = Struct(">qqqqii")
_ENTRY: Final = Struct(">iqii")
_SLOT: Final = Struct(">i")

WAITING_MAX: Final = 4096
_SLOTS_KEPT: Final = 1 << 16

_POWERS: Final = tuple(pow(31, exponent, 1 << 32) for exponent in range(1024))
_POWERS_FOR: Final = tuple(tuple(reversed(_POWERS[:length])) for length in range(257))


def key_hash(key: str) -> int:
    """Absolute value of the Java hash, 0 where that has none (RocketMQ: IndexFile#indexKeyHashMethod)."""
    if key.isascii() and len(key) <= 256:
        value = sum(map(mul, key.encode(), _POWERS_FOR[len(key)])) & 0xFFFFFFFF
    else:
        value = 0
        units = key.encode("utf-16-be", "surrogatepass")
        for high, low in zip(units[::2], units[1::2], strict=True):
            value = value * 31 + (high << 8 | low) & 0xFFFFFFFF
    signed = value - 0x100000000 if value & 0x80000000 else value
    return abs(signed) if signed != -0x80000000 else 0


class IndexFile:
    """One file, new or loaded. ``slot_count`` and ``entry_limit`` are maxHashSlotNum and maxIndexNum."""

    def __init__(self, name: str, slot_count: int, entry_limit: int) -> None:
        self.name, self.slot_count, self.entry_limit = name, slot_count, entry_limit
        self.begin_ms = self.end_ms = self.begin_offset = self.end_offset = 0
        self.used_slots, self.entry_count = 0, 1
        self._slots: dict[int, int] = {}
        self._is_new = False
        self._waiting: list[tuple[str, int, int]] = []

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return HEADER_SIZE + SLOT_SIZE * self.slot_count + ENTRY_SIZE * self.entry_limit

    @property
    def is_full(self) -> bool:
        return self.entry_count >= self.entry_limit

    def create(self, env: Environment, end_offset: int, end_ms: int, wall_ms: int) -> None:
        """A new file that goes on where the one before ended (0, 0: there was none).

        Its header says at once, by an end time of now, that the file is unfinished.
        """
        env.create(self.name, self.size)
        self._is_new = True
        self.begin_offset = self.end_offset = end_offset
        self.begin_ms, self.end_ms = end_ms, wall_ms
        env.write(self.name, 0, self._header())
        self.end_ms = end_ms

    def load(self, env: Environment) -> None:
        """Read the header of an existing file; slots are read as they are needed."""
        (self.begin_ms, self.end_ms, self.begin_offset, self.end_offset, self.used_slots, count) = _HEADER.unpack(
            env.read(self.name, 0, HEADER_SIZE).ljust(HEADER_SIZE, b"\0")
        )
        self.entry_count = max(count, 1)

    def put(self, key: str, physical_offset: int, store_timestamp: int) -> None:
        """One more entry for ``topic#key``; the caller has made sure that the file is not full."""
        if self.entry_count <= 1:
            self.begin_offset, self.begin_ms = physical_offset, store_timestamp
        self.entry_count += 1
        self.end_offset, self.end_ms = physical_offset, store_timestamp
        self._waiting.append((key, physical_offset, store_timestamp))

    @property
    def is_crowded(self) -> bool:
        """It is time for ``write_out``."""
        return len(self._waiting) >= WAITING_MAX

    def write_out(self, env: Environment) -> None:
        """What has waited, into the file."""
        if not self._waiting:
            return
        first = number = self.entry_count - len(self._waiting)
        entries: list[bytes] = []
        changed: dict[int, int] = {}
        for key, physical_offset, store_timestamp in self._waiting:
            hash_ = key_hash(key)
            slot = hash_ % self.slot_count
            previous = changed.get(slot) or self._newest(env, slot)
            if previous < 0 or previous > number:
                previous = 0
            if previous == 0:
                self.used_slots += 1
            seconds = (store_timestamp - self.begin_ms) // 1000 if self.begin_ms > 0 else 0
            entries.append(_ENTRY.pack(hash_, physical_offset, min(max(seconds, 0), 0x7FFFFFFF), previous))
            changed[slot] = number
            number += 1
        env.write(self.name, self._entry_at(first), b"".join(entries))
        for slot, newest in changed.items():
            env.write(self.name, HEADER_SIZE + SLOT_SIZE * slot, _SLOT.pack(newest))
        env.write(self.name, 0, self._header())
        self._slots.update(changed)
        self._waiting = []
        self._bound_memory()

    def _bound_memory(self) -> None:
        if len(self._slots) > _SLOTS_KEPT:
            # From now on slots are read from the file as needed.
            self._slots, self._is_new = {}, False

    def _header(self) -> bytes:
        return _HEADER.pack(
            self.begin_ms, self.end_ms, self.begin_offset, self.end_offset, self.used_slots, self.entry_count
        )

    def _entry_at(self, number: int) -> int:
        return HEADER_SIZE + SLOT_SIZE * self.slot_count + ENTRY_SIZE * number

    def _newest(self, env: Environment, slot: int) -> int:
        number = self._slots.get(slot)
        if number is None:
            number = 0
            if not self._is_new:
                number = int(_SLOT.unpack(env.read(self.name, HEADER_SIZE + SLOT_SIZE * slot, SLOT_SIZE))[0])
            self._slots[slot] = number
        return number

    # --- queries ----------------------------------------------------------------------------------------------------

    def overlaps(self, begin_ms: int, end_ms: int) -> bool:
        """RocketMQ: IndexFile#isTimeMatched."""
        return (
            (begin_ms < self.begin_ms and end_ms > self.end_ms)
            or self.begin_ms <= begin_ms <= self.end_ms
            or self.begin_ms <= end_ms <= self.end_ms
        )

    def select(self, env: Environment, hash_: int, limit: int, begin_ms: int, end_ms: int) -> list[int]:
        """Physical offsets of at most *limit* entries with this hash and time, newest first."""
        self.write_out(env)
        found: list[int] = []
        number = self._newest(env, hash_ % self.slot_count)
        while 0 < number < self.entry_count and len(found) < limit:
            entry_hash, physical_offset, seconds, previous = _ENTRY.unpack(
                env.read(self.name, self._entry_at(number), ENTRY_SIZE)
            )
            if seconds < 0:
                break
            stored_ms = self.begin_ms + seconds * 1000
            if entry_hash == hash_ and begin_ms <= stored_ms <= end_ms:
                found.append(physical_offset)
            if previous >= number or stored_ms < begin_ms:
                break
            number = previous
        return found
