"""Operations in flight over a power cut saw the old log or the new one; what they say tells which."""

from __future__ import annotations

import pytest

from checkers.runs import log_sides
from checkers.runs.log import NEITHER_SIDE, check_logs
from checkers.runs.log_sides import TOO_MANY_SIDES
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.build import Build

CUT = 50


def judge(build: Build) -> Verdict:
    return check_logs(build.history(), build.facts())


def cut_short() -> Build:
    """0 stays, 1 at @1 is lost by a power cut, 2 takes its place."""
    build = Build()
    build.send(0, 1, 0, 0)
    build.send(10, 11, 1, 1)
    build.fault("cut_power", "broker-a-0", CUT, CUT, heal=60)
    build.send(80, 81, 2, 1)
    return build


@pytest.mark.parametrize("got", [[0, 1], [0, 2]], ids=["old", "new"])
def test_a_poll_over_a_cut_may_show_either_log(got: list[int]) -> None:
    build = cut_short()
    build.pull(CUT - 5, 90, 0, got)
    verdict = judge(build)
    assert verdict.outcome is Outcome.PASS, verdict


def test_but_no_mixture_of_both() -> None:
    build = cut_short()
    build.send(82, 83, 3, 2)
    build.pull(CUT - 5, 90, 1, [1, 3])
    verdict = judge(build)
    assert verdict.outcome is Outcome.FAIL
    assert NEITHER_SIDE in verdict.anomalies[0].sentence


def test_nor_the_new_log_before_the_cut_or_the_old_one_after_it() -> None:
    for begin, end, got in ((CUT - 5, CUT - 2, [0, 2]), (CUT + 35, CUT + 40, [0, 1])):
        build = cut_short()
        build.pull(begin, end, 0, got)
        assert judge(build).outcome is Outcome.FAIL, got


@pytest.mark.parametrize(("offset", "later"), [(1, [3]), (2, [2, 3])], ids=["before", "after"])
def test_a_send_over_a_cut_may_be_stored_on_either_side(offset: int, later: list[int]) -> None:
    """@1 had been given away by the cut, so the send that got it was first or came after it; @2 is only free later."""
    build = Build()
    build.send(0, 1, 0, 0)
    build.fault("cut_power", "broker-a-0", CUT, CUT, heal=60)
    if offset == 2:
        build.send(70, 71, 2, 1)
    build.send(CUT - 5, 80, 3, offset)
    build.pull(90, 91, 1, later)
    verdict = judge(build)
    assert verdict.outcome is Outcome.PASS, verdict


def test_two_sends_over_a_cut_may_both_have_had_the_same_offset() -> None:
    """One before the cut, which took it, one after it; three cannot."""
    build = Build()
    build.send(0, 1, 0, 0)
    build.fault("cut_power", "broker-a-0", CUT, CUT, heal=60)
    for message in (1, 2):
        build.send(CUT - 5, 80, message, 1)
    build.pull(90, 91, 1, [2])
    assert judge(build).outcome is Outcome.PASS
    build.send(CUT - 5, 80, 3, 1)
    verdict = judge(build)
    assert verdict.outcome is Outcome.FAIL
    assert verdict.anomalies[0].kind == "two-values-one-offset"


def test_an_end_over_two_cuts_may_be_of_the_log_between_them() -> None:
    build = Build()
    build.fault("cut_power", "broker-a-0", CUT, CUT, heal=60)
    for message in range(3):
        build.send(61 + message, 62 + message, message, message)
    build.fault("cut_power", "broker-a-0", 100, 100, heal=110, fault="f2")
    build.query_max(CUT - 5, 120, 3)
    build.send(111, 112, 3, 0)
    build.pull(113, 114, 0, [3])
    assert judge(build).outcome is Outcome.PASS
    build.query_max(CUT - 5, 121, 4)
    assert judge(build).outcome is Outcome.FAIL


def test_a_contradiction_without_them_is_told_without_them() -> None:
    build = cut_short()
    build.pull(85, 86, 1, [1])
    build.pull(CUT - 5, 90, 0, [0, 2])
    verdict = judge(build)
    assert verdict.outcome is Outcome.FAIL
    assert NEITHER_SIDE not in verdict.anomalies[0].sentence


def test_another_queue_that_is_broken_does_not_hide_behind_them() -> None:
    build = cut_short()
    build.pull(CUT - 5, 90, 0, [0, 2])
    build.send(82, 83, 5, 0, queue=1)
    build.pull(90, 91, 0, [6], queue=1)
    verdict = judge(build)
    assert {anomaly.details["queue"] for anomaly in verdict.anomalies} == {"t/broker-a/1"}


def test_too_many_choices_are_unknown_and_never_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    build = cut_short()
    build.pull(CUT - 5, 90, 0, [0, 2])
    monkeypatch.setattr(log_sides, "TRIES", 1)
    verdict = judge(build)
    assert (verdict.outcome, verdict.reasons) == (Outcome.UNKNOWN, (TOO_MANY_SIDES,))


def test_what_was_trimmed_may_be_back_after_a_cut_and_only_then() -> None:
    """Deleting a file is not forced."""
    for cut in (True, False):
        build = Build()
        for message in range(3):
            build.send(message, message + 1, message, message)
        build.query_min(10, 11, 2)
        build.trimmed(12, 13, 1)
        if cut:
            build.fault("cut_power", "broker-a-0", CUT, CUT, heal=60)
        build.pull(70, 71, 0, [0, 1, 2])
        build.query_min(72, 73, 0)
        assert judge(build).outcome is (Outcome.PASS if cut else Outcome.FAIL), cut


def test_trimming_is_judged_after_a_cut_as_before_it() -> None:
    build = Build()
    for message in range(3):
        build.send(message, message + 1, message, message)
    build.fault("cut_power", "broker-a-0", CUT, CUT, heal=60)
    build.query_min(70, 71, 2)
    build.pull(80, 81, 0, [0, 1, 2])
    verdict = judge(build)
    assert verdict.outcome is Outcome.FAIL
    assert verdict.anomalies[0].kind == "read-of-trimmed"


def test_how_stale_an_answer_over_a_cut_was_is_not_asked() -> None:
    """It may have come from a log that had just lost its end."""
    build = cut_short()
    build.pull(CUT - 5, CUT + 30, 1, [])
    assert judge(build).measures["stale_answers"] == 0


def promoted(dead: bool) -> Build:
    """The slave is promoted from 50 to 60 and takes a message before the act is over."""
    build = Build()
    build.send(0, 1, 0, 0)
    build.send(10, 11, 1, 1)
    if dead:
        build.fault("kill", "broker-a-0", 20, 20, heal=155, fault="f0")
    build.fault("promote", "broker-a-1", 50, 60, heal=150)
    build.send(56, 57, 2, 1)
    build.pull(160, 161, 0, [0, 2])
    return build


def test_a_promoted_slave_serves_before_the_act_is_over() -> None:
    verdict = judge(promoted(dead=True))
    assert verdict.outcome is Outcome.PASS, verdict
    assert judge(promoted(dead=False)).outcome is Outcome.FAIL
