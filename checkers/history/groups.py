"""Consumer groups in a history: what each committed, was told, read and was given.

Question: which operations of a run are those of a consumer group, and what do they say by (group, queue)?

Model. A group is known by its ``fetch_offset`` operations: who never asks for a committed offset is just a reader. What
its pulls found is delivered, unless the queue had been taken away meanwhile. Rows are rows of ``ops``, in the order of
invocations.

Limits. Which member read is not told: queues pass from member to member, a queue's deliveries are those of the group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.history.columns import Bools, Ints
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History
from checkers.history.schema import TAKEN_AWAY

LOOKED_AT = ("FOUND", "PULL_NOT_FOUND", "PULL_RETRY_IMMEDIATELY", "PULL_OFFSET_MOVED")
"""Answers of a broker that has looked into the queue: they all say where to go on, and at which broker."""


@dataclass(frozen=True)
class Lane:
    """One group in one queue."""

    group: str
    queue: int
    commits: Ints
    fetches: Ints
    pulls: Ints
    """Those that were looked at, whether they found something or not."""


def lanes_of(history: History) -> list[Lane]:
    """Every (group, queue) of the run."""
    ops = history.ops
    order = np.argsort(ops.invoke_event, kind="stable")
    return [
        Lane(
            group,
            queue,
            commits=order[(of_group & ops.f.mask("commit_offset"))[order]],
            fetches=order[(of_group & ops.f.mask("fetch_offset") & ops.outcome.mask("ok"))[order]],
            pulls=order[(of_group & ops.f.mask("pull") & ops.status.mask(*LOOKED_AT))[order]],
        )
        for group in groups_of(history)
        for queue, of_group in _by_queue(history, ops.group.mask(group))
    ]


def groups_of(history: History) -> list[str]:
    """Names of the groups."""
    ops = history.ops
    rows = np.flatnonzero(ops.f.mask("fetch_offset"))
    return sorted({ops.group[row] for row in rows.tolist()})


def _by_queue(history: History, of_group: Bools) -> Iterator[tuple[int, Bools]]:
    queue = history.ops.queue
    for number in np.unique(queue[of_group & (queue >= 0)]).tolist():
        yield number, of_group & (queue == number)


def delivering(history: History, pulls: Ints) -> Ints:
    """Of *pulls* those whose messages the application got."""
    ops = history.ops
    given = ops.status.mask("FOUND") & ops.outcome.mask("ok") & ~ops.detail.mask(TAKEN_AWAY)
    return pulls[given[pulls]]


def of_slaves(history: History, facts: RunFacts) -> Bools:
    """Operations that were asked of a slave; where members elect their master, of who was no master just then."""
    ops, cluster = history.ops, facts.cluster
    mask = ops.node.mask(*(node for node in ops.node.values if cluster.is_slave(node)))
    for broker in cluster.masterships:
        elected = cluster.elections(broker)
        of_broker = ops.node.mask(*cluster.nodes_of(broker)) if elected else np.zeros(len(ops), dtype=np.bool_)
        led = np.zeros(len(ops), dtype=np.bool_)
        for mastership in elected:
            ended = [begin for begin, _ in facts.conditions.down(mastership.node) if begin > mastership.begin_ns]
            end_ns = min([mastership.end_ns, *ended])  # whoever is started again is no leader until it is elected
            is_then = (ops.complete_ns >= mastership.begin_ns) & (ops.invoke_ns < end_ns)
            led |= ops.node.mask(mastership.node) & is_then
        mask = np.where(of_broker, ~led, mask)
    return mask


def faults_of_node(facts: RunFacts, node: str) -> list[FaultFact]:
    """Faults that were done to *node* itself, in order; those that were seen to do nothing are left out."""
    return [fault for fault in facts.faults if node in fault.left + fault.right and fault.may_have_acted]


def reusing_fault(facts: RunFacts, broker: str) -> FaultFact | None:
    """The first fault that took data from a node of *broker*: queue offsets may be used again after it."""
    cluster = facts.cluster
    took = (fault for fault in facts.faults if fault.takes() and fault.effective != 0)
    return next((f for f in took if any(cluster.broker_of(node) == broker for node in f.left)), None)
