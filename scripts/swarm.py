"""``make swarm``: random plans of overlapping faults: what FAILs, and what stays UNKNOWN?

    python scripts/swarm.py [--plans 5000] [--seed N] [--jobs N]

Brokers without planted bugs, simulated. Prints each plan that FAILs or stays UNKNOWN, then how many did. A FAIL is a
false alarm, or a violation: those that RocketMQ is known for (``docs/findings.md``) are counted apart. Ends with 1 if
there is any other FAIL, with 2 if more than 5 % are UNKNOWN.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import Pool

from harness.errors import EXIT_FAIL, EXIT_PASS, EXIT_UNKNOWN
from harness.matrix import JOBS
from harness.random_plans import KNOWN_VIOLATIONS, random_scenario
from harness.run import run_scenario

UNKNOWN_PERCENT_MAX = 5


@dataclass(frozen=True)
class Came:
    """What one plan came to; ``kinds`` of its anomalies that are not allowed, ``why`` in a sentence."""

    seed: int
    outcome: str
    kinds: tuple[str, ...] = ()
    why: str = ""

    @property
    def is_known(self) -> bool:
        return bool(self.kinds) and set(self.kinds) <= set(KNOWN_VIOLATIONS)


def run(seed: int) -> Came:
    """Plan *seed*, run and judged."""
    result = run_scenario(random_scenario(seed), seed=seed, keep="none")
    found = [anomaly for verdict in result.verdicts for anomaly in verdict.anomalies if not anomaly.allowed]
    reasons = [reason for verdict in result.verdicts for reason in verdict.reasons]
    why = found[0].sentence if found else reasons[0] if reasons else ""
    return Came(seed, result.outcome.name, tuple(sorted({anomaly.kind for anomaly in found})), why)


def run_all(seeds: range, jobs: int) -> Iterator[Came]:
    with Pool(jobs) as pool:
        yield from pool.imap_unordered(run, seeds, chunksize=4)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plans", type=int, default=5_000, help="how many plans (default: 5000)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default: 1)")
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"worker processes (default: {JOBS})")
    arguments = parser.parse_args()
    began, counts = time.monotonic(), Counter[str]()
    for came in run_all(range(arguments.seed, arguments.seed + arguments.plans), arguments.jobs):
        counts["known violation" if came.is_known else came.outcome] += 1
        if came.outcome != "PASS" and not came.is_known:
            print(f"{came.outcome}  plan {came.seed}  {', '.join(came.kinds)}: {came.why[:200]}", flush=True)
    total = sum(counts.values())
    print(f"{total} plans in {time.monotonic() - began:.0f} s: {dict(sorted(counts.items()))}")
    if counts["FAIL"]:
        return EXIT_FAIL
    return EXIT_UNKNOWN if 100 * counts["UNKNOWN"] > UNKNOWN_PERCENT_MAX * total else EXIT_PASS


if __name__ == "__main__":
    sys.exit(main())
