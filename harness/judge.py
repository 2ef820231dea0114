"""From a history to verdicts: every checker, and the life cycle's own.

Question: is this run good, and was it a run at all?

Model. Checkers judge what clients saw. A scenario that is there to show a broken guarantee is checked for that, too
(*expectation*): UNKNOWN if it was not shown, and never a reason to take its FAIL for less. The *life-cycle* check
judges the run itself: a history that lacks a phase (the
harness was killed), an operation that never came back, a cluster that did not converge, a drain that did not reach the
end, a budget, an interrupt: each is a reason for UNKNOWN. It is a function of the history alone, so that judging a run
folder again gives what the run gave.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from checkers.history.facts import RunFacts
from checkers.history.history import Events, History
from checkers.history.spans import union
from checkers.runs.checks import check_all
from checkers.runs.group_copies import STRICT
from checkers.verdict import Outcome, Verdict
from harness.dumps import read_dumps
from harness.node_events import ended_by_itself
from harness.targets.releases import rows

CHECK: Final = "life-cycle"
EXPECTATION: Final = "expectation"
"""The check whether a scenario showed the broken guarantee that it is there to show."""

PHASES: Final = ("prepare", "start", "steady", "heal", "converge", "drain", "dump", "check")
"""Without ``faults``, which a run without faults does not have."""


START_FAILED: Final = tuple(sorted({row.refused_start_exit for row in rows()}))
"""Exit codes of BrokerStartup whose ``initialize`` said no."""


def judge(history: History, run: Mapping[str, Any], folder: Path | None = None) -> list[Verdict]:
    """All verdicts, the life cycle's last. *run* is what ``run.json`` holds.

    With the run's *folder* the stores that nodes left tell where lost messages died; no outcome depends on that.
    """
    facts = RunFacts.from_run(run, history)
    verdicts = check_all(history, facts)
    if folder is not None and any(verdict.measures.get("lost") for verdict in verdicts):
        verdicts = check_all(history, replace(facts, dumps=read_dumps(folder, run)))
    return [*verdicts, *_expectations(verdicts, facts.expect), life_cycle(history, facts)]


def _expectations(verdicts: Sequence[Verdict], expect: Mapping[str, Any]) -> list[Verdict]:
    """Whether the broken guarantee that the scenario is about was seen, and nothing else; nothing where it is about
    none.

    What is there to fail must not hide other failures: kinds that ``beside`` does not name, or more than ``most``.
    """
    if not expect.get("verdict"):
        return []
    wanted = str(expect["because"])
    found = Counter(anomaly.kind for verdict in verdicts for anomaly in verdict.anomalies if not anomaly.allowed)
    others = ", ".join(sorted(found.keys() - {wanted}))
    if found[wanted]:
        measures = {"because": wanted, "shown": found[wanted], **({"beside": others} if others else {})}
        beyond = tuple(_beyond(verdicts, found, wanted, expect))
        return [Verdict(EXPECTATION, Outcome.FAIL if beyond else Outcome.PASS, measures=measures, reasons=beyond)]
    instead = f"; seen instead: {others}" if others else ""
    reason = f"this scenario is there to show a failure of the kind {wanted!r}, and none was seen{instead}"
    return [Verdict(EXPECTATION, Outcome.UNKNOWN, reasons=(reason,))]


def _beyond(
    verdicts: Sequence[Verdict], found: Mapping[str, int], wanted: str, expect: Mapping[str, Any]
) -> Iterator[str]:
    """What is more than the failure that the scenario is there to show."""
    if unnamed := sorted(found.keys() - {wanted, *expect.get("beside", ())}):
        yield f"beside {wanted!r} there is what this scenario does not name: {', '.join(unnamed)}"
    of_kind = (anomaly for verdict in verdicts for anomaly in verdict.anomalies if anomaly.kind == wanted)
    count = sum(int(anomaly.details.get("count", 1)) for anomaly in of_kind if not anomaly.allowed)
    if count > (most := int(expect.get("most", 0) or count)):
        yield f"{count} messages are {wanted!r}, and the mechanism that this scenario shows can explain {most}"


def life_cycle(history: History, facts: RunFacts) -> Verdict:
    """PASS for a run that went through all its phases and saw its ends."""
    events = history.events
    reasons = [*_missing_phases(events), *_notes(events), *_crashes(events, facts)]
    outcome = Outcome.UNKNOWN if reasons else Outcome.PASS
    return Verdict(CHECK, outcome, measures=_measures(history), reasons=tuple(reasons))


def _missing_phases(events: Events) -> list[str]:
    seen = [events.step[row] for row in events.kind.mask("phase").nonzero()[0].tolist()]
    missing = [phase for phase in PHASES if phase not in seen]
    if not missing:
        return []
    return [f"the run ended in phase {seen[-1]!r}, before {missing[0]!r}" if seen else "the run has no phases"]


def _notes(events: Events) -> list[str]:
    reasons = []
    for row in events.kind.mask("note").nonzero()[0].tolist():
        if events.step[row] == "incomplete":
            detail = json.loads(events.detail[row])
            reasons.append(f"{detail['what']}: {detail['why']}")
        elif events.step[row] == "interrupted":
            reasons.append("interrupted by the user")
    return reasons


def _crashes(events: Events, facts: RunFacts) -> list[str]:
    """A node that ended although nobody had asked it to: whatever the others say, this run was not what it seems.

    But a power cut may leave a broker's tables so that neither the file nor its older copy can be read; RocketMQ then
    refuses to start, and starts when an operator has removed them. Such an end between the two is explained, where the
    contract says that tables may be gone. And a member that answers from its disk ends when it cannot force any more:
    nobody knows what is on that disk, so that is what was asked of it. So it is of a member that knows its own disk,
    and is started on another's.
    """
    reasons = []
    for row in (events.kind.mask("role") & events.step.mask("crashed", "exited")).nonzero()[0].tolist():
        why = ended_by_itself(events.step[row], json.loads(events.detail[row]))
        is_explained = _may_lack_tables(facts) and _could_not_read_its_tables(events, row)
        if why and not (is_explained or _had_to_end(facts, events.node[row], int(events.ns[row]))):
            reasons.append(f"{events.node[row]} {why}, at {facts.clock(int(events.ns[row]))}")
    return reasons


def _had_to_end(facts: RunFacts, node: str, ns: int) -> bool:
    return _could_not_force(facts, node, ns) or _knows_a_foreign_disk(facts, node, ns)


def _knows_a_foreign_disk(facts: RunFacts, node: str, ns: int) -> bool:
    """It was given one, and nothing may be lost by that."""
    given = [f for f in facts.faults if f.takes() == "foreign" and f.took_effect_on(node) and f.begin_ns <= ns]
    promised = [facts.guarantee(fault) for fault in given]
    return any(guarantee is not None and guarantee.loss == "none" for guarantee in promised)


def _could_not_force(facts: RunFacts, node: str, ns: int) -> bool:
    conditions = facts.conditions
    is_strict = facts.cluster.properties(node, ns).get(STRICT) == "true"
    return is_strict and any(begin <= ns for begin, _ in union(conditions.unforced(node), conditions.unwritten(node)))


def _may_lack_tables(facts: RunFacts) -> bool:
    guarantees = [facts.guarantee(fault) for fault in facts.faults if fault.effective != 0]
    narrowest = [guarantee.unreachable for guarantee in guarantees if guarantee is not None]
    return any(narrowest) or not narrowest


def _could_not_read_its_tables(events: Events, row: int) -> bool:
    """Its power was cut before, it ended with the code of a start that failed, and ran when its tables were gone."""
    detail = json.loads(events.detail[row])
    at_node = events.node.mask(events.node[row])
    cut = events.event[at_node & events.step.mask("power_cut")]
    removed = events.event[at_node & events.kind.mask("note") & events.step.mask("tables_removed")]
    is_between = bool((cut < events.event[row]).any() and (removed > events.event[row]).any())
    return is_between and int(detail.get("code", detail.get("exit", 0)) or 0) in START_FAILED


def _measures(history: History) -> dict[str, int]:
    events = history.events
    unreachable = int((events.kind.mask("note") & events.step.mask("unreachable")).sum())
    return {
        "ops": len(history.ops),
        "reads": len(history.reads),
        "events": len(events),
        "topics_recreated": unreachable,
        "tables_removed": int((events.kind.mask("note") & events.step.mask("tables_removed")).sum()),
    }
