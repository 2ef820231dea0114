"""Every load of clients against what befalls clusters and clients, in every mode. Makes docs/client-grid.md.

    python -m suites.chaos.client_grid --seeds 3            three seeds a cell; what was run before is not run again
    python -m suites.chaos.client_grid --seeds 50 --for 1h  as many of them as fit into an hour
    python -m suites.chaos.client_grid --load push --again  these cells from the beginning; likewise --row, --fault
    python -m suites.chaos.client_grid --page               write the page from what was recorded

Question: does what producers and consumers rely on hold, whoever dies?

Model. Loads are those of ``harness.workloads.table`` that a simulator can run and any fault says something about, less
the measuring one; columns are eight of ``harness.matrix``, rows all of its rows. One run is one of ``mqchaos matrix
--load L --row R --fault F``, with the seeds 1, 2, 3 …: the first seed of every cell comes before the second of any. A
run that is *idle* is UNKNOWN for no other reason than that its fault may have done nothing (a power cut while nothing
was unwritten); it is counted apart.

Limits. One process. What was recorded ran on the code of its time: who mends something asks for its cells ``--again``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

from checkers.verdict import Outcome
from faults.units import duration_ns
from harness.matrix import LOAD, ROWS, Plan, Report, exists, run_one
from harness.workloads.table import LOADS
from scripts.markdown import wrapped
from suites import recorded

ROOT: Final = Path(__file__).resolve().parents[2]
RECORDED: Final = recorded.FOLDER / "client_grid.jsonl"
PAGE: Final = ROOT / "docs" / "client-grid.md"
COLUMNS: Final = {
    "kill": "broker killed",
    "cut_power": "power cut",
    "slave-link": "master, slave partitioned",
    "nameservers": "NameServer lost",
    "member-crash": "consumer crash",
    "zombie": "zombie consumer",
    "storm": "rebalance storm",
    "producer-crash": "producer killed",
}
"""Columns of the matrix, and what the page calls them."""
LOADS_OF_CLIENTS: Final = tuple(
    row.name for row in LOADS.values() if row.is_simulated and row.is_for_grids and row.name != LOAD.kind
)
SAVE_EVERY: Final = 20
NAMED: Final = 3
"""Runs of a cell whose reason is kept."""

Key = tuple[str, str, str]
"""Load, row, column."""


@dataclass
class Count:
    """What the runs of one cell came to. ``seeds``: 1 to this one were run."""

    seeds: int = 0
    passed: int = 0
    idle: int = 0
    unknown: int = 0
    failed: int = 0
    loss: int = 0
    why: list[str] = field(default_factory=list)

    def add(self, report: Report) -> None:
        """The next seed."""
        self.seeds = report.seed
        self.loss += report.lost > 0
        if report.outcome is Outcome.PASS:
            self.passed += 1
        elif report.is_idle:
            self.idle += 1
        else:
            self.unknown += report.outcome is Outcome.UNKNOWN
            self.failed += report.outcome is Outcome.FAIL
            if len(self.why) < NAMED:
                self.why.append(f"{report.outcome.name}, seed {report.seed}: {report.headline}")


def cells(loads: Iterable[str] = (), rows: Iterable[str] = (), columns: Iterable[str] = ()) -> list[Key]:
    """All of these; all there are where none are named."""
    return [
        (load, row, column)
        for load in loads or LOADS_OF_CLIENTS
        for row in rows or [row.name for row in ROWS]
        for column in columns or COLUMNS
        if exists(row, column, load)
    ]


def runs(wanted: list[Key], done: dict[Key, Count], seeds: int) -> Iterator[tuple[Key, Report]]:
    """What is still to be run, seed by seed."""
    for seed in range(1, seeds + 1):
        for key in wanted:
            if done.setdefault(key, Count()).seeds < seed:
                load, row, column = key
                plan = Plan((row,), (column,), (seed,), keep="failures", out=Path("runs/client-grid"), load=load)
                yield key, run_one(plan, row, column, seed)


def read() -> dict[Key, Count]:
    """What was recorded."""
    found = {}
    for entry in recorded.read(RECORDED):
        key = entry.pop("load"), entry.pop("row"), entry.pop("fault")
        found[key] = Count(**entry)
    return found


def write(done: dict[Key, Count]) -> None:
    """All of it, a line a cell."""
    entries = [{"load": key[0], "row": key[1], "fault": key[2], **vars(cell)} for key, cell in done.items()]
    recorded.write(RECORDED, [entry for entry in entries if entry["seeds"]], _about)


def _about(entry: dict[str, Any]) -> tuple[str, ...]:
    return entry["load"], entry["row"], entry["fault"]


# The page -------------------------------------------------------------------------------------------------------------


def page(done: dict[Key, Count]) -> str:
    """Sums by load and by mode, what was not PASS, then every cell."""
    done = {key: cell for key, cell in done.items() if key in set(cells())}
    total = _sum(done.values())
    missing = sum(not done.get(key, Count()).seeds for key in cells())
    seeds = [cell.seeds for cell in done.values()]
    few, many = (min(seeds), max(seeds)) if seeds else (0, 0)
    return wrapped(
        f"""# Clients under faults

Generated by `python -m suites.chaos.client_grid` (`make client-grid`): every load of clients against what befalls
brokers, NameServers and clients, in every mode, simulated, the reference without planted bugs. A single cell is
`mqchaos matrix --load push --row dledger/async --fault zombie`. Loads: `mqchaos list workloads`.

{sum(total.values()):,} runs in {len(done)} cells, {few} to {many} seeds a cell, {missing} cells not run: PASS
{total["passed"]:,}, UNKNOWN {total["unknown"] + total["idle"]:,} (of which {total["idle"]:,} only because a power cut
may have found nothing unwritten), FAIL {total["failed"]:,}. Cells ran on the code of their time.

A cell says how many of how many runs PASSed; *i* counts idle ones, *U* other UNKNOWN, *F* FAIL. A PASS may have losses
that the mode's contract allows. A dash: there is no such cell (no slave, or clients that do not begin again).

## Loads

{_table(done, cells(), "load", LOADS_OF_CLIENTS, 0)}

## Modes

{_table(done, cells(), "mode / flush", [row.name for row in ROWS], 1)}

## What was not PASS

{_reasons(done)}

## Every cell

{_whole(done)}
"""
    )


def _sum(found: Iterable[Count]) -> Counter[str]:
    total: Counter[str] = Counter(passed=0, idle=0, unknown=0, failed=0)
    for cell in found:
        total.update(passed=cell.passed, idle=cell.idle, unknown=cell.unknown, failed=cell.failed)
    return total


def _table(done: dict[Key, Count], there: list[Key], head: str, names: Iterable[str], part: int) -> str:
    """Of the cells that are *there*; a line a name of that *part* of their keys."""
    lines = [f"| {head} | {' | '.join(COLUMNS.values())} |", "|---" * (len(COLUMNS) + 1) + "|"]
    for name in names:
        keys = [[key for key in there if key[part] == name and key[2] == column] for column in COLUMNS]
        texts = [_text([done[key] for key in of_column if key in done]) if of_column else "–" for of_column in keys]
        lines.append(f"| {name} | {' | '.join(texts)} |")
    return "\n".join(lines)


def _whole(done: dict[Key, Count]) -> str:
    blocks = []
    for load in LOADS_OF_CLIENTS:
        blocks.append(f"### {load}\n\n{_table(done, cells([load]), 'mode / flush', [row.name for row in ROWS], 1)}")
    return "\n\n".join(blocks)


def _text(found: list[Count]) -> str:
    total = _sum(found)
    if not (runs_ := sum(total.values())):
        return "not run"
    letters = {"i": total["idle"], "U": total["unknown"], "F": total["failed"]}
    return " ".join([f"{total['passed']}/{runs_}", *(f"{letter}{n}" for letter, n in letters.items() if n)])


def _reasons(done: dict[Key, Count]) -> str:
    lines = [f"* {load}, {row}, {column}: {why}" for (load, row, column), cell in done.items() for why in cell.why]
    return "\n".join(lines) or "Nothing but the idle runs."


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3, help="seeds of every cell (default: 3)")
    parser.add_argument("--for", dest="time", default="24h", help="stop after this time (default: 24h)")
    parser.add_argument("--load", action="append", default=[], choices=LOADS_OF_CLIENTS)
    parser.add_argument("--row", action="append", default=[], choices=[row.name for row in ROWS])
    parser.add_argument("--fault", action="append", default=[], choices=list(COLUMNS))
    parser.add_argument("--again", action="store_true", help="forget what was recorded of these cells")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    arguments = parser.parse_args()
    done, wanted = read(), cells(arguments.load, arguments.row, arguments.fault)
    if arguments.again:
        done = {key: cell for key, cell in done.items() if key not in wanted}
    end_s = time.monotonic() + duration_ns(arguments.time) / 1e9
    number = count(1)
    for key, report in () if arguments.page else runs(wanted, done, arguments.seeds):
        done[key].add(report)
        if report.outcome is not Outcome.PASS and not report.is_idle:
            sys.stdout.write(f"{' '.join(key)}, seed {report.seed}: {report.outcome.name} {report.headline}\n")
        if next(number) % SAVE_EVERY == 0:
            write(done)
        if time.monotonic() > end_s:
            break
    write(done)
    PAGE.write_text(page(read()), encoding="utf-8")


if __name__ == "__main__":
    main()
