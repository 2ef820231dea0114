"""Stale units: which unit at a place of a consume queue may be one of before a fault, taken for the queue's own?

Question: a queue has a place that nobody wrote, or one whose bytes are no record. Is that the known way, or new?

Model. A recovery ended the log at T and cut the queue there, but left the bytes of the units behind that end. Units of
newer messages are written over them one by one. When the process ends before all are overwritten, or when a power cut
takes the newer ones, the next start takes the old units for its own: they name positions that the log has reached again
(RocketMQ: ConsumeQueue#recover, #truncateDirtyLogicFiles), where records have other borders now. What such a unit
covers is not dispatched again, and the queue goes on behind it.

    log     0 ── T ── new ──── new ── new ── new ──────│ end
    queue   0 1 2 │ new new │ old old │                  the old ones name places between T and the end

So a place holds such a unit only if all of this holds:

    taker     a fault took the end of the log, and left what lies before
    old       the queue had that place before it, for a message at position P
    end       the process ended once more since, before the place was seen
    reached   the log had reached P again by then

A broker writes a record of its own for each pull whose offset it moves (topic ``OFFSET_MOVED_EVENT``), where no send
tells of it: the log then ends before the first message of afterwards.

Limits. The positions of messages that were sent in batches are those of their first one; how long a record is, is known
but for what surrounds its body.
"""

from __future__ import annotations

import numpy as np

from checkers.history.columns import NEVER, Bools
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History
from checkers.runs.losses import data_losses
from checkers.runs.slave_ahead import longest_record_bytes

DAMAGED_ANSWER = "MALFORMED_BODY"
"""How a client names an answer whose bytes are no record."""

Way = tuple[FaultFact, ...]
"""What took the end of the log, and what ended the process then; empty: it did not come about in this way."""


def way_to(history: History, facts: RunFacts, queue: int, offset: int, op: int) -> Way:
    """How a unit of before a fault can stand at *offset* of *queue*, where operation *op* saw something (−1: some
    operation, before the end)."""
    broker = history.queues.broker_of(queue)
    seen = int(history.ops.complete_event[history.ops.rows(np.array([op]))[0]] if op >= 0 else NEVER)
    for taker in reversed(takers_of(facts, broker)):
        old = _position_before(history, queue, offset, taker)
        ends = [end for end in ends_after(facts, broker, taker) if end.begin_event < seen]
        reached = [end for end in ends if _reached(history, broker, taker, end) > old >= 0]
        if reached:
            return taker, reached[-1]
    return ()


def takers_of(facts: RunFacts, broker: str) -> list[FaultFact]:
    """Faults that took the end of the log of *broker*, and left what lies before it."""
    return [loss for loss in data_losses(facts, broker) if loss.takes() in ("unforced", "damaged")]


def ends_after(facts: RunFacts, broker: str, taker: FaultFact) -> list[FaultFact]:
    """Faults that ended the process of *broker* once more after *cut*."""
    hits = [fault for fault in facts.faults if fault.may_have_acted and facts.hits(fault, broker)]
    return [fault for fault in hits if fault.fault != taker.fault and ends_later(fault, taker.inject_ns)]


def ends_later(fault: FaultFact, ns: int) -> bool:
    """Whether it ends its process later than *ns*, when it strikes or when it is healed."""
    return (fault.does("ends") and fault.inject_ns > ns) or (fault.does("ends", at="heal") and fault.heal_ns > ns)


def in_words(way: Way) -> str:
    """A sentence to follow another one; empty without a way."""
    if not way:
        return ""
    taker, end = way
    return (
        f" RocketMQ leaves the units behind the recovered end of a queue where they are: the start after {end.words()} "
        f"took those of before {taker.words()} for its own."
    )


def _position_before(history: History, queue: int, offset: int, taker: FaultFact) -> int:
    """Where the message of that place lay before *cut*; −1 if the queue was not that long."""
    ops = history.ops
    rows = _stored(history, ops.queue == queue) & (ops.invoke_event < taker.inject_event)
    if ops.offset[rows].max(initial=-1) < offset:
        return -1
    return int(ops.position[rows & (ops.offset <= offset)].max(initial=-1))


def _reached(history: History, broker: str, taker: FaultFact, end: FaultFact) -> int:
    """Where the last record that *broker* stored between *cut* and *end* can end; −1 if it stored none."""
    ops, queues = history.ops, history.queues
    own = np.isin(ops.queue, [queue for queue in queues.queue.tolist() if queues.broker_of(queue) == broker])
    last_ns = end.heal_ns if end.does("ends", at="heal") else end.inject_ns
    after = ops.invoke_event > taker.inject_event
    rows = _stored(history, own) & after
    last = int(ops.position[rows & (ops.complete_ns < last_ns)].max(initial=-1))
    told = last + longest_record_bytes(history) if last >= 0 else -1
    if not (own & after & ops.status.mask("PULL_OFFSET_MOVED") & (ops.complete_ns < last_ns)).any():
        return told
    next_one = ops.position[rows & (ops.invoke_ns > last_ns)]
    return max(told, int(next_one.min())) if len(next_one) else told


def _stored(history: History, of_ops: Bools) -> Bools:
    ops = history.ops
    stored: Bools = ops.f.mask("send") & of_ops & (ops.offset >= 0) & (ops.position >= 0) & (ops.complete_event >= 0)
    return stored
