"""``mqchaos compare A B``: is B worse than A? Paired runs by plan and seed, a judgement a figure, a page, an exit code.

Question: may we upgrade, may this commit go in?

Model. A and B are targets (``rocketmq:4.9.7``): the cells of the matrix are run with both, every seed once each, but
for what is in ``--keep`` already; so it can be broken off and gone on with. With ``--runs`` nothing is run: the run
folders there are paired, and A and B may also be commits (``commit:abc123``) or folders of runs of one side each.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.errors import EXIT_FAIL, EXIT_PASS, EXIT_UNKNOWN, UsageError
from harness.terminal import Terminal, Ticker

if TYPE_CHECKING:
    from results.compare.figures import Measured
    from results.compare.pairs import Comparison

EPILOG: Final = """\
examples:
  mqchaos compare rocketmq:4.9.7 rocketmq:5.3.3 --seeds 10               runs both, pair by pair
  mqchaos compare rocketmq:4.9.7 rocketmq:5.3.3 --seed 1 --for 2h        goes on where it was, for two hours
  mqchaos compare rocketmq:4.9.7 rocketmq:5.3.3 --runs runs              pairs what is there
  mqchaos compare commit:1a2b3c commit:4d5e6f --runs runs
  mqchaos compare before/runs after/runs

exit codes:
  0 same or better    1 worse    2 cannot tell    3 harness error    64 usage
"""
EXIT: Final = {"worse": EXIT_FAIL, "cannot tell": EXIT_UNKNOWN, "same": EXIT_PASS, "better": EXIT_PASS}


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``compare``."""
    parser.epilog = EPILOG
    parser.add_argument("first", metavar="A", help="a target, commit:SHA, or a folder of runs")
    parser.add_argument("second", metavar="B", help="the same; B is judged against A")
    parser.add_argument("--runs", type=Path, metavar="DIR", help="pair the run folders below DIR, run nothing")
    parser.add_argument("--seeds", default="10", metavar="N|A..B", help="seeds of every cell (default: 10)")
    parser.add_argument("--seed", metavar="N", help="the first seed (default: a fresh one)")
    parser.add_argument("--row", action="append", default=[], metavar="MODE/FLUSH", help="as for mqchaos matrix")
    parser.add_argument("--fault", action="append", default=[], metavar="NAME", help="as for mqchaos matrix")
    parser.add_argument(
        "--for", dest="for_", metavar="TIME", help="begin no run after so long (30m), compare what is there"
    )
    parser.add_argument("--backend", default="process", metavar="NAME", help="where to run (default: process)")
    parser.add_argument("--keep", type=Path, default=Path("compare/runs"), metavar="DIR", help="where runs are kept")
    parser.add_argument("--out", type=Path, default=Path("compare.html"), metavar="FILE", help="the page")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")


def execute(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Run if need be, pair, judge, show."""
    from results.compare import compare
    from results.compare.page import write_page

    sides = (arguments.first, arguments.second)
    if arguments.runs is None and not all(Path(side).is_dir() for side in sides):
        _run_both(arguments, terminal)
        arguments.runs = arguments.keep
    first, second = (_side(side, arguments.runs, terminal) for side in sides)
    comparison = compare(first, second, sides)
    if not comparison.pairs:
        raise UsageError(
            f"no run of {sides[0]} has the plan and seed of one of {sides[1]}",
            hint=f"{len(first)} and {len(second)} runs were found; mqchaos matrix --seed N --keep all makes such runs",
        )
    _show(comparison, terminal)
    terminal.result(f"page: {write_page(comparison, arguments.out)}")
    if arguments.json:
        from results.compare.page import row_of

        terminal.document({"judgement": comparison.judgement, "pairs": comparison.pairs,
                           "figures": [row_of(difference) for difference in comparison.whole]})  # fmt: skip
    return EXIT[comparison.judgement]


def _side(side: str, runs: Path | None, terminal: Terminal) -> list[Measured]:
    """The runs of one side that can be read; what cannot is said."""
    from harness.errors import HistoryError
    from results.commands.lake import run_folders
    from results.compare.figures import measure
    from results.lake import DamagedRun

    is_folder = Path(side).is_dir()
    folders, _ = run_folders([Path(side) if is_folder or runs is None else runs])
    found = []
    with Ticker(terminal) as ticker:
        for done, folder in enumerate(folders):
            ticker.tick(lambda done=done: f"{done}/{len(folders)} runs read")  # type: ignore[misc]
            try:
                found.append(measure(folder))
            except (DamagedRun, HistoryError) as problem:
                terminal.say(f"left out: {problem}")
    return found if is_folder else list(_of(side, found))


def _of(side: str, runs: Sequence[Measured]) -> Iterator[Measured]:
    kind, _, commit = side.partition(":")
    for run in runs:
        if (kind == "commit" and run.commit.startswith(commit)) or run.target == side:
            yield run


def _run_both(arguments: argparse.Namespace, terminal: Terminal) -> None:
    """What is not there yet; the same seed and folder go on where it was broken off."""
    from faults.units import duration_ns
    from harness import seeds
    from harness.matrix import COLUMNS, DEFAULT_COLUMNS, DEFAULT_ROWS, ROWS, Pace, Plan, chosen
    from results.compare.pending import done_in, left, parts, run

    rows = chosen("row", arguments.row, (row.name for row in ROWS), DEFAULT_ROWS)
    columns = chosen("fault", arguments.fault, COLUMNS, DEFAULT_COLUMNS)
    several = seeds.chosen(arguments.seed, arguments.seeds, None)
    try:
        for_s = duration_ns(arguments.for_) / 1e9 if arguments.for_ else float("inf")
    except ValueError as problem:
        raise UsageError(f"--for: {problem}") from None
    plan = Plan(rows, columns, several, (), "all", arguments.keep, arguments.backend)
    whole = parts(plan, (arguments.first, arguments.second))
    todo = left(whole, done_in(arguments.keep))
    pace = Pace(sum(len(part.wanted()) for part in todo))
    first = seeds.text(several[0])
    terminal.say(
        f"{len(plan.cells())} cells × {len(several)} seeds from {first}, both sides: {pace.total} runs are left"
    )
    again = f"go on with: the same command and --seed {first}"
    try:
        with Ticker(terminal) as ticker:
            for _ in run(todo, for_s):
                pace.done += 1
                ticker.tick(pace.line)
    except KeyboardInterrupt:
        terminal.say(again)
        raise
    if pace.done < pace.total:
        terminal.say(f"{pace.total - pace.done} runs are left; {again}")


def _show(comparison: Comparison, terminal: Terminal) -> None:
    colour = {"worse": "red", "cannot tell": "yellow", "same": "green", "better": "green"}
    terminal.result(
        f"{terminal.style(comparison.judgement, colour[comparison.judgement], 'bold')}  {comparison.second} beside "
        f"{comparison.first}, {comparison.pairs} pairs of runs"
    )
    for found in comparison.whole:
        interval = f"{found.low:+.4g} to {found.high:+.4g}" if found.pairs else "not measured"
        terminal.result(
            f"  {found.judgement:<12} {found.figure.words}: {found.first:.4g} and {found.second:.4g} "
            f"{found.figure.unit}, difference {interval} (margin {found.margin:.3g})"
        )
    worse = [cell for cell, found in comparison.cells.items() if any(one.judgement == "worse" for one in found)]
    if worse:
        terminal.result(f"  worse in: {', '.join(worse)}")
