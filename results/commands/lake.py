"""``mqchaos lake add|ls|compact|verify|marts|recheck``: many runs in one place, and the tables over all of them.

Question: how do runs get into the lake, what is in it, and how is it kept?

Model. Everything but ``marts`` is plain Parquet without Spark. A run is added once; one that was judged again replaces
its verdict; one that cannot be read is quarantined with its reason while the others are added.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from harness.errors import EXIT_ERROR, EXIT_PASS, BackendUnavailable, UsageError
from harness.terminal import Terminal, Ticker

if TYPE_CHECKING:
    import pyarrow as pa

    from results.lake import Lake

EPILOG: Final = """\
examples:
  mqchaos lake add runs                        every judged run below runs/, once
  mqchaos lake ls                              what is in it, by mode and day
  mqchaos lake compact --drop-before 2026-01-01
  mqchaos lake verify                          read every page of every file
  mqchaos lake marts                           the tables over all runs (Spark; needs Java 17 or later)
  mqchaos lake recheck                         judge all runs again, list what changed (--write: keep it)

A lake is a path or a URI (file://, s3://, gs://, hdfs://).

exit codes:
  0 done    3 a run was quarantined, or a file is damaged    64 usage    130 interrupted; nothing is half done
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``lake``."""
    parser.epilog = EPILOG
    actions = parser.add_subparsers(dest="action", metavar="add|ls|compact|verify|marts|recheck", required=True)
    add = _action(actions, "add", "bring run folders in")
    add.add_argument("runs", nargs="*", type=Path, metavar="RUN", help="run folders, or folders of run folders")
    _action(actions, "ls", "what is in it")
    compact = _action(actions, "compact", "merge small files; drop what is old")
    compact.add_argument("--drop-before", metavar="DAY", default="", help="remove runs of days before yyyy-mm-dd")
    _action(actions, "verify", "read all of it and compare checksums, counts and records")
    marts = _action(actions, "marts", "build the tables over all runs with Spark")
    marts.add_argument("--out", type=Path, default=Path("marts"), metavar="DIR", help="where to (default: marts)")

    again = _action(actions, "recheck", "judge all runs again with the checkers of today, over Spark")
    again.add_argument("--write", action="store_true", help="keep the new verdicts, in run folders and lake")
    again.add_argument("--out", type=Path, default=Path("marts"), metavar="DIR",
                       help="where the table of what each check cost goes (default: marts)")  # fmt: skip


def _action(actions: Any, name: str, summary: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name, prog=f"mqchaos lake {name}", help=summary, description=f"{summary[0].upper()}{summary[1:]}."
    )
    parser.add_argument("--lake", default="lake", metavar="PLACE", help="path or URI of the lake (default: lake)")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    return parser


def execute(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """One of them."""
    from results.lake import Lake

    with installed():
        return _ACTIONS[arguments.action](arguments, Lake(arguments.lake), terminal)


@contextmanager
def installed() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise BackendUnavailable(f"{error.name} is not installed", hint="pip install 'mqchaos[spark]'") from error


REMEDY: Final = (
    "  hint: mqchaos check RUN writes tables and verdict anew, from run.json and journal.jsonl; where these are "
    "damaged, run its scenario again"
)


def _add(arguments: argparse.Namespace, lake: Lake, terminal: Terminal) -> int:
    from results.lake.ingest import add

    folders, unfinished = run_folders(arguments.runs)
    if unfinished:
        terminal.say(f"left out, never judged (mqchaos check does it): {', '.join(path.name for path in unfinished)}")
    if not folders:
        raise UsageError("no run folders were given", hint="mqchaos lake add runs")
    with Ticker(terminal) as ticker:
        added = add(folders, lake, lambda done: ticker.tick(lambda: f"{done}/{len(folders)} run folders read"))
    terminal.result(added.words())
    for reason in added.quarantined.values():
        terminal.result(f"  quarantined: {reason}")
    if added.quarantined:
        terminal.say(REMEDY)
    if added.left_out:
        terminal.say(f"columns that this version does not know were left out: {', '.join(sorted(added.left_out))}")
    if arguments.json:
        terminal.document(
            {"lake": arguments.lake, **{key: value for key, value in vars(added).items() if key != "left_out"}}
        )
    return EXIT_ERROR if added.quarantined else EXIT_PASS


def run_folders(paths: list[Path]) -> tuple[list[Path], list[Path]]:
    """(run folders to add, those that were never judged). A path is a run folder, or a folder of such.

    An unfinished run that is named itself is not left out: it is quarantined with the reason.
    """
    found: dict[Path, None] = {}
    unfinished = []
    for path in paths:
        if not path.is_dir():
            raise UsageError(f"there is no folder {path}")
        if (path / "run.json").is_file():
            found[path.resolve()] = None
            continue
        for folder in sorted(file.parent for file in path.rglob("run.json") if not file.parent.is_symlink()):
            if (folder / "verdict.json").is_file():
                found[folder.resolve()] = None
            else:
                unfinished.append(folder)
    return list(found), unfinished


def _ls(arguments: argparse.Namespace, lake: Lake, terminal: Terminal) -> int:
    rows: dict[tuple[str, str], list[int]] = {}
    for commit in lake.commits():
        row = rows.setdefault((commit.mode, commit.day), [0, 0, 0, 0])
        size = sum(lake.place.size(commit.file(table)) for table in commit.rows)
        for place, value in enumerate((1, len(commit.runs), commit.rows["ops"], size)):
            row[place] += value
    quarantined = lake.quarantined()
    if arguments.json:
        names = ("batches", "runs", "operations", "bytes")
        parts = [{"mode": mode, "day": day, **dict(zip(names, row, strict=True))} for (mode, day), row in rows.items()]
        terminal.document({"lake": lake.place.uri, "partitions": parts, "quarantined": quarantined})
        return EXIT_PASS
    terminal.result(f"{'mode':<34}{'day':<12}{'batches':>8}{'runs':>9}{'operations':>14}{'size':>11}")
    for (mode, day), (batches, runs, ops, size) in sorted(rows.items()):
        terminal.result(f"{mode:<34}{day:<12}{batches:>8,}{runs:>9,}{ops:>14,}{size / 2**20:>7,.1f} MiB")
    for entry in quarantined:
        terminal.result(f"quarantined: {entry['reason']}")
    if not rows:
        terminal.result("the lake is empty")
    return EXIT_PASS


def _compact(arguments: argparse.Namespace, lake: Lake, terminal: Terminal) -> int:
    from datetime import date

    from results.lake.upkeep import compact, drop_before

    dropped: list[str] = []
    if arguments.drop_before:
        try:
            date.fromisoformat(arguments.drop_before)
        except ValueError:
            raise UsageError(f"{arguments.drop_before!r} is no day", hint="yyyy-mm-dd") from None
        dropped = drop_before(lake, arguments.drop_before)
        terminal.result(f"{len(dropped)} runs of before {arguments.drop_before} removed")
    with Ticker(terminal) as ticker:
        before, after = compact(lake, lambda done: ticker.tick(lambda: f"{done} groups of batches merged"))
    terminal.result(f"{before} batches before, {after} after")
    if arguments.json:
        terminal.document({"dropped": dropped, "batches_before": before, "batches_after": after})
    return EXIT_PASS


def _verify(arguments: argparse.Namespace, lake: Lake, terminal: Terminal) -> int:
    from results.lake.upkeep import verify

    total = len(lake.commits())
    with Ticker(terminal) as ticker:
        wrong = verify(lake, lambda done: ticker.tick(lambda: f"{done}/{total} batches read"))
    for line in wrong:
        terminal.result(line)
    if not wrong:
        terminal.result(f"{total} batches, all as recorded")
    if arguments.json:
        terminal.document({"batches": total, "wrong": wrong})
    return EXIT_ERROR if wrong else EXIT_PASS


def _marts(arguments: argparse.Namespace, lake: Lake, terminal: Terminal) -> int:
    from results.marts.build import build
    from results.marts.outcomes import in_words

    def tell_first(outcomes: pa.Table) -> None:
        ticker.clear()
        terminal.result(in_words(outcomes))

    with Ticker(terminal) as ticker:
        built = build(
            lake,
            arguments.out,
            lambda name, done, total: ticker.tick(lambda: f"{done}/{total} tables: {name}"),
            tell_first,
        )
    whole = built.session_s + sum(built.seconds.values())
    terminal.result(
        f"{len(built.rows)} tables over {built.runs:,} runs and {built.ops:,} operations in {arguments.out}, "
        f"{whole:.0f} s"
    )
    if arguments.json:
        terminal.document({"marts": str(arguments.out), **vars(built)})
    return EXIT_PASS


def _recheck(arguments: argparse.Namespace, lake: Lake, terminal: Terminal) -> int:
    from results.lake.ingest import add
    from results.marts.check_costs import write_costs
    from results.recheck import changes, recheck, write

    total = len(lake.holders())
    with Ticker(terminal) as ticker:
        rows = recheck(lake, lambda done: ticker.tick(lambda: f"{done}/{total} runs judged"))
    changed = changes(rows)
    for change in changed:
        terminal.result(f"{change.run}: {change.before} → {change.after or 'not judged'}: {change.what}")
    terminal.result(f"{len(rows)} runs judged again, {len(changed)} are different")
    write_costs(rows, arguments.out)
    if arguments.write:
        terminal.result(add(write(rows), lake).words())
    if arguments.json:
        terminal.document({"runs": len(rows), "changed": [vars(change) for change in changed]})
    return EXIT_PASS


_ACTIONS: Final = {"add": _add, "ls": _ls, "compact": _compact, "verify": _verify, "marts": _marts, "recheck": _recheck}
