"""One consume queue: where in the log the n-th message of a (topic, queue id) is.

Question: which messages may a consumer of this queue see, and what is the next one's number?

Model (RocketMQ: ConsumeQueue). Units of 20 bytes: physical offset 8, record size 4, tags code 8 (the Java hash of the
tag, or the due time of a delayed message). Queue offset n is at byte 20·n of a row of files. A unit is taken

    ignored    if its record ends at or below the last one taken (dispatched before), or its slot is filled already
    appended   otherwise; where its queue offset is *not* the next slot, that is a fault of the log, noted, and the
               unit is appended all the same, as in Apache's broker

Where the log itself has a gap (a member of a group was given a later beginning of it) the slots of what is gone are
fillers, and the units behind have their own: ``is_behind_gap`` says that there may be one. Apache's broker appends them
at the next slot, under wrong numbers.

If the first file of a queue begins in its middle (a new slave, expired data), the units before are fillers and the
queue's minimum is the first real one.

Units are collected with ``put`` and become visible with ``write_out``, once a dispatch step.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from reference_impl.environment import Environment
from reference_impl.store.mapped_files import MappedFile, MappedFiles

UNIT_SIZE: Final = 20
_UNIT: Final = Struct(">qiq")
_CHUNK: Final = 1600 * UNIT_SIZE
_FILLER_SIZE: Final = 0x7FFFFFFF
FILLER: Final = _UNIT.pack(0, _FILLER_SIZE, 0)


class ConsumeQueue:
    """The queue of one topic and queue id."""

    def __init__(self, topic: str, queue_id: int, files: MappedFiles) -> None:
        self.topic, self.queue_id, self.files = topic, queue_id, files
        self.max_physical = -1
        """End of the last record that has a unit here; −1: none."""
        self.min_offset = 0
        """First queue offset that can be read."""
        self.is_behind_gap = False
        """The log begins behind everything that has a unit here."""
        self.collected: list[bytes] = []
        """Units taken and not yet visible."""
        self._next = 0
        """Byte offset of the next unit, collected ones included."""
        self._file_size = files.file_size

    @property
    def max_offset(self) -> int:
        """One past the last visible message."""
        return self.files.end // UNIT_SIZE

    # --- writing ----------------------------------------------------------------------------------------------------

    def put(self, env: Environment, physical_offset: int, size: int, tags_code: int, queue_offset: int) -> None:
        """Take one record's unit; ``OSError`` where its file cannot be created (nothing is taken then)."""
        if physical_offset + size <= self.max_physical:
            return
        place = queue_offset * UNIT_SIZE
        if place != self._next or place % self._file_size == 0:
            if self.is_behind_gap and place > self._next:
                self._bridge(env, place)
            self._prepare(env, place)
            if place < self._next and queue_offset != 0:
                return
            if place > self._next:
                env.note(
                    "queue_order_wrong", topic=self.topic, queue_id=self.queue_id, queue_offset=queue_offset,
                    slot=self._next // UNIT_SIZE,
                )  # fmt: skip
        self.max_physical = physical_offset + size
        self.collected.append(_UNIT.pack(physical_offset, size, tags_code))
        self._next += UNIT_SIZE

    def _prepare(self, env: Environment, place: int) -> None:
        """Make sure of a file for the next unit; a first file that begins in the middle gets its fillers."""
        if self._next % self._file_size:
            return
        self.write_out(env)
        is_first = not self.files.files
        file = self.files.file_to_append(env, place)
        if is_first:
            self._next = file.start
            if place > file.start:
                self._fill(env, file, place)
        elif file.wrote == 0:
            self._next = file.start

    def _bridge(self, env: Environment, place: int) -> None:
        """Fillers up to *place*: nobody has what stood there."""
        self.write_out(env)
        while self.files.files and self._next < place:
            file = self.files.file_to_append(env)
            count = (min(place, file.end) - self._next) // UNIT_SIZE
            self.files.append(env, file, FILLER * count)
            self._next += count * UNIT_SIZE
        self.min_offset, self.is_behind_gap = place // UNIT_SIZE, False

    def _fill(self, env: Environment, file: MappedFile, place: int) -> None:
        self.files.append(env, file, FILLER * ((place - file.start) // UNIT_SIZE))
        self.min_offset = place // UNIT_SIZE
        self._next = self.files.flushed_to = place

    def write_out(self, env: Environment) -> None:
        """The collected units become visible. ``OSError``: they stay collected, none is visible."""
        if self.collected:
            data = b"".join(self.collected)
            self.files.append(env, self.files.files[-1], data)
            self.collected = []

    # --- reading ----------------------------------------------------------------------------------------------------

    def units(self, env: Environment, queue_offset: int, count: int) -> list[tuple[int, int, int]]:
        """Up to *count* (physical offset, size, tags code) from *queue_offset* on, within one file; [] if none."""
        place = queue_offset * UNIT_SIZE
        file = self.files.find(place)
        if file is None:
            return []
        size = min(count * UNIT_SIZE, file.start + file.wrote - place)
        return list(_UNIT.iter_unpack(env.read(file.name, place - file.start, size))) if size > 0 else []

    def following_file_offset(self, queue_offset: int) -> int:
        """First queue offset of the next file. RocketMQ: ConsumeQueue#rollNextFile."""
        a_file = self.files.file_size // UNIT_SIZE
        return queue_offset + a_file - queue_offset % a_file

    # --- start ------------------------------------------------------------------------------------------------------

    def recover(self, env: Environment) -> None:
        """Find the end: from the third-last file on, up to the first unit without offset or size."""
        row = self.files
        if row.files:
            end = row.files[0].start
            for file in row.files[-3:]:
                units = self._valid_units(env, file)
                end = file.start + units * UNIT_SIZE
                if units * UNIT_SIZE < row.file_size:
                    break
            row.truncate(env, end)
        self._next = row.end

    def _valid_units(self, env: Environment, file: MappedFile, physical_end: int | None = None) -> int:
        """How many units *file* begins with whose records begin below *physical_end*, each behind the one before.

        One difference: RocketMQ does not look at the order. Where a power cut leaves a unit torn, its first bytes lost
        and its size kept (units lie across sectors and pages), that unit then points at the first record of the log,
        and all that follow it vouch for it: its message is never dispatched again. Sizes are not compared: one damaged
        size would hide every unit behind it.
        """
        count = 0
        before = -1
        for place in range(0, file.size - UNIT_SIZE + 1, _CHUNK):
            data = env.read(file.name, place, min(_CHUNK, file.size - place) // UNIT_SIZE * UNIT_SIZE)
            for physical_offset, size, _ in _UNIT.iter_unpack(data):
                is_beyond = physical_end is not None and physical_offset >= physical_end
                is_filler = size == _FILLER_SIZE
                if size <= 0 or is_beyond or physical_offset < 0 or (physical_offset <= before and not is_filler):
                    return count
                count += 1
                if not is_filler:
                    before = physical_offset
                    self._reaches(physical_offset + size, physical_end)
        return count

    def _reaches(self, end: int, physical_end: int | None) -> None:
        """One difference: RocketMQ takes a filler for a record that ends at 2 GiB, and a damaged size for a size; where
        nothing follows such a unit, the queue would refuse everything until the log has grown that far."""
        self.max_physical = end if physical_end is None else min(end, physical_end)

    def truncate(self, env: Environment, physical_end: int) -> None:
        """Truncate all units of records at or behind *physical_end*. RocketMQ: ConsumeQueue#truncateDirtyLogicFiles.

        One difference: an empty first unit of a file is no unit here. RocketMQ does not look at its size and counts it,
        which leaves a slot without a message where a power cut took the content of a new file but not its name.
        """
        self.max_physical = physical_end
        row = self.files
        while row.files:
            file = row.files[-1]
            kept = self._valid_units(env, file, physical_end)
            if kept:
                row.truncate(env, file.start + kept * UNIT_SIZE)
                break
            row.drop_last(env)
        row.flushed_to = self._next = row.end

    def destroy(self, env: Environment) -> None:
        """The log is empty: nothing here can be true."""
        self.files.destroy(env)
        self.max_physical, self.min_offset, self._next, self.collected = -1, 0, 0, []

    def correct_min_offset(self, env: Environment, log_start: int) -> None:
        """The first unit whose record is still in the log is the queue's minimum."""
        if not self.files.files:
            return
        first = self.files.files[0]
        for place in range(0, first.wrote, _CHUNK):
            data = env.read(first.name, place, min(_CHUNK, first.wrote - place))
            for index, (physical_offset, _, _) in enumerate(_UNIT.iter_unpack(data)):
                if physical_offset >= log_start:
                    self.min_offset = (first.start + place) // UNIT_SIZE + index
                    return

    def expire(self, env: Environment, log_start: int) -> int:
        """Delete files whose last unit points below *log_start*, never the last file; returns how many."""
        count = 0
        while len(self.files.files) > 1:
            first = self.files.files[0]
            last_unit = _UNIT.unpack(env.read(first.name, first.size - UNIT_SIZE, UNIT_SIZE))
            if last_unit[0] >= log_start:
                break
            self.files.drop_first(env)
            count += 1
        self.correct_min_offset(env, log_start)
        return count
