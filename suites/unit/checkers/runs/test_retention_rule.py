"""The comparison of deleted files with exhaustion has teeth: it finds gross mistakes in the rule."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from checkers.history.columns import Ints
from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.runs import expiry
from checkers.runs import log_operations as log_history
from suites.unit.checkers.differential import compare


def never(history: History, facts: RunFacts, within: Ints) -> Ints:
    return np.empty(0, dtype=np.int64)


def always(history: History, facts: RunFacts, within: Ints) -> Ints:
    return expiry._skipping(history, facts)[0]


def without_power_cuts(history: History, facts: RunFacts, within: Ints) -> Ints:
    return expiry.begins_later(history, facts)


@pytest.mark.parametrize(
    ("name", "mistaken"),
    [
        ("log, retention", never),
        ("log, retention", always),
        ("log, power cuts, retention", without_power_cuts),
        ("log, power cuts, retention", never),
        ("log, power cuts, retention", always),
    ],
)
def test_exhaustion_finds_a_mistaken_rule(
    name: str, mistaken: Callable[[History, RunFacts, Ints], Ints], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_history, "begins_later", mistaken)
    _, wrong = compare(name, range(600))
    assert wrong
