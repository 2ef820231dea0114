"""What a start makes of the log files that survived.

Question: where does the log end, and which index units are right?

Model (DLedger: DLedgerMmapFileStore#recover):

    begin    third file from the end, back until a file's first record agrees with its unit; else the first file
    forward  a blank leads to the next file; the log ends at the first record that is not well formed, does not lie
             where it says, does not follow the one before (index + 1), or has a smaller term
    index    from the first unit that contradicts its record on, units are written anew

The end is not told from damage: a broken record takes everything behind it, as with Apache's. With *committed* given
(strict persistence), a log that ends below it is refused instead: what was vouched for must not vanish silently.

What lies behind the end is zeroed, so that no later start can take it for entries (our deviation; see ``log.py``).

Limits. Bodies are not looked at: no checksum covers them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from reference_impl.dledger.entry import HEAD_SIZE, MAGIC_BLANK, UNIT_SIZE, Entry, Unit, encode_unit, record_head
from reference_impl.dledger.log import FileLog, clear, decode_head
from reference_impl.environment import Environment
from reference_impl.store.mapped_files import MappedFile, MappedFiles

_FILES_SCANNED: Final = 3
_CHUNK: Final = 1 << 16
_BLANK_ENOUGH: Final = 1 << 24


class Recovered(NamedTuple):
    """For the ``recovered`` note."""

    begin_index: int
    end_index: int
    end_term: int
    scanned_from: int
    position: int


class LogDamaged(Exception):
    """The log ends before what is known to be committed."""


def recover(env: Environment, log: FileLog, committed: int = -1) -> Recovered:
    """Load *log* and set its ends. ``WrongFileSize``, :class:`LogDamaged`."""
    log.load(env)
    if not log.data.files:
        log.index.destroy(env)
        return Recovered(-1, -1, -1, 0, 0)
    scan = _Scan(env, log)
    first = scan.first_file()
    scan.run(first)
    _check(log, scan.position, scan.last.index if scan.last is not None else -1, committed)
    start = log.data.files[first].start
    scan.finish()
    return Recovered(log.begin_index, log.end_index, log.end_term, start, log.end_position)


def _check(log: FileLog, position: int, end_index: int, committed: int) -> None:
    """Apache gives up, too, where more than a file would go."""
    if log.data.files[-1].start - position > log.data.file_size:
        raise LogDamaged(f"no record at {position}, but files up to {log.data.files[-1].start}")
    if end_index < committed:
        raise LogDamaged(f"the log ends at {end_index}, {committed} is committed")


class _Scan:
    """One walk. ``last``: the last good record; ``position``: behind it."""

    def __init__(self, env: Environment, log: FileLog) -> None:
        self._env, self._log = env, log
        self.last: Unit | None = None
        self.position = 0
        self._index_is_right = True

    def first_file(self) -> int:
        """Index of the file that the walk begins with."""
        files = self._log.data.files
        for at in range(max(0, len(files) - _FILES_SCANNED), -1, -1):
            head = self._head(files[at], 0)
            if head is not None and head.pos == files[at].start and self._unit_bytes(head.index) == _unit_bytes(head):
                return at
        return 0

    def run(self, first: int) -> None:
        """Walk from the start of file *first* on."""
        files = self._log.data.files
        self.position = files[first].start
        for file in files[first:]:
            if self.position != file.start or not self._walk(file):
                return

    def _walk(self, file: MappedFile) -> bool:
        """Whether a blank leads to the next file."""
        while True:
            offset = self.position - file.start
            if record_head(self._env.read(file.name, offset, 8))[0] == MAGIC_BLANK:
                self.position = file.end
                return True
            head = self._head(file, offset)
            if head is None or not self._follows(head, file):
                return False
            self._take(head)

    def _head(self, file: MappedFile, offset: int) -> Unit | None:
        return decode_head(self._env.read(file.name, offset, HEAD_SIZE))

    def _follows(self, head: Unit, file: MappedFile) -> bool:
        if head.pos != self.position or head.pos + head.size > file.end:
            return False
        return self.last is None or (head.index == self.last.index + 1 and head.term >= self.last.term)

    def _take(self, head: Unit) -> None:
        if self._index_is_right and self._unit_bytes(head.index) != _unit_bytes(head):
            self._index_is_right = False
            self._log.index.truncate(self._env, head.index * UNIT_SIZE)
        if not self._index_is_right:
            file = self._log.index.file_to_append(self._env, head.index * UNIT_SIZE)
            file.wrote = max(file.wrote, head.index * UNIT_SIZE - file.start)
            self._log.index.append(self._env, file, _unit_bytes(head))
        self.last = head
        self.position = head.pos + head.size

    def _unit_bytes(self, index: int) -> bytes:
        return self._log.index.read(self._env, index * UNIT_SIZE, UNIT_SIZE)

    def finish(self) -> None:
        """The rows end here; what is behind goes."""
        env, log, last = self._env, self._log, self.last
        if last is None:
            log.data.destroy(env)
            log.index.destroy(env)
            return
        log.data.truncate(env, self.position)
        log.index.truncate(env, (last.index + 1) * UNIT_SIZE)
        first = decode_head(env.read(log.data.files[0].name, 0, HEAD_SIZE))
        log.begin_index = first.index if first is not None else -1
        log.end_index, log.end_term = last.index, last.term
        for row in (log.data, log.index):
            _clear_behind(env, row)


def _unit_bytes(head: Unit) -> bytes:
    return encode_unit(Entry(b"", index=head.index, term=head.term, pos=head.pos, size=head.size))


def _clear_behind(env: Environment, row: MappedFiles) -> None:
    """Zeros over what is behind the end of *row*, up to the first 16 MiB that are zeros."""
    file, blank = row.files[-1], 0
    for offset in range(file.wrote, file.size, _CHUNK):
        size = min(_CHUNK, file.size - offset)
        if not any(env.read(file.name, offset, size)):
            blank += size
            if blank >= _BLANK_ENOUGH:
                return
        else:
            clear(env, file.name, offset, size)
            blank = 0
