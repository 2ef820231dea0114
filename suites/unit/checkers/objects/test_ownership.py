"""Who had what together, and when nobody had it: by hand, and against all pairs and all instants."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.objects.ownership import Owned, Together, nobody, together

Row = tuple[int, int, int, int]
"""(lane, owner, begin, end)."""


def owned(*rows: Row) -> Owned:
    columns = list(zip(*rows, strict=True)) if rows else [()] * 4
    return Owned(*(np.array(column, dtype=np.int64) for column in columns))


def test_one_after_the_other_is_never_together() -> None:
    assert together(owned((0, 0, 0, 5), (0, 1, 5, 9), (0, 0, 9, 12))) == []


def test_two_owners_are_together_until_the_first_one_lets_go() -> None:
    assert together(owned((0, 0, 0, 5), (0, 1, 3, 9))) == [Together(0, 1, 3, 5)]


def test_the_owner_itself_and_other_lanes_disturb_nobody() -> None:
    assert together(owned((0, 0, 0, 5), (0, 0, 3, 9), (1, 1, 2, 4))) == []


def test_a_long_owner_is_not_forgotten_behind_a_short_one() -> None:
    assert together(owned((0, 0, 0, 20), (0, 1, 2, 3), (0, 1, 10, 12))) == [
        Together(0, 1, 2, 3),
        Together(0, 2, 10, 12),
    ]


def test_the_second_one_counts_where_the_first_is_one_s_own() -> None:
    assert together(owned((0, 0, 0, 20), (0, 1, 1, 10), (0, 0, 5, 30)))[-1] == Together(1, 2, 5, 10)


def test_what_nobody_had() -> None:
    assert list(nobody(owned((0, 0, 2, 5), (0, 1, 4, 6), (0, 0, 8, 9), (1, 0, 6, 8)), 0, 0, 12)) == [
        (0, 2),
        (6, 8),
        (9, 12),
    ]


ROWS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 9), st.integers(0, 6)).map(
        lambda row: (row[0], row[1], row[2], row[2] + row[3])
    ),
    max_size=7,
)


@settings(max_examples=300, deadline=None)
@given(ROWS)
def test_against_all_pairs(rows: list[Row]) -> None:
    """A span is told iff it began while another owner's earlier span lasted; and with the longest common stretch."""
    one = owned(*rows)
    order = np.lexsort((one.begin, one.lane)).tolist()
    expected: dict[int, int] = {}
    for place, row in enumerate(order):
        ends = [
            min(rows[other][3], rows[row][3])
            for other in order[:place]
            if rows[other][0] == rows[row][0] and rows[other][1] != rows[row][1] and rows[row][2] < rows[other][3]
        ]
        if ends and max(ends) > rows[row][2]:
            expected[row] = max(ends)
    assert {pair.second: pair.end for pair in together(one)} == expected


@settings(max_examples=200, deadline=None)
@given(ROWS)
def test_gaps_against_all_instants(rows: list[Row]) -> None:
    for lane in (0, 1):
        empty = [ns for ns in range(16) if not any(r[0] == lane and r[2] <= ns < r[3] for r in rows)]
        gaps = [ns for begin, end in nobody(owned(*rows), lane, 0, 16) for ns in range(begin, end)]
        assert gaps == empty
