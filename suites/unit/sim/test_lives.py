"""Lives of nodes: steps, timers, pauses, crashes, ends; nothing of a former life reaches the next."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import pytest

from faults.levers import LeverRefused
from harness.errors import ClusterError, FaultError
from reference_impl.environment import MS, SECOND, Environment
from suites.unit.sim.toys import Pair, Recorder, seconds


def write_and_sync(token: Hashable) -> Callable[[Environment], None]:
    """A step that makes a file and wants it durable."""

    def action(env: Environment) -> None:
        env.write("f", 0, b"x")
        env.sync("f", token)

    return action


def test_a_timer_is_replaced_cancelled_and_due_once() -> None:
    pair = Pair()
    before = pair.world.now()

    def set_timers(env: Environment) -> None:
        env.set_timer("replaced", 10 * MS)
        env.set_timer("replaced", 30 * MS)
        env.set_timer("cancelled", 20 * MS)
        env.set_timer(("tuple", 1), 0)
        env.cancel_timer("cancelled")
        env.cancel_timer("never set")

    pair.server_does(set_timers)
    pair.run(SECOND)
    timers = [(ns - before, key) for ns, what, key in pair.server.seen if what == "timer"]
    assert timers == [(0, ("tuple", 1)), (30 * MS, "replaced")]


def test_a_fast_clock_fires_early() -> None:
    pair = Pair()
    pair.levers.drift_clock("broker-a-0", 250_000_000)
    before = pair.world.now()
    pair.server_does(lambda env: env.set_timer("t", 5 * SECOND))
    pair.run(10 * SECOND)
    assert pair.server.when("timer") - before == 4 * SECOND


def test_a_stepped_clock_moves_wall_only() -> None:
    pair, seen = Pair(), []

    def look(env: Environment) -> None:
        seen.append((env.now(), env.wall()))

    pair.server_does(look)
    pair.levers.step_clock("broker-a-0", -5000)
    pair.server_does(look)
    assert seen[1][0] == seen[0][0]
    assert seen[1][1] == seen[0][1] - 5000


def test_modification_times_are_the_wall_clocks_of_their_moment() -> None:
    pair, seen = Pair(), []

    def write(env: Environment) -> None:
        env.write("f", 0, b"x")
        seen.append(env.wall())

    pair.server_does(write)
    pair.run(SECOND)
    pair.levers.step_clock("broker-a-0", 3_600_000)
    pair.server_does(lambda env: seen.append(env.modified("f")))
    assert seen[0] == seen[1]


# -- pause ------------------------------------------------------------------------------------------------------------


def test_a_paused_role_hears_nothing_and_then_everything_in_order() -> None:
    pair = Pair()
    pair.server_does(lambda env: env.set_timer("t", 2 * SECOND))
    pair.server_does(write_and_sync("s"))
    pair.levers.pause("broker-a-0")
    assert pair.levers.state("broker-a-0") == "paused"
    count = len(pair.server.seen)
    pair.run(SECOND)
    pair.send(b"a")
    pair.run(10 * SECOND)
    pair.send(b"b")
    pair.connect()
    pair.run(10 * SECOND)
    assert len(pair.server.seen) == count
    assert pair.client.what()[-1][0] == "connected", "the kernel of a paused process accepts"
    pair.levers.resume("broker-a-0")
    assert pair.server.what()[count:] == [
        ("synced", ("f", "s")), ("bytes", b"a"), ("timer", "t"), ("bytes", b"b"), ("connected", 2),
    ]  # fmt: skip


def test_clocks_go_on_while_paused() -> None:
    pair, seen = Pair(), []
    pair.server_does(lambda env: seen.append(env.now()))
    pair.levers.pause("broker-a-0")
    pair.run(10 * SECOND)
    pair.levers.resume("broker-a-0")
    pair.server_does(lambda env: seen.append(env.now()))
    assert seen[1] - seen[0] == 10 * SECOND


def test_a_paused_process_can_be_killed_and_what_it_had_not_read_is_gone() -> None:
    pair = Pair()
    pair.levers.pause("broker-a-0")
    pair.send(b"unread")
    pair.run(SECOND)
    pair.levers.kill("broker-a-0")
    pair.levers.resume("broker-a-0")
    pair.run(SECOND)
    assert pair.server.received() == b""
    assert pair.client.what()[-1] == ("closed", pair.link)


def test_a_paused_client_does_later_what_it_is_asked() -> None:
    pair = Pair()
    pair.levers.pause("client-1")
    pair.send(b"x")
    pair.run(SECOND)
    assert pair.server.received() == b""
    pair.levers.resume("client-1")
    pair.run(SECOND)
    assert pair.server.received() == b"x"


# -- ends -------------------------------------------------------------------------------------------------------------


def crashing(where: str) -> Pair:
    pair = Pair()
    pair.server.fail_on = where
    return pair


@pytest.mark.parametrize("where", ["bytes", "timer", "synced", "closed", "connected"])
def test_whatever_a_role_raises_ends_its_node_and_is_told(where: str) -> None:
    pair = crashing(where)
    pair.server_does(lambda env: env.set_timer("t", SECOND))
    pair.server_does(write_and_sync(0))
    if where == "closed":
        pair.client_does(lambda env: env.close(pair.link))
    elif where == "connected":
        pair.connect()
    elif where == "bytes":
        pair.send(b"x")
    pair.run(5 * SECOND)
    assert pair.levers.state("broker-a-0") == "dead"
    node, _, fields = next(row for row in pair.events if row[1] == "crashed")
    assert (node, fields["error"]) == ("broker-a-0", f"ValueError: told to fail on {where}")
    assert "toys.py:" in fields["traceback"]
    assert " /" not in f" {fields['traceback']}", "a traceback names no folder of this machine"
    if where != "closed":
        assert pair.client.what()[-1][0] == "closed"


def test_a_step_that_fails_sends_nothing_but_its_writes_stay() -> None:
    pair = Pair()

    def fail(env: Environment) -> None:
        env.write("f", 0, b"kept")
        env.send(1, b"never sent")
        raise RuntimeError("half way")

    pair.server_does(fail)
    pair.run(SECOND)
    assert pair.client.received() == b""
    assert pair.world.node("broker-a-0").disk.read("f", 0, 9) == b"kept"


def test_nothing_of_a_former_life_reaches_the_next() -> None:
    pair = Pair()
    pair.server_does(lambda env: env.set_timer("old", 200 * MS))
    pair.server_does(write_and_sync("old"))
    pair.levers.kill("broker-a-0")
    pair.levers.start("broker-a-0")
    pair.run(5 * SECOND)
    assert len(pair.target.made["broker-a-0"]) == 2
    assert pair.server.what() == [("start", None)]


def test_a_kill_keeps_the_page_cache() -> None:
    pair, seen = Pair(), []
    pair.server_does(lambda env: env.write("f", 0, b"unsynced"))
    pair.levers.kill("broker-a-0")
    pair.levers.start("broker-a-0")
    pair.run(SECOND)
    pair.server_does(lambda env: seen.append(env.read("f", 0, 99)))
    assert seen == [b"unsynced"]


def test_every_life_draws_from_a_generator_of_its_own() -> None:
    def draws(extra: int) -> list[float]:
        pair, drawn = Pair(), []
        pair.server_does(lambda env: [env.rng.random() for _ in range(extra)] and None)
        pair.levers.kill("broker-a-0")
        pair.levers.start("broker-a-0")
        pair.run(SECOND)
        pair.server_does(lambda env: drawn.append(env.rng.random()))
        return drawn

    assert draws(0) == draws(5)


def test_stop_waits_for_the_role_and_tells_the_code() -> None:
    pair = Pair()
    pair.server.stops = False
    pair.server_does(lambda env: env.set_timer("t", 2 * SECOND))

    def end(env: Environment, key: Hashable) -> None:
        env.send(1, b"goodbye")
        env.exit(3)

    pair.server.on_timer = end  # type: ignore[method-assign]
    before = pair.world.now()
    pair.levers.stop("broker-a-0", 10 * SECOND)
    assert pair.world.now() - before == 2 * SECOND
    assert pair.levers.state("broker-a-0") == "dead"
    assert pair.events[-1] == ("broker-a-0", "exited", {"code": 3})
    pair.levers.stop("broker-a-0", SECOND)
    pair.run(SECOND)
    assert pair.client.received() == b"goodbye"


@pytest.mark.parametrize("paused", [True, False])
def test_stop_is_bounded(paused: bool) -> None:
    pair = Pair()
    pair.server.stops = False
    if paused:
        pair.levers.pause("broker-a-0")
    with pytest.raises(TimeoutError, match="broker-a-0 did not end within 2 s"):
        pair.levers.stop("broker-a-0", 2 * SECOND)


def test_a_process_stopped_before_it_came_up_just_ends() -> None:
    pair = Pair()
    pair.levers.kill("broker-a-0")
    pair.levers.start("broker-a-0")
    pair.levers.stop("broker-a-0", SECOND)
    pair.run(SECOND)
    assert pair.server.what() == []
    assert pair.events[-1] == ("broker-a-0", "exited", {"code": 143})


def test_starting_takes_a_moment_and_twice_is_once() -> None:
    pair = Pair()
    pair.levers.kill("broker-a-0")
    before = pair.world.now()
    pair.levers.start("broker-a-0")
    pair.levers.start("broker-a-0")
    assert (pair.levers.state("broker-a-0"), len(pair.target.made["broker-a-0"])) == ("running", 2)
    pair.run(SECOND)
    assert 20 * MS <= pair.server.when("start") - before <= 50 * MS


def test_a_dead_node_cannot_be_paused() -> None:
    pair = Pair()
    pair.levers.kill("broker-a-0")
    with pytest.raises(FaultError, match="not running"):
        pair.levers.pause("broker-a-0")


def test_a_client_of_which_the_next_life_is_known_dies_and_begins_again() -> None:
    pair = Pair()
    lives = [Recorder([pair.world]), Recorder([pair.world])]
    pair.world.add_client("client-2", lives[0], lambda: lives[1])
    pair.world.step("client-2", lambda env: env.set_timer("of the first life", SECOND))
    pair.levers.kill("client-2")
    assert pair.levers.state("client-2") == "dead"
    pair.run(2 * SECOND)
    pair.levers.start("client-2")
    pair.run(SECOND)
    assert pair.levers.state("client-2") == "running"
    for life in lives:
        assert [what for what, _ in life.what()] == ["start"], "the first one's timer is gone"


@pytest.mark.parametrize("verb", ["kill", "start", "cut_power", "stop"])
def test_a_client_is_not_a_process_of_its_own(verb: str) -> None:
    pair = Pair()
    arguments: tuple[Any, ...] = ("client-1", SECOND) if verb == "stop" else ("client-1",)
    with pytest.raises(LeverRefused, match="client lives in the harness"):
        getattr(pair.levers, verb)(*arguments)


def test_unknown_nodes_are_told_with_the_known() -> None:
    pair = Pair()
    with pytest.raises(ClusterError, match="no node 'broker-b-0'") as raised:
        pair.levers.kill("broker-b-0")
    assert "broker-a-0, client-1" in str(raised.value)


def test_a_crashed_client_is_told_when_asked_for_more() -> None:
    pair = Pair()
    pair.client_does(lambda env: env.listen("nonsense"))
    with pytest.raises(ClusterError, match="client-1 is not running"):
        pair.send(b"x")


# -- death in the middle of a step ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("power_cut", "left"), [(False, [b"1", b"2"]), (True, [])])
def test_a_process_can_die_between_two_writes_of_one_step(power_cut: bool, left: list[bytes]) -> None:
    pair = Pair(seed=3)

    def three_writes(env: Environment) -> None:
        for number in (1, 2, 3):
            env.write(f"f{number}", 0, b"%d" % number)
        env.send(1, b"all written")

    pair.levers.die_in_step("broker-a-0", 3, power_cut=power_cut)
    pair.server_does(three_writes)
    pair.run(5 * SECOND)
    disk = pair.world.node("broker-a-0").disk
    assert pair.levers.state("broker-a-0") == "dead"
    assert pair.client.received() == b""
    assert [disk.read(file, 0, 9) for file in disk.files("")][: len(left)] == left
    assert "f3" not in disk.files("")
    assert ("broker-a-0", "died_in_step") in [row[:2] for row in pair.events]


def test_a_role_cannot_survive_its_death_by_catching_everything() -> None:
    pair = Pair()

    def stubborn(env: Environment) -> None:
        try:
            env.write("f", 0, b"x")
        except Exception:  # noqa: BLE001 - this is what the test is about
            env.note("survived")

    pair.levers.die_in_step("broker-a-0", 1)
    pair.server_does(stubborn)
    assert pair.levers.state("broker-a-0") == "dead"
    assert "survived" not in [row[1] for row in pair.events]


def test_recorders_fail_where_told() -> None:
    recorder = Recorder([Pair().world])
    recorder.fail_on = "timer"
    with pytest.raises(ValueError, match="told to fail"):
        recorder.on_timer(None, "t")  # type: ignore[arg-type]
    assert seconds(0.5) == SECOND // 2
