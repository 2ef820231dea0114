"""Loss by mechanism: which lost messages does a power cut or a lost disk explain, and which does nothing?

Question: an acknowledged message is not there any more. Is that what the mode allows?

Model. Asynchronous flush keeps the tail of the commit log in the page cache. Every ``flushIntervalCommitLog`` a thread
flushes if at least ``flushCommitLogLeastPages`` pages are dirty, and everything if ``flushCommitLogThoroughInterval``
has passed since it last did (RocketMQ: FlushRealTimeService). So a power cut may take, of the hit broker's messages
stored since the cut before:

  suffix    nothing that lies before a survivor in that broker's log (by physical position; without positions by the
            offsets of each queue); what came back later (:mod:`checkers.runs.resurrection`) did not survive
  pages     nothing, if interval + slack before the cut the log already held leastPages + 1 pages from the first lost
            byte on, but for the ends of files (:mod:`checkers.runs.flush_progress`)
  age       nothing acknowledged longer ago than thorough interval + interval + slack

A lost disk whose place a slave's copy takes (``adopt_slave``) may take a suffix too: nothing that lies before a
survivor, and nothing that was acknowledged before the slave must have had it (:mod:`checkers.runs.replication_bound`).
A lost disk that nothing replaces (``wipe``) takes all. A sector that went bad (``flip_bits``) takes the record that it
belongs to and all behind it, since recovery ends a log before the first bad record. Which of these holds is the
contract's ``loss``. What no fault may take is a failure; if SEND_OK was said without what it stands for, that is named
(:mod:`checkers.runs.unearned_acks`).

Time during which the node was paused or dead does not count: its flush thread did not run either. Everything else is a
failure: loss without such an act, loss with synchronous flush, loss of a narrower guarantee (``expect: {lost:
none}``).

What a group has lost is judged by :mod:`checkers.runs.group_loss`.

Limits. The slack (contract, by backend) covers late timers and the duration of the force itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from checkers.history.columns import Bools, Ints
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History, seconds
from checkers.history.ledger import WEAK, Ledger, ack_ns
from checkers.history.spans import Span, back_by, length_ns, union, within
from checkers.runs.flush_progress import FlushRule, overdue
from checkers.runs.group_loss import elections_that_lose, judge_group_loss
from checkers.runs.loss_takers import alive_at, last_seen, takers
from checkers.runs.mechanisms import SLAVE_AHEAD, SLAVE_KEPT
from checkers.runs.replication_bound import acknowledged_alone, copied_until, copy_losses
from checkers.runs.resurrection import ahead_since, is_returned, judge_returned, returned
from checkers.runs.unearned_acks import FalseAcks, false_acks, never_copied
from checkers.verdict import Anomaly

_NAMED = 20


@dataclass(frozen=True)
class _Loss:
    """One fault that took data from one broker, and the messages it may have taken."""

    fault: FaultFact
    lost: Ints
    stored: Ints
    """All messages that the broker had answered for by then, the lost ones included."""
    kept_to: int = -1
    """The greatest position of those that are still there."""


_Found = tuple[Anomaly, Ints]
"""What is said of lost messages, and which they are."""


def judge_loss(history: History, facts: RunFacts, ledger: Ledger, lost: Ints) -> list[Anomaly]:
    """An anomaly for each group of *lost* (message numbers), allowed where the mechanism explains it."""
    anomalies: list[Anomaly] = []
    brokers = _brokers(history, ledger, lost)
    for broker in sorted(set(brokers)):
        of_broker = lost[np.array([name == broker for name in brokers], dtype=np.bool_)]
        anomalies += _judge_broker(history, facts, ledger, broker, of_broker)
    return anomalies


def judge_return(history: History, facts: RunFacts, ledger: Ledger) -> list[Anomaly]:
    """An anomaly for each cut of a broker's log of which something came back."""
    anomalies: list[Anomaly] = []
    for broker in sorted(set(history.queues.broker.values)):
        found = returned(history, ledger, broker, data_losses(facts, broker))
        anomalies += judge_returned(history, facts, ledger, broker, found)
    return anomalies


def _brokers(history: History, ledger: Ledger, messages: Ints) -> list[str]:
    return [history.queues.broker_of(queue) for queue in ledger.queue[messages].tolist()]


def data_losses(facts: RunFacts, broker: str) -> list[FaultFact]:
    """Faults that took data from the master of *broker*, and were not seen to have done nothing, in order; where a
    majority answers for a message, elections after which something may be missing. Of sectors that went bad, only that
    of this master's log is told."""
    if facts.waits_for_majority():
        return elections_that_lose(facts, broker)
    taking = [f for f in facts.faults if f.takes() and f.effective != 0 and facts.hits(f, broker)]
    master = facts.cluster.first_master(broker)
    return [replace(f, position={node: at for node, at in f.position.items() if node == master}) for f in taking]


def _judge_broker(history: History, facts: RunFacts, ledger: Ledger, broker: str, lost: Ints) -> list[Anomaly]:
    stored = stored_by(history, ledger, broker)
    if facts.waits_for_majority():
        return judge_group_loss(history, facts, ledger, broker, stored, lost)
    losses = data_losses(facts, broker)
    can_take = takers(history, ledger, losses, stored, lost, last_seen(history, facts, ledger, lost))
    unexplained = lost[np.array([not can for can in can_take], dtype=np.bool_)]
    found = _without_loss(history, facts, ledger, broker, unexplained)
    for can in sorted(set(can_take) - {()}):
        rest = lost[np.array([other == can for other in can_take], dtype=np.bool_)]
        found += _judge_any(
            history,
            facts,
            ledger,
            broker,
            [_Loss(losses[n], rest, alive_at(history, ledger, losses, stored, n)) for n in can],
        )
    return [anomaly for anomaly, _ in found]


def _judge_any(
    history: History, facts: RunFacts, ledger: Ledger, broker: str, found_losses: list[_Loss]
) -> list[_Found]:
    """The same lost messages, of which any of *cuts* may have taken each: what one of them explains is allowed; what
    none does is told as the loss of the first."""
    first: list[_Found] = []
    allowed: list[_Found] = []
    rest = found_losses[0].lost
    for number, loss in enumerate(found_losses):
        found = _judge_loss(history, facts, ledger, broker, replace(loss, lost=rest))
        first = found if number == 0 else first
        allowed += [(anomaly, lost) for anomaly, lost in found if anomaly.allowed]
        refused = [lost for anomaly, lost in found if not anomaly.allowed]
        rest = np.concatenate(refused) if refused else rest[:0]
        if not len(rest):
            return allowed
    still = [lost[np.isin(lost, rest)] for anomaly, lost in first if not anomaly.allowed]
    if sum(map(len, still)) == sum(len(lost) for anomaly, lost in first if not anomaly.allowed):
        return [*allowed, *((anomaly, lost) for anomaly, lost in first if not anomaly.allowed)]
    return [*allowed, *_judge_loss(history, facts, ledger, broker, replace(found_losses[0], lost=np.sort(rest)))]


def stored_by(history: History, ledger: Ledger, broker: str) -> Ints:
    """Messages that *broker* answered for, promised or not."""
    queues = [queue for queue in history.queues.queue.tolist() if history.queues.broker_of(queue) == broker]
    return np.flatnonzero((ledger.outcome <= WEAK) & np.isin(ledger.queue, queues))


def _without_loss(history: History, facts: RunFacts, ledger: Ledger, broker: str, lost: Ints) -> list[_Found]:
    """Messages after which no fault took data from their broker."""
    of_second = of_second_master(history, facts, ledger, broker, lost)
    found = []
    if of_second.any():
        found.append(_second_master(history, facts, ledger, broker, lost[of_second]))
    if not of_second.all():
        found.append(_without_cut(history, facts, ledger, broker, lost[~of_second]))
    return found


def of_second_master(history: History, facts: RunFacts, ledger: Ledger, broker: str, messages: Ints) -> Bools:
    """Which of *messages* the old master took after it had come back beside a promoted slave, before one of the two was
    given up. A send to the promoted one says so (``detail`` by)."""
    rows = ledger.row[messages]
    found = np.zeros(len(messages), dtype=np.bool_)
    by_old = np.array([not history.ops.detail[row].startswith('{"by"') for row in rows.tolist()], dtype=np.bool_)
    for fault in facts.faults:
        if fault.does("promotes") and facts.hits(fault, broker) and fault.effective == 1:
            starts = facts.starts.get(facts.cluster.first_master(broker), ())
            since_ns = min((ns for ns in starts if fault.begin_ns < ns < fault.heal_ns), default=fault.heal_ns)
            completed = history.ops.complete_ns[rows]
            found |= by_old & (since_ns < completed) & (history.ops.invoke_ns[rows] < fault.heal_ns)
    return found


def _second_master(history: History, facts: RunFacts, ledger: Ledger, broker: str, lost: Ints) -> _Found:
    fault = next(fault for fault in facts.faults if fault.does("promotes") and facts.hits(fault, broker))
    sentence = (
        f"{_many(lost)} of {broker} lost with the data of the old master: it had come back while {fault.words()} was "
        f"in force, so two masters of one name took messages, and it was the one that was given up at "
        f"{history.clock(fault.heal_ns)}. Nothing in this mode keeps two masters apart: the operator must."
    )
    return _anomaly(history, ledger, broker, lost, sentence, fault, allowed=True)


def _without_cut(history: History, facts: RunFacts, ledger: Ledger, broker: str, lost: Ints) -> _Found:
    """No power cut of this broker came after these messages were acknowledged."""
    first = int(lost[ack_ns(history, ledger, lost).argmin()])
    op = int(history.ops.op[ledger.row[first]])
    nearest = facts.nearest_fault(int(history.ops.complete_ns[ledger.row[first]]))
    what = f"the nearest fault is {nearest.words()}" if nearest else "no fault was injected"
    first_send = f"first {history.op_text(op)}"
    sentence = f"{_many(lost)} of {broker} gone, {first_send}, and no power cut of {broker} followed; {what}."
    return _anomaly(history, ledger, broker, lost, sentence, nearest, allowed=False)


def _judge_loss(history: History, facts: RunFacts, ledger: Ledger, broker: str, loss: _Loss) -> list[_Found]:
    refusal = _refusal(facts, loss.fault)
    if refusal and len(twice := _lost_with_its_copy(history, facts, ledger, broker, loss)):
        rest = np.setdiff1d(loss.lost, twice)
        others = _judge_loss(history, facts, ledger, broker, replace(loss, lost=rest)) if len(rest) else []
        return [_judge_unreplicated(history, facts, ledger, broker, loss, twice), *others]
    found = (
        false_acks(history, facts, ledger, broker, loss.fault, loss.lost, data_losses(facts, broker))
        if refusal
        else None
    )
    if found is not None:
        rest = np.setdiff1d(loss.lost, found.messages)
        others = _judge_loss(history, facts, ledger, broker, replace(loss, lost=rest)) if len(rest) else []
        return [_false_ok(history, ledger, broker, loss, found), *others]
    if refusal:
        first = int(loss.lost[ledger.position[loss.lost].argmin()])
        op = history.op_text(int(history.ops.op[ledger.row[first]]))
        sentence = f"{_many(loss.lost)} of {broker} gone after {loss.fault.words()}, first {op}. {refusal}"
        return [_anomaly(history, ledger, broker, loss.lost, sentence, loss.fault, allowed=False)]
    if _loss_of(facts, loss.fault) == "all":
        sentence = (
            f"{_many(loss.lost)} of {broker} lost by {loss.fault.words()}: its disk is gone, and with it all it had."
        )
        return [_anomaly(history, ledger, broker, loss.lost, sentence, loss.fault, allowed=True)]
    # A message that was sent again may be there at another place.
    is_there = ledger.drained[loss.stored] & (ledger.attempts[loss.stored] == 1)
    survivors = loss.stored[is_there & _answered_before(history, ledger, loss)]
    survivors = survivors[~is_returned(returned(history, ledger, broker, data_losses(facts, broker)), survivors)]
    in_middle = _before_a_survivor(history, ledger, loss.lost, survivors)
    tail = loss.lost[~in_middle]
    loss = replace(loss, kept_to=int(ledger.position[survivors].max(initial=-1)))
    anomalies: list[_Found] = []
    if in_middle.any():
        anomalies += _middles(history, facts, ledger, broker, loss, loss.lost[in_middle], survivors)
    confirmed = _confirmed_by_the_taken(history, facts, ledger, broker, loss, tail)
    if confirmed.any():
        anomalies.append(_although_confirmed(history, facts, ledger, broker, loss, tail[confirmed]))
        tail = tail[~confirmed]
    if len(tail):
        judge = _TAIL_JUDGES[_loss_of(facts, loss.fault)]
        anomalies.append(judge(history, facts, ledger, broker, loss, tail))
    return anomalies


def _lost_with_its_copy(history: History, facts: RunFacts, ledger: Ledger, broker: str, loss: _Loss) -> Ints:
    """What a slave had confirmed, and lost itself before its data took the master's place: two disks lost it, not one.
    Whether it must have copied it again by then is asked by :mod:`checkers.runs.replication_bound`."""
    if not facts.waits_for_slave() or loss.fault.takes() != "replaced" or facts.expect.get("lost") == "none":
        return loss.lost[:0]
    return loss.lost[ack_ns(history, ledger, loss.lost) < _copy_was_lost_ns(facts, broker, loss.fault)]


def _copy_was_lost_ns(facts: RunFacts, broker: str, fault: FaultFact) -> int:
    """When the slave whose data took the place by *fault* last lost data itself before; −1: never."""
    slave = facts.cluster.slave_taken(fault, broker)
    return max((own.inject_ns for own in copy_losses(facts, slave, fault)), default=-1)


def _answered_before(history: History, ledger: Ledger, loss: _Loss) -> Bools:
    """Which messages were certainly stored before the cut: those in flight over it may have come after it."""
    answered: Bools = history.ops.complete_event[ledger.row[loss.stored]] < loss.fault.inject_event
    return answered


def _loss_of(facts: RunFacts, fault: FaultFact) -> str:
    guarantee = facts.guarantee(fault)
    return guarantee.loss_with(_slaves_of(facts, fault)) if guarantee else "none"


def _slaves_of(facts: RunFacts, fault: FaultFact) -> int:
    """The fewest slaves that a broker has that *fault* hit."""
    return min((len(facts.cluster.slaves(facts.cluster.broker_of(node))) for node in fault.left), default=0)


def _refusal(facts: RunFacts, fault: FaultFact) -> str:
    """Why a loss by *fault* is no excuse at all; empty if it may be one."""
    if facts.guarantee(fault) is None or _loss_of(facts, fault) == "none":
        return f"The contract of {facts.mode} allows no loss by {fault.kind} with {facts.flush} flush."
    if facts.expect.get("lost") == "none":
        return "The scenario expects that nothing is lost."
    return ""


def _before_a_survivor(history: History, ledger: Ledger, lost: Ints, survivors: Ints) -> Bools:
    """Which lost messages lie before a survivor in the log of their node."""
    known = ledger.position[lost] >= 0
    last = int(ledger.position[survivors].max(initial=-1))
    middle = known & (ledger.position[lost] < last)
    for index in np.flatnonzero(~known).tolist():
        row = int(ledger.row[lost[index]])
        same = survivors[ledger.queue[survivors] == ledger.queue[lost[index]]]
        middle[index] = bool((history.ops.offset[ledger.row[same]] > history.ops.offset[row]).any())
    return middle


def _middles(
    history: History, facts: RunFacts, ledger: Ledger, broker: str, loss: _Loss, lost: Ints, survivors: Ints
) -> Iterator[_Found]:
    """What a slave that was ahead explains, and what nothing does."""
    known, words = never_copied(history, ledger, broker, loss.fault, lost, data_losses(facts, broker))
    if len(known):
        anomaly, _ = _middle(history, ledger, broker, loss, known, survivors)
        details = {**anomaly.details, "mechanism": SLAVE_AHEAD}
        yield replace(anomaly, sentence=anomaly.sentence + words, details=details), known
    if len(rest := np.setdiff1d(lost, known)):
        yield _middle(history, ledger, broker, loss, rest, survivors)


def _middle(history: History, ledger: Ledger, broker: str, loss: _Loss, lost: Ints, survivors: Ints) -> _Found:
    first = int(lost[ledger.position[lost].argmin()])
    last = int(survivors[ledger.position[survivors].argmax()])
    ops = history.ops.op[ledger.row[np.array([first, last])]].tolist()
    sentence = (
        f"{_many(lost)} of {broker} gone after {loss.fault.words()}, but not the end of its log: "
        f"{history.op_text(ops[0])} at position {int(ledger.position[first])} is lost, while "
        f"{history.op_text(ops[1])} at position {int(ledger.position[last])} survived. Only a suffix can be lost so."
    )
    return _anomaly(history, ledger, broker, lost, sentence, loss.fault, allowed=False, kind="lost-in-middle")


def _false_ok(history: History, ledger: Ledger, broker: str, loss: _Loss, found: FalseAcks) -> _Found:
    first = int(found.messages[ledger.position[found.messages].argmin()])
    op = history.op_text(int(history.ops.op[ledger.row[first]]))
    what = f"{_many(found.messages)} of {broker} lost by {loss.fault.words()}, first {op}"
    sentence = f"{found.opening}: {what}. {found.words}"
    anomaly, lost = _anomaly(
        history, ledger, broker, found.messages, sentence, loss.fault, allowed=False, kind=found.kind
    )
    return replace(anomaly, details={**anomaly.details, "mechanism": found.mechanism}), lost


def _judge_decayed(history: History, facts: RunFacts, ledger: Ledger, broker: str, loss: _Loss, tail: Ints) -> _Found:
    """The first lost record must be the one that holds the bad sector's first byte, or a later one."""
    first = int(ledger.position[tail].min())
    sector = loss.fault.position.get(facts.cluster.first_master(broker), -1)
    stored = ledger.position[loss.stored]
    whole = int(((stored > first) & (stored <= sector)).sum())
    opening = f"{_many(tail)} of {broker} lost by {loss.fault.words()}: the end of its log from position {first} on"
    if whole:
        sentence = f"{opening}. But the sector that went bad begins at {sector}, behind {whole} whole records of these."
        return _anomaly(history, ledger, broker, tail, sentence, loss.fault, allowed=False)
    sentence = f"{opening}, where a sector went bad at {sector}: recovery ends a log before the first bad record."
    return _anomaly(history, ledger, broker, tail, sentence, loss.fault, allowed=True)


def _confirmed_by_the_taken(
    history: History, facts: RunFacts, ledger: Ledger, broker: str, loss: _Loss, tail: Ints
) -> Bools:
    """Which of *tail* only that slave can have confirmed whose data took the place."""
    if not facts.waits_for_slave() or _loss_of(facts, loss.fault) != "unreplicated":
        return np.zeros(len(tail), dtype=np.bool_)
    begun_ns, acked_ns = history.ops.invoke_ns[ledger.row[tail]], ack_ns(history, ledger, tail)
    alone = acknowledged_alone(facts, broker, facts.cluster.slave_taken(loss.fault, broker), begun_ns, acked_ns)
    return alone & (acked_ns >= _copy_was_lost_ns(facts, broker, loss.fault))


def _although_confirmed(
    history: History, facts: RunFacts, ledger: Ledger, broker: str, loss: _Loss, lost: Ints
) -> _Found:
    slave = facts.cluster.slave_taken(loss.fault, broker)
    others = " and ".join(node for node in facts.cluster.slaves(broker) if node != slave)
    first = history.op_text(int(history.ops.op[ledger.row[lost[ledger.position[lost].argmin()]]]))
    sentence = (
        f"{_many(lost)} of {broker} lost by {loss.fault.words()}, first {first}. But SEND_OK meant the master and one "
        f"slave, and {others} could confirm nothing from before they were sent until they were acknowledged: "
        f"{slave}, whose data took the place, must have had them."
    )
    return _anomaly(history, ledger, broker, lost, sentence, loss.fault, allowed=False)


def _judge_unreplicated(
    history: History, facts: RunFacts, ledger: Ledger, broker: str, loss: _Loss, tail: Ints
) -> _Found:
    acked = ack_ns(history, ledger, tail)
    age_ns = loss.fault.inject_ns - int(acked.min())
    slave = facts.cluster.slave_taken(loss.fault, broker)
    bound_ns = loss.fault.inject_ns - copied_until(facts, broker, loss.fault, slave)
    first, last = int(ledger.position[tail].min()), int(ledger.position[tail].max())
    opening = (
        f"{_many(tail)} of {broker} lost by {loss.fault.words()}: the end of its log from position {first} to {last}, "
        f"the oldest acknowledged {seconds(age_ns)} before"
    )
    is_allowed = age_ns <= bound_ns
    losses = data_losses(facts, broker)
    ahead = None if is_allowed else ahead_since(history, ledger, broker, losses, loss.fault, tail)
    if is_allowed:
        judgement = f"{_why_unreplicated(facts, broker, slave, loss.fault)} (nothing older than {seconds(bound_ns)})."
    else:
        judgement = f"But {slave or 'its slave'} must have had everything that is older than {seconds(bound_ns)}."
    if ahead is not None:
        judgement += (
            f" It had been ahead of its master since {ahead.words()}, kept what that lost, and has none of what was "
            f"sent since."
        )
    anomaly, lost = _anomaly(
        history,
        ledger,
        broker,
        tail,
        f"{opening}. {judgement}",
        loss.fault,
        allowed=is_allowed,
        age_ns=age_ns,
        bound_ns=bound_ns,
    )
    details = {**anomaly.details, "mechanism": SLAVE_KEPT} if ahead is not None else anomaly.details
    return replace(anomaly, details=details), lost


def _why_unreplicated(facts: RunFacts, broker: str, slave: str, fault: FaultFact) -> str:
    own = copy_losses(facts, slave, fault)
    if own and facts.waits_for_slave():
        return f"SEND_OK meant the master and one slave, and {slave} had lost its copy, too, by {own[-1].words()}"
    others = [node for node in facts.cluster.slaves(broker) if node != slave]
    if not facts.waits_for_slave() or not slave or not others:
        return "Asynchronous replication allows that"
    return (
        f"SEND_OK meant the master and one slave: {' or '.join(others)} had them, and the data of {slave} took the "
        f"place, which may lag behind"
    )


def _judge_unflushed(history: History, facts: RunFacts, ledger: Ledger, broker: str, loss: _Loss, tail: Ints) -> _Found:
    loss_ns = loss.fault.inject_ns
    rule, idle = FlushRule.of(facts, broker, loss_ns), _idle(facts, broker, loss.fault)
    acked = ack_ns(history, ledger, tail)
    oldest_ns = int(acked.min())
    age_ns = loss_ns - oldest_ns
    bound_ns = rule.thorough_ns + rule.interval_ns + rule.slack_ns + length_ns(idle, oldest_ns, loss_ns)
    first = int(ledger.position[tail].min())
    last = int(ledger.position[tail].max())

    def written_by(before_ns: int) -> int:
        return _written_by(history, ledger, loss.stored, back_by(idle, loss_ns, before_ns))

    late = overdue(rule, first, loss.kept_to, written_by)
    opening = (
        f"{_many(tail)} of {broker} lost by {loss.fault.words()}: the end of its log from position {first} to {last}, "
        f"the oldest acknowledged {seconds(age_ns)} before"
    )
    if first >= 0 and late is not None:
        sentence = (
            f"{opening}. But {late.dirty} bytes from there on were written "
            f"{seconds(loss_ns - back_by(idle, loss_ns, late.before_ns))} before "
            f"the cut, more than {rule.least_pages} pages: the flush every {seconds(rule.interval_ns)} must have "
            f"reached them."
        )
        return _anomaly(history, ledger, broker, tail, sentence, loss.fault, allowed=False, age_ns=age_ns)
    if age_ns > bound_ns:
        sentence = f"{opening}. But by the node's own settings nothing stays unflushed for {seconds(bound_ns)}."
        return _anomaly(history, ledger, broker, tail, sentence, loss.fault, allowed=False, age_ns=age_ns)
    sentence = f"{opening}. Asynchronous flush allows that (nothing older than {seconds(bound_ns)})."
    sentence += _still_on_slaves(history, facts, tail)
    return _anomaly(history, ledger, broker, tail, sentence, loss.fault, allowed=True, age_ns=age_ns, bound_ns=bound_ns)


_TAIL_JUDGES = {"unreplicated": _judge_unreplicated, "unflushed": _judge_unflushed, "decayed": _judge_decayed}


def _still_on_slaves(history: History, facts: RunFacts, lost: Ints) -> str:
    """The double hazard, in words: a slave had them, and the master came back without asking it."""
    of_slaves = history.ops.f.mask("replica")[history.ops.rows(history.reads.op)]
    rows = np.flatnonzero(of_slaves & np.isin(history.reads.message, lost))
    if not len(rows):
        return ""
    count = len(np.unique(history.reads.message[rows]))
    nodes = sorted({history.ops.node[row] for row in history.ops.rows(history.reads.op[rows]).tolist()})
    how = "SEND_OK was said because it had them" if facts.waits_for_slave() else "it had copied them in time"
    return (
        f" {count} of them are still on {', '.join(nodes)}: {how}, but the master came back with its own disk, asked "
        f"nobody, and gave their places to other messages. Flushing before SEND_OK (flush: sync) would have kept them; "
        f"so would the slave's data in the master's place (adopt_slave, promote) before the master was started."
    )


def _written_by(history: History, ledger: Ledger, stored: Ints, ns: int) -> int:
    """The greatest position that was acknowledged at or before *ns*."""
    early = stored[ack_ns(history, ledger, stored) <= ns]
    return int(ledger.position[early].max(initial=-1))


def _idle(facts: RunFacts, broker: str, loss: FaultFact) -> list[Span]:
    """When nothing that the master of *broker* had written reached its disk before *cut*.

    What is written while forces fail counts as flushed for RocketMQ (MappedFile#flush): nobody forces it again, and a
    recovery ends before it. So from the first force that failed on nothing has reached the disk.
    """
    before = [other.inject_ns for other in data_losses(facts, broker) if other.inject_ns < loss.inject_ns]
    unforced = facts.of_master(broker, facts.conditions.unforced)
    failed = [begin for begin, _ in within(unforced, max(before, default=0), loss.inject_ns)]
    since = [(failed[0], loss.inject_ns)] if failed else []
    return union(facts.of_master(broker, facts.conditions.flushes_nothing), since)


def _many(messages: Ints) -> str:
    return "1 acknowledged message" if len(messages) == 1 else f"{len(messages)} acknowledged messages"


def _anomaly(
    history: History,
    ledger: Ledger,
    broker: str,
    lost: Ints,
    sentence: str,
    fault: FaultFact | None,
    *,
    allowed: bool,
    kind: str = "lost",
    age_ns: int = -1,
    bound_ns: int = -1,
) -> _Found:
    by_position = lost[np.argsort(ledger.position[lost], kind="stable")]
    rows = ledger.row[by_position[:_NAMED]]
    details = {
        "broker": broker,
        "count": len(lost),
        "fault": fault.fault if fault else "",
        "messages": by_position[:_NAMED].tolist(),
        "first_position": int(ledger.position[by_position[0]]),
        "last_position": int(ledger.position[by_position[-1]]),
        "oldest_age_ns": age_ns,
        "bound_ns": bound_ns,
        "seen_before": int(ledger.seen[lost].sum()),
    }
    return Anomaly(kind, sentence, tuple(history.ops.op[rows].tolist()), details, allowed), lost
