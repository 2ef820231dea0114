"""The measurement: mutant by mutant, each judged by units that execute it, in processes of their own.

Question: which mutants are still to be judged, by whom, and how long does that take?

Model. A mutant's record is appended when its last run has ended; so a measurement that was killed goes on where it was.
``jobs`` processes work at once. After ``until`` none begins.

    population ─ draw ─►  choice (by footprints) ─►  worker ─►  result ─►  records
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Final

from harness import runfolder
from harness.mutation.choice import judges_of
from harness.mutation.population import Mutant
from harness.mutation.probe import Footprint
from harness.mutation.records import Records
from harness.mutation.result import Result, result_of
from harness.mutation.worker import Order, Run
from harness.mutation.workers import Said, carry_out

SECONDS: Final = 60.0
"""CPU seconds that a mutant's units may cost, as the probe measured them."""
ALLOWANCE_FACTOR: Final = 6
ALLOWANCE_LEAST_S: Final = 20.0
AFTER_UNKNOWN: Final = 2
"""Runs after the first that is not PASS: another may say FAIL, and of what."""


Judge = Callable[[Mutant, Sequence[Footprint], float], Result]


@dataclass(frozen=True)
class Limits:
    """*seconds*: of CPU for one mutant's units; *until*: no mutant begins after this (``time.monotonic``)."""

    seconds: float = SECONDS
    jobs: int = 1
    until: float = float("inf")


def when_and_where() -> dict[str, str]:
    """Of a result: the day, and the commit that ran."""
    return {"day": datetime.now(UTC).date().isoformat(), "commit": runfolder.commit()}


def results(records: Records) -> dict[str, Result]:
    """What is known already, by mutant."""
    names = {field.name for field in fields(Result)}
    found = (Result(**{key: record[key] for key in names & record.keys()}) for record in records.read())
    return {result.mutant: result for result in found}


def measure(
    mutants: Sequence[Mutant],
    probed: Sequence[Footprint],
    records: Records,
    limits: Limits,
    *,
    again: Collection[str] = (),
    judge: Judge | None = None,
) -> Iterator[Result]:
    """Judge those of *mutants* that have no record, and those of *again*; each is recorded before it is given."""
    known = results(records).keys() - set(again)
    waiting = [mutant for mutant in mutants if mutant.id not in known]
    judge = judge or judged
    with ThreadPoolExecutor(limits.jobs) as pool:
        running: set[Future[Result]] = set()
        while running or (waiting and time.monotonic() < limits.until):
            while waiting and len(running) < limits.jobs and time.monotonic() < limits.until:
                running.add(pool.submit(judge, waiting.pop(0), probed, limits.seconds))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                result = future.result()
                records.append(result.to_record() | when_and_where())
                yield result


def judged(mutant: Mutant, probed: Sequence[Footprint], seconds: float) -> Result:
    """Ask the units of *mutant* until one says FAIL."""
    executing = len({one.unit for one in probed if one.executes(mutant)})
    judges = judges_of(mutant, probed, seconds)
    runs = [Run(one.unit, one.seed, _allowance(one)) for one in judges]
    order = Order(runs, mutant.path, mutant.change.number, after_unknown=AFTER_UNKNOWN)
    twins = {(one.unit, one.seed): one.history for one in judges}
    return result_of(mutant.id, executing, _said(order) if runs else [], twins)


def _said(order: Order) -> list[Said]:
    return list(carry_out(order))


def _allowance(footprint: Footprint) -> float:
    return max(ALLOWANCE_LEAST_S, ALLOWANCE_FACTOR * footprint.cpu_s)
