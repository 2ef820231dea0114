"""slow_link and drop_frames over a world in memory: what counts as having taken effect, and as gone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from faults.errors import InjectionFailed
from faults.plan import Fault
from suites.unit.faults.conftest import SECOND, World

Make = Callable[..., Fault]
CLIENTS = "link(clients, master(broker-a), broker)"
REPLICATION = "link(master(broker-a), slave(broker-a), ha)"


def lived(world: World, fault: Fault) -> dict[str, int]:
    """Its whole life; the last answer of each probe."""
    injector = world.injector(fault)
    world.drive(injector)
    injector.heal_all()
    return {step: effective for _, step, _, effective, _ in world.events if step in ("probe", "heal_probe")}


def test_a_slow_link_answers_late_and_then_in_time(world: World, fault: Make) -> None:
    assert lived(world, fault("slow_link", CLIENTS, hold="2s", delay="150ms")) == {"probe": 1, "heal_probe": 1}
    detail = world.detail("f1", "probe")
    assert detail["least_ms"] == 300
    assert set(detail["now_ms"].values()) == {303}
    assert set(detail["before_ms"].values()) == {3}


def test_jitter_takes_from_what_is_certain(world: World, fault: Make) -> None:
    lived(world, fault("slow_link", CLIENTS, hold="2s", delay="150ms", jitter="50ms"))
    assert world.detail("f1", "probe")["least_ms"] == 200


def test_a_proxy_that_delays_nothing_has_not_taken_effect(world: World, fault: Make) -> None:
    """The planted bug of an injector: it says that it did, and nothing is late."""
    world.broken["shape_links"] = None
    assert lived(world, fault("slow_link", CLIENTS, hold="2s"))["probe"] == 0


def test_a_link_that_was_as_slow_before_proves_nothing(world: World, fault: Make) -> None:
    world.answer_ms = 900
    assert lived(world, fault("slow_link", CLIENTS, hold="2s", delay="100ms"))["probe"] == -1


def test_a_dead_server_cannot_tell(world: World, fault: Make) -> None:
    world.states["broker-a-0"] = "dead"
    assert lived(world, fault("slow_link", CLIENTS, hold="2s"))["probe"] == -1


@pytest.mark.parametrize(("connections", "answer"), [(2, 1), (0, -1)])
def test_replication_is_slow_if_it_goes_through_the_proxy(
    world: World, fault: Make, connections: int, answer: int
) -> None:
    world.proxied_connections = connections
    assert lived(world, fault("slow_link", REPLICATION, hold="2s"))["probe"] == answer


def test_replication_without_a_proxy_is_not_slow(world: World, fault: Make) -> None:
    world.broken["shape_links"] = None
    assert lived(world, fault("slow_link", REPLICATION, hold="2s"))["probe"] == 0


def test_a_delay_that_stays_is_seen(world: World, fault: Make) -> None:
    world.broken["unshape_links"] = None
    assert lived(world, fault("slow_link", CLIENTS, hold="2s"))["heal_probe"] == 0


@pytest.mark.parametrize(("frames", "answer"), [((9, 1), 1), ((9, 0), -1), ((0, 0), -1)])
def test_frames_are_dropped_once_one_was(world: World, fault: Make, frames: tuple[int, int], answer: int) -> None:
    world.frames = frames
    answers = lived(world, fault("drop_frames", CLIENTS, hold="2s", code="310", count="1"))
    assert answers == {"probe": answer, "heal_probe": 1}
    assert world.detail("f1", "probe")["fitting"] == frames[0]


def test_the_rule_is_handed_on_as_it_was_written(world: World, fault: Make) -> None:
    injector = world.injector(fault("drop_frames", CLIENTS, kind="request", code="310", skip="2", action="delay"))
    world.drive(injector, 2 * SECOND)
    (link, toxic, rule) = world.links["f1"]
    assert (link.left, link.right, link.port_class) == (("client-1", "client-2"), ("broker-a-0",), "broker")
    assert (toxic, dict(rule)) == (
        "frames",
        {"action": "delay", "kind": "request", "code": 310, "skip": 2, "count": 0, "delay": 1000},
    )


def test_a_jitter_above_the_delay_is_refused(world: World, fault: Make) -> None:
    with pytest.raises(InjectionFailed, match="a jitter above the delay"):
        lived(world, fault("slow_link", CLIENTS, delay="10ms", jitter="20ms"))
