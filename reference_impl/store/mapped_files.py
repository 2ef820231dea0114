"""A row of files of one size that is read and written as one endless array: the shape of log and consume queues.

Question: where do bytes go, and how far have they been written, read and forced?

Model (RocketMQ: MappedFileQueue, MappedFile, MultiPathMappedFileQueue). Files are created at full size, filled with
zeros, and named by the offset of their first byte, 20 digits. Where there are several folders they go round them in
the order of the alphabet, past those that are read-only, and past full ones as long as another is left; what was made
in advance in a folder that is passed over later goes (RocketMQ leaves it). Of each file the store remembers two
positions; readers see everything below *wrote*:

    0 ............ flushed ............ wrote ............ size
      durable        visible, at risk     zeros or old bytes

``flush`` forces only the file that holds ``flushed_to``, so that a flush across a file border takes two calls. With
*least pages* > 0 it acts only when that many 4 KiB pages have been begun since; a full file always qualifies.

With a pool of buffers (:mod:`~reference_impl.store.commit`) a third comes behind *wrote*: ``position``, up to which
bytes wait in a buffer of this process.

Where a force fails, the position advances all the same, as in Apache's broker; with *strict* it stays, and
``on_force_failed`` is told.

Limits. Nothing here knows what the bytes mean.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from reference_impl.digits import is_number
from reference_impl.environment import Environment
from reference_impl.store.forcing import Forcing

PAGE: Final = 4096

Done = Callable[[Environment], None]


class WrongFileSize(Exception):
    """A file whose length is not the configured one: RocketMQ refuses to start (exit code 253)."""


def file_start(name: str) -> int | None:
    """Where the file of that name begins; ``None``: no file of a row has such a name."""
    number = name.rpartition("/")[2]
    start = int(number) if is_number(number) else -1
    return start if 0 <= start < 1 << 63 else None


class MappedFile:
    """One file of a row. Positions are bytes within the file."""

    __slots__ = ("flushed", "name", "pending", "size", "start", "store_timestamp", "wrote")

    def __init__(self, name: str, start: int, size: int, position: int = 0) -> None:
        self.name, self.start, self.size = name, start, size
        self.wrote = self.flushed = position
        self.pending: bytearray | None = None
        """Bytes behind *wrote* in a buffer of this process; ``None``: the file has no buffer."""
        self.store_timestamp = 0
        """Store time of the last record appended in this life; 0: none."""

    @property
    def end(self) -> int:
        """Offset of the first byte of the next file."""
        return self.start + self.size

    @property
    def position(self) -> int:
        """Where the next byte is written: *wrote*, or behind what waits in the buffer."""
        return self.wrote + len(self.pending) if self.pending else self.wrote

    @property
    def is_full(self) -> bool:
        return self.position == self.size

    def needs_flush(self, least_pages: int) -> bool:
        """RocketMQ: MappedFile#isAbleToFlush."""
        if self.is_full:
            return True
        if least_pages > 0:
            return self.wrote // PAGE - self.flushed // PAGE >= least_pages
        return self.wrote > self.flushed


class MappedFiles:
    """One row. ``is_precreating``: with a new file the one after it is made (RocketMQ: AllocateMappedFileService)."""

    def __init__(
        self,
        folder: str | tuple[str, ...],
        file_size: int,
        forcing: Forcing,
        *,
        is_precreating: bool = False,
        is_strict: bool = False,
        buffers: int = 0,
        read_only: tuple[str, ...] = (),
    ) -> None:
        given = folder if isinstance(folder, tuple) else (folder,)
        self.folders = tuple(dict.fromkeys(given + read_only))
        self._writable = sorted(name for name in given if name not in read_only)
        self.full_folders: frozenset[str] = frozenset()
        """Whose disks are nearly full (told by retention)."""
        self.file_size = file_size
        self.files: list[MappedFile] = []
        self.flushed_to = 0
        self.flushed_timestamp = 0
        """Store time of the last record covered by a complete flush (RocketMQ: MappedFileQueue.storeTimestamp)."""
        self.on_force_failed: Callable[[Environment, str, str], None] | None = None
        self._forcing = forcing
        self._is_precreating = is_precreating
        self.is_strict = is_strict
        self._precreated = ""
        self._precreated_is_buffered = False
        self.buffers_left = buffers
        """Of the pool of write buffers; 0 also where there is no pool."""
        self._uncommitted: deque[MappedFile] = deque()
        self._is_flushing = False
        self._when_idle: list[Done] = []

    # --- what there is ----------------------------------------------------------------------------------------------

    @property
    def start(self) -> int:
        """Offset of the first byte that is kept; 0 where there is no file."""
        return self.files[0].start if self.files else 0

    @property
    def end(self) -> int:
        """Offset behind the last byte that can be read; 0 where there is no file."""
        if not self.files:
            return 0
        last = self._uncommitted[0] if self._uncommitted else self.files[-1]
        return last.start + last.wrote

    @property
    def pending_bytes(self) -> int:
        """How much waits in buffers."""
        return sum(len(file.pending or b"") for file in self._uncommitted)

    def name(self, start: int) -> str:
        """The file that begins at offset *start*, if it is made now (RocketMQ: tryCreateMappedFile)."""
        folders = [name for name in self._writable if name not in self.full_folders] or self._writable
        return f"{folders[start // self.file_size % len(folders)]}/{start:020d}"

    def find(self, offset: int) -> MappedFile | None:
        """The file that holds *offset*, written or not."""
        files = self.files
        if not files or offset < files[0].start:
            return None
        index = (offset - files[0].start) // self.file_size
        if index < len(files) and files[index].start <= offset < files[index].end:
            return files[index]
        # A gap in the row (a lost file): RocketMQ falls back to a search, too.
        return next((file for file in files if file.start <= offset < file.end), None)

    def load(self, env: Environment, names: list[str]) -> None:
        """Take over existing files, all positions at their ends. :class:`WrongFileSize` names the first wrong one.

        A name that is no place where a file of this row can begin is left alone. RocketMQ takes the number as it is,
        and what it finds there for the end of the row: every later file is then deleted.
        """
        for name in names:
            size = env.size(name)
            if size != self.file_size:
                raise WrongFileSize(f"{name} has {size} bytes, {self.file_size} expected")
            start = file_start(name)
            if start is None or start % self.file_size:
                env.note("file_ignored", file=name)
            else:
                self.files.append(MappedFile(name, start, size, size))
        self.flushed_to = self.end

    def read(self, env: Environment, offset: int, size: int) -> bytes:
        """Exactly *size* written bytes of one file, or nothing."""
        file = self.find(offset)
        if file is None or offset + size > file.start + file.wrote:
            return b""
        return env.read(file.name, offset - file.start, size)

    # --- growing ----------------------------------------------------------------------------------------------------

    def file_to_append(self, env: Environment, start_offset: int = 0) -> MappedFile:
        """The last file, or a new one where there is none or it is full. ``OSError`` where none can be created.

        The first file of an empty row begins at *start_offset* rounded down to the file size.
        """
        if self.files and not self.files[-1].is_full:
            return self.files[-1]
        start = self.files[-1].end if self.files else start_offset - start_offset % self.file_size
        return self._create(env, start)

    def _create(self, env: Environment, start: int) -> MappedFile:
        name = self.name(start)
        if name == self._precreated:
            self._precreated, is_buffered = "", self._precreated_is_buffered
        else:
            if self._precreated and len(self.folders) > 1:
                self.drop_precreated(env)
            env.create(name, self.file_size)
            self._forcing.names_changed()
            is_buffered = self._borrow()
        file = MappedFile(name, start, self.file_size)
        if is_buffered:
            file.pending = bytearray()
        self.files.append(file)
        if self._is_precreating:
            self._precreate(env, file.end)
        return file

    def _precreate(self, env: Environment, start: int) -> None:
        name = self.name(start)
        try:
            env.create(name, self.file_size)
        except OSError as error:
            # The allocator works ahead: what it cannot do now is tried again, and reported, when the file is needed.
            env.note("precreate_failed", file=name, error=str(error))
            return
        self._precreated, self._precreated_is_buffered = name, self._borrow()
        self._forcing.names_changed()

    def _borrow(self) -> bool:
        """Take a buffer from the pool, if there is one."""
        if not self.buffers_left:
            return False
        self.buffers_left -= 1
        return True

    def append(self, env: Environment, file: MappedFile, data: bytes) -> None:
        """*data* at the write position of *file*, which has room for it. ``OSError``: nothing has changed."""
        if file.pending is None:
            env.write(file.name, file.wrote, data)
            file.wrote += len(data)
            return
        if not file.pending:
            self._uncommitted.append(file)
        file.pending += data

    def fill(self, env: Environment, file: MappedFile, mark: bytes) -> None:
        """End *file* with *mark*; what is left behind it counts as written. ``OSError`` as :meth:`append`."""
        if file.pending is None:
            self.append(env, file, mark)
            file.wrote = file.size
        else:
            self.append(env, file, mark.ljust(file.size - file.position, b"\0"))

    def commit(self, env: Environment) -> None:
        """Copy what waits in buffers to the files. ``OSError``: what was not copied waits on."""
        while self._uncommitted:
            file = self._uncommitted[0]
            assert file.pending is not None
            env.write(file.name, file.wrote, bytes(file.pending))
            file.wrote += len(file.pending)
            file.pending.clear()
            self._uncommitted.popleft()
            if file.is_full:
                file.pending = None
                self.buffers_left += 1

    # --- forcing ----------------------------------------------------------------------------------------------------

    def flush(self, env: Environment, least_pages: int, done: Done) -> None:
        """One force of one file, if it is due; *done* when it is over, at once if nothing was due.

        Called again only after *done*: RocketMQ has one flushing thread a row.
        """
        assert not self._is_flushing, f"two flushes of {self.folders[0]} at once"
        file = self._file_to_flush()
        if file is None or not file.needs_flush(least_pages):
            if file is not None:
                self._flushed(file, file.flushed, file.store_timestamp, least_pages)
            done(env)
            return
        self._is_flushing = True
        wrote, timestamp = file.wrote, file.store_timestamp

        def forced(env: Environment, error: str) -> None:
            self._is_flushing = False
            if error and self.is_strict:
                assert self.on_force_failed is not None
                self.on_force_failed(env, file.name, error)
            else:
                file.flushed = max(file.flushed, wrote)
                self._flushed(file, wrote, timestamp, least_pages)
                if error:
                    env.note("force_failed", file=file.name, error=error, flushed_to=self.flushed_to)
            done(env)
            if not self._is_flushing and self._when_idle:
                self._when_idle.pop(0)(env)

        self._forcing.force(env, file.name, forced)

    def flush_all(self, env: Environment, tries: int, done: Done) -> None:
        """Force file after file until nothing is dirty or *tries* are used up; waits for a flush that is under way."""
        if self._is_flushing:
            self._when_idle.append(lambda env: self.flush_all(env, tries, done))
        elif tries == 0 or not self.is_dirty:
            done(env)
        else:
            self.flush(env, 0, lambda env: self.flush_all(env, tries - 1, done))

    def _file_to_flush(self) -> MappedFile | None:
        file = self.find(self.flushed_to)
        if file is None and self.flushed_to == 0 and self.files:
            return self.files[0]
        return file

    def _flushed(self, file: MappedFile, position: int, timestamp: int, least_pages: int) -> None:
        self.flushed_to = max(self.flushed_to, file.start + position)
        if least_pages == 0:
            self.flushed_timestamp = timestamp

    @property
    def is_flushing(self) -> bool:
        """A force of one of the files is under way."""
        return self._is_flushing

    @property
    def is_dirty(self) -> bool:
        """Something was written that no flush has covered."""
        return self.end > self.flushed_to

    # --- shrinking --------------------------------------------------------------------------------------------------

    def truncate(self, env: Environment, offset: int) -> None:
        """The row ends at *offset*: later files go, positions are set back, bytes behind it stay as they are.

        RocketMQ: MappedFileQueue#truncateDirtyFiles. A file that begins exactly at *offset* stays, empty.
        """
        kept = []
        for file in self.files:
            if file.end <= offset:
                kept.append(file)
            elif file.start <= offset:
                file.wrote = file.flushed = offset - file.start
                kept.append(file)
            else:
                self._delete(env, file.name)
        self.files = kept
        self.flushed_to = offset

    def set_aside(self, env: Environment, file: MappedFile, folder: str) -> str:
        """Move *file*, which the row does not need any more, to *folder*; where it is now."""
        self.files.remove(file)
        number = file.name.rpartition("/")[2]
        name = f"{folder}/{number}"
        while env.size(name) >= 0:
            name += ".again"
        env.rename(file.name, name)
        self._forcing.names_changed()
        return name

    def drop_first(self, env: Environment) -> None:
        """Delete the oldest file (retention)."""
        self._delete(env, self.files[0].name)
        del self.files[0]

    def drop_last(self, env: Environment) -> None:
        """Delete the newest file (truncation of a queue)."""
        self._delete(env, self.files.pop().name)
        self.flushed_to = min(self.flushed_to, self.end)

    def destroy(self, env: Environment) -> None:
        """Delete every file."""
        for file in self.files:
            self._delete(env, file.name)
        self.files = []
        self.flushed_to = 0

    def drop_precreated(self, env: Environment) -> None:
        """An orderly stop, or a folder that became full, leaves no file behind that was only created in advance."""
        if self._precreated:
            try:
                self._delete(env, self._precreated)
            except OSError as error:
                env.note("precreated_not_deleted", file=self._precreated, error=str(error))
            self._precreated = ""
            self.buffers_left += self._precreated_is_buffered

    def _delete(self, env: Environment, name: str) -> None:
        env.delete(name)
        self._forcing.names_changed()
