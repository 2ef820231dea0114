"""Faults of the network: partition (two sides) and isolate (some against everybody else), both ways or one way.

Packets between the sides are dropped, on all ports or on one port class; connections are left to find out by
themselves. The probe sends real packets over some pairs, before and after: a partition is proved where a pair could
talk before and cannot now, and it is gone where that pair can talk again. ``one_way`` drops what one side sends; the
probe asks each direction apart, and a partition that hits the other direction too is not the one asked for: *no*. Heal
is not recovery: TCP backs off and comes back up to some seconds after the partition is gone.

Where a world can, it counts what arrived all the same, from the beginning to the heal: one byte of it, and the
partition is not proved (``leaked_bytes``, told with both probes).

Limits. At most :data:`PAIRS_MAX` pairs are probed each way, since a probe of a separated pair takes as long as its
timeout. Clients do not listen: a partition of both ways is probed towards servers. On TCP a one-way partition stalls
both directions: what is sent against it still arrives, up to a window, and is never acknowledged.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Final, get_args

from faults.effects import Effect
from faults.levers import HealStep, Levers, LinkSet, PortClass
from faults.selectors import Topology, port_class
from faults.verb import NO, UNTOLD, YES, Division, Facts, Option, Probed, Strike, Verb, option

PAIRS_MAX: Final = 4
ATTEMPTS_MAX: Final = 3

WAYS: Final = ("no", "out", "in")

Pair = tuple[str, str]
"""(source, target) of a packet."""

PORTS: Final = {
    "ports": Option("any", "which traffic: ha, broker (its client ports), namesrv, any", get_args(PortClass))
}
OPTIONS: Final = {
    **PORTS,
    "one_way": Option(
        "no", "whose packets are lost: out, those of the left side (the nodes), in, those of the others; no: of both",
        WAYS, samples=WAYS,
    ),
}  # fmt: skip

_SERVES: Final[dict[str, tuple[str, ...]]] = {
    "any": ("broker", "namesrv", "controller"),
    "broker": ("broker",),
    "ha": ("broker",),
    "namesrv": ("namesrv",),
}
"""Kinds of nodes that listen on a port class."""


def links_of(strike: Strike) -> list[LinkSet]:
    """The links that this strike separates; the name of the first is the fault's id, unique in the run."""
    way = _way_of(strike)
    sides = [(right, left) if way == "in" else (left, right) for left, right in strike.sides]
    return [
        LinkSet(partition_name(strike, number), left, right, ports_of(strike), one_way=way != "no")
        for number, (left, right) in enumerate(sides)
    ]


def partition_name(strike: Strike, number: int) -> str:
    return f"{strike.fault}-{number}" if number else strike.fault


def ports_of(strike: Strike) -> PortClass:
    return port_class(option(strike, PORTS, "ports"))


def _way_of(strike: Strike) -> str:
    return strike.options.get("one_way", "no")


def pairs_of(strike: Strike) -> list[Pair]:
    """Pairs worth probing across the partition; towards servers where both ways are; spread over both sides;
    bounded."""
    if (way := _way_of(strike)) != "no":
        return _some([(a, b) if way == "out" else (b, a) for a, b in _across(strike)])
    kinds = {node.name: node.kind for node in strike.topology.nodes}
    serves = _SERVES[ports_of(strike)]
    return _some([pair for a, b in _across(strike) for pair in ((a, b), (b, a)) if kinds[pair[1]] in serves])


def kept_of(strike: Strike) -> list[Pair]:
    """Pairs that the fault must leave alone: the other way of a one-way partition, and what a shape is known by."""
    other_way = [(b, a) for a, b in pairs_of(strike)] if _way_of(strike) != "no" else []
    return [*other_way, *_some([pair for a, b in strike.kept for pair in ((a, b), (b, a))])]


def _across(strike: Strike) -> list[Pair]:
    return [(a, b) for left, right in strike.sides for a in left for b in right]


def _some(pairs: list[Pair]) -> list[Pair]:
    stride = max(1, len(pairs) // PAIRS_MAX)
    return pairs[::stride][:PAIRS_MAX]


def _talks(levers: Levers, strike: Strike, pairs: list[Pair]) -> dict[Pair, bool]:
    ports = ports_of(strike)
    return {(source, target): levers.reaches(source, target, ports) for source, target in pairs}


def inject_partitions(levers: Levers, strike: Strike) -> Facts:
    talked, kept = (_talks(levers, strike, pairs) for pairs in (pairs_of(strike), kept_of(strike)))
    for links in links_of(strike):
        levers.partition(links)
    return {"talked": talked, "kept": kept}


def written(talks: dict[Pair, bool]) -> dict[str, bool]:
    return {f"{source} > {target}": talk for (source, target), talk in talks.items()}


def _lacks_kept(strike: Strike, asked: Mapping[Pair, bool], kept: Mapping[Pair, bool]) -> bool:
    """Whether too few of those that are to be left alone could talk before: of a shape that consists of its links all
    must, of the other direction of a partition some, since nodes that are down cannot be asked."""
    return len(kept) < len(asked) and (bool(strike.kept) or not kept)


def cut_off(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    before: dict[Pair, bool] = facts["talked"]
    now = _talks(levers, strike, pairs_of(strike))
    detail: dict[str, Any] = {"before": written(before), "now": written(now)}
    kept = {pair: _reaches_again(levers, pair, ports_of(strike)) for pair, talked in facts["kept"].items() if talked}
    detail |= {"kept": written(kept)} if strike.kept or _way_of(strike) != "no" else {}
    leaked = _leaked(levers, strike)
    detail |= leaked
    if any(now.values()) or not all(kept.values()) or any(leaked.values()):
        return [Probed("", NO, detail)]
    if not any(before.values()):
        return [
            Probed("", UNTOLD, {**detail, "reason": "no pair that can be probed was able to talk before the partition"})
        ]
    if _lacks_kept(strike, facts["kept"], kept):
        return [Probed("", UNTOLD, {**detail, "reason": "not every pair that is to be left alone could talk before"})]
    return [Probed("", YES, detail)]


def heal_partition(levers: Levers, strike: Strike, facts: Facts) -> None:
    for number in range(len(strike.sides)):
        levers.heal_partition(partition_name(strike, number))


def talks_again(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    """Only pairs that could talk before and whose ends run now can tell."""
    running = [pair for pair, talked in facts["talked"].items() if talked and both_run(levers, pair)]
    now = {pair: _reaches_again(levers, pair, ports_of(strike)) for pair in running}
    leaked = _leaked(levers, strike)
    if not now:
        return [Probed("", UNTOLD, {"reason": "no pair that can be probed runs at both ends now", **leaked})]
    return [Probed("", YES if all(now.values()) else NO, {"now": written(now), **leaked})]


def _leaked(levers: Levers, strike: Strike) -> dict[str, int]:
    """How many bytes got through its partitions, if anybody counts."""
    counts = [levers.leaked_bytes(links.name) for links in links_of(strike)]
    return {} if min(counts) < 0 else {"leaked_bytes": sum(counts)}


def both_run(levers: Levers, pair: Pair) -> bool:
    return all(levers.state(node) == "running" for node in pair)


def _reaches_again(levers: Levers, pair: Pair, ports: PortClass) -> bool:
    """One lost probe on a loaded machine is no partition: ask a few times before saying no."""
    return any(levers.reaches(*pair, ports) for _ in range(ATTEMPTS_MAX))


def heal_partition_steps(levers: Levers, strike: Strike) -> list[HealStep]:
    names = [partition_name(strike, number) for number in range(len(strike.sides))]
    return [step for name in names for step in levers.heal_steps("network", name)]


def _from_others(nodes: tuple[str, ...], topology: Topology, rng: Random) -> Division:
    """Everybody else, clients included, is the right side."""
    return Division(nodes, topology.names(lambda node: node.name not in nodes))


SEPARATES: Final = (
    Effect("separates", only_if=("one_way", "no")),
    Effect("separates", "out", only_if=("one_way", "out")),
    Effect("separates", "in", only_if=("one_way", "in")),
)

PARTITION: Final = Verb(
    name="partition",
    family="network",
    summary="no packet between LEFT and RIGHT, both ways or one way; each side is fine within itself",
    takes_effect_when="pairs across it could connect before and cannot now; the other way of a one-way partition can",
    undone_by="the rules are removed by their name",
    shape="sides",
    condition="separated",
    effects=SEPARATES,
    inject=inject_partitions,
    probe=cut_off,
    heal=heal_partition,
    heal_probe=talks_again,
    heal_steps=heal_partition_steps,
    options=OPTIONS,
    needs=("network",),
)

ISOLATE: Final = Verb(
    name="isolate",
    family="network",
    summary="no packet between the nodes and everybody else, both ways or one way; among themselves they are fine",
    takes_effect_when=PARTITION.takes_effect_when,
    undone_by=PARTITION.undone_by,
    shape="nodes",
    condition="separated",
    effects=SEPARATES,
    inject=inject_partitions,
    probe=cut_off,
    heal=heal_partition,
    heal_probe=talks_again,
    heal_steps=heal_partition_steps,
    options=OPTIONS,
    divide=_from_others,
    needs=("network",),
)
