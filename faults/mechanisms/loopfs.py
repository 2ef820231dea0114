"""A disk that can lose its power: an ext4 in a file, mounted through a loop device, and the ioctl that shuts it down.

Question: what does a machine keep when the power goes? What had been forced to the disk. ``FS_IOC_SHUTDOWN`` with
``NOLOGFLUSH`` makes exactly that of a mounted ext4: every page that is only in the cache is never written, the journal
is not flushed, and all later I/O fails. After unmount and mount the journal is replayed, as after a real outage. It
holds for ``write`` and for stores through ``mmap`` alike. (With flag 0 the file system is frozen and *flushed* first:
nothing is lost, the wrong fault. [measured, see docs/backends.md])

The order of a power cut is the caller's: stop the process, shut down, kill it, unmount, mount. A broker that still ran
after the shutdown would go on acknowledging from memory.

The platter is the image file. Whether the image itself survives an outage of *this* machine is not the question here.

Limits. Linux, root. An unmount fails while any process has a file open there or any other mount namespace holds a copy
of the mount; the file system then stays shut down, and ``mount_device`` says so instead of handing out a dead disk.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from pathlib import Path
from select import select
from time import monotonic

from faults.errors import FaultTrouble
from faults.mechanisms.command import call

FS_IOC_SHUTDOWN = 0x8004587D
"""``_IOR('X', 125, __u32)`` of the kernel's include/uapi/linux/fs.h."""

NOLOGFLUSH = 2
"""FS_SHUTDOWN_FLAGS_NOLOGFLUSH: flush neither data nor journal."""

JOURNAL_MIB = 4
"""ext4's smallest; the images are small."""

HELD_TIMEOUT_S = 15.0
HELD_POLL_S = 0.1


def make_image(image: Path, size_mib: int) -> None:
    """A file of *size_mib* MiB with an empty ext4 in it. All of it is reserved now: a disk that others fill later must
    not look like a broker's that fails. ``OSError`` (ENOSPC) where there is no room."""
    with open(image, "xb") as file:
        file.truncate(size_mib << 20)
        # Nothing reserved for root and no lazy initialisation: the kernel would go on writing long after the mount.
        features = "lazy_itable_init=0,lazy_journal_init=0,nodiscard"
        call(
            ["mkfs.ext4", "-q", "-F", "-m", "0", "-J", f"size={JOURNAL_MIB}", "-E", features, str(image)], timeout_s=30
        )
        _reserve(file.fileno(), image, size_mib << 20)


def _reserve(descriptor: int, image: Path, size: int) -> None:
    """After mkfs, which makes holes where it wants zeros."""
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(image)) from error


def attach(image: Path) -> str:
    """A loop device for the image, as ``/dev/loopN``; it stays until :func:`detach`.

    Not left to ``mount -o loop``, whose device frees itself some time after the unmount: a mount that follows at once
    may find the old one half gone.
    """
    return call(["losetup", "--find", "--show", str(image)]).strip()


def mount_device(device: str, folder: Path) -> None:
    """Mount the device on *folder* and make sure that it takes writes.

    A file system that was shut down stays dead as long as any mount namespace holds it. One that is just being made
    (a container of somebody else's that starts) holds a copy of all mounts for a moment: so it is tried again, bounded.
    ``FaultTrouble`` if the disk is dead still.
    """
    folder.mkdir(parents=True, exist_ok=True)
    deadline = monotonic() + HELD_TIMEOUT_S
    while (error := _mounted_badly(device, folder)) is not None:
        if monotonic() >= deadline:
            raise FaultTrouble(
                f"{folder} does not take writes after mounting: {errno.errorcode.get(error.errno or 0, error)}",
                "a process or another mount namespace still holds the file system that was shut down",
            ) from error
        select([], [], [], HELD_POLL_S)


def _mounted_badly(device: str, folder: Path) -> OSError | None:
    """Why what is mounted there takes no writes; it is not mounted any more then."""
    call(["mount", "-o", "noatime", "-t", "ext4", device, str(folder)])
    try:
        _try_write(folder)
    except OSError as error:
        unmount(folder)
        return error
    return None


def unmount(folder: Path) -> bool:
    """Unmount; False if nothing is mounted there."""
    if not is_mounted(folder):
        return False
    call(["umount", str(folder)], timeout_s=30)
    return True


def is_mounted(folder: Path) -> bool:
    """Whether a file system is mounted exactly there, as this process's mount namespace sees it."""
    return os.path.realpath(folder) in mount_points()


def mount_points() -> list[str]:
    """All mount points of our mount namespace."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line.split(" ")[4].encode().decode("unicode_escape") for line in lines]


def cut_power(folder: Path) -> None:
    """Shut the mounted file system down at once, forcing nothing. ``OSError`` if it is not ext4 or we are not root."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(descriptor, FS_IOC_SHUTDOWN, struct.pack("=I", NOLOGFLUSH))
    finally:
        os.close(descriptor)


def abort(folder: Path) -> None:
    """The mounted ext4 gives its journal up, as after an error of its own: writes and forces fail with EROFS, reads go
    on, and what was not forced stays in memory until it is unmounted, and is lost then."""
    call(["mount", "-o", "remount,abort", str(folder)])


def loop_devices(image: Path) -> list[str]:
    """Loop devices that hold *image* open, as ``/dev/loopN``."""
    listed = call(["losetup", "--noheadings", "--output", "NAME", "--associated", str(image)])
    return listed.split()


def images() -> list[str]:
    """Files that loop devices hold, of everybody on this machine; without those that are deleted."""
    listed = call(["losetup", "--list", "--noheadings", "--output", "BACK-FILE"]).splitlines()
    return [line.strip() for line in listed if line.strip() and not line.strip().endswith(" (deleted)")]


def detach(image: Path) -> bool:
    """Free every loop device of *image*; False if there is none."""
    devices = loop_devices(image)
    for device in devices:
        call(["losetup", "--detach", device])
    return bool(devices)


def write_error(folder: Path) -> str:
    """The name of the error with which a write there fails; empty: it does not."""
    try:
        _try_write(folder)
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    return ""


def _try_write(folder: Path) -> None:
    probe = folder / ".probe"
    descriptor = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, b"probe")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    probe.unlink()
