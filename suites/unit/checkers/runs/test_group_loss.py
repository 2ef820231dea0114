"""What a group of members can lose by an election, and what none can: DLedger's hazard, and nothing beside it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from checkers.runs.accounting import check_accounting
from checkers.runs.group_loss import elections_that_lose
from checkers.verdict import Anomaly, Outcome, Verdict
from suites.unit.checkers.build import Build

S = 1000
ACKED = 100 * S
"""When message 1, which is lost, was acknowledged by member 0; all faults are told relative to it, in milliseconds."""

Fault = tuple[str, int, int, int]
"""What was done to which member, from when to when."""


def group(size: int, faults: Sequence[Fault], *, elected: int = 30 * S, by: int = 1, kept: Sequence[int] = ()) -> Build:
    """Members 0 to *size* − 1, led by 0; message 1 is gone after *by* was elected. *kept*: messages behind it that are
    there."""
    build = Build(["broker-a"])
    build.event(100, "role", "became_master", "broker-a-0")
    build.send(200, 201, 0, 0)
    build.send(ACKED - 1, ACKED, 1, 1)
    for number in kept:
        build.send(ACKED, ACKED + 1, number, number)
    for number, (do, member, begin, end) in enumerate(faults):
        right = [f"broker-a-{other}" for other in range(size) if other != member] if do == "isolate" else []
        build.fault(
            do, f"broker-a-{member}", ACKED + begin, ACKED + begin, ACKED + end, right=right, fault=f"f{number}"
        )
    build.event(ACKED + elected, "role", "became_master", f"broker-a-{by}")
    build.drain(900 * S, 900 * S + 1, 0, [0, *kept])
    build.drained(900 * S + 2, 1 + len(kept))
    return build


def judged(build: Build, size: int, strict: bool = False, identity: bool = False, **more: object) -> Verdict:
    members = {"brokerName": "broker-a", "enableDLegerCommitLog": "true"}
    members |= {"dLegerStrictPersistence": "true"} if strict else {}
    members |= {"dLegerStrictIdentity": "true"} if identity else {}
    nodes = {f"broker-a-{number}": {**members, "brokerId": str(number)} for number in range(size)}
    return check_accounting(build.history(), build.facts(mode="dledger", nodes=nodes, **more))


def lost(verdict: Verdict) -> Anomaly:
    (anomaly,) = [a for a in verdict.anomalies if a.kind == "lost"]
    return anomaly


AT_ONCE, BACK, LONG_AGO = 5, 20 * S, -60 * S
DARK_1, DARK_2 = ("cut_power", 1, AT_ONCE, BACK), ("cut_power", 2, AT_ONCE, BACK)
APART_2 = ("isolate", 2, LONG_AGO, 25 * S)
LEADER_DIES = ("kill", 0, BACK, 500 * S)

TABLE = [
    # nobody lost anything; one of three did, and the others have it
    (3, [], False),
    (3, [LEADER_DIES], False),
    (3, [DARK_1, LEADER_DIES], False),
    # a majority lost power at once; a majority of five needs three
    (3, [DARK_1, DARK_2], True),
    (5, [DARK_1, DARK_2], False),
    (5, [DARK_1, DARK_2, ("cut_power", 3, AT_ONCE, BACK)], True),
    # two members are both needed, and both must have lost it
    (2, [DARK_1], False),
    (2, [DARK_1, ("cut_power", 0, AT_ONCE, BACK)], True),
    # the design hazard: the follower that had acknowledged lost it, the other had never got it, the leader dies
    (3, [APART_2, DARK_1, LEADER_DIES], True),
    (5, [APART_2, DARK_1, LEADER_DIES], False),
    # not once the forces must have reached the disk
    (3, [APART_2, ("cut_power", 1, 500, BACK), LEADER_DIES], False),
    # not if the process alone died: the page cache stays
    (3, [APART_2, ("kill", 1, AT_ONCE, BACK), LEADER_DIES], False),
    # a disk that is gone is gone whenever
    (3, [APART_2, ("wipe", 1, 15 * S, BACK), LEADER_DIES], True),
    # forces that failed in between make the window longer
    (3, [APART_2, ("fail_sync", 1, -S, 9 * S), ("cut_power", 1, 8 * S, BACK), LEADER_DIES], True),
]


@pytest.mark.parametrize(("size", "faults", "is_allowed"), TABLE)
def test_only_a_majority_that_can_lack_a_message_can_lose_it(size, faults, is_allowed) -> None:
    verdict = judged(group(size, faults), size)
    assert lost(verdict).allowed == is_allowed
    assert verdict.outcome == (Outcome.PASS if is_allowed else Outcome.FAIL)
    assert ("elected at 130.000 s" in lost(verdict).sentence) == is_allowed


def test_a_member_that_was_back_with_its_leader_for_long_has_it_again() -> None:
    """The same faults, and a leader that goes on for a quarter of an hour: the window is over."""
    faults = [APART_2, DARK_1, ("kill", 0, 700 * S, 800 * S)]
    assert not lost(judged(group(3, faults, elected=710 * S), 3)).allowed


@pytest.mark.parametrize("faults", [[DARK_1, DARK_2], [APART_2, DARK_1, LEADER_DIES]])
def test_with_strict_persistence_a_power_cut_takes_nothing(faults) -> None:
    verdict = judged(group(3, faults), 3, strict=True)
    assert not lost(verdict).allowed
    assert "2 of 3 members had to have it" in lost(verdict).sentence


def test_the_scenario_may_expect_more() -> None:
    assert not lost(judged(group(3, [DARK_1, DARK_2]), 3, expect={"lost": "none"})).allowed


def test_an_election_loses_the_end_of_a_log_and_nothing_before_it() -> None:
    assert not lost(judged(group(3, [DARK_1, DARK_2], kept=[2]), 3)).allowed


def test_the_explanation_names_the_members_and_the_faults() -> None:
    sentence = lost(judged(group(3, [APART_2, DARK_1, LEADER_DIES]), 3)).sentence
    assert "cut_power of broker-a-1 (f1) at 100.005 s can have taken it from broker-a-1" in sentence
    assert "broker-a-2 need not have got it" in sentence
    assert "dLegerStrictPersistence" in sentence


def test_only_elections_that_can_have_lost_something_begin_an_epoch() -> None:
    for faults, count in (([LEADER_DIES], 0), ([DARK_1, LEADER_DIES], 1)):
        build = group(3, faults)
        nodes = {f"broker-a-{number}": {"brokerName": "broker-a"} for number in range(3)}
        facts = build.facts(mode="dledger", nodes=nodes)
        assert len(elections_that_lose(facts, "broker-a")) == count


FOREIGN_1 = ("foreign_disk", 1, AT_ONCE, 10 * S)


@pytest.mark.parametrize(
    ("faults", "how", "is_allowed"),
    [
        ([FOREIGN_1], {"elected": 12 * S}, True),
        ([FOREIGN_1], {"elected": 12 * S, "kept": [2]}, True),  # one log takes the place of another: no end is cut off
        ([FOREIGN_1], {"elected": 12 * S, "by": 2}, False),  # its own log was never the group's
        ([FOREIGN_1], {"elected": 60 * S}, False),  # by then it has the log of its leader
        ([("wipe", 1, AT_ONCE, 10 * S)], {"elected": 12 * S}, False),  # nobody votes for a shorter log
    ],
)
def test_a_member_with_the_disk_of_another_group_brings_its_own_log(faults, how, is_allowed) -> None:
    found = lost(judged(group(3, faults, **how), 3))
    assert found.allowed == is_allowed
    assert ("the disk of another group" in found.sentence) == is_allowed


def test_a_disk_that_names_its_group_takes_no_other_groups_place() -> None:
    assert not lost(judged(group(3, [FOREIGN_1], elected=12 * S), 3, identity=True)).allowed


@pytest.mark.parametrize(("by", "is_allowed"), [(1, True), (2, False)])
def test_a_group_that_took_over_a_log_has_what_was_sent_to_another(by: int, is_allowed: bool) -> None:
    """Message 5 was sent to queue 1, of broker-b, and is there in both."""
    build = group(3, [FOREIGN_1], elected=12 * S, by=by)
    build.brokers = ("broker-a", "broker-b")
    build.send(300, 301, 5, 0, queue=1)
    build.drain(900 * S + 4, 900 * S + 5, 1, [5])
    build.drain(900 * S + 6, 900 * S + 7, 0, [5], queue=1)
    (found,) = [a for a in judged(build, 3).anomalies if a.kind == "duplicated"]
    assert found.allowed == is_allowed
