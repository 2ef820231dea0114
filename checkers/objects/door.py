"""What a theorem asks of its columns, looked at once, before anything is computed from them.

Question: are these columns a history at all, and are its numbers small enough to be computed with?

Model. A :class:`Table` names the columns that are one list of operations. They are integers, of one length; an
operation returns no sooner than it was called; stamps are from 0 on (a call may be at −1: before everything) and less
than "never" (2^62; nanoseconds since 1970 are below 2^61), so that the doubling of a stamp is a number, too. What
breaks a rule is a :class:`~checkers.history.columns.HistoryFormatError` with table and row, and never a verdict.

Values may be any numbers: where they are much greater than there are operations they are numbered anew
(:func:`renumbered`), since arrays are indexed by them, and what is said of them is said in the old numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from checkers.history.columns import NEVER, Bools, HistoryFormatError, Ints
from checkers.objects.result import Violation

Input = TypeVar("Input")

BEFORE = -1
"""As the stamp of a call: before everything that is told."""


@dataclass(frozen=True, slots=True)
class Table:
    """``columns`` of one input that belong together; ``invoke`` and ``ret`` are among them. ``values`` are at least
    *least*."""

    name: str
    columns: tuple[str, ...]
    invoke: str
    ret: str = ""
    values: tuple[str, ...] = ()
    least: int = 0
    outcome: str = ""


def admitted(given: Input, tables: Sequence[Table]) -> Input:
    """*its*, if it keeps the rules, with columns of int64."""
    changed: dict[str, Ints] = {}
    for table in tables:
        columns = {name: as_ints(table.name, name, getattr(given, name)) for name in table.columns}
        changed |= {name: column for name, column in columns.items() if column is not getattr(given, name)}
        require_one_length(table.name, columns)
        require_times(table.name, columns[table.invoke], columns[table.ret] if table.ret else None)
        for name in table.values:
            require(table.name, columns[name] >= table.least, f"{name} is below {table.least}")
        if table.outcome:
            outcome = columns[table.outcome]
            require(table.name, (outcome >= 0) & (outcome <= 2), f"{table.outcome} is none of 0, 1, 2")
    return replace(given, **changed) if changed else given  # type: ignore[type-var]


def as_ints(table: str, name: str, column: Any) -> Ints:
    """*column* as int64; anything that is not a list of integers below 2^63 is refused."""
    if isinstance(column, np.ndarray) and column.dtype == np.int64 and column.ndim == 1:
        return column
    try:
        found = np.asarray(column)
    except (ValueError, OverflowError) as error:
        raise HistoryFormatError(table, -1, f"{name} is no column: {error}") from error
    if found.ndim != 1:
        raise HistoryFormatError(table, -1, f"{name} is no column: it has {found.ndim} dimensions")
    if not len(found):
        return np.zeros(0, dtype=np.int64)
    if found.dtype.kind not in "iu" or (found.dtype.kind == "u" and int(found.max()) >= 1 << 63):
        cells = column.tolist() if isinstance(column, np.ndarray) else list(column)
        wrong = (row for row, cell in enumerate(cells) if type(cell) is not int or not -(1 << 63) <= cell < 1 << 63)
        raise HistoryFormatError(table, next(wrong, 0), f"{name} is no whole number below 2^63")
    return found.astype(np.int64)


def require(table: str, holds: Bools, reason: str) -> None:
    """Every row of *holds*, or an error that names the first that does not."""
    if not holds.all():
        raise HistoryFormatError(table, int(holds.argmin()), reason)


def require_one_length(table: str, columns: dict[str, Ints]) -> None:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise HistoryFormatError(table, -1, f"columns differ in length: {lengths}")


def require_times(table: str, invoke: Ints, ret: Ints | None) -> None:
    """Calls from −1 on, returns no sooner, both up to "never"."""
    require(table, (invoke >= BEFORE) & (invoke <= NEVER), "a call is at a stamp below -1, or above 2^62")
    if ret is not None:
        require(table, ret >= invoke, "it returned before it was called")
        require(table, ret <= NEVER, "a return is at a stamp above 2^62")


SPARE_VALUES = 1 << 20
"""Values may be so much greater than four times the number of operations before they are numbered anew."""


@dataclass(frozen=True, slots=True)
class Names:
    """The numbers that values had before, by their new ones; ``None``: they are the same."""

    old: Ints | None = None

    def of(self, violations: tuple[Violation, ...]) -> tuple[Violation, ...]:
        """*violations* in the old numbers; what is below 0 is no value."""
        if self.old is None:
            return violations
        return tuple(
            replace(one, values=tuple(value if value < 0 else int(self.old[value]) for value in one.values))
            for one in violations
        )


def renumbered(given: Input, columns: Sequence[str]) -> tuple[Input, Names]:
    """*its* with the values of *columns* (negative ones stay) as small numbers in the same order."""
    values = np.concatenate([getattr(given, name) for name in columns])
    if int(values.max(initial=0)) <= 4 * len(values) + SPARE_VALUES:
        return given, Names()
    old = np.unique(values[values >= 0])
    new = {
        name: np.where(getattr(given, name) < 0, getattr(given, name), np.searchsorted(old, getattr(given, name)))
        for name in columns
    }
    return replace(given, **new), Names(old)  # type: ignore[type-var]
