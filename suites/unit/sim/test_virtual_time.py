"""Seeds, heap and clocks: nothing but time and order of making decides what happens next."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.backends.sim.clock import SimClock
from harness.backends.sim.models import EPOCH_MS, Budgets, ClockModel, latency_table
from harness.backends.sim.scheduler import Scheduler
from harness.backends.sim.seeds import Seeds
from harness.errors import BudgetExceeded
from reference_impl.environment import MS, SECOND


def test_events_run_by_time_and_then_by_order_of_making() -> None:
    scheduler, ran = Scheduler(Budgets()), []
    for time_ns, name in [(20, "c"), (10, "a"), (20, "d"), (10, "b")]:
        scheduler.at(time_ns, lambda name, _: ran.append((scheduler.now, name)), name)
    assert not scheduler.run_until(lambda: False, 100)
    assert ran == [(10, "a"), (10, "b"), (20, "c"), (20, "d")]
    assert scheduler.now == 100


def test_run_until_stops_at_the_event_that_fulfils_the_condition() -> None:
    scheduler, ran = Scheduler(Budgets()), []
    for time_ns in (10, 20, 30):
        scheduler.at(time_ns, lambda time_ns, _: ran.append(time_ns), time_ns)
    assert scheduler.run_until(lambda: len(ran) == 2, 100)
    assert (ran, scheduler.now) == ([10, 20], 20)


def test_events_of_the_deadlines_instant_are_left() -> None:
    scheduler, ran = Scheduler(Budgets()), []
    scheduler.at(50, lambda a, b: ran.append(1))
    assert not scheduler.run_until(lambda: False, 50)
    assert (ran, scheduler.now) == ([], 50)
    scheduler.run_until(lambda: False, 51)
    assert ran == [1]


def test_an_event_may_let_time_run_itself() -> None:
    scheduler, ran = Scheduler(Budgets()), []
    scheduler.at(10, lambda a, b: ran.append(scheduler.run_until(lambda: len(ran) > 0, 25)))
    scheduler.at(20, lambda a, b: ran.append("inner"))
    scheduler.at(30, lambda a, b: ran.append("outer"))
    scheduler.run_until(lambda: False, 100)
    assert ran == ["inner", True, "outer"]


def test_too_many_events_exceed_the_budget() -> None:
    scheduler = Scheduler(Budgets(events=100))

    def again(a: None, b: None) -> None:
        scheduler.at(scheduler.now, again)

    again(None, None)
    with pytest.raises(BudgetExceeded, match="more than 100 events"):
        scheduler.run_until(lambda: False, SECOND)


def test_too_much_virtual_time_exceeds_the_budget() -> None:
    scheduler = Scheduler(Budgets(virtual_ns=SECOND))
    assert not scheduler.run_until(lambda: False, SECOND)
    with pytest.raises(BudgetExceeded, match="simulated seconds"):
        scheduler.run_until(lambda: False, SECOND + 1)


def test_a_draw_in_one_child_moves_no_other() -> None:
    one, other = Seeds(7), Seeds(7)
    one.child("net").random()
    assert one.child("disk/a").random() == other.child("disk/a").random()
    assert one.child("disk/a").random() != one.child("disk/b").random()


def test_children_are_the_same_whatever_the_order_of_making() -> None:
    one, other = Seeds(7), Seeds(7)
    drawn = {name: one.child(name).getrandbits(64) for name in ("a", "b", "c")}
    assert drawn == {name: other.child(name).getrandbits(64) for name in ("c", "a", "b")}


def test_seeds_are_told_apart() -> None:
    assert Seeds(1).child("net").random() != Seeds(2).child("net").random()


@pytest.mark.parametrize("child", ["net", "disk/a", "new"])
def test_the_unseed_tells_of_a_single_draw_anywhere(child: str) -> None:
    def final_draw(extra: bool) -> int:
        seeds = Seeds(7)
        seeds.child("net"), seeds.child("disk/a")
        if extra:
            seeds.child(child).getrandbits(1)
        return seeds.final_draw()

    assert final_draw(False) == final_draw(False)
    assert final_draw(True) != final_draw(False)


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_latencies_are_ascending_whole_and_long_tailed(minimum: int, spread: int) -> None:
    table = latency_table(minimum, spread)
    assert table == sorted(table)
    assert table[0] == minimum
    assert all(type(latency) is int for latency in table)
    assert table[-1] - minimum >= 50 * (table[512] - minimum)


def clock(error_ms: int = 0) -> SimClock:
    return SimClock(ClockModel(wall_error_max_ms=error_ms, uptime_max_ns=1), Random(1))


def test_wall_starts_at_the_epoch_and_follows_time() -> None:
    assert clock().wall(0) == EPOCH_MS
    assert clock().wall(1500 * MS) == EPOCH_MS + 1500


def test_clocks_of_nodes_differ_within_the_error() -> None:
    errors = {SimClock(ClockModel(), Random(seed)).wall(0) - EPOCH_MS for seed in range(50)}
    assert min(errors) < 0 < max(errors)
    assert all(abs(error) <= ClockModel().wall_error_max_ms for error in errors)


def test_a_step_moves_the_wall_clock_alone_and_not_the_past() -> None:
    one = clock()
    before = one.monotonic(SECOND)
    one.step(SECOND, -3_600_000)
    assert one.wall(SECOND) == EPOCH_MS + 1000 - 3_600_000
    assert one.wall(SECOND // 2) == EPOCH_MS + 500
    assert one.monotonic(SECOND) == before


def test_drift_bends_both_clocks_and_timers_and_healing_keeps_the_error() -> None:
    one = clock()
    start = one.monotonic(0)
    one.drift(SECOND, 100_000_000)
    assert one.monotonic(11 * SECOND) - start == 12 * SECOND
    assert one.wall(11 * SECOND) == EPOCH_MS + 12_000
    assert one.true_delay(11 * SECOND) == 10 * SECOND
    one.drift(11 * SECOND, 0)
    assert one.monotonic(12 * SECOND) - start == 13 * SECOND
    assert one.wall(12 * SECOND) == EPOCH_MS + 13_000
    assert one.is_steady
    assert one.offset == one.monotonic(12 * SECOND) - 12 * SECOND


def test_a_clock_cannot_run_backwards() -> None:
    with pytest.raises(ValueError, match="stand still"):
        clock().drift(0, -1_000_000_000)


@given(st.lists(st.tuples(st.integers(1, 10**10), st.integers(-(10**8), 10**9)), max_size=8))
def test_monotonic_time_never_goes_back_whatever_drifts(changes: list[tuple[int, int]]) -> None:
    one, now, last = clock(), 0, -1
    for elapsed, ppb in changes:
        now += elapsed
        assert one.monotonic(now) >= last
        last = one.monotonic(now)
        one.drift(now, ppb)
        assert one.monotonic(now) == last
