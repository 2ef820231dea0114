"""The check ``answers``: is each answer to an operator the one that everything said before it leaves?

Question: an operator made, counted, moved and deleted what only it knows of. Was it ever told something else than must
be so?

Model. An op ``ask`` is one try of one step of a dialogue (``harness/workloads/dialogues.py``); ``detail`` has what must
be shown, what was shown, and how long it may be something else at first (``within_ns``; 0: not at all).

    wrong-answer   what was shown is not what must be, although the time for it was over
    kept-waiting   an answer that waits for no disk and no slave (``waits_for_nothing``) came later than
                   :data:`PROMPT_NS` and the contract's slack, while its node was up and could be reached

A node that was hit by a fault meanwhile, or another of its broker name, may take as long again from when the fault is
gone and it has joined. So may a NameServer that is asked about a broker that was hit: it lists what a broker registers,
after its start or every 30 s.

A round that came to its end is the evidence that all its steps were taken: where none did, and nothing was wrong,
nothing was shown (UNKNOWN).

Limits. What is right is said by who asked: a dialogue knows what it has told, and nobody else tells of its topics and
groups.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History, seconds
from checkers.history.spans import NEVER_NS, meet
from checkers.runs.propagation import REGISTER_NS
from checkers.runs.replication_bound import JOIN_NS
from checkers.runs.store_waits import SOME_CLIENT
from checkers.verdict import Anomaly, Outcome, Verdict

SAID_MAX: Final = 160
"""Characters of a value in a sentence."""

PROMPT_NS: Final = 1_000_000_000

TRY_NS: Final = 1_000_000_000
"""A step that was not right is tried again after 250 ms and the time of a call; so long a silence is no answer."""


@dataclass(frozen=True)
class _Try:
    """One answered try; *said* is its ``detail``."""

    op: int
    node: str
    invoke_ns: int
    complete_ns: int
    said: dict[str, Any]

    @property
    def is_right(self) -> bool:
        return bool(self.said["shown"] == self.said["must"])


def has_answers(history: History, facts: RunFacts) -> bool:
    """Whether anybody asked in a dialogue."""
    return "ask" in history.ops.f.values


def check_answers(history: History, facts: RunFacts) -> Verdict:
    """FAIL for every step that stayed wrong; UNKNOWN where no round of a dialogue came to its end."""
    steps = _steps(history)
    anomalies = [anomaly for tries in steps.values() if (anomaly := _judged(facts, tries)) is not None]
    anomalies += [_kept_waiting(facts, one) for tries in steps.values() for one in tries if _is_late(facts, one)][:1]
    begun = {name for name, _, _ in steps}
    ended = {name for (name, _, _), tries in steps.items() if tries[-1].said.get("ended")}
    reasons = [f"no round of the dialogue {name} came to its end" for name in sorted(begun - ended)]
    if not steps:
        reasons.append("nobody answered any step of a dialogue")
    outcome = Outcome.FAIL if anomalies else Outcome.UNKNOWN if reasons else Outcome.PASS
    rounds = sum(1 for tries in steps.values() if tries[-1].said.get("ended"))
    measures = {"steps": len(steps), "rounds": rounds, "tries": sum(map(len, steps.values()))}
    return Verdict("answers", outcome, tuple(anomalies), measures, tuple(reasons))


def _steps(history: History) -> dict[tuple[str, int, int], list[_Try]]:
    """(dialogue, round, step) → its answered tries, in order."""
    ops = history.ops
    steps: dict[tuple[str, int, int], list[_Try]] = defaultdict(list)
    for row in np.flatnonzero(ops.f.mask("ask") & ops.outcome.mask("ok")).tolist():
        said = json.loads(ops.detail[row])
        one = _Try(int(ops.op[row]), ops.node[row], int(ops.invoke_ns[row]), int(ops.complete_ns[row]), said)
        steps[said["dialogue"], said["round"], said["step"]].append(one)
    return steps


def _judged(facts: RunFacts, tries: list[_Try]) -> Anomaly | None:
    first, due_ns = tries[0], _due_ns(facts, tries[0])
    if _is_in_time(tries, due_ns):
        return None
    wrong = _proof(tries, due_ns)
    bound = f"within {seconds(first.said['within_ns'])}" if first.said["within_ns"] else "at once"
    sentence = (
        f"In round {first.said['round']} of the dialogue {first.said['dialogue']}, {first.node} was asked "
        f"({first.said['asked']}) at {facts.clock(first.invoke_ns)} and had to show {_words(first.said['must'])} "
        f"{bound}; at {facts.clock(wrong.complete_ns)} it showed {_words(wrong.said['shown'])}."
    )
    detail = {"node": first.node, "asked": first.said["asked"]}
    return Anomaly("wrong-answer", sentence, (first.op, wrong.op) if wrong.op != first.op else (first.op,), detail)


def _is_late(facts: RunFacts, one: _Try) -> bool:
    """From as long before on: what a fault held back comes after its end."""
    took_ns = one.complete_ns - one.invoke_ns
    if not one.said.get("waits_for_nothing") or took_ns <= PROMPT_NS + facts.slack_ns():
        return False
    conditions = facts.conditions
    between = [f for f in facts.faults if f.effective != 0 and (f.does("slows") or f.hinders(SOME_CLIENT, one.node))]
    held_up = [*conditions.held_up(one.node), *((f.begin_ns, f.held_until_ns) for f in between)]
    return not meet(held_up, [(one.invoke_ns - took_ns, one.complete_ns)])


def _kept_waiting(facts: RunFacts, one: _Try) -> Anomaly:
    sentence = (
        f"In round {one.said['round']} of the dialogue {one.said['dialogue']}, {one.node} was asked "
        f"({one.said['asked']}) at {facts.clock(one.invoke_ns)} for what waits for no disk and no slave; the answer "
        f"came after {seconds(one.complete_ns - one.invoke_ns)}."
    )
    return Anomaly("kept-waiting", sentence, (one.op,), {"node": one.node, "asked": one.said["asked"]})


def _is_in_time(tries: list[_Try], due_ns: int) -> bool:
    """Whether the first try after *due_ns* was right, or none was needed. Between two tries nobody knows since when."""
    first = tries[0]
    if due_ns <= first.invoke_ns:
        return first.is_right
    after = next((one for one in tries if one.invoke_ns > due_ns), None)
    return after is None or (after.is_right and after.invoke_ns <= due_ns + TRY_NS)


def _proof(tries: list[_Try], due_ns: int) -> _Try:
    """The first that was wrong when it had to be right; later ones may be wrong for what came of it. Where the right
    answer came late: the last before it."""
    wrong = [one for one in tries if not one.is_right]
    return next((one for one in wrong if one.invoke_ns >= due_ns), wrong[-1])


def _words(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= SAID_MAX else f"{text[:SAID_MAX]}…"


def _due_ns(facts: RunFacts, first: _Try) -> int:
    """When the right answer must be there: faults that begin before that move it on."""
    within_ns, about = first.said["within_ns"], first.said.get("about", "")
    due_ns = first.invoke_ns + (within_ns + facts.slack_ns() if within_ns else 0)
    for fault in sorted(facts.faults, key=lambda fault: fault.begin_ns):
        back_ns = min(NEVER_NS, fault.heal_ns + JOIN_NS + within_ns)
        if about and _concerns(facts, fault, about):
            back_ns = min(NEVER_NS, back_ns + REGISTER_NS)
        elif not _concerns(facts, fault, first.node):
            continue
        if fault.begin_ns <= due_ns and back_ns > first.invoke_ns:
            due_ns = max(due_ns, back_ns)
    return due_ns


def _concerns(facts: RunFacts, fault: FaultFact, node: str) -> bool:
    """It hit the node, or another of the same broker name."""
    hit = (*fault.left, *fault.right)
    names = {facts.cluster.broker_of(one) for one in hit} - {""}
    return node in hit or facts.cluster.broker_of(node) in names
