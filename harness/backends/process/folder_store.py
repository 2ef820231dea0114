"""The disk of a process as the harness reads it: a folder of the host.

Question: which files has a node now, and which bytes do they show?

Limits. What of it is forced nobody can tell from outside. A file may be replaced between two calls.
"""

from __future__ import annotations

from pathlib import Path


class FolderStore:
    """Everything below *root*."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def files(self, prefix: str) -> list[str]:
        found = (path for path in self._root.rglob("*") if path.is_file())
        return sorted(name for path in found if (name := str(path.relative_to(self._root))).startswith(prefix))

    def size(self, file: str) -> int:
        path = self._root / file
        return path.stat().st_size if path.is_file() else -1

    def read(self, file: str, offset: int, size: int) -> bytes:
        with (self._root / file).open("rb") as data:
            data.seek(offset)
            return data.read(size)

    def unforced(self, file: str) -> None:
        return None
