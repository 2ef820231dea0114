"""What a theorem asks of its columns: a history that breaks its own rules is refused with its row, and never judged;
numbers of any size are computed with exactly."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from checkers.history.columns import NEVER, HistoryFormatError
from checkers.logs.columns import ACKED, UNKNOWN, Appends, Claims, LogInput, Polls
from checkers.logs.linear import check_log
from checkers.objects.max_register import MaxRegisterInput, check_max_register
from checkers.objects.mutex import MutexInput, check_mutex, check_semaphore
from checkers.objects.queue import QueueInput, check_queue, total_queue
from checkers.objects.register import RegisterInput, check_register
from checkers.objects.sets import SetInput, check_set, fates
from suites.unit.checkers.draw_log import ints

EPOCH_NS = 1_764_000_000_000_000_000
"""A stamp in nanoseconds since 1970, as of today."""

SENT = Appends(*(ints(column) for column in ([0, 0], [0, 1], [0, 1], [0, 2], [1, 3], [ACKED] * 2, [0, 1])))
READ = Polls(*(ints(column) for column in ([0], [2], [4], [5], [2], [0], [0, 1], [0, 1])))
BATCH = replace(SENT, batch=ints([0, 0]), op=ints([0, 0]), invoke=ints([0, 0]), ret=ints([1, 1]))


def log(appends: Appends = SENT, polls: Polls = READ, **claims: Claims) -> LogInput:
    return LogInput(1, appends=appends, polls=polls, **claims)


WRONG_LOGS: dict[str, tuple[LogInput, str]] = {
    "acknowledged at -1": (log(replace(SENT, offset=ints([0, -1]))), "appends, row 1: acknowledged at an offset below"),
    "unequal lengths": (log(replace(SENT, op=ints([0]))), "table appends: columns differ in length"),
    "a return before its call": (log(replace(SENT, ret=ints([1, 1]))), "appends, row 1: it returned before"),
    "a stamp of 2^62 + 1": (
        log(replace(SENT, invoke=ints([0, 1]) + int(NEVER), ret=ints([1, 3]) + int(NEVER))),
        "row 1",
    ),
    "a queue that is not there": (log(replace(SENT, queue=ints([0, 1]))), "appends, row 1: a queue is none of the 1"),
    "no such outcome": (log(replace(SENT, outcome=ints([ACKED, 7]))), "appends, row 1: outcome is none of 0, 1, 2"),
    "a value below 0": (log(replace(SENT, value=ints([-1, 1]))), "appends, row 0: value is below 0"),
    "numbers of 2^63": (log(replace(SENT, value=[0, 1 << 63])), "appends, row 1: value is no whole number below 2"),
    "numbers of 2^64": (log(replace(SENT, value=[0, 1 << 64])), "appends, row 1: value is no whole number below 2"),
    "floats": (log(replace(SENT, value=np.array([0.0, 1.0]))), "appends, row 0: value is no whole number"),
    "more is counted than read": (log(polls=replace(READ, count=ints([3]))), "3 messages are counted, 2 are there"),
    "a poll of nothing": (log(polls=replace(READ, count=ints([0]))), "polls, row 0: it returned nothing"),
    "a read below 0": (log(polls=replace(READ, offset=ints([-1, 0]))), "messages read, row 0: an offset is below 0"),
    "an offset of 2^44": (log(polls=replace(READ, offset=ints([0, 1 << 44]))), "messages read, row 1: an offset"),
    "an end below 0": (log(ends=Claims(*(ints([cell]) for cell in (0, -1, 6, 7, 3)))), "ends, row 0: an offset is"),
    "a torn batch": (log(replace(BATCH, offset=ints([0, 2]))), "row 1: offsets of one acknowledged batch are not"),
    "a batch of two calls": (log(replace(BATCH, invoke=ints([0, 1]))), "row 1: messages of one batch differ in invoke"),
}


@pytest.mark.parametrize("name", WRONG_LOGS)
def test_a_log_that_breaks_its_own_rules_is_refused_with_its_row(name: str) -> None:
    given, reason = WRONG_LOGS[name]
    with pytest.raises(HistoryFormatError, match=reason):
        check_log(given)


def test_a_log_that_keeps_them_is_judged() -> None:
    assert check_log(log()).holds
    assert check_log(log(BATCH)).holds
    as_lists = Appends([0, 0], [0, 1], [0, 1], [0, 2], [1, 3], [0, 0], [0, 1])  # type: ignore[arg-type]
    assert check_log(log(as_lists)).holds


QUEUE = QueueInput(*(ints([cell]) for cell in (0, 0, 1, ACKED, 0, 0, 2, 3, 1)))
REGISTER = RegisterInput(w_value=ints([5]), w_invoke=ints([0]), w_ret=ints([1]), w_op=ints([0]))
GREATEST = MaxRegisterInput(ints([5]), ints([0]), ints([1]), ints([0]))
HOLD = MutexInput(*(ints([cell]) for cell in (0, 1, 0, 2, 3)))
GROWN = SetInput(*(ints([cell]) for cell in (0, 0, 1, ACKED, 0, 2, 3, 1, 1, 0)))

WRONG: dict[str, tuple[Any, Any, str]] = {
    "queue": (check_queue, replace(QUEUE, d_ret=ints([1])), "dequeues, row 0: it returned before it was called"),
    "queue, lengths": (check_queue, replace(QUEUE, d_op=ints([])), "table dequeues: columns differ in length"),
    "queue, value": (check_queue, replace(QUEUE, e_value=ints([-1])), "enqueues, row 0: e_value is below 0"),
    "total-queue": (total_queue, replace(QUEUE, e_op=ints([])), "table enqueues: columns differ in length"),
    "register": (check_register, replace(REGISTER, w_ret=ints([-1])), "writes, row 0: it returned before"),
    "register, value": (check_register, replace(REGISTER, w_value=ints([-7])), "writes, row 0: w_value is below -1"),
    "max-register": (check_max_register, replace(GREATEST, w_op=ints([])), "table writes: columns differ in length"),
    "mutex": (check_mutex, replace(HOLD, r_ret=ints([1])), "releases, row 0: it returned before it was called"),
    "set": (check_set, replace(GROWN, r_count=ints([2])), "2 values are counted, 1 are there"),
    "set, accounts": (fates, replace(GROWN, shown=ints([-3])), "values read, row 0: a value is below 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_input_that_breaks_its_own_rules_is_refused_with_its_row(name: str) -> None:
    check, given, reason = WRONG[name]
    with pytest.raises(HistoryFormatError, match=reason):
        check(given)


def test_no_permits_are_no_semaphore() -> None:
    with pytest.raises(HistoryFormatError, match="0 is less than one"):
        check_semaphore(HOLD, 0)


@pytest.mark.parametrize("value", [1 << 40, (1 << 62) - 1])
def test_values_of_any_size_cost_no_memory(value: int) -> None:
    """An array with a place for each value would have 2^40 of them."""
    assert check_queue(replace(QUEUE, e_value=ints([value]), d_value=ints([value]))).holds
    lost = check_queue(replace(QUEUE, d_value=ints([value])))
    assert [(violation.kind, violation.values) for violation in lost.violations] == [("VFresh", (value,))]
    assert total_queue(replace(QUEUE, e_value=ints([value]), d_value=ints([value]))).lost == 0
    read = {"r_value": ints([value]), "r_invoke": ints([2]), "r_ret": ints([3]), "r_op": ints([1])}
    assert check_register(replace(REGISTER, w_value=ints([value]), **read)).holds
    assert check_register(replace(REGISTER, **read)).violations[0].values == (value,)
    assert check_set(replace(GROWN, a_value=ints([value]), shown=ints([value]))).holds
    assert fates(replace(GROWN, a_value=ints([value]), shown=ints([]), r_count=ints([0]))).lost.tolist() == [value]


@pytest.mark.parametrize("queues", [1, 2, 6, 12, 100])
@pytest.mark.parametrize("begin", [0, EPOCH_NS])
def test_stamps_since_1970_and_many_queues_do_not_wrap(queues: int, begin: int) -> None:
    """A message in each queue, sent, acknowledged and read in this order, is legal; a read that returned before the
    send was invoked is not, in whichever queue."""
    numbers = np.arange(queues, dtype=np.int64)
    zeros = np.zeros(queues, dtype=np.int64)
    appends = Appends(numbers, numbers, zeros, zeros + begin + 10, zeros + begin + 20, zeros + ACKED, numbers)
    early = np.full(queues, begin + 30)
    for broken in (None, 0, queues - 1):
        call = early.copy()
        if broken is not None:
            call[broken] = begin
        polls = Polls(numbers, zeros + 1, call, call + 5, numbers + queues, zeros, zeros, numbers)
        result = check_log(LogInput(queues, appends=appends, polls=polls))
        assert result.holds is (broken is None)
        assert [violation.queue for violation in result.violations] == ([] if broken is None else [broken])


@pytest.mark.parametrize("writes", [2, 5, 11, 1000])
@pytest.mark.parametrize("begin", [0, 86_400 * 10**9 - 10**6, EPOCH_NS])
def test_registers_do_not_wrap(writes: int, begin: int) -> None:
    """Writes one after the other, each read after it; then one write is read before it began."""
    numbers = np.arange(writes, dtype=np.int64)
    call = begin + 40 * numbers
    register = RegisterInput(
        w_value=numbers, w_invoke=call, w_ret=call + 10, w_op=numbers,
        r_value=numbers, r_invoke=call + 20, r_ret=call + 30, r_op=numbers + writes,
    )  # fmt: skip
    assert check_register(register).holds
    late = replace(register, w_invoke=call + np.where(numbers == writes - 1, 31, 0), w_ret=call + 39)
    assert check_register(late).holds is False


def test_unknown_appends_are_not_asked_for_an_offset() -> None:
    unknown = replace(SENT, offset=ints([0, -1]), outcome=ints([ACKED, UNKNOWN]), ret=ints([1, int(NEVER)]))
    assert check_log(log(unknown)).holds
