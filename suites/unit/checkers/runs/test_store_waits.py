"""How long puts wait for a disk and for slaves, by when their producers are answered."""

from __future__ import annotations

import pytest

from checkers.runs.store_waits import check_store_waits, has_store_waits
from checkers.verdict import Verdict
from suites.unit.checkers.build import Build

S = 1000
PAIR = "multi-master-multi-slave-sync"


def sent(took_ms: int, status: str = "TIMEOUT", at: int = 20 * S) -> Build:
    """A send that ended like that after so long."""
    build = Build(["broker-a"])
    for node in ("broker-a-0", "broker-a-1"):
        build.event(0, "node", "started", node)
    build.op("send", at, at + took_ms, status, queue=0, message=0, node="broker-a")
    return build


def judged(build: Build, mode: str = "single-master", flush: str = "sync", **properties: str) -> Verdict:
    nodes = {
        f"broker-a-{number}": {"brokerName": "broker-a", "brokerId": str(number), **properties} for number in range(2)
    }
    history, facts = build.history(), build.facts(mode=mode, flush=flush, nodes=nodes)
    assert has_store_waits(history, facts)
    return check_store_waits(history, facts)


def kinds(verdict: Verdict) -> list[str]:
    return [anomaly.kind for anomaly in verdict.anomalies]


@pytest.mark.parametrize(
    ("mode", "flush", "wait_ms"), [("single-master", "sync", 5000), (PAIR, "async", 3000), (PAIR, "sync", 5000)]
)
def test_a_put_waits_as_long_as_the_longest_of_its_waits(mode: str, flush: str, wait_ms: int) -> None:
    assert kinds(judged(sent(wait_ms + 900), mode, flush)) == []
    assert kinds(judged(sent(wait_ms + 1600), mode, flush)) == ["kept-waiting"]


def test_the_waits_can_be_set() -> None:
    assert kinds(judged(sent(2900), syncFlushTimeout="1000")) == ["kept-waiting"]
    assert kinds(judged(sent(2900), syncFlushTimeout="2000")) == []


@pytest.mark.parametrize("status", ["SEND_OK", "FLUSH_DISK_TIMEOUT"])
def test_an_answer_that_comes_late_is_late_whatever_it_says(status: str) -> None:
    assert kinds(judged(sent(6500, status))) == ["kept-waiting"]


def test_where_nothing_is_waited_for_nothing_is_judged() -> None:
    build = sent(7000)
    assert not has_store_waits(build.history(), build.facts(mode="single-master", flush="async"))


@pytest.mark.parametrize(("mode", "told"), [("dledger", False), ("controller", True)])
def test_where_masters_are_elected_nothing_is_judged(mode: str, told: bool) -> None:
    build = sent(7000)
    if told:
        build.event(1 * S, "role", "became_master", "broker-a-0")
    assert not has_store_waits(build.history(), build.facts(mode=mode, flush="sync"))


@pytest.mark.parametrize(
    ("do", "node", "right", "bad"),
    [
        ("hang_disk", "broker-a-0", [], ["kept-waiting"]),
        ("pause", "broker-a-1", [], ["kept-waiting"]),
        ("partition", "broker-a-0", ["broker-a-1"], ["kept-waiting"]),
        ("pause", "broker-a-0", [], []),
        ("kill", "broker-a-0", [], []),
        ("partition", "broker-a-0", ["client-1"], []),
        ("slow_link", "broker-a-0", ["client-1"], []),
    ],
)
def test_what_held_up_the_answer_itself_excuses_it(do: str, node: str, right: list[str], bad: list[str]) -> None:
    build = sent(7000)
    build.fault(do, node, 21 * S, 21 * S + 1, heal=23 * S, right=right)
    assert kinds(judged(build)) == bad


def test_the_sentence_says_how_long_and_how_long_it_should_have_been() -> None:
    (anomaly,) = judged(sent(7000)).anomalies
    assert "had no answer for 7.000 s, although broker-a-0 waits 5.000 s at most" in anomaly.sentence
