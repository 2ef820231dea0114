"""The outcome of a check as people write it down: its name, wherever it is printed or compared."""

from __future__ import annotations

import pytest

from checkers.verdict import Outcome


@pytest.mark.parametrize("outcome", Outcome)
def test_it_prints_as_its_name_and_equals_it(outcome: Outcome) -> None:
    assert str(outcome) == f"{outcome}" == outcome.name
    assert f"{outcome:>8}" == outcome.name.rjust(8)
    assert outcome == outcome.name
    assert outcome != outcome.name.lower()
    assert {outcome} == {outcome.name}


def test_the_worst_is_the_greatest() -> None:
    assert max(Outcome) == "FAIL"
    assert sorted(Outcome) == ["PASS", "UNKNOWN", "FAIL"]
    assert not Outcome.PASS
