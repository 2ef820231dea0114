"""Reading messages of a queue: RocketMQ's decision table and its batch limits.

Question: what does a pull at queue offset o get? Model (RocketMQ: DefaultMessageStore#getMessage), *min* and *max*
being the queue's first and next offset, in this order:

    max = 0                 NO_MESSAGE_IN_QUEUE     next: 0
    o < min                 OFFSET_TOO_SMALL        next: min
    o = max                 OFFSET_OVERFLOW_ONE     next: o        (the broker holds the request)
    o > max                 OFFSET_OVERFLOW_BADLY   next: max      (4.9.4 and later)
    no unit at o            OFFSET_FOUND_NULL       next: first offset of the next queue file
    else scan               FOUND, NO_MATCHED_MESSAGE or MESSAGE_WAS_REMOVING, next: o + units scanned

A slave does not correct offsets (next stays o in the first, second, fourth and fifth line) unless
``offsetCheckInSlave``. A scan ends after max(800, wanted) units, at the end of the queue file, or when the batch is
full; the first message is always taken. "In memory" is a matter of distance from the log's end, not of residency.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_impl.environment import Environment
from reference_impl.store.config import StoreConfig
from reference_impl.store.consume_queue import UNIT_SIZE, ConsumeQueue
from reference_impl.store.consume_queues import ConsumeQueues
from reference_impl.store.mapped_files import MappedFile, MappedFiles
from reference_impl.store.request import GetResult, GetStatus

_SCAN_BYTES: Final = 16_000


class Reader:
    """Reads over one log and its queues."""

    def __init__(self, config: StoreConfig, log: MappedFiles, queues: ConsumeQueues) -> None:
        self.log, self._queues = log, queues
        self.is_slave = config.broker_role == "SLAVE"
        """At the moment: where members elect who leads, roles move."""
        self._corrects_as_slave = config.offset_check_in_slave
        self._memory = config.total_physical_memory_size * config.access_message_in_memory_max_ratio // 100
        self._in_memory = (
            config.max_transfer_bytes_on_message_in_memory,
            config.max_transfer_count_on_message_in_memory,
        )
        self._in_disk = (
            config.max_transfer_bytes_on_message_in_disk,
            config.max_transfer_count_on_message_in_disk,
        )

    @property
    def _corrects(self) -> bool:
        """Whether who asks for what is not there is told where to go on."""
        return not self.is_slave or self._corrects_as_slave

    def get(
        self,
        env: Environment,
        topic: str,
        queue_id: int,
        offset: int,
        max_messages: int,
        tag_codes: frozenset[int] | None,
        wants: Callable[[bytes], bool] | None = None,
    ) -> GetResult:
        """The table above."""
        queue = self._queues.get(topic, queue_id)
        first, following = (queue.min_offset, queue.max_offset) if queue is not None else (0, 0)

        def nothing(status: GetStatus, following_offset: int) -> GetResult:
            corrected = following_offset if self._corrects else offset
            return GetResult(status, corrected, first, following)

        if queue is None or following == 0:
            return nothing(GetStatus.NO_MESSAGE_IN_QUEUE, 0)
        if offset < first:
            return nothing(GetStatus.OFFSET_TOO_SMALL, first)
        if offset == following:
            return GetResult(GetStatus.OFFSET_OVERFLOW_ONE, offset, first, following)
        if offset > following:
            return nothing(GetStatus.OFFSET_OVERFLOW_BADLY, self._beyond_end(first, following))
        scan = _Scan(self, env, queue, offset, max_messages, tag_codes, wants)
        if not scan.run():
            return nothing(GetStatus.OFFSET_FOUND_NULL, queue.following_file_offset(offset))
        records, offsets = tuple(scan.records), tuple(scan.offsets)
        is_far = self.log.end - scan.last_physical > self._memory
        return GetResult(scan.status, offset + scan.scanned, first, following, records, offsets, is_far)

    def _beyond_end(self, first: int, following: int) -> int:
        """Where a consumer is sent that asks for more than there is."""
        return following

    def is_full(self, size: int, wanted: int, count: int, total: int, distance: int) -> bool:
        """Whether a batch of *count* messages takes no further one of *size*. RocketMQ: isTheBatchFull."""
        if count == 0 or total == 0:
            return False
        bytes_max, count_max = self._in_disk if distance > self._memory else self._in_memory
        return count >= wanted or total + size > bytes_max or count >= count_max

    def is_in_disk(self, physical_offset: int) -> bool:
        """RocketMQ: checkInDiskByCommitOffset."""
        return self.log.end - physical_offset > self._memory

    def record(self, env: Environment, physical_offset: int, size: int) -> bytes:
        """*size* bytes of the log, or nothing. Offset 0 means the oldest byte where the log begins later."""
        if physical_offset == 0 and self.log.files:
            physical_offset = self.log.start
        return self.log.read(env, physical_offset, size)


class _Scan:
    """One walk over the units of a queue."""

    def __init__(
        self,
        reader: Reader,
        env: Environment,
        queue: ConsumeQueue,
        offset: int,
        wanted: int,
        tag_codes: frozenset[int] | None,
        wants: Callable[[bytes], bool] | None,
    ) -> None:
        self._reader, self._env, self._queue = reader, env, queue
        self._offset, self._wanted, self._tag_codes, self._wants = offset, wanted, tag_codes, wants
        self.status = GetStatus.NO_MATCHED_MESSAGE
        self.records: list[bytes] = []
        self.offsets: list[int] = []
        self.scanned = 0
        self.last_physical = 0
        self._total = 0
        self._skip_below = -1

    def run(self) -> bool:
        """False where there is no unit at the offset at all."""
        limit = max(_SCAN_BYTES // UNIT_SIZE, self._wanted)
        # Without a filter nearly every unit gives a message: read few, and more only if messages turn out to be gone.
        chunk = limit if self._tag_codes is not None else min(limit, max(self._wanted, 1) + 1)
        while self.scanned < limit:
            units = self._queue.units(self._env, self._offset + self.scanned, min(chunk, limit - self.scanned))
            if not units:
                break
            if not self._take(units) or self._ends_file():
                return True
        return self.scanned > 0

    def _ends_file(self) -> bool:
        return (self._offset + self.scanned) * UNIT_SIZE % self._queue.files.file_size == 0

    def _take(self, units: list[tuple[int, int, int]]) -> bool:
        """False when the batch is full."""
        reader, codes = self._reader, self._tag_codes
        end = reader.log.end
        for physical_offset, size, tags_code in units:
            self.last_physical = physical_offset
            if physical_offset < self._skip_below:
                self.scanned += 1
                continue
            if reader.is_full(size, self._wanted, len(self.records), self._total, end - physical_offset):
                return False
            if codes is None or tags_code in codes:
                self._read(physical_offset, size)
            else:
                self._passed_over()
            self.scanned += 1
        return True

    def _read(self, physical_offset: int, size: int) -> None:
        # RocketMQ would serve the oldest bytes of the log for a lost record at offset 0; a wrong message is no service.
        record = self._reader.log.read(self._env, physical_offset, size)
        if record and self._wants is not None and not self._wants(record):
            self._passed_over()
        elif record:
            self.records.append(record)
            self.offsets.append(self._offset + self.scanned)
            self._total += size
            self.status = GetStatus.FOUND
            self._skip_below = -1
        else:
            self._is_gone(physical_offset)

    def _passed_over(self) -> None:
        if not self._total:
            self.status = GetStatus.NO_MATCHED_MESSAGE

    def _is_gone(self, physical_offset: int) -> None:
        if not self._total:
            self.status = GetStatus.MESSAGE_WAS_REMOVING
        file_size = self._reader.log.file_size
        self._skip_below = physical_offset + file_size - physical_offset % file_size


def offset_by_time(env: Environment, queue: ConsumeQueue, log: MappedFiles, timestamp_ms: int) -> int:
    """Queue offset whose store time is nearest to *timestamp_ms*; of two equally near the earlier.

    RocketMQ: ConsumeQueue#getOffsetInQueueByTime: the first queue file changed at or after that time is searched, or
    the last one. 0 for an empty queue.
    """
    file = _file_by_time(env, queue.files, timestamp_ms)
    if file is None or file.wrote == 0:
        return 0
    base = file.start // UNIT_SIZE
    low, high = max(0, queue.min_offset - base), file.wrote // UNIT_SIZE - 1
    before: tuple[int, int] | None = None
    after: tuple[int, int] | None = None
    while low <= high:
        middle = (low + high) // 2
        physical_offset, _, _ = queue.units(env, base + middle, 1)[0]
        if physical_offset < log.start:
            low = middle + 1
            continue
        stored_ms = store_timestamp_at(env, log, physical_offset)
        if stored_ms < 0:
            return 0
        if stored_ms == timestamp_ms:
            return base + middle
        if stored_ms > timestamp_ms:
            high, after = middle - 1, (stored_ms, middle)
        else:
            low, before = middle + 1, (stored_ms, middle)
    return base + _nearest(timestamp_ms, before, after)


def _nearest(timestamp_ms: int, before: tuple[int, int] | None, after: tuple[int, int] | None) -> int:
    if before is None or after is None:
        chosen = before or after
        return chosen[1] if chosen is not None else 0
    is_after_nearer = timestamp_ms - before[0] > after[0] - timestamp_ms
    return (after if is_after_nearer else before)[1]


def _file_by_time(env: Environment, row: MappedFiles, timestamp_ms: int) -> MappedFile | None:
    for file in row.files:
        if env.modified(file.name) >= timestamp_ms:
            return file
    return row.files[-1] if row.files else None


def store_timestamp_at(env: Environment, log: MappedFiles, physical_offset: int) -> int:
    """Store time of the record at *physical_offset*; −1 where there is none."""
    head = log.read(env, physical_offset, 76)
    if not head:
        return -1
    store_at = 68 if int.from_bytes(head[36:40], "big") & 0x10 else 56
    return int.from_bytes(head[store_at : store_at + 8], "big", signed=True)
