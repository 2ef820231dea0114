"""Power cuts and sends that nobody answered: which of them stood where is found out over all epochs at once."""

from __future__ import annotations

import numpy as np
import pytest

from checkers.logs.epochs import Lives, Shortage, Told, Tries, explain
from checkers.runs import log_plan
from checkers.runs.log import check_logs
from checkers.runs.log_plan import TOO_MANY_CHOICES
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.build import Build
from suites.unit.checkers.draw_log import ints

NONE = -1


def judge(build: Build) -> Verdict:
    return check_logs(build.history(), build.facts())


def unseen_before_the_cut(build: Build, sends: int) -> None:
    """*sends* sends without an answer, an end query that shows that one of them is there, and the power cut."""
    for message in range(sends):
        build.send(message, None, message)
    build.query_max(10, 11, 1)
    build.fault("cut_power", "broker-a-0", 20, 20, heal=30)


def test_the_only_send_that_can_have_filled_a_hole_may_not_turn_up_elsewhere_after_the_cut() -> None:
    build = Build()
    unseen_before_the_cut(build, 1)
    build.send(40, 41, 1, 0)
    build.pull(50, 51, 0, [1, 0])
    verdict = judge(build)
    assert verdict.outcome is Outcome.FAIL, verdict


def test_one_of_two_may_turn_up_wherever_the_other_suffices() -> None:
    for seen in (0, 1):
        build = Build()
        unseen_before_the_cut(build, 2)
        build.send(40, 41, 2, 0)
        build.pull(50, 51, 0, [2, seen])
        verdict = judge(build)
        assert verdict.outcome is Outcome.PASS, (seen, verdict)


def test_both_may_not() -> None:
    build = Build()
    unseen_before_the_cut(build, 2)
    build.send(40, 41, 2, 0)
    build.pull(50, 51, 0, [2, 0, 1])
    assert judge(build).outcome is Outcome.FAIL


def test_a_hole_that_survives_a_cut_keeps_its_send() -> None:
    """@0 needs a send before the cut and, since it was not truncated below @1, the same one after it."""
    build = Build()
    unseen_before_the_cut(build, 2)
    build.send(40, 41, 2, 1)
    build.pull(50, 51, 1, [2, 0])
    assert judge(build).outcome is Outcome.PASS
    build.pull(52, 53, 3, [1])
    verdict = judge(build)
    assert verdict.outcome is Outcome.FAIL
    assert "2 are needed" not in verdict.anomalies[0].sentence


def test_a_send_that_a_cut_took_is_not_there_two_cuts_later() -> None:
    build = Build()
    unseen_before_the_cut(build, 1)
    build.fault("cut_power", "broker-a-0", 50, 50, heal=55, fault="f2")
    build.send(60, 61, 1, 0)
    build.send(70, None, 2)
    build.pull(80, 81, 2, [2])
    verdict = judge(build)
    assert verdict.outcome is Outcome.FAIL, verdict
    assert "2 are needed up to there, only 1 unanswered sends had begun" in verdict.anomalies[0].sentence


def test_too_many_choices_are_unknown_and_never_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    build = Build()
    unseen_before_the_cut(build, 2)
    build.send(40, 41, 2, 0)
    build.pull(50, 51, 0, [2, 0])
    monkeypatch.setattr(log_plan, "explain", lambda told, tries: None)
    verdict = judge(build)
    assert (verdict.outcome, verdict.reasons) == (Outcome.UNKNOWN, (TOO_MANY_CHOICES,))


def epoch(*values: int, acked: tuple[int, ...] = (), due: int = 100) -> Told:
    rows = [values[offset] if offset in acked else NONE for offset in range(len(values))]
    return Told(ints(list(values)), ints(rows), ints([due] * len(values)))


def tries(*sent: tuple[int, int]) -> Tries:
    """(value, invoked at); the row is the value."""
    return Tries(ints([value for value, _ in sent]), ints([at for _, at in sent]), ints([value for value, _ in sent]))


def test_the_cut_is_made_where_the_send_that_turns_up_later_can_have_begun() -> None:
    """7 stands at @1 from epoch 1 on, though only epoch 2 read it: 9, acknowledged at @1 in epoch 0, is gone by then,
    and the cut before epoch 2 left @2 alone, so it cannot have been made there."""
    told = [epoch(5, 9, acked=(0, 1)), epoch(NONE, NONE, 8, acked=(2,)), epoch(5, 7, 8)]
    found = explain(told, tries((7, 1)))
    assert isinstance(found, Lives)
    of_seven = np.flatnonzero(found.value == 7)
    assert [(int(found.offset[i]), int(found.begin[i]), int(found.last[i])) for i in of_seven] == [(1, 1, 2)]


def test_without_such_a_send_there_is_no_explanation() -> None:
    told = [epoch(5, 9, acked=(0, 1)), epoch(NONE, NONE, 8, acked=(2,)), epoch(5, 7, 8)]
    assert isinstance(explain(told, tries((6, 1))), Shortage)


def test_a_send_is_counted_once_over_all_epochs() -> None:
    told = [epoch(NONE), epoch(3, acked=(0,)), epoch(4, NONE, acked=(0,))]
    assert isinstance(explain(told, tries((6, 1), (7, 2))), Lives)
    found = explain(told, tries((6, 1)))
    assert isinstance(found, Shortage)
    assert (found.needed, found.available) == (2, 1)


def test_a_send_that_began_too_late_does_not_fill_a_hole() -> None:
    assert isinstance(explain([epoch(NONE, due=10)], tries((6, 10))), Lives)
    assert isinstance(explain([epoch(NONE, due=10)], tries((6, 11))), Shortage)


def test_a_spent_budget_is_no_answer() -> None:
    assert explain([epoch(5, acked=(0,))] * 1, tries(), budget=0) is None
