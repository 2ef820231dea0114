"""Logs of groups, read by index: what each violation looks like, and the general search as a second opinion.

The comparison with exhaustion is :mod:`suites.unit.checkers.differential`.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from checkers import LEADERS_OWN, Get, HistoryFormatError, Outcome, Send, check_entries, entries_of
from checkers.history.columns import Ints
from checkers.logs.columns import ACKED, Appends
from checkers.logs.entries import NOTHING, Gets
from checkers.objects import models
from checkers.objects.search import search
from suites.unit.checkers import draw_entries

LEGAL = {
    "read as appended": [Send(7, 0, 1, offset=0), Get(0, 7, 2, 3), Get(1, None, 2, 3)],
    "an append without an answer is read": [Send(7, 0), Get(0, 7, 2, 3)],
    "… or is not": [Send(7, 0), Get(0, None, 2, 3), Get(0, 7, 4, 5)],
    "a leader's entry is read, twice": [Send(7, 0, 1, offset=1), Get(0, LEADERS_OWN, 2, 3), Get(0, LEADERS_OWN, 4, 5)],
    "an index that nobody appended to is a leader's": [Send(7, 0, 1, offset=3)],
    "asked while it is appended": [Send(7, 0, 9, offset=0), Get(0, None, 1, 2), Get(0, 7, 3, 4)],
}
ILLEGAL = {
    "a leader that was deposed says that there is nothing": (
        [Send(7, 0, 1, offset=0), Get(0, None, 2, 3)],
        "stale-or-lost",
    ),
    "one sees an entry, another one does not": ([Send(7, 0), Get(0, 7, 1, 2), Get(0, None, 3, 4)], "went-backwards"),
    "an entry that was read is replaced": (
        [Send(7, 0), Get(0, 7, 1, 2), Send(8, 3, 4, offset=0)],
        "two-values-one-offset",
    ),
    "an entry that was read is a leader's later": (
        [Send(7, 0), Get(0, 7, 1, 2), Get(0, LEADERS_OWN, 3, 4)],
        "two-values-one-offset",
    ),
    "an acknowledged entry stands elsewhere": (
        [Send(7, 0, 1, offset=0), Get(4, 7, 2, 3)],
        "value-at-two-offsets",
    ),
    "an entry that was refused is read": ([Send(7, 0, 1, refused=True), Get(0, 7, 2, 3)], "failed-append-visible"),
    "an entry that nobody appended": ([Get(0, 9, 2, 3)], "phantom"),
    "an index below one that was given before": (
        [Send(7, 0, 1, offset=5), Send(8, 2, 3, offset=4)],
        "real-time-order",
    ),
    "read before it was appended": ([Get(0, 7, 0, 1), Send(7, 2, 3, offset=0)], "read-from-future"),
}


@pytest.mark.parametrize("name", LEGAL)
def test_legal(name: str) -> None:
    result = check_entries(*entries_of(LEGAL[name]))
    assert result.outcome is Outcome.PASS, result.anomalies


@pytest.mark.parametrize("name", ILLEGAL)
def test_illegal(name: str) -> None:
    history, kind = ILLEGAL[name]
    result = check_entries(*entries_of(history))
    assert [violation.kind for violation in result.violations] == [kind]
    assert set(result.violations[0].ops) <= set(range(len(history))), "operations of the history, none of a leader"


def test_where_leaders_do_not_write_a_hole_needs_an_append() -> None:
    history = [Send(7, 0, 1, offset=1)]
    assert check_entries(*entries_of(history)).holds
    assert not check_entries(*entries_of(history), leaders_write=False).holds
    assert check_entries(*entries_of([Send(8, 0), *history]), leaders_write=False).holds


def test_a_leaders_entry_where_leaders_do_not_write_is_an_error() -> None:
    with pytest.raises(HistoryFormatError, match="leaders do not write"):
        check_entries(*entries_of([Get(0, LEADERS_OWN, 0, 1)]), leaders_write=False)


SEARCHED = 1_200


@pytest.mark.parametrize("leaders_write", [False, True])
def test_the_general_search_is_of_the_same_opinion(leaders_write: bool) -> None:
    answers = {True: 0, False: 0}
    for seed in range(SEARCHED):
        drawn = draw_entries.draw(Random(f"searched/{leaders_write}/{seed}"), leaders_write)
        theorem = check_entries(*draw_entries.columns(drawn), leaders_write=leaders_write)
        operations = draw_entries.search_operations(drawn, leaders_write)
        second = search(operations, models.stream(), budget=200_000)
        assert second.holds is theorem.holds, (seed, drawn)
        answers[bool(theorem.holds)] += 1
    assert min(answers.values()) > SEARCHED // 20, answers


def _long_log(count: int) -> tuple[Appends, Gets]:
    """*count* appends one after the other, each read as soon as it is there, with "nothing behind it" before that."""
    index: Ints = np.arange(count, dtype=np.int64)
    zero = np.zeros_like(index)
    appends = Appends(zero, index, index, 10 * index, 10 * index + 4, np.full_like(index, ACKED), 3 * index)
    shown = Gets(zero, index, index, 10 * index + 5, 10 * index + 6, 3 * index + 1)
    nothing = Gets(zero, index + 1, np.full_like(index, NOTHING), 10 * index + 7, 10 * index + 8, 3 * index + 2)
    return appends, _together(shown, nothing)


def _together(*gets: Gets) -> Gets:
    names = ("queue", "index", "value", "invoke", "ret", "op")
    return Gets(*(np.concatenate([getattr(one, name) for one in gets]) for name in names))


def test_one_stale_get_among_many_is_found_with_its_proof() -> None:
    appends, gets = _long_log(50_000)
    assert check_entries(appends, gets).holds
    row = 50_000 + 31_415
    gets.invoke[row], gets.ret[row] = 314_165, 314_166
    assert check_entries(appends, gets).outcome is Outcome.FAIL
    (violation,) = check_entries(appends, gets).violations
    assert (violation.kind, violation.low, set(violation.ops)) == (
        "stale-or-lost",
        31_416,
        {3 * 31_416, 3 * 31_415 + 2},
    )


def test_at_the_very_instant_it_is_no_proof() -> None:
    appends, gets = _long_log(1_000)
    gets.invoke[1_000 + 500], gets.ret[1_000 + 500] = 10 * 501 + 4, 10 * 501 + 4
    assert check_entries(appends, gets).holds
