"""Leaders: one a term, in time, and none too many. Each rule with what breaks it and what does not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from checkers.runs.elections import check_elections
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.build import Build

S = 1000
END = 400 * S
Change = tuple[int, int, str, int]
"""When, which member, its role and term."""


def group(changes: Sequence[Change], size: int = 3, at_end: int = END) -> Build:
    build = Build(["broker-a"])
    for member in range(size):
        build.event(0, "node", "started", f"broker-a-{member}")
    for ms, member, role, term in changes:
        leader = f"n{member}" if role == "LEADER" else ""
        build.event(ms, "role", "role_changed", f"broker-a-{member}", role=role, term=term, leader=leader)
        if role == "LEADER":
            build.event(ms, "role", "became_master", f"broker-a-{member}")
    build.send(500, 501, 0, 0)
    build.event(at_end, "phase", "check")
    return build


def judged(build: Build, size: int = 3, strict: bool = False) -> Verdict:
    members = {"brokerName": "broker-a", "enableDLegerCommitLog": "true"}
    members |= {"dLegerStrictPersistence": "true"} if strict else {}
    nodes = {f"broker-a-{member}": {**members, "brokerId": str(member)} for member in range(size)}
    return check_elections(build.history(), build.facts(mode="dledger", nodes=nodes))


def kinds(verdict: Verdict, *, allowed: bool = False) -> list[str]:
    return [anomaly.kind for anomaly in verdict.anomalies if anomaly.allowed == allowed]


LED = (1 * S, 0, "LEADER", 1)
GONE = (100 * S, 0, "CANDIDATE", 1)
FOLLOWS = (141 * S, 0, "FOLLOWER", 2)


@pytest.mark.parametrize(
    ("changes", "bad"),
    [
        ([LED], []),
        ([LED, GONE, (115 * S, 1, "LEADER", 2), FOLLOWS], []),
        ([LED, GONE, (115 * S, 1, "LEADER", 1), FOLLOWS], ["two-leaders"]),
        ([LED, GONE, (110 * S, 0, "LEADER", 1)], []),  # the same one again in its term
        ([LED, GONE, (140 * S, 1, "LEADER", 2), FOLLOWS], ["no-leader"]),
        ([LED, GONE], ["no-leader"]),
        ([(50 * S, 0, "LEADER", 1)], ["no-leader"]),  # nobody from the start on
        ([LED, (2 * S, 1, "FOLLOWER", 3), (3 * S, 1, "FOLLOWER", 2)], ["term-went-back"]),
        ([LED, (50 * S, 1, "CANDIDATE", 1)], ["left-out"]),
        ([LED, (50 * S, 1, "CANDIDATE", 1), (79 * S, 1, "FOLLOWER", 1)], []),
        ([LED, *((ms * S, ms % 3, "LEADER", ms) for ms in (200, 210, 220, 230))], ["election-storm"]),
        ([LED, *((ms * S, ms % 3, "LEADER", ms) for ms in (200, 250, 300, 350))], []),
    ],
)
def test_a_group_finds_one_leader_and_keeps_it(changes, bad) -> None:
    assert kinds(judged(group(changes))) == bad


@pytest.mark.parametrize(
    ("size", "down", "bad"),
    [(3, [1], ["no-leader"]), (3, [1, 2], []), (5, [1, 2], ["no-leader"]), (5, [1, 2, 3], []), (2, [1], [])],
)
def test_nobody_leads_without_a_majority(size, down, bad) -> None:
    build = group([LED, GONE], size)
    for member in down:
        build.fault("kill", f"broker-a-{member}", 90 * S, 90 * S, fault=f"f{member}")
        build.event(90 * S, "node", "killed", f"broker-a-{member}")
    assert kinds(judged(build, size)) == bad


def test_a_majority_must_reach_each_other() -> None:
    """A ring of five: each reaches two others, no three reach each other."""
    build = group([LED, GONE], 5)
    for one, others in ((0, (2, 3)), (1, (3, 4)), (2, (4,))):
        right = [f"broker-a-{other}" for other in others]
        build.fault("partition", f"broker-a-{one}", 90 * S, 90 * S, right=right, fault=f"f{one}")
    assert kinds(judged(build, 5)) == []


@pytest.mark.parametrize(
    ("do", "strict", "is_allowed"),
    [("cut_power", False, True), ("cut_power", True, False), ("wipe", True, True), ("kill", False, False)],
)
def test_a_power_cut_takes_votes_that_nobody_forced(do, strict, is_allowed) -> None:
    build = group(
        [LED, (50 * S, 1, "FOLLOWER", 1), GONE, (115 * S, 2, "LEADER", 1), (116 * S, 1, "FOLLOWER", 0), FOLLOWS]
    )
    build.fault(do, "broker-a-1", 95 * S, 95 * S, 96 * S)
    verdict = judged(build, strict=strict)
    assert kinds(verdict, allowed=is_allowed) == ["two-leaders", "term-went-back"]
    assert verdict.outcome == (Outcome.PASS if is_allowed else Outcome.FAIL)


@pytest.mark.parametrize("do", ["", "kill", "cut_power"])
def test_committed_entries_are_given_up_after_a_loss_only(do) -> None:
    build = group([LED])
    if do:
        build.fault(do, "broker-a-1", 95 * S, 95 * S, 96 * S)
    build.event(120 * S, "role", "committed_truncated", "broker-a-2", index=7, committed=9, leader="n1")
    assert kinds(judged(build), allowed=do == "cut_power") == ["committed-given-up"]


def test_the_measures_tell_who_led_when() -> None:
    measures = judged(group([LED, GONE, (110 * S, 1, "LEADER", 2)])).measures
    assert [(one["node"], one["term"], one["begin_ns"] // 10**9) for one in measures["leaders"]] == [
        ("broker-a-0", 1, 1),
        ("broker-a-1", 2, 110),
    ]
    assert measures["without_leader_ms"] == 10_000


@pytest.mark.parametrize(("until", "bad"), [(20 * S, []), (200 * S, ["no-leader"])])
def test_a_leader_that_was_frozen_leads_on(until, bad) -> None:
    build = group([LED])
    build.fault("pause", "broker-a-0", 90 * S, 90 * S, 90 * S + until)
    assert kinds(judged(build)) == bad


def untold(answers: Sequence[tuple[int, str]]) -> Build:
    """Members that tell nothing: one serves from 1 s on, all are killed at 100 s and back at 105 s."""
    build = Build(["broker-a"])
    nodes = [f"broker-a-{member}" for member in range(3)]
    for node in nodes:
        build.event(0, "node", "started", node)
    build.event(1 * S, "note", "serves", nodes[0])
    build.send(50 * S, 50 * S + 1, 0, 0)
    for number, node in enumerate(nodes, start=1):
        build.fault("kill", node, 100 * S, 100 * S + 1, heal=105 * S, fault=f"f{number}")
        build.event(105 * S, "node", "started", node)
    for number, (at_s, status) in enumerate(answers, start=1):
        is_ok = status == "SEND_OK"
        build.send(at_s * S, at_s * S + 9, number, number if is_ok else -1, status, outcome="ok" if is_ok else "fail")
    build.event(END, "phase", "check")
    return build


@pytest.mark.parametrize(
    ("answers", "bad"),
    [
        ([(120, "SEND_OK"), (300, "SEND_OK")], []),  # the same one leads again, and nobody says so
        ([(110, "NO_ROUTE"), (125, "NO_ROUTE"), (130, "SEND_OK")], []),
        ([(110, "NO_ROUTE"), (150, "NO_ROUTE"), (160, "SEND_OK")], ["no-leader"]),
        ([(120, "SEND_OK"), (200, "NO_ROUTE"), (260, "NO_ROUTE"), (270, "SEND_OK")], ["no-leader"]),
        ([(110, "SEND_OK")], []),  # whoever asks nobody learns nothing
    ],
)
def test_who_leads_again_without_a_word_is_known_by_its_answers(answers: list[tuple[int, str]], bad: list[str]) -> None:
    assert kinds(judged(untold(answers))) == bad
