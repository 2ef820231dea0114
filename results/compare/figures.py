"""One run in five numbers, counted from its operations.

``lost``         acknowledged messages that the drain did not find, of 10,000 acknowledged
``recovery_ms``  the longest time from the beginning of a fault that took effect to the first success at a queue of a
                 broker it hit, of a send begun when it had been done; a queue that did not come back counts until the
                 end of the load, which is the least that it took
``served``       share of sends, begun from the first fault on, that were acknowledged
``steady_ms``    99 % quantile of the sends that were answered before the first fault
``failed``       1 if the verdict of the run is FAIL

A number that the run cannot tell (no fault, no send) is ``None``, and its pair is left out of that figure.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from checkers.history.facts import RunFacts
from checkers.history.faults import FaultFact
from checkers.history.history import History
from harness import runfolder
from harness.report.losses import lost_rows
from results.lake.folders import RunFolder

Figures = dict[str, float | None]


@dataclass(frozen=True)
class Measured:
    """A run with its figures; runs of one *plan* and *seed* make a pair."""

    run: str
    plan: str
    seed: str
    cell: str
    target: str
    commit: str
    figures: Figures


def measure(folder: Path) -> Measured:
    """Raises ``DamagedRun`` or ``HistoryError``."""
    run = RunFolder.read(folder)
    history = runfolder.load_history(folder)
    facts = RunFacts.from_run(run.run, history)
    plan = run.judged(0, 0)["runs"]["plan"][0].as_py()
    return Measured(
        run.name, plan, str(run.run["seed"]), f"{run.run['mode']} / {run.run['flush']} × {run.fault}",
        str(run.run["target"]), str(run.run.get("commit", "")), figures_of(history, facts, json.dumps(run.verdict)),
    )  # fmt: skip


def figures_of(history: History, facts: RunFacts, verdict: str) -> Figures:
    """The five."""
    ops = history.ops
    sends = np.flatnonzero(ops.f.mask("send"))
    acknowledged = ops.outcome.mask("ok")[sends]
    struck = [fault for fault in facts.faults if fault.effective != 0]
    first_ns = min((fault.begin_ns for fault in struck), default=None)
    after = ops.invoke_ns[sends] >= first_ns if first_ns is not None else np.zeros(len(sends), dtype=np.bool_)
    ended_ns = ops.complete_ns[sends]
    steady = sends[(ended_ns >= 0) & (ended_ns <= (first_ns if first_ns is not None else ended_ns))]
    taken = (ops.complete_ns - ops.invoke_ns)[steady]
    return {
        "lost": 10_000 * len(lost_rows(history)) / int(acknowledged.sum()) if acknowledged.any() else None,
        "recovery_ms": max((_recovery_ms(history, facts, fault) for fault in struck if len(sends)), default=None),
        "served": float(acknowledged[after].mean()) if after.any() else None,
        "steady_ms": float(np.quantile(taken, 0.99)) / 1e6 if len(taken) else None,
        "failed": float(json.loads(verdict)["outcome"] == "FAIL"),
    }  # fmt: skip


def _recovery_ms(history: History, facts: RunFacts, fault: FaultFact) -> float:
    ops, queues = history.ops, history.queues
    hit = {facts.nodes.get(node, {}).get("brokerName", "") for node in (*fault.left, *fault.right)}
    sends = ops.f.mask("send")
    end_ns = int(ops.invoke_ns[sends].max())
    longest = 0
    for row in range(len(queues)):
        if queues.broker[row] in hit:
            answered = (
                sends & (ops.queue == queues.queue[row]) & ops.outcome.mask("ok") & (ops.invoke_ns >= fault.inject_ns)
            )
            back_ns = int(ops.complete_ns[answered].min()) if answered.any() else end_ns
            longest = max(longest, back_ns - fault.begin_ns)
    return longest / 1e6
