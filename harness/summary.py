"""The end of a run for a person: at most 25 lines, the worst first, what to type last.

Question: what happened, is it bad, and how do I see it again?

Model. A pure function from verdicts to lines. Checks that are not PASS come first, each with its anomalies or reasons,
sharing the room there is; what does not fit is counted. Anomalies that the mode allows are shown after them, checks
that passed in one line. The report's path and the replay command end it.

Limits. Sentences are the checkers'; nothing is judged here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from checkers.verdict import Outcome, Verdict
from harness.errors import EXIT_FAIL, EXIT_PASS, EXIT_UNKNOWN
from harness.seeds import text as seed_text

LINES_MAX: Final = 25
ALLOWED_MAX: Final = 3
EVERYDAY: Final = ("stale",)
"""Allowed anomalies that every run has (dispatch is asynchronous): the report shows them, the summary does not."""

FRAME_LINES: Final = 7
"""Head, faults, counts, passed checks, seed, report, replay."""
FAULTS_MAX: Final = 3
"""Faults that are named; the others are counted."""

EXIT_CODES: Final = {Outcome.PASS: EXIT_PASS, Outcome.FAIL: EXIT_FAIL, Outcome.UNKNOWN: EXIT_UNKNOWN}
"""Not the order of the lattice: 1 is what every build takes for a failure."""

NUMBERED: Final = r"[\w.-]*\d[\w.-]*"
"""Words that differ between runs of one cause: nodes, instants, counts."""

Style = Callable[[str], str]


class Judged(Protocol):
    """What is summed up: a finished run, or a run folder that was judged again."""

    @property
    def scenario(self) -> str: ...
    @property
    def backend(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def outcome(self) -> Outcome: ...
    @property
    def verdicts(self) -> tuple[Verdict, ...]: ...


def lines_of(judged: Judged, *, report: str = "", replay: str = "", style: Style = lambda name: name) -> list[str]:
    """The summary; *style* colours the name of an outcome."""
    head = f"{style(judged.outcome.name)}  {judged.scenario}  ({judged.backend}, {judged.target})"
    head += _as_expected(judged.verdicts) if is_as_expected(judged.outcome, judged.verdicts) else ""
    tail = [f"seed {seed_text(judged.seed)}"]
    tail += [f"report: {report}"] if report else []
    tail += [f"replay: {replay}"] if replay else []
    found = _findings(judged.verdicts, style)
    return [head, *found, *_faults(judged.verdicts), *_counts(judged.verdicts), *_passed(judged.verdicts), *tail]


def is_as_expected(outcome: Outcome, verdicts: Sequence[Verdict]) -> bool:
    """Whether this is the failure that its scenario is there to show. It stays a failure."""
    return outcome is Outcome.FAIL and any(v.check == "expectation" and v.outcome is Outcome.PASS for v in verdicts)


def _as_expected(verdicts: Sequence[Verdict]) -> str:
    """With the kinds of failures that the scenario does not name: they may follow from it, and may be news."""
    beside = next(v.measures.get("beside") for v in verdicts if v.check == "expectation")
    return f"  as expected (also found: {beside})" if beside else "  as expected"


def headline(judged: Judged) -> str:
    """One line about one of many runs: the worst finding, or what was lost as allowed."""
    bad = [verdict for verdict in _worst_first(judged.verdicts) if verdict.outcome > Outcome.PASS]
    if bad:
        return f"{bad[0].check}: {next(iter(_said(bad[0])), '')}"
    lost = measure(judged.verdicts, "lost")
    return f"lost {lost}, as allowed" if lost else ""


def cause_of(judged: Judged) -> str:
    """``accounting/lost``: the check that failed first and the kind of its first finding. Runs of one cause are most
    likely one bug. For UNKNOWN the check and the shape of its reason; empty for PASS."""
    for verdict in judged.verdicts:
        if verdict.outcome is judged.outcome and judged.outcome is not Outcome.PASS:
            broken = [anomaly.kind for anomaly in verdict.anomalies if not anomaly.allowed]
            reason = verdict.reasons[0].splitlines()[-1] if verdict.reasons else ""
            return f"{verdict.check}/{broken[0] if broken else re.sub(NUMBERED, '…', reason)[:80]}"
    return ""


def measure(verdicts: Sequence[Verdict], name: str) -> int:
    """A count of any check; 0 if none has it."""
    return next((int(verdict.measures[name]) for verdict in verdicts if name in verdict.measures), 0)


def _worst_first(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return sorted(verdicts, key=lambda verdict: -verdict.outcome)


def _findings(verdicts: Sequence[Verdict], style: Style) -> list[str]:
    bad = [verdict for verdict in _worst_first(verdicts) if verdict.outcome > Outcome.PASS]
    remarkable = [a for verdict in verdicts for a in verdict.anomalies if a.allowed and a.kind not in EVERYDAY]
    allowed = [f"  allowed: {anomaly.sentence}" for anomaly in remarkable]
    shown = _cut(allowed, ALLOWED_MAX, "  allowed")
    room = LINES_MAX - FRAME_LINES - len(shown)
    lines: list[str] = []
    for position, verdict in enumerate(bad):
        share = max(1, (room - len(lines)) // (len(bad) - position) - 1)
        lines.append(f"  {style(verdict.outcome.name)}  {verdict.check}")
        lines += _cut([f"    {sentence}" for sentence in _said(verdict)], share, "   ")
    return [*lines[:room], *shown]


def _said(verdict: Verdict) -> list[str]:
    """Sentences of what should not be, then reasons; the first line of each."""
    sentences = [anomaly.sentence for anomaly in verdict.anomalies if not anomaly.allowed]
    return [
        text.strip().splitlines()[-1 if "Traceback" in text else 0] for text in (*sentences, *verdict.reasons) if text
    ]


def _cut(lines: Sequence[str], room: int, label: str) -> list[str]:
    if len(lines) <= room:
        return list(lines)
    if room == 1:
        return [f"{lines[0]} (and {len(lines) - 1} more in the report)"]
    return [*lines[: room - 1], f"{label} … and {len(lines) - room + 1} more in the report"]


def _faults(verdicts: Sequence[Verdict]) -> list[str]:
    """What was done to the cluster: a PASS is worth as much as its faults."""
    words: list[str] = next((v.measures["injected"] for v in verdicts if "injected" in v.measures), [])
    rest = f" and {len(words) - FAULTS_MAX} more" if len(words) > FAULTS_MAX else ""
    return [f"  faults: {', '.join(words[:FAULTS_MAX])}{rest}"] if words else []


def _counts(verdicts: Sequence[Verdict]) -> list[str]:
    names = ("sent", "ok", "weak", "info", "fail", "drained", "lost", "recovered", "duplicated", "unreachable")
    counts = {name: measure(verdicts, name) for name in names}
    shown = [f"{name} {count}" for name, count in counts.items() if count or name in ("sent", "ok", "lost")]
    return [f"  {', '.join(shown)}"] if counts["sent"] else []


def _passed(verdicts: Sequence[Verdict]) -> list[str]:
    passed = [verdict.check for verdict in verdicts if verdict.outcome is Outcome.PASS]
    return [f"  pass: {', '.join(passed)}"] if passed else []


def to_json(judged: Judged) -> dict[str, Any]:
    """Plain values for ``--json``."""
    return {
        "scenario": judged.scenario,
        "backend": judged.backend,
        "target": judged.target,
        "seed": seed_text(judged.seed),
        "outcome": judged.outcome.name,
        "verdicts": [verdict.to_json() for verdict in judged.verdicts],
    }
