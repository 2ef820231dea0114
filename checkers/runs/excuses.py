"""Whether a fault of this run excuses what clients were not given: asked of the table of client guarantees."""

from __future__ import annotations

from checkers.client_guarantees import client_guarantees
from checkers.history.facts import RunFacts
from checkers.history.faults import FaultFact


def excuses(facts: RunFacts, kind: str) -> list[FaultFact]:
    """Faults of servers that may have done something and whose harm excuses a violation of *kind* in this mode."""
    harms = client_guarantees()[kind].excuses(facts.mode)
    cluster = facts.cluster
    return [
        fault
        for fault in facts.faults
        if fault.may_have_acted
        and fault.harm in harms
        and any(cluster.broker_of(node) for node in (*fault.left, *fault.right))
    ]
