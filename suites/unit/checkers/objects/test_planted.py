"""Large valid histories pass; one wrong event among thousands is found, by name; one stamp less is no violation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from checkers.history.columns import NEVER
from checkers.logs.linear import ACKED, LogInput, check_log
from checkers.objects.event_positions import positions
from checkers.objects.max_register import check_max_register
from checkers.objects.mutex import check_mutex
from checkers.objects.queue import QueueInput, check_queue
from checkers.objects.register import check_register
from suites.unit.checkers.plants import (
    LOG_PLANTS,
    MUTEX_PLANTS,
    QUEUE_PLANTS,
    REGISTER_PLANTS,
    commit_history,
    drained,
    fetch_of_less,
    hold_history,
)
from suites.unit.checkers.synthetic import PLANTS, log_history, queue_history, register_history, victim

SHAPES = {
    "10 processes": {},
    "100 processes": {"processes": 100},
    "no unknown": {"unknown": 0.0},
    "5 % unknown": {"unknown": 0.05},
    "one queue": {"queues": 1},
    "1,024 queues": {"queues": 1024},
    "equal stamps": {"ties": True},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_valid_logs_pass(shape: str) -> None:
    result = check_log(log_history(20_000, **SHAPES[shape]))  # type: ignore[arg-type]
    assert result.holds is True


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("shape", ["10 processes", "100 processes", "5 % unknown"])
@pytest.mark.parametrize("plant", PLANTS)
def test_one_planted_violation_is_found_by_name(plant: str, shape: str, fraction: float) -> None:
    valid = log_history(6_000, **SHAPES[shape])  # type: ignore[arg-type]
    put, kinds = PLANTS[plant]
    row = victim(valid, fraction)
    result = check_log(put(valid, row, 1))
    assert result.violations, plant
    assert result.violations[0].kind in kinds
    assert len([op for op in result.violations[0].ops if op >= 0]) <= 2
    assert check_log(put(valid, row, 0)).holds is True


def all_open_at_once(log: LogInput) -> LogInput:
    """Every operation lasts for the whole run."""

    def wide(columns: object, end: int = 1 << 40) -> object:
        return type(columns)(  # type: ignore[call-arg]
            **{
                name: np.zeros_like(getattr(columns, name))
                if name == "invoke"
                else np.where(getattr(columns, name) == NEVER, NEVER, end)
                if name == "ret"
                else getattr(columns, name)
                for name in columns.__slots__  # type: ignore[attr-defined]
            }
        )

    return LogInput(log.queue_count, wide(log.appends), wide(log.polls), wide(log.empties))  # type: ignore[arg-type]


def test_all_operations_open_at_once_pass_whatever_their_order() -> None:
    assert check_log(all_open_at_once(log_history(20_000))).holds is True


def test_one_client_stalled_for_the_whole_run() -> None:
    log = log_history(20_000)
    log.appends.invoke[100] = 0
    log.appends.ret[100] = 1 << 40
    assert check_log(log).holds is True


@pytest.mark.parametrize("processes", [1, 10, 100])
def test_valid_queues_pass_and_one_exchange_is_found(processes: int) -> None:
    queue = queue_history(20_000, processes=processes)
    assert check_queue(queue).holds is True
    # Two values that were enqueued far apart come out in each other's place.
    first, second = 3_000, 3_000 + 20 * processes
    queue.d_value[[first, second]] = queue.d_value[[second, first]]
    result = check_queue(queue)
    assert result.violations[0].kind in ("VOrd", "VFresh")
    assert len(result.violations[0].values) <= 2
    assert check_queue(queue, ordered=False).holds is (result.violations[0].kind == "VOrd")


def test_a_lost_message_of_a_queue_is_proved() -> None:
    queue = queue_history(2_000)
    keep = queue.d_value != 300
    for name in ("d_value", "d_invoke", "d_ret", "d_op"):
        object.__setattr__(queue, name, getattr(queue, name)[keep])
    (violation,) = check_queue(queue).violations
    assert (violation.kind, violation.values[0]) == ("lost-overtaken", 300)
    assert check_queue(queue, ordered=False).holds is True  # nobody found the bag empty afterwards
    late = int(queue.d_ret.max()) + 100
    for name, cell in (("n_invoke", late), ("n_ret", late + 1), ("n_op", -1)):
        object.__setattr__(queue, name, np.append(getattr(queue, name), cell))
    assert check_queue(queue, ordered=False).violations[0].kind == "lost-empty"


@pytest.mark.parametrize("swaps", [0.0, 0.25, 0.9])
def test_valid_registers_pass_and_one_old_read_is_found(swaps: float) -> None:
    register = register_history(20_000, swaps=swaps)
    assert check_register(register).holds is True
    register.r_value[5_000] = register.r_value[4_000]
    (violation,) = check_register(register).violations
    assert violation.kind in ("zones-overlap", "zone-inside-zone", "order-in-block")
    assert len(violation.ops) <= 4


FRACTIONS = pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])


@FRACTIONS
@pytest.mark.parametrize("plant", LOG_PLANTS)
def test_what_a_log_may_not_show_is_found_one_stamp_off(plant: str, fraction: float) -> None:
    put, kind = LOG_PLANTS[plant]
    valid = log_history(6_000, unknown=0.0)
    assert kind in [violation.kind for violation in check_log(put(valid, fraction, 1)).violations]
    assert check_log(put(valid, fraction, 0)).holds is True


@FRACTIONS
@pytest.mark.parametrize("unknown", [0.0, 0.001, 0.01, 0.05])
@pytest.mark.parametrize("plant", QUEUE_PLANTS)
def test_what_a_queue_may_not_do_is_found_one_stamp_off(plant: str, unknown: float, fraction: float) -> None:
    put, kind, ordered = QUEUE_PLANTS[plant]
    valid = drained(queue_history(6_000, unknown=unknown))
    violation = check_queue(put(valid, fraction, 1), ordered=ordered).violations[0]
    assert (violation.kind, len(violation.values) <= 2) == (kind, True)
    assert check_queue(put(valid, fraction, 0), ordered=ordered).holds is True


@FRACTIONS
@pytest.mark.parametrize("plant", REGISTER_PLANTS)
def test_what_a_register_may_not_do_is_found_one_stamp_off(plant: str, fraction: float) -> None:
    put, kinds, swaps = REGISTER_PLANTS[plant]
    valid = register_history(6_000, swaps=swaps)
    violation = check_register(put(valid, fraction, 1)).violations[0]
    assert violation.kind in kinds
    assert len(violation.ops) <= 4
    assert check_register(put(valid, fraction, 0)).holds is True


@FRACTIONS
@pytest.mark.parametrize("plant", MUTEX_PLANTS)
def test_what_a_lock_may_not_do_is_found_one_stamp_off(plant: str, fraction: float) -> None:
    put, kind = MUTEX_PLANTS[plant]
    valid = hold_history(6_000)
    assert [violation.kind for violation in check_mutex(put(valid, fraction, 1)).violations] == [kind]
    assert check_mutex(put(valid, fraction, 0)).holds


@FRACTIONS
def test_a_fetch_of_less_than_was_acknowledged_is_found_one_stamp_off(fraction: float) -> None:
    valid = commit_history(6_000)
    assert [violation.kind for violation in check_max_register(fetch_of_less(valid, fraction, 1)).violations] == [
        "stale"
    ]
    assert check_max_register(fetch_of_less(valid, fraction, 0)).holds


@pytest.mark.parametrize("processes", [10, 30, 100])
def test_equal_stamps_are_concurrent_everywhere(processes: int) -> None:
    assert check_queue(queue_history(20_000, processes=processes, ties=True)).holds is True
    assert check_register(register_history(20_000, processes=processes, ties=True)).holds is True


def test_queues_and_registers_whose_operations_are_all_open_at_once_pass() -> None:
    queue, register = queue_history(20_000), register_history(20_000)
    for columns in (queue, register):
        for name in columns.__slots__:
            column = getattr(columns, name)
            if name.endswith("_invoke"):
                column[:] = 0
            elif name.endswith("_ret"):
                column[:] = np.where(column == NEVER, NEVER, 1 << 40)
    assert check_queue(queue).holds is True
    assert check_register(register).holds is True


def test_one_client_of_a_queue_or_a_register_stalled_for_the_whole_run() -> None:
    queue, register = queue_history(20_000), register_history(20_000)
    for columns, row in ((queue, "d"), (queue, "e"), (register, "w"), (register, "r")):
        getattr(columns, f"{row}_invoke")[100] = 0
        getattr(columns, f"{row}_ret")[100] = 1 << 40
    assert check_queue(queue).holds is True
    assert check_register(register).holds is True


def test_an_offset_beyond_all_reason_needs_no_memory() -> None:
    log = log_history(1_000)
    log.appends.offset[int((log.appends.offset >= 0).argmax())] = 1 << 42
    result = check_log(log)
    assert [violation.kind for violation in result.violations if violation.kind == "hole-without-writer"]


@pytest.mark.parametrize("spread", [4, 1 << 20, 1 << 61], ids=["many ties", "packed", "too wide to pack"])
def test_positions_are_the_stable_order_of_the_stamps(spread: int) -> None:
    rng = np.random.default_rng(spread)
    calls, returns = (rng.integers(0, spread, 1_000) for _ in range(2))
    returns[::7] = NEVER
    (called,), (returned,), end = positions([calls], [returns])
    known = [(int(t), kind, i) for kind, c in enumerate((calls, returns)) for i, t in enumerate(c) if t < NEVER]
    place = {(kind, index): number for number, (_, kind, index) in enumerate(sorted(known))}
    assert called.tolist() == [place[0, index] for index in range(1_000)]
    assert returned.tolist() == [place.get((1, index), len(known)) for index in range(1_000)]
    assert end == len(known)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("first", [0, 1])
def test_of_two_unanswered_dequeues_of_one_value_either_may_have_had_it(ordered: bool, first: int) -> None:
    """The queue is empty at 12: the one that began at 9 took it, in whichever row it stands."""
    begun = [9, 14] if first == 0 else [14, 9]
    one, zero, never = np.ones(1, dtype=np.int64), np.zeros(2, dtype=np.int64), np.full(2, NEVER)
    queue = QueueInput(
        *(one * cell for cell in (0, 2, 3, ACKED, 0)),
        *(zero, np.array(begun, dtype=np.int64), never, np.array([1, 2])),
        *(one * cell for cell in (12, 12, 3)),
    )
    assert check_queue(queue, ordered=ordered).holds is True
    assert check_queue(replace(queue, d_invoke=queue.d_invoke + 5), ordered=ordered).holds is False
