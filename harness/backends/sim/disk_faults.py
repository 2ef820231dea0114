"""What can be wrong with a disk besides losing its power.

Question: how does the file system answer a process whose disk is full, dead, read-only, failing, lying or stuck?

Model. A healthy disk has no ``DiskFaults`` at all, so health costs nothing. Otherwise every call asks here first:

    dead        write, create, …, sync → EIO; read → still served, the page cache is warm (ext4 after shutdown)
    read_only   write, create, … → EROFS; sync → EROFS; read works (ext4 after an abort)
    forceless   every sync → EIO; write works, and what a failed sync covered never reaches the platter
    failing     the n-th sync or write from now on fails once, then all is well (fsyncgate)
    lying       sync says yes and does nothing
    late        every sync reaches the platter, and ends, so much later, each for itself
    hanging     syncs do not end until the disk is released, then they end in order
    nameless    a file that is not there yet cannot be opened (EMFILE); all others are open
    fuse        the n-th change from now on does not return: the process dies inside it (kill between two writes)

A full disk is a matter of space (``SimDisk.set_ballast``). Plans
reach most of these by faults; failing writes are for tests of whoever writes files.
"""

from __future__ import annotations

from collections.abc import Callable
from errno import EIO, EMFILE, EROFS, errorcode
from os import strerror
from typing import Any


class ProcessDied(BaseException):
    """Leaves a role from within a call that did not return. Not an ``Exception``: a role must not survive it."""


class DiskFaults:
    """The present defects of one disk."""

    __slots__ = (
        "dead",
        "forceless",
        "fuse",
        "hanging",
        "held",
        "hit_syncs",
        "late_ns",
        "lying",
        "nameless",
        "read_only",
        "sync_failures",
        "write_failures",
    )

    def __init__(self) -> None:
        self.dead = False
        self.read_only = False
        self.lying = False
        self.nameless = False
        self.forceless = False
        self.hit_syncs = 0
        """How many syncs failed since the disk is forceless, or were kept back since it is late or hanging."""
        self.late_ns = 0
        self.hanging = False
        self.held: list[tuple[Callable[[Any, None], object], Any]] = []
        self.sync_failures: list[int] = []
        """How many calls until the next failure, then until the one after it, and so on: ``[3, 1]`` fails the third
        and the fourth."""
        self.write_failures: list[int] = []
        self.fuse = 0

    def healthy(self) -> bool:
        """Nothing is wrong any more; the disk may forget this object."""
        return not (
            self.dead or self.read_only or self.lying or self.nameless or self.forceless or self.late_ns or self.hanging
            or self.held
            or self.fuse or self.sync_failures or self.write_failures
        )  # fmt: skip

    def before_write(self, file: str) -> None:
        """Raises ``OSError``, or ``ProcessDied`` where the fuse burns down."""
        if self.fuse:
            self.fuse -= 1
            if not self.fuse:
                raise ProcessDied(file)
        if self.dead or _comes_due(self.write_failures):
            raise OSError(EIO, strerror(EIO), file)
        if self.read_only:
            raise OSError(EROFS, strerror(EROFS), file)

    def before_name(self, file: str) -> None:
        """Raises ``OSError`` where no file can be made."""
        if self.nameless:
            raise OSError(EMFILE, strerror(EMFILE), file)

    def before_sync(self) -> tuple[str, bool]:
        """(errno name or "", whether the disk will lie) of the sync that begins now."""
        self.hit_syncs += self.forceless
        if self.dead or self.forceless or _comes_due(self.sync_failures):
            return errorcode[EIO], False
        if self.read_only:
            return errorcode[EROFS], False
        return "", self.lying

    def hold(self, end: Callable[[Any, None], object], sync: Any) -> bool:
        """Keep the end of a sync back while the disk hangs."""
        if self.hanging:
            self.hit_syncs += 1
            self.held.append((end, sync))
        return self.hanging

    def release(self) -> list[tuple[Callable[[Any, None], object], Any]]:
        """Nothing is late any more, nothing hangs; what was kept back, in order."""
        self.late_ns, self.hanging = 0, False
        held, self.held = self.held, []
        return held


def _comes_due(countdown: list[int]) -> bool:
    """One call more: does it fail?"""
    if not countdown:
        return False
    countdown[0] -= 1
    if countdown[0]:
        return False
    del countdown[0]
    return True
