"""The check ``masters``: whom do NameServers call the master of each name, and who made him so?

Question: did a slave become a master by itself? How long had a name no master, and how often did it change?

Model. Every NameServer is asked twice a second who is id 0 of each broker name (op ``master``: broker → node or
``nobody``). In the classic modes a slave is promoted by an operator only, so

    self-promoted   a node that is no master by its name is listed as one, and no ``promote`` had hit it

Measured: ``without_ms``, the longest time a NameServer knew of no master of a name; ``changes``, how often the listed
master changed from one node to another; ``two_masters_ms``, how long both the old and the promoted master were seen to
be running under one name.

Limits. To the distance of two looks.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

from checkers.history.facts import RunFacts
from checkers.history.history import History, seconds
from checkers.history.observations import Looked, looks_of
from checkers.verdict import Anomaly, Outcome, Verdict

NOBODY: Final = "nobody"


def check_masters(history: History, facts: RunFacts) -> Verdict:
    """Judge every answer; UNKNOWN where there is none."""
    looks = looks_of(history, "master")
    if not looks:
        return Verdict("masters", Outcome.UNKNOWN, reasons=("no NameServer said who is master",))
    anomalies = _self_promoted(facts, looks)
    outcome = Outcome.FAIL if anomalies else Outcome.PASS
    return Verdict("masters", outcome, tuple(anomalies), _measures(facts, looks))


def _self_promoted(facts: RunFacts, looks: list[Looked]) -> list[Anomaly]:
    found: dict[str, Anomaly] = {}
    for look in looks:
        for broker, node in look.shown.items():
            is_expected = node in (NOBODY, facts.cluster.first_master(broker)) or _promoted(facts, node, look)
            if not is_expected and node not in found:
                sentence = (
                    f"{look.node} listed {node} as master of {broker} at {seconds(look.complete_ns)}, and no operator "
                    f"had made it one."
                )
                found[node] = Anomaly("self-promoted", sentence, (look.op,), {"broker": broker, "node": node})
    return list(found.values())


def _promoted(facts: RunFacts, node: str, look: Looked) -> bool:
    """Between an operator's promotion of the node and what NameServers need to forget it after it was taken back."""
    forget_ns = 130_000_000_000
    made = facts.cluster.masterships.get(facts.cluster.broker_of(node), ())
    return any(m.node == node and m.begin_ns < look.complete_ns < m.end_ns + forget_ns for m in made)


def _measures(facts: RunFacts, looks: list[Looked]) -> dict[str, Any]:
    servers = sorted({look.node for look in looks})
    brokers = sorted(looks[0].shown)
    without = {broker: max(_without_ns(looks, server, broker) for server in servers) for broker in brokers}
    return {
        "looks": len(looks),
        "without_ms": {broker: ns // 1_000_000 for broker, ns in without.items() if ns},
        "changes": sum(_changes(looks, server, broker) for server in servers for broker in brokers),
        "masters": {broker: sorted({look.shown[broker] for look in looks} - {NOBODY}) for broker in brokers},
        "two_masters_ms": _two_masters_ns(facts) // 1_000_000,
    }


def _without_ns(looks: list[Looked], server: str, broker: str) -> int:
    """The longest stretch of answers without a master."""
    longest = began_ns = -1
    for look in looks:
        if look.node != server:
            continue
        if look.shown[broker] != NOBODY:
            began_ns = -1
        else:
            began_ns = look.complete_ns if began_ns < 0 else began_ns
            longest = max(longest, look.complete_ns - began_ns)
    return max(longest, 0)


def _changes(looks: list[Looked], server: str, broker: str) -> int:
    listed = [look.shown[broker] for look in looks if look.node == server and look.shown[broker] != NOBODY]
    return sum(before != after for before, after in pairwise(listed))


def _two_masters_ns(facts: RunFacts) -> int:
    """How long the old master ran beside the promoted one, by their starts."""
    total_ns = 0
    for fault in facts.faults:
        for node in fault.left if fault.does("promotes") else ():
            starts = facts.starts.get(facts.cluster.first_master(facts.cluster.broker_of(node)), ())
            total_ns += sum(fault.heal_ns - ns for ns in starts if fault.inject_ns < ns < fault.heal_ns)
    return total_ns
