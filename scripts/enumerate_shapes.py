"""Checkers against a second oracle on all small histories of each shape: ``make shapes``.

    python scripts/enumerate_shapes.py [--only TEXT] [--jobs N]

A disagreement prints the shape and the history, and ends with exit code 1. One line a shape; the table of
``docs/checkers/README.md`` is what it printed last.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from multiprocessing import Pool
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from suites.unit.checkers.shapes import SHAPES, Placed, compare


def main() -> int:
    """Compare shape by shape; each job takes every so-and-so-manyth history."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--only", default="", help="shapes whose name contains this")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    failed = False
    with Pool(arguments.jobs) as pool:
        for name in SHAPES:
            if arguments.only in name:
                parts = pool.map(partial(_part, name, arguments.jobs), range(arguments.jobs))
                failed = _told(name, parts) or failed
    return 1 if failed else 0


def _part(name: str, jobs: int, first: int) -> tuple[dict[str, int], list[list[Placed]]]:
    return compare(SHAPES[name], jobs, first)


def _told(name: str, parts: list[tuple[dict[str, int], list[list[Placed]]]]) -> bool:
    counts = {kind: sum(part[0][kind] for part in parts) for kind in parts[0][0]}
    wrong = [history for part in parts for history in part[1]]
    shares = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    print(f"{name:58s} {sum(counts.values()):>10,} histories: {shares}; {len(wrong)} wrong", flush=True)
    for history in wrong[:3]:
        print(f"  {history}", flush=True)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
