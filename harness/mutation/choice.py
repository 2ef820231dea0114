"""Which units judge a mutant, and in which order?

Question: two hundred units execute a line, and there are seconds for a dozen. Which dozen?

Model. Two lists take turns. The cheapest come first in one; in the other those that execute the most lines of the
mutant's module, since whoever uses much of it looks most closely. In both never two of one kind in a row: units are
dealt by kind (the column of a cell, the scenario itself), the first kind first, then the second of every kind. A line
that few units execute is judged by all of these. The lists end when the CPU seconds of a mutant are spent.

    cheapest   a × kill   b × pause   c × kill   …
    closest    scenario about the module   another   …      ─►  a × kill, scenario about the module, b × pause, …

Limits. What a unit costs is what it cost in the probe; with coverage it was slower.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest

from harness.mutation.population import Mutant
from harness.mutation.probe import Footprint
from harness.mutation.units import TIMES


def judges_of(mutant: Mutant, probed: Sequence[Footprint], seconds: float) -> list[Footprint]:
    """Those that execute its line and are worth asking; the first one whatever it costs."""
    chosen: list[Footprint] = []
    spent = 0.0
    executing = [one for one in probed if one.judges and one.executes(mutant)]
    for footprint in _in_turn(_cheapest(executing), _closest(executing, mutant.path)):
        if not chosen or spent + footprint.cpu_s <= seconds:
            chosen.append(footprint)
            spent += footprint.cpu_s
    return chosen


def _in_turn(*hands: Sequence[Footprint]) -> list[Footprint]:
    """One of each after the other; nobody twice."""
    turns = [one for turn in zip_longest(*hands) for one in turn if one is not None]
    return list({(one.unit, one.seed): one for one in turns}.values())


def _cheapest(footprints: Sequence[Footprint]) -> list[Footprint]:
    return _dealt(sorted(footprints, key=lambda one: (one.cpu_s, one.unit, one.seed)))


def _closest(footprints: Sequence[Footprint], path: str) -> list[Footprint]:
    return _dealt(sorted(footprints, key=lambda one: (-len(one.lines[path]), one.cpu_s, one.unit, one.seed)))


def _dealt(footprints: Sequence[Footprint]) -> list[Footprint]:
    """The first of each kind, then the second of each …"""
    kinds: dict[str, list[Footprint]] = defaultdict(list)
    for footprint in footprints:
        kinds[footprint.unit.rpartition(TIMES)[2]].append(footprint)
    return [one for hand in zip_longest(*kinds.values()) for one in hand if one is not None]
