"""Which units judge a mutant, and in which order?

Question: two hundred units execute a line, and there are seconds for a dozen. Which dozen?

Model. The cheapest come first, but never two of one kind in a row: units are dealt by kind (the column of a cell, the
scenario itself), the cheapest kind first, then the second of every kind. A line that few units execute is judged by
all of these. The deal ends when the CPU seconds of a mutant are spent.

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
    for footprint in _dealt([one for one in probed if one.judges and one.executes(mutant)]):
        if not chosen or spent + footprint.cpu_s <= seconds:
            chosen.append(footprint)
            spent += footprint.cpu_s
    return chosen


def _dealt(footprints: Sequence[Footprint]) -> list[Footprint]:
    kinds: dict[str, list[Footprint]] = defaultdict(list)
    for footprint in sorted(footprints, key=lambda one: (one.cpu_s, one.unit, one.seed)):
        kinds[footprint.unit.rpartition(TIMES)[2]].append(footprint)
    return [one for hand in zip_longest(*kinds.values()) for one in hand if one is not None]
