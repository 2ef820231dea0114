"""Producers and brokers that should rest: each note by hand, each rule at its border."""

from __future__ import annotations

import json

import pytest

from checkers.runs.avoidance import TRIES, check_avoidance, has_avoidance
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.build import MS, Build

PASS, UNKNOWN, FAIL = Outcome.PASS, Outcome.UNKNOWN, Outcome.FAIL


class Notes:
    """Of one producer that knows brokers a, b and c."""

    def __init__(self, release: str = "4.9.7", brokers: tuple[str, ...] = ("a", "b", "c")) -> None:
        self.build, self.release = Build(), release
        self.routes(0, *brokers)

    def routes(self, ms: int, *brokers: str, ids: tuple[int, ...] = (0,)) -> None:
        self._note(ms, "routes", brokers={broker: list(ids) for broker in brokers})

    def tries(self, ms: int, broker: str, number: int = 1) -> None:
        op = self.build.op("produce", ms, ms + 1, "SEND_OK")
        self._note(ms, "try", broker=broker, number=number, release=self.release, op=op)

    def tried(self, ms: int, broker: str, took_ms: int, stored: bool = True) -> None:
        self._note(ms, "tried", broker=broker, number=1, release=self.release, ms=took_ms, stored=stored)

    def kinds(self) -> list[str]:
        return [anomaly.kind for anomaly in self.verdict().anomalies]

    def verdict(self) -> Verdict:
        history, facts = self.build.history(), self.build.facts(mode="multi-master")
        assert has_avoidance(history, facts)
        return check_avoidance(history, facts)

    def _note(self, at_ms: int, name: str, /, **detail: object) -> None:
        row = {"ns": at_ms * MS, "kind": "note", "node": "client-1", "fault": "", "step": name, "effective": -1}
        self.build.events.append({**row, "detail": json.dumps(detail)})


@pytest.mark.parametrize(
    ("release", "took_ms", "stored", "rest_ms"),
    [
        ("4.9.7", 549, True, 0),
        ("4.9.7", 550, True, 30_000),
        ("4.9.7", 1_000, True, 60_000),
        ("4.9.7", 2_000, True, 120_000),
        ("4.9.7", 3_000, True, 180_000),
        ("4.9.7", 5, False, 600_000),
        ("5.3.3", 549, True, 0),
        ("5.3.3", 550, True, 2_000),
        ("5.3.3", 1_799, True, 2_000),
        ("5.3.3", 1_800, True, 5_000),
        ("5.3.3", 3_000, True, 6_000),
        ("5.3.3", 5, False, 10_000),
    ],
)
def test_a_broker_rests_as_long_as_its_release_says(release: str, took_ms: int, stored: bool, rest_ms: int) -> None:
    for after_ms, kinds in ((rest_ms - 2, ["used-while-resting"]), (rest_ms, [])):
        if after_ms < 0:
            continue
        notes = Notes(release)
        notes.tried(100, "a", took_ms, stored)
        notes.tries(100 + after_ms, "a")
        assert notes.kinds() == kinds


def test_the_last_attempt_that_ended_counts() -> None:
    notes = Notes()
    notes.tried(100, "a", 2_000)
    notes.tried(110, "a", 20)
    notes.tries(120, "a")
    assert notes.verdict().outcome is PASS


def test_where_nobody_else_is_there_a_resting_broker_is_used() -> None:
    notes = Notes(brokers=("a",))
    notes.tried(100, "a", 2_000)
    notes.tries(120, "a")
    assert notes.verdict().outcome is PASS


def test_a_name_without_a_master_is_nobody_to_send_to() -> None:
    notes = Notes(brokers=("a",))
    notes.routes(1, "a", "b", ids=(1,))
    notes.routes(2, "a")
    notes.tried(100, "a", 2_000)
    notes.tries(120, "a")
    assert notes.kinds() == []


@pytest.mark.parametrize(
    ("chosen", "kinds"), [("a", []), ("b", []), ("c", ["worse-than-others"]), ("d", ["worse-than-others"])]
)
def test_when_all_rest_the_better_half_is_used(chosen: str, kinds: list[str]) -> None:
    notes = Notes(brokers=("a", "b", "c", "d"))
    for broker, took_ms in (("a", 600), ("b", 700), ("c", 800), ("d", 900)):
        notes.tried(100, broker, took_ms)
    notes.tries(120, chosen)
    assert notes.kinds() == kinds


def test_retries_of_5x_are_not_judged_and_those_of_4_9_are() -> None:
    for release, kinds in (("5.3.3", []), ("4.9.7", ["used-while-resting"])):
        notes = Notes(release)
        notes.tried(100, "a", 5, stored=False)
        notes.tries(120, "a", number=2)
        notes.tries(130, "b")
        assert notes.kinds() == kinds


@pytest.mark.parametrize(("count", "kinds"), [(TRIES, []), (TRIES + 1, ["not-used-again"])])
def test_a_broker_that_rests_no_more_is_used_again(count: int, kinds: list[str]) -> None:
    notes = Notes("5.3.3")
    notes.tried(100, "a", 600)
    for number in range(20):
        notes.tries(200 + number, "b")  # it still rests: nobody is missed
    for number in range(count):
        notes.tries(2_200 + number, "b")
    assert notes.kinds() == kinds


def test_use_begins_the_count_anew() -> None:
    notes = Notes("5.3.3")
    notes.tried(100, "a", 600)
    for number in range(3 * TRIES):
        notes.tries(2_200 + number, "a" if number % TRIES == 0 else "b")
    assert notes.kinds() == []


def test_a_broker_that_nobody_routes_to_is_not_missed() -> None:
    notes = Notes("5.3.3")
    notes.tried(100, "a", 600)
    notes.routes(150, "b", "c")
    for number in range(2 * TRIES):
        notes.tries(2_200 + number, "b")
    assert notes.kinds() == []


def test_without_a_reason_to_avoid_anybody_nothing_is_shown() -> None:
    notes = Notes()
    notes.tries(100, "a")
    notes.tried(110, "a", 10)
    assert notes.verdict().outcome is UNKNOWN


def test_the_sentence_says_who_tried_whom_and_who_was_there() -> None:
    notes = Notes()
    notes.tried(100, "a", 2_000)
    notes.tries(200, "a")
    (anomaly,) = notes.verdict().anomalies
    assert anomaly.sentence.startswith(
        "client-1 tried a, which had to rest 119.900 s more (its last attempt took 2000 ms)"
    )
    assert "b was there" in anomaly.sentence
    assert anomaly.ops == (0,)
