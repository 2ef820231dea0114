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


CALLED = ("node", "started", "broker-a-2")


def thrown_out(at_ms: int = 100 * S, heard: int = 2, more: Sequence[tuple[int, ...]] = ()) -> Build:
    """The others follow from the start on; the leader says which term it gives up for, and leads again a second later.
    *more*: what others say, with the term that they have heard of."""
    followers = [(1 * S, member, "FOLLOWER", 1) for member in (1, 2)]
    build = group([LED, *followers, (at_ms + 1 * S, 0, "LEADER", 2)])
    for ms, member, role, term, heard_of in ((at_ms, 0, "CANDIDATE", 1, heard), *more):
        about = {"role": role, "term": term, "heard": heard_of, "leader": ""}
        build.event(ms, "role", "role_changed", f"broker-a-{member}", **about)
    return build


def test_a_leader_that_was_well_is_not_thrown_out() -> None:
    assert kinds(judged(thrown_out())) == ["leader-thrown-out"]
    assert kinds(judged(thrown_out(heard=1))) == ["gave-up-early"]  # of its own, for want of a majority
    assert kinds(judged(thrown_out(4 * S))) == []  # somebody stood with it


@pytest.mark.parametrize(
    ("left", "right", "bad"),
    [
        ("broker-a-2", ["broker-a-0", "broker-a-1"], ["leader-thrown-out"]),
        ("broker-a-2", ["broker-a-0"], []),  # it may have heard from the other that nobody leads
        ("broker-a-1", ["broker-a-0"], []),
    ],
)
def test_who_was_apart_from_everybody_has_no_reason_to_stand(left, right, bad) -> None:
    build = thrown_out()
    build.fault("partition", left, 85 * S, 85 * S, 95 * S, right=right)
    assert kinds(judged(build)) == bad


@pytest.mark.parametrize(("node", "bad"), [("broker-a-0", []), ("broker-a-2", ["leader-thrown-out"])])
def test_a_fault_at_the_leader_explains_that_it_gives_up(node, bad) -> None:
    build = thrown_out()
    build.fault("pause", node, 85 * S, 85 * S, 95 * S)
    assert kinds(judged(build)) == bad


@pytest.mark.parametrize(
    ("node", "ms", "bad"),
    [
        ("broker-a-0", 99 * S, []),
        ("broker-a-0", 60 * S, ["leader-thrown-out"]),  # long over
        ("broker-b-0", 99 * S, ["leader-thrown-out"]),
    ],
)
def test_an_operator_may_have_a_leader_hand_over(node: str, ms: int, bad: list[str]) -> None:
    build = thrown_out()
    build.event(ms, "note", "hands_over", node)
    assert kinds(judged(build)) == bad


def test_a_member_that_was_started_may_come_with_a_larger_term() -> None:
    build = thrown_out(more=[(120 * S, 2, "FOLLOWER", 2, 2), (200 * S, 1, "CANDIDATE", 2, 2)])
    build.event(99 * S, *CALLED)
    assert kinds(judged(build)) == ["left-out"]


def test_who_is_to_lead_before_all_others_may_stand() -> None:
    build = thrown_out(more=[(99 * S, 2, "CANDIDATE", 1, 2), (101 * S, 2, "FOLLOWER", 2, 2)])
    names = {"brokerName": "broker-a", "enableDLegerCommitLog": "true", "preferredLeaderId": "n2;n7"}
    nodes = {f"broker-a-{it}": {**names, "dLegerSelfId": f"n{it}", "brokerId": str(it)} for it in range(3)}
    verdict = check_elections(build.history(), build.facts(mode="dledger", nodes=nodes))
    assert "leader-thrown-out" not in kinds(verdict)


@pytest.mark.parametrize(("until", "bad"), [(20 * S, []), (200 * S, ["no-leader"])])
def test_a_leader_whose_disk_takes_nothing_does_not_lead(until, bad) -> None:
    build = group([LED])
    effects = [{"does": "fails-writes"}]
    build.event(90 * S, "fault", "resolve", "broker-a-0", "f1", 1, left=["broker-a-0"], right=[], effects=effects)
    build.event(90 * S, "fault", "inject", "broker-a-0", "f1")
    build.event(90 * S, "fault", "probe", "broker-a-0", "f1", 1)
    build.event(90 * S + until, "fault", "heal", "broker-a-0", "f1")
    verdict = judged(build)
    assert kinds(verdict) == bad
    assert not bad or "went on leading with a disk that took nothing" in verdict.anomalies[0].sentence


def test_a_member_that_was_started_and_says_nothing_follows_nobody() -> None:
    build = group([LED, (2 * S, 2, "FOLLOWER", 1)])
    build.event(99 * S, *CALLED)
    assert kinds(judged(build)) == ["left-out"]


def tells(build: Build, ms: int, member: int, role: str, term: int, heard: int) -> None:
    build.event(ms, "role", "role_changed", f"broker-a-{member}", role=role, term=term, heard=heard)


@pytest.mark.parametrize(
    ("away_since", "heard", "bad"),
    [
        (None, 1, ["gave-up-early"]),
        (97, 1, ["gave-up-early"]),
        (95, 1, []),
        (97, 2, []),  # somebody has a larger term
        (89, 1, []),
    ],
)
def test_a_leader_has_patience(away_since, heard, bad) -> None:
    build = group([LED, (110 * S, 1, "LEADER", 2), (112 * S, 0, "FOLLOWER", 2)])
    tells(build, 100 * S, 0, "CANDIDATE", 1, heard)
    if away_since:
        right = ["broker-a-1", "broker-a-2"]
        build.fault("partition", "broker-a-0", away_since * S, away_since * S, 130 * S, right=right)
    assert [kind for kind in kinds(judged(build)) if kind != "leader-thrown-out"] == bad


@pytest.mark.parametrize(("do", "bad"), [("fill_disk", []), ("step_clock", ["gave-up-early"])])
def test_a_leader_whose_disk_takes_nothing_has_none(do, bad) -> None:
    build = group([LED, (110 * S, 1, "LEADER", 2), (112 * S, 0, "FOLLOWER", 2)])
    tells(build, 100 * S, 0, "CANDIDATE", 1, 1)
    build.fault(do, "broker-a-0", 98 * S, 98 * S, 120 * S)
    assert kinds(judged(build)) == bad


@pytest.mark.parametrize(("steps_down", "bad"), [(111, []), (114, ["kept-leading"]), (None, ["kept-leading"])])
def test_a_leader_without_a_majority_gives_up(steps_down, bad) -> None:
    build = group([LED, *([(steps_down * S, 0, "CANDIDATE", 1)] if steps_down else [])], at_end=121 * S)
    for member in (1, 2):
        build.fault("kill", f"broker-a-{member}", 100 * S, 100 * S, 120 * S, fault=f"f{member}")
        build.event(100 * S, "node", "killed", f"broker-a-{member}")
        build.event(120 * S, "node", "started", f"broker-a-{member}")
    assert kinds(judged(build)) == bad


@pytest.mark.parametrize(
    ("preferred", "at_end", "bad"),
    [("n1", 60, ["not-preferred"]), ("n1", 40, []), ("n0", 60, []), ("n7", 60, []), ("", 60, [])],
)
def test_who_is_to_lead_before_all_others_leads_in_the_end(preferred, at_end, bad) -> None:
    build = group([LED], at_end=at_end * S)
    members = {"brokerName": "broker-a", "enableDLegerCommitLog": "true", "preferredLeaderId": preferred}
    nodes = {f"broker-a-{n}": {**members, "brokerId": str(n), "dLegerSelfId": f"n{n}"} for n in range(3)}
    assert kinds(check_elections(build.history(), build.facts(mode="dledger", nodes=nodes))) == bad


@pytest.mark.parametrize(
    ("first", "second", "took", "bad"),
    [
        ("REVOTE_IMMEDIATELY", "PASSED", 2000, ["vote-stalled"]),
        ("REVOTE_IMMEDIATELY", "PASSED", 1000, []),
        ("REVOTE_IMMEDIATELY", "WAIT_TO_VOTE_NEXT", 2000, []),  # somebody else had the vote
        ("WAIT_TO_REVOTE", "PASSED", 2000, []),
    ],
)
def test_a_candidate_ends_its_round_when_it_has_the_votes(first, second, took, bad) -> None:
    build = group([LED, GONE, (115 * S, 1, "LEADER", 2), FOLLOWS])
    for ms, outcome in ((110 * S, first), (110 * S + took, second)):
        build.event(ms, "role", "vote_round", "broker-a-1", term=2, accepted=2, outcome=outcome)
    assert kinds(judged(build)) == bad
