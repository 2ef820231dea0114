"""A simulated node that lacks processor time, files or memory."""

from __future__ import annotations

import pytest

from faults.levers import LeverRefused
from harness.backends.sim.levers import FILES_MAX
from harness.backends.sim.sparse import Sparse
from reference_impl.environment import MS, SECOND, Environment
from suites.unit.sim.toys import Pair, Recorder

NODE = "broker-a-0"


def delays_of_timers(pair: Pair, *due_ms: int) -> list[int]:
    """How late each timer of the server is, in milliseconds."""
    begin = pair.world.now()

    def set_timers(env: Environment) -> None:
        for ms in due_ms:
            env.set_timer(ms, ms * MS)

    pair.server_does(set_timers)
    pair.run(SECOND)
    return [(ns - begin) // MS - key for ns, what, key in pair.server.seen if what == "timer"]


def test_a_starved_life_runs_in_its_share_of_each_period_only() -> None:
    pair = Pair()
    pair.levers.starve_cpu(NODE, 20)
    pair.run(81 * MS)  # 80 ms of standing still, then 20 of running, over and over
    assert delays_of_timers(pair, 5, 30, 98, 110, 250) == [0, 69, 1, 0, 49]
    assert (pair.levers.cpu_share(NODE), pair.levers.state(NODE)) == (20, "running")
    assert pair.levers.cpu_held_up(NODE) > 0


def test_it_is_held_up_only_where_something_waits() -> None:
    pair = Pair()
    pair.levers.starve_cpu(NODE, 5)
    pair.run(SECOND)
    assert pair.levers.cpu_held_up(NODE) == 0


@pytest.mark.parametrize("end", ["feed", "kill"])
def test_it_is_over_when_it_is_fed_and_when_it_ends(end: str) -> None:
    pair = Pair()
    pair.levers.starve_cpu(NODE, 5)
    if end == "feed":
        pair.levers.feed_cpu(NODE)
    else:
        pair.levers.kill(NODE)
        pair.levers.start(NODE)
        pair.run(SECOND)
    assert pair.levers.cpu_share(NODE) == 100
    assert delays_of_timers(pair, 5, 30, 98) == [0, 0, 0]


def test_one_that_is_paused_meanwhile_goes_on_when_both_are_over() -> None:
    pair = Pair()
    pair.levers.starve_cpu(NODE, 20)
    pair.levers.pause(NODE)
    pair.run(SECOND)
    assert pair.levers.state(NODE) == "paused"
    pair.server_does(lambda env: env.set_timer("late", 0))
    pair.levers.feed_cpu(NODE)
    pair.run(SECOND)
    assert not [what for _, what, _ in pair.server.seen if what == "timer"]
    pair.levers.resume(NODE)
    pair.run(SECOND)
    assert [what for _, what, _ in pair.server.seen if what == "timer"]


def test_without_files_old_connections_go_on_new_ones_and_new_files_do_not_come() -> None:
    pair = Pair()
    pair.connect()
    pair.server_does(lambda env: env.write("old", 0, b"x"))
    pair.levers.exhaust_files(NODE, 0)
    assert pair.levers.files_left(NODE) == 0
    pair.server_does(lambda env: env.write("old", 1, b"y"))
    assert pair.levers.reaches("client-1", NODE, "any")
    assert not pair.levers.connects("client-1", NODE, "any")
    pair.server_does(lambda env: env.create("new", 10))
    assert "Too many open files" in pair.events[-1][2]["error"]
    pair.levers.start(NODE)
    pair.run(SECOND)
    assert pair.levers.files_left(NODE) == FILES_MAX, "the limit was that of the process"
    assert pair.levers.connects("client-1", NODE, "any")


@pytest.mark.parametrize("end", ["kill", "cut_power", "run_out_of_memory"])
def test_the_lack_of_files_ends_with_the_process_and_keeps_nobody_from_its_disk(end: str) -> None:
    """An operator who copies a disk to the node has descriptors of their own."""
    pair = Pair()
    pair.levers.exhaust_files(NODE, 0)
    getattr(pair.levers, end)(NODE)
    assert pair.levers.files_left(NODE) == FILES_MAX
    pair.world.node(NODE).disk.become({"copied": Sparse()})
    assert pair.world.node(NODE).disk.files("") == ["copied"]


def test_the_simulator_counts_no_files() -> None:
    with pytest.raises(LeverRefused, match="counts no descriptors"):
        Pair().levers.exhaust_files(NODE, 3)


def test_memory_takes_the_process_and_not_its_page_cache() -> None:
    pair = Pair()
    pair.server_does(lambda env: env.write("f", 0, b"unforced"))
    pair.levers.run_out_of_memory(NODE)
    assert (pair.levers.state(NODE), pair.levers.memory_kills(NODE)) == ("dead", 1)
    assert pair.world.node(NODE).disk.read("f", 0, 8) == b"unforced"
    assert isinstance(pair.server, Recorder)
