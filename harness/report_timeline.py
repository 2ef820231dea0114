"""The timeline of a run as inline SVG: operations by queue, faults as bands, phases as marks.

Question: what was going on when it broke, at one glance?

Model. One lane for the sends to each queue and one for the reads of it. An operation is a bar from its invocation to
its completion, coloured by outcome; operations that overlap lie below each other, up to :data:`ROWS_MAX` rows a lane
(what does not fit shares the last row). Bars of one lane and outcome are one path, so that ten thousand operations are
a page of a few hundred kilobytes; those that did not end ``ok``, and those that prove an anomaly, are bars of their own
that say what they are under the pointer.

Limits. At most :data:`OPS_MAX` operations are drawn; of more, every n-th, and all that prove an anomaly. The caller is
told (``drawn`` of ``total``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Final

import numpy as np

from checkers.history.columns import Ints
from checkers.history.facts import FaultFact
from checkers.history.history import History, seconds
from checkers.history.spans import NEVER_NS

OPS_MAX: Final = 10_000
ROWS_MAX: Final = 6
WIDTH, LEFT, RIGHT = 1160, 170, 14
ROW, GAP, HEAD, FOOT = 5, 9, 34, 24
READS: Final = ("pull", "drain")


@dataclass(frozen=True)
class Timeline:
    """``svg`` and how much of the history is in it."""

    svg: str
    drawn: int
    total: int


@dataclass(frozen=True)
class Scale:
    """Nanoseconds to pixels."""

    end_ns: int

    def x(self, ns: int) -> float:
        """Horizontal position, within the plot."""
        return LEFT + (WIDTH - LEFT - RIGHT) * min(max(ns, 0), self.end_ns) / self.end_ns

    def ticks(self) -> list[int]:
        """Round instants, 5 to 12 of them."""
        for step_s in (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600):
            if self.end_ns <= 12 * step_s * 1_000_000_000:
                break
        return list(range(0, self.end_ns + 1, step_s * 1_000_000_000))


@dataclass(frozen=True)
class _Bar:
    op: int
    row: int
    begin_ns: int
    end_ns: int
    outcome: str


@dataclass(frozen=True)
class _Lane:
    name: str
    bars: tuple[_Bar, ...]

    @property
    def height(self) -> int:
        return ROW * (1 + max((bar.row for bar in self.bars), default=0))


def end_of(history: History) -> int:
    """The last instant of a history, at least a millisecond."""
    ops, events = history.ops, history.events
    instants = (ops.invoke_ns, ops.complete_ns, events.ns)
    return max(1_000_000, *(int(column.max(initial=0)) for column in instants))


def draw(
    history: History, faults: Iterable[FaultFact], phases: Iterable[tuple[str, int]], marked: frozenset[int]
) -> Timeline:
    """*marked*: ops that prove an anomaly; they are always drawn, and stand out."""
    scale = Scale(end_of(history))
    rows = _chosen(history, marked)
    lanes = _lanes(history, rows, scale.end_ns)
    height = HEAD + sum(lane.height + GAP for lane in lanes) + FOOT
    parts = [_axis(scale, height), _phases(scale, phases, height), _bands(scale, faults, height)]
    top = HEAD
    for lane in lanes:
        parts.append(_lane(history, scale, lane, top, marked))
        top += lane.height + GAP
    label = "Operations by queue over time, with faults"
    svg = f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
    return Timeline(svg, len(rows), len(history.ops))


def _chosen(history: History, marked: frozenset[int]) -> Ints:
    """Rows to draw, ascending."""
    count = len(history.ops)
    stride = -(-count // OPS_MAX) if count else 1
    keep = np.zeros(count, dtype=np.bool_)
    keep[::stride] = True
    if marked:
        keep |= np.isin(history.ops.op, np.array(sorted(marked), dtype=np.int64))
    return np.flatnonzero(keep)


def _lanes(history: History, rows: Ints, end_ns: int) -> list[_Lane]:
    ops = history.ops
    lanes = []
    for queue in history.queues.queue.tolist():
        mine = rows[ops.queue[rows] == queue]
        for verb, fs in (("sends to", ("send",)), ("reads of", READS)):
            chosen = mine[ops.f.mask(*fs)[mine]]
            if len(chosen):
                lanes.append(_Lane(f"{verb} {history.queues.name(queue)}", _stacked(history, chosen, end_ns)))
    return lanes


def _stacked(history: History, rows: Ints, end_ns: int) -> tuple[_Bar, ...]:
    """Greedy: the first row that is free when the operation begins."""
    ops = history.ops
    free_ns: list[int] = []
    bars = []
    for row in rows.tolist():
        begin, end = int(ops.invoke_ns[row]), int(ops.complete_ns[row])
        end = end if end >= 0 else end_ns
        place = next((index for index, free in enumerate(free_ns) if free <= begin), len(free_ns))
        if place == len(free_ns) and place < ROWS_MAX:
            free_ns.append(end)
        place = min(place, ROWS_MAX - 1)
        free_ns[place] = max(free_ns[place], end)
        bars.append(_Bar(int(ops.op[row]), place, begin, end, ops.outcome[row]))
    return tuple(bars)


def _lane(history: History, scale: Scale, lane: _Lane, top: int, marked: frozenset[int]) -> str:
    plain: dict[str, list[str]] = {}
    special = []
    for bar in lane.bars:
        x, y = scale.x(bar.begin_ns), top + ROW * bar.row
        width = max(1.0, scale.x(bar.end_ns) - x)
        if bar.op in marked or bar.outcome != "ok":
            kind = "bad" if bar.op in marked else bar.outcome
            title = escape(history.op_text(bar.op))
            special.append(
                f'<rect class="op {kind}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 1}">'
                f"<title>{title}</title></rect>"
            )
        else:
            plain.setdefault(bar.outcome, []).append(f"M{x:.1f} {y}h{width:.1f}v{ROW - 1}h-{width:.1f}z")
    paths = "".join(f'<path class="op {outcome}" d="{"".join(d)}"/>' for outcome, d in plain.items())
    label = f'<text class="lane" x="{LEFT - 8}" y="{top + lane.height / 2 + 3.5:.1f}">{escape(lane.name)}</text>'
    y = top + lane.height + 4
    rule = f'<line class="rule" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
    return f"{rule}{label}{paths}{''.join(special)}"


def _axis(scale: Scale, height: int) -> str:
    marks = []
    for ns in scale.ticks():
        x = scale.x(ns)
        marks.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{HEAD - 6}" y2="{height - FOOT}"/>')
        marks.append(f'<text class="tick" x="{x:.1f}" y="{height - FOOT + 15}">{ns // 1_000_000_000} s</text>')
    return "".join(marks)


def _phases(scale: Scale, phases: Iterable[tuple[str, int]], height: int) -> str:
    """A mark where each phase begins; names that would lie on each other are left to the table."""
    marks, last_x = [], -1e9
    for name, ns in phases:
        x = scale.x(ns)
        marks.append(f'<line class="phase" x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{height - FOOT}"/>')
        if x - last_x > 7 * len(name) + 6 and x < WIDTH - 40:
            marks.append(f'<text class="phase" x="{x + 3:.1f}" y="12">{escape(name)}</text>')
            last_x = x
    return "".join(marks)


def _bands(scale: Scale, faults: Iterable[FaultFact], height: int) -> str:
    bands = []
    for fault in faults:
        begin, end = scale.x(fault.inject_ns), scale.x(fault.heal_ns if fault.heal_ns != NEVER_NS else scale.end_ns)
        until = seconds(fault.heal_ns) if fault.heal_ns != NEVER_NS else "the end"
        size = f'width="{max(1.5, end - begin):.1f}" height="{height - FOOT - 16}"'
        bands.append(
            f'<rect class="fault" x="{begin:.1f}" y="16" {size}>'
            f"<title>{escape(fault.words())}, until {until}</title></rect>"
            f'<text class="fault" x="{begin + 3:.1f}" y="27">{escape(fault.kind)}</text>'
        )
    return "".join(bands)
