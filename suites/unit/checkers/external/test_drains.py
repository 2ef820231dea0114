"""A drain took all that it answers, in any order, and then the queue was empty: not at any other time of the call."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.external.calls import Call
from checkers.external.check import check_calls


def call(f: str, begin: int, end: int, asked: Any = None, answered: Any = None) -> Call:
    return Call(begin, begin, f, None, begin, end, "ok", asked, answered)


@pytest.mark.parametrize(
    ("late", "outcome"),
    [((2, 3), "FAIL"), ((4, 20), "PASS"), ((21, 22), "PASS")],
    ids=["before the last was put in", "perhaps after", "after the drain"],
)
@pytest.mark.parametrize("more", [[], [call("enqueue", 30, 31, "a")]], ids=["distinct", "repeated"])
def test_what_nobody_took_was_put_in_after_it(late: tuple[int, int], outcome: str, more: list[Call]) -> None:
    """ "a" is put in from 6 to 8 and comes out of the drain, and "b" never does."""
    calls = [call("drain", 0, 16, None, ["a"]), call("enqueue", 6, 8, "a"), call("enqueue", *late, "b"), *more]
    assert check_calls(sorted(calls, key=lambda one: one.call), "bag").outcome.name == outcome


@pytest.mark.parametrize("answered", [["a", "b"], ["b", "a"]])
def test_the_order_of_the_answer_does_not_matter(answered: list[str]) -> None:
    calls = [call("enqueue", 0, 1, "a"), call("enqueue", 2, 3, "b"), call("drain", 4, 5, None, answered)]
    for more in ([], [call("enqueue", 6, 7, "a")]):
        assert check_calls([*calls, *more], "queue").outcome.name == "PASS"
