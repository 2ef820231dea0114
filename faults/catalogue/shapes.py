"""Shapes of a network that no pair of sides says: ring and bridge.

``ring``: the nodes stand in a circle, in an order that is drawn, and each reaches only its neighbours: so many that
each sees a majority (itself among it), and no two the same. ``bridge``: two halves that do not reach each other, and
one node that reaches both. Nobody else is touched: clients and NameServers reach all.

    ring of five                     bridge of five
    a sees e, a, b                   a, b | d, e      c reaches all
    b sees a, b, c …

Both are links of ``partition``, several at once, and are probed as these; besides, what each node goes on to see is
probed, since a ring without its links is no ring.

Limits. Each sees ``2k + 1`` nodes with the smallest k for which that is a majority: of an even number it may be one
more. At most so many pairs are probed as of a partition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, product
from random import Random
from typing import Final

from faults.catalogue.network import PARTITION, PORTS, Pair
from faults.effects import Effect
from faults.selectors import Topology
from faults.verb import Division, Sides, Verb


def _ring(nodes: tuple[str, ...], topology: Topology, rng: Random) -> Division:
    circle = rng.sample(nodes, len(nodes))
    reach = (len(circle) // 2 + 1) // 2
    pairs = list(combinations(range(len(circle)), 2))
    seen = {(one, other) for one, other in pairs if _steps(one, other, len(circle)) <= reach}
    unseen = {one: tuple(circle[b] for a, b in pairs if a == one and (a, b) not in seen) for one in range(len(circle))}
    cuts: tuple[Sides, ...] = tuple(((circle[one],), others) for one, others in unseen.items() if others)
    kept: tuple[Pair, ...] = tuple((circle[one], circle[other]) for one, other in pairs if (one, other) in seen)
    return Division(nodes, (), cuts, kept)


def _steps(one: int, other: int, count: int) -> int:
    """How far two are from each other around the circle."""
    return min((one - other) % count, (other - one) % count)


def _bridge(nodes: tuple[str, ...], topology: Topology, rng: Random) -> Division:
    middle, *others = rng.sample(nodes, len(nodes))
    half = len(others) // 2
    left, right = topology.ordered(others[:half]), topology.ordered(others[half:])
    kept = tuple(product((middle,), (*left, *right)))
    return Division(nodes, (), ((left, right),), kept)


def _shape(
    name: str, summary: str, least: int, divide: Callable[[tuple[str, ...], Topology, Random], Division]
) -> Verb:
    return replace(
        PARTITION,
        name=name,
        summary=summary,
        takes_effect_when="pairs that are to be apart could connect before and cannot now; all others can",
        shape="nodes",
        effects=(Effect("separates"),),
        options=PORTS,
        divide=divide,
        least_nodes=least,
    )


RING: Final = _shape("ring", "each of the nodes sees a majority of them, and no two the same", 4, _ring)
BRIDGE: Final = _shape("bridge", "two halves of the nodes do not reach each other, one node reaches both", 3, _bridge)
