"""What lies on a node's disk, as files: count them, take them away, copy them to another node's.

Question: what is a lost disk here? The folder (or the ext4 mounted there) stays, all that a process had put into it
goes. A copy is forced, as an operator's would be by the time he trusts it.

Limits. Only while no process of the node runs. ``lost+found`` is ext4's own and is left alone.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

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


def _entries(folder: Path) -> Iterator[Path]:
    return (entry for entry in sorted(folder.iterdir()) if entry.name != EXT4S_OWN)


def _force(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
