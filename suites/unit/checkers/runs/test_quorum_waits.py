"""How long a leader waits for its majority, by what its producers are told."""

from __future__ import annotations

import pytest

from checkers.runs.quorum_waits import check_quorum_waits, has_quorum_waits
from checkers.verdict import Verdict
from suites.unit.checkers.build import Build

S = 1000


def group(took_ms: int, at: int = 20 * S) -> Build:
    """A send to a leader that ends with code 1 after so long."""
    build = Build(["broker-a"])
    for member in range(3):
        build.event(0, "node", "started", f"broker-a-{member}")
    build.event(1 * S, "role", "role_changed", "broker-a-0", role="LEADER", term=1, leader="n0")
    build.event(1 * S, "role", "became_master", "broker-a-0")
    build.op("send", at, at + took_ms, "SYSTEM_ERROR", queue=0, message=0, node="broker-a", outcome="info")
    return build


def judged(build: Build, **properties: str) -> Verdict:
    members = {"brokerName": "broker-a", "enableDLegerCommitLog": "true", **properties}
    nodes = {f"broker-a-{member}": {**members, "brokerId": str(member)} for member in range(3)}
    return check_quorum_waits(build.history(), build.facts(mode="dledger", nodes=nodes))


def kinds(verdict: Verdict) -> list[str]:
    return [anomaly.kind for anomaly in verdict.anomalies]


@pytest.mark.parametrize(
    ("took_ms", "bad"), [(3, []), (499, []), (501, ["gave-up-waiting"]), (2470, ["gave-up-waiting"]), (2501, [])]
)
def test_an_unclear_answer_comes_at_once_or_after_the_whole_wait(took_ms, bad) -> None:
    assert kinds(judged(group(took_ms))) == bad


def test_the_wait_can_be_set() -> None:
    assert kinds(judged(group(1001), maxWaitAckTimeMs="1000")) == []
    (early,) = judged(group(900), maxWaitAckTimeMs="1000").anomalies
    assert "waits 1 s for a majority" in early.sentence or "waits 1.000 s for a majority" in early.sentence


def test_a_leader_that_steps_down_ends_what_waits() -> None:
    build = group(1500)
    build.event(21_490, "role", "role_changed", "broker-a-0", role="CANDIDATE", term=1, heard=2)
    assert kinds(judged(build)) == []


@pytest.mark.parametrize(
    ("do", "node", "right", "bad"),
    [
        ("pause", "broker-a-0", [], []),
        ("partition", "broker-a-0", ["client-1"], []),
        ("partition", "broker-a-0", ["broker-a-1", "broker-a-2"], ["gave-up-waiting"]),
    ],
)
def test_a_late_answer_is_not_an_early_one(do, node, right, bad) -> None:
    build = group(1500)
    build.fault(do, node, 18 * S, 18 * S, 25 * S, right=right)
    assert kinds(judged(build)) == bad


def test_only_members_that_tell_are_judged() -> None:
    silent = Build(["broker-a"])
    silent.send(1, 2, 0, 0)
    assert not has_quorum_waits(silent.history(), silent.facts(mode="dledger"))
    assert has_quorum_waits(group(3).history(), group(3).facts(mode="dledger"))
    assert not has_quorum_waits(group(3).history(), group(3).facts(mode="single-master"))
