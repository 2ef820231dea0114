"""Checkers against brute force, a million random small histories an object: ``make fuzz``.

    python scripts/fuzz_checkers.py [--histories 1000000] [--only TEXT] [--object NAME …] [--jobs N] [--first SEED]

Seeds count from --first; a disagreement prints the object, the seed and the history, and ends with exit code 1. Whoever
ends it early (Ctrl-C, ``timeout``) is told how far it came; --first goes on from there.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from suites.unit.checkers.differential import OBJECTS, compare

CHUNK = 500


def main() -> int:
    """Compare object by object; one line each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--histories", type=int, default=1_000_000, help="histories an object")
    parser.add_argument("--only", default="", help="objects whose name contains this")
    parser.add_argument("--object", action="append", choices=OBJECTS, help="this very object; may be repeated")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    total = wrong = 0
    with Pool(arguments.jobs, initializer=_leave_signals_to_the_parent) as pool:
        for name in arguments.object or OBJECTS:
            if arguments.only in name:
                seeds = _chunks(arguments.first, arguments.histories)
                its_total, its_wrong, is_over = _one(name, pool.imap(partial(compare, name), seeds))
                total, wrong = total + its_total, wrong + its_wrong
                if not is_over:
                    break
    print(f"{total} histories, {wrong} wrong answers", flush=True)
    return 1 if wrong else 0


def _leave_signals_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _chunks(first: int, count: int) -> Iterator[range]:
    for start in range(first, first + count, CHUNK):
        yield range(start, min(start + CHUNK, first + count))


def _one(name: str, results: Iterable[tuple[dict[str, int], list[tuple[int, Any]]]]) -> tuple[int, int, bool]:
    """One object, as far as its *results* come: (histories, wrong answers, whether these are all)."""
    counts = dict.fromkeys(("legal", "illegal", "unknown"), 0)
    wrong: list[tuple[int, Any]] = []
    is_over = False
    try:
        for found, cases in results:
            counts = {kind: count + found[kind] for kind, count in counts.items()}
            wrong += cases
        is_over = True
    except KeyboardInterrupt:
        pass  # the line below says how far it came
    shares = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    early = "" if is_over else "; ended early"
    print(f"{name:40s} {sum(counts.values()):>10,} histories: {shares}; {len(wrong)} wrong{early}", flush=True)
    for seed, history in wrong[:3]:
        print(f"  seed {seed}: {history}", flush=True)
    return sum(counts.values()), len(wrong), is_over


if __name__ == "__main__":
    sys.exit(main())
