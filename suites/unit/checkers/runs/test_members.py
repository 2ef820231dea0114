"""What members of groups rely on: each violation by hand, and its lawful neighbour. Times in milliseconds."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.runs.broadcasts import check_broadcasts
from checkers.runs.locks import check_locks
from checkers.runs.owners import check_owners
from checkers.runs.redelivery import check_redelivery
from checkers.runs.retries import check_retries
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.runs.test_listeners import G, Listening, judged, kinds

PASS, UNKNOWN, FAIL = Outcome.PASS, Outcome.UNKNOWN, Outcome.FAIL
MINUTE = 60_000


class Members(Listening):
    """Queues of members, locks of clients, dead letters."""

    def own(self, begin: int, end: int | None, by: str, queue: int = 0, f: str = "own") -> None:
        self.op(f, begin, end, "OK" if end is not None else "NEVER_COMPLETED", queue=queue, node=by, group=G)

    def lasts(self, until: int) -> None:
        """The run goes on until then."""
        self.op("query_max", until, until + 1, "OK", queue=0)

    def lock(self, at: int, by: str, status: str = "OK", f: str = "lock", queue: int = 0) -> None:
        self.op(f, at, at + 2, status, queue=queue, node=by, group=G)

    def orderly(self) -> None:
        """The group says that its listeners are orderly ones."""
        self.op("subscribe", 0, 1, "OK", group=G, detail=json.dumps({"orderly": True, "times_max": 2}))

    def buried(self, at: int, *messages: int, times_max: int = 2) -> None:
        """The dead letters are read to their end."""
        detail = json.dumps({"times_max": times_max})
        op = self.op("bury", at, at + 1, "FOUND", queue=3, offset=0, group=G, count=len(messages), detail=detail)
        self.reads += [
            {"op": op, "position": index, "offset": index, "message": message, "detail": ""}
            for index, message in enumerate(messages)
        ]


def verdict(check: Callable[[History, RunFacts], Verdict], run: Members) -> Verdict:
    return judged(check, run)


# -- owners ------------------------------------------------------------------------------------------------------------


def passed_on(*, at: int = 20_000, gap: int = 0, both: int = 0) -> Members:
    """client-2 has the queue, then client-3; the run lasts five minutes."""
    run = Members()
    run.own(1_000, at + both, "client-2")
    run.own(at + gap, None, "client-3")
    run.lasts(5 * MINUTE)
    return run


def test_a_queue_passes_from_one_to_the_other() -> None:
    one = verdict(check_owners, passed_on(gap=2_000))
    assert (one.outcome, one.measures["no_owner_max_ms"], one.measures["two_owners_max_ms"]) == (PASS, 2_000, 0)


@pytest.mark.parametrize(("both", "outcome"), [(29_000, PASS), (60_000, FAIL)])
def test_two_have_a_queue_until_both_have_heard_of_each_other(both: int, outcome: Outcome) -> None:
    one = verdict(check_owners, passed_on(both=both))
    assert (one.outcome, kinds(one)) == (outcome, {} if outcome is PASS else {"two-owners": False})


@pytest.mark.parametrize(("gap", "outcome"), [(29_000, PASS), (60_000, FAIL)])
def test_nobody_has_a_queue_until_somebody_looks(gap: int, outcome: Outcome) -> None:
    one = verdict(check_owners, passed_on(gap=gap))
    assert (one.outcome, kinds(one)) == (outcome, {} if outcome is PASS else {"no-owner": False})


def test_a_dead_member_has_no_queue_and_its_successor_may_take_a_while() -> None:
    run = Members()
    run.own(1_000, None, "client-2")
    run.fault("kill", "client-2", 20_000, 20_001, heal=200_000)
    run.own(50_000, None, "client-3")
    run.lasts(4 * MINUTE)
    assert verdict(check_owners, run).outcome is PASS


def test_a_queue_of_a_dead_member_that_nobody_takes_is_lost_to_the_group() -> None:
    run = Members()
    run.own(1_000, None, "client-2")
    run.fault("kill", "client-2", 20_000, 20_001, heal=400_000)
    run.lasts(5 * MINUTE)
    assert kinds(verdict(check_owners, run)) == {"no-owner": False}


def test_a_run_that_ends_in_the_middle_of_a_change_proves_nothing() -> None:
    run = Members()
    run.own(1_000, 20_000, "client-2")
    run.lasts(22_000)
    assert verdict(check_owners, run).outcome is UNKNOWN


# -- redelivery --------------------------------------------------------------------------------------------------------


def came_again(after: int) -> Members:
    run = Members()
    run.sent(0, 0, 0)
    run.gave(100, 0, 0)
    run.gave(100 + after, 0, 0, by="client-3")
    return run


@pytest.mark.parametrize(("after", "outcome"), [(30_000, PASS), (60_000, FAIL)])
def test_what_was_done_long_ago_does_not_come_again(after: int, outcome: Outcome) -> None:
    assert verdict(check_redelivery, came_again(after)).outcome is outcome


def test_a_fault_in_between_explains_it() -> None:
    run = came_again(60_000)
    run.fault("kill", "broker-a-0", 20_000, 20_001, heal=25_000)
    assert verdict(check_redelivery, run).outcome is PASS


def test_a_fault_that_takes_data_may_take_all_offsets() -> None:
    run = came_again(400_000)
    run.fault("cut_power", "broker-a-0", 20_000, 20_001, heal=25_000)
    assert kinds(verdict(check_redelivery, run)) == {"redelivered-late": True}


# -- retries and dead letters ------------------------------------------------------------------------------------------


def poison(*waits: int, times_max: int = 2) -> Members:
    """Message 0 is refused, again after each of *waits*, and always counted."""
    run = Members()
    run.topics[1] = f"%RETRY%{G}"
    run.sent(0, 0, 0)
    at = 100
    run.gave(at, 0, 0, said="LATER")
    for times, wait in enumerate(waits, 1):
        at += wait
        run.gave(at, 0, times, queue=1, times=times, said="LATER")
    return run


def test_ten_and_thirty_seconds_and_then_the_grave() -> None:
    run = poison(10_000, 30_000)
    run.buried(120_000, 0)
    one = verdict(check_retries, run)
    assert (one.outcome, one.measures["dead"], one.measures["times_max"]) == (PASS, 1, 2)


@pytest.mark.parametrize("waits", [(9_000, 30_000), (10_000, 20_000)])
def test_a_retry_may_not_be_early(waits: tuple[int, int]) -> None:
    run = poison(*waits)
    run.buried(120_000, 0)
    assert kinds(verdict(check_retries, run)) == {"retried-early": False}


def test_a_message_comes_no_oftener_than_its_group_wants() -> None:
    run = poison(10_000, 30_000, 60_000)
    run.buried(200_000, 0)
    assert kinds(verdict(check_retries, run)) == {"over-max": False}


def test_a_message_is_not_buried_alive() -> None:
    run = poison(10_000)
    run.buried(120_000, 0)
    assert kinds(verdict(check_retries, run)) == {"buried-early": False}


def test_what_has_failed_too_often_is_among_the_dead_letters() -> None:
    run = poison(10_000, 30_000)
    run.buried(120_000)
    assert kinds(verdict(check_retries, run)) == {"not-buried": False}


def test_dead_letters_that_are_read_too_soon_prove_nothing() -> None:
    run = poison(10_000, 30_000)
    run.buried(45_000)
    assert verdict(check_retries, run).outcome is PASS


# -- broadcasts --------------------------------------------------------------------------------------------------------


def broadcast(*to_second: int) -> Members:
    """Three messages; client-2 gets all of them, client-3 those given."""
    run = Members()
    for number in range(3):
        run.sent(10 * number, number, number)
    run.ended({0: [0, 1, 2]})
    for member, got in (("client-2", (0, 1, 2)), ("client-3", to_second)):
        run.own(50, None, member, f="broadcast")
        for number in got:
            run.gave(100 + 10 * number, number, number, by=member)
    return run


def test_every_member_gets_everything() -> None:
    assert verdict(check_broadcasts, broadcast(0, 1, 2)).outcome is PASS


def test_a_member_that_went_past_a_message_never_got_it() -> None:
    one = verdict(check_broadcasts, broadcast(0, 2))
    assert (one.outcome, kinds(one)) == (FAIL, {"not-broadcast": False})
    assert "client-3" in one.anomalies[0].sentence


def test_a_member_that_is_still_reading_proves_nothing() -> None:
    assert verdict(check_broadcasts, broadcast(0, 1)).outcome is UNKNOWN


# -- locks -------------------------------------------------------------------------------------------------------------


def one_lock() -> Members:
    """client-2 holds the lock from 1 s to 10 s; client-3 is refused."""
    run = Members()
    run.lock(1_000, "client-2")
    run.lock(2_000, "client-3", "REFUSED")
    run.lock(10_000, "client-2", f="unlock")
    return run


def test_a_lock_passes_on_when_it_is_given_back() -> None:
    run = one_lock()
    run.lock(10_005, "client-3")
    one = verdict(check_locks, run)
    assert (one.outcome, one.measures) == (PASS, {"granted": 2, "refused": 1, "holds": 2})


def test_two_hold_one_lock() -> None:
    run = one_lock()
    run.lock(9_000, "client-3")
    assert kinds(verdict(check_locks, run)) == {"two-holders": False}


def test_a_broker_that_ended_has_forgotten_its_locks() -> None:
    run = one_lock()
    run.fault("kill", "broker-a-0", 7_000, 7_001, heal=8_000)
    run.lock(9_000, "client-3")
    assert kinds(verdict(check_locks, run)) == {"two-holders": True}


def test_a_lock_expires_after_a_minute_of_silence() -> None:
    run = Members()
    run.lock(1_000, "client-2")
    run.lock(30_000, "client-3", "REFUSED")
    run.lock(62_000, "client-3")
    assert verdict(check_locks, run).outcome is PASS


def test_a_lock_that_nobody_holds_is_refused_to_nobody() -> None:
    run = one_lock()
    run.lock(20_000, "client-3", "REFUSED")
    assert kinds(verdict(check_locks, run)) == {"never-free": False}


def test_locks_that_nobody_wanted_at_once_prove_nothing() -> None:
    run = Members()
    run.lock(1_000, "client-2")
    assert verdict(check_locks, run).outcome is UNKNOWN


def given_at(ms: int) -> Members:
    """client-2 of an orderly group has the lock since 1 s, renewed at 21 s, and is given a message then."""
    run = Members()
    run.orderly()
    run.lock(1_000, "client-2")
    run.lock(21_000, "client-2")
    run.sent(500, 0, 0)
    run.gave(ms, 0, 0)
    return run


@pytest.mark.parametrize(("ms", "kind"), [
    (500, "given-unlocked"), (1_001, "given-unlocked"), (1_003, ""), (40_000, ""), (51_002, ""),
    (51_005, "given-unlocked"),
])  # fmt: skip
def test_an_orderly_listener_is_given_nothing_without_a_lock_that_is_young_enough(ms: int, kind: str) -> None:
    one = verdict(check_locks, given_at(ms))
    assert kinds(one) == ({kind: False} if kind else {})
    assert one.outcome is (FAIL if kind else PASS), "nobody has to be refused where listeners show what locks are for"


@pytest.mark.parametrize(("status", "f", "held"), [
    ("REFUSED", "lock", False), ("OK", "unlock", False), ("TIMEOUT", "lock", True),
])  # fmt: skip
def test_a_lock_that_is_refused_or_given_back_counts_no_more_and_one_that_nobody_speaks_of_does(
    status: str, f: str, held: bool
) -> None:
    run = given_at(30_000)
    run.lock(25_000, "client-2", status, f=f)
    assert ("given-unlocked" not in kinds(verdict(check_locks, run))) is held


def test_the_next_life_of_a_member_has_no_locks() -> None:
    run = given_at(30_000)
    run.fault("restart", "client-2", 25_000, 25_001, heal=25_001)
    assert kinds(verdict(check_locks, run)) == {"given-unlocked": False}


def test_the_lock_of_another_queue_or_member_is_of_no_use() -> None:
    run = given_at(30_000)
    run.gave(31_000, 0, 0, queue=1)
    run.gave(32_000, 0, 0, by="client-3")
    one = verdict(check_locks, run)
    assert one.anomalies[0].details["count"] == 2


def test_no_fault_excuses_a_member_that_does_not_look_at_its_lock() -> None:
    run = given_at(60_000)
    run.fault("pause", "client-2", 25_000, 25_001, heal=59_000)
    run.fault("kill", "broker-a-0", 25_000, 25_001, heal=26_000)
    assert kinds(verdict(check_locks, run)) == {"given-unlocked": False}


# -- dead letters of orderly groups ------------------------------------------------------------------------------------


def tired(read_at: int, *, orderly: bool) -> Members:
    """m0 is refused at 0, 1 and 2 and is no dead letter when those are read; it goes there with the delay of level 5,
    a minute."""
    run = Members()
    if orderly:
        run.orderly()
    run.sent(0, 0, 0)
    for times in range(3):
        run.gave(100 + 200 * times, 0, 0, times=times, said="LATER")
    run.buried(read_at)
    return run


@pytest.mark.parametrize(
    ("read_at", "orderly", "missing"), [(20_000, False, True), (60_000, True, False), (75_000, True, True)]
)
def test_a_dead_letter_of_an_orderly_listener_waits_as_long_as_its_count_says(
    read_at: int, orderly: bool, missing: bool
) -> None:
    found = kinds(verdict(check_retries, tired(read_at, orderly=orderly)))
    assert found == ({"not-buried": False} if missing else {})


@pytest.mark.parametrize(("queue", "fault", "over"), [(0, False, True), (0, True, False), (1, True, True)])
def test_a_member_counts_on_while_nobody_takes_what_it_gives_back(queue: int, fault: bool, over: bool) -> None:
    run = tired(200_000, orderly=True)
    run.topics[1] = f"%RETRY%{G}"
    run.gave(1_000, 0, 0, times=3, queue=queue, said="LATER")
    run.buried(200_010, 0)
    if fault:
        run.fault("kill", "broker-a-0", 50, 51, heal=2_000)
    assert ("over-max" in kinds(verdict(check_retries, run))) is over
