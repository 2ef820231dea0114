"""Hatchling's build hook: the wheel has one top-level name, ``mqchaos``, with the rooms of the repository below it.

Question: in the repository code says ``from checkers.verdict import Outcome``; how does the wheel come to say
``from mqchaos.checkers.verdict import Outcome``?

Model. Each Python file of a room is parsed; the import statements that name a room get the prefix at the place where
the parser saw them, and nothing else changes, no line number either. Other files (contracts, scenarios, pages) go along
as they are. An editable install is not touched: there ``mqchaos/checkout.py`` gives the rooms their second name.

Limits. Names of modules as text are not looked for: the code derives them from ``__name__`` (a test of the suites holds
it to that). ``import checkers.verdict`` without ``as`` binds the name of the room, so it cannot be rewritten by itself
and ends the build with file and line.
"""

from __future__ import annotations

import ast
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from runpy import run_path
from shutil import copymode
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = "mqchaos"
ROOMS: Final[tuple[str, ...]] = run_path(str(ROOT / PACKAGE / "checkout.py"))["ROOMS"]
RECIPES: Final = "docker"
"""Of the images of nodes: they go beside the rooms, as in the repository."""
LEFT_OUT: Final = {".md", ".pyc"}


class RoomsBelowOneName(BuildHookInterface[Any]):
    """Adds the rooms to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a build; *version* is ``editable`` or ``standard``."""
        if version == "editable":
            return
        self.folder = tempfile.TemporaryDirectory(prefix="mqchaos-wheel-")
        write_rooms(ROOT, Path(self.folder.name))
        build_data["force_include"][self.folder.name] = PACKAGE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called after it."""
        if version != "editable":
            self.folder.cleanup()


def write_rooms(root: Path, out: Path) -> None:
    """Every file of every room of *root*, and the recipes of images, below *out*, as the wheel has it."""
    for room in (*ROOMS, RECIPES):
        for path in sorted((root / room).rglob("*")):
            if path.is_file() and path.suffix not in LEFT_OUT:
                target = out / path.relative_to(root)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(rewritten(path) if path.suffix == ".py" else path.read_bytes())
                copymode(path, target)


def rewritten(path: Path) -> bytes:
    """The Python file with its imports of rooms below :data:`PACKAGE`."""
    try:
        return with_prefix(path.read_bytes())
    except SyntaxError as error:
        error.filename = str(path)
        raise


def with_prefix(source: bytes) -> bytes:
    """*source* with every import of a room below :data:`PACKAGE`; ``SyntaxError`` for one that cannot be."""
    lines = source.splitlines(keepends=True)
    for number, column, old, new in sorted(_changes(ast.parse(source)), reverse=True):
        line = lines[number]
        lines[number] = line[:column] + re.sub(old.encode(), new.encode(), line[column:], count=1)
    return b"".join(lines)


Change = tuple[int, int, str, str]
"""Line, from 0; column in bytes; the pattern that is replaced from there on; what replaces it."""


def _changes(tree: ast.Module) -> Iterator[Change]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and _is_room(node.module or ""):
            yield _at(node, rf"\bfrom\s+{node.module}\b", f"from {PACKAGE}.{node.module}")
        elif isinstance(node, ast.Import) and any(_is_room(alias.name) for alias in node.names):
            yield _of_import(node)


def _of_import(node: ast.Import) -> Change:
    name, as_name = node.names[0].name, node.names[0].asname
    if len(node.names) > 1 or ("." in name and as_name is None):
        where = ("", node.lineno, node.col_offset + 1, ast.unparse(node))
        raise SyntaxError(f"the wheel needs another import: from {name} import …, or import {name} as …", where)
    parent, _, last = f"{PACKAGE}.{name}".rpartition(".")
    return _at(node, rf"\bimport\s+{name}\b", f"from {parent} import {last}")


def _at(node: ast.stmt, old: str, new: str) -> Change:
    return node.lineno - 1, node.col_offset, old, new


def _is_room(module: str) -> bool:
    return module.partition(".")[0] in ROOMS
