"""Families of levers: a verb pulls those that it needs and no others, and what a world lacks is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from faults.catalogue import VERBS
from faults.levers import FAMILIES, LeverRefused
from faults.levers.acts import Joined, Watched, acts_of, levers_of
from faults.plan import bind_fault
from suites.unit.faults.conftest import World

ACROSS = "clients | masters"
ON = {
    **{do: ACROSS for do, verb in VERBS.items() if verb.shape == "sides"},
    **{do: "brokers" for do, verb in VERBS.items() if verb.least_nodes > 1},
    "adopt_slave": "one of masters",
}
OPTIONS = {
    "reconfigure": {"set": "flushIntervalCommitLog=200"},
    "damage_files": {"of": "consume-queue"},
    "return_stale": {"behind": "1KiB"},
    "foreign_disk": {"from": "broker-b-1"},
}


@pytest.mark.parametrize("do", VERBS)
def test_a_verb_gets_by_on_the_families_that_it_needs(do: str) -> None:
    """Its whole life, in a world that has nothing else: what is not there would be refused."""
    world = World(families=VERBS[do].needs)
    bound = bind_fault(1, at="1s", do=do, on=ON.get(do, "slave(broker-a)"), options=OPTIONS.get(do, {}))
    injector = world.injector(bound)
    world.drive(injector)
    injector.heal_all()
    assert world.told(1, 3)[0] == ("resolve", 1)
    assert {step for step, effective in world.told(1, 3) if effective == 0} <= {"probe"}


@pytest.mark.parametrize(("do", "lacking"), [(do, family) for do, verb in VERBS.items() for family in verb.needs])
def test_a_verb_needs_each_of_its_families(do: str, lacking: str) -> None:
    """Without any one of them its life does not come to its end; else it would be named for nothing."""
    world = World(families=[family for family in FAMILIES if family != lacking])
    bound = bind_fault(1, at="1s", do=do, on=ON.get(do, "slave(broker-a)"), options=OPTIONS.get(do, {}))
    injector = world.injector(bound)

    def life() -> None:
        world.drive(injector)
        injector.heal_all()

    with pytest.raises(Exception, match=rf"no levers of the family '{lacking}'"):
        life()


def test_every_lever_belongs_to_one_family() -> None:
    levers = [lever for family in FAMILIES.values() for lever in levers_of(family)]
    assert len(levers) == len(set(levers))


def test_a_lever_that_no_family_has_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(AttributeError, match="there is no lever 'explode'"):
        World().levers.explode("broker-a-0")
    assert "nodes" not in acts_of(FAMILIES["process"])


def test_a_world_may_have_its_levers_from_several_objects() -> None:
    class Proxy:
        def drop_frames(self, node: str) -> str:
            return f"dropped at {node}"

    world = World(families=("process",))
    joined: Any = Watched(Joined(world, Proxy()), lambda act, arguments, pull: pull(), FAMILIES)
    joined.kill("broker-a-0")
    assert world.states["broker-a-0"] == "dead"
    assert joined.drop_frames("broker-b-0") == "dropped at broker-b-0"
    with pytest.raises(LeverRefused, match="no levers of the family 'clock'"):
        Watched(Proxy(), lambda act, arguments, pull: pull(), FAMILIES).step_clock("broker-a-0", 1)
