"""The example notebook, cell by cell, as Jupyter would run it."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

NOTEBOOK: Final = Path(__file__).resolve().parents[2] / "docs" / "lake.ipynb"


def cells() -> list[str]:
    """The code of every cell."""
    found = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == "code"]


def names() -> Iterator[tuple[str, str]]:
    """(module, name) of everything that it imports of ours."""
    for cell in cells():
        for node in ast.walk(ast.parse(cell)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mqchaos"):
                yield from ((str(node.module), alias.name) for alias in node.names)


def is_there(module: str, name: str) -> bool:
    return hasattr(import_module(module), name)


def run(**given: Any) -> dict[str, Any]:
    """All cells in order, one namespace; *given* replaces what the first cell sets."""
    space: dict[str, Any] = {"__name__": "notebook"}
    for number, cell in enumerate(cells()):
        exec(compile(cell, f"{NOTEBOOK.name}, cell {number + 1}", "exec"), space)
        space.update(given if number == 0 else {})
    return space
