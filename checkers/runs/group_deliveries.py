"""The check ``deliveries``: does every group get everything at least once, and why some of it again?

Question: after everything was healed and the group had read to the ends, was each acknowledged message that is still
there delivered to it? What came twice, and for which reason?

Model. The drain says what is there, the group's pulls what it was given (:mod:`checkers.logs.deliveries` counts). Then

    undelivered         there, acknowledged, below the offset at which the group stands in the end, never delivered
    skipped             the same, but after a fault that lets offsets be used again (``skipped_after``) the group was
                        beyond that offset before the message was stored, or was led past it by a slave that had
                        kept what its master lost: allowed
    inversion, repeat   within one ownership of the queue an offset came at or below one that had come before, although
                        no answer had sent the group back. A slave that had kept what its master lost may give, under
                        one place, a record that names a later one; it says where to go on by places, so that record
                        comes again from the master: not counted here

    delivered-again     allowed where there is a cause: the owner began at the committed offset that it was told
                        (*told-back*: a fault had made the broker forget, *not-yet-committed*: what lies beyond it had
                        been read, but not committed, *slave-told*: a slave's copy was older), or a broker moved it back
                        (*moved*), or the message stands at two places (*stored-twice*). A broker may move a group to
                        the end of its queue, so what comes again then must be new messages at old offsets: the same
                        ones were *moved-too-far*, or *moved-by-emptied* if it was a member of a group whose
                        disk had been lost, or what it had not forced with its power, and which has not led since:
                        until it finds a leader it answers as a master, of entries that it knows to be committed

Limits. What lies beyond the group's last position proves nothing: UNKNOWN.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from checkers.history.columns import Bools, Ints
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.groups import Lane, delivering, lanes_of, of_slaves, reusing_fault
from checkers.history.history import History
from checkers.history.ledger import OK, Ledger, ledger_of
from checkers.logs.deliveries import Deliveries, delivery_counts, delivery_order
from checkers.runs.group_offsets import told_by_masters
from checkers.runs.losses import data_losses
from checkers.runs.resurrection import is_returned, returned
from checkers.verdict import Anomaly, Outcome, Verdict

_NAMED = 20


@dataclass(frozen=True)
class _Given:
    """Deliveries of one lane, in order: row of the pull, offset and message of each."""

    lane: Lane
    row: Ints
    offset: Ints
    message: Ints
    epoch: Ints
    """How many answers had sent the group somewhere before the pull was invoked: fetches, and moved offsets."""

    @property
    def stands(self) -> int:
        """Behind the last offset that was given."""
        return int(self.offset.max(initial=-1)) + 1


def check_deliveries(history: History, facts: RunFacts) -> Verdict:
    """Account for every delivery of every group."""
    ledger = ledger_of(history)
    given = [_given(history, lane) for lane in lanes_of(history)]
    groups = sorted({part.lane.group for part in given})
    anomalies: list[Anomaly] = []
    reasons: list[str] = []
    counts: Counter[str] = Counter()
    causes: Counter[str] = Counter()
    for number, group in enumerate(groups):
        own = [part for part in given if part.lane.group == group]
        deliveries = _deliveries(history, own, number)
        promised = ledger.where((ledger.outcome == OK) & ledger.drained)
        counted = delivery_counts(deliveries, promised)
        lost = counted[0].lost if counted else promised
        found, behind = _undelivered(history, facts, ledger, own, lost)
        anomalies += found
        reasons += behind
        counts.update(promised=len(promised), delivered=len(promised) - len(lost), deliveries=len(deliveries.op))
        counts["again"] += len(counted[0].duplicated) if counted else 0
        in_place = [_in_place(history, facts, part) for part in own]
        anomalies += _out_of_order(history, _deliveries(history, in_place, number))
        for part in own:
            again = list(_again(history, facts, part))
            anomalies += [anomaly for anomaly, _ in again]
            causes.update({cause: count for _, (cause, count) in again})
        anomalies += _stored_twice(history, ledger, deliveries, causes)
    if not counts["deliveries"]:
        reasons.append("nothing was delivered to any group")
    if groups and not counts["promised"]:
        reasons.append("no acknowledged message was there in the end: nothing had to be delivered")
    measures = {
        **{name: counts[name] for name in ("promised", "delivered", "deliveries", "again")},
        "again_by_cause": dict(sorted(causes.items())),
        "skipped": sum(anomaly.details["count"] for anomaly in anomalies if anomaly.kind == "skipped"),
        "from_slaves": _from_slaves(history, facts, given),
    }
    failed = any(not anomaly.allowed for anomaly in anomalies)
    outcome = Outcome.FAIL if failed else Outcome.UNKNOWN if reasons else Outcome.PASS
    return Verdict("deliveries", outcome, tuple(anomalies), measures, tuple(reasons))


def _given(history: History, lane: Lane) -> _Given:
    ops, reads = history.ops, history.reads
    pulls = delivering(history, lane.pulls)
    pulls = pulls[np.argsort(ops.complete_event[pulls], kind="stable")]
    first = np.searchsorted(reads.op, ops.op[pulls])
    count = np.searchsorted(reads.op, ops.op[pulls], side="right") - first
    index = np.repeat(first - np.cumsum(count) + count, count) + np.arange(int(count.sum()))
    sent = np.sort(np.concatenate((ops.complete_event[lane.fetches], ops.complete_event[_moved(history, lane)])))
    row = np.repeat(pulls, count)
    epoch = np.searchsorted(sent, ops.invoke_event[row])
    return _Given(lane, row, reads.offset[index], reads.message[index], epoch)


def _moved(history: History, lane: Lane) -> Ints:
    return lane.pulls[history.ops.status.mask("PULL_OFFSET_MOVED")[lane.pulls]]


def _deliveries(history: History, own: list[_Given], group: int) -> Deliveries:
    """All lanes of one group. An assignment is one process between two answers that sent the group somewhere."""
    row = _joined([part.row for part in own])
    ours = _joined([part.message for part in own]) >= 0
    epoch = _joined([part.epoch for part in own])
    ops = history.ops
    width = int(epoch.max(initial=0)) + 1
    return Deliveries(
        group=np.full(int(ours.sum()), group, dtype=np.int64),
        assignment=(ops.process[row] * width + epoch)[ours],
        queue=ops.queue[row][ours],
        offset=_joined([part.offset for part in own])[ours],
        value=_joined([part.message for part in own])[ours],
        op=ops.op[row][ours],
    )


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, dtype=np.int64)


# What never came ------------------------------------------------------------------------------------------------------


def _undelivered(
    history: History, facts: RunFacts, ledger: Ledger, own: list[_Given], lost: Ints
) -> tuple[list[Anomaly], list[str]]:
    by_queue = {part.lane.queue: part for part in own}
    anomalies, reasons = [], []
    for queue in np.unique(ledger.queue[lost]).tolist():
        part = lost[ledger.queue[lost] == queue]
        offsets = history.ops.offset[ledger.row[part]]
        stands = by_queue[queue].stands if queue in by_queue else 0
        below = part[offsets < stands]
        if len(below):
            anomalies += _below(history, facts, ledger, by_queue[queue], below)
        if len(below) < len(part):
            beyond = len(part) - len(below)
            reasons.append(
                f"{history.queues.name(queue)}: the group stands at @{stands}, {beyond} messages before the end"
            )
    return anomalies, reasons


def _below(history: History, facts: RunFacts, ledger: Ledger, given: _Given, messages: Ints) -> list[Anomaly]:
    """Messages below the group's position: skipped, if it was there before they were."""
    cause = reusing_fault(facts, history.queues.broker_of(given.lane.queue))
    skipped = messages[_was_beyond(history, facts, ledger, given, messages)] if cause else messages[:0]
    plain = messages[~np.isin(messages, skipped)]
    found = []
    if len(plain):
        found.append(_missing(history, facts, ledger, given, plain, "undelivered", None))
    if len(skipped):
        found.append(_missing(history, facts, ledger, given, skipped, "skipped", cause))
    return found


def _was_beyond(history: History, facts: RunFacts, ledger: Ledger, given: _Given, messages: Ints) -> Bools:
    """Of which an answer had sent the group beyond their offset before their send had ended, or a slave, which need not
    be equal any more, led it past that offset with something else; and what a fault took that came back since."""
    ops, pulls = history.ops, given.lane.pulls
    offset, ended = ops.offset[ledger.row[messages]], ops.complete_event[ledger.row[messages]]
    by_slave = pulls[of_slaves(history, facts)[pulls] & (ops.next_offset[pulls] > ops.offset[pulls])]
    reached = np.searchsorted(np.sort(ops.offset[by_slave]), offset, side="right")
    left = np.searchsorted(np.sort(ops.next_offset[by_slave]), offset, side="right")
    pulls = pulls[np.argsort(ops.complete_event[pulls], kind="stable")]
    furthest = np.append(-1, np.maximum.accumulate(ops.next_offset[pulls]))
    sent_to = furthest[np.searchsorted(ops.complete_event[pulls], ended)]
    broker = history.queues.broker_of(given.lane.queue)
    back = is_returned(returned(history, ledger, broker, data_losses(facts, broker)), messages)
    beyond: Bools = (reached > left) | (sent_to > offset) | back
    return beyond


def _missing(
    history: History,
    facts: RunFacts,
    ledger: Ledger,
    given: _Given,
    messages: Ints,
    kind: str,
    cause: FaultFact | None,
) -> Anomaly:
    ops = history.ops
    row = int(ledger.row[messages[0]])
    send, offset = int(ops.op[row]), int(ops.offset[row])
    beyond = [int(op) for op in ops.op[given.row[given.offset > offset]][:1].tolist()]
    nearest = facts.nearest_fault(int(ops.complete_ns[row]))
    why = (
        f"it was beyond @{offset} before that was stored there, or a slave led it past that, after {cause.words()}"
        if cause
        else f"although it went on beyond it{f'. Nearest: {nearest.words()}' if nearest else ''}"
    )
    sentence = (
        f"Group {given.lane.group} never got m{int(messages[0])} ({history.queues.name(given.lane.queue)} @{offset}, "
        f"{len(messages)} such messages): {why}. Proof: {history.op_text(send)}"
        f"{f'; {history.op_text(beyond[0])}' if beyond else ''}."
    )
    details = {"group": given.lane.group, "queue": given.lane.queue, "count": len(messages), "offset": offset}
    return Anomaly(kind, sentence, (send, *beyond), details, allowed=cause is not None)


# What came out of order, and what came again ------------------------------------------------------------------------


def _in_place(history: History, facts: RunFacts, given: _Given) -> _Given:
    """Without the records of a slave that need not be equal any more which lie beyond its own answer's end."""
    if reusing_fault(facts, history.queues.broker_of(given.lane.queue)) is None:
        return given
    by_slave = of_slaves(history, facts)[given.row]
    kept = ~(by_slave & (given.offset >= history.ops.next_offset[given.row]))
    return replace(
        given,
        row=given.row[kept],
        offset=given.offset[kept],
        message=given.message[kept],
        epoch=given.epoch[kept],
    )


def _out_of_order(history: History, deliveries: Deliveries) -> Iterator[Anomaly]:
    for violation in delivery_order(deliveries).violations:
        before, after = violation.offsets[:2]
        sentence = (
            f"{history.queues.name(violation.queue)}: @{after} was delivered after @{before} to one owner, "
            f"and no answer had sent it back ({violation.count} such). Proof: {history.op_text(violation.ops[0])}; "
            f"{history.op_text(violation.ops[1])}."
        )
        details = {"queue": history.queues.name(violation.queue), "offsets": list(violation.offsets)}
        yield Anomaly(violation.kind, sentence, violation.ops, details)


def _again(history: History, facts: RunFacts, given: _Given) -> Iterator[tuple[Anomaly, tuple[str, int]]]:
    """One anomaly for each time that the group was sent back: the offsets that came again until the next time."""
    greatest = np.maximum.accumulate(given.offset) if len(given.offset) else given.offset
    came = np.append(-1, greatest[:-1]) >= given.offset if len(given.offset) else np.zeros(0, dtype=np.bool_)
    for epoch in np.unique(given.epoch[came]).tolist():
        rows = np.flatnonzero(came & (given.epoch == epoch))
        cause, sent = _cause(history, facts, given, int(rows[0]))
        if cause == "moved" and _came_before(history, facts, given, rows):
            cause = "moved-by-emptied" if _was_emptied(history, facts, sent) else "moved-too-far"
        first = int(given.offset[rows].min())
        op = int(history.ops.op[given.row[rows[0]]])
        sentence = (
            f"{len(rows)} messages of {history.queues.name(given.lane.queue)} came to group {given.lane.group} again, "
            f"from @{first} on, at {history.clock(int(history.ops.complete_ns[given.row[rows[0]]]))}: "
            f"{_BECAUSE[cause]}. "
            f"Proof: {f'{history.op_text(sent)}; ' if sent >= 0 else ''}{history.op_text(op)}."
        )
        details = {"group": given.lane.group, "queue": given.lane.queue, "cause": cause, "count": len(rows)}
        ops = (sent, op) if sent >= 0 else (op,)
        allowed = cause not in ("unexplained", "moved-too-far")
        yield Anomaly("delivered-again", sentence, ops, details, allowed), (cause, len(rows))


def _came_before(history: History, facts: RunFacts, given: _Given, rows: Ints) -> bool:
    """Whether a master delivered what had been at that offset before. A slave may have kept what its master lost."""
    before = slice(0, int(rows[0]))
    known = frozenset(zip(given.offset[before].tolist(), given.message[before].tolist(), strict=True))
    own = rows[~of_slaves(history, facts)[given.row[rows]]]
    return any(place in known for place in zip(given.offset[own].tolist(), given.message[own].tolist(), strict=True))


def _was_emptied(history: History, facts: RunFacts, op: int) -> bool:
    """Whether the pull *op* was answered by a member that a fault had taken data from, and which had not led since.
    A group's member needs what it did not force, too: how far the group had committed is in no entry."""
    row = int(history.ops.rows(np.array([op]))[0])
    if not of_slaves(history, facts)[row]:
        return False
    node, ns = history.ops.node[row], int(history.ops.complete_ns[row])
    taken = ("all", "unforced") if facts.waits_for_majority() else ("all",)
    return any(f.takes() in taken and f.took_effect_on(node) and f.begin_ns <= ns for f in facts.faults)


_BECAUSE = {
    "told-back": "its broker had forgotten how far it was",
    "not-yet-committed": "they had been read, but not committed",
    "slave-told": "a slave told an older offset than the master knew",
    "moved": "the broker said that the offset was beyond the end, and where to go on",
    "moved-by-emptied": "a member that had lost data, and followed nobody yet, said where its log ends",
    "moved-too-far": "the broker sent it back below the end of the queue",
    "unexplained": "no answer explains it",
}


def _cause(history: History, facts: RunFacts, given: _Given, index: int) -> tuple[str, int]:
    """Why the group was where it was: by the last answer before the pull that had sent it somewhere."""
    ops = history.ops
    row = int(given.row[index])
    sent = np.concatenate((given.lane.fetches, _moved(history, given.lane)))
    before = sent[ops.complete_event[sent] < ops.invoke_event[row]]
    if not len(before):
        return "unexplained", -1
    last = int(before[np.argmax(ops.complete_event[before])])
    op = int(ops.op[last])
    if ops.f[last] == "pull":
        return "moved", op
    if of_slaves(history, facts)[last]:
        return "slave-told", op
    told = next(one for one in told_by_masters(history, facts, given.lane) if one.row == last)
    committed = int(ops.offset[told.last]) if told.last >= 0 else -1
    return ("told-back" if told.value < committed else "not-yet-committed"), op


def _stored_twice(history: History, ledger: Ledger, deliveries: Deliveries, causes: Counter[str]) -> Iterator[Anomaly]:
    """Messages that stand at two places come once from each."""
    twice = ledger.where(ledger.copies > 1)
    came = twice[np.bincount(deliveries.value, minlength=len(ledger))[twice] > 1]
    if not len(came):
        return
    causes["stored-twice"] += len(came)
    ops = tuple(deliveries.op[deliveries.value == came[0]][:2].tolist())
    named = ", ".join(f"m{message}" for message in came[:_NAMED].tolist())
    sentence = f"{len(came)} messages stand at two places and were delivered from each: {named}."
    yield Anomaly("delivered-again", sentence, ops, {"cause": "stored-twice", "count": len(came)}, allowed=True)


def _from_slaves(history: History, facts: RunFacts, given: list[_Given]) -> int:
    mask = of_slaves(history, facts)
    return int(sum(mask[part.row].sum() for part in given))
