"""The check ``broadcasts``: does every member of a broadcasting group get every message?

Question: a group that broadcasts shares nothing: each member reads all queues by itself. Did each that was there from
the first message to the end get every acknowledged message that is still there?

Model. An op ``broadcast`` is a queue that a member reads for itself. What the drain found and a producer was told to be
stored must be among what each member was given:

    not-broadcast    a member never got a message; allowed after a fault that takes data from its broker, since the
                     message may stand at an offset that the member had passed before

Members that began anew know nothing of their offsets (RocketMQ keeps them in a local file) and read from the start:
what they get twice is counted.

Limits. A member that had not read to the end when the run ended is UNKNOWN, not FAIL, for what came last: messages
behind its last offset in their queue.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from checkers.history.columns import Ints
from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.history.ledger import OK, Ledger, ledger_of
from checkers.history.listeners import Given, given_by_group, is_broadcast
from checkers.runs.excuses import excuses
from checkers.runs.listener_deliveries import of_load
from checkers.verdict import Anomaly, Outcome, Verdict

_NAMED: Final = 10


def has_broadcasts(history: History, facts: RunFacts) -> bool:
    """Whether a group broadcast."""
    return "broadcast" in history.ops.f.values


def check_broadcasts(history: History, facts: RunFacts) -> Verdict:
    """FAIL for a message that a member never got although it got a later one of its queue."""
    ledger = ledger_of(history)
    promised = ledger.where((ledger.outcome == OK) & ledger.drained & of_load(history, len(ledger)))
    ops = history.ops
    anomalies: list[Anomaly] = []
    reasons = [] if len(promised) else ["no acknowledged message was there in the end: nothing had to be delivered"]
    members = again = 0
    for given in _broadcast(history):
        names = sorted({ops.node[row] for row in given.row.tolist()})
        for name in names:
            own = np.array([ops.node[row] == name for row in given.row.tolist()], dtype=np.bool_)
            members += 1
            known = given.message[own & (given.message >= 0)]
            again += len(known) - len(np.unique(known))
            missing = np.setdiff1d(promised, known)
            passed, behind = _split(history, given, own, ledger, missing)
            anomalies += _missing(history, facts, given.group, name, ledger, passed)
            if len(behind):
                reasons.append(f"{name} had not read {len(behind)} messages of {given.group} when the run ended")
    failed = any(not anomaly.allowed for anomaly in anomalies)
    outcome = Outcome.FAIL if failed else Outcome.UNKNOWN if reasons else Outcome.PASS
    measures = {"promised": len(promised), "members": members, "again": again}
    return Verdict("broadcasts", outcome, tuple(anomalies), measures, tuple(reasons))


def _broadcast(history: History) -> list[Given]:
    return [given for given in given_by_group(history) if is_broadcast(history, given.group)]


def _split(
    history: History,
    given: Given,
    own: np.ndarray[tuple[int], np.dtype[np.bool_]],
    ledger: Ledger,
    missing: Ints,
) -> tuple[Ints, Ints]:
    """(those that the member went past, those behind its last offset). At its last offset it had another one."""
    ops = history.ops
    rows = given.row[own]
    last: dict[int, int] = {}
    for queue, offset in zip(ops.queue[rows].tolist(), ops.offset[rows].tolist(), strict=True):
        last[queue] = max(last.get(queue, -1), offset)
    sent = ledger.row[missing].tolist()
    passed = np.array([last.get(int(ops.queue[row]), -1) >= int(ops.offset[row]) for row in sent], dtype=np.bool_)
    return missing[passed], missing[~passed]


def _missing(
    history: History, facts: RunFacts, group: str, member: str, ledger: Ledger, messages: Ints
) -> Iterator[Anomaly]:
    if not len(messages):
        return
    rows = ledger.row[messages[:_NAMED]]
    sentence = (
        f"{member} of the broadcasting group {group} never got {len(messages)} messages, though it got later ones: "
        f"{', '.join(f'm{message}' for message in messages[:_NAMED].tolist())}."
    )
    proof = tuple(int(history.ops.op[row]) for row in rows.tolist())
    details = {"group": group, "member": member, "count": len(messages)}
    yield Anomaly("not-broadcast", sentence, proof, details, allowed=bool(excuses(facts, "not-broadcast")))
