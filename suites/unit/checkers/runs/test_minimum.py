"""Getting on from where a queue begins: each violation by hand, and its lawful neighbour."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from checkers.runs.checks import check_all
from checkers.runs.minimum_offset import REPEATED, check_minimum, has_minimum
from checkers.verdict import Outcome
from suites.unit.checkers.build import Build

PASS, UNKNOWN, FAIL = Outcome.PASS, Outcome.UNKNOWN, Outcome.FAIL
MASTER, SLAVE = "broker-a-0", "broker-a-1"
Story = Callable[[Build], None]


def sent(run: Build, at: int, offset: int, to: int, *, node: str = MASTER, status: str = "PULL_OFFSET_MOVED") -> int:
    """A pull of *offset* that is sent *to* another."""
    return run.op("drain", at, at + 1, status, queue=0, offset=offset, node=node, count=0, next_offset=to)


def stuck(run: Build, *, from_ms: int = 20, times: int = 3, **more: str) -> None:
    """The queue begins at 5, and whoever asks there is sent there."""
    run.query_min(10, 11, start=5)
    for number in range(times):
        sent(run, from_ms + 2 * number, 5, 5, **more)


def gets_on(run: Build) -> None:
    run.query_min(10, 11, start=5)
    run.drain(20, 21, at=5, got=[5, 6])
    run.drained(22, at=7)


def sent_forward(run: Build) -> None:
    """The minimum moves on while somebody reads, twice."""
    run.query_min(10, 11, start=5)
    sent(run, 20, 5, 8)
    sent(run, 22, 8, 12)
    run.drain(24, 25, at=12, got=[12])


def sent_to_the_end(run: Build) -> None:
    """Beyond the end, which no answer had named: two readers, one after the other."""
    sent(run, 20, 30, 12)
    sent(run, 22, 30, 12)
    run.drained(24, at=12)


def told_by_a_refusal(run: Build) -> None:
    sent(run, 20, 0, 5)
    sent(run, 22, 5, 5)
    sent(run, 24, 5, 5)


def waits_for_its_master(run: Build) -> None:
    stuck(run, node=SLAVE, status="PULL_RETRY_IMMEDIATELY")
    run.drain(90, 91, at=5, got=[5])


def in_a_circle(run: Build) -> None:
    """From 5 to 3, from there to 5, and so on: 3 was named once, 5 over and over."""
    run.query_min(10, 11, start=5)
    for number in range(3):
        sent(run, 20 + 4 * number, 5, 3)
        sent(run, 22 + 4 * number, 3, 5)


def sent_back(fault: str = "", at: int = 14, bit: int = 1) -> Story:
    """The queue began at 5, and now two readers are told that it ends at 3."""

    def story(run: Build) -> None:
        run.query_min(10, 11, start=5)
        if fault:
            run.fault(fault, MASTER, at, at + 1, heal=at + 5, bit=bit)
        sent(run, 30, 5, 3)
        sent(run, 32, 5, 3)
        run.drained(34, at=3)

    return story


STORIES: dict[str, tuple[Story, Outcome]] = {
    "it gets on": (gets_on, PASS),
    "it is sent forward as often as the queue moves": (sent_forward, PASS),
    "it is sent back to the end": (sent_to_the_end, PASS),
    "it is sent to where it is": (stuck, FAIL),
    "by code 20, too": (lambda run: stuck(run, status="PULL_RETRY_IMMEDIATELY"), FAIL),
    "once is not again and again": (lambda run: stuck(run, times=1), PASS),
    "twice is": (lambda run: stuck(run, times=2), FAIL),
    "the refusal itself had named it": (told_by_a_refusal, FAIL),
    "there and back": (in_a_circle, FAIL),
    "a slave waits for its master": (waits_for_its_master, PASS),
    "nobody asks there": (lambda run: stuck(run, times=0), UNKNOWN),
    "somebody asks elsewhere": (lambda run: sent(run, 20, 30, 12), UNKNOWN),
    "there is less than there was": (sent_back(), FAIL),
    "data was lost in between": (sent_back("cut_power"), PASS),
    "a cut that did nothing loses none": (sent_back("cut_power", bit=0), FAIL),
    "a kill takes no data": (sent_back("kill"), FAIL),
    "data was lost before the offset was named": (sent_back("cut_power", at=2), FAIL),
}


@pytest.mark.parametrize("name", STORIES)
def test_a_reader_gets_on_from_where_it_was_told_to_begin(name: str) -> None:
    story, outcome = STORIES[name]
    run = Build()
    story(run)
    verdict = check_minimum(run.history(), run.facts())
    assert verdict.outcome is outcome
    assert {anomaly.kind for anomaly in verdict.anomalies} == ({"stuck-at-minimum"} if outcome is FAIL else set())


def test_what_a_person_is_told() -> None:
    run = Build()
    stuck(run)
    (anomaly,) = check_minimum(run.history(), run.facts()).anomalies
    assert anomaly.ops == (0, 1, 3)
    assert "broker-a-0 had named 5 as the offset to go on at in t/broker-a/0 (op 0: query_min" in anomaly.sentence
    assert "sent whoever asked for it to 5, 3 times within 0.005 s: nobody gets on from there" in anomaly.sentence


def test_a_claim_that_was_answered_too_late_binds_nobody() -> None:
    """The reader had asked before the minimum was told."""
    run = Build()
    run.query_min(10, 40, start=5)
    sent(run, 20, 5, 3)
    sent(run, 22, 5, 3)
    assert check_minimum(run.history(), run.facts()).outcome is PASS


def test_a_claim_after_the_loss_binds_again() -> None:
    run = Build()
    run.query_min(10, 11, start=5)
    run.fault("cut_power", MASTER, 14, 15, heal=20)
    sent(run, 30, 5, 3)
    sent(run, 32, 5, 3)
    told = run.query_min(40, 41, start=5)
    first = sent(run, 50, 5, 3)
    assert check_minimum(run.history(), run.facts()).outcome is PASS
    last = sent(run, 52, 5, 3)
    (anomaly,) = check_minimum(run.history(), run.facts()).anomalies
    assert anomaly.details["count"] == REPEATED
    assert anomaly.ops == (told, first, last)


def test_a_reader_that_asks_for_ever_is_judged_in_time() -> None:
    """Every answer names the offset anew: 10,000 before data was lost, and as many after it."""
    run = Build()
    for number in range(20_000):
        sent(run, 2 * number, 5, 5)
    run.fault("cut_power", MASTER, 19_999, 19_999, heal=20_000)
    (anomaly,) = check_minimum(run.history(), run.facts()).anomalies
    assert anomaly.details["count"] == 20_000 - 3  # the first, the one in flight, the first after it


def test_queues_do_not_mix() -> None:
    run = Build()
    run.query_min(10, 11, start=5, queue=1)
    sent(run, 20, 5, 3)
    sent(run, 22, 5, 3)
    run.drained(24, at=3)
    assert check_minimum(run.history(), run.facts()).outcome is PASS


def test_who_was_never_told_anything_is_not_judged() -> None:
    run = Build()
    run.send(0, 1, message=0, offset=0)
    run.query_min(8, 9, start=0)
    run.drain(10, 11, at=0, got=[0])
    run.drained(12, at=1)
    assert not has_minimum(run.history(), run.facts())
    assert "minimum" not in {verdict.check for verdict in check_all(run.history(), run.facts())}
    assert check_minimum(Build().history(), run.facts()).outcome is UNKNOWN


def test_a_queue_that_begins_later_is() -> None:
    run = Build()
    gets_on(run)
    assert "minimum" in {verdict.check for verdict in check_all(run.history(), run.facts())}
