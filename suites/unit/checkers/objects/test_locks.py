"""Locks and semaphores by hand: two holds at once, refusals while it was free, permits, tokens, equal stamps."""

from __future__ import annotations

import pytest

from checkers.history.columns import HistoryFormatError
from checkers.objects.mutex import MutexInput, check_mutex, check_semaphore
from suites.unit.checkers.draw_log import ints
from suites.unit.checkers.draw_register import Hold, mutex_input


def hold(inv: int, ret: int, release_inv: int = -1, release_ret: int = -1) -> Hold:
    return Hold("hold", inv, ret, release_inv, release_ret)


def refused(inv: int, ret: int) -> Hold:
    return Hold("refused", inv, ret)


CASES = {
    "one after the other": ([hold(0, 1, 2, 3), hold(3, 4, 5, 6)], ""),
    "the second may acquire when the first releases": ([hold(0, 1, 4, 9), hold(2, 4, 5, 6)], ""),
    "one stamp more is too much": ([hold(0, 1, 5, 9), hold(2, 4, 6, 7)], "double-hold"),
    "never released": ([hold(0, 1), hold(5, 6, 7, 8)], "double-hold"),
    "refused while held": ([hold(0, 1, 8, 9), refused(4, 5)], ""),
    "refused after the release": ([hold(0, 1, 2, 3), refused(4, 5)], "busy-while-free"),
    "refused as the release returned": ([hold(0, 1, 2, 3), refused(3, 5)], ""),
    "refused before anyone": ([refused(0, 1), hold(2, 3, 4, 5)], "busy-while-free"),
    "an acquire without an answer may have come first": ([Hold("unknown", 0, 1 << 40), refused(1, 2)], ""),
}


@pytest.mark.parametrize("case", CASES)
def test_mutex(case: str) -> None:
    holds, kind = CASES[case]
    assert [violation.kind for violation in check_mutex(mutex_input(holds)).violations] == ([kind] if kind else [])


def test_holds_of_one_instant_come_in_the_order_that_suits_the_refusals() -> None:
    """Both are certain at 7 only; the one that began at 2 must come first, that the refusal at [4, 5] makes sense."""
    first, second = hold(2, 7, 7, 8), hold(7, 7, 7, 7)
    for holds in ([first, second], [second, first]):
        assert check_mutex(mutex_input([*holds, refused(4, 5)])).holds
        assert not check_mutex(mutex_input([*holds, refused(0, 1)])).holds


def test_one_hold_cannot_be_the_first_and_the_last_of_an_instant() -> None:
    """The same hold is the best for the refusal before and for the one after; the other is good for neither."""
    both, neither = hold(2, 7, 7, 12), hold(7, 7, 7, 7)
    for one in (refused(4, 5), refused(9, 10)):
        assert check_mutex(mutex_input([both, neither, one])).holds
    (violation,) = check_mutex(mutex_input([both, neither, refused(4, 5), refused(9, 10)])).violations
    assert violation.kind == "busy-while-free"


@pytest.mark.parametrize(("permits", "kinds"), [(1, ["too-many-holds"]), (2, ["too-many-holds"]), (3, [])])
def test_permits(permits: int, kinds: list[str]) -> None:
    holds = mutex_input([hold(0, 1, 8, 9), hold(0, 2, 7, 9), hold(3, 4, 5, 6)])
    assert [violation.kind for violation in check_semaphore(holds, permits).violations] == kinds


def test_tokens_grow() -> None:
    columns = ints([0, 10]), ints([1, 11]), ints([0, 1]), ints([2, 12]), ints([3, 13])
    assert check_mutex(MutexInput(*columns, token=ints([4, 5]))).holds
    (violation,) = check_mutex(MutexInput(*columns, token=ints([5, 5]))).violations
    assert (violation.kind, violation.values, violation.ops) == ("token-order", (5, 5), (0, 1))


def test_a_release_before_its_acquire_returned_is_no_hold() -> None:
    with pytest.raises(HistoryFormatError, match="table holds, row 0: it was released before its acquire had returned"):
        check_mutex(mutex_input([hold(0, 5, 4, 6)]))
