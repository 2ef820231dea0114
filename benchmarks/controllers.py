"""How long has a broker name no master that takes messages, when its controllers elect another?

In ``controller-masters-die-in-turn`` each master in turn is killed under load, five times a run. What passes from a
kill is cut at what clients see:

    listed     a NameServer lists another master (each is asked every half second)
    write      the first message sent after the kill is acknowledged; with minInSyncReplicas=2 the new master waits for
               a replica that is in sync with it

A failover counts if it came about before the next kill; how many did not is told. Brokers of release 5.5.0, on real
processes: the reference has no controllers. For runs that are there already:

    python -m benchmarks.controllers RUN_FOLDER…
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.figure import Figure
from checkers.history.faults import faults_of
from checkers.history.history import History
from harness import runfolder
from harness.run import run_scenario
from harness.workloads.scripts import NOBODY

SCENARIO: Final = "controller-masters-die-in-turn"
TARGET: Final = "rocketmq:5.5.0"
RUNS: Final = 2
LABELS: Final = {"listed": "from the kill to another master in the routes", "write": "from the kill to SEND_OK"}

Failover = dict[str, int]
"""Part → when it was over, nanoseconds after the kill. What did not come about before the next kill is not there."""


def measure(quick: bool) -> Iterator[Figure]:
    if quick:
        return
    with tempfile.TemporaryDirectory(prefix="mqchaos-benchmark-") as folder:
        histories = []
        for seed in range(1, RUNS + 1):
            result = run_scenario(SCENARIO, backend="process", target=TARGET, seed=seed, out=Path(folder), keep="all")
            assert result.folder is not None
            histories.append(runfolder.load_history(result.folder))
        yield from figures(histories)


def figures(histories: list[History]) -> Iterator[Figure]:
    """One a part, over all failovers of all *histories*."""
    found = [failover for history in histories for failover in failovers(history)]
    for part, label in LABELS.items():
        lasted = np.sort(np.array([one[part] for one in found if part in one], dtype=np.int64)) // 1_000_000
        if not len(lasted):
            continue
        note = f"{len(lasted)} of {len(found)} kills; each: {', '.join(f'{ms:,}' for ms in lasted.tolist())} ms"
        yield Figure(label, float(np.median(lasted)), "ms", note=note)


def failovers(history: History) -> list[Failover]:
    """One a kill of who was listed as the master."""
    listings = list(_listed(history))
    kills = [
        (fault.inject_ns, node)
        for fault in faults_of(history.events)
        for node in fault.left
        if fault.does("ends") and node in _last_before(listings, fault.inject_ns)
    ]
    ends = [ns for ns, _ in kills[1:]] + [int(history.events.ns.max(initial=0))]
    return [_failover(history, listings, *kill, end) for kill, end in zip(kills, ends, strict=True)]


def _listed(history: History) -> Iterator[tuple[int, int, list[str]]]:
    """(asked, answered, whom the NameServer lists as masters), by the answer."""
    ops = history.ops
    rows = np.flatnonzero(ops.f.mask("master") & ops.outcome.mask("ok"))
    for row in rows[np.argsort(ops.complete_ns[rows], kind="stable")].tolist():
        masters = json.loads(ops.detail[row] or "{}").values()
        yield int(ops.invoke_ns[row]), int(ops.complete_ns[row]), [name for name in masters if name != NOBODY]


def _last_before(listings: list[tuple[int, int, list[str]]], ns: int) -> list[str]:
    return next((masters for _, answered, masters in reversed(listings) if answered <= ns), [])


def _failover(
    history: History, listings: list[tuple[int, int, list[str]]], killed_ns: int, node: str, end_ns: int
) -> Failover:
    ops = history.ops
    others = (ns for asked, ns, masters in listings if killed_ns <= asked and masters and node not in masters)
    granted = ops.f.mask("send") & ops.outcome.mask("ok") & (ops.invoke_ns >= killed_ns)
    first = {"listed": next(others, end_ns), "write": int(ops.complete_ns[granted].min(initial=end_ns))}
    return {part: ns - killed_ns for part, ns in first.items() if ns < end_ns}


if __name__ == "__main__":
    for figure in figures([runfolder.load_history(Path(folder)) for folder in sys.argv[1:]]):
        print(figure.line())
