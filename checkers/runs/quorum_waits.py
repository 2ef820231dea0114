"""The check ``quorum-waits``: does a leader wait for its majority as long as it says it does?

Question: a group that has no majority for a moment should keep its producers waiting, not turn them away. Were any told
"not confirmed in time" before the time was over?

Model (DLedger: DLedgerConfig#maxWaitAckTime, 2.5 s). An append that no majority confirms in time ends with an answer
that leaves open whether it was stored; a refusal before the append comes at once. So an unclear answer (code 1) that
comes neither at once nor after the whole wait is one of a leader that stepped down, or

    gave-up-waiting   the leader led on, and everything between it and its clients was well

Limits. Groups whose members do not tell of their roles are not judged: nobody knows then when a leader stepped down.
Answers during a fault that slows, freezes or separates clients are not judged either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from checkers.history.facts import RunFacts
from checkers.history.history import History, seconds
from checkers.history.spans import Span, meet
from checkers.verdict import Anomaly, Outcome, Verdict

AT_ONCE_NS: Final = 500_000_000
"""A refusal has come by then, on a machine under load, too."""
EARLY_NS: Final = 20_000_000
"""A wait that is shorter by so much is too short."""
WAIT_MS: Final = 2500
WAIT: Final = "maxWaitAckTimeMs"
"""The reference's property; Apache's broker has the default."""
UNCLEAR: Final = "SYSTEM_ERROR"
_NAMED = 20


def has_quorum_waits(history: History, facts: RunFacts) -> bool:
    """Whether members of a group told of their roles."""
    return facts.waits_for_majority() and "role_changed" in history.events.step.values


def check_quorum_waits(history: History, facts: RunFacts) -> Verdict:
    """Every unclear answer to a send."""
    ops = history.ops
    rows = np.flatnonzero(ops.f.mask("send") & ops.outcome.mask("info") & ops.status.mask(UNCLEAR)).tolist()
    early = [row for row in rows if _is_early(history, facts, row)]
    measures = {"unclear": len(rows), "early": len(early)}
    return Verdict(
        "quorum-waits", Outcome.FAIL if early else Outcome.PASS, tuple(_anomalies(history, facts, early)), measures
    )


def _is_early(history: History, facts: RunFacts, row: int) -> bool:
    ops = history.ops
    span = (int(ops.invoke_ns[row]), int(ops.complete_ns[row]))
    broker = history.queues.broker_of(int(ops.queue[row]))
    leader = facts.cluster.master_at(broker, span[0])
    is_between = AT_ONCE_NS < span[1] - span[0] < _wait_ns(facts, leader, span[0]) - EARLY_NS
    return is_between and _leads(history, facts, leader, span) and not _is_hindered(facts, leader, span)


def _wait_ns(facts: RunFacts, leader: str, ns: int) -> int:
    return int(facts.cluster.properties(leader, ns).get(WAIT, WAIT_MS)) * 1_000_000


def _leads(history: History, facts: RunFacts, leader: str, span: Span) -> bool:
    """Whether *leader* had been elected before and did not change its role until it had answered."""
    events = history.events
    told = events.kind.mask("role") & events.step.mask("role_changed") & events.node.mask(leader)
    near = (events.ns >= span[0] - AT_ONCE_NS) & (events.ns <= span[1])
    masterships = facts.cluster.elections(facts.cluster.broker_of(leader))
    began = [each.begin_ns for each in masterships if each.node == leader and each.begin_ns < span[0] - AT_ONCE_NS]
    return bool(began) and not bool((told & near).any())


def _is_hindered(facts: RunFacts, leader: str, span: Span) -> bool:
    """Whether the answer itself may have been late, or the question."""
    if meet(facts.conditions.held_up(leader), [span]):
        return True
    active = [fault for fault in facts.faults if fault.effective != 0 and meet([fault.lasts], [span])]
    return any(
        fault.does("slows") or any(facts.cluster.is_client(node) for node in (*fault.left, *fault.right))
        for fault in active
    )


def _anomalies(history: History, facts: RunFacts, early: list[int]) -> Iterator[Anomaly]:
    if early:
        ops, row = history.ops, early[0]
        took_ns, broker = int(ops.complete_ns[row] - ops.invoke_ns[row]), history.queues.broker_of(int(ops.queue[row]))
        wait_ns = _wait_ns(facts, facts.cluster.master_at(broker, int(ops.invoke_ns[row])), int(ops.invoke_ns[row]))
        sentence = (
            f"{history.op_text(int(ops.op[row]))} was told after {seconds(took_ns)} that it is not known to be stored, "
            f"although its leader led on and waits {seconds(wait_ns)} for a majority; so were "
            f"{len(early) - 1} more."
        )
        yield Anomaly("gave-up-waiting", sentence, tuple(ops.op[early[:_NAMED]].tolist()), {"count": len(early)})
