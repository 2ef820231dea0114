"""Faults of the network: partition (two sides) and isolate (some against everybody else).

Packets between the sides are dropped both ways, on all ports or on one port class; connections are left to find out by
themselves. The probe sends real connects over some pairs, before and after: a cut is proved where a pair could talk
before and cannot now, and a cut is gone where it can talk again. Heal is not recovery: TCP backs off and comes back up
to some seconds after the cut is gone.

Limits. At most :data:`PAIRS_MAX` pairs are probed, since a probe of a cut pair takes as long as its timeout. Clients do
not listen: a pair is probed towards its server.
"""

from __future__ import annotations

from typing import Final, get_args

from faults.effects import Effect
from faults.levers import Cut, HealStep, Levers, PortClass
from faults.selectors import Topology, port_class
from faults.verb import NO, UNTOLD, YES, Facts, Option, Probed, Strike, Verb, option

PAIRS_MAX: Final = 4
ATTEMPTS_MAX: Final = 3

OPTIONS: Final = {
    "ports": Option("any", "which traffic: ha, broker (its client ports), namesrv, any", get_args(PortClass))
}

_SERVES: Final[dict[str, tuple[str, ...]]] = {
    "any": ("broker", "namesrv"),
    "broker": ("broker",),
    "ha": ("broker",),
    "namesrv": ("namesrv",),
}
"""Kinds of nodes that listen on a port class."""


def cut_of(strike: Strike) -> Cut:
    """The cut of this strike; its name is the fault's id, unique in the run."""
    return Cut(strike.fault, strike.left, strike.right, ports_of(strike))


def ports_of(strike: Strike) -> PortClass:
    return port_class(option(strike, OPTIONS, "ports"))


def pairs_of(strike: Strike) -> list[tuple[str, str]]:
    """(source, target) pairs worth probing, both directions, servers as targets, spread over both sides; bounded."""
    kinds = {node.name: node.kind for node in strike.topology.nodes}
    serves = _SERVES[ports_of(strike)]
    across = [(a, b) for a in strike.left for b in strike.right]
    pairs = [pair for a, b in across for pair in ((a, b), (b, a)) if kinds[pair[1]] in serves]
    stride = max(1, len(pairs) // PAIRS_MAX)
    return pairs[::stride][:PAIRS_MAX]


def _talks(levers: Levers, strike: Strike) -> dict[tuple[str, str], bool]:
    ports = ports_of(strike)
    return {(source, target): levers.reaches(source, target, ports) for source, target in pairs_of(strike)}


def _inject(levers: Levers, strike: Strike) -> Facts:
    talked = _talks(levers, strike)
    levers.cut(cut_of(strike))
    return {"talked": talked}


def _written(talks: dict[tuple[str, str], bool]) -> dict[str, bool]:
    return {f"{source} > {target}": talk for (source, target), talk in talks.items()}


def _cut_off(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    before: dict[tuple[str, str], bool] = facts["talked"]
    now = _talks(levers, strike)
    detail = {"before": _written(before), "now": _written(now)}
    could = [pair for pair, talked in before.items() if talked]
    if any(now[pair] for pair in now):
        return [Probed("", NO, detail)]
    if not could:
        return [Probed("", UNTOLD, {**detail, "reason": "no pair that can be probed was able to talk before the cut"})]
    return [Probed("", YES, detail)]


def _uncut(levers: Levers, strike: Strike, facts: Facts) -> None:
    levers.uncut(strike.fault)


def _talks_again(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    """Only pairs that could talk before and whose ends run now can tell."""
    running = [pair for pair, talked in facts["talked"].items() if talked and _both_run(levers, pair)]
    now = {pair: _reaches_again(levers, pair, ports_of(strike)) for pair in running}
    if not now:
        return [Probed("", UNTOLD, {"reason": "no pair that can be probed runs at both ends now"})]
    return [Probed("", YES if all(now.values()) else NO, {"now": _written(now)})]


def _both_run(levers: Levers, pair: tuple[str, str]) -> bool:
    return all(levers.state(node) == "running" for node in pair)


def _reaches_again(levers: Levers, pair: tuple[str, str], ports: PortClass) -> bool:
    """One lost probe on a loaded machine is not a cut: ask a few times before saying no."""
    return any(levers.reaches(*pair, ports) for _ in range(ATTEMPTS_MAX))


def _heal_steps(levers: Levers, strike: Strike) -> list[HealStep]:
    return levers.heal_steps("network", strike.fault)


def others(topology: Topology, nodes: tuple[str, ...]) -> tuple[str, ...]:
    """Everybody else, clients included: the right side of ``isolate``."""
    return topology.names(lambda node: node.name not in nodes)


PARTITION: Final = Verb(
    name="partition",
    family="network",
    summary="no packet between LEFT and RIGHT, both ways; each side is fine within itself",
    takes_effect_when="pairs across the cut could connect before and cannot now",
    undone_by="the rules are removed by their name",
    shape="cut",
    condition="cut",
    effects=(Effect("separates"),),
    inject=_inject,
    probe=_cut_off,
    heal=_uncut,
    heal_probe=_talks_again,
    heal_steps=_heal_steps,
    options=OPTIONS,
    needs=("network",),
)

ISOLATE: Final = Verb(
    name="isolate",
    family="network",
    summary="no packet between the nodes and everybody else, both ways; among themselves they are fine",
    takes_effect_when=PARTITION.takes_effect_when,
    undone_by=PARTITION.undone_by,
    shape="nodes",
    condition="cut",
    effects=(Effect("separates"),),
    inject=_inject,
    probe=_cut_off,
    heal=_uncut,
    heal_probe=_talks_again,
    heal_steps=_heal_steps,
    options=OPTIONS,
    needs=("network",),
)
