"""A node's disk: page cache over platter, and the journal of names between them.

Question: which bytes and names exist for the running process, which for the one that starts after a power cut?

Model. Process memory is the role's own. What it writes goes to the page cache at once (a kill keeps it) and onto an
ordered list of pending writes; only what leaves that list is on the platter (a power cut keeps it).

    write ──► page cache + pending ──sync(file)──► platter          create, rename, delete ──► names + journal
                       └─ older than ~30 s: write-back ─┘              └─ sync_dir, or older than ~5 s ──► platter names

  * ``sync(file)`` covers the writes made before it; it completes after a drawn latency, one after the other on a disk.
  * Names are journalled in order, and only a prefix of the journal ever reaches the platter, as on ext4. ``sync`` of a
    newly created file commits the journal up to its creation (ext4 does that too); a later rename needs ``sync_dir``,
    or time. ext4 would often commit more; we promise only what may be relied upon.
  * Resizing is an entry of the file's pending list, but survives as the journal does.
  * A failed sync loses what it covered (Linux marks the pages clean): the page cache still shows it, the next sync
    succeeds, and only a later write to the same 4 KiB page carries it along.
  * A deleted file frees its space at once.

What a power cut leaves of the pending part is in ``power_cut.py``; broken disks are in ``disk_faults.py``.

Limits. Reads take no time and always hit the page cache. No directories, owners, modes or hard links. Space is counted
in 16 KiB chunks of what the process sees.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable
from errno import EIO, ENOENT, ENOSPC, EROFS, errorcode
from itertools import takewhile
from os import strerror
from random import Random
from typing import Any, NamedTuple

from harness.backends.sim.disk_faults import DiskFaults
from harness.backends.sim.inode import PAGE, Inode, NameChange, Write, by_page, pages
from harness.backends.sim.models import DiskModel, latency_table
from harness.backends.sim.power_cut import CutReport, draw_survival
from harness.backends.sim.scheduler import Scheduler
from harness.backends.sim.sparse import CHUNK, Sparse

_SETTLE_MASK = 0xFFFF
"""Every 65,536 writes the pending lists are relieved of what write-back has done meanwhile."""

SyncDone = Callable[[str, Any], object]
"""Called as (file, (token, error name or "")) when a sync ends."""


class _Sync(NamedTuple):
    """A sync under way."""

    inode: Inode | None
    """``None``: the names."""
    sequence: int
    era: int
    file: str
    token: Hashable
    error: str
    lies: bool
    done: SyncDone


class SimDisk:
    """One node's disk. Survives every life of the node."""

    def __init__(self, scheduler: Scheduler, rng: Random, model: DiskModel) -> None:
        self.rng = rng
        self.model = model
        self.names: dict[str, Inode] = {}
        self.platter_names: dict[str, Inode] = {}
        self.journal: list[NameChange] = []
        self.dirty: dict[int, Inode] = {}
        """Every inode with pending writes, by number; some have no name any more."""
        self.free_bytes = model.capacity_bytes
        self.ballast_bytes = 0
        self.faults: DiskFaults | None = None
        self.latencies = latency_table(model.sync_min_ns, model.sync_spread_ns)
        self._byte_ns = model.byte_ns
        self._scheduler = scheduler
        self._sequence = 0
        self._inodes = 0
        self._busy_until = 0
        self._era = 0
        """Counts power cuts; a sync of an earlier era never ends."""

    # -- what a process does -------------------------------------------------------------------------------------

    def read(self, file: str, offset: int, size: int) -> bytes:
        """From the page cache; ``FileNotFoundError``."""
        inode = self.names.get(file)
        if inode is None:
            raise FileNotFoundError(ENOENT, strerror(ENOENT), file)
        return inode.content.read(offset, size)

    def size(self, file: str) -> int:
        """Bytes, −1 if absent."""
        inode = self.names.get(file)
        return -1 if inode is None else inode.content.size

    def modified_ns(self, file: str) -> int:
        """True time of the last change."""
        return self._existing(file).written_ns

    def files(self, prefix: str) -> list[str]:
        """Names, sorted."""
        return sorted(name for name in self.names if name.startswith(prefix))

    def usage(self) -> tuple[int, int]:
        """(used, total) bytes."""
        return self.model.capacity_bytes - self.free_bytes, self.model.capacity_bytes

    def unforced(self, file: str) -> list[tuple[int, int, int]]:
        """(true time, offset, size) of every write that no force and no write-back has reached."""
        pending = self._existing(file).pending
        return [(at_ns, offset, len(data)) for _, at_ns, offset, data in pending if data is not None]

    def write(self, file: str, offset: int, data: bytes) -> None:
        """Into the page cache; durable later or never."""
        if self.faults is not None:
            self.faults.before_write(file)
        if offset < 0:
            raise ValueError(f"write to {file} at negative offset {offset}")
        if type(data) is not bytes:
            data = bytes(data)
        inode = self.names.get(file)
        if inode is None:
            inode = self._create(file)
        size = len(data)
        if self.free_bytes < size + 2 * CHUNK:
            self._require(file, inode.content.missing(offset, size))
        self.free_bytes -= inode.content.write(offset, data) * CHUNK
        pending = inode.pending
        if not pending:
            self.dirty[inode.number] = inode
        self._sequence = sequence = self._sequence + 1
        inode.written_ns = now = self._scheduler.now
        pending.append((sequence, now, offset, data))
        inode.pending_bytes += size
        if not sequence & _SETTLE_MASK:
            self.settle()

    def create(self, file: str, size: int) -> None:
        """A file of at least *size* bytes."""
        if self.faults is not None:
            self.faults.before_write(file)
        inode = self.names.get(file) or self._create(file)
        if inode.content.size < size:
            self._resize(inode, size)

    def truncate(self, file: str, size: int) -> None:
        """Exactly *size* bytes; ``FileNotFoundError`` if absent."""
        if self.faults is not None:
            self.faults.before_write(file)
        inode = self._existing(file)
        if inode.content.size != size:
            self._resize(inode, size)

    def delete(self, file: str) -> None:
        """Remove the name; no error if absent."""
        if self.faults is not None:
            self.faults.before_write(file)
        inode = self.names.pop(file, None)
        if inode is not None:
            self.free_bytes += len(inode.content.chunks) * CHUNK
            self._journal(file, None, "")

    def rename(self, old: str, new: str) -> None:
        """*old* becomes *new*, replacing it; ``FileNotFoundError`` if *old* is absent."""
        if self.faults is not None:
            self.faults.before_write(old)
        inode = self._existing(old)
        if old == new:
            return
        replaced = self.names.get(new)
        if replaced is not None:
            self.free_bytes += len(replaced.content.chunks) * CHUNK
        del self.names[old]
        self.names[new] = inode
        self._journal(new, inode, old)

    def sync(self, file: str, token: Hashable, done: SyncDone) -> None:
        """Make earlier writes to *file* durable; *done* is called in any case, with ``ENOENT`` if it is absent."""
        inode = self.names.get(file)
        if inode is None:
            self._schedule(_Sync(None, 0, self._era, file, token, errorcode[ENOENT], False, done), 0)
            return
        dirty_bytes = inode.pending_bytes if inode.pending or inode.born else -1
        self._schedule(self._new_sync(inode, file, token, done), dirty_bytes)

    def sync_dir(self, token: Hashable, done: SyncDone) -> None:
        """Make earlier creates, renames and deletes durable."""
        self._schedule(self._new_sync(None, "", token, done), len(self.journal) - 1)

    # -- how it reaches the platter -------------------------------------------------------------------------------

    def _new_sync(self, inode: Inode | None, file: str, token: Hashable, done: SyncDone) -> _Sync:
        error, lies = self.faults.before_sync() if self.faults is not None else ("", False)
        return _Sync(inode, self._sequence, self._era, file, token, error, lies, done)

    def _schedule(self, sync: _Sync, dirty_bytes: int) -> None:
        """One after the other: the disk is a queue. *dirty_bytes* −1: nothing to write, no barrier needed."""
        latency = self.model.sync_clean_ns
        if dirty_bytes >= 0:
            latency = self.latencies[self.rng.getrandbits(10)] + dirty_bytes * self._byte_ns
        now = self._scheduler.now
        self._busy_until = ends = max(now, self._busy_until) + latency
        self._scheduler.at(ends, self._end_sync, sync)

    def _end_sync(self, sync: _Sync, _: None) -> None:
        if sync.era != self._era:
            return
        if self.faults is not None and self.faults.hold(self._end_sync, sync):
            return
        if self.faults is not None and self.faults.late_ns:
            self.faults.hit_syncs += 1
            self.faults.held.append((self._finish, sync))
            self._scheduler.at(self._scheduler.now + self.faults.late_ns, self._finish_late, sync)
            return
        self._finish(sync, None)

    def _finish_late(self, sync: _Sync, _: None) -> None:
        """Unless whoever released the disk was sooner."""
        if self.faults is not None and (one := (self._finish, sync)) in self.faults.held:
            self.faults.held.remove(one)
            self._finish(sync, None)

    def _finish(self, sync: _Sync, _: None) -> None:
        if sync.era != self._era:
            return
        if sync.error:
            if sync.inode is not None and sync.error == errorcode[EIO]:
                self._forget(sync.inode, sync.sequence)
        elif not sync.lies:
            self._make_durable(sync)
        sync.done(sync.file, (sync.token, sync.error))

    def _make_durable(self, sync: _Sync) -> None:
        inode = sync.inode
        if inode is None:
            self.commit(sync.sequence)
            return
        if inode.born:
            self.commit(inode.born)
        self._write_out(inode, self._take(inode, sync.sequence))

    def _take(self, inode: Inode, sequence: int) -> list[Write]:
        """Remove the pending writes up to *sequence* from the list and return them."""
        pending = inode.pending
        if not pending:
            return []
        if pending[-1][0] <= sequence:
            inode.pending, inode.pending_bytes = [], 0
            self.dirty.pop(inode.number, None)
            return pending
        taken = pending[: bisect_right(pending, sequence, key=_sequence_of)]
        del pending[: len(taken)]
        inode.pending_bytes -= sum(len(data) for _, _, _, data in taken if data is not None)
        return taken

    def _write_out(self, inode: Inode, writes: list[Write]) -> None:
        if inode.limbo:
            self._rejoin(inode, writes)
        platter = inode.platter
        for _, _, offset, data in writes:
            if data is None:
                platter.resize(offset)
            else:
                platter.write(offset, data)

    def _forget(self, inode: Inode, sequence: int) -> None:
        """A failed sync: what it covered is clean in the page cache and nowhere on the platter."""
        for _, _, offset, data in self._take(inode, sequence):
            if data is None:
                inode.platter.resize(offset)
            else:
                inode.limbo.append((offset, data))

    def _rejoin(self, inode: Inode, writes: list[Write]) -> None:
        """A page written out carries everything the page cache has in it, what a failed sync forgot included."""
        written = {page for _, _, offset, data in writes if data for page in pages(offset, len(data))}
        still: list[tuple[int, bytes]] = []
        for offset, data in inode.limbo:
            for at, piece in by_page(offset, data):
                if at // PAGE in written:
                    inode.platter.write(at, piece)
                else:
                    still.append((at, piece))
        inode.limbo = still

    def commit(self, sequence: int) -> None:
        """Bring the journal up to and including *sequence* onto the platter."""
        count = bisect_right(self.journal, sequence, key=_sequence_of)
        for change in self.journal[:count]:
            change.apply(self.platter_names)
            if change.inode is not None:
                # The size a file was created with is in the same transaction as its name.
                for _, _, size, data in takewhile(_is_resize, change.inode.pending):
                    assert data is None
                    change.inode.platter.resize(size)
            if change.inode is not None and change.inode.born == change.sequence:
                change.inode.born = 0
        del self.journal[:count]

    def settle(self, journal_horizon_ns: int | None = None, data_horizon_ns: int | None = None) -> None:
        """Do what the kernel's write-back has surely done by now, and forget inodes that nothing names any more.

        The horizons (true time; older is on the platter) are drawn by a power cut; by default they are the latest
        that write-back allows.
        """
        now, model = self._scheduler.now, self.model
        if model.journal_age_ns is not None:
            default = now - model.journal_age_ns - model.writeback_every_ns
            horizon = default if journal_horizon_ns is None else journal_horizon_ns
            self.commit(max((c.sequence for c in self.journal if c.at_ns <= horizon), default=0))
        if model.writeback_age_ns is not None:
            default = now - model.writeback_age_ns - model.writeback_every_ns
            horizon = default if data_horizon_ns is None else data_horizon_ns
            for inode in list(self.dirty.values()):
                count = bisect_right(inode.pending, horizon, key=_time_of)
                if count:
                    self._write_out(inode, self._take(inode, inode.pending[count - 1][0]))
        self._drop_nameless()

    def _drop_nameless(self) -> None:
        named = {inode.number for inode in self.names.values()}
        named.update(inode.number for inode in self.platter_names.values())
        named.update(change.inode.number for change in self.journal if change.inode is not None)
        for number in [number for number in self.dirty if number not in named]:
            del self.dirty[number]

    # -- what is done to it ---------------------------------------------------------------------------------------

    def cut_power(self) -> CutReport:
        """The page cache is gone; the platter has what it had plus a drawn part of what was pending."""
        survival = draw_survival(self.rng, self.model, self._scheduler.now)
        self.settle(survival.journal_horizon_ns, survival.data_horizon_ns)
        report = survival.apply(self)
        self.lose_cache()
        return report

    def lose_cache(self) -> None:
        """Only what is on the platter is there any more."""
        self.names = dict(self.platter_names)
        self.journal, self.dirty = [], {}
        self._era += 1
        self._busy_until = self._scheduler.now
        for inode in self.names.values():
            inode.content = inode.platter.copy()
            inode.pending, inode.pending_bytes, inode.limbo, inode.born = [], 0, [], 0
        self._count_space()

    def write_error(self) -> str:
        """The name of the error with which a small write would fail now; empty: it would not."""
        if self.faults is not None and (self.faults.dead or self.faults.read_only):
            return errorcode[EIO if self.faults.dead else EROFS]
        return errorcode[ENOSPC] if self.free_bytes < CHUNK else ""

    def wipe(self) -> None:
        """An empty disk in place of this one."""
        self.names, self.platter_names, self.journal, self.dirty = {}, {}, [], {}
        self._era += 1
        self._count_space()

    def kept(self) -> dict[str, Sparse]:
        """A copy of what it shows."""
        return {name: inode.content.copy() for name, inode in self.names.items()}

    def become(self, files: dict[str, Sparse]) -> None:
        """An exact copy of *files* (of :meth:`kept`), all of it on the platter."""
        self.wipe()
        for name, content in files.items():
            inode = self._create(name)
            inode.content, inode.platter = content.copy(), content.copy()
        if self.journal:
            self.commit(self.journal[-1].sequence)
        self._count_space()

    def set_ballast(self, size_bytes: int) -> None:
        """Occupy *size_bytes* with something that is not ours (0 frees it)."""
        self.ballast_bytes = size_bytes
        self._count_space()

    def flip_bit(self, file: str, offset: int, bit: int) -> None:
        """Decay: one bit of the stored byte changes, on the platter and in the page cache."""
        inode = self._existing(file)
        for place in (inode.content, inode.platter):
            byte = place.read(offset, 1)
            if byte:
                place.write(offset, bytes([byte[0] ^ (1 << bit)]))

    def invert(self, file: str, offset: int, size: int) -> None:
        """Decay of a sector: every bit of these bytes changes, on the platter and in the page cache."""
        inode = self._existing(file)
        for place in (inode.content, inode.platter):
            place.write(offset, bytes(byte ^ 0xFF for byte in place.read(offset, size)))

    def overwrite(self, file: str, offset: int, data: bytes) -> None:
        """Decay: the file has *data* there, on the platter and in the page cache; all else of it is forced."""
        inode = self._forced(file)
        self.free_bytes -= inode.content.write(offset, data) * CHUNK
        inode.platter.write(offset, data)

    def cut(self, file: str, size: int) -> None:
        """Decay: the file has *size* bytes, on the platter and in the page cache; below 0 it is gone from both."""
        inode = self._forced(file)
        if size < 0:
            self.delete(file)
            self.commit(self._sequence)
            return
        for place in (inode.content, inode.platter):
            place.resize(size)
        self._count_space()

    # -- small parts ----------------------------------------------------------------------------------------------

    def _existing(self, file: str) -> Inode:
        inode = self.names.get(file)
        if inode is None:
            raise FileNotFoundError(ENOENT, strerror(ENOENT), file)
        return inode

    def _forced(self, file: str) -> Inode:
        """The file, all of it on the platter, its name as well."""
        inode = self._existing(file)
        self.commit(self._sequence)
        self._write_out(inode, self._take(inode, self._sequence))
        return inode

    def _create(self, file: str) -> Inode:
        if self.faults is not None:
            self.faults.before_name(file)
        self._inodes += 1
        inode = Inode(self._inodes, self._sequence + 1, self._scheduler.now)
        self.names[file] = inode
        self._journal(file, inode, "")
        return inode

    def _journal(self, name: str, inode: Inode | None, old: str) -> None:
        self._sequence += 1
        self.journal.append(NameChange(self._sequence, self._scheduler.now, name, inode, old))
        if not len(self.journal) & 0xFF:
            self.settle()

    def _resize(self, inode: Inode, size: int) -> None:
        self.free_bytes += inode.content.resize(size) * CHUNK
        if not inode.pending:
            self.dirty[inode.number] = inode
        self._sequence += 1
        inode.written_ns = self._scheduler.now
        inode.pending.append((self._sequence, self._scheduler.now, size, None))

    def _require(self, file: str, chunks: int) -> None:
        if chunks * CHUNK > self.free_bytes:
            raise OSError(ENOSPC, strerror(ENOSPC), file)

    def _count_space(self) -> None:
        used = sum(len(inode.content.chunks) for inode in self.names.values()) * CHUNK
        self.free_bytes = self.model.capacity_bytes - self.ballast_bytes - used


def _is_resize(write: Write) -> bool:
    return write[3] is None


def _sequence_of(entry: Write | NameChange) -> int:
    return entry[0]


def _time_of(write: Write) -> int:
    return write[1]
