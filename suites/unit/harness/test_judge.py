"""The check ``life-cycle``: was this a run at all?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers.history.effects import Effect
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History
from checkers.verdict import Anomaly, Outcome, Verdict, worst
from harness.judge import EXPECTATION, PHASES, judge, life_cycle
from harness.node_events import SIGTERM_EXIT
from harness.recorder import Recorder
from harness.summary import is_as_expected

RUN = {"mode": "single-master", "flush": "async", "backend": "sim", "target": "reference", "nodes": {}}


FACTS = RunFacts("single-master")


def history(*steps) -> History:
    """*steps*: a phase's name, or (kind, node, step, detail)."""
    recorder = Recorder(lambda: 0, run=1)
    for step in steps:
        if isinstance(step, str):
            recorder.phase(step)
        else:
            kind, node, name, detail = step
            recorder.event(kind, node=node, step=name, detail=detail)
    return History.from_columns(recorder.columns())


def incomplete(what, why):
    return ("note", "", "incomplete", {"phase": "drain", "what": what, "why": why})


def test_a_whole_run_passes():
    assert life_cycle(history(*PHASES), FACTS).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ((), "the run has no phases"),
        (PHASES[:3], "the run ended in phase 'steady', before 'heal'"),
        (PHASES[:-1], "the run ended in phase 'dump', before 'check'"),
        ((*PHASES, incomplete("drain", "q0 is left")), "drain: q0 is left"),
        ((*PHASES, incomplete("budget", "too many events")), "budget: too many events"),
        ((*PHASES, ("note", "", "interrupted", "")), "interrupted by the user"),
        (
            (*PHASES, ("role", "broker-a-0", "crashed", {"error": "KeyError: 'x'", "traceback": "…"})),
            "broker-a-0 crashed: KeyError: 'x', at 0.000 s",
        ),
        (
            (*PHASES, ("role", "broker-a-0", "crashed", {"exit": 3, "last_lines": ["a", "cannot bind"]})),
            "broker-a-0 crashed: cannot bind, at 0.000 s",
        ),
        ((*PHASES, ("role", "b", "crashed", {"exit": -6, "last_lines": []})), "b crashed: exit code -6, at 0.000 s"),
        ((*PHASES, ("role", "b", "exited", {"code": 253})), "b ended with exit code 253, at 0.000 s"),
    ],
)
def test_what_makes_a_run_unknown_is_said(steps, reason):
    verdict = life_cycle(history(*steps), FACTS)
    assert (verdict.outcome, verdict.reasons) == (Outcome.UNKNOWN, (reason,))


@pytest.mark.parametrize(
    "step",
    [
        ("role", "b", "exited", {"code": 0}),
        ("role", "b", "exited", {"code": SIGTERM_EXIT}),  # asked to stop before it had come up
        ("role", "b", "flushed_to", {"position": 1}),
    ],
)
def test_orderly_ends_and_other_notes_are_no_reason(step):
    assert life_cycle(history(*PHASES, step), FACTS).outcome is Outcome.PASS


POWER, GONE = ("node", "b", "power_cut", ""), ("note", "b", "tables_removed", "")
FAILED = ("role", "b", "exited", {"code": 253})


def test_a_start_that_failed_between_a_power_cut_and_the_removal_of_tables_is_explained():
    verdict = life_cycle(history(*PHASES, POWER, FAILED, FAILED, GONE), FACTS)
    assert (verdict.outcome, verdict.measures["tables_removed"]) == (Outcome.PASS, 1)
    said = ("role", "b", "crashed", {"exit": 255, "last_lines": ["cannot parse"]})
    assert life_cycle(history(*PHASES, POWER, said, GONE), FACTS).outcome is Outcome.PASS


@pytest.mark.parametrize(
    "steps",
    [
        (FAILED, GONE),
        (FAILED, POWER, GONE),
        (POWER, FAILED),
        (POWER, GONE, FAILED),
        (POWER, ("role", "b", "exited", {"code": 1}), GONE),
        (("node", "c", "power_cut", ""), FAILED, GONE),
    ],
)
def test_other_ends_are_not(steps):
    assert life_cycle(history(*PHASES, *steps), FACTS).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize(
    ("strict", "node", "is_explained"), [("true", "b", True), ("false", "b", False), ("true", "c", False)]
)
def test_who_answers_from_its_disk_ends_when_it_cannot_force(strict, node, is_explained):
    ended = ("role", "b", "crashed", {"exit": 1, "last_lines": ["OSError: EIO"]})
    told = history(*PHASES, ended)
    fault = FaultFact("f1", "fail_sync", (node,), effective=1)
    facts = replace(FACTS, nodes={"b": {"dLegerStrictPersistence": strict}}, faults=(fault,), events=told.events)
    assert (life_cycle(told, facts).outcome is Outcome.PASS) == is_explained


@pytest.mark.parametrize(
    ("knows", "node", "is_explained"),
    [("true", "broker-a-1", True), ("false", "broker-a-1", False), ("true", "broker-a-2", False)],
)
def test_who_knows_its_own_disk_ends_on_another(knows, node, is_explained):
    told = history(*PHASES, ("role", "broker-a-1", "exited", {"code": 253}))
    given = (Effect("ends", "killed"), Effect("takes", "foreign"))
    fault = FaultFact("f1", "foreign_disk", (node,), effective=1, recorded=given)
    about = {"brokerName": "broker-a", "dLegerStrictIdentity": knows}
    nodes = {f"broker-a-{number}": {**about, "brokerId": str(number)} for number in range(3)}
    facts = replace(FACTS, mode="dledger", nodes=nodes, faults=(fault,), events=told.events)
    assert (life_cycle(told, facts).outcome is Outcome.PASS) == is_explained


def test_an_empty_history_is_unknown_whatever_its_phases_say():
    assert max(verdict.outcome for verdict in judge(history(*PHASES), RUN)) is Outcome.UNKNOWN


def _lost(*, allowed: bool) -> Verdict:
    return Verdict("accounting", Outcome.FAIL, (Anomaly("lost", "one is gone", allowed=allowed),))


@pytest.mark.parametrize(
    ("because", "allowed", "outcome", "says"),
    [
        ("lost", False, Outcome.PASS, ""),
        ("lost", True, Outcome.UNKNOWN, "none was seen"),
        ("resurrected", False, Outcome.UNKNOWN, "'resurrected', and none was seen; seen instead: lost"),
    ],
)
def test_a_scenario_that_is_there_to_fail_is_asked_whether_it_showed_why(
    monkeypatch: pytest.MonkeyPatch, because: str, allowed: bool, outcome: Outcome, says: str
) -> None:
    monkeypatch.setattr("harness.judge.check_all", lambda history, facts: [_lost(allowed=allowed)])
    verdicts = judge(history(*PHASES), RUN | {"expect": {"verdict": "FAIL", "because": because}})
    (expectation,) = [verdict for verdict in verdicts if verdict.check == EXPECTATION]
    assert expectation.outcome is outcome
    assert says in "".join(expectation.reasons)
    assert worst(verdicts) is Outcome.FAIL, "the broker's failure stays one"
    assert is_as_expected(worst(verdicts), verdicts) == (outcome is Outcome.PASS)


def _two_kinds() -> list[Verdict]:
    lost = Anomaly("lost", "seven are gone", details={"count": 7})
    two = Anomaly("two-values-one-offset", "two messages at one offset")
    return [Verdict("accounting", Outcome.FAIL, (lost,)), Verdict("log", Outcome.FAIL, (two,))]


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        ({"beside": ["two-values-one-offset"]}, ""),
        ({"beside": ["two-values-one-offset"], "most": 7}, ""),
        ({}, "does not name: two-values-one-offset"),
        ({"beside": ["two-values-one-offset"], "most": 6}, "7 messages are 'lost', and the mechanism"),
    ],
)
def test_what_is_there_to_fail_has_bounds(monkeypatch: pytest.MonkeyPatch, bounds, says) -> None:
    monkeypatch.setattr("harness.judge.check_all", lambda history, facts: _two_kinds())
    expect = {"verdict": "FAIL", "because": "lost", **bounds}
    verdicts = judge(history(*PHASES), RUN | {"expect": expect})
    (expectation,) = [verdict for verdict in verdicts if verdict.check == EXPECTATION]
    assert expectation.outcome is (Outcome.FAIL if says else Outcome.PASS)
    assert says in "".join(expectation.reasons)
    assert is_as_expected(worst(verdicts), verdicts) == (not says)


def test_a_scenario_that_expects_no_failure_is_not_asked() -> None:
    assert EXPECTATION not in {verdict.check for verdict in judge(history(*PHASES), RUN)}
