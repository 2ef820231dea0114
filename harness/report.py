"""One run as one page: the verdict, why, and how to see it again.

Question: what does somebody need who opens this a week later, without the tool, without a network?

Model. A self-contained HTML file (inline SVG and CSS, no script, no font, nothing fetched), made from the run folder
alone: the verdict first, then what is wrong in sentences, then the timeline, counts, phases, faults and nodes, and the
command that runs it again. Light and dark follow the reader's system.

Limits. It shows, it does not judge: everything on it is in ``verdict.json``, ``run.json`` or the history.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

import numpy as np

from checkers.history.columns import Ints
from checkers.history.facts import FaultFact, RunFacts, faults_of, phases_of
from checkers.history.history import History, seconds
from checkers.history.spans import NEVER_NS
from checkers.show import explain
from checkers.show.drawing import NAMESPACE
from harness import runfolder
from harness.report_page import STYLE
from harness.report_timeline import OPS_MAX, Timeline, draw, end_of

HEAD: Final = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark">'
)
ANOMALIES_SHOWN: Final = 50
ALLOWED_SHOWN: Final = 3
PROOFS_DRAWN: Final = 3
OUTCOMES: Final = ("ok", "weak", "fail", "info")
SUMMARY: Final = {
    "PASS": "Every promise of this mode was kept.",
    "UNKNOWN": "Nothing can be said for sure; the reasons are below. Unknown is not a pass.",
    "FAIL": "A promise was broken.",
}


def write_report(folder: Path) -> Path:
    """``report.html`` in the run folder, from what is in it; ``HistoryError`` if that cannot be read."""
    run, verdicts = runfolder.read_run(folder), json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    path = folder / "report.html"
    path.write_text(render(run, verdicts, runfolder.load_history(folder), str(folder)), encoding="utf-8")
    return path


def render(run: Mapping[str, Any], verdict: Mapping[str, Any], history: History, place: str) -> str:
    """The page. *place* is what ``mqchaos replay`` is told."""
    checks = sorted(verdict["verdicts"], key=lambda check: -_badness(check["outcome"]))
    marked = frozenset(op for check in checks for a in check["anomalies"] if not a["allowed"] for op in a["ops"])
    faults, phases = faults_of(history.events), phases_of(history.events)
    timeline = draw(history, faults, phases, marked)
    outcome = str(verdict["outcome"])
    sections = [
        _head(run, outcome, place, checks),
        _section("What the checkers say", "".join(map(_check, checks))),
        _section("The proof", _proofs(run, checks, history, faults)),
        _section("What happened", _legend(timeline) + f'<div class="wide">{timeline.svg}</div>'),
        _section("Sends over time", f'<div class="wide">{_rate_chart(history)}</div>'),
        _section("Operations", _operations(history)),
        _section("Faults", _faults(faults)),
        _section("Phases", _phases(phases, end_of(history))),
        _section("Nodes", _nodes(run, history)),
    ]
    title = f"{outcome} · {run['scenario']}"
    return (
        f"{HEAD}<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f"<body><main>{''.join(sections)}</main></body></html>\n"
    )


def _badness(outcome: str) -> int:
    return ("PASS", "UNKNOWN", "FAIL").index(outcome)


def _section(title: str, inside: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{inside}</section>" if inside else ""


def _allowed_loss(checks: Sequence[Mapping[str, Any]]) -> str:
    lost = sum(int(check["measures"].get("lost_allowed", 0)) for check in checks)
    return f" What it does not promise was lost: {lost:,} acknowledged messages." if lost else ""


def _head(run: Mapping[str, Any], outcome: str, place: str, checks: Sequence[Mapping[str, Any]]) -> str:
    facts = [
        ("mode", f"{run['mode']}, {run['flush']} flush"),
        ("target", run["target"]),
        ("backend", run["backend"]),
        ("seed", run["seed"]),
        ("defects", ", ".join(run.get("defects", ())) or "none planted"),
        ("commit", run.get("commit") or "unknown"),
        ("history", f"SHA-256 {str(run.get('history_sha256', ''))[:16]}…"),
        ("run", run["run"]),
    ]
    cells = "".join(f"<div><dt>{name}</dt><dd>{escape(str(value))}</dd></div>" for name, value in facts)
    interrupted = "<p><strong>Interrupted by the user.</strong></p>" if run.get("interrupted") else ""
    summary = f"<p>{SUMMARY[outcome]}{_allowed_loss(checks)}</p>{interrupted}"
    command = f"<p>Run it again: <code>mqchaos replay {escape(place)}</code></p>"
    return (
        f'<header class="{outcome.lower()}"><p class="badge">{outcome}</p><div><h1>{escape(run["scenario"])}</h1>'
        f"{summary}{command}</div></header><dl>{cells}</dl>"
    )


def _check(check: Mapping[str, Any]) -> str:
    broken = [a for a in check["anomalies"] if not a["allowed"]]
    allowed = [a for a in check["anomalies"] if a["allowed"]]
    parts = [_sentences(broken, "broken"), _list(map(escape, check["reasons"]), "reason")]
    if 0 < len(allowed) <= ALLOWED_SHOWN:
        parts.append(f"<p>Seen, and allowed by the contract:</p>{_sentences(allowed, 'allowed')}")
    elif allowed:
        summary = f"{len(allowed)} seen and allowed by the contract"
        parts.append(f"<details><summary>{summary}</summary>{_sentences(allowed, '')}</details>")
    if check["measures"]:
        parts.append(f'<p class="measures">{_measures(check["measures"])}</p>')
    badge = f'<span class="badge {check["outcome"].lower()}">{check["outcome"]}</span>'
    return f'<div class="check"><h3>{badge} {escape(check["check"])}</h3>{"".join(parts)}</div>'


def _sentences(anomalies: Sequence[Mapping[str, Any]], kind: str) -> str:
    items = [f"<strong>{escape(a['kind'])}</strong> {escape(a['sentence'])}" for a in anomalies[:ANOMALIES_SHOWN]]
    if len(anomalies) > ANOMALIES_SHOWN:
        items.append(f"… and {len(anomalies) - ANOMALIES_SHOWN} more in verdict.json")
    return _list(items, kind)


def _proofs(
    run: Mapping[str, Any], checks: Sequence[Mapping[str, Any]], history: History, faults: tuple[FaultFact, ...]
) -> str:
    """The operations behind the first failures, drawn, and where lost messages died."""
    facts = RunFacts(str(run["mode"]), faults=faults)
    broken = [a for check in checks for a in check["anomalies"] if not a["allowed"] and a["ops"]][:PROOFS_DRAWN]
    drawn = [explain.timeline(history, facts, a["ops"], a["kind"]) for a in broken]
    pictures = [f'<div class="wide">{svg.replace(NAMESPACE, "")}</div>' for svg in drawn]
    deaths = [death["sentence"] for check in checks for death in check["measures"].get("deaths", ())]
    return "".join(pictures) + _list(map(escape, deaths), "deaths")


def _list(items: Iterable[str], kind: str) -> str:
    lines = "".join(f"<li>{item}</li>" for item in items)
    return f'<ul class="{kind}">{lines}</ul>' if lines else ""


def _measures(measures: Mapping[str, Any]) -> str:
    """Numbers and texts; of lists and tables only how long they are (they are in verdict.json)."""
    words = (
        f"{len(value)} {escape(name)}"
        if isinstance(value, list | dict)
        else f"{escape(name)} <b>{escape(str(value))}</b>"
        for name, value in measures.items()
    )
    return " · ".join(words)


def _legend(timeline: Timeline) -> str:
    keys = (("ok", "ok"), ("weak", "stored, not promised"), ("fail", "refused"), ("info", "outcome unknown"))
    items = "".join(f'<span><i class="{kind}"></i>{text}</span>' for kind, text in keys)
    items += '<span><i class="bad"></i>proves an anomaly</span><span><i class="fault"></i>fault in force</span>'
    if timeline.drawn < timeline.total:
        note = f"Drawn: {timeline.drawn:,} of {timeline.total:,} operations (at most {OPS_MAX:,}, evenly chosen)."
        return f'<p class="legend">{items}</p><p class="note">{note}</p>'
    return f'<p class="legend">{items}</p>'


def _rate_chart(history: History) -> str:
    """Sends that ended in each slice of time, by outcome, stacked."""
    ops = history.ops
    sends = np.flatnonzero(ops.f.mask("send") & (ops.complete_ns >= 0))
    if not len(sends):
        return ""
    end_ns, slices = end_of(history), 120
    width_ns = -(-end_ns // slices)
    counts = {
        outcome: np.bincount(ops.complete_ns[sends][ops.outcome.mask(outcome)[sends]] // width_ns, minlength=slices)
        for outcome in OUTCOMES
    }
    return _stacked_bars(counts, width_ns, slices)


def _stacked_bars(counts: Mapping[str, Ints], width_ns: int, slices: int) -> str:
    top = max(1, int(sum(counts.values(), np.zeros(slices, dtype=np.int64)).max()))
    left, height, bar = 170, 110, (1160 - 170 - 14) / slices
    parts = [
        f'<line class="rule" x1="{left}" x2="1146" y1="{height}" y2="{height}"/>',
        f'<text class="lane" x="{left - 8}" y="16">{top * 1_000_000_000 // width_ns:,} sends/s</text>',
        f'<text class="lane" x="{left - 8}" y="{height}">0</text>',
    ]
    for index in range(slices):
        base = float(height)
        for outcome, column in counts.items():
            count = int(column[index])
            if count:
                tall = (height - 10) * count / top
                base -= tall
                title = f"{seconds(index * width_ns)}: {count} {outcome}"
                parts.append(
                    f'<rect class="op {outcome}" x="{left + index * bar:.1f}" y="{base:.1f}" width="{bar - 1:.1f}"'
                    f' height="{tall:.1f}"><title>{title}</title></rect>'
                )
    label = "Sends by outcome over time"
    return f'<svg viewBox="0 0 1160 {height + 8}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _operations(history: History) -> str:
    ops = history.ops
    rows = []
    for f in ops.f.values:
        mine = ops.f.mask(f)
        cells = [str(int((mine & ops.outcome.mask(outcome)).sum())) for outcome in OUTCOMES]
        answered = mine & (ops.complete_ns >= 0)
        taken = (ops.complete_ns - ops.invoke_ns)[answered]
        quantiles = [_milliseconds(taken, q) for q in (0.5, 0.99)]
        rows.append([f, str(int(mine.sum())), *cells, *quantiles])
    return _table(("operation", "all", *OUTCOMES, "median", "99 %"), rows)


def _milliseconds(taken_ns: Ints, quantile: float) -> str:
    if not len(taken_ns):
        return "–"
    microseconds = int(np.quantile(taken_ns, quantile)) // 1_000
    return f"{microseconds // 1000}.{microseconds % 1000:03d} ms"


def _faults(faults: Iterable[FaultFact]) -> str:
    bit = {1: "yes", 0: "no", -1: "cannot be told"}
    rows = [
        [
            fault.fault,
            fault.kind,
            ", ".join(fault.left) + (f" | {', '.join(fault.right)}" if fault.right else ""),
            seconds(fault.inject_ns),
            seconds(fault.heal_ns) if fault.heal_ns != NEVER_NS else "never",
            bit[fault.effective],
        ]
        for fault in faults
    ]
    return _table(("fault", "kind", "on", "injected", "healed", "did it bite?"), rows) if rows else "<p>None.</p>"


def _phases(phases: Sequence[tuple[str, int]], end_ns: int) -> str:
    ends = [ns for _, ns in phases[1:]] + [end_ns]
    rows = [[name, seconds(begin), seconds(end - begin)] for (name, begin), end in zip(phases, ends, strict=True)]
    return _table(("phase", "began", "took"), rows)


def _nodes(run: Mapping[str, Any], history: History) -> str:
    events = history.events
    acts: dict[str, list[str]] = {}
    for row in events.kind.mask("node").nonzero()[0].tolist():
        acts.setdefault(events.node[row], []).append(f"{events.step[row]} {seconds(int(events.ns[row]))}")
    blocks = []
    for name, properties in run["nodes"].items():
        lines = "\n".join(f"{key}={value}" for key, value in sorted(properties.items()))
        happened = escape("; ".join(acts.get(name, ["nothing was done to it"])))
        blocks.append(
            f"<details><summary><b>{escape(name)}</b> {happened}</summary><pre>{escape(lines)}</pre></details>"
        )
    return "".join(blocks)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table></div>'
