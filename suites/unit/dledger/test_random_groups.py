"""Groups of three and five under random kills, cuts and transfers: the invariants hold in every state, nothing that was
acknowledged is lost, and once all is well again there is a leader, and all logs are the same."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from reference_impl.dledger.events import Input
from suites.unit.dledger.group import Group
from suites.unit.dledger.invariants import Witness, logs_match


class Watched(Group):
    """Every step is looked at."""

    def __init__(self, size: int, seed: int, **options: Any) -> None:
        super().__init__(size, seed, **options)
        self.witness = Witness()

    def happens(self, name: str, happened: Input) -> None:
        super().happens(name, happened)
        node = self.nodes[name]
        if node.is_up:
            self.witness.saw(name, node.life, node.member, node.log)

    def disturb(self, chance: Random) -> None:
        names = list(self.nodes)
        draw, one, other = chance.random(), chance.choice(names), chance.choice(names)
        if draw < 0.2:
            self.kill(one)
        elif draw < 0.4:
            self.start(*[name for name, node in self.nodes.items() if not node.is_up][:1] or [one])
        elif draw < 0.55:
            self.isolate(one)
        elif draw < 0.7:
            self.cut.add((one, other))
        elif draw < 0.8 and self.leaders():
            self.transfer(self.leaders()[0], other)
        else:
            self.heal()

    def load(self, chance: Random, number: int) -> None:
        for name in self.leaders():
            self.propose(name, *[b"%d.%d" % (number, at) for at in range(chance.randrange(1, 4))])


@pytest.mark.parametrize(
    ("size", "seeds", "options"),
    [
        (3, range(60), {}),
        (5, range(40), {}),
        (2, range(20), {}),
        (3, range(100, 120), {"has_batch_push": True, "in_flight_max": 3}),
        (3, range(200, 220), {"preferred": ("n1", "n2")}),
    ],
)
def test_random_disturbance(size: int, seeds: range, options: dict[str, Any]) -> None:
    acknowledged = elections = 0
    for seed in seeds:
        chance = Random(seed)
        group = Watched(size, seed, **options)
        group.start()
        for number in range(60):
            group.run(chance.randrange(2500))
            group.load(chance, number)
            group.disturb(chance)
        group.heal()
        group.start(*[name for name, node in group.nodes.items() if not node.is_up])
        group.run(30_000)
        _is_well(group)
        acknowledged += len(group.acknowledged)
        elections += len(group.witness.leaders)
    assert acknowledged > (10 if size > 2 else 4) * len(seeds)
    assert elections > len(seeds)


def _is_well(group: Watched) -> None:
    assert len(group.leaders()) == 1
    logs = {name: node.log for name, node in group.nodes.items()}
    logs_match(logs)
    leader = group.nodes[group.leaders()[0]]
    assert leader.member.committed == leader.log.end_index
    for node in group.nodes.values():
        assert node.log.entries == leader.log.entries
        assert node.member.committed == leader.member.committed
    for index, body in group.acknowledged.items():
        entry = leader.log.entry(index)
        assert entry is not None
        assert entry.body == body
