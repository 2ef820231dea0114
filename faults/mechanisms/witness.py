"""What a power cut really took: the files as the cache showed them, against the files that the platter gave back.

Question: did the power cut take effect? A snapshot of the folder is taken while the process is stopped and before the
disk is shut down, so it shows what every reader would have seen; ``lost_between`` compares it with the folder after the
remount. A power cut with nothing lost is possible (SYNC_FLUSH and a quiet moment) and is told as zero.

Limits. Holes are not read and count as zeros; what is kept in memory is the written part of the files (bounded by the
size of the disk). A byte that was changed and happens to be equal again is not counted.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

BLOCK_BYTES = 4096

Blocks = dict[int, bytes]
"""Block number → its content; blocks of zeros are absent."""


@dataclass(frozen=True)
class Snapshot:
    """Every regular file below a folder: name → (size, blocks)."""

    files: Mapping[str, tuple[int, Blocks]]


@dataclass(frozen=True)
class Loss:
    """What the later snapshot lacks of the earlier one. ``byte_count``: bytes that differ, or the difference in length
    where that is more (a lost tail of zeros)."""

    files: tuple[str, ...]
    byte_count: int


def take_snapshot(folder: Path) -> Snapshot:
    """Read what the page cache shows of *folder* now."""
    files = {}
    for path, _, names in os.walk(folder):
        for name in names:
            full = os.path.join(path, name)
            if os.path.isfile(full) and not os.path.islink(full):
                files[os.path.relpath(full, folder)] = _read_file(full)
    return Snapshot(dict(sorted(files.items())))


def lost_between(before: Snapshot, after: Snapshot) -> Loss:
    """Files that differ or are gone, and by how many bytes. Files that only *after* has (journal replay) count, too."""
    changed, byte_count = [], 0
    for name in sorted(before.files.keys() | after.files.keys()):
        old, new = before.files.get(name, (0, {})), after.files.get(name, (0, {}))
        differing = max(abs(old[0] - new[0]), _differing_bytes(old[1], new[1]))
        if differing or (name in before.files) != (name in after.files):
            changed.append(name)
            byte_count += differing
    return Loss(tuple(changed), byte_count)


def _differing_bytes(old: Blocks, new: Blocks) -> int:
    zeros = bytes(BLOCK_BYTES)
    numbers = sorted(old.keys() | new.keys())
    return sum(_differing(old.get(number, zeros), new.get(number, zeros)) for number in numbers)


def _differing(left: bytes, right: bytes) -> int:
    if left == right:
        return 0
    both = int.from_bytes(left, "big") ^ int.from_bytes(right, "big")
    return BLOCK_BYTES - both.to_bytes(BLOCK_BYTES, "big").count(0)


def _read_file(path: str) -> tuple[int, Blocks]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(descriptor).st_size
        return size, dict(_written_blocks(descriptor, size))
    finally:
        os.close(descriptor)


def _written_blocks(descriptor: int, size: int) -> Iterator[tuple[int, bytes]]:
    zeros = bytes(BLOCK_BYTES)
    for start, end in data_ranges(descriptor, size):
        for number in range(start // BLOCK_BYTES, -(-end // BLOCK_BYTES)):
            block = os.pread(descriptor, BLOCK_BYTES, number * BLOCK_BYTES).ljust(BLOCK_BYTES, b"\0")
            if block != zeros:
                yield number, block


def data_ranges(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """(start, end) of the parts of a file that are no holes."""
    position = 0
    while position < size:
        try:
            start = os.lseek(descriptor, position, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return  # only a hole is left
            raise
        position = os.lseek(descriptor, start, os.SEEK_HOLE)
        yield start, min(position, size)
