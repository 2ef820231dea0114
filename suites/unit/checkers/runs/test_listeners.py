"""What listeners are given: each violation by hand, and its lawful neighbour."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.runs.delays import check_delays
from checkers.runs.key_order import check_order
from checkers.runs.listener_deliveries import check_listeners
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.build import MS, Build

PASS, UNKNOWN, FAIL = Outcome.PASS, Outcome.UNKNOWN, Outcome.FAIL
G = "readers"


class Listening(Build):
    """Sends, and what listeners of one group are given. Times in milliseconds."""

    def sent(
        self, at: int, message: int, offset: int, *, queue: int = 0, kind: str = "plain", key: str = "", due: int = -1
    ) -> None:
        """A send that is acknowledged after a millisecond, as the application sees it and as the broker does."""
        self.op("produce", at, at + 3, "OK", message=message)
        self.send(at + 1, at + 2, message=message, offset=offset, queue=queue)
        about = {"process": 0, "sequence": 0, "sharding_key": key, "size": 64, "tags": "", "kind": kind}
        self.messages.append({"message": message, **about, "due_ns": due * MS if due >= 0 else -1})

    def gave(
        self,
        at: int,
        message: int,
        offset: int,
        *,
        by: str = "client-2",
        queue: int = 0,
        times: int = 0,
        took: int = 1,
        said: str = "CONSUMED",
    ) -> None:
        """The listener of *by* has it from *at* for *took*."""
        detail = json.dumps({"times": times})
        op = self.op(
            "deliver", at, at + took, said, queue=queue, offset=offset, node=by, group=G, count=1, detail=detail
        )
        self.reads.append({"op": op, "position": 0, "offset": offset, "message": message, "detail": ""})

    def ended(self, counts: dict[int, list[int]]) -> None:
        """The drain of each queue."""
        for queue, got in counts.items():
            self.drain(900, 901, at=0, got=got, queue=queue)
            self.drained(902, at=len(got), queue=queue)


def judged(check: Callable[[History, RunFacts], Verdict], run: Listening, **facts: object) -> Verdict:
    nodes = {"broker-a-0": {}, "broker-b-0": {}, "client-2": {}, "client-3": {}}
    return check(run.history(), run.facts(mode="multi-master", nodes=nodes, **facts))  # type: ignore[arg-type]


def kinds(verdict: Verdict) -> dict[str, bool]:
    return {anomaly.kind: anomaly.allowed for anomaly in verdict.anomalies}


def three_in_order() -> Listening:
    run = Listening()
    for number in range(3):
        run.sent(10 * number, number, number, kind="ordered", key="k")
    run.ended({0: [0, 1, 2]})
    return run


def test_everything_once_is_a_pass() -> None:
    run = three_in_order()
    for number in range(3):
        run.gave(100 + 10 * number, number, number)
    assert judged(check_listeners, run).outcome is PASS
    order = judged(check_order, run)
    assert (order.outcome, order.measures["keys"], order.measures["keys_moved"]) == (PASS, 1, 0)


def test_what_nobody_was_given_is_named() -> None:
    run = three_in_order()
    run.gave(100, 0, 0)
    run.gave(110, 2, 2)
    verdict = judged(check_listeners, run)
    assert (verdict.outcome, kinds(verdict)) == (FAIL, {"undelivered": False})
    assert "m1 (t/broker-a/0)" in verdict.anomalies[0].sentence


@pytest.mark.parametrize(
    ("committed", "committed_at", "cut_at", "found"),
    [
        (2, 40, 45, {"skipped": True}),  # what stood at 1 was not wanted, and is passed all the same
        (1, 40, 45, {"undelivered": False}),
        (2, 70, 45, {"undelivered": False}),  # it was there by then
        (2, 40, 900, {"undelivered": False}),
    ],
)
def test_what_stands_below_an_offset_that_was_committed_is_skipped(committed, committed_at, cut_at, found) -> None:
    run = Listening()
    run.sent(0, 0, 0)
    run.gave(30, 0, 0)
    run.op("commit_offset", committed_at, committed_at + 1, "OK", queue=0, offset=committed, node="client-2", group=G)
    run.fault("cut_power", "broker-a-0", cut_at, cut_at + 1, heal=cut_at + 5)
    run.sent(60, 1, 1)
    run.ended({0: [0, 1]})
    assert kinds(judged(check_listeners, run)) == found


def test_a_rolled_back_message_must_not_be_given() -> None:
    run = Listening()
    run.sent(0, 0, 0, kind="rollback")
    run.sent(10, 1, 1, kind="commit")
    run.ended({0: [0, 1]})
    run.gave(100, 1, 1)
    assert judged(check_listeners, run).outcome is PASS
    run.gave(110, 0, 0)
    assert kinds(judged(check_listeners, run)) == {"rolled-back-delivered": False}


@pytest.mark.parametrize(
    ("second", "cause"),
    [
        ({"by": "client-3"}, "moved"),
        ({"by": "client-2"}, "went-back"),
        ({"by": "client-2", "times": 1}, "given-back"),
    ],
)
def test_what_comes_again_is_attributed(second: dict[str, object], cause: str) -> None:
    run = Listening()
    run.sent(0, 0, 0)
    run.ended({0: [0]})
    run.gave(100, 0, 0)
    run.gave(200, 0, 0, **second)  # type: ignore[arg-type]
    verdict = judged(check_listeners, run)
    assert (verdict.outcome, verdict.measures["again_by_cause"]) == (PASS, {cause: 1})


def refused(*, again: bool, times: int = 1, after: int = 61_000) -> Listening:
    """Message 0 is refused; it may come again, from the retry topic of the same broker. The run ends *after*."""
    run = Listening()
    run.sent(0, 0, 0)
    run.ended({0: [0]})
    run.gave(100, 0, 0, said="LATER")
    if again:
        run.gave(200, 0, 0, queue=1, times=times)
    run.op("query_max", after, after + 1, "OK", queue=0)
    return run


def test_what_is_refused_must_come_again() -> None:
    assert judged(check_listeners, refused(again=True)).outcome is PASS
    assert kinds(judged(check_listeners, refused(again=False))) == {"refused-lost": False}


def test_what_is_refused_in_a_broadcast_is_gone() -> None:
    run = refused(again=False)
    run.op("broadcast", 50, None, "NEVER_COMPLETED", queue=0, node="client-2", group=G)
    assert kinds(judged(check_listeners, run)) == {}


def test_a_run_that_ends_too_early_proves_nothing() -> None:
    assert judged(check_listeners, refused(again=False, after=30_000)).outcome is PASS


def test_what_is_refused_may_be_gone_with_the_disk() -> None:
    run = refused(again=False)
    run.fault("cut_power", "broker-a-0", 150, 152, heal=160)
    assert kinds(judged(check_listeners, run)) == {"refused-lost": True}


def test_what_comes_again_is_counted() -> None:
    run = refused(again=True, times=0)
    run.topics[1] = "%RETRY%readers"
    assert kinds(judged(check_listeners, run)) == {"not-counted": False}


def test_a_message_at_two_places_was_stored_twice() -> None:
    run = Listening()
    run.sent(0, 0, 0)
    run.ended({0: [0, 0]})
    run.gave(100, 0, 0)
    run.gave(110, 0, 1)
    assert judged(check_listeners, run).measures["again_by_cause"] == {"stored-twice": 1}


def test_a_disorder_in_one_queue_is_a_fail() -> None:
    run = three_in_order()
    for at, number in ((100, 0), (110, 2), (120, 1)):
        run.gave(at, number, number)
    assert kinds(judged(check_order, run)) == {"disorder": False}


def test_a_key_that_moved_may_lose_its_order() -> None:
    run = Listening()
    run.sent(0, 0, 0, kind="ordered", key="k")
    run.sent(10, 1, 0, queue=2, kind="ordered", key="k")
    run.ended({0: [0], 2: [1]})
    run.gave(100, 1, 0, queue=2)
    run.gave(110, 0, 0)
    verdict = judged(check_order, run)
    assert (kinds(verdict), verdict.measures["keys_moved"]) == ({"moved-disorder": True}, 1)


def two_at_work() -> Listening:
    run = three_in_order()
    run.gave(100, 0, 0, took=50)
    run.gave(120, 1, 1, by="client-3")
    run.gave(160, 2, 2, by="client-3")
    return run


def test_two_listeners_in_one_queue_are_a_fail_without_a_fault() -> None:
    assert kinds(judged(check_order, two_at_work()))["overlap"] is False


@pytest.mark.parametrize(("do", "node"), [("pause", "client-2"), ("kill", "broker-a-0"), ("partition", "client-2")])
def test_a_fault_that_breaks_a_lock_explains_two_listeners(do: str, node: str) -> None:
    run = two_at_work()
    run.fault(do, node, 50, 52, heal=90)
    assert kinds(judged(check_order, run))["overlap"] is True


@pytest.mark.parametrize(("at", "allowed"), [(89_000, True), (92_000, False)])
def test_a_fault_that_was_healed_long_ago_explains_nothing(at: int, allowed: bool) -> None:
    run = three_in_order()
    run.fault("pause", "client-2", 50, 52, heal=90)
    run.gave(at, 0, 0, took=50)
    run.gave(at + 20, 1, 1, by="client-3")
    assert kinds(judged(check_order, run))["overlap"] is allowed


def test_a_fault_elsewhere_explains_nothing() -> None:
    run = two_at_work()
    run.fault("kill", "broker-b-0", 50, 52, heal=90)
    assert kinds(judged(check_order, run))["overlap"] is False


@pytest.mark.parametrize(("at", "outcome"), [(1_004, PASS), (1_001, PASS), (990, FAIL)])
def test_delayed_messages_are_not_early(at: int, outcome: Outcome) -> None:
    run = Listening()
    run.sent(0, 0, 0, kind="delayed", due=1_003)
    run.gave(at, 0, 0)
    assert judged(check_delays, run).outcome is outcome


@pytest.mark.parametrize(
    ("do", "node", "at", "heal", "allowed"),
    [
        ("step_clock", "broker-a-0", 100, 5_000, True),
        ("step_clock", "broker-a-0", -500, 200, True),  # it was stored by the other clock
        ("step_clock", "broker-a-0", 900, 5_000, False),  # it had been given by then
        ("step_clock", "broker-a-0", -900, -500, False),
        ("step_clock", "broker-b-0", 100, 5_000, False),
        ("kill", "broker-a-0", 100, 5_000, False),
    ],
)
def test_a_clock_that_was_set_excuses_what_came_early(do: str, node: str, at: int, heal: int, allowed: bool) -> None:
    run = Listening()
    run.sent(0, 0, 0, kind="delayed", due=1_003)
    run.gave(800, 0, 0)
    run.fault(do, node, at, at + 2, heal=heal)
    assert kinds(judged(check_delays, run)) == {"early": allowed}


@pytest.mark.parametrize(("at", "allowed"), [(-500, True), (500, False)])
def test_what_was_taken_by_another_clock_may_come_after_the_run(at: int, allowed: bool) -> None:
    run = Listening()
    run.op("produce", 0, 3, "OK", message=0)
    run.op("send_delayed", 1, 2, "SEND_OK", message=0, offset=0, queue=0, outcome="ok", node="broker-a-0")
    run.messages.append(
        {"message": 0, "process": 0, "sequence": 0, "sharding_key": "", "size": 64, "tags": "", "kind": "delayed"}
        | {"due_ns": 1_003 * MS}
    )
    run.gave(30_000, 1, 1)
    run.fault("step_clock", "broker-a-0", at, at + 2, heal=at + 800)
    assert kinds(judged(check_delays, run)) == {"never-given": allowed}


def moved_twice() -> Listening:
    """m0 was sent once, and given from two places."""
    run = Listening()
    run.sent(0, 0, 0, kind="delayed", due=1_003)
    run.gave(40_000, 0, 0)
    run.gave(70_000, 0, 1)
    return run


def test_a_delayed_message_is_given_from_one_place() -> None:
    assert kinds(judged(check_delays, moved_twice())) == {"moved-twice": False}


def test_a_message_that_was_sent_twice_may_stand_at_two_places() -> None:
    run = moved_twice()
    run.send(5, 6, message=0, offset=1)
    assert judged(check_delays, run).outcome is PASS


def test_what_was_refused_at_a_send_stands_nowhere() -> None:
    run = moved_twice()
    run.op("send", 5, 6, "TOPIC_NOT_EXIST", message=0)
    assert kinds(judged(check_delays, run)) == {"moved-twice": False}


def test_a_retry_is_another_message() -> None:
    run = Listening()
    run.sent(0, 0, 0, kind="delayed", due=1_003)
    run.gave(40_000, 0, 0, said="LATER")
    run.topics[1] = "%RETRY%readers"
    run.gave(70_000, 0, 0, queue=1, times=1)
    assert kinds(judged(check_delays, run)) == {}


@pytest.mark.parametrize(("do", "node", "at", "allowed"), [
    ("kill", "broker-a-0", 64_000, True), ("kill", "broker-a-0", 66_000, False), ("kill", "broker-a-0", 5_000, False),
    ("cut_power", "broker-a-0", 69_000, True), ("stop", "broker-a-0", 50_000, False),
    ("pause", "broker-a-0", 50_000, False), ("kill", "broker-b-0", 50_000, False),
])  # fmt: skip
def test_an_end_of_the_broker_excuses_what_it_had_not_written_down(do: str, node: str, at: int, allowed: bool) -> None:
    run = moved_twice()
    run.fault(do, node, at, at + 2, heal=at + 100)
    assert kinds(judged(check_delays, run)) == {"moved-twice": allowed}


@pytest.mark.parametrize(
    ("do", "allowed"), [("adopt_slave", True), ("kill", True), ("pause", True), ("step_clock", False)]
)
def test_in_a_group_whatever_changes_the_leader_excuses_it(do: str, allowed: bool) -> None:
    """Another one leads, and has heard how far the last one had come every ten seconds."""
    run = moved_twice()
    run.fault(do, "broker-a-0", 50_000, 50_002, heal=50_100)
    nodes = {"broker-a-0": {}, "client-2": {}, "client-3": {}}
    assert kinds(check_delays(run.history(), run.facts(mode="dledger", nodes=nodes))) == {"moved-twice": allowed}


@pytest.mark.parametrize("is_known", [True, False])
def test_a_broker_that_knows_its_topics_no_more_cannot_give_what_is_due(is_known: bool) -> None:
    run = Listening()
    run.sent(0, 0, 0, kind="delayed", due=1_003)
    run.sent(10, 1, 1, kind="delayed", due=1_013)
    run.op("send_delayed", 11, 12, "SEND_OK", message=1, queue=0)
    run.gave(2_000, 0, 0)
    if not is_known:
        run.event(500, "note", "unreachable", "broker-a-0", topic="t")
    assert kinds(judged(check_delays, run)) == {"never-given": not is_known}


# -- orderly groups ----------------------------------------------------------------------------------------------------


def orderly(*, times_max: int = 2) -> Listening:
    """Three messages of one key, of a group whose listeners are orderly."""
    run = three_in_order()
    run.op("subscribe", 0, 1, "OK", group=G, detail=json.dumps({"orderly": True, "times_max": times_max}))
    return run


REFUSED_FIRST = [(100, 0, 0, "client-2", "LATER")]
"""At, message, times, by whom, said."""


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        pytest.param([(110, 0, 1, "client-2", "CONSUMED"), (120, 1, 0, "client-2", "CONSUMED")], False, id="again"),
        pytest.param([(110, 1, 0, "client-2", "CONSUMED"), (120, 0, 1, "client-2", "CONSUMED")], True, id="past it"),
        pytest.param([(110, 0, 2, "client-2", "LATER"), (120, 1, 0, "client-2", "CONSUMED")], False, id="dead letter"),
        pytest.param([(110, 0, 1, "client-2", "LATER"), (120, 1, 0, "client-2", "CONSUMED")], True, id="not yet dead"),
        pytest.param(
            [(110, 0, 0, "client-3", "CONSUMED"), (120, 1, 0, "client-2", "CONSUMED")], False, id="by another"
        ),
        pytest.param([(110, 1, 0, "client-3", "CONSUMED")], False, id="another goes on where it is told to"),
    ],
)
def test_what_an_orderly_member_refuses_comes_before_anything_later(
    given: list[tuple[int, int, int, str, str]], passed: bool
) -> None:
    run = orderly()
    for at, message, times, by, said in [*REFUSED_FIRST, *given]:
        run.gave(at, message, message, times=times, by=by, said=said)
    assert kinds(judged(check_order, run)) == ({"passed-over": False} if passed else {})


def test_who_does_not_say_that_it_is_orderly_may_pass_over_what_it_refused() -> None:
    run = three_in_order()
    run.gave(100, 0, 0, said="LATER")
    run.gave(110, 1, 1)
    assert kinds(judged(check_order, run)) == {}


def test_a_fault_that_takes_data_may_take_what_was_to_come_again() -> None:
    run = orderly()
    run.gave(100, 0, 0, said="LATER")
    run.fault("cut_power", "broker-a-0", 102, 104, heal=106)
    run.gave(110, 1, 1)
    assert kinds(judged(check_order, run)) == {"passed-over": True}


def died_at_work(*, killed: bool) -> Listening:
    """client-2 never answers about m0; client-3 is given it again, and the rest."""
    run = three_in_order()
    run.op("deliver", 100, None, "NEVER_COMPLETED", queue=0, offset=0, node="client-2", group=G, count=-1)
    if killed:
        run.fault("kill", "client-2", 105, 106, heal=200)
    for number in range(3):
        run.gave(110 + 10 * number, number, number, by="client-3")
    return run


def test_who_died_in_the_middle_of_a_message_works_on_it_no_more() -> None:
    assert kinds(judged(check_order, died_at_work(killed=True))) == {}
    assert kinds(judged(check_order, died_at_work(killed=False))) == {"overlap": False}


def thawed(*, frozen: str) -> Listening:
    """client-2 has m0 for 200 ms; meanwhile client-3 is given it, and m1."""
    run = three_in_order()
    run.fault("pause", frozen, 101, 102, heal=290)
    run.gave(100, 0, 0, took=200)
    run.gave(200, 0, 0, by="client-3")
    run.gave(210, 1, 1, by="client-3")
    return run


def test_a_frozen_listener_that_still_has_a_message_explains_that_the_next_one_was_given() -> None:
    assert kinds(judged(check_order, thawed(frozen="client-2"))) == {"disorder": True, "overlap": True}
    assert kinds(judged(check_order, thawed(frozen="broker-b-0"))) == {"disorder": False, "overlap": False}
