"""The check ``replies``: does each request get its own answer, at the client that asked?

Question: a client sends a request and waits; a consumer replies through a broker, which hands the reply to the
connection that asked. Did any client get a reply that is not to its request? Was one lost that had been handed over?

Model. An op ``request`` is one message and the reply to it (its read is the message that the reply says it answers);
``reply`` is what a replier was told: OK, it was handed over; ``stray_reply`` is a reply that reached a client which was
not waiting for it, with the message that it answers.

    wrong-reply       a request was answered with the answer to another one
    wrong-caller      a reply reached a client that never sent that request
    reply-lost        the broker said that it had handed the reply over while its caller still waited, and the caller
                      never got it; allowed if the caller was ended, frozen or partitioned meanwhile

A reply that comes after its caller has given up, or a second time (a request is a message, and delivered at least
once), is counted.

UNKNOWN without any request that was answered, and where repliers never heard that a reply was handed over.

Limits. A request without any reply proves nothing: replies are not kept for callers that are away.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from checkers.history.columns import Ints
from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.verdict import Anomaly, Outcome, Verdict

_NAMED: Final = 10


def has_requests(history: History, facts: RunFacts) -> bool:
    """Whether anybody asked anything."""
    return "request" in history.ops.f.values


def check_replies(history: History, facts: RunFacts) -> Verdict:
    """FAIL for a reply to somebody else, and for one that was handed over and never came."""
    ops = history.ops
    asked = np.flatnonzero(ops.f.mask("request"))
    answered = asked[ops.outcome.mask("ok")[asked]]
    stray = np.flatnonzero(ops.f.mask("stray_reply"))
    caller = {int(ops.message[row]): ops.node[row] for row in asked.tolist()}
    anomalies = [
        *_told(history, "wrong-reply", "got the reply to another request", _wrong(history, answered)),
        *_told(history, "wrong-caller", "reached a client that had not asked", _elsewhere(history, stray, caller)),
        *_lost(history, facts, asked),
    ]
    handed = int((ops.f.mask("reply") & ops.status.mask("OK")).sum())
    failed = any(not anomaly.allowed for anomaly in anomalies)
    reasons = [] if len(answered) else ["no request was answered"]
    if "reply" in ops.f.values and not handed:
        reasons.append("no replier was told that its reply was handed over, so that none can be missed")
    outcome = Outcome.FAIL if failed else Outcome.UNKNOWN if reasons else Outcome.PASS
    measures = {
        "requests": len(asked),
        "answered": len(answered),
        "handed_over": handed,
        "late_or_twice": len(stray),
    }
    return Verdict("replies", outcome, tuple(anomalies), measures, tuple(reasons))


def _answer_of(history: History, row: int) -> int:
    """The message that the reply of that op says it answers; −1 for none."""
    reads = history.reads
    place = int(np.searchsorted(reads.op, history.ops.op[row]))
    return int(reads.message[place]) if place < len(reads) and reads.op[place] == history.ops.op[row] else -1


def _wrong(history: History, answered: Ints) -> list[int]:
    return [row for row in answered.tolist() if _answer_of(history, row) != history.ops.message[row]]


def _elsewhere(history: History, stray: Ints, caller: dict[int, str]) -> list[int]:
    ops = history.ops
    return [row for row in stray.tolist() if caller.get(_answer_of(history, row), "") != ops.node[row]]


def _lost(history: History, facts: RunFacts, asked: Ints) -> Iterator[Anomaly]:
    """Handed over while the caller waited, and never heard of."""
    ops = history.ops
    handed: dict[int, int] = {}
    for row in np.flatnonzero(ops.f.mask("reply") & ops.status.mask("OK")).tolist():
        handed.setdefault(int(ops.message[row]), row)
    arrived = {_answer_of(history, row) for row in np.flatnonzero(ops.f.mask("stray_reply")).tolist()}
    lost = [
        row
        for row in asked[ops.status.mask("TIMEOUT")[asked]].tolist()
        if int(ops.message[row]) not in arrived
        and (reply := handed.get(int(ops.message[row]), -1)) >= 0
        and ops.complete_event[reply] < ops.complete_event[row]
    ]
    excused = [row for row in lost if _was_away(history, facts, row)]
    plain = [row for row in lost if row not in excused]
    yield from _told(history, "reply-lost", "was told to be handed over and never came", plain)
    yield from _told(history, "reply-lost", "never came, its caller was away", excused, allowed=True)


def _was_away(history: History, facts: RunFacts, row: int) -> bool:
    """Whether a fault held the caller, or the way to it, while it waited."""
    begin, end = int(history.ops.invoke_ns[row]), int(history.ops.complete_ns[row])
    node = history.ops.node[row]
    return any(
        fault.effective != 0 and node in fault.left + fault.right and fault.begin_ns < end and begin < fault.lasts[1]
        for fault in facts.faults
    )


def _told(history: History, kind: str, what: str, rows: list[int], *, allowed: bool = False) -> Iterator[Anomaly]:
    if rows:
        ops = history.ops.op
        sentence = f"{len(rows)} times a request or reply {what}; the first: {history.op_text(int(ops[rows[0]]))}."
        yield Anomaly(kind, sentence, tuple(int(ops[row]) for row in rows[:_NAMED]), {"count": len(rows)}, allowed)
