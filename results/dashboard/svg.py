"""The three drawings of the dashboard, as SVG text: a verdict grid, a strip of lost messages, recovery ranges.

Colours carry meaning in one way only: green passed, amber unknown, red failed, blue a measure. Every mark has a
``<title>``, so that a browser shows the numbers on hover and a screen reader reads them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

PASSED, UNKNOWN, FAILED, MEASURE = "var(--pass)", "var(--unknown)", "var(--fail)", "var(--measure)"
_LABEL_WIDTH, _ROW_HEIGHT, _PLOT_WIDTH = 500, 24, 520


@dataclass(frozen=True)
class Cell:
    """How the runs of one mode under one fault ended."""

    passed: int
    unknown: int
    failed: int

    @property
    def colour(self) -> str:
        return FAILED if self.failed else UNKNOWN if self.unknown else PASSED

    @property
    def text(self) -> str:
        parts = [(self.failed, "FAIL"), (self.unknown, "UNKNOWN"), (self.passed, "PASS")]
        return ", ".join(f"{count} {word}" for count, word in parts if count)


def verdict_grid(rows: Sequence[str], columns: Sequence[str], cells: dict[tuple[str, str], Cell]) -> str:
    """Rows are modes, columns are faults; an empty place means that nothing ran there."""
    width = 118
    marks = [
        _text(_LABEL_WIDTH + i * width + width / 2, 16, column, anchor="middle") for i, column in enumerate(columns)
    ]
    for y, row in enumerate(rows):
        top = 26 + y * 34
        marks.append(_text(_LABEL_WIDTH - 10, top + 19, row, anchor="end"))
        marks += [_cell(_LABEL_WIDTH + x * width, top, width, cells.get((row, column)), f"{row}, {column}")
                  for x, column in enumerate(columns)]  # fmt: skip
    return _svg(_LABEL_WIDTH + len(columns) * width, 30 + len(rows) * 34, marks)


def _cell(x: float, y: float, width: float, cell: Cell | None, name: str) -> str:
    if cell is None:
        return f'<rect x="{x + 2}" y="{y}" width="{width - 4}" height="30" rx="4" fill="none" stroke="var(--rule)"/>'
    box = f'<rect x="{x + 2}" y="{y}" width="{width - 4}" height="30" rx="4" fill="{cell.colour}"/>'
    label = _text(x + width / 2, y + 20, cell.text, anchor="middle", colour="#fff", size=12)
    return f"<g><title>{escape(name)}: {cell.text}</title>{box}{label}</g>"


@dataclass(frozen=True)
class Strip:
    """One row of dots: a value a run."""

    label: str
    values: tuple[float, ...]


def strips(rows: Sequence[Strip], unit: str) -> str:
    """Each run is a dot on a logarithmic axis that has a place for zero; rows share the axis."""
    top = max((value for row in rows for value in row.values), default=1.0)
    axis = _LogAxis(1.0, max(10.0, top))
    marks = axis.drawn(len(rows) * _ROW_HEIGHT, unit, zero=True)
    for y, row in enumerate(rows):
        middle = 30 + y * _ROW_HEIGHT
        marks.append(_text(_LABEL_WIDTH - 10, middle + 4, row.label, anchor="end"))
        marks += [_dot(axis.at(value), middle, f"{row.label}: {value:g} {unit}") for value in row.values]
    return _svg(_LABEL_WIDTH + _PLOT_WIDTH + 40, 46 + len(rows) * _ROW_HEIGHT, marks)


@dataclass(frozen=True)
class Range:
    """Quantiles of one row, all in the same unit; ``note`` goes behind the maximum."""

    label: str
    p50: float
    p90: float
    p99: float
    greatest: float
    note: str = ""


def ranges(rows: Sequence[Range], unit: str) -> str:
    """Median as a dot, 90 % as a thick bar, 99 % as a thin one, the maximum as a tick."""
    axis = _LogAxis(max(1.0, min(row.p50 for row in rows)), max([10.0, *(row.greatest for row in rows)]))
    marks = axis.drawn(len(rows) * _ROW_HEIGHT, unit, zero=False)
    for y, row in enumerate(rows):
        marks += _range(row, axis, 30 + y * _ROW_HEIGHT, unit)
    return _svg(_LABEL_WIDTH + _PLOT_WIDTH + 260, 46 + len(rows) * _ROW_HEIGHT, marks)


def _range(row: Range, axis: _LogAxis, y: float, unit: str) -> Iterable[str]:
    p50, p90, p99, greatest = (axis.at(value) for value in (row.p50, row.p90, row.p99, row.greatest))
    title = f"{row.label}: median {row.p50:.0f}, 90 % {row.p90:.0f}, 99 % {row.p99:.0f}, most {row.greatest:.0f} {unit}"
    yield _text(_LABEL_WIDTH - 10, y + 4, row.label, anchor="end")
    yield f"<g><title>{escape(title)}</title>"
    yield f'<line x1="{p50}" x2="{p99}" y1="{y}" y2="{y}" stroke="{MEASURE}" stroke-width="2"/>'
    yield f'<line x1="{p50}" x2="{p90}" y1="{y}" y2="{y}" stroke="{MEASURE}" stroke-width="7" stroke-opacity=".55"/>'
    yield f'<line x1="{greatest}" x2="{greatest}" y1="{y - 6}" y2="{y + 6}" stroke="{MEASURE}" stroke-width="2"/>'
    yield f"{_dot(p50, y, title)}</g>{_text(greatest + 8, y + 4, row.note, size=11)}"


class _LogAxis:
    """Decades from *low* up to the decade above *high*; values below *low* sit on the left edge."""

    def __init__(self, low: float, high: float) -> None:
        self.low = math.floor(math.log10(low))
        self.high = max(math.ceil(math.log10(high)), self.low + 1)

    def at(self, value: float) -> float:
        place = (math.log10(value) - self.low) / (self.high - self.low) if value > 0 else -0.04
        return round(_LABEL_WIDTH + max(place, -0.04) * _PLOT_WIDTH + 24, 1)

    def drawn(self, height: float, unit: str, *, zero: bool) -> list[str]:
        ticks = [(self.at(10.0**power), f"{10**power:,}") for power in range(self.low, self.high + 1)]
        ticks += [(self.at(0), "0")] if zero else []
        lines = [f'<line x1="{x}" x2="{x}" y1="18" y2="{22 + height}" stroke="var(--rule)"/>' for x, _ in ticks]
        labels = [_text(x, 12, label, anchor="middle", size=11) for x, label in ticks]
        return [*lines, *labels, _text(_LABEL_WIDTH - 10, 12, unit, anchor="end", size=11)]


def _dot(x: float, y: float, title: str) -> str:
    return (
        f'<circle cx="{x}" cy="{y}" r="4.5" fill="{MEASURE}" fill-opacity=".55"><title>{escape(title)}</title></circle>'
    )


def _text(x: float, y: float, text: str, *, anchor: str = "start", colour: str = "var(--ink)", size: int = 13) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}" font-size="{size}">{escape(text)}</text>'


def _svg(width: float, height: float, marks: Iterable[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img" xmlns="http://www.w3.org/2000/svg">'
        f"{''.join(marks)}</svg>"
    )
