"""The shapes of a simulated disk: a file, a pending write, an entry of the journal of names.

Question: what does the disk have to remember so that a power cut can be drawn later?

Model. A write keeps its place in the node's one order of changes (``sequence``), its moment and its bytes, until it is
on the platter. A change of a name does the same in the journal. Pages are 4 KiB, sectors 512 bytes: a page reaches the
platter on its own, a sector reaches it whole.
"""

from __future__ import annotations

from typing import NamedTuple

from harness.backends.sim.sparse import Sparse

PAGE = 4096
SECTOR = 512

Write = tuple[int, int, int, bytes | None]
"""(sequence, true time, offset, data); data ``None``: resized to *offset* bytes."""


class Inode:
    """A file, whatever its name is at the moment."""

    __slots__ = ("born", "content", "limbo", "number", "pending", "pending_bytes", "platter", "written_ns")

    def __init__(self, number: int, born: int, now: int) -> None:
        self.number = number
        self.born = born
        """Sequence of its creation in the journal; 0 once that is on the platter."""
        self.content = Sparse()
        self.platter = Sparse()
        self.pending: list[Write] = []
        self.pending_bytes = 0
        self.limbo: list[tuple[int, bytes]] = []
        """(offset, bytes) that failed syncs covered: in the page cache, clean, not on the platter."""
        self.written_ns = now

    def limbo_bytes(self) -> int:
        """How much a failed sync has put beyond the reach of the next one."""
        return sum(len(data) for _, data in self.limbo)


class NameChange(NamedTuple):
    """One entry of the journal. *inode* is ``None`` for a deletion; *old* is the name that a rename takes away."""

    sequence: int
    at_ns: int
    name: str
    inode: Inode | None
    old: str

    def apply(self, names: dict[str, Inode]) -> None:
        """Make the change in a directory."""
        if self.old:
            names.pop(self.old, None)
        if self.inode is None:
            names.pop(self.name, None)
        else:
            names[self.name] = self.inode


def by_page(offset: int, data: bytes) -> list[tuple[int, bytes]]:
    """Split a write at page borders: (offset, bytes) a page."""
    if offset // PAGE == (offset + len(data) - 1) // PAGE:
        return [(offset, data)]
    pieces = []
    at = 0
    while at < len(data):
        length = min(PAGE - (offset + at) % PAGE, len(data) - at)
        pieces.append((offset + at, data[at : at + length]))
        at += length
    return pieces


def pages(offset: int, size: int) -> range:
    """Numbers of the pages that a non-empty range touches."""
    return range(offset // PAGE, (offset + size - 1) // PAGE + 1)


def sector_borders(offset: int, size: int) -> range:
    """Multiples of the sector size strictly inside a range: where a write can tear."""
    return range(offset // SECTOR * SECTOR + SECTOR, offset + size, SECTOR)
