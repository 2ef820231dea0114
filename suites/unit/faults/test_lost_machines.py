"""A machine that is gone for good: what the levers are asked, in which order, and what the probes make of it."""

from __future__ import annotations

import pytest

from faults.errors import InjectionFailed

SECOND = 10**9


def steps(world) -> list[tuple[str, int]]:
    return [(event[1], event[3]) for event in world.events]


def acts(world) -> list[tuple[str, str]]:
    return [call for call in world.calls if call[0] != "reaches"]


def test_a_wiped_node_comes_back_with_an_empty_disk(world, fault) -> None:
    world.drive(world.injector(fault("wipe", "master(broker-a)", at="6s", hold="3s")))
    assert acts(world) == [("kill", "broker-a-0"), ("wipe", "broker-a-0"), ("start", "broker-a-0")]
    assert steps(world) == [("resolve", 1), ("inject", -1), ("probe", 1), ("heal", -1), ("heal_probe", 1)]
    assert world.is_whole()


def test_a_disk_that_held_nothing_was_not_lost(world, fault) -> None:
    world.files["broker-a-0"] = 0
    world.drive(world.injector(fault("wipe", "master(broker-a)", at="6s", hold="3s")))
    assert ("probe", 0) in steps(world)


def test_a_disk_that_keeps_its_files_was_not_lost(world, fault) -> None:
    world.broken["wipe"] = None
    world.drive(world.injector(fault("wipe", "master(broker-a)", at="6s", hold="3s")))
    assert ("probe", 0) in steps(world)


def test_an_adopted_slave_is_stopped_copied_and_started_beside_the_new_master(world, fault) -> None:
    world.files["broker-a-1"] = 7
    world.drive(world.injector(fault("adopt_slave", "master(broker-a)", at="6s", hold="3s")))
    assert acts(world) == [
        ("kill", "broker-a-0"),
        ("wipe", "broker-a-0"),
        ("stop", "broker-a-1"),
        ("copy_disk", "broker-a-1 broker-a-0"),
        ("start", "broker-a-0"),
        ("start", "broker-a-1"),
    ]
    assert world.files["broker-a-0"] == 7
    assert world.is_whole()


@pytest.mark.parametrize("on", ["nameserver(1)", "slave(broker-a)"])
def test_only_a_master_with_a_slave_can_be_replaced_and_nothing_is_done_otherwise(world, fault, on: str) -> None:
    injector = world.injector(fault("adopt_slave", on, at="6s", hold="3s"))
    with pytest.raises(InjectionFailed, match="has no slave whose data could be adopted"):
        world.drive(injector)
    assert acts(world) == []


def test_the_plan_may_say_whose_data_is_taken(world, fault) -> None:
    world.states["broker-a-2"], world.files["broker-a-2"] = "running", 5
    world.drive(world.injector(fault("adopt_slave", "master(broker-a)", at="6s", hold="3s", **{"from": "broker-a-2"})))
    assert ("copy_disk", "broker-a-2 broker-a-0") in acts(world)
    assert [event[4]["from"] for event in world.events if event[1] == "probe"] == ["broker-a-2"]


def test_a_slave_of_another_broker_is_refused(world, fault) -> None:
    injector = world.injector(fault("adopt_slave", "master(broker-a)", at="6s", hold="3s", **{"from": "broker-b-1"}))
    with pytest.raises(InjectionFailed, match="broker-b-1 is no slave of broker-a-0, which has broker-a-1"):
        world.drive(injector)
    assert acts(world) == []


def stale(fault):
    return fault("return_stale", "slave(broker-a)", at="5s", hold="2s", behind="64KiB")


def test_a_slave_comes_back_from_an_older_copy_of_its_disk(world, fault) -> None:
    world.drive(world.injector(stale(fault)))
    slave = "broker-a-1"
    assert [call for call, node in world.calls if node == slave] == [
        "kill", "keep_disk", "start", "kill", "put_disk_back", "start",
    ]  # fmt: skip
    assert world.told(1, 3)[2] == ("probe", 1)
    seen = {"before": "running", "now": "dead", "log_before": 100_000 + (1 << 20), "position": 100_000}
    assert world.detail("f1", "probe") == seen
    assert world.is_whole()


@pytest.mark.parametrize("why", ["it did not grow", "it was not put back"])
def test_a_log_that_ends_where_it_did_is_not_stale(world, fault, why: str) -> None:
    if why == "it did not grow":
        world.growth_bytes = (64 << 10) - 1
    else:
        world.broken["put_disk_back"] = None
    world.drive(world.injector(stale(fault)))
    assert world.told(1, 3)[2] == ("probe", 0)
    assert "did not grow" in world.detail("f1", "probe")["reason"]
    assert world.is_whole()


def test_a_master_does_not_come_back_stale(world, fault) -> None:
    with pytest.raises(InjectionFailed, match="not broker-a-0, broker-b-0"):
        world.drive(world.injector(fault("return_stale", "brokers", behind="1KiB")))
    assert "keep_disk" not in dict(world.calls)


def foreign(fault, source: str = "broker-b-1", on: str = "slave(broker-a)"):
    return fault("foreign_disk", on, at="5s", hold="2s", **{"from": source})


def test_a_member_comes_back_with_a_copy_of_somebody_elses_disk(world, fault) -> None:
    strangers(world, b"theirs")
    world.drive(world.injector(foreign(fault)))
    assert acts(world) == [
        ("kill", "broker-a-1"),
        ("stop", "broker-b-1"),
        ("copy_disk", "broker-b-1 broker-a-1"),
        ("start", "broker-b-1"),
        ("start", "broker-a-1"),
    ]
    assert steps(world)[2] == ("probe", 1)
    assert world.detail("f1", "probe")["files"] == 1
    assert world.is_whole()


def strangers(world, data: bytes) -> None:
    """Two logs of the same length."""
    world.states["broker-b-1"] = "running"
    world.disk["broker-a-1"], world.disk["broker-b-1"] = {"store/log": b"ours.."}, {"store/log": data}


@pytest.mark.parametrize("why", ["it was not copied", "it is the same"])
def test_a_disk_that_is_as_it_was_is_not_foreign(world, fault, why: str) -> None:
    strangers(world, b"ours.." if why == "it is the same" else b"theirs")
    if why == "it was not copied":
        world.broken["copy_disk"] = None
    world.drive(world.injector(foreign(fault)))
    assert steps(world)[2] == ("probe", 0)


@pytest.mark.parametrize(
    ("source", "why"),
    [("broker-b-0", "broker-b-0 follows nobody"), ("broker-a-1", "has the broker name of broker-a-1")],
)
def test_only_a_follower_of_another_name_is_copied(world, fault, source: str, why: str) -> None:
    with pytest.raises(InjectionFailed, match=why):
        world.drive(world.injector(foreign(fault, source)))
    assert acts(world) == []
