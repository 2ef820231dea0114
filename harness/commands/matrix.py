"""``mqchaos matrix``: modes × faults × seeds, as one table.

Question: at one glance, where do the guarantees hold?
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.commands.run import add_world, check_defects, interruptible
from harness.terminal import OUTCOME_COLOURS, Terminal, Ticker

if TYPE_CHECKING:
    from harness.errors import HarnessError
    from harness.junit import Case
    from harness.matrix import Cell, Plan, Report

EPILOG = """\
examples:
  mqchaos matrix                                               the grid, 20 seeds a cell
  mqchaos matrix --seeds 200 --row single-master/async --fault cut_power
  mqchaos matrix --load push --fault zombie --fault storm      consumer groups, and what befalls their members
  mqchaos matrix --defect ack-before-fsync                     what the planted bug breaks
  mqchaos matrix --backend process --target rocketmq:4.9.7 --seeds 1 --row multi-master-multi-slave-sync/async

exit codes:
  0 every cell PASS    1 some cell FAIL    2 some cell UNKNOWN    3 a worker died    64 usage    130 interrupted
"""
ENDING = ("no more runs begin; when those under way have ended, the table of all that are done", "already ending")
WIDTH_WITHOUT_TERMINAL = 120
FINDINGS_MAX = 12
COLUMNS_MAX = 8
"""With more faults than that the table is turned: faults go down."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``matrix``."""
    from harness.matrix import DEFAULT_COLUMNS, DEFAULT_ROWS, LOAD, NAMES, ROWS
    from harness.pool import JOBS

    parser.epilog = EPILOG
    parser.add_argument("--seeds", default="20", metavar="N|A..B", help="seeds of every cell (default: 20)")
    parser.add_argument("--seed", metavar="N", help="the first seed (default: a fresh one)")
    parser.add_argument(
        "--row",
        action="append",
        default=[],
        metavar="MODE/FLUSH",
        help=f"of {', '.join(row.name for row in ROWS)} (repeatable; default: {', '.join(DEFAULT_ROWS)})",
    )
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="NAME",
        help=f"of {', '.join(NAMES)} (repeatable; default: {', '.join(DEFAULT_COLUMNS)})",
    )
    parser.add_argument(
        "--load", default=LOAD.kind, metavar="KIND", help=f"what clients do (list workloads; default: {LOAD.kind})"
    )
    add_world(parser)
    parser.add_argument("--defect", action="append", default=[], metavar="NAME", help="plant a bug (repeatable)")
    parser.add_argument("--jobs", type=int, default=JOBS, metavar="N", help=f"worker processes (default: {JOBS})")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of run folders (default: runs)")
    parser.add_argument(
        "--keep",
        choices=("all", "failures", "none"),
        default="failures",
        help="which run folders stay (default: failures)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit XML")


def execute(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Run the grid and show it."""
    from harness import junit
    from harness.backends.table import backend_named
    from harness.commands.fetch import make_ready
    from harness.errors import EXIT_INTERRUPTED
    from harness.matrix import cells_of
    from harness.runfolder import RUNS, check_place
    from harness.seeds import text
    from harness.summary import EXIT_CODES

    plan = _plan(arguments)
    if arguments.junit:
        junit.check(arguments.junit)
    if plan.keep != "none" or plan.out:
        check_place(plan.out or RUNS)
    make_ready(plan.target, terminal)
    where = f"one by one on {plan.backend}, {plan.target}"
    workers = f"{arguments.jobs} workers" if backend_named(plan.backend).runs_at_once else where
    terminal.say(f"{len(plan.cells())} cells × {len(plan.seeds)} seeds from {text(plan.seeds[0])}, {workers}")
    reports, trouble = _run(plan, arguments.jobs, terminal)
    cells = cells_of(plan, reports)
    if arguments.json:
        terminal.document(_document(plan, cells))
    _show(plan, cells, terminal)
    terminal.result(f"seeds {text(plan.seeds[0])}..{text(plan.seeds[-1])}, {len(reports)} runs")
    runs = len(plan.cells()) * len(plan.seeds)
    if not (is_whole := len(reports) == runs):
        why = "broken off" if trouble else "interrupted"
        terminal.result(f"{why}: {runs - len(reports)} of {runs} runs are missing")
    if arguments.junit:
        junit.write_cases(arguments.junit, [_case(plan, report) for report in reports])
    if trouble is not None:
        raise trouble
    return EXIT_CODES[max(cell.outcome for cell in cells)] if is_whole else EXIT_INTERRUPTED


def _plan(arguments: argparse.Namespace) -> Plan:
    from harness import seeds
    from harness.errors import UsageError
    from harness.matrix import DEFAULT_COLUMNS, DEFAULT_ROWS, LOAD, NAMES, ROWS, Plan, chosen
    from harness.pool import check_jobs
    from harness.preflight import check_fit
    from harness.workloads.table import LOADS

    check_defects(arguments.defect)
    check_jobs(arguments.jobs)
    check_fit(arguments.backend, arguments.target)
    plan = Plan(
        chosen("row", arguments.row, (row.name for row in ROWS), DEFAULT_ROWS),
        chosen("fault", arguments.fault, NAMES, DEFAULT_COLUMNS),
        seeds.chosen(arguments.seed, arguments.seeds, None),
        tuple(arguments.defect),
        arguments.keep,
        arguments.out,
        arguments.backend,
        arguments.target,
        *chosen("load", [arguments.load], LOADS, (LOAD.kind,)),
    )
    if not plan.cells():
        raise UsageError(
            "there is no such cell", hint="faults of slaves need slaves, those of clients a --load like push"
        )
    return plan


def _run(plan: Plan, jobs: int, terminal: Terminal) -> tuple[list[Report], HarnessError | None]:
    """The reports there are: all of them, fewer after a Ctrl-C or SIGTERM, or those from before what went wrong."""
    from harness.errors import HarnessError
    from harness.matrix import Pace, run_matrix

    reports: list[Report] = []
    trouble: HarnessError | None = None
    pace = Pace(len(plan.cells()) * len(plan.seeds))
    with interruptible(terminal, ENDING) as interrupt, Ticker(terminal) as ticker:
        running = run_matrix(plan, jobs)
        try:
            for report in running:
                reports.append(report)
                pace.done += 1
                ticker.tick(pace.line)
                if interrupt.presses:
                    running.close()  # type: ignore[attr-defined]  # a generator
                    break
        except HarnessError as error:
            trouble = error
    terminal.say(pace.line())
    return reports, trouble


def _show(plan: Plan, cells: list[Cell], terminal: Terminal) -> None:
    """The table, then what is not green, the worst first."""
    for line in _table(plan, cells, terminal).splitlines():
        terminal.result(line.rstrip())
    bad = sorted((cell for cell in cells if cell.outcome), key=lambda cell: -cell.outcome)
    for cell in bad[:FINDINGS_MAX]:
        for line in _finding(cell, terminal):
            terminal.result(line)
    if len(bad) > FINDINGS_MAX:
        terminal.result(f"… and {len(bad) - FINDINGS_MAX} more cells")


def _table(plan: Plan, cells: list[Cell], terminal: Terminal) -> str:
    from io import StringIO

    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    found = {(cell.row, cell.column): cell for cell in cells}
    is_turned = len(plan.columns) > COLUMNS_MAX
    down, across = (plan.columns, plan.rows) if is_turned else (plan.rows, plan.columns)
    table = Table(Column(no_wrap=True), *(Column(_head(name), overflow="fold") for name in across))
    for name in down:
        line = [found.get((other, name) if is_turned else (name, other)) for other in across]
        texts = [Text(_cell_text(c), style=OUTCOME_COLOURS[c.outcome.name]) if c else Text("–") for c in line]
        table.add_row(name, *texts)
    has_colour = terminal.style("x", "red") != "x"
    console = Console(
        file=StringIO(),
        width=None if terminal.is_live else WIDTH_WITHOUT_TERMINAL,
        force_terminal=has_colour,
        no_color=not has_colour,
    )
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def _head(name: str) -> str:
    """With places where a narrow column may break it."""
    return name.replace("-multi-slave-", " multi-slave ").replace("/", " / ")


def _cell_text(cell: Cell) -> str:
    if not cell.reports:
        return "not run"
    lines = [f"{cell.outcome.name} {cell.passed}/{len(cell.reports)}"]
    if cell.idle:
        lines.append(f"idle {cell.idle}")
    if cell.known:
        lines.append(f"known {cell.known}")
    if cell.with_loss:
        most = max(report.lost for report in cell.reports)
        lines.append(f"loss in {cell.with_loss}, ≤ {most}")
    return "\n".join(lines)


def _finding(cell: Cell, terminal: Terminal) -> list[str]:
    from harness.seeds import text

    head = f"{terminal.outcome(cell.outcome.name)}  {cell.row} × {cell.column}"
    worst = cell.worst
    if worst is None or not worst.outcome:
        return [f"{head}: {cell.reason or 'nothing was run'}"]
    lines = [f"{head}, seed {text(worst.seed)}: {worst.headline}"]
    return [*lines, f"  replay: {worst.replay}"] if worst.replay else lines


def _case(plan: Plan, report: Report) -> Case:
    from harness.junit import Case
    from harness.seeds import text

    name = f"{report.row} × {report.column}"
    lines = [report.headline, *([f"replay: {report.replay}"] if report.replay else [])]
    return Case(
        f"mqchaos.{plan.backend}",
        f"{name}[{plan.backend}-{plan.target}-{text(report.seed)}]",
        report.outcome,
        report.headline,
        "\n".join(lines),
        {"seed": text(report.seed), "backend": plan.backend, "target": plan.target, "run_dir": report.folder},
    )


def _document(plan: Plan, cells: list[Cell]) -> dict[str, Any]:
    from harness.seeds import text

    return {
        "seeds": [text(plan.seeds[0]), text(plan.seeds[-1])],
        "cells": [
            {
                "row": cell.row,
                "fault": cell.column,
                "outcome": cell.outcome.name,
                "reason": cell.reason,
                "runs": len(cell.reports),
                "passed": cell.passed,
                "idle": cell.idle,
                "known": cell.known,
                "with_loss": cell.with_loss,
                "lost_max": max((report.lost for report in cell.reports), default=0),
                "oldest_lost_age_ms_max": max((report.oldest_lost_age_ms for report in cell.reports), default=0),
                "not_passed": [
                    {"seed": text(r.seed), "outcome": r.outcome.name, "what": r.headline, "replay": r.replay}
                    for r in cell.reports
                    if r.outcome
                ],
            }
            for cell in cells
        ],
    }
