"""The log of members that are nodes of their own is linearizable, read from whoever leads, whatever fails.

The planted bugs that only this finds are exhibits of the museum (``entries-…``).
"""

from __future__ import annotations

import pytest

from checkers.logs.entries import LEADERS_OWN
from checkers.logs.rows import Get, Send
from checkers.objects import models
from checkers.objects.search import Operation, search
from checkers.verdict import Outcome
from suites.conformance.dledger.dumped import broken
from suites.conformance.dledger.worked import at_work, judged, worked


@pytest.mark.parametrize(("seed", "size"), [(1, 3), (2, 3), (3, 5)])
def test_it_is_linearizable(seed: int, size: int) -> None:
    group = at_work(seed, size=size, seconds=40)
    history = group.told.history()
    result = judged(history)
    assert result.outcome is Outcome.PASS, result.anomalies
    assert broken(group.dumped()) == []
    acknowledged = [row for row in history if isinstance(row, Send) and row.offset is not None]
    unknown = [row for row in history if isinstance(row, Send) and row.ret is None]
    nothing = [row for row in history if isinstance(row, Get) and row.message is None]
    assert min(map(len, (acknowledged, unknown, nothing))) > 0, "there was something to contradict"


@pytest.mark.parametrize("seed", range(4, 7))
def test_the_general_search_is_of_the_same_opinion_of_a_short_one(seed: int) -> None:
    history = worked(seed, seconds=6)
    assert judged(history).holds
    assert search(_operations(history), models.stream(), budget=2_000_000).holds


def _operations(history: list[Send | Get]) -> list[Operation]:
    own = {row.at for row in history if isinstance(row, Get) and row.message == LEADERS_OWN}
    operations = [Operation(0, None, ("append", ("own",), None)) for _ in own]
    for row in history:
        if isinstance(row, Send):
            if not row.refused:
                operations.append(Operation(row.invoke, row.ret, ("append", (row.message,), row.offset)))
        elif row.message is None:
            operations.append(Operation(row.invoke, row.ret, ("empty", row.at)))
        else:
            value = "own" if row.message == LEADERS_OWN else row.message
            operations.append(Operation(row.invoke, row.ret, ("poll", row.at, (value,))))
    return operations
