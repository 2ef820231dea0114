"""The page of a history that another tool wrote: the verdict, its proof drawn, and every operation in time.

Question: a queue of somebody else's is not one; which operations show it, and what went on around them?

Model. As the page of a run, with what such a file has: operations of processes in the order of events. The axis counts
events, since the order of lines is what was judged. A lane is a process; where there are more than
:data:`PROCESSES_MAX`, a lane is a place that processes take in turn, so that what overlaps stays side by side.

Limits. Every operation is in the page with its words: a million of them make a page of some 30 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from checkers.external.calls import Call
from checkers.history.columns import Ints
from checkers.verdict import Verdict
from harness.pages import render as render_page
from harness.report.columns import OPEN, OUTCOMES, joined

PROCESSES_MAX: Final = 40
SENTENCES_MAX: Final = 50
PROOF_OPS_MAX: Final = 24
SECOND_NS: Final = 1_000_000_000
"""The page's scripts divide by it: an event counts as a second."""

SUMMARY: Final = {
    "PASS": "The history is one that a {model} can have.",
    "UNKNOWN": "Whether a {model} can have this history cannot be said; the reasons are below. Unknown is not a pass.",
    "FAIL": "No {model} can have this history.",
}


def write(path: Path, history: str, model: str, verdict: Verdict, calls: Sequence[Call]) -> None:
    """The page, as one file."""
    path.write_text(render(history, model, verdict, calls), encoding="utf-8")


def render(history: str, model: str, verdict: Verdict, calls: Sequence[Call]) -> str:
    """The page. *history* is the file as it was given, *calls* its operations in the order of their invocations."""
    header, blob = _packed(calls, {op for anomaly in verdict.anomalies for op in anomaly.ops})
    proofs = [
        {
            "kind": anomaly.kind,
            "sentence": anomaly.sentence.removeprefix(f"{anomaly.kind}: "),
            "ops": anomaly.ops[:PROOF_OPS_MAX],
        }
        for anomaly in verdict.anomalies[:SENTENCES_MAX]
    ]
    outcome = verdict.outcome.name
    return render_page(
        str(__package__), "foreign.html", data={"timeline": header, "ops": blob}, scripts=("timeline.js", "run.js"),
        title=f"{outcome} · {Path(history).name}", history=history, model=model, outcome=outcome,
        summary=SUMMARY[outcome].format(model=model.replace("-", " ")), findings=proofs,
        more=max(0, len(verdict.anomalies) - SENTENCES_MAX), reasons=verdict.reasons,
        measures=[(f"{value:,}" if isinstance(value, int) else str(value), name.replace("_", " "))
                  for name, value in verdict.measures.items()],
        operations=_operations(calls), ops_total=len(calls),
    )  # fmt: skip


def _packed(calls: Sequence[Call], marked: set[int]) -> tuple[dict[str, Any], bytes]:
    """Header and columns, as :func:`harness.report.columns.packed` has them of a run."""
    count = len(calls)
    names = sorted({call.f for call in calls})
    end = max((max(call.call, call.ret or 0) for call in calls), default=0) + 1
    lane, lanes = _lanes(calls)
    nothing = np.full(count, -1)
    columns = {
        "op": np.array([call.line for call in calls], dtype="<i4"),
        "begin": np.array([call.call for call in calls], dtype="<u4"),
        "end": np.array([OPEN if call.ret is None else call.ret for call in calls], dtype="<u4"),
        "message": nothing.astype("<i4"),
        "lane": lane.astype("<u2"),
        "f": np.array([names.index(call.f) for call in calls], dtype="<u2"),
        "outcome": np.array([OUTCOMES.index(call.type) for call in calls], dtype="u1"),
        "marked": np.array([call.line in marked for call in calls], dtype="u1"),
    }
    places, blob = joined(columns)
    header = {
        "count": count, "unit_ns": SECOND_NS, "end_ns": end * SECOND_NS, "load_ns": 0, "columns": places,
        "lanes": lanes, "f": names, "texts": [call.words() for call in calls],
        "faults": [], "phases": [], "states": [], "roles": [], "marks": [], "positions": [],
    }  # fmt: skip
    return header, blob


def _lanes(calls: Sequence[Call]) -> tuple[Ints, list[str]]:
    """(lane of every call, names of lanes)."""
    processes = {process: place for place, process in enumerate(dict.fromkeys(call.process for call in calls))}
    if len(processes) <= PROCESSES_MAX:
        lane = np.array([processes[call.process] for call in calls], dtype=np.int64)
        return lane, [f"process {process}" for process in processes]
    free_at: list[int] = []
    lane = np.zeros(len(calls), dtype=np.int64)
    for row, call in enumerate(calls):
        place = next((place for place, until in enumerate(free_at) if until <= call.call), len(free_at))
        if place == len(free_at):
            free_at.append(0)
        # What was never answered leaves its lane to others: its end is unknown, and lanes would never be free again.
        free_at[place] = call.call + 1 if call.ret is None else call.ret
        lane[row] = place
    return lane, [f"lane {place + 1}" for place in range(len(free_at))]


def _operations(calls: Sequence[Call]) -> list[list[str]]:
    """Function, how many, and how many ended ok, fail, info."""
    counts: dict[str, list[int]] = {}
    for call in calls:
        row = counts.setdefault(call.f, [0, 0, 0])
        row[("ok", "fail", "info").index(call.type)] += 1
    return [[f, f"{sum(row):,}", *(f"{count:,}" for count in row)] for f, row in counts.items()]
