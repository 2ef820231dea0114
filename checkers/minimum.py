"""The check ``minimum``: does a reader get on from where its broker told it to begin?

Question: a master says where a queue begins, or that the offset asked for is not there and where to go on. Can a reader
that asks there go on?

Model (RocketMQ: DefaultMessageStore#getMessage). An offset below the minimum is answered PULL_OFFSET_MOVED with the
minimum as the next one, an offset beyond the end with the end. A minimum only grows and an end does not shrink, unless
data was taken away: so the offset that a master has once named is from then on in its queue, at its end, or below a
later minimum. Whoever asks for it gets messages, is held until there is one, or is sent forward.

    stuck-at-minimum   a reader that asks for such an offset is sent to the same one, or to one below it, again and
                       again (:data:`REPEATED` times)

Between the naming and the answer must be no fault that takes data from the broker.

Limits. Masters only: a slave leaves the offset as it is until it has what its master has. Who says that there is
nothing at an offset, although there is, is judged by the check ``log``.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from checkers.columns import Bools, Ints
from checkers.envelope import power_cuts
from checkers.facts import RunFacts
from checkers.groups import of_slaves
from checkers.history import History, seconds
from checkers.verdict import Anomaly, Outcome, Verdict

REPEATED = 2
SENT_ON = ("PULL_OFFSET_MOVED", "PULL_RETRY_IMMEDIATELY")
"""Answers without messages that say where to go on at once."""

_Place = tuple[int, int]
"""(queue, offset)."""


def has_minimum(history: History) -> bool:
    """Whether anybody was told that a queue begins later than at 0, or was sent elsewhere."""
    ops = history.ops
    told = ops.f.mask("query_min") & (ops.offset > 0)
    return bool((told | (_asking(history) & ops.status.mask("PULL_OFFSET_MOVED"))).any())


def check_minimum(history: History, facts: RunFacts) -> Verdict:
    """Judge every answer that sends a reader elsewhere; UNKNOWN if no offset was ever named."""
    named = _named(history)
    stuck = _stuck(history, facts, named)
    anomalies = tuple(
        _anomaly(history, place, named[place], rows) for place, rows in stuck.items() if len(rows) >= REPEATED
    )
    reasons = () if named else ("no master said where one of its queues begins",)
    outcome = Outcome.FAIL if anomalies else Outcome.UNKNOWN if reasons else Outcome.PASS
    return Verdict("minimum", outcome, anomalies, _measures(history, named), reasons)


def _asking(history: History) -> Bools:
    """Answered pulls that asked a master."""
    ops = history.ops
    asked: Bools = ops.f.mask("pull", "drain") & ops.outcome.mask("ok") & (ops.queue >= 0) & ~of_slaves(history)
    return asked


def _named(history: History) -> dict[_Place, list[int]]:
    """Every offset that a master named as a place to begin or to go on at → rows of the answers, in their order."""
    ops = history.ops
    queries = ops.f.mask("query_min") & ops.outcome.mask("ok") & (ops.queue >= 0) & ~of_slaves(history)
    moved = _asking(history) & ops.status.mask("PULL_OFFSET_MOVED")
    place = np.where(moved, ops.next_offset, ops.offset)
    named: dict[_Place, list[int]] = defaultdict(list)
    rows = np.flatnonzero((queries | moved) & (place >= 0))
    for row in rows[np.argsort(ops.complete_event[rows], kind="stable")].tolist():
        named[int(ops.queue[row]), int(place[row])].append(row)
    return dict(named)


def _stuck(history: History, facts: RunFacts, named: dict[_Place, list[int]]) -> dict[_Place, list[int]]:
    """Named offset → rows of the pulls that asked for it afterwards and were sent no further."""
    ops = history.ops
    rows = np.flatnonzero(_asking(history) & ops.status.mask(*SENT_ON) & (ops.next_offset >= 0))
    rows = rows[ops.next_offset[rows] <= ops.offset[rows]]
    found: dict[_Place, list[int]] = defaultdict(list)
    for row in rows[np.argsort(ops.complete_event[rows], kind="stable")].tolist():
        place = (int(ops.queue[row]), int(ops.offset[row]))
        if any(_holds(history, facts, claim, row) for claim in named.get(place, ())):
            found[place].append(row)
    return dict(found)


def _holds(history: History, facts: RunFacts, claim: int, row: int) -> bool:
    """Whether what the answer *claim* named still has to be there for *row*."""
    ops = history.ops
    cuts = power_cuts(facts, history.queues.broker_of(int(ops.queue[row])))
    is_before = ops.complete_event[claim] < ops.invoke_event[row]
    return bool(is_before) and not any(
        cut.begin_event < ops.complete_event[row] and cut.inject_event > ops.invoke_event[claim] for cut in cuts
    )


def _anomaly(history: History, place: _Place, named: list[int], rows: list[int]) -> Anomaly:
    ops = history.ops
    queue, offset = place
    first, last = (int(ops.op[row]) for row in (rows[0], rows[-1]))
    lasted_ns = int(ops.complete_ns[rows[-1]] - ops.invoke_ns[rows[0]])
    named_by, following = history.op_text(int(ops.op[named[0]])), int(ops.next_offset[rows[0]])
    sentence = (
        f"{ops.node[rows[0]]} had named {offset} as the offset to go on at in {history.queues.name(queue)} "
        f"({named_by}), and sent whoever asked for it to {following}, {len(rows)} times within {seconds(lasted_ns)}: "
        f"nobody gets on from there. First: {history.op_text(first)}."
    )
    details = {"queue": queue, "offset": offset, "count": len(rows), "lasted_ns": lasted_ns}
    return Anomaly("stuck-at-minimum", sentence, (int(ops.op[named[0]]), first, last), details)


def _measures(history: History, named: dict[_Place, list[int]]) -> dict[str, Any]:
    ops = history.ops
    asking = np.flatnonzero(_asking(history))
    sent_on: Ints = asking[ops.status.mask("PULL_OFFSET_MOVED")[asking]]
    places = zip(ops.queue[asking].tolist(), ops.offset[asking].tolist(), strict=True)
    return {"named": len(named), "sent_on": len(sent_on), "asked_there": sum(place in named for place in places)}
