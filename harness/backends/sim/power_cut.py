"""What of the page cache has reached the platter when the power goes.

Question: which of the writes that no sync covered survive, by chance?

Model. First the kernel's own write-back: names older than about 5 s and data older than about 30 s are on the platter
(each horizon drawn within one round of write-back). For the rest a mode is drawn by the weights of the model:

    drop-all   nothing survives
    prefix     writes and names of the whole node reached the platter in order, up to a drawn point
    subset     pages went out in any order: each 4 KiB page has none, all, or a drawn prefix of its pending writes;
               names and sizes (the journal) have a drawn prefix
    torn       subset, and one write across a sector border is cut there: only its head or only its tail survives

                       sync                             power
    writes  ──1──2──3───│───4──5──6──────7────8───9───────│        drop-all: 1-3   prefix: 1-6   subset: 1-3, 5, 8

Limits. Within a sector a write is never torn. What a completed sync covered always survives, unless the disk lied.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple, Protocol

from harness.backends.sim.inode import PAGE, Inode, NameChange, by_page, sector_borders
from harness.backends.sim.models import DiskModel

Keep = Callable[[Inode, int, int, bytes], list[tuple[int, bytes]]]
"""(inode, sequence, offset, data) → the pieces of this write that are on the platter."""


class CutReport(NamedTuple):
    """Witness of one power cut."""

    mode: str
    pending_bytes: int
    """Bytes that no sync and no write-back had made durable, in files that had a name."""
    lost_bytes: int
    """Those of them that did not reach the platter."""
    lost_names: int
    """Creates, renames and deletes undone."""


class CutDisk(Protocol):
    """The parts of a disk that a power cut needs."""

    names: dict[str, Inode]
    platter_names: dict[str, Inode]
    journal: list[NameChange]
    dirty: dict[int, Inode]

    def commit(self, sequence: int) -> None:
        """Bring the journal up to *sequence* onto the platter."""


class Survival:
    """One drawn power cut, to be applied to one disk."""

    def __init__(self, mode: str, rng: Random, journal_horizon_ns: int, data_horizon_ns: int) -> None:
        self.mode = mode
        self.journal_horizon_ns = journal_horizon_ns
        self.data_horizon_ns = data_horizon_ns
        self._rng = rng

    def apply(self, disk: CutDisk) -> CutReport:
        """Move what survives onto the platter; the caller then forgets the page cache."""
        keep, journalled = self._draw(disk)
        pending = {inode.number: inode.pending_bytes + inode.limbo_bytes() for inode in disk.names.values()}
        disk.commit(journalled)
        reached = {number: _reach(disk.dirty[number], keep, journalled) for number in sorted(disk.dirty)}
        named = {inode.number for inode in disk.platter_names.values()}
        lost = sum(size - (reached.get(number, 0) if number in named else 0) for number, size in pending.items())
        return CutReport(self.mode, sum(pending.values()), lost, len(disk.journal))

    def _draw(self, disk: CutDisk) -> tuple[Keep, int]:
        """(which pieces of a write survive, the last journal sequence that survives)."""
        sequences = [change.sequence for change in disk.journal]
        for number in sorted(disk.dirty):
            sequences += [write[0] for write in disk.dirty[number].pending]
        sequences.sort()
        if self.mode == "drop-all" or not sequences:
            return _keep_nothing, 0
        point = ([0, *sequences])[self._rng.randrange(len(sequences) + 1)]
        if self.mode == "prefix":
            return _keep_until(point), point
        subset = _keep_pages(self._rng, sequences)
        return (_tear(self._rng, disk, subset) if self.mode == "torn" else subset), point


def draw_survival(rng: Random, model: DiskModel, now: int) -> Survival:
    """The kind of this power cut and how far write-back had come."""
    modes, weights = zip(*model.power_cut_weights, strict=True)
    mode = rng.choices(modes, weights)[0]
    behind = rng.randrange(model.writeback_every_ns + 1)
    journal_age, data_age = model.journal_age_ns or 0, model.writeback_age_ns or 0
    return Survival(mode, rng, now - journal_age - behind, now - data_age - behind)


def _reach(inode: Inode, keep: Keep, journalled: int) -> int:
    """Write the surviving pieces of one file in their order; returns their bytes."""
    reached = 0
    for sequence, _, offset, data in inode.pending:
        if data is None:
            if sequence <= journalled:
                inode.platter.resize(offset)
            continue
        for at, piece in keep(inode, sequence, offset, data):
            inode.platter.write(at, piece)
            reached += len(piece)
    return reached


def _keep_nothing(inode: Inode, sequence: int, offset: int, data: bytes) -> list[tuple[int, bytes]]:
    return []


def _keep_until(point: int) -> Keep:
    def keep(inode: Inode, sequence: int, offset: int, data: bytes) -> list[tuple[int, bytes]]:
        return [(offset, data)] if sequence <= point else []

    return keep


def _keep_pages(rng: Random, sequences: list[int]) -> Keep:
    """Every page was written out at a moment of its own, or (one in four) never.

    A moment is that of some pending write, so the page that was written to last is hardly ever complete.
    """
    moments: dict[tuple[int, int], int] = {}

    def moment(inode: Inode, page: int) -> int:
        key = (inode.number, page)
        if key not in moments:
            moments[key] = rng.choice(sequences) if rng.getrandbits(2) else 0
        return moments[key]

    def keep(inode: Inode, sequence: int, offset: int, data: bytes) -> list[tuple[int, bytes]]:
        return [(at, piece) for at, piece in by_page(offset, data) if sequence <= moment(inode, at // PAGE)]

    return keep


def _tear(rng: Random, disk: CutDisk, subset: Keep) -> Keep:
    """One pending write is on the platter in part: up to, or from, a sector border. The others as in *subset*."""
    tearable = [
        (sequence, border)
        for number in sorted(disk.dirty)
        for sequence, _, offset, data in disk.dirty[number].pending
        if data is not None
        for border in sector_borders(offset, len(data))
    ]
    if not tearable:
        return subset
    torn, border = rng.choice(tearable)
    head = bool(rng.getrandbits(1))

    def keep(inode: Inode, sequence: int, offset: int, data: bytes) -> list[tuple[int, bytes]]:
        if sequence != torn:
            return subset(inode, sequence, offset, data)
        return [(offset, data[: border - offset])] if head else [(border, data[border - offset :])]

    return keep
