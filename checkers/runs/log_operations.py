"""From a run's history to logs: which operations say what about which queue, between which power cuts.

Question: is each queue of each broker one append-only log, except where a power cut truncated it?

Model. A queue is judged in *epochs*: a power cut of its broker that was not seen to do nothing begins a new one at the
event after the act (nothing invoked later was served by what it ended). Within an epoch the theorem of
:mod:`checkers.logs.linear` holds. From one epoch to the next the content below the truncation is carried over, as
appends that existed before everything else; what lay above is gone, its offsets may be used again, and it may not come
back. The truncation is the first offset at which the new epoch contradicts the old one. Whether the loss was allowed is
the business of :mod:`checkers.runs.accounting`: it is not reported twice. After any other fault there is no new epoch,
so an offset used again is *two values at one offset*.

A broker dispatches its log to its queues asynchronously, so an acknowledged message may be invisible for a moment. The
claims "the end is at most …" of empty polls and end queries are therefore judged apart: everything else must hold
exactly, and their staleness must stay below the contract's bound.

That decides of a queue whenever every offset shows its message. Where some do not, or where it finds a contradiction,
all epochs are judged together (:mod:`checkers.runs.log_plan`); so they are where a choice of sides is tried.

An operation that was answered over a cut, having been invoked before it, may have taken effect on either side: it
counts to the epoch in which it was invoked until :mod:`checkers.runs.log_sides` finds that another one explains it
better.

Deleting a file is not forced, so a power cut may bring back what had been trimmed. The start of a queue therefore only
has to move upwards within each epoch; nothing ties it to the start of the epoch before. Files go before the start is
corrected: an answer that begins behind the offset asked for saw the start there, if files can have gone that far
(:mod:`checkers.runs.expiry`); in such a queue what is told to be the start is no more than a lower bound.

Limits. Reads of slaves are not judged here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from checkers.history.columns import NEVER, Bools, Ints
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.groups import of_slaves
from checkers.history.history import History
from checkers.history.spans import holds
from checkers.logs.columns import ACKED, FAILED, UNKNOWN, UNKNOWN_VALUE, Appends, Claims, LogInput, Polls
from checkers.logs.content import EMPTY, Content
from checkers.runs.expiry import begins_later
from checkers.runs.losses import data_losses

BEFORE_ALL = -1
"""Invocation of an append that existed before its epoch began."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of ``ops`` by what they say about logs; ``epoch`` to ``ret`` are by row of all of ``ops``."""

    sends: Ints
    polls: Ints
    empties: Ints
    ends: Ints
    starts: Ints
    refused: Ints
    later: Ints
    """Polls that begin where the queue begins, not where they were asked to, and queries of the start that lag."""
    epoch: Ints
    """The epoch to which it counts: from the one in which it was invoked to the one in which it was answered."""
    began: Ints
    last: Ints
    stored: Bools
    """Sends that were answered with an offset."""
    loose: Bools
    """Answers that do not count: a send may have been stored, anything else is left out."""
    ret: Ints
    epochs: int
    cut_event: dict[tuple[int, int], int]
    """(queue, epoch) → event that began it; the first epoch has none."""

    def in_flight(self) -> Ints:
        """Operations that were answered over a cut and say something: "nothing there" says nothing that must hold."""
        stored = self.sends[self.stored[self.sends]]
        rows = np.concatenate((stored, self.polls, self.ends, self.starts, self.refused, self.later))
        return np.unique(rows[self.last[rows] > self.began[rows]])

    def only(self, wanted: Bools) -> Rows:
        """Without the rows of ``ops`` that are not *wanted*."""
        names = ("sends", "polls", "empties", "ends", "starts", "refused", "later")
        return replace(self, **{name: (column := getattr(self, name))[wanted[column]] for name in names})

    def loosened(self, rows: Ints) -> Rows:
        """Without the answers of *rows*."""
        loose = self.loose.copy()
        loose[rows] = True
        return replace(self.only(~loose), sends=self.sends, loose=loose)


def rows_of(history: History, facts: RunFacts) -> Rows:
    """Sort the operations by what they claim. Slaves are left out; so is everything without a queue."""
    ops = history.ops
    here = (ops.queue >= 0) & ~of_slaves(history, facts)
    answered = here & ops.outcome.mask("ok")
    pulls = answered & ops.f.mask("pull", "drain")
    moved = np.flatnonzero(pulls & ops.status.mask("PULL_OFFSET_MOVED"))
    starts = answered & ops.f.mask("query_min") & (ops.offset >= 0)
    epoch, last, epochs, cut_event = _epochs(history, facts)
    later = begins_later(history, facts, np.where(epoch == last, epoch, -1))
    lags = starts & np.isin(ops.queue, ops.queue[later])
    return Rows(
        sends=np.flatnonzero(here & ops.f.mask("send") & (ops.message >= 0)),
        polls=np.flatnonzero(pulls & ops.status.mask("FOUND") & (ops.count > 0)),
        empties=np.flatnonzero(pulls & ops.status.mask("PULL_NOT_FOUND") & (ops.offset >= 0)),
        ends=np.flatnonzero(answered & ops.f.mask("query_max") & (ops.offset >= 0)),
        starts=np.flatnonzero(starts & ~lags),
        refused=moved[_is_too_small(history, moved)],
        later=np.concatenate((later, np.flatnonzero(lags & (ops.offset > 0)))),
        epoch=epoch,
        began=epoch,
        last=last,
        stored=ops.outcome.mask("ok", "weak") & (ops.offset >= 0),
        loose=np.zeros(len(ops), dtype=np.bool_),
        ret=ops.return_event(),
        epochs=epochs,
        cut_event=cut_event,
    )


def _is_too_small(history: History, rows: Ints) -> Bools:
    """PULL_OFFSET_MOVED says where to go on (``next 17``): forward, if the offset asked for had been trimmed."""
    details = [history.ops.detail[row] for row in rows.tolist()]
    targets = [int(match[1]) if (match := _NEXT.search(detail)) else -1 for detail in details]
    return np.array(targets, dtype=np.int64) > history.ops.offset[rows]


_NEXT = re.compile(r"next (\d+)")


def _epochs(history: History, facts: RunFacts) -> tuple[Ints, Ints, int, dict[tuple[int, int], int]]:
    """(epoch of the invocation, of the return, how many there are, the event that began each)."""
    ops = history.ops
    epoch, last = np.zeros(len(ops), dtype=np.int64), np.zeros(len(ops), dtype=np.int64)
    most, cut_event = 1, {}
    queues_of: dict[str, list[int]] = {}
    for queue, broker in zip(history.queues.queue.tolist(), history.queues.broker, strict=True):
        queues_of.setdefault(broker, []).append(queue)
    for broker, queues in queues_of.items():
        events = sorted(_instant(facts, fault, broker) for fault in data_losses(facts, broker))
        if not events:
            continue
        rows = np.flatnonzero(np.isin(ops.queue, queues))
        truncations = np.array(events, dtype=np.int64)
        epoch[rows] = np.searchsorted(truncations, ops.invoke_event[rows], side="right")
        last[rows] = np.searchsorted(truncations, ops.return_event()[rows], side="left")
        most = max(most, len(events) + 1)
        cut_event.update({(queue, number + 1): event for queue in queues for number, event in enumerate(events)})
    return epoch, last, most, cut_event


def _instant(facts: RunFacts, fault: FaultFact, broker: str) -> int:
    """The event at which one epoch ends and the next begins.

    From the act to the heal nothing is served, so any event between does: the one after the act. A promoted slave
    serves before the act is over; there it is the one before it, if the old master is dead by then.
    """
    if not fault.does("promotes"):
        return fault.inject_event
    down = facts.conditions.down(facts.cluster.first_master(broker))
    return fault.begin_event if holds(down, fault.begin_ns) else fault.inject_event


def input_of(history: History, rows: Rows, epoch: int) -> LogInput:
    """What the operations of one epoch say; queues are numbered as in the history."""
    ops = history.ops
    count = int(max(history.queues.queue.max(initial=-1), ops.queue.max(initial=-1))) + 1

    def here(some: Ints) -> Ints:
        return some if rows.epochs == 1 else some[rows.epoch[some] == epoch]

    def claims(some: Ints, at: Ints = ops.offset) -> Claims:
        some = here(some)
        return Claims(ops.queue[some], at[some], ops.invoke_event[some], rows.ret[some], ops.op[some])

    return LogInput(
        queue_count=count,
        appends=appends_of(history, rows, here(rows.sends)),
        polls=_polls(history, rows, here(rows.polls)),
        empties=claims(rows.empties),
        ends=claims(rows.ends),
        starts=claims(rows.starts),
        refused=claims(np.concatenate((rows.refused, rows.later)), _below(history, rows)),
    )


def _below(history: History, rows: Rows) -> Ints:
    """By row of ``ops``: an offset that the answer says is below the start of the queue."""
    ops, reads = history.ops, history.reads
    if not len(rows.later):
        return ops.offset
    below = ops.offset.copy()
    polls = rows.later[ops.count[rows.later] > 0]
    below[polls] = reads.offset[np.searchsorted(reads.op, ops.op[polls])]
    below[rows.later] -= 1
    return below


def appends_of(history: History, rows: Rows, sends: Ints) -> Appends:
    """The appends that the rows *sends* of ``ops`` tried."""
    ops = history.ops
    outcome = ops.outcome.take(sends)
    stored = rows.stored[sends] & ~rows.loose[sends]
    kind = np.where(stored, ACKED, np.where(outcome.mask("fail"), FAILED, UNKNOWN)).astype(np.int64)
    return Appends(
        queue=ops.queue[sends],
        value=ops.message[sends],
        offset=np.where(stored, ops.offset[sends], -1),
        invoke=ops.invoke_event[sends],
        ret=np.where(kind == UNKNOWN, NEVER, rows.ret[sends]),
        outcome=kind,
        op=ops.op[sends],
    )


def _polls(history: History, rows: Rows, polls: Ints) -> Polls:
    """Polls with the rows of ``reads`` that are theirs; reads are sorted by op, and so are the rows of ops."""
    ops, reads = history.ops, history.reads
    first = np.searchsorted(reads.op, ops.op[polls])
    last = np.searchsorted(reads.op, ops.op[polls], side="right")
    polls, first, last = polls[last > first], first[last > first], last[last > first]
    count = last - first
    if int(count.sum()) == len(reads):
        offset, value = reads.offset, reads.message
    else:
        skipped = np.repeat(first - np.cumsum(count) + count, count)
        places = np.arange(int(count.sum()), dtype=np.int64) + skipped
        offset, value = reads.offset[places], reads.message[places]
    if (value < 0).any():
        value = np.where(value < 0, UNKNOWN_VALUE, value)
    return Polls(
        queue=ops.queue[polls],
        count=count,
        invoke=ops.invoke_event[polls],
        ret=rows.ret[polls],
        op=ops.op[polls],
        asked=np.where(np.isin(polls, rows.later), -1, ops.offset[polls]) if len(rows.later) else ops.offset[polls],
        offset=offset,
        value=value,
    )


def _joined(first: Appends, second: Appends) -> Appends:
    return Appends(
        *(
            np.concatenate((getattr(first, name), getattr(second, name)))
            for name in ("queue", "value", "offset", "invoke", "ret", "outcome", "op")
        )
    )


def inherit(log: LogInput, rows: Rows, epoch: int, before: Content) -> LogInput:
    """*log*, which epoch *epoch* says itself, with what it finds: the content of *before* below the truncation, and
    what may still come of the rest.

    Unknown appends of the past stay unknown. Stored messages above the truncation are gone: as appends that failed,
    so that one that comes back is seen.
    """
    queue_of_slot = before.slots.queue_of_slot()
    known = np.flatnonzero(before.value >= 0)
    truncation = _truncations(log, before)
    offset = known - before.slots.base[queue_of_slot[known]]
    stays = offset < truncation[queue_of_slot[known]]
    row = before.append[known]
    begun = np.array([rows.cut_event.get((q, epoch), NEVER) for q in range(log.queue_count)], dtype=np.int64)
    past = before.appends
    placed = Appends(
        queue=queue_of_slot[known],
        value=before.value[known],
        offset=np.where(stays, offset, -1),
        invoke=np.where(stays, BEFORE_ALL, past.invoke[row]),
        ret=np.where(stays, begun[queue_of_slot[known]], NEVER),
        outcome=np.where(stays, ACKED, FAILED),
        op=past.op[row],
    )
    gone = _fillers_above(before, truncation)
    open_ = before.spare[~np.isin(before.spare, gone)]
    found = _joined(placed, _some(past, np.concatenate((open_, np.flatnonzero(past.outcome == FAILED)))))
    return replace(log, appends=_joined(found, log.appends))


def _some(appends: Appends, rows: Ints) -> Appends:
    names = ("queue", "value", "offset", "invoke", "ret", "outcome", "op")
    return Appends(*(getattr(appends, name)[rows] for name in names))


def _fillers_above(before: Content, truncation: Ints) -> Ints:
    """Unknown appends that had to fill holes which the power cut took away: they have happened, and are gone."""
    holes = np.flatnonzero((before.value == EMPTY) & (before.append >= 0))
    queue = before.slots.queue_of_slot()[holes]
    return before.append[holes[holes - before.slots.base[queue] >= truncation[queue]]]


def _truncations(log: LogInput, before: Content) -> Ints:
    """By queue: the first offset at which this epoch contradicts the content of the epoch before.

    Only what stands at offsets counts: an answer that the queue ends earlier may just be late.
    """
    base = before.slots.base
    truncation = np.diff(base).copy()
    acked = np.flatnonzero(log.appends.outcome == ACKED)
    # Something new at an offset, acknowledged or read: the log ended there when it was appended.
    np.minimum.at(truncation, log.appends.queue[acked], log.appends.offset[acked])
    queue, offset, value = np.repeat(log.polls.queue, log.polls.count), log.polls.offset, log.polls.value
    is_old = np.isin(value, before.appends.value)
    is_new = np.isin(value, log.appends.value) & ~is_old
    np.minimum.at(truncation, queue[is_new], offset[is_new])
    inside = np.flatnonzero((offset < np.diff(base)[queue]) & ~is_new)
    old = before.value[base[queue[inside]] + offset[inside]]
    differs = inside[(old != value[inside]) & (old != EMPTY)]
    np.minimum.at(truncation, queue[differs], offset[differs])
    return truncation
