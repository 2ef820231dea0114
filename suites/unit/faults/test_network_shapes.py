"""One-way partitions, rings, bridges, resets, refused connections: proved to be the shape that was asked for."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.catalogue import VERBS
from faults.levers import LinkSet
from faults.plan import bind_fault
from faults.selectors import Topology
from suites.unit.faults.conftest import World

SIZES = st.integers(3, 9)


def struck(world: World, do: str, on: str, **options: str) -> dict[str, Any]:
    """What the probe of the fault saw; ``answer`` beside it."""
    injector = world.injector(bind_fault(1, at="1s", do=do, on=on, hold="", options=options))
    world.drive(injector)
    answer = next(effective for _, step, _, effective, _ in world.events if step == "probe")
    seen = {**world.detail("f1", "probe"), "answer": answer}
    injector.heal_all()
    assert not world.partitions
    return seen


def test_a_partition_that_lets_bytes_through_is_none(world: World) -> None:
    world.leaks = 40
    seen = struck(world, "partition", "slave(broker-a) | master(broker-a)")
    assert (set(seen["now"].values()), seen["leaked_bytes"], seen["answer"]) == ({False}, 40, 0)


def test_what_got_through_until_the_heal_is_told_with_it_and_who_does_not_count_says_nothing(world: World) -> None:
    world.leaked = 60
    assert struck(world, "isolate", "slave(broker-a)")["leaked_bytes"] == 0
    assert world.detail("f1", "heal_probe")["leaked_bytes"] == 60
    world.events.clear()
    world.leaks = world.leaked = -1
    assert "leaked_bytes" not in struck(world, "isolate", "slave(broker-a)")


# -- one way -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "lost", "passes"),
    [
        ("out", "broker-a-1 > broker-a-0", "broker-a-0 > broker-a-1"),
        ("in", "broker-a-0 > broker-a-1", "broker-a-1 > broker-a-0"),
    ],
)
def test_a_one_way_cut_loses_what_one_side_sends_and_each_direction_is_asked(
    world: World, way: str, lost: str, passes: str
) -> None:
    seen = struck(world, "partition", "slave(broker-a) | master(broker-a)", one_way=way)
    assert (seen["now"], seen["kept"], seen["answer"]) == ({lost: False}, {passes: True}, 1)


def test_a_cut_of_both_ways_is_no_one_way_cut(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        world,
        "partition",
        lambda sides: world.partitions.update({sides.name: LinkSet(sides.name, sides.left, sides.right)}),
    )
    seen = struck(world, "isolate", "slave(broker-a)", one_way="out")
    assert (set(seen["kept"].values()), seen["answer"]) == ({False}, 0)


def test_a_one_way_cut_of_what_was_cut_before_cannot_be_told(world: World) -> None:
    world.partitions["other"] = LinkSet("other", ("broker-a-0",), ("broker-a-1",), one_way=True)
    injector = world.injector(
        bind_fault(1, at="1s", do="partition", on="broker-a-1 | broker-a-0", options={"one_way": "out"})
    )
    world.drive(injector)
    assert [effective for _, step, _, effective, _ in world.events if step == "probe"] == [-1]


def test_a_node_that_is_down_says_nothing_of_a_one_way_partition_from_all_others(world: World) -> None:
    """Of the direction that is left alone one pair is enough; what is dead cannot be asked."""
    world.kill("broker-b-0")
    seen = struck(world, "isolate", "slave(broker-a)", one_way="in")
    assert (set(seen["now"].values()), set(seen["kept"].values()), seen["answer"]) == ({False}, {True}, 1)


def test_the_history_tells_whose_packets_were_lost() -> None:
    for verb in (VERBS["partition"], VERBS["isolate"]):
        told = [verb.effects_of({"one_way": way}) for way in ("no", "out", "in")]
        assert told == [
            [{"does": "separates", "at": "act"}],
            [{"does": "separates", "how": "out", "at": "act"}],
            [{"does": "separates", "how": "in", "at": "act"}],
        ]


# -- ring and bridge ---------------------------------------------------------------------------------------------------


def seen_by(do: str, count: int, seed: int) -> dict[str, set[str]]:
    """Whom each node reaches, itself among them."""
    nodes = tuple(f"broker-a-{number}" for number in range(count))
    divide = VERBS[do].divide
    assert divide is not None
    division = divide(nodes, Topology.of(nodes), Random(seed))
    cut = {frozenset((a, b)) for left, right in division.cuts for a in left for b in right}
    assert {frozenset(pair) for pair in division.kept}.isdisjoint(cut)
    return {node: {node, *(other for other in nodes if frozenset((node, other)) not in cut)} for node in nodes}


@given(SIZES.filter(lambda count: count > 3), st.integers())
def test_in_a_ring_each_sees_a_majority_and_no_two_the_same(count: int, seed: int) -> None:
    sees = seen_by("ring", count, seed)
    assert all(count > len(seen) > count / 2 for seen in sees.values())
    assert all(a != b for a, b in combinations(sees.values(), 2))


@given(SIZES, st.integers())
def test_over_a_bridge_one_node_sees_both_halves_which_do_not_see_each_other(count: int, seed: int) -> None:
    sees = seen_by("bridge", count, seed)
    (middle,) = [node for node, seen in sees.items() if len(seen) == count]
    halves = {frozenset(seen - {middle}) for node, seen in sees.items() if node != middle}
    left, right = halves
    assert left.isdisjoint(right)
    assert abs(len(left) - len(right)) <= 1


@pytest.mark.parametrize("do", ["ring", "bridge"])
def test_a_shape_is_proved_by_what_is_apart_and_by_what_is_not(world: World, do: str) -> None:
    seen = struck(world, do, "brokers")
    assert (set(seen["now"].values()), set(seen["kept"].values()), seen["answer"]) == ({False}, {True}, 1)


def test_a_ring_without_its_links_is_none(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """All apart: nobody sees a majority."""
    nodes = ("broker-a-0", "broker-a-1", "broker-b-0", "broker-b-1")
    monkeypatch.setattr(
        world, "partition", lambda sides: world.partitions.update({sides.name: LinkSet(sides.name, nodes, nodes)})
    )
    assert struck(world, "ring", "brokers")["answer"] == 0


@pytest.mark.parametrize(("do", "on"), [("ring", "broker(broker-a), namesrv-1"), ("bridge", "broker(broker-a)")])
def test_too_few_nodes_are_no_shape(world: World, do: str, on: str) -> None:
    world.drive(world.injector(bind_fault(1, at="1s", do=do, on=on)))
    assert world.told(1, 3) == [("resolve", 0), ("inject", 0), ("probe", 0)]
    assert f"{do} takes" in world.detail("f1", "resolve")["reason"]


# -- connections -------------------------------------------------------------------------------------------------------


def test_a_reset_ends_the_connections_that_were_there(world: World) -> None:
    seen = struck(world, "reset_links", "clients | masters")
    assert (seen["before"], seen["still_there"], seen["new"], seen["answer"]) == (4, 0, 4, 1)
    assert world.told(1)[-1] == ("heal_probe",)


def test_a_reset_that_resets_nothing_has_not_taken_effect(world: World) -> None:
    world.broken["reset_connections"] = None
    assert struck(world, "reset_links", "clients | masters")["answer"] == 0


def test_where_there_was_no_connection_no_reset_can_be_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "connections", lambda between: frozenset())
    assert struck(world, "reset_links", "clients | masters")["answer"] == -1


def test_refused_connections_are_those_that_are_new(world: World) -> None:
    seen = struck(world, "refuse_connects", "clients | masters")
    assert (set(seen["before"].values()), set(seen["now"].values())) == ({True}, {False})
    assert (seen["go_on"], seen["answer"]) == (4, 1)


def test_connections_that_are_answered_are_not_refused(world: World) -> None:
    world.broken["partition"] = None
    assert struck(world, "refuse_connects", "clients | masters")["answer"] == 0
