"""Dialogues of operators: each ends and is answered rightly, and stands still where an answer stays wrong."""

from __future__ import annotations

import pytest

from checkers.verdict import Outcome, Verdict
from harness.run import run_scenario
from harness.scenario import find
from harness.scenario_file import load

LEAST: dict[str, tuple[int, int]] = {
    "topic-lives-and-is-deleted": (5, 80),
    "messages-are-looked-up": (2, 90),
    "messages-of-all-shapes": (10, 120),
    "groups-get-what-they-want": (3, 100),
    "group-is-sent-back-in-time": (1, 40),
    "nameservers-tell-what-they-were-told": (5, 34),
    "slave-acts-as-its-dead-master": (1, 22),
    "slave-is-told-of-its-master": (1, 22),
    "broker-tells-its-figures": (1, 60),
    "halves-are-ended-or-given-up": (1, 40),
    "admin-client-does-what-it-says": (1, 25),
    "nameservers-keep-entries": (20, 10),
    "made-up-brokers-come-and-go": (2, 70),
    "made-up-brokers-of-5x-come-and-go": (2, 70),
    "dledger-members-answer": (2, 150),
}
"""Scenario → rounds, and steps of a round, at least."""


def answers(name: str, *defects: str) -> Verdict:
    result = run_scenario(load(find(name)), seed=1, keep="none", defects=defects)
    return next(verdict for verdict in result.verdicts if verdict.check == "answers")


@pytest.mark.parametrize("name", LEAST)
def test_a_dialogue_comes_to_its_end_and_is_answered_rightly(name: str) -> None:
    verdict = answers(name)
    rounds, steps = LEAST[name]
    assert verdict.outcome is Outcome.PASS, verdict.to_json()
    assert verdict.measures["rounds"] >= rounds
    assert verdict.measures["steps"] >= rounds * steps


def test_a_dialogue_stands_still_at_an_answer_that_stays_wrong() -> None:
    verdict = answers("nameservers-tell-what-they-were-told", "namesrv-keeps-entries")
    assert verdict.outcome is Outcome.FAIL
    assert len(verdict.anomalies) == 1
    assert verdict.measures["rounds"] == 0
