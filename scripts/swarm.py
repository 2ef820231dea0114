"""``make swarm``: random plans of overlapping faults: what FAILs, and what stays UNKNOWN?

    python scripts/swarm.py [--plans 5000] [--seed N] [--mode MODE] [--jobs N]
                            [--backend process] [--target rocketmq:4.9.7]
                            [--out FILE] [--minutes N] [--shape] [--print SEED]

Brokers without planted bugs. Prints each plan that FAILs or stays UNKNOWN, then how many did. A FAIL is a false alarm
or a violation; those that come about in a way that RocketMQ is known for (``checkers/runs/mechanisms.py``) are counted
apart. Ends with 1 if there is any other FAIL, with 2 if more than 5 % are UNKNOWN.

``--out`` keeps a line of JSON a plan, and a later call with the same file goes on where it was left; runs that are no
PASS are kept beside it, in a folder of the same name. ``--minutes`` begins no more plans after that time. ``--shape``
runs nothing and prints what the plans consist of, ``--print`` one of them as a scenario file. Real processes mostly
wait: four at a time do for two cores.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import combinations
from multiprocessing import get_context
from multiprocessing.pool import AsyncResult
from pathlib import Path

from checkers.runs.mechanisms import mechanism_of, unexplained
from checkers.verdict import Verdict
from harness.backends.table import BACKENDS, DEFAULT, backend_named
from harness.errors import EXIT_FAIL, EXIT_PASS, EXIT_UNKNOWN, HarnessError
from harness.matrix import JOBS
from harness.modes import MODES
from harness.random_plans import random_scenario
from harness.run import run_scenario
from harness.scenario_file import dump

UNKNOWN_PERCENT_MAX = 5
KNOWN = "known violation"


@dataclass(frozen=True)
class Plan:
    """Which plan, and where it runs."""

    seed: int
    backend: str
    target: str
    mode: str
    folder: Path | None


@dataclass(frozen=True)
class Came:
    """What one plan came to. ``kinds`` of its failures, ``ways`` that are known, ``why`` in a sentence."""

    seed: int
    outcome: str
    kinds: tuple[str, ...] = ()
    ways: tuple[str, ...] = ()
    why: str = ""
    folder: str = ""

    @property
    def counts_as(self) -> str:
        return KNOWN if self.outcome == "FAIL" and not self.why else self.outcome


def run(plan: Plan) -> Came:
    """One plan, run and judged."""
    scenario = random_scenario(plan.seed, plan.backend, plan.target, plan.mode)
    try:
        result = run_scenario(
            scenario,
            backend=plan.backend,
            target=plan.target,
            seed=plan.seed,
            out=plan.folder,
            keep="failures" if plan.folder else "none",
        )
    except HarnessError as error:
        return Came(plan.seed, "UNKNOWN", why=f"{type(error).__name__}: {error.what}")
    return _came(plan.seed, result.verdicts, result.outcome.name, str(result.folder or ""))


def _came(seed: int, verdicts: tuple[Verdict, ...], outcome: str, folder: str) -> Came:
    found = [anomaly for verdict in verdicts for anomaly in verdict.anomalies if not anomaly.allowed]
    reasons = [f"{verdict.check}: {reason}" for verdict in verdicts for reason in verdict.reasons]
    new = unexplained(found)
    why = new[0].sentence if new else reasons[0] if reasons and not found else ""
    kinds = tuple(sorted({anomaly.kind for anomaly in new or found}))
    return Came(seed, outcome, kinds, tuple(sorted({mechanism_of(a) for a in found} - {""})), why, folder)


def run_all(plans: list[Plan], jobs: int, until_s: float) -> Iterator[Came]:
    """As they come; none begins after *until_s* but those that were handed out already."""
    with get_context("spawn").Pool(jobs) as pool:
        running: list[AsyncResult[Came]] = []
        for plan in plans:
            while len(running) >= jobs:
                running[0].wait(0.2)
                for done in [one for one in running if one.ready()]:
                    running.remove(done)
                    yield done.get()
            if time.monotonic() > until_s:
                break
            running.append(pool.apply_async(run, (plan,)))
        for one in running:
            yield one.get()


def shape(plans: list[Plan]) -> None:
    """What the plans consist of: modes, loads, verbs, and how many faults and overlaps."""
    counts: dict[str, Counter[str]] = {}
    for plan in plans:
        scenario = random_scenario(plan.seed, plan.backend, plan.target, plan.mode)
        spans = [(f.at.low_ns, f.at.low_ns + (f.hold.low_ns if f.hold else 1)) for f in scenario.faults]
        overlaps = sum(a[0] < b[1] and b[0] < a[1] for a, b in combinations(spans, 2))
        counts.setdefault("mode", Counter())[f"{scenario.mode}/{scenario.topology.flush}"] += 1
        counts.setdefault("load", Counter()).update((scenario.workload.kind, *scenario.workload.observers))
        counts.setdefault("verb", Counter()).update(fault.do for fault in scenario.faults)
        counts.setdefault("faults", Counter())[str(len(spans))] += 1
        counts.setdefault("overlapping pairs", Counter())[str(overlaps)] += 1
    for what, found in counts.items():
        print(f"{what}: {', '.join(f'{name} {count}' for name, count in sorted(found.items()))}")


def _told(came: Came) -> None:
    if came.counts_as in ("FAIL", "UNKNOWN"):
        print(f"{came.outcome}  plan {came.seed}  {', '.join(came.kinds)}: {came.why[:300]}", flush=True)


def _before(out: Path | None) -> dict[int, Came]:
    """What an earlier call has written."""
    if out is None or not out.exists():
        return {}
    lines = (json.loads(line) for line in out.read_text(encoding="utf-8").splitlines())
    return {row["seed"]: Came(**{**row, "kinds": tuple(row["kinds"]), "ways": tuple(row["ways"])}) for row in lines}


def _summary(came: list[Came], seconds: float) -> int:
    counts = Counter(one.counts_as for one in came)
    print(f"{len(came)} plans, {seconds:.0f} s of this call: {dict(sorted(counts.items()))}")
    if ways := Counter(way for one in came if one.counts_as == KNOWN for way in one.ways):
        print(f"known ways: {dict(sorted(ways.items()))}")
    if counts["FAIL"]:
        return EXIT_FAIL
    return EXIT_UNKNOWN if 100 * counts["UNKNOWN"] > UNKNOWN_PERCENT_MAX * len(came) else EXIT_PASS


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plans", type=int, default=5_000, help="how many plans (default: 5000)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default: 1)")
    parser.add_argument("--mode", choices=MODES, default="", help="of this mode only, also one whose roles move")
    parser.add_argument("--backend", choices=BACKENDS, default=DEFAULT, help=f"(default: {DEFAULT})")
    parser.add_argument("--target", default="reference", help="whose brokers, e.g. rocketmq:5.3.3")
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"runs at a time (default: {JOBS})")
    parser.add_argument("--out", type=Path, help="a file to add results to, and to go on from")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no more plans after that")
    parser.add_argument("--print", type=int, metavar="SEED", help="print one plan as a scenario file, run nothing")
    parser.add_argument("--shape", action="store_true", help="print what the plans consist of, run nothing")
    return parser.parse_args()


def main() -> int:
    arguments, began_s = _arguments(), time.monotonic()
    needs_folder = backend_named(arguments.backend).needs_folder
    out: Path | None = arguments.out or (Path("swarm.jsonl") if needs_folder else None)
    folder = out.with_suffix("") if out else None
    done = _before(out)
    seeds = range(arguments.seed, arguments.seed + arguments.plans)
    plans = [Plan(seed, arguments.backend, arguments.target, arguments.mode, folder) for seed in seeds]
    if arguments.print is not None:
        print(dump(random_scenario(arguments.print, arguments.backend, arguments.target, arguments.mode)), end="")
        return EXIT_PASS
    if arguments.shape:
        shape(plans)
        return EXIT_PASS
    left = [plan for plan in plans if plan.seed not in done]
    came = [done[seed] for seed in seeds if seed in done]
    for one in run_all(left, arguments.jobs, began_s + 60 * arguments.minutes):
        came.append(one)
        _told(one)
        if out:
            with out.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(asdict(one)) + "\n")
    return _summary(came, time.monotonic() - began_s)


if __name__ == "__main__":
    sys.exit(main())
