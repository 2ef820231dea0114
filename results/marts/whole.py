"""A file is written whole, or stays as it was before: readers of a table never see half of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def replace(path: Path, write: Callable[[Path], object]) -> None:
    """Let *write* make *path*, under another name until it has ended."""
    temporary = path.with_suffix(path.suffix + ".tmp")
    write(temporary)
    os.replace(temporary, path)
