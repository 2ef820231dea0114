"""What a fault took from one broker, and how a lost message is told.

Question: which faults can have taken data from a broker, which messages had it stored, and what is said of the lost?

Model. A :class:`Loss` is one such fault with the messages that it may have taken; a :data:`Found` is an anomaly with
the messages that it tells of. The rules are in :mod:`checkers.runs.loss_rules` and :mod:`checkers.runs.lost_tails`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from checkers.history.columns import Ints
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History
from checkers.history.ledger import WEAK, Ledger
from checkers.runs.group_loss import elections_that_lose
from checkers.verdict import Anomaly

_NAMED = 20


@dataclass(frozen=True)
class Loss:
    """One fault that took data from one broker, and the messages it may have taken."""

    fault: FaultFact
    lost: Ints
    stored: Ints
    """All messages that the broker had answered for by then, the lost ones included."""
    kept_to: int = -1
    """The greatest position of those that are still there."""


Found = tuple[Anomaly, Ints]
"""What is said of lost messages, and which they are."""


def data_losses(facts: RunFacts, broker: str) -> list[FaultFact]:
    """Faults that took data from the master of *broker*, and were not seen to have done nothing, in order; where a
    majority answers for a message, elections after which something may be missing. Of sectors that went bad, only that
    of this master's log is told."""
    if facts.waits_for_majority():
        return elections_that_lose(facts, broker)
    taking = [f for f in facts.faults if f.takes() and f.effective != 0 and facts.hits(f, broker)]
    master = facts.cluster.first_master(broker)
    return [replace(f, position={node: at for node, at in f.position.items() if node == master}) for f in taking]


def stored_by(history: History, ledger: Ledger, broker: str) -> Ints:
    """Messages that *broker* answered for, promised or not."""
    queues = [queue for queue in history.queues.queue.tolist() if history.queues.broker_of(queue) == broker]
    return np.flatnonzero((ledger.outcome <= WEAK) & np.isin(ledger.queue, queues))


def loss_of(facts: RunFacts, fault: FaultFact) -> str:
    guarantee = facts.guarantee(fault)
    return guarantee.loss_with(_slaves_of(facts, fault)) if guarantee else "none"


def _slaves_of(facts: RunFacts, fault: FaultFact) -> int:
    """The fewest slaves that a broker has that *fault* hit."""
    return min((len(facts.cluster.slaves(facts.cluster.broker_of(node))) for node in fault.left), default=0)


def many(messages: Ints) -> str:
    return "1 acknowledged message" if len(messages) == 1 else f"{len(messages)} acknowledged messages"


def anomaly_of(
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
) -> Found:
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
