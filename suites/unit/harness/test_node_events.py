"""Which acts of levers are told to the history, under which names, and that an act which fails is none."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from faults.levers import FAMILIES
from faults.levers.acts import acts_of
from harness.node_events import LeverEvents
from suites.unit.faults.conftest import World

NODE = "broker-a-0"

ACTS = [
    ("kill", (NODE,), "killed"),
    ("stop", (NODE, 1), "stopped"),
    ("start", (NODE,), "started"),
    ("pause", (NODE,), "paused"),
    ("resume", (NODE,), "resumed"),
    ("starve_cpu", (NODE, 5), "cpu_starved"),
    ("feed_cpu", (NODE,), "cpu_fed"),
    ("exhaust_files", (NODE, 0), "files_exhausted"),
    ("free_files", (NODE,), "files_freed"),
    ("run_out_of_memory", (NODE,), "killed"),
    ("cut_power", (NODE,), "power_cut"),
    ("wipe", (NODE,), "wiped"),
    ("copy_disk", ("broker-a-1", NODE), "copied"),
    ("remove_tables", (NODE,), "tables_removed"),
    ("fail_forces", (NODE,), "forces_fail"),
    ("delay_forces", (NODE, 200), "forces_delayed"),
    ("mend_forces", (NODE,), "forces_mended"),
    ("flip_log", (NODE, 512), "log_flipped"),
    ("change_file", (NODE, "f", 0, b"x"), "file_changed"),
    ("cut_file", (NODE, "f", -1), "file_cut"),
    ("keep_disk", (NODE,), "disk_kept"),
    ("kill_disk", (NODE,), "disk_died"),
    ("make_disk_read_only", (NODE,), "disk_read_only"),
    ("mend_disk", (NODE,), "disk_mended"),
    ("put_disk_back", (NODE,), "disk_put_back"),
    ("reconfigure", (NODE, {}), "reconfigured"),
    ("fill_disk", (NODE, 1), "disk_filled"),
    ("empty_disk", (NODE,), "disk_emptied"),
    ("step_clock", (NODE, 1000), "clock_stepped"),
]


@pytest.mark.parametrize(("lever", "arguments", "event"), ACTS, ids=[event for _, _, event in ACTS])
def test_an_act_is_one_event_of_its_name_and_one_that_raises_is_none(
    lever: str, arguments: tuple[object, ...], event: str
) -> None:
    world = World()
    levers = LeverEvents(world.levers, clock())
    getattr(levers.levers, lever)(*arguments)
    assert [(node, name) for node, name, _ in levers.take_events()] == [(NODE, event)]
    world.broken[lever] = RuntimeError("planted")
    with pytest.raises(RuntimeError, match="planted"):
        getattr(levers.levers, lever)(*arguments)
    assert levers.take_events() == []


def clock() -> Callable[[], int]:
    """One more with every look."""
    return count(1).__next__


def test_a_start_is_told_with_its_beginning_and_an_end_with_its_end() -> None:
    levers = LeverEvents(World(), clock())
    levers.levers.start(NODE)
    levers.levers.kill(NODE)
    assert levers.take_events() == [(NODE, "started", 1), (NODE, "killed", 3)]


def test_every_act_of_a_node_in_every_family_is_in_this_table() -> None:
    marked = {name: act.event for family in FAMILIES.values() for name, act in acts_of(family).items() if act.event}
    assert marked == {lever: event for lever, _, event in ACTS}


def test_looking_is_no_act_and_a_log_that_was_not_reached_was_not_flipped() -> None:
    events = LeverEvents(World(), clock())
    levers = events.levers
    looks = (
        levers.state,
        levers.properties,
        levers.disk_space,
        levers.clock_ahead,
        levers.disk_files,
        levers.write_error,
    )
    for look in (*looks, levers.power_cut_lost, levers.forces_hit, levers.count_forces_hit):
        look(NODE)
    assert levers.flip_log(NODE, 1 << 30) == -1
    assert events.take_events() == []


def test_starts_are_kept_beside_the_events() -> None:
    levers = LeverEvents(World(), clock())
    levers.levers.start(NODE)
    levers.levers.start("broker-b-0")
    assert levers.take_started() == [NODE, "broker-b-0"]
    assert levers.take_started() == []
