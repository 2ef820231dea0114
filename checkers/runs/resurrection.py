"""What came back: messages that lay behind the end of a log when it was recovered, and are there again at the end.

Question: a power cut, or a sector that went bad, cut a log off. Did records of the part that was cut off turn up again,
behind newer ones?

Model. The first position that a log gives out after a cut is where the recovered log ended: *T*. A message of before
the cut whose own position is T or more was cut off then, whatever anybody read in between. If the drain finds it, it
came back. Two ways are known:

    stale bytes       RocketMQ sets its write position to T and leaves the bytes behind T as they are; the scan of a
                      later recovery does not compare a record's own position with where it stands, reads from the
                      last new record on into the old ones (their borders line up where records are equally long)
                      and takes them for its own (RocketMQ: CommitLog#recoverAbnormally)
    a slave's data    the slave had kept what its master lost, and has taken its place since

Neither is allowed: a queue that was seen to end at one message goes on with older ones.

Limits. Only messages that were sent once, with a position in their answer; those in flight over the cut may have been
stored after it, and count as neither. A cut after which nothing was stored, or
nothing with a position, tells no T.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.history.columns import NEVER, Bools, Ints
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History
from checkers.history.ledger import WEAK, Ledger
from checkers.runs.mechanisms import SLAVE_KEPT, STALE_BYTES
from checkers.verdict import Anomaly

NOT_CLEARED = "RocketMQ does not clear what lies behind the recovered end"

_NAMED = 20


@dataclass(frozen=True)
class Returned:
    """Messages that *cut* had cut off at position *end*, and that are there again."""

    loss: FaultFact
    end: int
    messages: Ints


def returned(history: History, ledger: Ledger, broker: str, losses: list[FaultFact]) -> list[Returned]:
    """By cut, in their order; cuts of which nothing came back are left out."""
    own = _stored_once(history, ledger, broker)
    invoked = history.ops.invoke_event[ledger.row[own]]
    answered = history.ops.complete_event[ledger.row[own]]
    events = [*(loss.inject_event for loss in losses), int(NEVER)]
    found = []
    for number, loss in enumerate(losses):
        later = own[(invoked > loss.inject_event) & (invoked < events[number + 1])]
        if not len(later):
            continue
        end = int(ledger.position[later].min())
        before = own[answered < loss.inject_event]
        again = before[(ledger.position[before] >= end) & ledger.drained[before]]
        if len(again):
            found.append(Returned(loss, end, again[np.argsort(ledger.position[again], kind="stable")]))
    return found


def is_returned(found: list[Returned], messages: Ints) -> Bools:
    """Which of *messages* are among them."""
    again = np.concatenate([back.messages for back in found]) if found else messages[:0]
    return np.isin(messages, again)


def ahead_since(
    history: History, ledger: Ledger, broker: str, losses: list[FaultFact], adopted: FaultFact, lost: Ints
) -> FaultFact | None:
    """The one of *losses* since which the slave was ahead whose data took the place by *adopted*: what its master lost
    then is there again, and all of *lost* was sent afterwards (RocketMQ: HAClient reports the end of its own log)."""
    if adopted.takes() != "replaced":
        return None
    sent_event = int(history.ops.invoke_event[ledger.row[lost]].min())
    before = min(sent_event, adopted.inject_event)
    return next((b.loss for b in returned(history, ledger, broker, losses) if b.loss.inject_event < before), None)


def judge_returned(
    history: History, facts: RunFacts, ledger: Ledger, broker: str, found: list[Returned]
) -> list[Anomaly]:
    """An anomaly for each cut of which something came back."""
    return [_anomaly(history, facts, ledger, broker, back) for back in found]


def _stored_once(history: History, ledger: Ledger, broker: str) -> Ints:
    queues = [queue for queue in history.queues.queue.tolist() if history.queues.broker_of(queue) == broker]
    once = (ledger.outcome <= WEAK) & (ledger.position >= 0) & (ledger.attempts == 1)
    return np.flatnonzero(once & np.isin(ledger.queue, queues))


def _anomaly(history: History, facts: RunFacts, ledger: Ledger, broker: str, back: Returned) -> Anomaly:
    first = int(back.messages[0])
    op = int(history.ops.op[ledger.row[first]])
    many = "1 record" if len(back.messages) == 1 else f"{len(back.messages)} records"
    mechanism, why = _why(history, facts, ledger, broker, back)
    sentence = (
        f"{many} of before the cut at {back.end} came back behind newer ones: {why}. {broker} "
        f"gave out position {back.end} anew after {back.loss.words()}, first to come back {history.op_text(op)} at "
        f"position {int(ledger.position[first])}."
    )
    details = {
        "broker": broker,
        "count": len(back.messages),
        "fault": back.loss.fault,
        "recovered_end": back.end,
        "messages": back.messages[:_NAMED].tolist(),
        "mechanism": mechanism,
    }
    reader = _reader(history, first)
    return Anomaly("resurrected", sentence, (op, *([reader] if reader >= 0 else [])), details)


def _why(history: History, facts: RunFacts, ledger: Ledger, broker: str, back: Returned) -> tuple[str, str]:
    """By which way, as far as the faults since tell: its name, empty if the conditions do not hold, and in words."""
    loss = back.loss
    since = [fault for fault in facts.faults if fault.inject_ns > loss.inject_ns and facts.hits(fault, broker)]
    adopted = [fault for fault in since if fault.takes() == "replaced" and not fault.does("promotes")]
    if adopted:
        words = f"the slave had kept what its master lost, and its data took the place after {adopted[0].words()}"
        return SLAVE_KEPT, words
    again = [fault for fault in since if _begins_anew(fault)]
    after = f", and the recovery after {again[-1].words()} read on into it" if again else ""
    lies_behind = any(_lies_behind(history, ledger, broker, back, fault) for fault in again)
    return STALE_BYTES if lies_behind else "", f"{NOT_CLEARED}{after}"


def _begins_anew(fault: FaultFact) -> bool:
    """Whether the broker recovered what its disk had afterwards; what a fault takes with its heal is one of these."""
    return fault.takes() in ("unforced", "damaged") or (fault.does("ends") and not fault.takes())


def _lies_behind(history: History, ledger: Ledger, broker: str, back: Returned, fault: FaultFact) -> bool:
    """Whether all that came back lies behind all that was stored between the cut and *fault* and that this one left: a
    recovery reads on from the last record, and over nothing."""
    stored = _stored_once(history, ledger, broker)
    invoked = history.ops.invoke_event[ledger.row[stored]]
    is_left = ledger.drained[stored] | (fault.takes() == "")
    between = stored[(invoked > back.loss.inject_event) & (invoked < fault.inject_event) & is_left]
    return int(ledger.position[between].max(initial=-1)) < int(ledger.position[back.messages[0]])


def _reader(history: History, message: int) -> int:
    """The last operation that read it, −1 if none did."""
    rows = np.flatnonzero(history.reads.message == message)
    return int(history.reads.op[rows[-1]]) if len(rows) else -1
