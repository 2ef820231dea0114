"""Every mode against every fault, many seeds a cell: on the simulator over all cores, or on processes one by one.

Question: where do guarantees hold, where is loss shown, and which seed shows a failure?

Model. A row is a configuration (mode and flush type), a column a fault on somebody (a master, a slave, the link between
them, clients, NameServers); a cell is one scenario made here, run with every seed. Columns that need a slave have cells
only in rows with slaves. Simulated runs are independent and small, so they are handed out one by one to worker
processes and come back as a few numbers; runs on real processes share the machine and follow one another. The outcome
of a cell is the worst of its runs, with one addition: where the contract *allows* loss by a fault of a master, some
seed must show it, else the fault did not take effect and the cell is UNKNOWN (its negative control stayed silent). A
seed whose fault happened to do nothing (a power cut when nothing was unwritten) is *idle*: it is counted, shows
nothing, and makes the cell UNKNOWN only if most seeds are so.

The column ``random`` is no fault: each seed is another plan of overlapping faults (``harness/random_plans.py``). A
violation that comes about in a way that RocketMQ is known for is counted there, and does not make the cell FAIL.

Limits. An error of the harness in one run is UNKNOWN with that error, and does not stop the others; what a backend
refuses is one too, so it is never green. A control that real processes left silent in a few runs proves little: it is
asked for in the simulator only, and of the load ``log``: others send less of what can be lost.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from checkers.contract import contract_of
from checkers.runs.fault_efficacy import CANNOT_TELL
from checkers.runs.mechanisms import unexplained
from checkers.verdict import Outcome, Verdict
from faults.errors import suggestion
from faults.plan import bind_fault
from harness.backends.table import DEFAULT, backend_named
from harness.errors import HarnessError, UsageError
from harness.harms import harm_of_verb
from harness.modes import MODES, Flush
from harness.pool import JOBS, run_at_once
from harness.scenario import SECOND, Scenario, Topology, Workload
from harness.workloads.table import LOADS

if TYPE_CHECKING:
    from harness.run import Keep, RunResult


@dataclass(frozen=True)
class Row:
    """One configuration."""

    mode: str
    flush: Flush
    brokers: int
    slaves: int = 0

    @property
    def name(self) -> str:
        return f"{self.mode}/{self.flush}"


ROWS: Final = tuple(Row(m.name, row.flush, row.brokers, row.slaves) for m in MODES.values() for row in m.grid)


@dataclass(frozen=True)
class Column:
    """One fault: what, on whom, for how long. ``of_master``: what it may lose is what the contract lets a master lose.
    ``load_s`` is longer where the broker itself takes its time to notice."""

    do: str
    on: str = "one of masters"
    hold: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    needs_slave: bool = False
    of_master: bool = True
    load_s: int = 10
    second: Column | None = None
    """What comes after it, at :data:`STRIKES_LATER`."""
    then: tuple[str, ...] = ()
    """Whom the same fault hits after that, one a second."""


WHOLE_BROKER: Final = "broker(broker-a)"
MASTER_SLAVE_LINK: Final = "link(master(broker-a), slave(broker-a), ha)"

COLUMNS: Final[Mapping[str, Column]] = {
    "kill": Column("kill", hold="3s"),
    "stop": Column("stop", hold="3s"),
    "pause": Column("pause", hold="4s"),
    "restart": Column("restart"),
    "starve_cpu": Column("starve_cpu", hold="4s"),
    "exhaust_files": Column("exhaust_files", hold="4s"),
    "cut_power": Column("cut_power", hold="2s"),
    "wipe": Column("wipe", hold="2s"),
    "partition": Column("partition", "clients | masters", "4s"),
    "isolate": Column("isolate", hold="4s"),
    "all-but-slaves": Column("partition", "masters | clients, nameservers", "4s", needs_slave=True),
    "nameservers": Column("kill", "nameservers", "4s", of_master=False),
    "fill_disk": Column("fill_disk", hold="14s", load_s=30),
    "clock-ahead": Column("step_clock", hold="4s", options={"by": "150s"}),
    "clock-back": Column("step_clock", hold="4s", options={"by": "-150s"}),
    "adopt_slave": Column("adopt_slave", hold="2s", needs_slave=True),
    "pair-power": Column("cut_power", WHOLE_BROKER, "2s", needs_slave=True),
    "slave-kill": Column("kill", "one of slaves", "3s", needs_slave=True, of_master=False),
    "slave-pause": Column("pause", "one of slaves", "4s", needs_slave=True, of_master=False),
    "slave-power": Column("cut_power", "one of slaves", "2s", needs_slave=True, of_master=False),
    "slave-wipe": Column("wipe", "one of slaves", "2s", needs_slave=True, of_master=False),
    "slave-isolate": Column("isolate", "one of slaves", "4s", needs_slave=True, of_master=False),
    "slave-link": Column("partition", MASTER_SLAVE_LINK, "4s", needs_slave=True, of_master=False),
}
"""Columns of one word are a verb on masters."""

CLIENT_COLUMNS: Final[Mapping[str, Column]] = {
    "member-crash": Column("kill", "client(5)", "4s", of_master=False),
    "producer-crash": Column("kill", "client(1)", "2s", of_master=False),
    "zombie": Column("pause", "client(5)", "135s", of_master=False, load_s=145),
    "storm": Column("restart", "client(5)", options={"how": "kill"}, of_master=False, then=("client(6)", "client(5)")),
}
"""Columns of loads whose clients begin again: client-1 is a producer of :data:`LOAD`, client-5 and -6 its consumers. A
*zombie* is frozen for longer than a broker keeps it (120 s), and comes back."""

MASTER: Final = "master(broker-a)"
SLAVE: Final = "slave(broker-a)"


def _pair(first: Column, second: Column) -> Column:
    """*second* when a slave had the time to come back: it looks for its master every 5 s, and says what it has 5 s
    after it has found it."""
    needs_slave = first.needs_slave or second.needs_slave
    return replace(first, second=second, needs_slave=needs_slave, load_s=25)


PAIRS: Final[Mapping[str, Column]] = {
    "kill+power": _pair(Column("kill", MASTER, "1s"), Column("cut_power", MASTER, "2s")),
    "power+kill": _pair(Column("cut_power", MASTER, "1s"), Column("kill", MASTER, "2s")),
    "restart+power": _pair(Column("restart", MASTER), Column("cut_power", MASTER, "2s")),
    "slave-power+adopt": _pair(
        Column("cut_power", SLAVE, "1s", needs_slave=True, of_master=False), Column("adopt_slave", MASTER, "2s")
    ),
    "slave-kill+adopt": _pair(
        Column("kill", SLAVE, "1s", needs_slave=True, of_master=False), Column("adopt_slave", MASTER, "2s")
    ),
    "slave-kill+kill": _pair(
        Column("kill", SLAVE, "18s", needs_slave=True, of_master=False), Column("kill", MASTER, "2s")
    ),
}
"""What the first leaves wrong the second shows."""

RANDOM: Final = "random"
NAMES: Final = (*COLUMNS, *CLIENT_COLUMNS, *PAIRS, RANDOM)
"""All columns."""

DEFAULT_ROWS: Final = tuple(f"{m.name}/{row.flush}" for m in MODES.values() for row in m.grid if row.by_default)
DEFAULT_COLUMNS: Final = ("kill", "pause", "cut_power", "partition", "adopt_slave")
"""Both questions of every mode: what does the page cache cost, and what a disk?"""

LOAD: Final = Workload(producers=4, consumers=2, queues=4, rate_per_s=40, duration_ns=10 * SECOND)
STRIKES: Final = "3s..6s"
STRIKES_LATER: Final = "19s..20s"


@dataclass(frozen=True)
class Plan:
    """What is run: rows, columns, seeds, and what is kept."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    seeds: Sequence[int]
    defects: tuple[str, ...] = ()
    keep: Keep = "failures"
    out: Path | None = None
    backend: str = DEFAULT
    target: str = "reference"
    load: str = LOAD.kind

    def cells(self) -> list[tuple[str, str]]:
        return [(row, column) for row in self.rows for column in self.columns if exists(row, column, self.load)]


def column_of(name: str) -> Column:
    return {**COLUMNS, **CLIENT_COLUMNS, **PAIRS}[name]


def exists(row: str, column: str, load: str = LOAD.kind) -> bool:
    """Whether there is such a cell: nobody can hit a slave that is not there, nor end a client that has one life only;
    plans and pairs are for roles that stay."""
    if column in PAIRS and (MODES[row_of(row).mode].roles_move or load != LOAD.kind):
        return False
    if column == RANDOM:
        return not MODES[row_of(row).mode].roles_move and load == LOAD.kind
    if column in CLIENT_COLUMNS and not LOADS[load].can_end(_number_of(CLIENT_COLUMNS[column].on), LOAD.producers):
        return False
    return bool(row_of(row).slaves) or not column_of(column).needs_slave


def _number_of(client: str) -> int:
    """5 of ``client(5)``."""
    return int(client.removeprefix("client(").removesuffix(")"))


def row_of(name: str) -> Row:
    return next(row for row in ROWS if row.name == name)


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
    is_idle: bool = False
    """Nothing is wrong but that nobody can tell whether the fault took effect."""
    is_known: bool = False
    """A random plan that FAILs only in ways that RocketMQ is known for."""


@dataclass(frozen=True)
class Cell:
    """All runs of one scenario. ``reason`` says what the cell itself lacks."""

    row: str
    column: str
    reports: tuple[Report, ...]
    reason: str = ""

    @property
    def outcome(self) -> Outcome:
        is_idle = 2 * self.idle > len(self.reports)
        own = Outcome.UNKNOWN if self.reason or is_idle or not self.reports else Outcome.PASS
        return max((own, *(report.outcome for report in self.reports if not (report.is_idle or report.is_known))))

    @property
    def idle(self) -> int:
        return sum(report.is_idle for report in self.reports)

    @property
    def known(self) -> int:
        return sum(report.is_known for report in self.reports)

    @property
    def passed(self) -> int:
        return sum(report.outcome is Outcome.PASS for report in self.reports)

    @property
    def with_loss(self) -> int:
        return sum(report.lost > 0 for report in self.reports)

    @property
    def worst(self) -> Report | None:
        return max(self.reports, key=lambda r: (not r.is_known and r.outcome, not r.is_idle), default=None)


def chosen(what: str, names: Sequence[str], known: Iterable[str], default: tuple[str, ...]) -> tuple[str, ...]:
    """*names* or the default; ``UsageError`` for one that is not known."""
    known = tuple(known)
    for name in names:
        if name not in known:
            raise UsageError(f"the matrix has no {what} {name!r}", hint=suggestion(name, known))
    return tuple(dict.fromkeys(names)) or default


def scenario_of(
    row: str,
    column: str,
    seed: int = 0,
    backend: str = DEFAULT,
    target: str = "reference",
    load: str = LOAD.kind,
) -> Scenario:
    """The scenario of a cell; of random plans that of *seed*."""
    configuration = row_of(row)
    if column == RANDOM:
        from harness.random_plans import random_plan_of

        mode = MODES[configuration.mode]
        grid_row = next(one for one in mode.grid if one.flush == configuration.flush)
        return random_plan_of(grid_row, mode, seed, backend, target)
    fault = column_of(column)
    then = tuple(
        bind_fault(number, at=f"{5 + number}s", do=fault.do, on=whom, hold=fault.hold, options=fault.options)
        for number, whom in enumerate(fault.then, 2)
    )
    second = tuple(
        bind_fault(2, at=STRIKES_LATER, do=fault.do, on=fault.on, hold=fault.hold, options=fault.options)
        for fault in ((fault.second,) if fault.second else ())
    )
    bound = bind_fault(1, at=STRIKES, do=fault.do, on=fault.on, hold=fault.hold, options=fault.options)
    topology = Topology(
        nameservers=1, brokers=configuration.brokers, slaves=configuration.slaves, flush=configuration.flush
    )
    return Scenario(
        name=f"grid-{row.replace('/', '-')}-{column.replace('_', '-').replace('+', '-')}",
        mode=configuration.mode,
        topology=topology,
        workload=replace(LOAD, kind=load, duration_ns=fault.load_s * SECOND),
        faults=(bound, *then, *second),
        properties={"broker": LOADS[load].broker} if LOADS[load].broker else {},
        description=f"{'; '.join(map(str, (bound, *second)))} in {row}",
        source="matrix",
    )


def run_matrix(plan: Plan, jobs: int = JOBS) -> Iterator[Report]:
    """Reports as they come. Closing the iterator drops what has not begun and waits for what has."""
    if not backend_named(plan.backend).runs_at_once:
        yield from (run_one(plan, row, column, seed) for seed in plan.seeds for row, column in plan.cells())
        return
    tasks = ((plan, row, column, seed) for seed in plan.seeds for row, column in plan.cells())
    yield from run_at_once(run_one, tasks, jobs, lambda report: (report.row, report.column, report.seed))


def run_one(plan: Plan, row: str, column: str, seed: int) -> Report:
    """One run, in a worker."""
    from harness.run import run_scenario

    scenario = scenario_of(row, column, seed, plan.backend, plan.target, plan.load)
    try:
        result = run_scenario(
            scenario,
            backend=plan.backend,
            target=plan.target,
            seed=seed,
            out=plan.out,
            defects=plan.defects,
            keep=plan.keep,
        )
    except HarnessError as error:
        return Report(row, column, seed, Outcome.UNKNOWN, f"{type(error).__name__}: {error.what}")
    return _report(row, column, result)


def _report(row: str, column: str, result: RunResult) -> Report:
    from harness.summary import headline, measure

    anomalies = [anomaly for verdict in result.verdicts for anomaly in verdict.anomalies]
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
        is_idle(result.verdicts),
        column == RANDOM and result.outcome is Outcome.FAIL and not unexplained(anomalies),
    )


def is_idle(verdicts: Sequence[Verdict]) -> bool:
    """UNKNOWN, and that only because a probe could not tell whether its fault took effect."""
    unknown = [verdict for verdict in verdicts if verdict.outcome is not Outcome.PASS]
    return [verdict.check for verdict in unknown] == ["faults"] and all(
        reason.startswith(CANNOT_TELL) for reason in unknown[0].reasons
    )


def cells_of(plan: Plan, reports: Iterable[Report]) -> list[Cell]:
    """Every cell of the plan, in its order, with its negative control."""
    by_cell: dict[tuple[str, str], list[Report]] = {cell: [] for cell in plan.cells()}
    for report in reports:
        by_cell[report.row, report.column].append(report)
    cells = (Cell(*key, tuple(sorted(found, key=lambda report: report.seed))) for key, found in by_cell.items())
    if not backend_named(plan.backend).runs_at_once or plan.load != LOAD.kind:
        return list(cells)
    return [replace(cell, reason=silent_control(cell)) for cell in cells]


def silent_control(cell: Cell) -> str:
    """Why the cell proves nothing although its runs pass: loss is allowed there and none was seen.

    A group that acknowledges by majority loses nothing with one member alone, so there is nothing to show.
    """
    if cell.column == RANDOM:
        return ""
    mode, _, flush = cell.row.partition("/")
    contract, slaves, column = contract_of(mode), row_of(cell.row).slaves, column_of(cell.column)
    of_masters = [fault for fault in (column, column.second) if fault and fault.of_master]
    if contract and contract.acknowledged_by == "majority":
        of_masters = [fault for fault in of_masters if fault.on == WHOLE_BROKER]
    harms = [harm_of_verb(fault.do) for fault in of_masters]
    guarantees = [contract.guarantee(harm, flush, "master") for harm in harms] if contract else []
    if cell.with_loss or not cell.reports or all(p is None or p.loss_with(slaves) == "none" for p in guarantees):
        return ""
    return f"{cell.column} may lose messages in {mode} with {flush} flush, and no seed of {len(cell.reports)} shows it"


class Pace:
    """Runs a minute, and how long the rest takes at that, for the progress line."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self._began_s = total, 0, time.monotonic()

    def line(self) -> str:
        per_minute = 60 * self.done / max(time.monotonic() - self._began_s, 1e-9)
        rest = self.total - self.done
        left = f", about {max(1, round(rest / per_minute))} min left" if rest and self.done else ""
        return f"{self.done}/{self.total} runs, {per_minute:.0f} a minute{left}"
