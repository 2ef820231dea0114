"""How far behind a slave may be: until when must everything acknowledged have reached it?

Question: the master's disk is gone and the slave's copy has taken its place. Which acknowledged messages may be
missing?

Model. A master pushes what it has to its slave; the lag is the contract's ``replication_lag_s`` plus the backend's
slack. While the slave is down, paused or partitioned, and until it has joined again, nothing is copied: such a
*disturbance* stretches the lag back to its beginning. Joining again takes as long as the disturbance itself, since TCP
waits ever longer, plus 15 s for RocketMQ's own pauses (5 s to look for the master, 5 s to the first report).

    acknowledged ─────────┬── disturbance ──┬── joining ──┬─── ≤ lag ── loss of the disk
        must be there     └───────────── may be missing ──┴──────────────────┘

A slave that lost data itself is as far behind as that: by what it had not flushed, where its power was cut; by
everything, where its disk was lost or damaged.

Of several synchronous slaves one has said that it has a message. Where all but one of them were seen to be away, ended,
paused or partitioned from their master, from before the send until its answer, it was that one, and no lag excuses it.

Limits. Where nobody tells which slave it was, several count as one: the most disturbed decides.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from checkers.history.columns import Bools, Ints
from checkers.history.conditions import Conditions
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.spans import Span, union
from checkers.runs.flush_progress import FlushRule

JOIN_NS = 15_000_000_000


def replicated_until(facts: RunFacts, broker: str, ns: int, slave: str = "") -> int:
    """What *broker* acknowledged before this instant is on *slave* (if none is named: on its slaves) at *ns*."""
    contract = facts.contract()
    lag_ns = facts.slack_ns() + (contract.replication_lag_ns if contract else 0)
    until_ns = ns - lag_ns
    for fault in sorted(facts.faults, key=lambda fault: -fault.begin_ns):
        if fault.begin_ns < ns and _disturbs(facts, fault, broker, slave) and _joined_ns(fault) > until_ns:
            until_ns = min(until_ns, fault.begin_ns - lag_ns - _lost_itself_ns(facts, fault, broker))
    return max(0, until_ns)


def copied_until(facts: RunFacts, broker: str, fault: FaultFact, slave: str = "") -> int:
    """What *broker* acknowledged before this instant is in the data of *slave* that took the place by *fault*. Its
    master is dead from the act on; what the slave itself loses until it is copied is missing, too."""
    until_ns = replicated_until(facts, broker, fault.begin_ns, slave)
    for own in copy_losses(facts, slave, fault):
        if own.begin_ns >= fault.begin_ns:
            until_ns = min(until_ns, own.begin_ns - facts.slack_ns() - _lost_itself_ns(facts, own, broker))
    return max(0, until_ns)


def copy_losses(facts: RunFacts, slave: str, fault: FaultFact) -> list[FaultFact]:
    """Faults that took data from *slave* itself before that took the place by *fault*, in order, and were not seen to
    have done nothing."""
    ns = taken_ns(fault)
    return [own for own in facts.faults if slave in own.left and own.takes() and own.effective and own.begin_ns < ns]


def taken_ns(fault: FaultFact) -> int:
    """When a slave's data takes the place by *fault*: it is copied by the heal; a promoted slave has it at once."""
    return fault.begin_ns if fault.does("promotes") else max(fault.heal_ns, fault.begin_ns)


def _lost_itself_ns(facts: RunFacts, fault: FaultFact, broker: str) -> int:
    """How much of its copy a slave may lose itself to *fault*, by age: it flushes behind, whatever its master does."""
    if not fault.takes() or not set(fault.left) & set(facts.cluster.slaves(broker)):
        return 0
    if fault.takes() != "unforced":
        return fault.begin_ns
    rule = FlushRule.of(facts, broker, fault.inject_ns)
    return rule.thorough_ns + rule.interval_ns + rule.slack_ns


def _joined_ns(fault: FaultFact) -> int:
    return fault.heal_ns + (fault.heal_ns - fault.begin_ns) + JOIN_NS


def _disturbs(facts: RunFacts, fault: FaultFact, broker: str, slave: str) -> bool:
    """It ended, stopped or partitioned the master of *broker* or *slave*; any slave, if none is named."""
    pair = (facts.cluster.first_master(broker), slave)
    left, right = (
        [node for node in side if facts.cluster.broker_of(node) == broker and (not slave or node in pair)]
        for side in (fault.left, fault.right)
    )
    if not fault.right:
        return bool(left)
    return fault.ports in ("any", "ha") and bool(left) and bool(right)


def acknowledged_alone(facts: RunFacts, broker: str, slave: str, begun_ns: Ints, acked_ns: Ints) -> Bools:
    """Which sends, by when they began and were answered, only *slave* can have confirmed, of the slaves of *broker*."""
    alone = np.full(len(begun_ns), slave in facts.cluster.slaves(broker), dtype=np.bool_)
    for other in facts.cluster.slaves(broker):
        if other != slave:
            away = np.zeros(len(begun_ns), dtype=np.bool_)
            for begin_ns, end_ns in _away(facts, broker, other):
                away |= (begin_ns < begun_ns) & (acked_ns < end_ns)
            alone &= away
    return alone


def _away(facts: RunFacts, broker: str, slave: str) -> list[Span]:
    """When *slave* could certainly confirm nothing to its master: only what was proved to have taken effect counts,
    from the end of the act on."""
    cluster, proved = facts.cluster, [fault for fault in facts.faults if fault.effective == 1]
    master = cluster.first_master(broker)
    held = Conditions(tuple(replace(fault, begin_ns=fault.inject_ns) for fault in proved), facts.starts)
    return union(held.still(slave), held.apart(master, slave, "ha"))
