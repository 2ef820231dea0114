"""What a cell is: the runs that one sentence is said about.

A cell is a configuration (mode and flush), a fault, a world (backend and target) and the bugs that were planted.
"""

from __future__ import annotations

from typing import Final

CELL: Final = "mode, flush, fault, backend, target, defects"


def of(alias: str) -> str:
    """The cell's columns of the table *alias*: ``r.mode, r.flush, …``."""
    return ", ".join(f"{alias}.{column}" for column in CELL.split(", "))


def same(left: str, right: str) -> str:
    """Both are of one cell: a condition of a join."""
    return " AND ".join(f"{left}.{column} = {right}.{column}" for column in CELL.split(", "))
