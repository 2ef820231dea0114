"""Which unit executes which lines of the reference, and how does it end while nothing is changed?

Question: whom need one ask about a mutant, and whose answer would mean something?

Model. Every unit is run once a seed with coverage.py. Its record has the outcome, CPU seconds and lines by path. Only
units that PASS judge: one that fails without a change cannot tell of a change. Lines are those of bodies, since a
process imports every module once, whoever needs it.

``jobs`` processes work at once. After ``until`` none begins.

Limits. A line of several conditions counts as executed when its first one is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Final

from harness.mutation.population import Mutant
from harness.mutation.records import Records
from harness.mutation.worker import Order, Run
from harness.mutation.workers import Said, carry_out

AT_ONCE: Final = 6
"""Runs of one process: what it imports is paid once."""
ALLOWANCE_S: Final = 300.0
PASS: Final = "PASS"


@dataclass(frozen=True)
class Footprint:
    """What one unit with one seed executes, when nothing is changed."""

    unit: str
    seed: int
    outcome: str
    cpu_s: float
    history: str
    lines: dict[str, frozenset[int]]

    @property
    def judges(self) -> bool:
        """Whether an outcome other than this one would tell anything."""
        return self.outcome == PASS

    def executes(self, mutant: Mutant) -> bool:
        return mutant.change.line in self.lines.get(mutant.path, frozenset())


def footprints(records: Records) -> list[Footprint]:
    """All that are recorded."""
    found = {(record["unit"], record["seed"]): _footprint(record) for record in records.read()}
    return list(found.values())


def probe(
    records: Records, wanted: Sequence[tuple[str, int]], jobs: int = 1, until: float = float("inf")
) -> Iterator[Said]:
    """Run what is *wanted* and not recorded; each is recorded before it is given."""
    known = {(footprint.unit, footprint.seed) for footprint in footprints(records)}
    missing = [one for one in wanted if one not in known]
    with ThreadPoolExecutor(jobs) as pool:
        running: dict[Future[list[Said]], list[tuple[str, int]]] = {}
        while running or (missing and time.monotonic() < until):
            while missing and len(running) < jobs and time.monotonic() < until:
                begun, missing = missing[:AT_ONCE], missing[AT_ONCE:]
                running[pool.submit(_run, begun)] = begun
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                begun = running.pop(future)
                for said in future.result():
                    begun.remove((said.unit, said.seed))
                    records.append(_record(said))
                    yield said
                missing = begun + missing  # those behind one that took the process with it


def _run(runs: Sequence[tuple[str, int]]) -> list[Said]:
    return list(carry_out(Order([Run(*one, ALLOWANCE_S) for one in runs], probe=True)))


def _record(said: Said) -> dict[str, Any]:
    lines = {path: _ranges(numbers) for path, numbers in said.lines.items()}
    about = {"unit": said.unit, "seed": said.seed, "outcome": said.outcome, "cpu_s": said.cpu_s}
    return {**about, "history": said.history, "cause": said.cause, "lines": lines}


def _footprint(record: dict[str, Any]) -> Footprint:
    lines = {path: frozenset(_numbers(ranges)) for path, ranges in record["lines"].items()}
    about = (record["unit"], record["seed"], record["outcome"], record["cpu_s"], record["history"])
    return Footprint(*about, lines)


def _ranges(numbers: Sequence[int]) -> list[list[int]]:
    """``[[1, 3], [7, 7]]`` for 1, 2, 3, 7."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges


def _numbers(ranges: Sequence[Sequence[int]]) -> Iterator[int]:
    for low, high in ranges:
        yield from range(low, high + 1)
