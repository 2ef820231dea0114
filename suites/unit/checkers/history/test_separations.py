"""Who is kept from whom by a fault, and what that says about a pair: apart, hindered, unheard."""

from __future__ import annotations

import pytest

from checkers.history.conditions import Conditions
from checkers.history.effects import Effect
from checkers.history.faults import FaultFact

M, S, N = "broker-a-0", "broker-a-1", "namesrv-1"
SPAN = [(10, 20)]


def conditions(how: str, **more) -> Conditions:
    given = {"left": (M,), "right": (S, N), **more}
    fault = FaultFact("f1", "cut", begin_ns=10, inject_ns=11, heal_ns=20, effective=1,
                      recorded=(Effect("separates", how),), **given)  # fmt: skip
    return Conditions((fault,), {})


@pytest.mark.parametrize(
    ("how", "is_apart", "master_is_unheard", "slave_is_unheard"),
    [
        pytest.param("", True, True, True, id="both-ways"),
        pytest.param("out", True, True, False, id="what-the-left-side-sends"),
        pytest.param("in", True, False, True, id="what-the-others-send"),
        pytest.param("new", False, False, False, id="only-new-connections"),
    ],
)
def test_what_a_separation_says_about_a_pair(
    how: str, is_apart: bool, master_is_unheard: bool, slave_is_unheard: bool
) -> None:
    """An answer takes both ways; that nothing comes takes one. Connections that are there may go on, or not."""
    found = conditions(how)
    assert (found.apart(M, S) == SPAN) is (found.apart(S, M) == SPAN) is is_apart
    assert found.hindered(M, S) == found.hindered(S, M) == SPAN
    assert (found.unheard(M, S) == SPAN, found.unheard(S, M) == SPAN) == (master_is_unheard, slave_is_unheard)
    assert found.hindered(S, N) == found.unheard(S, N) == []


def test_in_a_ring_neighbours_are_not_apart() -> None:
    ring = conditions("", left=("a", "b", "c", "d"), right=(), cuts=((("a",), ("c",)), (("b",), ("d",))))
    pairs = {pair: bool(ring.apart(*pair)) for pair in ("ab", "ac", "bc", "bd", "da", "cd")}
    assert [pair for pair, are_apart in pairs.items() if are_apart] == ["ac", "bd"]


def test_a_reset_may_have_closed_connections_and_separates_nobody() -> None:
    fault = FaultFact("f1", "reset", (M,), (N,), begin_ns=10, inject_ns=11, heal_ns=20, effective=1,
                      recorded=(Effect("resets"),))  # fmt: skip
    found = Conditions((fault,), {})
    assert (found.reset(M, N), found.apart(M, N), found.hindered(M, N)) == (SPAN, [], [])
