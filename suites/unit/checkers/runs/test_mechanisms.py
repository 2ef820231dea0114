"""Known ways of failing: only what fulfils all conditions of one is taken for it, and each has its page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checkers.runs.accounting import check_accounting
from checkers.runs.mechanisms import SHOWN_BY, mechanism_of, unexplained
from checkers.runs.slave_lag import check_slave_lag
from checkers.verdict import Anomaly, Verdict
from harness.scenario import find
from harness.scenario_file import load
from suites.unit.checkers.build import Build
from suites.unit.checkers.runs import test_false_acknowledgements as planted

FINDINGS = (Path(__file__).parents[4] / "docs/findings.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("mechanism", SHOWN_BY)
def test_each_is_shown_by_a_scenario_that_is_there_to_fail_and_has_a_page(mechanism: str) -> None:
    assert load(find(SHOWN_BY[mechanism])).expect.verdict == "FAIL"
    assert f"mqchaos run {SHOWN_BY[mechanism]} --backend process --target rocketmq:VERSION" in FINDINGS


def ways(verdict: Verdict) -> list[tuple[str, str]]:
    return [(anomaly.kind, mechanism_of(anomaly)) for anomaly in verdict.anomalies if not anomaly.allowed]


def test_records_that_came_back_behind_what_was_new_at_the_next_end() -> None:
    assert ways(planted.account(planted.cut_and_killed([0, 4, 2, 3]))) == [("resurrected", "stale-bytes")]


def test_records_that_came_back_without_another_end_have_no_known_reason() -> None:
    build = planted.cut_and_killed([0, 4, 2, 3])
    build.events = [event for event in build.events if event["fault"] != "f2"]
    assert ways(planted.account(build)) == [("resurrected", "")]


@pytest.mark.parametrize(
    ("second_at", "end", "drained", "mechanism"),
    [
        pytest.param(2500, "kill", [0, 4, 2, 5], "", id="in front of a newer one: no recovery reads on from there"),
        pytest.param(2000, "kill", [0, 4, 2, 3], "", id="over a newer one, which a kill leaves in the page cache"),
        pytest.param(
            2000, "dead_disk", [0, 4, 2, 3], "stale-bytes", id="a dead disk took the newer one, when it healed"
        ),
    ],
)
def test_a_recovery_reads_on_from_the_last_record_and_over_nothing(
    second_at: int, end: str, drained: list[int], mechanism: str
) -> None:
    """After a cut message 4 lies at 1000, and message 5 at *second_at*; then the process ends once more."""
    build = Build()
    for message in range(4):
        build.send(10 * message, 10 * message + 1, message, message)
    build.fault("cut_power", "broker-a-0", 50, 51, heal=60)
    build.send(70, 71, 4, 1, position=1000)
    build.send(72, 73, 5, 2, position=second_at)
    build.fault(end, "broker-a-0", 80, 81, heal=90, fault="f2")
    build.drain(900, 901, 0, drained)
    build.drained(902, 4)
    assert ("resurrected", mechanism) in ways(planted.account(build))


def test_false_acknowledgements_say_their_way_and_other_losses_none() -> None:
    assert ways(planted.forces_failed(acked=50)) == [("unforced-ok", "failed-force")]
    assert ways(planted.forces_failed(acked=50, failing=(60, 61))) == [("lost", "")]
    assert ways(planted.adopted()) == [("unreplicated-ok", "slave-ahead")]
    assert ways(planted.adopted(loser="kill")) == [("lost", "")]


def test_a_copy_that_is_missing_for_no_reason_is_not_that_of_a_slave_that_was_ahead() -> None:
    explained = planted.compared(planted.both([0, 1, 2], [0, 9, 2]), expect={"replicas": "agree"})
    assert ("unreplicated-ok", "slave-ahead") in ways(explained)
    never_ahead = planted.compared(planted.both([0, 1, 2], [0, 2]), expect={"replicas": "agree"})
    assert [kind for kind, way in ways(never_ahead) if way] == []


@pytest.mark.parametrize(
    ("do", "grows", "loses", "way"),
    [
        ("cut_power", 0, 0, "slave-ahead"),
        ("cut_power", 0, 2_000, "slave-ahead"),
        ("cut_power", 1, 0, ""),
        ("cut_power", 1, 2_000, ""),
        ("kill", 0, 0, ""),
    ],
)
def test_a_slave_is_stuck_if_it_shows_nothing_more_after_its_master_lost_its_end(
    do: str, grows: int, loses: int, way: str
) -> None:
    build = Build()
    build.fault(do, "broker-a-0", 10_000, 10_001, heal=11_000)
    for ms in range(0, 120_000, 500):
        build.op("end", ms, ms + 1, "OK", node="broker-a-0", detail=json.dumps({"broker-a": ms // 500}))
        has = ms if ms < 10_000 else 10_000 + (ms - 10_000) // 2 * grows - loses * (ms > 12_000)
        build.op("end", ms + 2, ms + 3, "OK", node="broker-a-1", detail=json.dumps({"broker-a": has // 500}))
    verdict = check_slave_lag(build.history(), build.facts(mode=planted.ASYNC, nodes={"broker-a-1": {}}))
    assert ways(verdict) == [("slave-behind", way)]


def test_only_what_no_way_explains_is_left() -> None:
    known = Anomaly("resurrected", "…", (), {"broker": "broker-a", "mechanism": "stale-bytes"})
    of_log = Anomaly("resurrected", "…", (), {"queue": "t/broker-a/0"})
    new = Anomaly("two-values-one-offset", "…", (), {"queue": "t/broker-a/0"})
    elsewhere = Anomaly("resurrected", "…", (), {"queue": "t/broker-b/0"})
    allowed = Anomaly("lost", "…", (), {}, allowed=True)
    assert unexplained([known, of_log, new, elsewhere, allowed]) == [new, elsewhere]
    assert unexplained([of_log]) == [of_log], "what the log alone says is explained by nothing"


@pytest.mark.parametrize("kind", ["repeat", "inversion"])
def test_a_record_that_a_slave_had_kept_comes_at_the_place_of_another(kind: str) -> None:
    known = Anomaly("resurrected", "…", (), {"broker": "broker-a", "mechanism": "slave-kept"})
    here, elsewhere = (Anomaly(kind, "…", (), {"queue": f"t/{broker}/0"}) for broker in ("broker-a", "broker-b"))
    assert unexplained([known, here, elsewhere]) == [elsewhere]


def adopted_later(first: str = "cut_power", shows: tuple[int, ...] = (0, 1, 2)) -> Build:
    """Messages 0 to 2; a fault leaves 0 with the master, of whom one more is stored there, at 1000; a minute later the
    data of its slave takes the place, and the drain *shows* that."""
    build = Build()
    for message in range(3):
        build.send(10 * message, 10 * message + 1, message, message)
    build.fault(first, "broker-a-0", 50, 51, heal=60)
    build.send(70, 71, 3, 1, position=1000)
    build.fault("adopt_slave", "broker-a-0", 60_000, 60_001, heal=60_100, fault="f2")
    build.drain(90_000, 90_001, 0, list(shows))
    build.drained(90_002, len(shows))
    return build


def judged_async(build: Build) -> list[tuple[str, str]]:
    nodes = {"broker-a-0": {}, "broker-a-1": {}}
    facts = build.facts("multi-master-multi-slave-async", nodes=nodes)
    return ways(check_accounting(build.history(), facts))


def test_what_an_adopted_slave_never_got_since_it_was_ahead_of_its_master() -> None:
    assert judged_async(adopted_later()) == [("lost", "slave-kept"), ("resurrected", "slave-kept")]
    assert judged_async(adopted_later(shows=(0,))) == [("lost", "")], "nothing shows that it was ahead"
    assert judged_async(adopted_later(first="kill")) == [("lost-in-middle", "")], "its master had lost nothing"
