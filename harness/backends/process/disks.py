"""Where a node's files lie: an ext4 of its own that can lose its power, or a plain folder.

Question: what is a power cut for a process on this machine? With an image: everything that was not forced is gone, for
real (``faults/mechanisms/loopfs.py``). With a plain folder it cannot be made real: the page cache belongs to the kernel
and survives the process. So it is refused, never imitated.

Room. An image is reserved whole when it is made; a plain folder shares the disk of the temporary folder with everybody.
Where that disk was full before or after a wait of the run, the run ends with an error: a broker that cannot write for
that is not to blame. Images are looked at as well, since the kernel may turn zeros that it is to write into holes.

Limits. A disk that others fill and empty again within one wait is not seen.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from errno import ENOSPC
from pathlib import Path
from typing import Protocol

from faults.errors import InjectionFailed
from faults.levers import LeverRefused
from faults.mechanisms import loopfs, pidfd, undo, witness
from harness.backends.process.undo_steps import UndoSteps

IMAGE_MIB = 256
ROOM_BYTES = 16 << 20
BALLAST = ".ballast"
"""The file that occupies a full disk, beside the node's own."""
STILL_TIMEOUT_S = 5.0
DEATH_TIMEOUT_S = 10.0


class Disks(Protocol):
    """What the backend needs of either."""

    can_cut_power: bool

    def make(self, node: str) -> Path:
        """The node's empty data folder."""

    def cut_power(self, node: str, process: pidfd.ProcessId | None, killed: Callable[[], None]) -> witness.Loss:
        """End *process* (``None``: it is dead already) and lose what was not forced; the disk is usable on return.
        *killed* is called when it was sent SIGKILL."""

    def die(self, node: str) -> None:
        """Every write and force fails from now on, and nothing more reaches the platter."""

    def abort(self, node: str) -> None:
        """Every write and force fails with EROFS from now on, and nothing more reaches the platter; reads go on."""

    def revive(self, node: str) -> None:
        """The disk works again, with what the platter has; no process of the node runs."""

    def check_room(self) -> None:
        """``OSError`` (ENOSPC) if nodes cannot write, and no fault of ours is the reason."""

    def fill(self, node: str, free_bytes: int) -> None:
        """Occupy the disk but for *free_bytes*; filling it again replaces what filled it before."""

    def release(self, node: str) -> None:
        """Undo ``fill``; idempotent."""


class ImageDisks:
    """One ext4 image and mount a node, below *scratch*."""

    can_cut_power = True

    def __init__(self, scratch: Path, undo_steps: UndoSteps) -> None:
        self._scratch, self._undo_steps = scratch, undo_steps
        self._devices: dict[str, str] = {}

    def make(self, node: str) -> Path:
        image, folder = self._scratch / f"{node}.ext4", self._folder(node)
        loopfs.make_image(image, IMAGE_MIB)
        self._undo_steps.record(f"the loop device of {node}", undo.detach_loop(image))
        self._devices[node] = loopfs.attach(image)
        self._undo_steps.record(f"the disk of {node}", undo.unmount(folder))
        loopfs.mount_device(self._devices[node], folder)
        return folder

    def cut_power(self, node: str, process: pidfd.ProcessId | None, killed: Callable[[], None]) -> witness.Loss:
        folder = self._folder(node)
        if process is not None:
            # Stopped first: a broker that ran on after the disk's end would acknowledge from memory.
            hold_still(node, process)
        before = witness.take_snapshot(folder)
        loopfs.cut_power(folder)
        if process is not None:
            _kill(node, process, killed)
        self.revive(node)
        return witness.lost_between(before, witness.take_snapshot(folder))

    def die(self, node: str) -> None:
        loopfs.cut_power(self._folder(node))

    def abort(self, node: str) -> None:
        loopfs.abort(self._folder(node))

    def revive(self, node: str) -> None:
        loopfs.unmount(self._folder(node))
        loopfs.mount_device(self._devices[node], self._folder(node))

    def check_room(self) -> None:
        _check_room(self._scratch)

    def fill(self, node: str, free_bytes: int) -> None:
        self.release(node)
        size = space_of(self._folder(node))[0] - free_bytes
        if size > 0:
            with (self._folder(node) / BALLAST).open("wb") as ballast:
                os.posix_fallocate(ballast.fileno(), 0, size)

    def release(self, node: str) -> None:
        (self._folder(node) / BALLAST).unlink(missing_ok=True)

    def _folder(self, node: str) -> Path:
        return self._scratch / node


class FolderDisks:
    """A plain folder a node, below *scratch*."""

    can_cut_power = False

    def __init__(self, scratch: Path, why_no_images: str) -> None:
        self._scratch, self._why = scratch, why_no_images

    def make(self, node: str) -> Path:
        folder = self._scratch / node
        folder.mkdir()
        return folder

    def cut_power(self, node: str, process: pidfd.ProcessId | None, killed: Callable[[], None]) -> witness.Loss:
        raise LeverRefused("a power cut needs a disk of its own for every node", self._why)

    def die(self, node: str) -> None:
        raise LeverRefused("a disk that dies must be one of its own for every node", self._why)

    def abort(self, node: str) -> None:
        raise LeverRefused("a disk that becomes read-only must be one of its own for every node", self._why)

    def revive(self, node: str) -> None:
        """It never died by our doing."""

    def check_room(self) -> None:
        _check_room(self._scratch)

    def fill(self, node: str, free_bytes: int) -> None:
        raise LeverRefused("to fill a disk takes a disk of its own for every node", self._why)

    def release(self, node: str) -> None:
        """It never was full by our doing."""


def _check_room(scratch: Path) -> None:
    if space_of(scratch)[0] < ROOM_BYTES:
        raise OSError(ENOSPC, "no room for the files of nodes", str(scratch))


def space_of(folder: Path) -> tuple[int, int]:
    """(free, all) bytes of the file system that *folder* lies on, as a process of the node sees them."""
    space = os.statvfs(folder)
    return space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize


def hold_still(node: str, process: pidfd.ProcessId) -> None:
    """SIGSTOP, and wait until it has happened. If it does not, it is taken back: else it would still come later."""
    if pidfd.send_signal(process, signal.SIGSTOP) and not pidfd.wait_still(process, STILL_TIMEOUT_S):
        pidfd.send_signal(process, signal.SIGCONT)
        raise InjectionFailed(f"{node} did not stand still {STILL_TIMEOUT_S:g} s after SIGSTOP")


def _kill(node: str, process: pidfd.ProcessId, killed: Callable[[], None]) -> None:
    if not pidfd.send_signal(process, signal.SIGKILL):
        return
    killed()
    if not pidfd.wait_dead(process, DEATH_TIMEOUT_S):
        raise InjectionFailed(f"{node} was still there {DEATH_TIMEOUT_S:g} s after SIGKILL")
