"""Checkers against a second oracle on all small histories of each shape: ``make shapes``.

    python scripts/enumerate_shapes.py [--only TEXT] [--jobs N] [--seconds S --state FILE]

A disagreement prints the shape and the history, and ends with exit code 1. One line a shape; the table of
``docs/checkers/README.md`` is what it printed last. Half an hour of one core: with ``--state`` it goes on where it
ended, and says at the end what is left.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from suites.unit.checkers.shapes import SHAPES, compare

PARTS = 64
"""A shape is compared in so many parts, each of them every 64th history; what is kept is kept by part."""

Part = dict[str, Any]
"""Counts of answers, and the histories that were judged wrongly, as text."""


def main() -> int:
    """Compare shape by shape, part by part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--only", default="", help="shapes whose name contains this")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no part later than this")
    parser.add_argument("--state", type=Path, help="where finished parts are kept, and taken from")
    arguments = parser.parse_args()
    until_s = time.monotonic() + arguments.seconds
    kept: dict[str, dict[str, Part]] = {}
    if arguments.state and arguments.state.exists():
        kept = json.loads(arguments.state.read_text())
    failed = False
    with Pool(arguments.jobs) as pool:
        for name in (name for name in SHAPES if arguments.only in name):
            parts = kept.setdefault(name, {})
            left = [part for part in range(PARTS) if str(part) not in parts]
            for part, found in pool.imap(partial(_part, name, until_s), left):
                if found:
                    parts[str(part)] = found
                    _keep(arguments.state, kept)
            failed = _told(name, list(parts.values())) or failed
    return 1 if failed else 0


def _part(name: str, until_s: float, part: int) -> tuple[int, Part]:
    """(part, what was found in it; nothing if it is too late)."""
    if time.monotonic() > until_s:
        return part, {}
    counts, wrong = compare(SHAPES[name], PARTS, part)
    return part, {"counts": counts, "wrong": [str(history) for history in wrong]}


def _keep(state: Path | None, kept: dict[str, dict[str, Part]]) -> None:
    if state:
        state.write_text(json.dumps(kept))


def _told(name: str, parts: list[Part]) -> bool:
    counts = {kind: sum(part["counts"][kind] for part in parts) for kind in ("legal", "illegal", "unknown")}
    wrong = [history for part in parts for history in part["wrong"]]
    shares = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    whole = "" if len(parts) == PARTS else f" ({len(parts)} of {PARTS} parts)"
    print(f"{name:58s} {sum(counts.values()):>10,} histories: {shares}; {len(wrong)} wrong{whole}", flush=True)
    for history in wrong[:3]:
        print(f"  {history}", flush=True)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
