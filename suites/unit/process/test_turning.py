"""The loop turns while somebody asks, and what goes wrong in it comes out of the call that turned it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from harness.backends.process.turning import POLL_NS, TurningLoop

MS = 1_000_000


class Clock:
    """Counts the polls."""

    def __init__(self) -> None:
        self.polls = 0

    def poll(self) -> None:
        self.polls += 1


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def turning(clock: Clock) -> Iterator[TurningLoop]:
    made = TurningLoop(clock.poll)
    yield made
    made.close()


def soon(ns: int = 60_000 * MS) -> int:
    return time.monotonic_ns() + ns


def test_a_condition_that_holds_already_needs_no_turn(turning: TurningLoop) -> None:
    assert turning.run_until(lambda: True, 0)


def test_a_deadline_that_has_passed_is_no(turning: TurningLoop) -> None:
    assert not turning.run_until(lambda: False, time.monotonic_ns())


def test_the_deadline_is_kept(turning: TurningLoop) -> None:
    deadline = soon(30 * MS)
    assert not turning.run_until(lambda: False, deadline)
    assert 0 <= time.monotonic_ns() - deadline < 60_000 * MS


def test_what_was_asked_for_later_happens_only_while_it_turns(turning: TurningLoop) -> None:
    done: list[str] = []
    turning.after(1 * MS, lambda: done.append("late"))
    turning.after(0, lambda: done.append("at once"))
    assert done == []
    assert turning.run_until(lambda: len(done) == 2, soon())
    assert done == ["at once", "late"]


def test_an_act_goes_on_in_a_thread_while_the_loop_turns(turning: TurningLoop) -> None:
    turned = threading.Event()
    turning.after(1 * MS, turned.set)
    assert turning.perform(lambda: turned.wait(60)), "the act waits for something that only the loop does"


def test_the_exception_of_an_act_is_the_callers(turning: TurningLoop) -> None:
    def act() -> None:
        raise TimeoutError("too long")

    with pytest.raises(TimeoutError, match="too long"):
        turning.perform(act)


def test_the_exception_of_a_callback_ends_the_wait_and_is_raised_once(turning: TurningLoop) -> None:
    def fail() -> None:
        raise ValueError("planted")

    turning.after(1 * MS, fail)
    with pytest.raises(ValueError, match="planted"):
        turning.run_until(lambda: False, soon())
    assert turning.run_until(lambda: True, soon())


def test_polls_keep_their_pace_however_often_something_changes(turning: TurningLoop, clock: Clock) -> None:
    turns = 0

    def again() -> None:
        nonlocal turns
        turns += 1
        turning.after(0, again)

    again()
    turning.run_until(lambda: False, soon(3 * POLL_NS))
    assert clock.polls <= 4
    assert turns > 10 * clock.polls
