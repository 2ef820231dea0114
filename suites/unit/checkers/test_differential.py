"""Checkers against exhaustion on random small histories; ``make fuzz`` does the same on a million an object, and
continuous integration on as many more as here."""

from __future__ import annotations

import pytest

from suites.unit.checkers.differential import OBJECTS, compare

HISTORIES = 1_500

UNKNOWN_MAX = {
    "log, sessions": 0.3,
    "log, unseen retries": 0.1,
    "logs, unseen retries, queues unknown": 0.1,
    "log, batches": 0.1,
    "logs, trimmed, batches": 0.1,
    "logs, retries, queues unknown": 0.01,
    "log, batches sent again": 0.15,
    "logs, batches sent again, queues unknown": 0.15,
    "log, power cuts, retention": 0.02,
    "logs, sequential": 0.05,
    "log, sequential, trimmed, batches": 0.15,
    "logs, sequential, batches sent again": 0.15,
    "logs, sequential, queues unknown": 0.05,
    "register, refused swaps": 0.05,
    "anyone's register": 0.05,
    "anyone's queue": 0.15,
    "anyone's bag": 0.2,
    "anyone's set": 0.1,
    "anyone's mutex": 0.05,
    "anyone's log": 0.15,
}
"""Shares of unknown answers that the documented limits explain; everything else decides always."""


@pytest.mark.parametrize("name", OBJECTS)
def test_no_wrong_answer(name: str) -> None:
    counts, wrong = compare(name, range(HISTORIES))
    assert not wrong, f"seed {wrong[0][0]}: {wrong[0][1]}"
    assert counts["unknown"] <= HISTORIES * UNKNOWN_MAX.get(name, 0)
    assert counts["illegal"] >= HISTORIES * 0.05, counts
    assert counts["legal"] >= HISTORIES * 0.3, counts
