"""Faults of connections, between nodes whose packets pass: reset_links, refuse_connects.

``reset_links`` ends every TCP connection between the sides once, at both ends, as a machine in between does that has
forgotten them. The witness are the connections: there were some, and now there is none of these, whatever was opened
since. Where there was none nobody can tell.

``refuse_connects``: no new connection between the sides, whoever opens it, and those that are there go on, as behind a
full table of a firewall: who has a connection does not notice, who must come back cannot. The witness is a real attempt
to connect, answered before and not now.

Limits. Nothing tells an attempt that was dropped from one that was lost; probes are bounded as those of a partition.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from faults.catalogue.network import ATTEMPTS_MAX, PARTITION, PORTS, Pair, both_run, pairs_of, ports_of, written
from faults.effects import Effect
from faults.levers import Levers, LinkSet
from faults.verb import NO, UNTOLD, YES, Facts, Probed, Strike, Verb


def _between(strike: Strike) -> LinkSet:
    return LinkSet(strike.fault, strike.left, strike.right, ports_of(strike))


def _reset(levers: Levers, strike: Strike) -> Facts:
    before = levers.connections(_between(strike))
    levers.reset_connections(_between(strike))
    return {"before": before}


def _were_reset(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    now = levers.connections(_between(strike))
    left = len(facts["before"] & now)
    detail: dict[str, int | str] = {"before": len(facts["before"]), "still_there": left, "new": len(now) - left}
    if left:
        return [Probed("", NO, detail)]
    if not facts["before"]:
        return [Probed("", UNTOLD, {**detail, "reason": "there was no connection between the sides"})]
    return [Probed("", YES, detail)]


def _nothing_left(levers: Levers, strike: Strike, facts: Facts) -> None:
    """It is over as soon as it is done."""


def _answers(levers: Levers, strike: Strike) -> dict[Pair, bool]:
    return {pair: levers.connects(*pair, ports_of(strike)) for pair in pairs_of(strike)}


def _can_connect(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    pairs = [pair for pair in pairs_of(strike) if both_run(levers, pair)]
    now = {pair: any(levers.connects(*pair, ports_of(strike)) for _ in range(ATTEMPTS_MAX)) for pair in pairs}
    if not now:
        return [Probed("", UNTOLD, {"reason": "no pair that can be probed runs at both ends now"})]
    return [Probed("", YES if all(now.values()) else NO, {"now": written(now)})]


def _refuse(levers: Levers, strike: Strike) -> Facts:
    before, there = _answers(levers, strike), levers.connections(_between(strike))
    levers.partition(replace(_between(strike), only_new=True))
    return {"before": before, "there": there}


def _are_refused(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    before, now = facts["before"], _answers(levers, strike)
    there = levers.connections(_between(strike))
    detail = {"before": written(before), "now": written(now), "go_on": len(facts["there"] & there)}
    if any(now.values()):
        return [Probed("", NO, detail)]
    if not any(before.values()):
        return [Probed("", UNTOLD, {**detail, "reason": "no pair that can be probed was able to connect before"})]
    return [Probed("", YES, detail)]


RESET_LINKS: Final = Verb(
    name="reset_links",
    family="network",
    summary="every connection between LEFT and RIGHT is reset at both ends, once; new ones can be opened",
    takes_effect_when="there were connections between the sides, and none of them is there now",
    undone_by="nothing to undo; pairs across the link can connect",
    shape="sides",
    condition="none",
    effects=(Effect("resets"),),
    inject=_reset,
    probe=_were_reset,
    heal=_nothing_left,
    heal_probe=_can_connect,
    options=PORTS,
    needs=("connections", "network"),
)

REFUSE_CONNECTS: Final = replace(
    PARTITION,
    name="refuse_connects",
    summary="no new connection between LEFT and RIGHT, whoever opens it; those that are there go on",
    takes_effect_when="pairs between the sides were answered when they connected, and are not now",
    effects=(Effect("separates", "new"),),
    inject=_refuse,
    probe=_are_refused,
    heal_probe=_can_connect,
    options=PORTS,
    needs=("connections", "network"),
)
