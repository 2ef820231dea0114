"""The run that is under way, followed as its journal grows, told in slices of half a second.

Question: what happened since the page was last told?

Model. A :class:`Follower` reads the bytes that came since it last looked, up to the last whole line, and folds them:
sends by how they ended and their latency, by slice of the run's clock; how many are unanswered; and the events: phases,
faults, nodes. Each call gives what changed. The recorder writes every 100 ms of the run's clock, so this is how old the
picture is, plus the time between two looks.

The engine of the marts is not used here: a stream of Spark over files does not see a file grow, and needs its virtual
machine to follow one (measured: ``docs/results.md``).

Limits. The slices of the last hour of a run are kept. A journal that is damaged is an error with its line.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from harness import runfolder
from harness.errors import HistoryError
from harness.recorder import Complete, Event, Invoke, decode_journal

SLICE_NS: Final = 500_000_000
SLICES_MAX: Final = 7_200
OUTCOMES: Final = ("ok", "weak", "fail", "info")
TOLD: Final = ("phase", "fault", "node")
"""Kinds of events that the page shows; what roles note is in the report."""

A_LOOK: Final = 16 * 1024 * 1024
"""Bytes that one look reads at most."""


@dataclass
class _Slice:
    ended: list[int] = field(default_factory=lambda: [0] * len(OUTCOMES))
    taken_ns: list[int] = field(default_factory=list)
    received: int = 0

    def row(self, number: int) -> list[Any]:
        """Begin in seconds, sends by outcome, messages received, median and 99 % latency in milliseconds."""
        taken = sorted(self.taken_ns)
        quantiles = [
            round(taken[min(len(taken) - 1, int(q * len(taken)))] / 1e6, 3) if taken else None for q in (0.5, 0.99)
        ]
        return [number * SLICE_NS / 1e9, *self.ended, self.received, *quantiles]


def newest(runs: Path) -> Path | None:
    """The run that began last of those below *runs* that have a journal, by its name."""
    found = [path for path in runs.glob(f"*/{runfolder.JOURNAL}") if not path.parent.is_symlink()]
    return max(found).parent if found else None


class Follower:
    """One run folder, followed; ``changes`` may be called as often as one likes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._at = self._lines = self._ops = 0
        self._slices: dict[int, _Slice] = defaultdict(_Slice)
        self._open: dict[int, tuple[str, int]] = {}
        self._counts = [0] * len(OUTCOMES)
        self._received = self._last_ns = 0
        self._told_outcome: str | None = None

    def changes(self) -> dict[str, Any] | None:
        """What is new since the last call; ``None`` if nothing is. The first call tells what run it is."""
        touched: set[int] = set()
        events: list[list[Any]] = []
        read = 0
        for entry in self._entries():
            read += 1
            self._fold(entry, touched, events)
        outcome = self._outcome()
        if not read and outcome == self._told_outcome:
            return None
        told = {"about": self._about()} if self._told_outcome is None else {}
        self._told_outcome = outcome
        rows = [self._slices[number].row(number) for number in sorted(touched)]
        for number in sorted(self._slices)[:-SLICES_MAX]:
            del self._slices[number]
        waiting = sum(f == "send" for f, _ in self._open.values())
        has_report = bool(outcome) and (self.folder / "report.html").is_file()
        return {
            **told, "slices": rows, "events": events, "ops": self._ops, "last": self._last_ns / 1e9,
            "unanswered": waiting, "ended": self._counts, "received": self._received,
            "outcome": outcome, "report": has_report,
        }  # fmt: skip

    def _entries(self) -> Iterator[Any]:
        with (self.folder / runfolder.JOURNAL).open("rb") as file:
            file.seek(self._at)
            data = file.read(A_LOOK)
        whole = data[: data.rfind(b"\n") + 1]
        try:
            yield from decode_journal(whole, place=str(self.folder / runfolder.JOURNAL))
        except HistoryError as problem:
            raise HistoryError(f"{problem.what}, counted from line {self._lines + 1}", place=problem.place) from None
        self._at += len(whole)
        self._lines += whole.count(b"\n")

    def _fold(self, entry: Any, touched: set[int], events: list[list[Any]]) -> None:
        if isinstance(entry, Invoke):
            self._ops += 1
            self._open[entry.op] = entry.f, entry.ns
        elif isinstance(entry, Complete):
            self._complete(entry, touched)
        elif isinstance(entry, Event) and entry.kind in TOLD:
            events.append([entry.ns / 1e9, entry.kind, entry.node, entry.fault, entry.step, _verb(entry)])
        self._last_ns = max(self._last_ns, getattr(entry, "ns", 0))

    def _complete(self, entry: Complete, touched: set[int]) -> None:
        f, begin_ns = self._open.pop(entry.op, ("", entry.ns))
        one, number = self._slices[entry.ns // SLICE_NS], entry.ns // SLICE_NS
        touched.add(number)
        if f == "send" and entry.outcome in OUTCOMES:
            place = OUTCOMES.index(entry.outcome)
            one.ended[place] += 1
            self._counts[place] += 1
            one.taken_ns.append(entry.ns - begin_ns)
        one.received += len(entry.messages)
        self._received += len(entry.messages)

    def _about(self) -> dict[str, Any]:
        run = json.loads(text) if (text := self._text("run.json")) else {}
        wanted: Sequence[str] = ("scenario", "mode", "flush", "target", "backend", "seed")
        return {"run": self.folder.name, **{name: str(run.get(name, "")) for name in wanted}}

    def _text(self, name: str) -> str:
        path = self.folder / name
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def _outcome(self) -> str:
        found = runfolder.read_outcome(self.folder)
        return found.name if found is not None else ""


def _verb(entry: Event) -> str:
    return str(entry.detail.get("do", "")) if isinstance(entry.detail, dict) else ""
