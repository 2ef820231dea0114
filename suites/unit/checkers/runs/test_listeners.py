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
