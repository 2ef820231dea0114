"""All units, one seed each, and what they came to: ``suites/recorded/exercised.jsonl``.

    python -m suites.exercise.record [--jobs N] [--seed N] [PATTERN …]

Question: how many units exercise each point, and which one should somebody look at who wants to see it?

Model. An entry a point: how many units exercised it, and the first of them by name. A point that no unit exercises has
the number 0: that is what the page is for. Statuses that clients saw are entries too, by operation.

Limits. Some units alone, named by patterns, are run and not recorded. One seed: what shows with one seed in a hundred
counts as never.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Collection
from functools import partial
from multiprocessing import get_context
from typing import Final

from harness.mutation.units import units
from suites import recorded
from suites.exercise.points import declared
from suites.exercise.watch import Exercised, watched

PATH: Final = recorded.FOLDER / "exercised.jsonl"
STATUS: Final = "status"
RUN: Final = "run"
"""How many units there were."""


def main(words: list[str] | None = None) -> int:
    """Run and record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pattern", nargs="*", help="units, as mqchaos mutate names them (default: all)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args(words)
    names = [unit.name for unit in units(arguments.pattern)]
    found = []
    with get_context("spawn").Pool(arguments.jobs, maxtasksperchild=20) as pool:
        for one in pool.imap_unordered(partial(watched, seed=arguments.seed), names):
            found.append(one)
            note = "" if one.is_good else "  (did not come out as it should)"
            sys.stderr.write(f"{len(found)} of {len(names)}  {one.unit}{note}\n")
    if arguments.pattern:
        sys.stdout.write(f"{len(found)} units; not recorded: that takes all of them\n")
        return 0
    recorded.write(PATH, entries(found), lambda entry: (entry["kind"], entry["name"]))
    sys.stdout.write(f"{len(found)} units; {PATH.name} written\n")
    return 0


def entries(found: Collection[Exercised]) -> list[recorded.Entry]:
    """One a point, exercised or not."""
    by_point: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in found:
        for kind, names in {**one.points, STATUS: one.statuses}.items():
            for name in names:
                by_point[kind, name].append(one.unit)
    verbs = {name.partition(" of ")[0] for kind, name in by_point if kind == "fault"}
    never = [(point.kind, point.name) for point in declared() if point.kind != "fault" or point.name not in verbs]
    points = {**{point: [] for point in never}, **by_point}
    return [
        {"kind": RUN, "name": "units", "units": len({one.unit for one in found}), "first": ""},
        *(
            {"kind": kind, "name": name, "units": len(by), "first": min(by, default="")}
            for (kind, name), by in points.items()
        ),
    ]


if __name__ == "__main__":
    sys.exit(main())
