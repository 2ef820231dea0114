"""Checkers against brute force, a million random small histories an object: ``make fuzz``.

    python scripts/fuzz_checkers.py [--histories 1000000] [--only TEXT] [--object NAME …] [--jobs N] [--first SEED]

Seeds count from --first; a disagreement prints the object, the seed and the history, and ends with exit code 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from suites.unit.checkers.differential import OBJECTS, compare

CHUNK = 10_000


def main() -> int:
    """Compare object by object; one line each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--histories", type=int, default=1_000_000, help="histories an object")
    parser.add_argument("--only", default="", help="objects whose name contains this")
    parser.add_argument("--object", action="append", choices=OBJECTS, help="this very object; may be repeated")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    arguments = parser.parse_args()
    wrong_total = total = 0
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for name in arguments.object or OBJECTS:
            if arguments.only in name:
                seeds = list(_chunks(arguments.first, arguments.histories))
                total += arguments.histories
                wrong_total += _one(name, list(pool.map(compare, [name] * len(seeds), seeds)))
    print(f"{total} histories, {wrong_total} wrong answers", flush=True)
    return 1 if wrong_total else 0


def _chunks(first: int, count: int) -> Iterator[range]:
    for start in range(first, first + count, CHUNK):
        yield range(start, min(start + CHUNK, first + count))


def _one(name: str, results: list[tuple[dict[str, int], list[tuple[int, Any]]]]) -> int:
    counts = {kind: sum(result[0][kind] for result in results) for kind in ("legal", "illegal", "unknown")}
    wrong = [case for result in results for case in result[1]]
    shares = ", ".join(f"{counts[kind]:,} {kind}" for kind in counts)
    print(f"{name:40s} {sum(counts.values()):>10,} histories: {shares}; {len(wrong)} wrong", flush=True)
    for seed, history in wrong[:3]:
        print(f"  seed {seed}: {history}", flush=True)
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main())
