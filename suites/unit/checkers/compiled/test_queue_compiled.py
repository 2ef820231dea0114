"""The compiled pass over a queue says nothing but "legal", and only where the numpy path and exhaustion say so, too.

Where numba is not installed the same loops run as plain Python, over fewer histories.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from random import Random

import numpy as np
import pytest

from checkers.compiled.queue import LARGE, is_plainly_legal, is_worth_it, on_events
from checkers.history.columns import NEVER, Ints
from checkers.logs.columns import UNKNOWN
from checkers.objects.queue import QueueInput, check_queue
from suites.unit.checkers import draw_queue
from suites.unit.checkers.differential import compare
from suites.unit.checkers.synthetic import queue_history

FEW, MANY = 400, 10_000


def test_small_inputs_never_load_it() -> None:
    assert not is_worth_it(queue_history(1_000))


def test_without_numba_it_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checkers.compiled.queue.has_numba", lambda: False)
    monkeypatch.setattr("checkers.compiled.queue.LARGE", 0)
    assert not is_worth_it(queue_history(1_000))


def legal_by_both(ordered: bool, histories: int) -> None:
    said = legal = 0
    for seed in range(histories):
        queue = draw_queue.queue_input(draw_queue.draw(Random(seed), ordered))
        is_legal = check_queue(queue, ordered=ordered).holds is True
        legal += is_legal
        is_said = is_plainly_legal(queue, ordered)
        assert is_plainly_legal(on_events(queue), ordered) is is_said, seed
        said += is_said
        assert is_legal or not is_said, seed
    assert said > legal * 2 // 3 > histories // 3


@pytest.mark.parametrize("ordered", [True, False], ids=["fifo", "bag"])
def test_on_small_histories(ordered: bool) -> None:
    legal_by_both(ordered, FEW)


@pytest.mark.parametrize("ordered", [True, False], ids=["fifo", "bag"])
def test_on_thousands_of_small_histories(ordered: bool) -> None:
    pytest.importorskip("numba")
    legal_by_both(ordered, MANY)


@pytest.mark.parametrize("name", ["fifo", "bag"])
def test_beside_exhaustion(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checkers.objects.queue.is_worth_it", lambda queue: True)
    counts, wrong = compare(name, range(10**6, 10**6 + (FEW if find_spec("numba") is None else MANY // 2)))
    assert not wrong, f"seed {wrong[0][0]}: {wrong[0][1]}"
    assert counts["illegal"] > counts["legal"] // 10


def moved(column: Ints, row: int, stamp: int) -> Ints:
    column = column.copy()
    column[row] = stamp
    return column


def out_of_order(queue: QueueInput, row: int, distance: int) -> QueueInput:
    """A value is only taken after the next but some that was put in later had been."""
    late = int(np.flatnonzero(queue.e_invoke > queue.e_ret[row])[0])
    begin = int(queue.d_ret[late]) + distance
    return replace(
        queue,
        d_invoke=moved(queue.d_invoke, row, begin),
        d_ret=moved(queue.d_ret, row, max(begin, int(queue.d_ret[row]))),
    )


def said_empty(queue: QueueInput, row: int, distance: int) -> QueueInput:
    """An "empty" that lies within the time of a value that was there all the while."""
    held = np.flatnonzero(queue.d_invoke - queue.e_ret[: len(queue.d_value)] > 4)
    at = int(queue.e_ret[held[len(held) // 2]]) + (1 if distance else 0)
    end = int(queue.d_invoke[held[len(held) // 2]]) - 1
    return replace(
        queue, n_invoke=np.append(queue.n_invoke, at), n_ret=np.append(queue.n_ret, end), n_op=np.append(queue.n_op, -1)
    )


@pytest.mark.parametrize("plant", [out_of_order, said_empty])
def test_a_violation_at_the_distance_of_one_event_is_left_to_the_other_path(plant: object) -> None:
    valid = on_events(queue_history(4_000))
    doubled = replace(valid, **{name: _doubled(getattr(valid, name)) for name in _STAMPS})
    assert is_plainly_legal(doubled, True)
    for distance in (0, 1):
        queue = plant(doubled, 1_000, distance)  # type: ignore[operator]
        assert is_plainly_legal(queue, True) is (check_queue(queue).holds is True)
    assert check_queue(queue).holds is False


_STAMPS = ("e_invoke", "e_ret", "d_invoke", "d_ret", "n_invoke", "n_ret")


def _doubled(column: Ints) -> Ints:
    """Room for a stamp between any two."""
    return np.where(column < NEVER, column * 2, NEVER)


@pytest.mark.parametrize("ties", [False, True])
def test_stamps_far_apart_are_numbered(ties: bool) -> None:
    queue = queue_history(4_000, unknown=0.05, ties=ties)
    sparse = replace(queue, **{name: np.where((c := getattr(queue, name)) < NEVER, c * 10**6, c) for name in _STAMPS})
    assert is_plainly_legal(sparse, True)
    assert not is_plainly_legal(out_of_order(sparse, 1_000, 1), True)
    assert check_queue(out_of_order(sparse, 1_000, 1)).holds is False


def test_what_is_not_simple_is_left_to_the_other_path() -> None:
    queue = on_events(queue_history(4_000, unknown=0.05))
    assert is_plainly_legal(queue, True)
    assert not is_plainly_legal(replace(queue, e_value=moved(queue.e_value, 0, -1)), True)
    assert not is_plainly_legal(replace(queue, d_value=moved(queue.d_value, 0, 1)), True)
    open_ = replace(queue, d_ret=moved(queue.d_ret, 5, int(NEVER)), e_outcome=moved(queue.e_outcome, 5, UNKNOWN))
    assert is_plainly_legal(open_, True)


def test_an_input_that_is_not_from_one_clock_is_left_alone() -> None:
    """A return before all invocations would be a place before the first."""
    queue = on_events(queue_history(1_000))
    assert not is_plainly_legal(replace(queue, e_ret=moved(queue.e_ret, 0, -5)), True)


def test_a_large_input_goes_through_it() -> None:
    pytest.importorskip("numba")
    for queue in (stamps := queue_history(LARGE + LARGE // 100)), on_events(stamps):
        assert is_worth_it(queue)
        assert is_plainly_legal(queue, True)
        assert check_queue(queue).holds is True
