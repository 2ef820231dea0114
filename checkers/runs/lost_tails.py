"""The end of a log is gone: may the fault that took it have taken so much?

Question: all messages that are lost lay behind everything that survived. Is that within what the contract allows?

Model. By what the fault takes (the contract's ``loss``):

    unflushed      the tail in the page cache: pages and ages as :mod:`checkers.runs.loss_rules` says
    unreplicated   what the slave whose data took the place need not have had yet
                   (:mod:`checkers.runs.replication_bound`)
    decayed        the record that held the sector which went bad, and what follows it

Limits. The slack (contract, by backend) covers late timers and the duration of the force itself.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from checkers.history.columns import Bools, Ints
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History, seconds
from checkers.history.ledger import Ledger, ack_ns
from checkers.history.spans import Span, back_by, length_ns, union, within
from checkers.runs.flush_progress import FlushRule, overdue
from checkers.runs.losses import Found, Loss, anomaly_of, data_losses, loss_of, many
from checkers.runs.mechanisms import SLAVE_KEPT
from checkers.runs.replication_bound import acknowledged_alone, copied_until, copy_losses
from checkers.runs.resurrection import ahead_since


def _judge_decayed(history: History, facts: RunFacts, ledger: Ledger, broker: str, loss: Loss, tail: Ints) -> Found:
    """The first lost record must be the one that holds the bad sector's first byte, or a later one."""
    first = int(ledger.position[tail].min())
    sector = loss.fault.position.get(facts.cluster.first_master(broker), -1)
    stored = ledger.position[loss.stored]
    whole = int(((stored > first) & (stored <= sector)).sum())
    opening = f"{many(tail)} of {broker} lost by {loss.fault.words()}: the end of its log from position {first} on"
    if whole:
        sentence = f"{opening}. But the sector that went bad begins at {sector}, behind {whole} whole records of these."
        return anomaly_of(history, ledger, broker, tail, sentence, loss.fault, allowed=False)
    sentence = f"{opening}, where a sector went bad at {sector}: recovery ends a log before the first bad record."
    return anomaly_of(history, ledger, broker, tail, sentence, loss.fault, allowed=True)


def confirmed_by_the_taken(
    history: History, facts: RunFacts, ledger: Ledger, broker: str, loss: Loss, tail: Ints
) -> Bools:
    """Which of *tail* only that slave can have confirmed whose data took the place."""
    if not facts.waits_for_slave() or loss_of(facts, loss.fault) != "unreplicated":
        return np.zeros(len(tail), dtype=np.bool_)
    begun_ns, acked_ns = history.ops.invoke_ns[ledger.row[tail]], ack_ns(history, ledger, tail)
    alone = acknowledged_alone(facts, broker, facts.cluster.slave_taken(loss.fault, broker), begun_ns, acked_ns)
    return alone & (acked_ns >= copy_was_lost_ns(facts, broker, loss.fault))


def although_confirmed(history: History, facts: RunFacts, ledger: Ledger, broker: str, loss: Loss, lost: Ints) -> Found:
    slave = facts.cluster.slave_taken(loss.fault, broker)
    others = " and ".join(node for node in facts.cluster.slaves(broker) if node != slave)
    first = history.op_text(int(history.ops.op[ledger.row[lost[ledger.position[lost].argmin()]]]))
    sentence = (
        f"{many(lost)} of {broker} lost by {loss.fault.words()}, first {first}. But SEND_OK meant the master and one "
        f"slave, and {others} could confirm nothing from before they were sent until they were acknowledged: "
        f"{slave}, whose data took the place, must have had them."
    )
    return anomaly_of(history, ledger, broker, lost, sentence, loss.fault, allowed=False)


def judge_unreplicated(history: History, facts: RunFacts, ledger: Ledger, broker: str, loss: Loss, tail: Ints) -> Found:
    acked = ack_ns(history, ledger, tail)
    age_ns = loss.fault.inject_ns - int(acked.min())
    slave = facts.cluster.slave_taken(loss.fault, broker)
    bound_ns = loss.fault.inject_ns - copied_until(facts, broker, loss.fault, slave)
    first, last = int(ledger.position[tail].min()), int(ledger.position[tail].max())
    opening = (
        f"{many(tail)} of {broker} lost by {loss.fault.words()}: the end of its log from position {first} to {last}, "
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
    anomaly, lost = anomaly_of(
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


def copy_was_lost_ns(facts: RunFacts, broker: str, fault: FaultFact) -> int:
    """When the slave whose data took the place by *fault* last lost data itself before; −1: never."""
    slave = facts.cluster.slave_taken(fault, broker)
    return max((own.inject_ns for own in copy_losses(facts, slave, fault)), default=-1)


def _judge_unflushed(history: History, facts: RunFacts, ledger: Ledger, broker: str, loss: Loss, tail: Ints) -> Found:
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
        f"{many(tail)} of {broker} lost by {loss.fault.words()}: the end of its log from position {first} to {last}, "
        f"the oldest acknowledged {seconds(age_ns)} before"
    )
    if first >= 0 and late is not None:
        sentence = (
            f"{opening}. But {late.dirty} bytes from there on were written "
            f"{seconds(loss_ns - back_by(idle, loss_ns, late.before_ns))} before "
            f"the cut, more than {rule.least_pages} pages: the flush every {seconds(rule.interval_ns)} must have "
            f"reached them."
        )
        return anomaly_of(history, ledger, broker, tail, sentence, loss.fault, allowed=False, age_ns=age_ns)
    if age_ns > bound_ns:
        sentence = f"{opening}. But by the node's own settings nothing stays unflushed for {seconds(bound_ns)}."
        return anomaly_of(history, ledger, broker, tail, sentence, loss.fault, allowed=False, age_ns=age_ns)
    sentence = f"{opening}. Asynchronous flush allows that (nothing older than {seconds(bound_ns)})."
    sentence += _still_on_slaves(history, facts, tail)
    return anomaly_of(
        history, ledger, broker, tail, sentence, loss.fault, allowed=True, age_ns=age_ns, bound_ns=bound_ns
    )


TAIL_JUDGES = {"unreplicated": judge_unreplicated, "unflushed": _judge_unflushed, "decayed": _judge_decayed}


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
    recovery ends before it. So from the first force that failed on nothing has reached the disk, until a recovery reads
    what really is on it; one after a sector that went bad reads from the page cache.
    """
    read = [other for other in data_losses(facts, broker) if other.takes() != "damaged"]
    before = [other.inject_ns for other in read if other.inject_ns < loss.inject_ns]
    unforced = facts.of_master(broker, facts.conditions.unforced)
    failed = [begin for begin, _ in within(unforced, max(before, default=0), loss.inject_ns)]
    since = [(failed[0], loss.inject_ns)] if failed else []
    return union(facts.of_master(broker, facts.conditions.flushes_nothing), since)
