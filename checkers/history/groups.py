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
from checkers.history.facts import MASTER_ID, FaultFact, RunFacts, broker_name
from checkers.history.history import History
from checkers.history.schema import TAKEN_AWAY

LOOKED_AT = ("FOUND", "PULL_NOT_FOUND", "PULL_RETRY_IMMEDIATELY", "PULL_OFFSET_MOVED")
"""Answers of a broker that has looked into the queue: they all say where to go on, and at which broker."""

ENDS = ("kill", "stop", "restart", "cut_power", "wipe", "adopt_slave")
"""Acts that end a process: what it held in memory only is gone."""

HARMLESS = ("pause", "partition", "isolate")
"""Acts that take nothing from a process."""


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
            commits=order[(mine & ops.f.mask("commit_offset"))[order]],
            fetches=order[(mine & ops.f.mask("fetch_offset") & ops.outcome.mask("ok"))[order]],
            pulls=order[(mine & ops.f.mask("pull") & ops.status.mask(*LOOKED_AT))[order]],
        )
        for group in groups_of(history)
        for queue, mine in _by_queue(history, ops.group.mask(group))
    ]


def groups_of(history: History) -> list[str]:
    """Names of the groups."""
    ops = history.ops
    rows = np.flatnonzero(ops.f.mask("fetch_offset"))
    return sorted({ops.group[row] for row in rows.tolist()})


def _by_queue(history: History, mine: Bools) -> Iterator[tuple[int, Bools]]:
    queue = history.ops.queue
    for number in np.unique(queue[mine & (queue >= 0)]).tolist():
        yield number, mine & (queue == number)


def delivering(history: History, pulls: Ints) -> Ints:
    """Of *pulls* those whose messages the application got."""
    ops = history.ops
    given = ops.status.mask("FOUND") & ops.outcome.mask("ok") & ~ops.detail.mask(TAKEN_AWAY)
    return pulls[given[pulls]]


def of_slaves(history: History) -> Bools:
    """Operations that were asked of a node with a broker id above 0."""
    nodes = [node for node in history.ops.node.values if broker_id(node) > MASTER_ID]
    return history.ops.node.mask(*nodes)


def broker_id(node: str) -> int:
    """1 of ``broker-a-1``; −1 for a name that is none of a broker's node."""
    return -1 if broker_name(node) == node or not node.startswith("broker-") else int(node.rpartition("-")[2])


def faults_of_node(facts: RunFacts, node: str) -> list[FaultFact]:
    """Faults that were done to *node* itself, in order; those that were seen to do nothing are left out."""
    return [fault for fault in facts.faults if node in fault.left + fault.right and fault.effective != 0]


def reusing_fault(facts: RunFacts, broker: str) -> FaultFact | None:
    """The first fault after which queue offsets of *broker* may be used again."""
    contract = facts.contract()
    if contract is None or contract.reading is None:
        return None
    kinds = contract.reading.skipped_after
    hits = [f for f in facts.faults if f.kind in kinds and f.effective != 0 and broker in map(broker_name, f.left)]
    return hits[0] if hits else None
