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
from dataclasses import replace

import numpy as np

from checkers.history.columns import Bools, Ints
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History
from checkers.history.ledger import Ledger, ack_ns
from checkers.runs.group_loss import judge_group_loss
from checkers.runs.loss_takers import alive_at, last_seen, takers
from checkers.runs.losses import Found, Loss, anomaly_of, data_losses, loss_of, many, stored_by
from checkers.runs.lost_tails import (
    TAIL_JUDGES,
    although_confirmed,
    confirmed_by_the_taken,
    copy_was_lost_ns,
    judge_unreplicated,
)
from checkers.runs.mechanisms import SLAVE_AHEAD
from checkers.runs.resurrection import is_returned, judge_returned, returned
from checkers.runs.unearned_acks import FalseAcks, false_acks, never_copied
from checkers.verdict import Anomaly


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
            [Loss(losses[n], rest, alive_at(history, ledger, losses, stored, n)) for n in can],
        )
    return [anomaly for anomaly, _ in found]


def _judge_any(history: History, facts: RunFacts, ledger: Ledger, broker: str, found_losses: list[Loss]) -> list[Found]:
    """The same lost messages, of which any of *cuts* may have taken each: what one of them explains is allowed; what
    none does is told as the loss of the first."""
    first: list[Found] = []
    allowed: list[Found] = []
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


def _without_loss(history: History, facts: RunFacts, ledger: Ledger, broker: str, lost: Ints) -> list[Found]:
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


def _second_master(history: History, facts: RunFacts, ledger: Ledger, broker: str, lost: Ints) -> Found:
    fault = next(fault for fault in facts.faults if fault.does("promotes") and facts.hits(fault, broker))
    sentence = (
        f"{many(lost)} of {broker} lost with the data of the old master: it had come back while {fault.words()} was "
        f"in force, so two masters of one name took messages, and it was the one that was given up at "
        f"{history.clock(fault.heal_ns)}. Nothing in this mode keeps two masters apart: the operator must."
    )
    return anomaly_of(history, ledger, broker, lost, sentence, fault, allowed=True)


def _without_cut(history: History, facts: RunFacts, ledger: Ledger, broker: str, lost: Ints) -> Found:
    """No power cut of this broker came after these messages were acknowledged."""
    first = int(lost[ack_ns(history, ledger, lost).argmin()])
    op = int(history.ops.op[ledger.row[first]])
    nearest = facts.nearest_fault(int(history.ops.complete_ns[ledger.row[first]]))
    what = f"the nearest fault is {nearest.words()}" if nearest else "no fault was injected"
    first_send = f"first {history.op_text(op)}"
    sentence = f"{many(lost)} of {broker} gone, {first_send}, and no power cut of {broker} followed; {what}."
    return anomaly_of(history, ledger, broker, lost, sentence, nearest, allowed=False)


def _judge_loss(history: History, facts: RunFacts, ledger: Ledger, broker: str, loss: Loss) -> list[Found]:
    refusal = _refusal(facts, loss.fault)
    if refusal and len(twice := _lost_with_its_copy(history, facts, ledger, broker, loss)):
        rest = np.setdiff1d(loss.lost, twice)
        others = _judge_loss(history, facts, ledger, broker, replace(loss, lost=rest)) if len(rest) else []
        return [judge_unreplicated(history, facts, ledger, broker, loss, twice), *others]
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
        sentence = f"{many(loss.lost)} of {broker} gone after {loss.fault.words()}, first {op}. {refusal}"
        return [anomaly_of(history, ledger, broker, loss.lost, sentence, loss.fault, allowed=False)]
    if loss_of(facts, loss.fault) == "all":
        sentence = (
            f"{many(loss.lost)} of {broker} lost by {loss.fault.words()}: its disk is gone, and with it all it had."
        )
        return [anomaly_of(history, ledger, broker, loss.lost, sentence, loss.fault, allowed=True)]
    # A message that was sent again may be there at another place.
    is_there = ledger.drained[loss.stored] & (ledger.attempts[loss.stored] == 1)
    survivors = loss.stored[is_there & _answered_before(history, ledger, loss)]
    survivors = survivors[~is_returned(returned(history, ledger, broker, data_losses(facts, broker)), survivors)]
    in_middle = _before_a_survivor(history, ledger, loss.lost, survivors)
    tail = loss.lost[~in_middle]
    loss = replace(loss, kept_to=int(ledger.position[survivors].max(initial=-1)))
    anomalies: list[Found] = []
    if in_middle.any():
        anomalies += _middles(history, facts, ledger, broker, loss, loss.lost[in_middle], survivors)
    confirmed = confirmed_by_the_taken(history, facts, ledger, broker, loss, tail)
    if confirmed.any():
        anomalies.append(although_confirmed(history, facts, ledger, broker, loss, tail[confirmed]))
        tail = tail[~confirmed]
    if len(tail):
        judge = TAIL_JUDGES[loss_of(facts, loss.fault)]
        anomalies.append(judge(history, facts, ledger, broker, loss, tail))
    return anomalies


def _lost_with_its_copy(history: History, facts: RunFacts, ledger: Ledger, broker: str, loss: Loss) -> Ints:
    """What a slave had confirmed, and lost itself before its data took the master's place: two disks lost it, not one.
    Whether it must have copied it again by then is asked by :mod:`checkers.runs.replication_bound`."""
    if not facts.waits_for_slave() or loss.fault.takes() != "replaced" or facts.expect.get("lost") == "none":
        return loss.lost[:0]
    return loss.lost[ack_ns(history, ledger, loss.lost) < copy_was_lost_ns(facts, broker, loss.fault)]


def _answered_before(history: History, ledger: Ledger, loss: Loss) -> Bools:
    """Which messages were certainly stored before the cut: those in flight over it may have come after it."""
    answered: Bools = history.ops.complete_event[ledger.row[loss.stored]] < loss.fault.inject_event
    return answered


def _refusal(facts: RunFacts, fault: FaultFact) -> str:
    """Why a loss by *fault* is no excuse at all; empty if it may be one."""
    if facts.guarantee(fault) is None or loss_of(facts, fault) == "none":
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
    history: History, facts: RunFacts, ledger: Ledger, broker: str, loss: Loss, lost: Ints, survivors: Ints
) -> Iterator[Found]:
    """What a slave that was ahead explains, and what nothing does."""
    known, words = never_copied(history, ledger, broker, loss.fault, lost, data_losses(facts, broker))
    if len(known):
        anomaly, _ = _middle(history, ledger, broker, loss, known, survivors)
        details = {**anomaly.details, "mechanism": SLAVE_AHEAD}
        yield replace(anomaly, sentence=anomaly.sentence + words, details=details), known
    if len(rest := np.setdiff1d(lost, known)):
        yield _middle(history, ledger, broker, loss, rest, survivors)


def _middle(history: History, ledger: Ledger, broker: str, loss: Loss, lost: Ints, survivors: Ints) -> Found:
    first = int(lost[ledger.position[lost].argmin()])
    last = int(survivors[ledger.position[survivors].argmax()])
    ops = history.ops.op[ledger.row[np.array([first, last])]].tolist()
    sentence = (
        f"{many(lost)} of {broker} gone after {loss.fault.words()}, but not the end of its log: "
        f"{history.op_text(ops[0])} at position {int(ledger.position[first])} is lost, while "
        f"{history.op_text(ops[1])} at position {int(ledger.position[last])} survived. Only a suffix can be lost so."
    )
    return anomaly_of(history, ledger, broker, lost, sentence, loss.fault, allowed=False, kind="lost-in-middle")


def _false_ok(history: History, ledger: Ledger, broker: str, loss: Loss, found: FalseAcks) -> Found:
    first = int(found.messages[ledger.position[found.messages].argmin()])
    op = history.op_text(int(history.ops.op[ledger.row[first]]))
    what = f"{many(found.messages)} of {broker} lost by {loss.fault.words()}, first {op}"
    sentence = f"{found.opening}: {what}. {found.words}"
    anomaly, lost = anomaly_of(
        history, ledger, broker, found.messages, sentence, loss.fault, allowed=False, kind=found.kind
    )
    return replace(anomaly, details={**anomaly.details, "mechanism": found.mechanism}), lost
