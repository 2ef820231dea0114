"""Every mode against every fault, many seeds a cell, on the simulator, over all cores.

Question: where do promises hold, where is loss shown, and which seed shows a failure?

Model. A row is a configuration (mode and flush type), a column a fault; a cell is one scenario made here, run with
every seed. Runs are independent and small, so they are handed out one by one to worker processes and come back as a
few numbers. The outcome of a cell is the worst of its runs, with one addition: where the contract *allows* loss, some
seed must show it, else the fault did not bite and the cell is UNKNOWN (its negative control stayed silent).

Limits. Simulator only: real processes share the machine, so two at a time would disturb each other. An error of the
harness in one run is UNKNOWN with that error, and does not stop the others.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from checkers.contract import contract_of
from checkers.verdict import Outcome
from faults.errors import suggestion
from faults.plan import bind_fault
from harness.errors import HarnessError, UsageError
from harness.scenario import SECOND, Flush, Mode, Scenario, Topology, Workload

if TYPE_CHECKING:
    from harness.run import Keep, RunResult

JOBS: Final = 2


@dataclass(frozen=True)
class Row:
    """One configuration."""

    mode: Mode
    flush: Flush
    brokers: int

    @property
    def name(self) -> str:
        return f"{self.mode}/{self.flush}"


ROWS: Final = (
    Row("single-master", "async", 1),
    Row("single-master", "sync", 1),
    Row("multi-master", "async", 3),
    Row("multi-master", "sync", 3),
)

COLUMNS: Final[Mapping[str, Mapping[str, Any]]] = {
    "kill": {"on": "one of masters", "hold": "3s"},
    "stop": {"on": "one of masters", "hold": "3s"},
    "pause": {"on": "one of masters", "hold": "4s"},
    "restart": {"on": "one of masters"},
    "cut_power": {"on": "one of masters", "hold": "2s"},
    "partition": {"on": "clients | masters", "hold": "4s"},
    "isolate": {"on": "one of masters", "hold": "4s"},
}
"""A column is a verb; what it hits and for how long."""

DEFAULT_ROWS: Final = ("single-master/async", "single-master/sync", "multi-master/async")
DEFAULT_COLUMNS: Final = ("kill", "pause", "cut_power", "partition")

LOAD: Final = Workload(producers=4, consumers=2, queues=4, rate_per_s=40, duration_ns=10 * SECOND)
STRIKES: Final = "3s..6s"


@dataclass(frozen=True)
class Plan:
    """What is run: rows, columns, seeds, and what is kept."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    seeds: Sequence[int]
    defects: tuple[str, ...] = ()
    keep: Keep = "failures"
    out: Path | None = None

    def cells(self) -> list[tuple[str, str]]:
        return [(row, column) for row in self.rows for column in self.columns]


@dataclass(frozen=True)
class Report:
    """What one run came to, small enough to send between processes."""

    row: str
    column: str
    seed: int
    outcome: Outcome
    headline: str
    lost: int = 0
    oldest_lost_age_ms: int = 0
    replay: str = ""
    folder: str = ""


@dataclass(frozen=True)
class Cell:
    """All runs of one scenario. ``reason`` says what the cell itself lacks."""

    row: str
    column: str
    reports: tuple[Report, ...]
    reason: str = ""

    @property
    def outcome(self) -> Outcome:
        own = Outcome.UNKNOWN if self.reason or not self.reports else Outcome.PASS
        return max((own, *(report.outcome for report in self.reports)))

    @property
    def passed(self) -> int:
        return sum(report.outcome is Outcome.PASS for report in self.reports)

    @property
    def with_loss(self) -> int:
        return sum(report.lost > 0 for report in self.reports)

    @property
    def worst(self) -> Report | None:
        return max(self.reports, key=lambda report: report.outcome, default=None)


def chosen(what: str, names: Sequence[str], known: Iterable[str], default: tuple[str, ...]) -> tuple[str, ...]:
    """*names* or the default; ``UsageError`` for one that is not known."""
    known = tuple(known)
    for name in names:
        if name not in known:
            raise UsageError(f"the matrix has no {what} {name!r}", hint=suggestion(name, known))
    return tuple(dict.fromkeys(names)) or default


def scenario_of(row: str, column: str) -> Scenario:
    """The scenario of a cell."""
    configuration = next(candidate for candidate in ROWS if candidate.name == row)
    fault = bind_fault(1, at=STRIKES, do=column, **COLUMNS[column])
    return Scenario(
        name=f"grid-{row.replace('/', '-')}-{column.replace('_', '-')}",
        mode=configuration.mode,
        topology=Topology(nameservers=1, brokers=configuration.brokers, flush=configuration.flush),
        workload=LOAD,
        faults=(fault,),
        description=f"{fault} in {row}",
        source="matrix",
    )


def run_matrix(plan: Plan, jobs: int = JOBS) -> Iterator[Report]:
    """Reports as they come. Closing the iterator drops what has not begun and waits for what has."""
    tasks = ((row, column, seed) for seed in plan.seeds for row, column in plan.cells())
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_ignore_interrupt) as pool:
        pending: set[Future[Report]] = set()
        try:
            for task in tasks:
                pending.add(pool.submit(run_one, plan, *task))
                if len(pending) >= 4 * jobs:
                    yield from _finished(pending)
            while pending:
                yield from _finished(pending)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _finished(pending: set[Future[Report]]) -> list[Report]:
    """Wait for the next ones and take them out; in the order of row, column and seed, not of a set."""
    done, _ = wait(pending, return_when=FIRST_COMPLETED)
    pending -= done
    try:
        reports = [future.result() for future in done]
    except BrokenProcessPool as error:
        raise HarnessError("a worker process died", hint="out of memory? try --jobs 1") from error
    return sorted(reports, key=lambda report: (report.row, report.column, report.seed))


def _ignore_interrupt() -> None:
    """Ctrl-C goes to the whole foreground group; the parent decides what ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run_one(plan: Plan, row: str, column: str, seed: int) -> Report:
    """One run, in a worker."""
    from harness.run import run_scenario

    scenario = scenario_of(row, column)
    try:
        result = run_scenario(scenario, seed=seed, out=plan.out, defects=plan.defects, keep=plan.keep)
    except HarnessError as error:
        return Report(row, column, seed, Outcome.UNKNOWN, f"{type(error).__name__}: {error.what}")
    return _report(row, column, result)


def _report(row: str, column: str, result: RunResult) -> Report:
    from harness.summary import headline, measure

    return Report(
        row,
        column,
        result.seed,
        result.outcome,
        headline(result),
        measure(result.verdicts, "lost"),
        measure(result.verdicts, "oldest_lost_age_ms"),
        result.replay_command if result.folder else "",
        str(result.folder or ""),
    )


def cells_of(plan: Plan, reports: Iterable[Report]) -> list[Cell]:
    """Every cell of the plan, in its order, with its negative control."""
    by_cell: dict[tuple[str, str], list[Report]] = {cell: [] for cell in plan.cells()}
    for report in reports:
        by_cell[report.row, report.column].append(report)
    cells = (Cell(*key, tuple(sorted(found, key=lambda report: report.seed))) for key, found in by_cell.items())
    return [replace(cell, reason=silent_control(cell)) for cell in cells]


def silent_control(cell: Cell) -> str:
    """Why the cell proves nothing although its runs pass: loss is allowed there and none was seen."""
    mode, _, flush = cell.row.partition("/")
    contract = contract_of(mode)
    promise = contract.promise(cell.column, flush) if contract else None
    if promise is None or promise.loss == "none" or cell.with_loss or not cell.reports:
        return ""
    return f"{cell.column} may lose messages in {mode} with {flush} flush, and no seed of {len(cell.reports)} shows it"


class Pace:
    """Runs a minute, for the progress line."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self._began_s = total, 0, time.monotonic()

    def line(self) -> str:
        per_minute = 60 * self.done / max(time.monotonic() - self._began_s, 1e-9)
        return f"{self.done}/{self.total} runs, {per_minute:.0f} a minute"
