"""A small SVG of operations in time: bars over bands. Pure text, the same on every machine.

Question: which of these operations overlapped, and what was going on meanwhile?

Model. A bar is an operation from its invocation to its completion; an open one reaches the right edge, dashed. A band
is a stretch of time behind the bars (a fault). Times are integers of any unit; pixels are computed without floats.

Colours and sizes are inline styles, so that a page's own style sheet cannot make text unreadable on the white ground.

Limits. Labels are shortened to :data:`LABEL_MAX` characters; a bar's label may run beyond it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

LABEL_MAX: Final = 110
COLOURS: Final = {"ok": "#2c6bd1", "weak": "#0b7c83", "fail": "#737d87", "info": "#8247c4"}
"""How an operation ended, and a fault: the colours that the pages of runs have on a light ground (``page.css``)."""
FAULT: Final = "#4a5360"
NAMESPACE: Final = ' xmlns="http://www.w3.org/2000/svg"'
"""Needed in a file of its own; inside a page it may be left out."""

_LANE, _LEFT, _WIDTH, _TOP = 22, 10, 900, 34


@dataclass(frozen=True)
class Bar:
    """One operation; ``end`` ``None``: it never returned. ``outcome`` is a key of :data:`COLOURS`."""

    label: str
    begin: int
    end: int | None
    outcome: str = "ok"


@dataclass(frozen=True)
class Band:
    """A stretch of time with a name."""

    label: str
    begin: int
    end: int


def draw(
    bars: Sequence[Bar], title: str, bands: Sequence[Band] = (), edges: tuple[str, str] = ("", ""), margin: int = 5
) -> str:
    """An SVG. *edges*: texts below the left and the right end; *margin*: percent of the span left free on both
    sides."""
    begin, end = _span(bars, margin)
    height = _TOP + _LANE * len(bars) + 24
    parts = [
        f'<svg{NAMESPACE} viewBox="0 0 {_WIDTH} {height}">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(_LEFT, 16, title, weight="bold"),
        *(line for band in bands for line in _band(band, begin, end, height)),
        *(line for lane, bar in enumerate(bars) for line in _bar(bar, lane, begin, end)),
        _text(_LEFT, height - 6, edges[0], colour="#555"),
        _text(_WIDTH - _LEFT, height - 6, edges[1], "end", colour="#555"),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def span(bars: Sequence[Bar]) -> tuple[int, int]:
    """From the first invocation to the last instant that any bar names."""
    if not bars:
        return 0, 1
    return min(bar.begin for bar in bars), max(max(bar.begin, bar.end or bar.begin) for bar in bars)


def _span(bars: Sequence[Bar], margin: int) -> tuple[int, int]:
    begin, end = span(bars)
    free = max((end - begin) * margin // 100, 1)
    return begin - free, end + free


def _text(
    x: int, y: int, text: str, anchor: str = "start", *, colour: str = "#111", size: int = 12, weight: str = "normal"
) -> str:
    style = f"fill:{colour};font:{weight} {size}px sans-serif;text-anchor:{anchor}"
    return f'<text x="{x}" y="{y}" style="{style}">{escape(text)}</text>'


def _x(at: int, begin: int, end: int) -> int:
    inside = min(max(at, begin), end)
    return _LEFT + (inside - begin) * (_WIDTH - 2 * _LEFT) // max(end - begin, 1)


def _band(band: Band, begin: int, end: int, height: int) -> list[str]:
    if band.begin > end or band.end < begin:
        return []
    left, right = _x(band.begin, begin, end), _x(band.end, begin, end)
    return [
        f'<rect x="{left}" y="22" width="{max(right - left, 2)}" height="{height - 44}" fill="{FAULT}" '
        'fill-opacity="0.15"/>',
        _text(left + 3, 32, band.label, colour=FAULT, size=10),
    ]


def _bar(bar: Bar, lane: int, begin: int, end: int) -> list[str]:
    top = _TOP + lane * _LANE
    left = _x(bar.begin, begin, end)
    right = _x(end if bar.end is None else bar.end, begin, end)
    colour = COLOURS[bar.outcome]
    dash = ' stroke-dasharray="4 3"' if bar.end is None else ""
    x, anchor = (left + 4, "start") if left < _WIDTH // 2 else (right - 4, "end")
    return [
        f'<rect x="{left}" y="{top}" width="{max(right - left, 3)}" height="16" rx="3" fill="{colour}" '
        f'fill-opacity="0.25" stroke="{colour}"{dash}/>',
        _text(x, top + 12, bar.label[:LABEL_MAX], anchor),
    ]
