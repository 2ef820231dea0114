"""``mqchaos lake``: land run folders in the lake, and build its marts with Spark.

Model. Landing is plain Parquet and idempotent; only ``--marts`` starts Spark. This and ``dashboard`` are the two places
where the harness hands over to ``results``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.errors import EXIT_PASS, HistoryError, UsageError
from harness.terminal import Terminal

EPILOG = """\
examples:
  mqchaos lake runs                          every run folder below runs/
  mqchaos lake runs/latest --marts marts     land one, then build the marts
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``lake``."""
    parser.epilog = EPILOG
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN", help="run folders, or folders of run folders")
    parser.add_argument("--lake", type=Path, default=Path("lake"), metavar="DIR", help="the lake (default: lake)")
    parser.add_argument("--marts", type=Path, metavar="DIR", help="build the marts there (needs Java 17 and pyspark)")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")


def execute(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Land, then build."""
    from results.lake import LakeError, land

    folders, unfinished = run_folders(arguments.runs)
    if unfinished:
        terminal.say(f"left out, never judged (mqchaos check does it): {', '.join(path.name for path in unfinished)}")
    if not folders and not arguments.marts:
        raise UsageError("no run folders were given", hint="mqchaos lake runs")
    try:
        landed = land(folders, arguments.lake)
        terminal.result(f"landed {len(landed)} of {len(folders)} runs in {arguments.lake}; the others were there")
        rows = _build(arguments.lake, arguments.marts, terminal) if arguments.marts else {}
    except LakeError as error:
        raise HistoryError(str(error), hint="mqchaos check judges and finishes a run folder") from error
    if arguments.json:
        terminal.document({"lake": str(arguments.lake), "landed": landed, "marts": rows})
    return EXIT_PASS


def run_folders(paths: list[Path]) -> tuple[list[Path], list[Path]]:
    """(run folders to land, those that were never judged). A path is a run folder, or a folder of such.

    An unfinished run that is named itself is not left out: it is an error that landing will tell.
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


def _build(lake: Path, marts: Path, terminal: Terminal) -> dict[str, int]:
    from harness.errors import BackendUnavailable

    try:
        from results.marts import build

        rows = build(lake, marts)
    except ModuleNotFoundError as error:
        raise BackendUnavailable(f"{error.name} is not installed", hint="pip install 'mqchaos[spark]'") from error
    terminal.result(f"marts in {marts}: {', '.join(f'{name} {count} rows' for name, count in rows.items())}")
    return rows
