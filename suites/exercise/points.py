"""What there is to exercise, read from the sources of the reference and from the tables of the harness.

Question: of what should a unit exist that does it, so that a unit that does not can be missed?

Model. A *point* is a pair of kind and name:

    request    a request code that a role of the reference serves: a key of its table of handlers
    answer     a code that it can answer with
    branch     a note that a role writes when something happens that does not always happen: a follower cut its log, a
               slave was waited for, a file was deleted. TigerBeetle and Antithesis call these *sometimes* points
    fault      a verb, and the role of the node that it hits

Limits. Handlers and notes are found by how they are written (``RequestCode.X: …``, ``env.note("name")``,
``Note("name")``); a note whose name is computed elsewhere is not found.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from faults.catalogue import VERBS
from harness.backends.table import BACKENDS

ROOT: Final = Path(__file__).resolve().parents[2] / "reference_impl"
REQUESTS: Final = "RequestCode"
ANSWERS: Final = "ResponseCode"
PLANTED: Final = "defects"


@dataclass(frozen=True, order=True)
class Point:
    """One of them; ``where``: the modules that have it."""

    kind: str
    name: str
    where: tuple[str, ...] = ()


def declared() -> list[Point]:
    """All points, in order."""
    found: dict[tuple[str, str], set[str]] = {}
    for path in sorted(ROOT.rglob("*.py")):
        place = path.relative_to(ROOT)
        if PLANTED in place.parts:
            continue
        for kind, name in _points_of(ast.parse(path.read_text(encoding="utf-8"))):
            found.setdefault((kind, name), set()).add(place.as_posix())
    points = [Point(kind, name, tuple(sorted(where))) for (kind, name), where in found.items()]
    return sorted([*points, *_faults()])


def _points_of(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            yield from (("request", key.attr) for key in node.keys if _is_member(key, REQUESTS))  # type: ignore[union-attr]
        elif _is_member(node, ANSWERS):
            yield "answer", node.attr  # type: ignore[attr-defined]
        elif isinstance(node, ast.Call) and node.args and _is_note(node.func):
            yield from (("branch", text) for text in _texts(node.args[0]))


def _is_member(node: ast.AST | None, enumeration: str) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == enumeration


def _is_note(function: ast.expr) -> bool:
    return (isinstance(function, ast.Attribute) and function.attr == "note") or (
        isinstance(function, ast.Name) and function.id == "Note"
    )


def _texts(name: ast.expr) -> Iterator[str]:
    """The texts that a name can be: one, or either of ``"a" if … else "b"``."""
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        yield name.value
    elif isinstance(name, ast.IfExp):
        yield from _texts(name.body)
        yield from _texts(name.orelse)


def _faults() -> Iterator[Point]:
    """Every verb that a simulated plan can have; which roles it has hit is told by the runs."""
    for verb in VERBS.values():
        if BACKENDS["sim"].capabilities().refusal(verb.needs, (), ()) is None:
            yield Point("fault", verb.name)
