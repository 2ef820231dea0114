"""What lies on a node's disk, as files: count and find them, harm one, take them away, copy them to another node's.

Question: what is a lost disk here? The folder (or the ext4 mounted there) stays, all that a process had put into it
goes. A copy is forced, as an operator's would be by the time he trusts it.

Limits. Only while no process of the node runs. ``lost+found`` is ext4's own and is left alone.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from faults.mechanisms.decay import written_end

EXT4S_OWN: Final = "lost+found"


def files_of(folder: Path) -> int:
    """How many files there are, at any depth."""
    return sum(len(files) for own in _entries(folder) if own.is_dir() for _, _, files in os.walk(own)) + sum(
        not own.is_dir() for own in _entries(folder)
    )


def empty(folder: Path) -> None:
    """Remove everything below *folder*."""
    for entry in _entries(folder):
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def copy_forced(source: Path, target: Path) -> None:
    """Everything below *source* to *target*, times included, and all of it forced to the disk."""
    for entry in _entries(source):
        if entry.is_dir():
            shutil.copytree(entry, target / entry.name, symlinks=True)
        else:
            shutil.copy2(entry, target / entry.name)
    for path in [target, *target.rglob("*")]:
        if not path.is_symlink():
            _force(path)


def find(folder: Path, pattern: str) -> dict[str, tuple[int, int]]:
    """Files whose path below *folder* fits: path → (size, where what is written ends)."""
    paths = {path.relative_to(folder).as_posix(): path for own in _entries(folder) for path in _files(own)}
    fitting = {name: path for name, path in paths.items() if re.fullmatch(pattern, name)}
    return {name: (path.stat().st_size, written_end(path)) for name, path in sorted(fitting.items())}


def part_of(path: Path, offset: int, size: int) -> bytes:
    """Bytes of a file; none where it is not there."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(size)


def change(path: Path, offset: int, data: bytes) -> None:
    """*data* in place of what the file has there."""
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)
    _force(path)


def cut(path: Path, size: int) -> None:
    """The file has *size* bytes; below 0 it is gone."""
    if size < 0:
        path.unlink(missing_ok=True)
    else:
        os.truncate(path, size)
        _force(path)
    _force(path.parent)


def _files(entry: Path) -> Iterator[Path]:
    return (path for path in (entry.rglob("*") if entry.is_dir() else (entry,)) if path.is_file())


def _entries(folder: Path) -> Iterator[Path]:
    return (entry for entry in sorted(folder.iterdir()) if entry.name != EXT4S_OWN)


def _force(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
