"""Dialogues: every answer is right, in time, and some round came to its end; else it is said what was not."""

from __future__ import annotations

import json

import pytest

from checkers.runs.answers import check_answers
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.build import Build

PASS, UNKNOWN, FAIL = Outcome.PASS, Outcome.UNKNOWN, Outcome.FAIL


def asked(build: Build, ms: int, step: int, must: str, shown: str, within_ms: int = 0, **more: bool) -> None:
    detail = {"dialogue": "d", "round": 0, "step": step, "asked": "it", "must": must, "shown": shown}
    text = json.dumps({**detail, "within_ns": within_ms * 1_000_000, **more})
    build.op("ask", ms, ms + 1, "OK", node="broker-a-0", detail=text)


def judged(
    *tries: tuple[int, str], within_ms: int = 0, ended: bool = True, killed: tuple[int, int] | None = None
) -> Verdict:
    """One step that must show ``yes``, with (ms, what it showed), and the end of its round."""
    build = Build()
    for ms, shown in tries:
        asked(build, ms, 0, "yes", shown, within_ms)
    if ended:
        asked(build, 90_000, 1, "", "", ended=True)
    if killed is not None:
        build.fault("kill", "broker-a-0", killed[0], killed[0] + 1, heal=killed[1])
    return check_answers(build.history(), build.facts(mode="single-master"))


@pytest.mark.parametrize(
    ("tries", "within_ms", "outcome"),
    [
        ([(0, "yes")], 0, PASS),
        ([(0, "no"), (250, "yes")], 0, FAIL),
        ([(0, "no"), (250, "yes")], 3_000, PASS),
        ([(0, "no"), (250, "no"), (9_000, "yes")], 3_000, FAIL),
        ([(0, "no"), (9_000, "no")], 3_000, FAIL),
        ([(0, "no"), (3_200, "no"), (3_450, "yes")], 3_000, PASS),  # it may have been right just after 3.2 s
        ([(0, "no"), (3_300, "no"), (3_550, "yes")], 3_000, FAIL),
        ([(0, "no"), (3_200, "no")], 3_000, PASS),  # the load ended before its time was over
        ([(0, "no")], 0, FAIL),
        ([(0, "TOPIC_NOT_EXIST")], 0, FAIL),
    ],
)
def test_an_answer_is_right_within_its_time(tries: list[tuple[int, str]], within_ms: int, outcome: Outcome) -> None:
    verdict = judged(*tries, within_ms=within_ms)
    assert verdict.outcome is outcome
    assert [anomaly.kind for anomaly in verdict.anomalies] == ["wrong-answer"] * (outcome is FAIL)


def test_the_sentence_says_who_was_asked_what_and_what_it_showed() -> None:
    (anomaly,) = judged((1_000, "no")).anomalies
    assert "broker-a-0 was asked (it)" in anomaly.sentence
    assert 'had to show "yes" at once' in anomaly.sentence
    assert 'it showed "no"' in anomaly.sentence


@pytest.mark.parametrize(
    ("within_ms", "shown", "at"),
    [(0, "first", "0.001 s"), (3_000, "third", "5.001 s")],
)
def test_the_first_answer_that_had_to_be_right_is_quoted(within_ms: int, shown: str, at: str) -> None:
    tries = [(0, "first"), (1_000, "second"), (5_000, "third"), (9_000, "fourth")]
    (anomaly,) = judged(*tries, within_ms=within_ms).anomalies
    assert f'at {at} it showed "{shown}"' in anomaly.sentence


@pytest.mark.parametrize(("right_ms", "outcome"), [(20_000, PASS), (60_000, FAIL)])
def test_a_node_that_died_meanwhile_has_time_to_come_back(right_ms: int, outcome: Outcome) -> None:
    tries = [(5_000, "no"), (right_ms, "yes")]
    assert judged(*tries, within_ms=3_000, killed=(4_000, 10_000)).outcome is outcome


def test_a_dialogue_that_never_came_to_its_end_proves_nothing() -> None:
    verdict = judged((0, "yes"), ended=False)
    assert verdict.outcome is UNKNOWN
    assert "came to its end" in verdict.reasons[0]


def test_a_dialogue_that_nobody_answered_proves_nothing() -> None:
    build = Build()
    build.op("ask", 0, 5, "TIMEOUT", node="broker-a-0", detail="d: it")
    assert check_answers(build.history(), build.facts(mode="single-master")).outcome is UNKNOWN


def prompt(took_ms: int, *, mark: bool = True, **fault: str) -> list[str]:
    """A right answer to what waits for nothing, after so long; kinds of anomalies."""
    build = Build()
    detail = {"dialogue": "d", "round": 0, "step": 0, "asked": "it", "must": "yes", "shown": "yes", "within_ns": 0}
    marks = {"waits_for_nothing": True} if mark else {}
    build.op("ask", 10_000, 10_000 + took_ms, "OK", node="broker-a-0", detail=json.dumps(detail | marks))
    asked(build, 90_000, 1, "", "", ended=True)
    for do, node in fault.items():
        right = ["client-1"] if do == "isolate" else []
        build.fault(do, node, 10_500, 10_501, heal=11_000, right=right)
    return [anomaly.kind for anomaly in check_answers(build.history(), build.facts()).anomalies]


def test_what_waits_for_nothing_is_answered_within_a_second() -> None:
    assert prompt(1_250) == []
    assert prompt(1_251) == ["kept-waiting"]
    assert prompt(5_000, mark=False) == []


@pytest.mark.parametrize(
    ("do", "kinds"),
    [("hang_disk", ["kept-waiting"]), ("fail_sync", ["kept-waiting"]), ("pause", []), ("kill", []), ("isolate", [])],
)
def test_a_disk_that_hangs_is_no_excuse_for_it(do: str, kinds: list[str]) -> None:
    assert prompt(2_000, **{do: "broker-a-0"}) == kinds
