"""Reconfigure and promote; a full disk and a clock that jumps: done, proved, undone."""

from __future__ import annotations

import pytest

from faults.errors import InjectionFailed, PlanError
from faults.injector import Injector
from faults.plan import Fault, bind_fault
from suites.unit.faults.conftest import SECOND, World


def run(world: World, *faults: Fault, until_ns: int = 10 * SECOND) -> Injector:
    injector = world.injector(*faults)
    world.drive(injector, until_ns)
    return injector


def answers(world: World, step: str) -> list[int]:
    return [event[3] for event in world.events if event[1] == step]


def test_a_promoted_slave_has_its_masters_role_and_is_a_slave_again_after_the_heal() -> None:
    world = World()
    kill = bind_fault(1, at="1s", do="kill", on="master(broker-a)")
    injector = run(world, kill, bind_fault(2, at="2s", do="promote", on="slave(broker-a)"))
    assert world.settings["broker-a-1"] == {"brokerId": "0", "brokerRole": "SYNC_MASTER"}
    assert world.detail("f2", "probe")["which_was"] == "dead"
    injector.heal_all()
    assert world.settings["broker-a-1"] == {"brokerId": "1", "brokerRole": "SLAVE"}
    assert answers(world, "probe") == [1, 1]
    assert answers(world, "heal_probe") == [1, 1]
    order = [call for call in world.calls if call[0] in ("stop", "copy_disk", "start")][-5:]
    assert order == [
        ("stop", "broker-a-1"),
        ("stop", "broker-a-0"),
        ("copy_disk", "broker-a-1 broker-a-0"),
        ("start", "broker-a-0"),
        ("start", "broker-a-1"),
    ]


def test_nobody_is_promoted_in_the_place_of_nobody_or_twice() -> None:
    for on in ("master(broker-a)", "broker-b-0"):
        with pytest.raises(InjectionFailed, match="no slave of anybody"):
            run(World(), bind_fault(1, at="1s", do="promote", on=on))
    world = World((*World().states, "broker-a-2"))
    with pytest.raises(InjectionFailed, match="cannot both"):
        run(world, bind_fault(1, at="1s", do="promote", on="slave(broker-a)"))
    assert not any(call[0] == "stop" for call in world.calls)


@pytest.mark.parametrize("lever", ["stop", "reconfigure", "start"])
def test_a_promotion_that_did_not_happen_did_not_bite(lever: str) -> None:
    world = World()
    world.broken[lever] = None
    run(world, bind_fault(1, at="1s", do="promote", on="slave(broker-a)"))
    assert answers(world, "probe") == [0]


def test_reconfigured_properties_go_back_to_what_they_were() -> None:
    world = World()
    fault = bind_fault(
        1, at="1s", do="reconfigure", on="broker-a-0", hold="2s", options={"set": "haListenPort=1, brokerRole=X"}
    )
    run(world, fault, until_ns=2 * SECOND)
    assert world.settings["broker-a-0"] == {"brokerId": "0", "brokerRole": "X", "haListenPort": "1"}
    run_more = World()
    run(run_more, fault)
    assert run_more.settings["broker-a-0"] == {"brokerId": "0", "brokerRole": "SYNC_MASTER"}
    assert answers(run_more, "heal_probe") == [1]


@pytest.mark.parametrize("lever", ["stop", "reconfigure", "start"])
def test_where_the_second_node_cannot_be_changed_both_are_as_they_were(lever: str) -> None:
    world = World()

    def fail_at_the_second(called: str) -> None:
        if called == lever and sum(call[0] == lever for call in world.calls) == 2:
            raise RuntimeError("planted")

    world.on_call = fail_at_the_second
    fault = bind_fault(1, at="1s", do="reconfigure", on="masters", hold="2s", options={"set": "haListenPort=1"})
    with pytest.raises(InjectionFailed, match="planted"):
        run(world, fault)
    assert world.is_whole()
    assert all("haListenPort" not in world.properties(node) for node in ("broker-a-0", "broker-b-0"))
    assert answers(world, "probe") == []


def test_properties_that_were_so_already_do_not_bite() -> None:
    world = World()
    run(world, bind_fault(1, at="1s", do="reconfigure", on="broker-a-0", options={"set": "brokerRole=SYNC_MASTER"}))
    assert answers(world, "probe") == [0]


@pytest.mark.parametrize("text", ["", "haListenPort", "=1", "a=1,,b=2"])
def test_a_text_that_assigns_nothing_is_refused(text: str) -> None:
    with pytest.raises(PlanError, match="write name=value"):
        bind_fault(1, at="1s", do="reconfigure", on="brokers", options={"set": text})


def test_reconfigure_needs_to_know_what() -> None:
    with pytest.raises(PlanError, match="needs 'set'"):
        bind_fault(1, at="1s", do="reconfigure", on="brokers")


def test_a_disk_is_full_until_it_is_healed_and_one_that_was_full_before_is_not_hit() -> None:
    world = World()
    fault = bind_fault(1, at="1s", do="fill_disk", on="broker-a-0", options={"free": "4%"})
    injector = run(world, fault)
    assert world.free == {"broker-a-0": 40}
    injector.heal_all()
    assert world.free == {}
    world.free["broker-a-0"] = 30
    world.clock_ns = 0
    run(world, fault)
    assert answers(world, "probe") == [1, 0]
    assert answers(world, "heal_probe") == [1]


def test_two_jumps_of_one_clock_undo_what_each_did() -> None:
    world = World()
    first = bind_fault(1, at="1s", do="step_clock", on="broker-a-0", hold="5s", options={"by": "150s"})
    second = bind_fault(2, at="2s", do="step_clock", on="broker-a-0", hold="1s", options={"by": "-1s"})
    run(world, first, second, until_ns=2 * SECOND)
    assert world.ahead_ms["broker-a-0"] == 149_000
    world = World()
    run(world, first, second)
    assert world.ahead_ms["broker-a-0"] == 0
    assert answers(world, "heal_probe") == [1, 1]
