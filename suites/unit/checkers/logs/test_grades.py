"""Grades below linearizability: sessions, sequential consistency, freshness, deliveries, committed offsets."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from checkers.history.columns import NEVER
from checkers.logs.content import EMPTY
from checkers.logs.deliveries import Deliveries, delivery_counts, delivery_order
from checkers.logs.linear import check_log
from checkers.logs.sequential import check_sequential
from checkers.logs.sessions import check_sessions, claims_of
from checkers.logs.staleness import freshness
from checkers.objects.committed_offsets import (
    OffsetInput,
    check_greatest_wins,
    check_last_wins,
    check_monotonic,
    check_not_ahead,
)
from suites.unit.checkers import draw_log
from suites.unit.checkers.brute import INFINITE
from suites.unit.checkers.differential import _renewed
from suites.unit.checkers.draw_log import Drawn, Shape, ints, log_input


def append(value: int, offset: int, at: int, queue: int = 0) -> Drawn:
    return Drawn("append", queue, at, at + 1, "ok", [value], offset, [])


def poll(offset: int, values: list[int], at: int, queue: int = 0) -> Drawn:
    return Drawn("poll", queue, at, at + 1, "ok", values, offset, list(range(offset, offset + len(values))))


def empty(offset: int, at: int, queue: int = 0) -> Drawn:
    return Drawn("empty", queue, at, at + 1, "ok", [], offset, [])


SESSIONS = {
    "monotonic-reads": [poll(0, [0], 10), empty(0, 20)],
    "read-your-writes": [append(0, 0, 10), empty(0, 20)],
    "monotonic-writes": [append(1, 1, 10), append(0, 0, 20)],
    "writes-follow-reads": [poll(0, [0, 1], 10), append(2, 1, 20)],
}


@pytest.mark.parametrize("name", SESSIONS)
def test_each_guarantee_is_broken_by_its_two_operations(name: str) -> None:
    log = log_input(SESSIONS[name], 1)
    (violation,) = check_sessions(claims_of(log, ints([0, 0]))).violations
    assert (violation.kind, violation.ops) == (name, (0, 1))


@pytest.mark.parametrize("name", SESSIONS)
def test_two_processes_are_no_session(name: str) -> None:
    assert check_sessions(claims_of(log_input(SESSIONS[name], 1), ints([0, 1]))).holds


def test_the_four_guarantees_and_content_and_holes_are_sequential_consistency_of_one_log() -> None:
    agreed = {True: 0, False: 0}
    for seed in range(1500):
        drawn = sorted(draw_log.draw(Random(seed), Shape()), key=lambda op: op.inv)
        processes = ints(_renewed(drawn))
        for number, op in enumerate(drawn):
            op.inv, op.ret = number, max(op.ret, number)
        log = log_input(drawn, 1)
        result = check_sequential(log, processes)
        content = check_log(log, fresh=False).content
        if content.violations or (content.value == EMPTY).any():
            continue
        assert result.holds is check_sessions(claims_of(log, processes, content)).holds
        agreed[bool(result.holds)] += 1
    assert min(agreed.values()) > 50


def test_queues_that_are_fine_each_may_be_impossible_together() -> None:
    """Two processes each see the other's log before their own: a circle over two queues."""
    drawn = [
        append(0, 0, 0, queue=0),
        empty(0, 1, queue=1),
        append(1, 0, 0, queue=1),
        empty(0, 1, queue=0),
    ]
    result = check_sequential(log_input(drawn, 2), ints([0, 0, 1, 1]))
    assert result.holds is False
    assert sorted(result.violations[0].ops) == [0, 1, 2, 3]
    for queue in (0, 1):
        alone = [op for op in drawn if op.queue == queue]
        assert check_sequential(log_input(alone, 2), ints([0, 1])).holds is True


def test_freshness_is_the_least_bound_in_time_and_messages() -> None:
    """m0 to m2 acknowledged at 1, 11, 21; an answer "ends at 1" that began at 50 is 39 late and 2 behind."""
    drawn = [append(0, 0, 0), append(1, 1, 10), append(2, 2, 20), empty(1, 50), empty(3, 60), empty(1, 5)]
    log = log_input(drawn, 1)
    result = check_log(log, fresh=False)
    found = freshness(result.content, log.empties)
    assert found.late.tolist() == [39, 0, 0]
    assert found.behind.tolist() == [2, 0, 0]
    assert found.percentile(50) == (0, 0)
    assert found.percentile(100) == (39, 2)


def test_what_was_read_together_with_what_is_gone_was_there_before_that_was_trimmed() -> None:
    """@0 and @1 were read by who had asked at 2 and was answered at 20; at 5 somebody was told that @0 is gone. So @1
    was there at 5, and "ends at 1" at 8 is 3 late."""
    sent = [append(0, 0, 0), Drawn("append", 0, 0, INFINITE, "info", [1], -1, [])]
    seen = [Drawn("poll", 0, 2, 20, "ok", [0, 1], 0, [0, 1]), Drawn("refused", 0, 2, 5, "ok", [], 0, [])]
    log = log_input([*sent, *seen, empty(1, 8)], 1)
    found = freshness(check_log(log, fresh=False).content, log.empties)
    assert (found.late.tolist(), found.behind.tolist()) == ([3], [1])


def deliveries(rows: list[tuple[int, int, int]]) -> Deliveries:
    """(assignment, offset, value) in order, one group, one queue."""
    zeros = [0] * len(rows)
    return Deliveries(
        ints(zeros),
        ints([row[0] for row in rows]),
        ints(zeros),
        ints([row[1] for row in rows]),
        ints([row[2] for row in rows]),
        ints(list(range(len(rows)))),
    )


def test_deliveries_are_counted_over_what_was_promised() -> None:
    (counts,) = delivery_counts(deliveries([(0, 0, 0), (0, 1, 1), (0, 1, 1), (0, 3, 9)]), ints([0, 1, 2]))
    assert (counts.lost.tolist(), counts.duplicated.tolist()) == ([2], [1])
    assert counts.histogram.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("rows", "kinds"),
    [
        ([(0, 0, 0), (0, 1, 1), (0, 2, 2)], []),
        ([(0, 0, 0), (0, 2, 2), (0, 1, 1)], ["inversion", "skip"]),
        ([(0, 0, 0), (0, 0, 0), (0, 1, 1)], ["repeat"]),
        ([(0, 0, 0), (0, 2, 2)], ["skip"]),
        ([(0, 1, 1), (1, 0, 0)], []),
    ],
    ids=["in order", "inverted", "repeated", "skipped", "another assignment"],
)
def test_order_within_an_assignment(rows: list[tuple[int, int, int]], kinds: list[str]) -> None:
    assert [violation.kind for violation in delivery_order(deliveries(rows), {0: ints([0, 1, 2])}).violations] == kinds


def test_a_gap_that_nothing_fills_is_no_skip() -> None:
    assert delivery_order(deliveries([(0, 0, 0), (0, 2, 2)]), {0: ints([0, 2])}).holds


def offsets(commits: list[tuple[int, int, int]], fetches: list[tuple[int, int, int]]) -> OffsetInput:
    """(value, invoke, return); operation numbers count commits first."""
    w = [ints([row[i] for row in commits]) for i in range(3)]
    r = [ints([row[i] for row in fetches]) for i in range(3)]
    return OffsetInput(
        *w, ints(list(range(len(commits)))), *r, ints(list(range(len(commits), len(commits) + len(fetches))))
    )


BACK = offsets([(5, 0, 1), (3, 10, 11)], [(5, 2, 3), (3, 20, 21)])


def test_a_smaller_commit_is_last_wins_but_not_greatest_wins() -> None:
    assert check_last_wins(BACK).holds
    assert check_greatest_wins(BACK).violations[0].kind == "stale"
    assert check_monotonic(BACK).violations[0].kind == "went-backwards"
    assert check_monotonic(BACK).violations[0].ops == (2, 3)


def test_the_obvious_three_rules_are_not_enough_for_the_greatest() -> None:
    """commit(5) acknowledged, then commit(1) begins; a fetch that overlaps both answers 1."""
    assert not check_greatest_wins(offsets([(5, 0, 1), (1, 2, 3)], [(1, 0, 5)])).holds


def test_an_unanswered_commit_may_be_seen_or_not() -> None:
    for fetched in (-1, 7):
        assert check_greatest_wins(offsets([(7, 0, int(NEVER))], [(fetched, 5, 6)])).holds
        assert check_last_wins(offsets([(7, 0, int(NEVER))], [(fetched, 5, 6)])).holds


def test_an_offset_committed_twice_is_searched() -> None:
    twice = offsets([(5, 0, 1), (3, 10, 11), (5, 20, 21)], [(5, 2, 3), (3, 12, 13), (5, 30, 31)])
    assert check_last_wins(twice).holds
    wrong = offsets([(5, 0, 1), (3, 10, 11), (5, 20, 21)], [(3, 30, 31)])
    assert check_last_wins(wrong).violations[0].kind == "stale-read"
    between = offsets([(5, 0, 1), (5, 10, 30), (3, 20, 21)], [(3, 22, 23), (5, 24, 25), (3, 26, 27)])
    assert check_last_wins(between).violations[0].kind == "no-order"


def test_an_offset_that_nobody_committed_is_a_phantom() -> None:
    assert check_greatest_wins(offsets([(5, 0, 1)], [(4, 2, 3)])).violations[0].kind == "phantom"


def test_a_commit_must_not_run_ahead_of_delivery() -> None:
    known, delivered, at = ints([0, 1, 2]), ints([0, 1, 2]), ints([1, 2, 50])
    (violation,) = check_not_ahead(offsets([(2, 10, 11), (3, 20, 21)], []), delivered, at, known).violations
    assert (violation.kind, violation.values, violation.ops) == ("commit-ahead", (2, 3), (1,))
    assert check_not_ahead(offsets([(3, 60, 61)], []), delivered, at, known).holds


def test_an_empty_history_of_offsets_breaks_nothing() -> None:
    nothing = offsets([], [])
    assert check_monotonic(nothing).holds
    assert check_greatest_wins(nothing).holds
    assert len(np.unique(nothing.w_value)) == 0
