"""A process that lacks processor time, files or memory: what proves it, what proves that it is over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from faults.catalogue.resources import CLOSED_MEANWHILE, how_many, share
from faults.errors import UndoFailed
from faults.plan import Fault, bind_fault
from suites.unit.faults.conftest import World

NODE = "broker-a-0"


def life(world: World, fault: Fault) -> list[tuple[Any, ...]]:
    """(step, effective) of the probes of the whole life of *fault*."""
    injector = world.injector(fault)
    world.drive(injector)
    injector.heal_all()
    return [row for row in world.told(1, 3) if row[0].endswith("probe")]


@pytest.mark.parametrize("do", ["starve_cpu", "exhaust_files", "out_of_memory"])
def test_it_takes_effect_and_is_gone(world: World, do: str) -> None:
    assert life(world, bind_fault(1, at="1s", do=do, on=NODE, hold="2s")) == [("probe", 1), ("heal_probe", 1)]
    assert (world.cpu_share(NODE), world.files_left(NODE), world.states[NODE]) == (100, 1000, "running")


@pytest.mark.parametrize(
    ("do", "lever"),
    [("starve_cpu", "starve_cpu"), ("exhaust_files", "exhaust_files"), ("out_of_memory", "run_out_of_memory")],
)
def test_an_injector_that_does_nothing_is_seen(world: World, do: str, lever: str) -> None:
    world.broken[lever] = None
    assert life(world, bind_fault(1, at="1s", do=do, on=NODE, hold="2s"))[0] == ("probe", 0)


def _never_held_up(world: World) -> None:
    world.held_up = 0


def _closes_much(world: World) -> None:
    world.closed_meanwhile = CLOSED_MEANWHILE + 1


def _dies_of_something_else(world: World) -> None:
    world.broken["run_out_of_memory"] = None
    world.on_call = lambda lever: world.kill(NODE) if lever == "run_out_of_memory" else None


@pytest.mark.parametrize(
    ("do", "weaken"),
    [
        pytest.param("starve_cpu", _never_held_up, id="a-share-that-is-never-used-up"),
        pytest.param("exhaust_files", _closes_much, id="files-that-came-free-again"),
        pytest.param("out_of_memory", _dies_of_something_else, id="a-death-that-the-kernel-does-not-count"),
    ],
)
def test_what_did_not_bite_is_no_fault(world: World, do: str, weaken: Callable[[World], None]) -> None:
    weaken(world)
    assert life(world, bind_fault(1, at="1s", do=do, on=NODE, hold="2s"))[0] == ("probe", 0)


@pytest.mark.parametrize(("do", "lever"), [("starve_cpu", "feed_cpu"), ("exhaust_files", "free_files")])
def test_an_undo_that_does_nothing_is_an_error(world: World, do: str, lever: str) -> None:
    world.broken[lever] = None
    with pytest.raises(UndoFailed, match="still in force"):
        life(world, bind_fault(1, at="1s", do=do, on=NODE, hold="2s"))


@pytest.mark.parametrize("do", ["starve_cpu", "exhaust_files"])
def test_two_that_overlap_end_with_the_last(world: World, do: str) -> None:
    first = bind_fault(1, at="1s", do=do, on=NODE, hold="4s")
    second = bind_fault(2, at="2s", do=do, on=NODE, hold="6s")
    injector = world.injector(first, second)
    world.drive(injector, until_ns=5 * 10**9)
    assert world.cpu_share(NODE) < 100 or world.files_left(NODE) == 0
    injector.heal_all()
    assert (world.cpu_share(NODE), world.files_left(NODE)) == (100, 1000)


def test_a_node_that_was_killed_meanwhile_lacks_nothing(world: World) -> None:
    injector = world.injector(
        bind_fault(1, at="1s", do="exhaust_files", on=NODE, hold="3s"),
        bind_fault(2, at="2s", do="kill", on=NODE, hold="9s"),
    )
    world.drive(injector, until_ns=5 * 10**9)
    assert ("f1", "heal_probe", NODE, 1) in world.told(0, 1, 2, 3)


@pytest.mark.parametrize("text", ["0%", "100%", "5", "-1%", "much"])
def test_a_share_is_from_1_to_99_percent(text: str) -> None:
    with pytest.raises(ValueError, match=r"share of a disk|nothing at all|no share"):
        share(text)


@pytest.mark.parametrize("text", ["-1", "1.5", "none", ""])
def test_files_left_are_a_number(text: str) -> None:
    with pytest.raises(ValueError, match="no number of files"):
        how_many(text)
