"""When nothing was the matter: stretches of a run that no fault explains.

Question: something should be so a while after the last fault at the latest. How long was it not, with nothing to excuse
it?

Model. A fault disturbs from its beginning until a *settling* time after its heal. The death of a client closes its
connections, so everybody knows of it at once: it disturbs for the settling time after it and after its next start, not
while it is dead. What nobody saw take effect disturbs nothing; a node that ended by itself does.

Settling takes what RocketMQ's timers take: brokers register every 30 s, members rebalance every 20 s and learn routes
within 5 s here. Who was partitioned or frozen may have left a connection behind that its peer keeps for 120 s, and
looks for every 10 s (ClientHousekeepingService).
"""

from __future__ import annotations

from typing import Final

from checkers.history.facts import RunFacts
from checkers.history.faults import FaultFact
from checkers.history.spans import NEVER_NS, Span, length_ns, union

S: Final = 1_000_000_000
SETTLE_NS: Final = 60 * S
SILENT_NS: Final = 150 * S


def disturbed(facts: RunFacts) -> list[Span]:
    """When something was the matter, or had been a while ago."""
    spans = [span for fault in facts.faults if fault.effective != 0 for span in _of(facts, fault)]
    crashed = [(ns, ns + SETTLE_NS) for ends in facts.ends.values() for ns in ends]
    return union(spans, crashed)


def calm_ns(facts: RunFacts, begin: int, end: int) -> int:
    """How much of [begin, end) was calm."""
    return max(0, end - begin) - length_ns(disturbed(facts), begin, end)


def hits_clients_only(facts: RunFacts, fault: FaultFact) -> bool:
    """Whether no server was hit."""
    cluster = facts.cluster
    return not any(cluster.broker_of(node) or cluster.directs(node) for node in (*fault.left, *fault.right))


def _of(facts: RunFacts, fault: FaultFact) -> list[Span]:
    begin, end = fault.lasts
    is_silent = any(fault.does(what) for what in ("separates", "freezes", "starves", "slows", "resets"))
    settle_ns = SILENT_NS if is_silent else SETTLE_NS
    after = min(end + settle_ns, NEVER_NS)
    if fault.does("ends") and not is_silent and hits_clients_only(facts, fault):
        return [(begin, begin + settle_ns), (end, after)]
    return [(begin, after)]
