"""The log of one member: entries in data files, where they lie in index files.

Question: which entry is at index *i*, what follows the last one, and what is cut off?

Model (DLedger: DLedgerMmapFileStore). Two rows of files: data, all records one behind the other, and index, a unit of
32 bytes for index *i* at byte *i* × 32. Entries from ``begin_index`` to ``end_index`` are there; an empty log has −1 as
both. Nothing here forces anything: :mod:`reference_impl.dledger.log_flush` does.

    append    the record at ``place(size)``, a blank before it if it does not fit into the file, then its unit
    cut       entries from an index on go; *their bytes are zeroed*
    restart   every file goes, the log begins again with one entry (a follower behind its leader's first entry)

Apache only sets positions back when it truncates: the old records stay behind the cut, and a restart takes them for
entries again, even behind a new entry that they never followed. Zeroing them is our deviation.

Limits. One life, one environment: :meth:`load` keeps it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_impl.digits import is_number
from reference_impl.dledger.entry import (
    HEAD_SIZE,
    UNIT_SIZE,
    Entry,
    Unit,
    decode_record,
    decode_unit,
    encode_blank,
    encode_record,
    encode_unit,
    place,
    record_head,
)
from reference_impl.environment import Environment
from reference_impl.store.forcing import Forcing
from reference_impl.store.mapped_files import MappedFiles

INDEX_FILE_SIZE: Final = 5 * 1024 * 1024 * UNIT_SIZE
_CHUNK: Final = 64 * 1024


class DataFiles(MappedFiles):
    """Tells when its oldest file goes, whoever deletes it."""

    on_dropped: Callable[[Environment], None]

    def drop_first(self, env: Environment) -> None:
        super().drop_first(env)
        self.on_dropped(env)


class FileLog:
    """The log below *folder*. Load it with :func:`reference_impl.dledger.recovery.recover`."""

    def __init__(
        self,
        folder: str,
        forcing: Forcing,
        *,
        data_file_size: int,
        index_file_size: int = INDEX_FILE_SIZE,
        data_folders: tuple[str, ...] = (),
        is_strict: bool = False,
    ) -> None:
        folders = data_folders or (f"{folder}/data",)
        self.data = DataFiles(folders, data_file_size, forcing, is_strict=is_strict)
        self.data.on_dropped = self._first_file_is_gone
        self.index = MappedFiles(f"{folder}/index", index_file_size, forcing, is_strict=is_strict)
        self.begin_index = self.end_index = self.end_term = -1
        self.writes = 0
        """Appends, cuts and restarts of this life."""
        self._env: Environment | None = None
        self._cut_at: dict[int, int] = {}
        self._cleared: dict[str, None] = {}

    def load(self, env: Environment) -> None:
        """Take over the files, positions at their ends; ``WrongFileSize`` for one of another size."""
        self._env = env
        for row in (self.data, self.index):
            places = [name.rpartition("/") for folder in row.folders for name in env.files(f"{folder}/")]
            row.load(env, ["".join(it) for it in sorted(places, key=lambda it: it[2]) if is_number(it[2])])

    # --- reading ----------------------------------------------------------------------------------------------------

    @property
    def end_position(self) -> int:
        """Where the data ends: the next record begins here, or in the next file."""
        return self.data.end

    @property
    def file_size(self) -> int:
        """Of a data file."""
        return self.data.file_size

    def place(self, size: int) -> int:
        """Where a record of *size* bytes will begin."""
        return place(self.data.end, size, self.data.file_size)

    def starts_file(self, position: int) -> bool:
        """Whether a log may begin there: expiry takes whole files, so that every log begins with one."""
        return position % self.data.file_size == 0

    def unit(self, index: int) -> Unit | None:
        """Where entry *index* lies; ``None`` where there is none."""
        if not (0 <= self.begin_index <= index <= self.end_index):
            return None
        return decode_unit(self.index.read(self._opened, index * UNIT_SIZE, UNIT_SIZE))

    def entry(self, index: int) -> Entry | None:
        """The entry *index*; ``None`` where there is none."""
        unit = self.unit(index)
        return None if unit is None else decode_record(self.data.read(self._opened, unit.pos, unit.size))

    # --- writing ----------------------------------------------------------------------------------------------------

    def append(self, entry: Entry) -> None:
        """*entry* behind the last one; its place must be right. ``OSError``: the log is as it was, but for a blank."""
        env = self._opened
        if entry.pos != self.place(entry.size):
            raise ValueError(f"entry {entry.index} at {entry.pos}, the log goes on at {self.place(entry.size)}")
        self._roll(env, entry)
        file = self.data.file_to_append(env, entry.pos)
        self.data.append(env, file, encode_record(entry))
        try:
            unit_file = self.index.file_to_append(env, entry.index * UNIT_SIZE)
            self.index.append(env, unit_file, encode_unit(entry))
        except OSError:
            file.wrote -= entry.size
            raise
        self.writes += 1
        self.end_index, self.end_term = entry.index, entry.term
        if self.begin_index < 0:
            self.begin_index = entry.index

    def _roll(self, env: Environment, entry: Entry) -> None:
        left = entry.pos - self.data.end
        if left:
            file = self.data.file_to_append(env)
            self.data.fill(env, file, encode_blank(left))

    def cut(self, index: int) -> None:
        """Entries from *index* on go, which the log holds."""
        unit = self.unit(index)
        if unit is None:
            raise ValueError(f"no entry {index} in {self.begin_index} to {self.end_index}")
        self.writes += 1
        env, last = self._opened, self.unit(index - 1)
        self._cut_row(env, self.data, unit.pos)
        self._cut_row(env, self.index, index * UNIT_SIZE)
        self.end_index, self.end_term = (last.index, last.term) if last is not None else (-1, -1)
        if last is None:
            self.begin_index = -1

    def _cut_row(self, env: Environment, row: MappedFiles, position: int) -> None:
        file = row.find(position)
        behind = file.wrote - (position - file.start) if file is not None else 0
        forced_to = min(row.flushed_to, position)
        row.truncate(env, position)
        if file is not None and behind > 0:
            clear(env, file.name, position - file.start, behind)
            self._cleared[file.name] = None
        self._cut_at[id(row)] = min(position, self._cut_at.get(id(row), position))
        self._set_back(row, forced_to)

    def _set_back(self, row: MappedFiles, position: int) -> None:
        """What is behind *position* was written anew, and is not forced."""
        row.flushed_to = min(row.flushed_to, position)
        for file in row.files:
            file.flushed = max(0, min(file.flushed, position - file.start))

    def flush_begins(self) -> list[str]:
        """Forces begin that cover everything up to now: the files that were cut, and what the rows say is dirty."""
        self._cut_at.clear()
        cleared, self._cleared = list(self._cleared), {}
        return cleared

    def flush_ended(self) -> None:
        """They are over; what was cut and written again meanwhile they have not covered."""
        for row in (self.data, self.index):
            if id(row) in self._cut_at:
                self._set_back(row, self._cut_at[id(row)])

    def restart(self, entry: Entry) -> None:
        """The log is *entry* alone, which begins a file."""
        env = self._opened
        self.data.destroy(env)
        self.index.destroy(env)
        self.begin_index = self.end_index = self.end_term = -1
        self.data.file_to_append(env, entry.pos)
        units = self.index.file_to_append(env, entry.index * UNIT_SIZE)
        units.wrote = units.flushed = entry.index * UNIT_SIZE - units.start
        self.data.flushed_to, self.index.flushed_to = entry.pos, entry.index * UNIT_SIZE
        self.append(entry)

    def _first_file_is_gone(self, env: Environment) -> None:
        """The log begins with the first entry of the next file."""
        head = decode_head(self.data.read(env, self.data.start, HEAD_SIZE))
        self.begin_index = head.index if head is not None else -1
        while len(self.index.files) > 1 and self.index.files[0].end <= self.begin_index * UNIT_SIZE:
            self.index.drop_first(env)

    @property
    def _opened(self) -> Environment:
        assert self._env is not None, "the log is not loaded"
        return self._env


def decode_head(data: bytes) -> Unit | None:
    """What the first 48 bytes of a record say; ``None`` if they begin no record."""
    if len(data) < HEAD_SIZE or record_head(data)[0] != 1:
        return None
    size = record_head(data)[1]
    index, term, pos = (int.from_bytes(data[at : at + 8], "big", signed=True) for at in (8, 16, 24))
    body_size = int.from_bytes(data[44:48], "big", signed=True)
    return Unit(pos, size, index, term) if size == HEAD_SIZE + body_size and body_size >= 0 else None


def clear(env: Environment, name: str, offset: int, size: int) -> None:
    """Zeros over *size* bytes of a file."""
    for at in range(offset, offset + size, _CHUNK):
        env.write(name, at, bytes(min(_CHUNK, offset + size - at)))
