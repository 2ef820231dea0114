"""A measured figure, what it is compared with, and how it is shown.

Question: what can a number from a machine that others use at the same time be worth?

Model. A figure stands beside a *yardstick*, another figure of the same minute and process: the ratio of the two
survives a busy machine, the number itself does not. Of several attempts the best counts, since everything that disturbs
makes slower, nothing makes faster. An aim is an absolute number, kept or missed on this machine now, and the load
average is told with it.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns, process_time_ns

LABEL_WIDTH = 54


@dataclass(frozen=True)
class Figure:
    """One line of a benchmark's table. ``ratio`` is ``value`` over the yardstick's; ``beside`` names the yardstick."""

    label: str
    value: float
    unit: str
    ratio: float | None = None
    beside: str = ""
    at_least: float | None = None
    at_most: float | None = None
    note: str = ""

    @property
    def is_met(self) -> bool | None:
        """``None`` for a figure without an aim."""
        if self.at_least is not None:
            return self.value >= self.at_least
        return None if self.at_most is None else self.value <= self.at_most

    @property
    def aim(self) -> str:
        """``≥ 1,000`` or ``≤ 100``, empty without an aim."""
        if self.at_least is not None:
            return f"≥ {self.at_least:,.0f}"
        return "" if self.at_most is None else f"≤ {self.at_most:,.0f}"

    def line(self) -> str:
        """The figure as a row of the table."""
        digits = 0 if self.value >= 100 else 1 if self.value >= 10 else 2
        columns = f"  {self.label:<{LABEL_WIDTH}} {self.value:>13,.{digits}f} {self.unit:<12}"
        beside = "" if self.ratio is None else f"{self.ratio:7.2f} × {self.beside}"
        verdict = {True: "met", False: "MISSED", None: ""}[self.is_met]
        aim = f"aim {self.aim}: {verdict}" if self.aim else ""
        lines = [f"{columns} {beside:<24} {aim}".rstrip()]
        lines += [f"      {self.note}"] if self.note else []
        return "\n".join(lines)


def load_average() -> str:
    """Processes that wanted a processor in the last minute, and how many processors there are."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def processor_seconds(work: Callable[[], object]) -> float:
    """Of this process, garbage collected before it starts."""
    return _seconds(work, process_time_ns)


def wall_seconds(work: Callable[[], object]) -> float:
    """As a person waits."""
    return _seconds(work, perf_counter_ns)


def _seconds(work: Callable[[], object], clock: Callable[[], int]) -> float:
    gc.collect()
    begin_ns = clock()
    work()
    return max(1, clock() - begin_ns) / 1e9
