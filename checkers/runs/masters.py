"""The check ``masters``: whom do NameServers call the master of each name, and was it promoted?

Question: did a slave become a master by itself? How long had a name no master, and how often did it change?

Model. Every NameServer is asked twice a second who is id 0 of each broker name (op ``master``: broker → node or
``nobody``). In the classic modes a slave is promoted by an operator only, so

    self-promoted   a node that is no master by its name is listed as one, and neither had a ``promote`` hit it nor the
                    members of its group elected it

Measured: ``without_ms``, the longest time a NameServer knew of no master of a name; ``changes``, how often the listed
master changed from one node to another; ``two_masters_ms``, how long both the old and the promoted master were seen to
be running under one name.

Limits. To the distance of two observations.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

from checkers.history.cluster import Mastership
from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.history.observations import Observed, observations_of
from checkers.verdict import Anomaly, Outcome, Verdict

NOBODY: Final = "nobody"
NOTICED_LATE_NS: Final = 2_000_000_000
"""Of members that do not tell of themselves it is known that they serve once a NameServer has listed them."""


def check_masters(history: History, facts: RunFacts) -> Verdict:
    """Judge every answer; UNKNOWN where there is none."""
    observations = observations_of(history, "master")
    if not observations:
        return Verdict("masters", Outcome.UNKNOWN, reasons=("no NameServer said who is master",))
    anomalies = _self_promoted(facts, observations)
    outcome = Outcome.FAIL if anomalies else Outcome.PASS
    return Verdict("masters", outcome, tuple(anomalies), _measures(facts, observations))


def _self_promoted(facts: RunFacts, observations: list[Observed]) -> list[Anomaly]:
    found: dict[str, Anomaly] = {}
    for observation in observations:
        for broker, node in observation.shown.items():
            is_expected = node in (NOBODY, facts.cluster.first_master(broker)) or _promoted(facts, node, observation)
            if not is_expected and node not in found:
                sentence = (
                    f"{observation.node} listed {node} as master of {broker} at "
                    f"{facts.clock(observation.complete_ns)}, "
                    "and no operator had made it one."
                )
                found[node] = Anomaly("self-promoted", sentence, (observation.op,), {"broker": broker, "node": node})
    return list(found.values())


def _promoted(facts: RunFacts, node: str, observation: Observed) -> bool:
    """Between the promotion of the node, by an operator or by the members of its group, and what NameServers need to
    forget it after it was taken back."""
    forget_ns = 130_000_000_000
    made = facts.cluster.masterships.get(facts.cluster.broker_of(node), ())
    return any(m.node == node and _since(m) < observation.complete_ns < m.end_ns + forget_ns for m in made)


def _since(mastership: Mastership) -> int:
    return mastership.begin_ns - (NOTICED_LATE_NS if mastership.is_elected else 0)


def _measures(facts: RunFacts, observations: list[Observed]) -> dict[str, Any]:
    servers = sorted({observation.node for observation in observations})
    brokers = sorted(observations[0].shown)
    without = {broker: max(_without_ns(observations, server, broker) for server in servers) for broker in brokers}
    return {
        "observations": len(observations),
        "without_ms": {broker: ns // 1_000_000 for broker, ns in without.items() if ns},
        "changes": sum(_changes(observations, server, broker) for server in servers for broker in brokers),
        "masters": {
            broker: sorted({observation.shown[broker] for observation in observations} - {NOBODY}) for broker in brokers
        },
        "two_masters_ms": _two_masters_ns(facts) // 1_000_000,
    }


def _without_ns(observations: list[Observed], server: str, broker: str) -> int:
    """The longest stretch of answers without a master."""
    longest = began_ns = -1
    for observation in observations:
        if observation.node != server:
            continue
        if observation.shown[broker] != NOBODY:
            began_ns = -1
        else:
            began_ns = observation.complete_ns if began_ns < 0 else began_ns
            longest = max(longest, observation.complete_ns - began_ns)
    return max(longest, 0)


def _changes(observations: list[Observed], server: str, broker: str) -> int:
    listed = [
        observation.shown[broker]
        for observation in observations
        if observation.node == server and observation.shown[broker] != NOBODY
    ]
    return sum(before != after for before, after in pairwise(listed))


def _two_masters_ns(facts: RunFacts) -> int:
    """How long the old master ran beside the promoted one, by their starts."""
    total_ns = 0
    for fault in facts.faults:
        for node in fault.left if fault.does("promotes") else ():
            starts = facts.starts.get(facts.cluster.first_master(facts.cluster.broker_of(node)), ())
            total_ns += sum(fault.heal_ns - ns for ns in starts if fault.inject_ns < ns < fault.heal_ns)
    return total_ns
