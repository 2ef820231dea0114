"""Bit rot in a commit log: every bit of one sector changes, some way before the end of what is written.

Question: what does a broker make of a log of which a sector has gone bad since it was written? The sector lies where
the next recovery reads, and is hit whole: whichever record it belongs to, something in it that recovery looks at has
changed (a CRC, a length or a magic number).

Limits. A log is a folder of files that are named by their first offset in decimal and filled with zeros behind its
end (RocketMQ: MappedFileQueue; DLedger: its data files). A record that ends in zeros makes the end look earlier than it
is, by so many bytes.
The change is forced to the disk. Only while no process of the node runs: nobody else writes there then.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from faults.mechanisms.witness import data_ranges

SECTOR = 512


_LOG_FILE: Final = re.compile(r"store/(commitlog|dledger-[^/]+/data)/[0-9]+")


def sector_before_end(ends: Mapping[str, int], back_bytes: int) -> tuple[str, int] | None:
    """(file, offset in it) of the sector that lies *back_bytes* before the end of a log; ``None`` if the log does not
    reach that far back within the file in which it ends.

    *ends*: name of each file (the last part is its first offset in decimal) → where in it the written part ends.
    """
    written = {file: end for file, end in ends.items() if end > 0}
    if not written:
        return None
    last = max(written, key=lambda file: int(file.rpartition("/")[2]))
    offset = written[last] - back_bytes
    return None if offset < 0 else (last, offset - offset % SECTOR)


def is_of_log(file: str) -> bool:
    """Whether *file*, by its path on a node's disk, holds messages: of a commit log, or of a group's data files."""
    return _LOG_FILE.fullmatch(file) is not None


def log_folder(disk: Path) -> Path:
    """Where on *disk* a node has its messages."""
    of_group = sorted(disk.glob("store/dledger-*/data"))
    return of_group[0] if of_group else disk / "store" / "commitlog"


def flip_log(folder: Path, back_bytes: int) -> int:
    """Change the sector in the files of *folder*; its physical offset, −1 if there is none."""
    names = [path.name for path in folder.iterdir() if path.name.isdecimal()] if folder.is_dir() else []
    place = sector_before_end({name: written_end(folder / name) for name in names}, back_bytes)
    if place is None:
        return -1
    name, offset = place
    _invert(folder / name, offset)
    return int(name) + offset


def log_end(folder: Path) -> int:
    """Where what is written in the log of *folder* ends; 0 without any."""
    names = [path.name for path in folder.iterdir() if path.name.isdecimal()] if folder.is_dir() else []
    return end_of_log({name: written_end(folder / name) for name in names})


def end_of_log(ends: Mapping[str, int]) -> int:
    """*ends* as in :func:`sector_before_end`."""
    return max((int(file.rpartition("/")[2]) + end for file, end in ends.items() if end > 0), default=0)


def written_end(path: Path) -> int:
    """One more than the place of the last byte that is not zero."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        end = 0
        for begin, stop in data_ranges(descriptor, os.fstat(descriptor).st_size):
            data = os.pread(descriptor, stop - begin, begin).rstrip(b"\0")
            end = begin + len(data) if data else end
        return end
    finally:
        os.close(descriptor)


def _invert(path: Path, offset: int) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        data = os.pread(descriptor, SECTOR, offset)
        os.pwrite(descriptor, bytes(byte ^ 0xFF for byte in data), offset)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
