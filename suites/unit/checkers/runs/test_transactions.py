"""Transactions and replies: each violation by hand, and its lawful neighbour. Times in milliseconds."""

from __future__ import annotations

import pytest

from checkers.runs.replies import check_replies
from checkers.runs.transactions import check_transactions
from checkers.verdict import Outcome
from suites.unit.checkers.runs.test_listeners import Listening, judged, kinds

PASS, UNKNOWN, FAIL = Outcome.PASS, Outcome.UNKNOWN, Outcome.FAIL
MINUTE = 60_000


class Transacting(Listening):
    """Halves, decisions, questions; requests and replies."""

    def half(self, at: int, message: int, decided: str = "COMMIT", tries: int = 1) -> None:
        """A half that is stored by the last of its *tries*; the local transaction runs then."""
        for _ in range(tries - 1):
            self.op("send_half", at, at + 1, "TIMEOUT", message=message, queue=0)
        self.op("send_half", at + 2, at + 3, "SEND_OK", message=message, queue=0)
        if decided:
            self.op("decide", at + 4, at + 4, decided, message=message)

    def asked(self, at: int, message: int, answer: str) -> None:
        self.op("check", at, at, answer, message=message)

    def lasts(self, until: int) -> None:
        self.op("query_max", until, until + 1, "OK", queue=0)

    def requested(self, at: int, message: int, by: str = "client-2", answer: int | None = None) -> None:
        """Waits three seconds; *answer*: the message that the reply says it answers."""
        if answer is None:
            self.op("request", at, at + 3_000, "TIMEOUT", message=message, node=by)
            return
        op = self.op("request", at, at + 500, "OK", message=message, node=by, count=1)
        self.reads.append({"op": op, "position": 0, "offset": 0, "message": answer, "detail": ""})

    def stray(self, at: int, by: str, answer: int) -> None:
        op = self.op("stray_reply", at, at, "OK", node=by, count=1)
        self.reads.append({"op": op, "position": 0, "offset": 0, "message": answer, "detail": ""})

    def replied(self, at: int, message: int, status: str = "OK") -> None:
        self.op("reply", at, at + 1, status, message=message, node="client-3")


def committed(*, lasts: int = 5 * MINUTE) -> Transacting:
    run = Transacting()
    run.half(0, 0)
    run.half(10, 1, "ROLLBACK")
    run.half(20, 2, "")
    run.gave(100, 0, 0)
    run.lasts(lasts)
    return run


def test_committed_ones_come_once_and_others_never() -> None:
    one = judged(check_transactions, committed())
    assert (one.outcome, one.measures["committed"], one.measures["shown"]) == (PASS, 1, 1)


@pytest.mark.parametrize("message", [1, 2])
def test_what_did_not_commit_is_shown_to_nobody(message: int) -> None:
    run = committed()
    run.gave(200, message, 1)
    assert kinds(judged(check_transactions, run)) == {"rolled-back-shown": False}


def test_nothing_is_shown_before_it_commits() -> None:
    run = Transacting()
    run.half(1_000, 0)
    run.gave(500, 0, 0)
    assert kinds(judged(check_transactions, run)) == {"rolled-back-shown": False}


@pytest.mark.parametrize(("lasts", "outcome"), [(5 * MINUTE, FAIL), (MINUTE, PASS)])
def test_what_committed_comes_when_the_broker_has_asked_twice(lasts: int, outcome: Outcome) -> None:
    run = committed(lasts=lasts)
    run.half(30, 3)
    assert judged(check_transactions, run).outcome is outcome


def test_what_committed_may_be_gone_with_the_disk() -> None:
    run = committed()
    run.half(30, 3)
    run.fault("cut_power", "broker-a-0", 50, 51, heal=1_000)
    assert kinds(judged(check_transactions, run)) == {"committed-lost": True}


def test_a_half_that_was_stored_once_is_shown_once() -> None:
    run = committed()
    run.gave(200, 0, 7)
    assert kinds(judged(check_transactions, run)) == {"shown-twice": False}


def test_a_half_that_was_tried_twice_may_be_two() -> None:
    run = Transacting()
    run.half(0, 0, tries=2)
    run.gave(100, 0, 0)
    run.gave(200, 0, 7)
    one = judged(check_transactions, run)
    assert (one.outcome, one.measures["shown_twice_by_cause"]) == (PASS, {"half-twice": 1})


def test_a_broker_that_died_may_ask_again() -> None:
    run = committed()
    run.gave(200, 0, 7)
    run.fault("kill", "broker-a-0", 150, 151, heal=180)
    assert judged(check_transactions, run).measures["shown_twice_by_cause"] == {"replayed": 1}


def test_the_asking_comes_to_an_end() -> None:
    run = committed()
    for number in range(15):
        run.asked(1_000 + number, 1, "UNKNOWN")
    assert judged(check_transactions, run).outcome is PASS
    run.asked(2_000, 1, "UNKNOWN")
    assert kinds(judged(check_transactions, run)) == {"asked-too-often": False}


def test_without_a_commit_nothing_is_shown() -> None:
    run = Transacting()
    run.half(0, 0, "ROLLBACK")
    assert judged(check_transactions, run).outcome is UNKNOWN


# -- replies -----------------------------------------------------------------------------------------------------------


def asked_and_answered() -> Transacting:
    run = Transacting()
    run.requested(0, 0, answer=0)
    run.replied(400, 0)
    return run


def test_each_its_own_reply() -> None:
    one = judged(check_replies, asked_and_answered())
    assert (one.outcome, one.measures) == (PASS, {"requests": 1, "answered": 1, "handed_over": 1, "late_or_twice": 0})


def test_where_nobody_hears_that_a_reply_was_handed_over_none_can_be_missed() -> None:
    run = Transacting()
    run.requested(0, 0, answer=0)
    run.replied(400, 0, "TIMEOUT")
    verdict = judged(check_replies, run)
    assert (verdict.outcome, verdict.measures["handed_over"]) == (UNKNOWN, 0)


def test_the_reply_to_another_request() -> None:
    run = asked_and_answered()
    run.requested(1_000, 1, answer=0)
    assert kinds(judged(check_replies, run)) == {"wrong-reply": False}


def test_a_reply_at_another_client() -> None:
    run = asked_and_answered()
    run.stray(2_000, "client-3", 0)
    assert kinds(judged(check_replies, run)) == {"wrong-caller": False}


def test_a_reply_that_comes_twice_to_who_asked() -> None:
    run = asked_and_answered()
    run.stray(2_000, "client-2", 0)
    assert judged(check_replies, run).measures["late_or_twice"] == 1


def test_a_reply_that_was_handed_over_arrives() -> None:
    run = asked_and_answered()
    run.requested(10_000, 1)
    run.replied(11_000, 1)
    assert kinds(judged(check_replies, run)) == {"reply-lost": False}


def test_a_caller_that_was_away_may_have_missed_it() -> None:
    run = asked_and_answered()
    run.requested(10_000, 1)
    run.replied(11_000, 1)
    run.fault("pause", "client-2", 10_500, 10_501, heal=12_000)
    assert kinds(judged(check_replies, run)) == {"reply-lost": True}


@pytest.mark.parametrize(("at", "status"), [(11_000, "SYSTEM_ERROR"), (14_000, "OK")])
def test_a_reply_that_was_not_handed_over_or_too_late_is_nobody_s_fault(at: int, status: str) -> None:
    run = asked_and_answered()
    run.requested(10_000, 1)
    run.replied(at, 1, status)
    assert judged(check_replies, run).outcome is PASS
