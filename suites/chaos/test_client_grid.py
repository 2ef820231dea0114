"""The page of clients under faults is what was recorded, nothing FAILed, and what was not PASS is told."""

from __future__ import annotations

import pytest

from checkers.verdict import Outcome
from harness.matrix import ROWS, Report
from suites.chaos.client_grid import COLUMNS, LOADS_OF_CLIENTS, PAGE, Count, cells, page, read, runs


def report(outcome: Outcome, seed: int = 1, *, is_idle: bool = False) -> Report:
    return Report("single-master/async", "kill", seed, outcome, "why it was so", is_idle=is_idle)


def test_the_page_is_what_was_recorded() -> None:
    assert PAGE.read_text() == page(read())


def test_the_reference_fails_nowhere() -> None:
    assert {key: cell.why for key, cell in read().items() if cell.failed} == {}


def test_every_run_that_was_not_pass_is_counted_and_told() -> None:
    cell = Count()
    for seed, outcome in enumerate((Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN), 1):
        cell.add(report(outcome, seed))
    cell.add(report(Outcome.UNKNOWN, 4, is_idle=True))
    assert (cell.seeds, cell.passed, cell.failed, cell.unknown, cell.idle) == (4, 1, 1, 1, 1)
    text = page({("push", "single-master/async", "kill"): cell})
    assert "| push | 1/4 i1 U1 F1 |" in text
    assert "* push, single-master/async, kill: FAIL, seed 2: why it was so" in text


def test_there_are_no_cells_of_slaves_without_slaves_nor_of_clients_that_cannot_begin_again() -> None:
    there = set(cells())
    assert ("push", "single-master/async", "slave-link") not in there
    assert {("batch", "multi-master/sync", column) for column in ("member-crash", "zombie", "storm")} & there == set()
    assert ("producer", "multi-master/sync", "producer-crash") in there
    assert ("producer", "multi-master/sync", "member-crash") not in there
    full = [load for load in LOADS_OF_CLIENTS if len(cells([load], ["dledger/async"])) == len(COLUMNS)]
    assert set(full) >= {
        "push",
        "push-delayed",
        "push-retries",
        "push-ordered",
        "push-tags",
        "broadcast",
        "transactions",
        "requests",
    }
    assert {row for _, row, _ in there} == {row.name for row in ROWS}


def test_what_was_run_is_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    key, other = ("push", "single-master/async", "kill"), ("push", "single-master/async", "storm")
    monkeypatch.setattr("suites.chaos.client_grid.run_one", lambda _plan, _row, _column, seed: seed)
    assert list(runs([key, other], {key: Count(seeds=1)}, 2)) == [(other, 1), (key, 2), (other, 2)]
