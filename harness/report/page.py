"""What is on the page of a run, in which order, from the run folder alone.

Question: what happened, is it bad, why, and how do I see it again?

Model. The verdict and its sentence first, then the timeline, then the checks that are not PASS with the operations that
prove it, lost messages by queue, the plan, what clients did, faults, leaders of groups, nodes, and the checks that
passed. Times are on the clock of the scenario, as in sentences: ``at:`` counts on it, 0 is the beginning of the load,
what was before is negative. The history (journal, columns) counts from the start of the run; the page subtracts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import yaml

from checkers.history.columns import Ints
from checkers.history.facts import FaultFact, faults_of, phases_of
from checkers.history.history import History, seconds
from checkers.history.spans import NEVER_NS
from harness import runfolder
from harness.pages import render as render_page
from harness.report import elections, nodes
from harness.report.columns import OUTCOMES, end_of, packed
from harness.report.counters import explained
from harness.report.losses import by_queue

SENTENCES_MAX: Final = 50
PROOF_OPS_MAX: Final = 12
SUMMARY: Final = {
    "PASS": "Everything that this mode guarantees was kept.",
    "UNKNOWN": "This run shows nothing for sure; the reasons are below. Unknown is not a pass.",
    "FAIL": "A guarantee of this mode was broken.",
}
SCRIPTS: Final = ("timeline.js", "run.js")


def write_report(folder: Path) -> Path:
    """``report.html`` in the run folder, from what is in it; ``HistoryError`` if that cannot be read."""
    run, verdicts = runfolder.read_run(folder), json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    scenario = folder / "scenario.yaml"
    plan = scenario.read_text(encoding="utf-8") if scenario.is_file() else ""
    path = folder / "report.html"
    path.write_text(render(run, verdicts, runfolder.load_history(folder), str(folder), plan), encoding="utf-8")
    return path


def render(run: Mapping[str, Any], verdict: Mapping[str, Any], history: History, place: str, plan: str = "") -> str:
    """The page. *place* is what ``mqchaos replay`` is told, *plan* the scenario as text."""
    checks = sorted(verdict["verdicts"], key=lambda check: -_badness(check["outcome"]))
    faults, phases = faults_of(history.events), phases_of(history.events)
    broken = [anomaly for check in checks for anomaly in check["anomalies"] if not anomaly["allowed"]]
    header, blob = packed(history, (op for anomaly in broken for op in anomaly["ops"]))
    end_ns, load_ns = end_of(history), history.events.load_ns
    leaders = elections.leaders_in(checks)
    timeline = {
        **header,
        "load_ns": load_ns,
        "faults": [_fault_json(fault, end_ns) for fault in faults],
        "phases": [list(phase) for phase in phases],
        "states": nodes.states(history, end_ns),
        "roles": elections.roles(history, leaders, end_ns),
        "marks": nodes.marks(history),
        "positions": nodes.positions(history, run["nodes"]),
        "proofs": [anomaly["ops"][:PROOF_OPS_MAX] for anomaly in broken],
    }
    outcome = str(verdict["outcome"])
    return render_page(
        str(__package__), "run.html", data={"timeline": timeline, "ops": blob}, scripts=SCRIPTS,
        title=f"{outcome} · {run['scenario']}", run=run, outcome=outcome, place=place, plan=plan,
        description=_description(plan),
        summary=SUMMARY[outcome] + _allowed_loss(checks), facts=_facts(run),
        checks=[_check(check) for check in checks], losses=_losses(history),
        operations=_operations(history), faults=_faults(history, faults, run),
        phases=_phases(history, phases, end_ns), leaders=elections.rows(history, leaders), nodes=_nodes(run, history),
        ops_total=len(history.ops),
    )  # fmt: skip


def _description(plan: str) -> str:
    """What the scenario says of itself; a folder may hold a plan that somebody has edited."""
    try:
        document = yaml.safe_load(plan)
    except yaml.YAMLError:
        return ""
    return str(document.get("description", "")) if isinstance(document, dict) else ""


def _badness(outcome: str) -> int:
    return ("PASS", "UNKNOWN", "FAIL").index(outcome)


def _allowed_loss(checks: Sequence[Mapping[str, Any]]) -> str:
    lost = sum(int(check["measures"].get("lost_allowed", 0)) for check in checks)
    return f" {lost:,} acknowledged messages were lost, as it allows." if lost else ""


def _facts(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        ("deployment mode", f"{run['mode']}, {run['flush']} flush"),
        ("broker", str(run["target"])),
        ("backend", str(run["backend"])),
        ("seed", str(run["seed"])),
        ("planted bugs", ", ".join(run.get("defects", ())) or "none"),
        ("commit", str(run.get("commit") or "unknown")),
        ("history", f"SHA-256 {str(run.get('history_sha256', ''))[:16]}…"),
        ("run", str(run["run"])),
    ]


def _check(check: Mapping[str, Any]) -> dict[str, Any]:
    broken = [anomaly for anomaly in check["anomalies"] if not anomaly["allowed"]]
    return {
        "name": check["check"],
        "outcome": check["outcome"],
        "reasons": check["reasons"],
        "broken": [_finding(anomaly) for anomaly in broken[:SENTENCES_MAX]],
        "more": max(0, len(broken) - SENTENCES_MAX),
        "allowed": [_finding(anomaly) for anomaly in check["anomalies"] if anomaly["allowed"]][:SENTENCES_MAX],
        "counters": explained(check["check"], check["measures"]),
        "deaths": [death["sentence"] for death in check["measures"].get("deaths", ())],
    }


def _finding(anomaly: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": anomaly["kind"], "sentence": anomaly["sentence"], "ops": anomaly["ops"][:PROOF_OPS_MAX]}


def _losses(history: History) -> list[dict[str, Any]]:
    return [
        {**row, **{end: {**row[end], "clock": history.clock(row[end]["ns"])} for end in ("first", "last")}}
        for row in by_queue(history)
    ]


def _operations(history: History) -> list[list[str]]:
    ops = history.ops
    rows = []
    for f in ops.f.values:
        of_kind = ops.f.mask(f)
        cells = [f"{int((of_kind & ops.outcome.mask(outcome)).sum()):,}" for outcome in OUTCOMES]
        taken = (ops.complete_ns - ops.invoke_ns)[of_kind & (ops.complete_ns >= 0)]
        rows.append([f, f"{int(of_kind.sum()):,}", *cells, *(_milliseconds(taken, q) for q in (0.5, 0.99))])
    return rows


def _milliseconds(taken_ns: Ints, quantile: float) -> str:
    if not len(taken_ns):
        return "–"
    microseconds = int(np.quantile(taken_ns, quantile)) // 1_000
    return f"{microseconds // 1000}.{microseconds % 1000:03d} ms"


def _fault_json(fault: FaultFact, end_ns: int) -> dict[str, Any]:
    return {
        "id": fault.fault,
        "verb": fault.kind,
        "words": fault.words(),
        "begin": fault.inject_ns,
        "end": fault.heal_ns if fault.heal_ns != NEVER_NS else end_ns,
        "nodes": [*fault.left, *fault.right],
    }


def _faults(history: History, faults: Sequence[FaultFact], run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What was planned beside what happened."""
    planned = {fault["id"]: fault for fault in run.get("faults", ()) if "id" in fault}
    effect = {1: "yes", 0: "no", -1: "cannot be told"}
    return [
        {
            "id": fault.fault,
            "verb": fault.kind,
            "plan": _planned(planned.get(fault.fault, {})),
            "nodes": ", ".join(fault.left) + (f" | {', '.join(fault.right)}" if fault.right else ""),
            "injected": history.clock(fault.inject_ns),
            "healed": history.clock(fault.heal_ns) if fault.heal_ns != NEVER_NS else "never",
            "effect": effect[fault.effective],
        }
        for fault in faults
    ]


def _planned(fault: Mapping[str, Any]) -> str:
    if not fault:
        return ""
    hold = f" for {fault['for']}" if fault.get("for") else ""
    return f"at {fault.get('at', '?')}: {fault['do']} {fault.get('on', '')}{hold}"


def _phases(history: History, phases: Sequence[tuple[str, int]], end_ns: int) -> list[list[str]]:
    ends = [ns for _, ns in phases[1:]] + [end_ns] * bool(phases)
    return [[name, history.clock(begin), seconds(end - begin)] for (name, begin), end in zip(phases, ends, strict=True)]


def _nodes(run: Mapping[str, Any], history: History) -> list[dict[str, Any]]:
    acts: dict[str, list[str]] = {}
    for ns, node, step, _ in nodes.marks(history):
        acts.setdefault(node, []).append(f"{step} {history.clock(ns)}")
    targets = run.get("targets", {})
    return [
        {
            "name": name,
            "target": targets.get(name, run["target"]),
            "acts": acts.get(name, []),
            "properties": "\n".join(f"{key}={value}" for key, value in sorted(properties.items())),
        }
        for name, properties in run["nodes"].items()
    ]
