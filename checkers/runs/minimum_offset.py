"""The check ``minimum``: does a reader get on from where its broker told it to begin?

Question: a master says where a queue begins, or that the offset asked for is not there and where to go on. Can a reader
that asks there go on?

Model (RocketMQ: DefaultMessageStore#getMessage). An offset below the minimum is answered PULL_OFFSET_MOVED with the
minimum as the next one, an offset beyond the end with the end. A minimum only grows and an end does not shrink, unless
data was taken away: so the offset that a master has once named is from then on in its queue, at its end, or below a
later minimum. Whoever asks for it gets messages, is held until there is one, or is sent forward.

    stuck-at-minimum   a reader that asks for such an offset is sent to the same one, or to one below it, again and
                       again (:data:`REPEATED` times)

Between the naming and the answer must be no fault that takes data from the broker. If nobody asked for any offset that
had been named, nothing is known.

Limits. Masters only: a slave leaves the offset as it is until it has what its master has. Who says that there is
nothing at an offset, although there is, is judged by the check ``log``.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from checkers.history.columns import Bools, Ints
from checkers.history.facts import RunFacts
from checkers.history.groups import of_slaves
from checkers.history.history import History, seconds
from checkers.runs.losses import data_losses
from checkers.verdict import Anomaly, Outcome, Verdict

REPEATED = 2
SENT_ON = ("PULL_OFFSET_MOVED", "PULL_RETRY_IMMEDIATELY")
"""Answers without messages that say where to go on at once."""

_Place = tuple[int, int]
"""(queue, offset)."""


def has_minimum(history: History, facts: RunFacts) -> bool:
    """Whether anybody was told that a queue begins later than at 0, or was sent elsewhere."""
    ops = history.ops
    told = ops.f.mask("query_min") & (ops.offset > 0)
    return bool((told | (_asking(history, facts) & ops.status.mask("PULL_OFFSET_MOVED"))).any())


def check_minimum(history: History, facts: RunFacts) -> Verdict:
    """Judge every answer that sends a reader elsewhere; UNKNOWN if no offset was ever named, or none asked for."""
    named = _named(history, facts)
    stuck = _stuck(history, facts, named)
    anomalies = tuple(
        _anomaly(history, place, named[place], rows) for place, rows in stuck.items() if len(rows) >= REPEATED
    )
    measures = _measures(history, facts, named)
    reasons = _reasons(measures)
    outcome = Outcome.FAIL if anomalies else Outcome.UNKNOWN if reasons else Outcome.PASS
    return Verdict("minimum", outcome, anomalies, measures, reasons)


def _reasons(measures: dict[str, Any]) -> tuple[str, ...]:
    if not measures["named"]:
        return ("no master said where one of its queues begins",)
    if not measures["asked_there"]:
        return ("nobody asked for an offset at which a master had said that its queue begins, or goes on",)
    return ()


def _asking(history: History, facts: RunFacts) -> Bools:
    """Answered pulls that asked a master."""
    ops = history.ops
    asked: Bools = ops.f.mask("pull", "drain") & ops.outcome.mask("ok") & (ops.queue >= 0) & ~of_slaves(history, facts)
    return asked


def _named(history: History, facts: RunFacts) -> dict[_Place, list[int]]:
    """Every offset that a master named as a place to begin or to go on at → rows of the answers, in their order."""
    ops = history.ops
    queries = ops.f.mask("query_min") & ops.outcome.mask("ok") & (ops.queue >= 0) & ~of_slaves(history, facts)
    moved = _asking(history, facts) & ops.status.mask("PULL_OFFSET_MOVED")
    place = np.where(moved, ops.next_offset, ops.offset)
    named: dict[_Place, list[int]] = defaultdict(list)
    rows = np.flatnonzero((queries | moved) & (place >= 0))
    for row in rows[np.argsort(ops.complete_event[rows], kind="stable")].tolist():
        named[int(ops.queue[row]), int(place[row])].append(row)
    return dict(named)


def _stuck(history: History, facts: RunFacts, named: dict[_Place, list[int]]) -> dict[_Place, list[int]]:
    """Named offset → rows of the pulls that asked for it afterwards and were sent no further."""
    ops = history.ops
    rows = np.flatnonzero(_asking(history, facts) & ops.status.mask(*SENT_ON) & (ops.next_offset >= 0))
    rows = rows[ops.next_offset[rows] <= ops.offset[rows]]
    asked: dict[_Place, list[int]] = defaultdict(list)
    for row in rows[np.argsort(ops.complete_event[rows], kind="stable")].tolist():
        asked[int(ops.queue[row]), int(ops.offset[row])].append(row)
    found = {
        place: answers[_holds(history, facts, place[0], named[place], answers)].tolist()
        for place, answers in (
            (place, np.array(answers, dtype=np.int64)) for place, answers in asked.items() if place in named
        )
    }
    return {place: answers for place, answers in found.items() if answers}


def _holds(history: History, facts: RunFacts, queue: int, claims: list[int], rows: Ints) -> Bools:
    """For which of *rows* what one of the answers *claims* named still has to be there: of those before it, the one
    that was asked for last is the one that the fewest faults came after."""
    ops = history.ops
    latest = np.append(-1, np.maximum.accumulate(ops.invoke_event[claims]))
    asked = latest[np.searchsorted(ops.complete_event[claims], ops.invoke_event[rows])]
    holds: Bools = asked >= 0
    for loss in data_losses(facts, history.queues.broker_of(queue)):
        holds &= (loss.begin_event >= ops.complete_event[rows]) | (loss.inject_event <= asked)
    return holds


def _anomaly(history: History, place: _Place, named: list[int], rows: list[int]) -> Anomaly:
    ops = history.ops
    queue, offset = place
    first, last = (int(ops.op[row]) for row in (rows[0], rows[-1]))
    lasted_ns = int(ops.complete_ns[rows[-1]] - ops.invoke_ns[rows[0]])
    before = [claim for claim in named if ops.complete_event[claim] < ops.invoke_event[rows[0]]]
    witness = int(ops.op[max(before, key=lambda claim: int(ops.invoke_event[claim]))])
    following = int(ops.next_offset[rows[0]])
    sentence = (
        f"{ops.node[rows[0]]} had named {offset} as the offset to go on at in {history.queues.name(queue)} "
        f"({history.op_text(witness)}), and sent whoever asked for it to {following}, {len(rows)} times within "
        f"{seconds(lasted_ns)}: nobody gets on from there. First: {history.op_text(first)}."
    )
    details = {"queue": queue, "offset": offset, "count": len(rows), "lasted_ns": lasted_ns}
    return Anomaly("stuck-at-minimum", sentence, (witness, first, last), details)


def _measures(history: History, facts: RunFacts, named: dict[_Place, list[int]]) -> dict[str, Any]:
    ops = history.ops
    asking = np.flatnonzero(_asking(history, facts))
    sent_on: Ints = asking[ops.status.mask("PULL_OFFSET_MOVED")[asking]]
    places = zip(ops.queue[asking].tolist(), ops.offset[asking].tolist(), strict=True)
    return {"named": len(named), "sent_on": len(sent_on), "asked_there": sum(place in named for place in places)}
