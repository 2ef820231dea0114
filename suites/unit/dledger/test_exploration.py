"""A slice of the small state space in every run; ``make explore`` looks at more."""

from __future__ import annotations

import pytest

from reference_impl.dledger import election
from scripts import explored_page
from suites import recorded
from suites.unit.dledger.exploration import Explorer, explore


def test_no_order_of_events_breaks_an_invariant() -> None:
    done = explore(20_000)
    assert done.states >= 20_000
    assert done.committed >= 1, "the slice reaches commits"
    assert done.leaders >= 2, "and a second leader"


def test_a_broken_rule_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Votes without a look at the logs: a leader without a committed entry is elected."""
    blind = tuple(it for it in election.VOTERS_RULES if it[1] not in election._BIGGER)
    monkeypatch.setattr(election, "VOTERS_RULES", blind)
    explorer = Explorer(60_000)
    with pytest.raises(AssertionError, match="I6: leader n2 has not 0"):
        explorer.deep(explorer.contested())


def test_the_page_is_what_the_recorded_search_says() -> None:
    found = recorded.read(explored_page.RESULTS)[-1]
    assert explored_page.PAGE.read_text(encoding="utf-8") == explored_page.page(found)
