"""A node's folder: real files, real fsync, names below one home.

Question: how does a role that never waits get durable files? Model: reads and writes are system calls on kept file
descriptors and hit the page cache, so they are made at once; a sync is handed to a small pool of threads and its end
comes back through a callback in the loop's thread.

Syncs of one file never overlap: while an ``fdatasync`` runs, later requests for the same file gather, and one more
``fdatasync`` serves them all (group commit). It is started after the last of the writes it covers, so the guarantee of
``Environment.sync`` holds. Different files are synced side by side.

Names: a created, renamed or deleted file makes its folder *dirty*; ``sync_names`` forces every dirty folder, and the
parents of folders that were made. Until then a power cut may take the name with it (ext4 usually keeps it when the
file itself was synced; nothing here relies on that).

Limits. Linux and macOS. At most ``kept_files`` descriptors stay open; the least recently used is closed first. The
kernel reports a failed write-back once per open file, so an error may be told to the sync after the one it belongs to.
"""

from __future__ import annotations

import errno
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SyncEnd = Callable[[str | None], None]
"""Called with ``None``, or with the name of the errno (``EIO``) when the sync failed."""

_NAMES = ""
"""The pseudo file under which syncs of folders queue; no real file has an empty name."""

force_data: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)


class Disk:
    """The files of one node below *home*.

    ``hand_over(callback)`` must run *callback* in the thread that owns this object (``loop.call_soon_threadsafe``).
    """

    def __init__(
        self,
        home: Path,
        hand_over: Callable[[Callable[[], None]], object],
        *,
        sync_threads: int = 4,
        kept_files: int = 256,
    ) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self._home = os.path.realpath(home)
        self._hand_over = hand_over
        self._kept: OrderedDict[str, int] = OrderedDict()
        self._kept_files = kept_files
        self._dirty_folders: dict[str, None] = {}
        self._folders_in_force: dict[str, None] = {}
        self._in_force: dict[str, int] = {}
        """File → the descriptor that a thread works with."""
        self._running: dict[str, list[SyncEnd]] = {}
        self._waiting: dict[str, list[SyncEnd]] = {}
        self._pool = ThreadPoolExecutor(sync_threads, thread_name_prefix="sync")

    # -- reading ---------------------------------------------------------------------------------------------------

    def read(self, file: str, offset: int, size: int) -> bytes:
        """Up to *size* bytes; ``FileNotFoundError`` if there is no such file."""
        return os.pread(self._open(file), size, offset)

    def size(self, file: str) -> int:
        """Length in bytes, −1 if there is no such file."""
        try:
            return os.stat(self._path(file)).st_size
        except FileNotFoundError:
            return -1

    def modified(self, file: str) -> int:
        """Last modification in wall milliseconds."""
        return os.stat(self._path(file)).st_mtime_ns // 1_000_000

    def files(self, prefix: str) -> list[str]:
        """Names that start with *prefix*, sorted; a missing folder holds none."""
        return sorted(name for name in self._walk(os.path.dirname(prefix)) if name.startswith(prefix))

    def usage(self, path: str = "") -> tuple[int, int]:
        """(used, total) bytes of the file system of *path*, or of the nearest folder above it that is there, as an
        ordinary user sees them (reserved blocks count as used)."""
        place = os.path.join(self._home, path)
        while path and not os.path.exists(place):
            path = os.path.dirname(path)
            place = os.path.join(self._home, path)
        space = os.statvfs(place)
        return (space.f_blocks - space.f_bavail) * space.f_frsize, space.f_blocks * space.f_frsize

    # -- changing --------------------------------------------------------------------------------------------------

    def write(self, file: str, offset: int, data: bytes) -> None:
        """All of *data* into the page cache, or ``OSError``; creates and extends the file."""
        descriptor = self._open_or_create(file)
        written = os.pwrite(descriptor, data, offset)
        while written < len(data):
            written += os.pwrite(descriptor, data[written:], offset + written)

    def create(self, file: str, size: int) -> None:
        """A sparse file of at least *size* bytes; existing content stays."""
        descriptor = self._open_or_create(file)
        if os.fstat(descriptor).st_size < size:
            os.ftruncate(descriptor, size)

    def truncate(self, file: str, size: int) -> None:
        """Truncate or extend with zeros."""
        os.ftruncate(self._open_or_create(file), size)

    def delete(self, file: str) -> None:
        """Remove the file; no error if it is absent."""
        self._forget(file)
        try:
            os.unlink(self._path(file))
        except FileNotFoundError:
            return
        self._mark_dirty(file)

    def rename(self, old: str, new: str) -> None:
        """Replace *new* by *old*."""
        self._make_folder(new)
        os.replace(self._path(old), self._path(new))
        self._forget(old)
        self._forget(new)
        self._mark_dirty(old)
        self._mark_dirty(new)

    # -- forcing ---------------------------------------------------------------------------------------------------

    def sync(self, file: str, end: SyncEnd) -> None:
        """Force *file*; *end* is called when every write made before this call is durable, or with the errno's name."""
        if file == _NAMES:
            raise ValueError("sync needs the name of a file")
        self._queue_sync(file, end)

    def sync_names(self, end: SyncEnd) -> None:
        """Force every folder in which a name changed."""
        self._queue_sync(_NAMES, end)

    def close(self) -> None:
        """Close the descriptors; syncs that have begun end first. Idempotent."""
        self._pool.shutdown(wait=True)
        in_force, self._in_force = self._in_force, {}
        for descriptor in sorted({*self._kept.values(), *in_force.values()}):
            os.close(descriptor)
        self._kept.clear()

    # -- how -------------------------------------------------------------------------------------------------------

    def _queue_sync(self, file: str, end: SyncEnd) -> None:
        if file in self._running:
            self._waiting.setdefault(file, []).append(end)
        else:
            self._begin_sync(file, [end])

    def _begin_sync(self, file: str, ends: list[SyncEnd]) -> None:
        self._running[file] = ends
        try:
            force = self._force_names() if file == _NAMES else self._force_file(file)
        except OSError as error:
            name = _errno_name(error)
            self._hand_over(lambda: self._end_sync(file, name))
            return
        self._pool.submit(self._force_in_thread, file, force)

    def _force_file(self, file: str) -> Callable[[], None]:
        """A force needs no descriptor of its own: it works for a process that may open no more. The kept one stays open
        until the end of it, also if it is evicted or the file is deleted meanwhile."""
        descriptor = self._open(file)
        self._in_force[file] = descriptor
        return lambda: force_data(descriptor)

    def _force_names(self) -> Callable[[], None]:
        self._folders_in_force, self._dirty_folders = self._dirty_folders, {}
        folders = list(self._folders_in_force)
        return lambda: _force_folders(folders)

    def _force_in_thread(self, file: str, force: Callable[[], None]) -> None:
        name: str | None = None
        try:
            force()
        except OSError as error:
            name = _errno_name(error)
        self._hand_over(lambda: self._end_sync(file, name))

    def _end_sync(self, file: str, error: str | None) -> None:
        ends = self._running.pop(file)
        self._let_go(file, error)
        if waiting := self._waiting.pop(file, None):
            self._begin_sync(file, waiting)
        for end in ends:
            end(error)

    def _let_go(self, file: str, error: str | None) -> None:
        """What could not be forced is still to be forced; what was to be closed meanwhile is closed."""
        if file == _NAMES:
            if error is not None:
                self._dirty_folders = {**self._folders_in_force, **self._dirty_folders}
            self._folders_in_force = {}
        elif (descriptor := self._in_force.pop(file, None)) is not None and self._kept.get(file) != descriptor:
            os.close(descriptor)

    def _close(self, file: str, descriptor: int) -> None:
        """At once, or when its force has ended."""
        if self._in_force.get(file) != descriptor:
            os.close(descriptor)

    def _path(self, file: str) -> str:
        if not file or file.startswith("/") or ".." in file.split("/"):
            raise ValueError(f"a file is named by a relative path below the node's folder, not {file!r}")
        return f"{self._home}/{file}"

    def _open(self, file: str) -> int:
        descriptor = self._kept.get(file)
        if descriptor is None:
            return self._keep(file, os.open(self._path(file), os.O_RDWR | os.O_CLOEXEC))
        self._kept.move_to_end(file)
        return descriptor

    def _open_or_create(self, file: str) -> int:
        try:
            return self._open(file)
        except FileNotFoundError:
            self._make_folder(file)
            created = os.open(self._path(file), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            self._mark_dirty(file)
            return self._keep(file, created)

    def _keep(self, file: str, descriptor: int) -> int:
        self._kept[file] = descriptor
        if len(self._kept) > self._kept_files:
            self._close(*self._kept.popitem(last=False))
        return descriptor

    def _forget(self, file: str) -> None:
        if (descriptor := self._kept.pop(file, None)) is not None:
            self._close(file, descriptor)

    def _mark_dirty(self, file: str) -> None:
        self._dirty_folders[os.path.dirname(self._path(file))] = None

    def _make_folder(self, file: str) -> None:
        missing = os.path.dirname(self._path(file))
        while not os.path.isdir(missing):
            self._dirty_folders[missing] = None
            missing = os.path.dirname(missing)
            self._dirty_folders[missing] = None
        os.makedirs(os.path.dirname(self._path(file)), exist_ok=True)

    def _walk(self, folder: str) -> Iterator[str]:
        top = self._path(folder) if folder else self._home
        for path, _, names in os.walk(top):
            for name in names:
                yield os.path.relpath(os.path.join(path, name), self._home)


def _force_and_close(descriptor: int, force: Callable[[int], None]) -> None:
    try:
        force(descriptor)
    finally:
        os.close(descriptor)


def _force_folders(folders: list[str]) -> None:
    for folder in folders:
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # removed meanwhile; its parent is dirty, too
        _force_and_close(descriptor, os.fsync)


def _errno_name(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, str(error))
