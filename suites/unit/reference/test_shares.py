"""Who is given up when what connections hold is too much."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reference_impl.shares import Shares


def test_within_the_bound_nobody_is_given_up() -> None:
    shares = Shares(100)
    shares.hold(1, 60)
    shares.hold(2, 40)
    assert (shares.total, shares.to_give_up()) == (100, None)


def test_of_those_that_hold_much_the_one_that_began_first() -> None:
    shares = Shares(100)
    for link, size in [(1, 2), (2, 50), (3, 60)]:
        shares.hold(link, size)
    assert shares.to_give_up() == 2  # 1 is older, and holds little


def test_who_ends_a_holding_begins_a_young_one() -> None:
    shares = Shares(100)
    shares.hold(2, 60)
    shares.hold(3, 60)
    shares.hold(2, 0)
    shares.add(2, 60)
    assert shares.to_give_up() == 3


def test_many_small_holdings_do_not_cost_a_smaller_one() -> None:
    shares = Shares(1000)
    shares.hold(1, 1)
    for link in range(2, 200):
        shares.hold(link, 10)
    assert shares.to_give_up() == 2


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 50)), max_size=40))
def test_giving_up_ends_within_the_bound(steps: list[tuple[int, int]]) -> None:
    shares = Shares(60)
    for link, size in steps:
        shares.hold(link, size)
        while (victim := shares.to_give_up()) is not None:
            shares.hold(victim, 0)
        assert shares.total <= 60
