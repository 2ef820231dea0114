"""Columns: numpy arrays for numbers, dictionary-encoded texts, and how both are made from rows or Arrow tables.

Question: how does a table of a history get into memory so that a run of 300 sends costs a millisecond and a run of ten
million operations costs eight bytes a number?

Model. A table is a mapping column → array. Numbers are int64 (−1: does not apply). Texts are codes (int32) into a
short tuple of distinct values, because a history has few distinct texts (outcomes, statuses, node names) and comparing
codes is free. Nothing here knows what a column means.

Limits. ``detail`` columns may have as many values as rows; they are encoded all the same (one dictionary a table).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from checkers.history.schema import OPTIONAL

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]

NEVER = np.int64(2**62)
"""Stands for "never": greater than every event number and every instant of a history."""


class HistoryFormatError(Exception):
    """A history that cannot be judged because it is not one. ``table``, ``row`` (from 0, −1: the table), ``reason``.

    ``place`` is the file and line for histories read from a text file. A malformed history never gets a verdict.
    """

    def __init__(self, table: str, row: int, reason: str, *, place: str = "") -> None:
        where = place or (f"table {table}, row {row}" if row >= 0 else f"table {table}")
        reason = _without_its_middle(reason)
        super().__init__(f"{where}: {reason}")
        self.table, self.row, self.reason, self.place = table, row, reason, place


REASON_MAX: Final = 1_000
"""Characters: what a file says where one word was expected may be megabytes."""


def _without_its_middle(reason: str) -> str:
    if len(reason) <= REASON_MAX:
        return reason
    half = REASON_MAX // 2
    return f"{reason[:half]} … ({len(reason) - REASON_MAX} characters) … {reason[-half:]}"


@dataclass(frozen=True, slots=True)
class Text:
    """A dictionary-encoded text column: ``values[codes[row]]``."""

    codes: Codes
    values: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> str:
        return self.values[int(self.codes[row])]

    def __iter__(self) -> Iterator[str]:
        values = self.values
        return (values[code] for code in self.codes.tolist())

    def mask(self, *wanted: str) -> Bools:
        """Rows whose text is one of *wanted*."""
        found = [code for code, value in enumerate(self.values) if value in wanted]
        if not found:
            return np.zeros(len(self.codes), dtype=np.bool_)
        mask: Bools = self.codes == found[0]
        for code in found[1:]:
            mask = mask | (self.codes == code)
        return mask

    def take(self, rows: Ints) -> Text:
        return Text(self.codes[rows], self.values)

    @staticmethod
    def encode(texts: Sequence[str]) -> Text:
        """Codes in the order of first appearance, so that equal input gives equal columns."""
        known: dict[str, int] = {}
        codes = [known.setdefault(text, len(known)) for text in texts]
        return Text(np.array(codes, dtype=np.int32), tuple(known))


Column = Ints | Text


def empty_table(schema: pa.Schema) -> dict[str, Column]:
    """No rows of *schema*."""
    return {name: _column("", name, [], is_text) for name, is_text in _fields(schema)}


def from_rows(table: str, schema: pa.Schema, rows: Sequence[Mapping[str, Any]]) -> dict[str, Column]:
    """Columns of *schema* from decoded JSON rows; a missing or mistyped cell is a :class:`HistoryFormatError`."""
    result: dict[str, Column] = {}
    optional = OPTIONAL.get(table, {})
    for name, is_text in _fields(schema):
        try:
            cells = [row.get(name, optional[name]) if name in optional else row[name] for row in rows]
        except KeyError:
            row = next(i for i, row in enumerate(rows) if name not in row)
            raise HistoryFormatError(table, row, f"column {name!r} is missing") from None
        _require_type(table, name, cells, str if is_text else int)
        result[name] = _column(table, name, cells, is_text)
    return result


def from_columns(table: str, schema: pa.Schema, columns: Mapping[str, Any]) -> dict[str, Column]:
    """Columns of *schema* from lists, numpy arrays or :class:`Text` of one length."""
    result: dict[str, Column] = {}
    optional = OPTIONAL.get(table, {})
    for name, is_text in _fields(schema):
        if name not in columns:
            if name not in optional:
                raise HistoryFormatError(table, -1, f"column {name!r} is missing")
            length = max((len(column) for column in columns.values()), default=0)
            result[name] = np.full(length, optional[name], dtype=np.int64)
            continue
        given = columns[name]
        if isinstance(given, Text) or (isinstance(given, np.ndarray) and given.dtype == np.int64):
            result[name] = given
            continue
        cells = given.tolist() if isinstance(given, np.ndarray) else list(given)
        if name in optional:
            cells = [optional[name] if cell is None else cell for cell in cells]
        _require_type(table, name, cells, str if is_text else int)
        result[name] = _column(table, name, cells, is_text)
    _require_one_length(table, result)
    return result


def from_arrow(table: str, schema: pa.Schema, arrow: pa.Table) -> dict[str, Column]:
    """Columns of *schema* from an Arrow table (extra columns are ignored); numbers are not copied where possible."""
    result: dict[str, Column] = {}
    optional = OPTIONAL.get(table, {})
    for name, is_text in _fields(schema):
        if name not in arrow.column_names:
            if name not in optional:
                raise HistoryFormatError(table, -1, f"column {name!r} is missing")
            result[name] = np.full(len(arrow), optional[name], dtype=np.int64)
            continue
        chunked = arrow.column(name)
        if name in optional:
            chunked = chunked.fill_null(optional[name])
        if chunked.null_count:
            row = chunked.is_null().to_pylist().index(True)
            raise HistoryFormatError(table, row, f"column {name!r} is null")
        result[name] = _arrow_text(chunked) if is_text else _arrow_ints(table, name, chunked)
    return result


def _arrow_ints(table: str, name: str, chunked: pa.ChunkedArray) -> Ints:
    if not pa.types.is_integer(chunked.type):
        raise HistoryFormatError(table, -1, f"column {name!r} has type {chunked.type}, not an integer")
    return np.asarray(chunked.to_numpy(), dtype=np.int64)


def _arrow_text(chunked: pa.ChunkedArray) -> Text:
    encoded = chunked if pa.types.is_dictionary(chunked.type) else chunked.dictionary_encode()
    encoded = encoded.unify_dictionaries()
    if encoded.num_chunks == 0:
        return Text(np.zeros(0, dtype=np.int32), ())
    codes = np.concatenate([np.asarray(chunk.indices, dtype=np.int32) for chunk in encoded.chunks])
    return Text(codes, tuple(encoded.chunk(0).dictionary.to_pylist()))


def _fields(schema: pa.Schema) -> list[tuple[str, bool]]:
    return [(field.name, pa.types.is_string(field.type)) for field in schema]


def _column(table: str, name: str, cells: list[Any], is_text: bool) -> Column:
    if is_text:
        return Text.encode(cells)
    try:
        return np.array(cells, dtype=np.int64)
    except OverflowError:
        row = next(i for i, cell in enumerate(cells) if not -(1 << 63) <= cell < 1 << 63)
        raise HistoryFormatError(table, row, f"column {name!r} is not below 2^63: {cells[row]}") from None


def _require_type(table: str, name: str, cells: list[Any], wanted: type) -> None:
    """One pass over the types, and a second one only to name the culprit."""
    if not cells or set(map(type, cells)) == {wanted}:
        return
    row = next(i for i, cell in enumerate(cells) if type(cell) is not wanted)
    raise HistoryFormatError(table, row, f"column {name!r} is {cells[row]!r}, not {wanted.__name__}")


def _require_one_length(table: str, columns: Mapping[str, Column]) -> None:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise HistoryFormatError(table, -1, f"columns differ in length: {lengths}")
