"""``mqchaos dashboard``: one self-contained HTML page from the tables of a lake; no Spark, no network."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.errors import EXIT_PASS, UsageError
from harness.terminal import Terminal


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``dashboard``."""
    parser.epilog = "examples:\n  mqchaos dashboard\n  mqchaos dashboard --marts marts --out dashboard.html\n"
    parser.add_argument("--marts", type=Path, default=Path("marts"), metavar="DIR", help="the tables (default: marts)")
    parser.add_argument(
        "--out", type=Path, default=Path("dashboard.html"), metavar="FILE", help="the page (default: dashboard.html)"
    )


def execute(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Write the page."""
    from results.dashboard import build

    if not any(arguments.marts.glob("*.parquet")):
        raise UsageError(f"there are no tables in {arguments.marts}", hint="mqchaos lake marts --out marts")
    terminal.result(f"page: {build(arguments.marts, arguments.out)}")
    return EXIT_PASS
