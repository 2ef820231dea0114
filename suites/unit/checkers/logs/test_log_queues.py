"""Many queues, some of them contradicted: each is told for itself, whatever the others are."""

from __future__ import annotations

import numpy as np
import pytest

from checkers.logs.columns import ACKED, Appends, Claims, LogInput
from checkers.logs.contradictions import LOOKS, look_at_each
from checkers.logs.linear import LogResult, check_log
from checkers.runs import log_plan
from checkers.runs.log import check_logs
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.build import Build


def judge(build: Build) -> Verdict:
    return check_logs(build.history(), build.facts())


def told(verdict: Verdict) -> dict[str, tuple[str, int]]:
    """Queue → (kind, how many)."""
    one = verdict.anomalies
    return {str(each.details["queue"])[-1]: (each.kind, int(str(each.details["count"]))) for each in one}


def test_each_queue_counts_its_own() -> None:
    """Three messages at one offset, and two in another queue, and an append that ran ahead of two others."""
    build = Build()
    for queue, messages in ((0, 3), (1, 2)):
        for number in range(messages):
            build.send(10 * number, 10 * number + 1, 10 * queue + number, 0, queue=queue)
    build.send(0, 1, 30, 1, queue=3)
    build.send(10, 11, 31, 0, queue=3)
    verdict = judge(build)
    expected = {"0": ("two-values-one-offset", 2), "1": ("two-values-one-offset", 1), "3": ("real-time-order", 1)}
    assert told(verdict) == expected, told(verdict)


@pytest.mark.parametrize("cut", [False, True], ids=["at once", "in the next epoch"])
@pytest.mark.parametrize(
    ("status", "kind"), [("SEND_OK", "wrong-queue"), ("SERVICE_NOT_AVAILABLE", "failed-append-visible")]
)
def test_a_message_of_a_broken_queue_that_is_read_in_another_is_not_one_that_nobody_sent(
    cut: bool, status: str, kind: str
) -> None:
    build = Build()
    build.send(0, 1, 0, 0)
    build.send(2, 3, 1, 0)
    build.send(4, 5, 2, 1 if status == "SEND_OK" else -1, status=status)
    if cut:
        build.fault("cut_power", "broker-a-0", 50, 50, heal=60)
    build.pull(70, 71, 0, [2], queue=1)
    build.pull(72, 73, 0, [99], queue=3)
    verdict = judge(build)
    assert {queue: one for queue, (one, _) in told(verdict).items()} == {
        "0": "two-values-one-offset",
        "1": kind,
        "3": "phantom",
    }
    (elsewhere,) = (one for one in verdict.anomalies if one.kind == kind)
    assert elsewhere.ops[0] == 2, "the send is the first proof"


def test_queues_are_told_whatever_the_epoch_and_the_kind() -> None:
    """Two queues of broker-a are broken on either side of its cut, one of broker-b by what was in flight over its own;
    the fourth is right only if its poll came after."""
    build = Build()
    for queue in range(4):
        build.send(queue, queue + 10, 10 * queue, 0, queue=queue)
    build.fault("cut_power", "broker-a-0", 50, 50, heal=60)
    build.fault("cut_power", "broker-b-0", 52, 52, heal=62, fault="f2")
    build.send(20, 21, 11, 0, queue=0)
    build.pull(100, 101, 0, [7], queue=1)
    build.pull(45, 110, 0, [77], queue=2)
    build.send(70, 71, 31, 1, queue=3)
    build.pull(45, 120, 0, [30, 31], queue=3)
    expected = {"0": ("two-values-one-offset", 1), "1": ("phantom", 1), "2": ("two-values-one-offset", 1)}
    assert told(judge(build)) == expected


def test_what_the_epochs_one_by_one_prove_needs_no_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    build = Build()
    build.send(0, 1, 0, 0)
    build.send(10, 11, 1, 1)
    build.fault("cut_power", "broker-a-0", 50, 50, heal=60)
    build.send(80, 81, 2, 1)
    build.pull(45, 90, 0, [0, 2])
    monkeypatch.setattr(log_plan, "explain", lambda told, tries: None)
    verdict = judge(build)
    assert verdict.outcome is Outcome.PASS, verdict


@pytest.mark.parametrize("broken", [0, 1, LOOKS, 5 * LOOKS, 200])
def test_however_many_they_are(broken: int) -> None:
    """Each look names one pair of all queues; past some looks the rest are found by halves."""
    queue, each = np.repeat(np.arange(200), 3), np.tile(np.arange(3), 200)
    begun = np.where(queue < broken, 100 - 10 * each, 10 * each)
    appends = Appends(
        queue, np.arange(600), each, begun, begun + 1, np.full(600, ACKED, dtype=np.int64), np.arange(600)
    )
    looks = []

    def look(log: LogInput) -> LogResult:
        looks.append(len(log.appends))
        return check_log(log)

    found = look_at_each(LogInput(200, appends), look)
    assert sorted(found.contradicted) == list(range(broken))
    assert not found.said.violations
    assert found.rest.queues() == list(range(broken, 200))
    assert sum(looks) < 600 * (2 * LOOKS + 12)


def test_an_absurd_offset_is_blamed_on_the_queue_that_claims_it() -> None:
    """Eight empty queues claim to be as long as the ninth, which is."""
    size = 300_000
    a = np.arange(size)
    zeros = np.zeros(size, dtype=np.int64)
    appends = Appends(zeros, a, a, 10 * a, 10 * a + 5, zeros, a)
    others = np.arange(1, 9)
    at = np.full(8, 10 * size)
    ends = Claims(others, np.full(8, size - 1_000), at, at + 1, size + others)
    (violation,) = check_log(LogInput(9, appends, ends=ends)).violations
    assert (violation.kind, violation.ops) == ("hole-without-writer", (size + violation.queue,))
    assert violation.queue > 0
