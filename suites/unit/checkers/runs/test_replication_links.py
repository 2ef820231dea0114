"""Connections of replication: each rule at its border, on notes and events by hand."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.runs.replication_links import check_replication_links, has_replication_links
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.build import Build

PASS, UNKNOWN, FAIL = Outcome.PASS, Outcome.UNKNOWN, Outcome.FAIL
NODES: dict[str, dict[str, str]] = {
    "broker-a-0": {"mappedFileSizeCommitLog": "1000"},
    "broker-a-1": {"brokerId": "1", "brokerRole": "SLAVE"},
}
LATE_MS = 1_350
"""The check's margin and the simulator's slack."""


class Line:
    """One made-up slave of broker-a-0, with RocketMQ's times: 5 s, 20 s."""

    def __init__(self) -> None:
        self.build = Build()
        self.build.send(0, 1, message=0, offset=0)

    def note(self, ms: int, what: str, *, line: int = 1, way: str = "follows", **more: int) -> Line:
        self.build.event(ms, "note", "ha_line", "client-3", line=line, to="broker-a-0", way=way, what=what, **more)
        return self

    def begins(self, ms: int = 1, offset: int = 0, *, line: int = 1, way: str = "follows") -> Line:
        return self.note(ms, "connected", line=line, way=way).note(ms, "report", line=line, way=way, offset=offset)

    def beats(self, *instants: int, offset: int = 0, line: int = 1, way: str = "follows") -> Line:
        for ms in instants:
            self.note(ms, "frame", line=line, way=way, offset=offset, size=0)
        return self

    def silent(self, end_ms: int, what: str = "ended") -> Line:
        """Another, which says nothing after its first report and is thrown out."""
        self.begins(1, line=2, way="silent")
        self.beats(*range(5_002, end_ms, 5_002), line=2, way="silent")
        return self.note(end_ms, what, line=2, way="silent")

    def verdict(self) -> Verdict:
        history, facts = self.build.history(), self.build.facts(mode="multi-master-multi-slave-async", nodes=NODES)
        assert has_replication_links(history, facts)
        return check_replication_links(history, facts)

    def kinds(self) -> list[str]:
        return [anomaly.kind for anomaly in self.verdict().anomalies]


def well() -> Line:
    """Heartbeats in time, and a silent one that is thrown out after twenty seconds."""
    return Line().begins().beats(5_002, 10_003).note(12_000, "left").silent(20_500)


def test_a_master_that_speaks_as_it_should_passes() -> None:
    verdict = well().verdict()
    assert verdict.outcome is PASS
    assert verdict.measures == {"connections": 2, "heartbeats": 6, "thrown_out": 1}


@pytest.mark.parametrize(
    ("reported", "frames", "kinds"),
    [
        (0, [(3000, 100), (3100, 0)], []),
        (0, [(3100, 100)], ["frame-astray"]),
        (3100, [(3100, 100)], []),
        (3100, [(3000, 100)], ["frame-astray"]),
        (3100, [(3100, 100), (3200, 50), (3250, 1)], []),
        (3100, [(3100, 100), (3150, 50)], ["frame-astray"]),
        (3100, [(3100, 100), (3201, 50)], ["frame-astray"]),
    ],
)
def test_frames_follow_one_another_from_where_the_slave_ends(
    reported: int, frames: list[tuple[int, int]], kinds: list[str]
) -> None:
    line = Line().begins(1, reported)
    for number, (offset, size) in enumerate(frames):
        line.note(6_000 + number * 5_000, "frame", offset=offset, size=size)
    assert line.note(6_001 + len(frames) * 5_000 - 5_000, "left").silent(20_500).kinds() == kinds


@pytest.mark.parametrize(
    ("gap_ms", "kinds"),
    [(5_000 + LATE_MS, []), (5_001 + LATE_MS, ["heartbeat-missing"]), (60_000, ["heartbeat-missing"])],
)
def test_something_comes_in_every_interval(gap_ms: int, kinds: list[str]) -> None:
    line = Line().begins().beats(5_000, 5_000 + gap_ms).note(5_001 + gap_ms, "left").silent(20_500)
    line.note(5_000 + gap_ms, "report", offset=0)
    assert line.kinds() == kinds


@pytest.mark.parametrize(("gap_ms", "kinds"), [(4_750, []), (4_749, ["heartbeat-early"]), (100, ["heartbeat-early"])])
def test_a_heartbeat_waits_for_its_interval(gap_ms: int, kinds: list[str]) -> None:
    assert Line().begins().beats(5_000, 5_000 + gap_ms).note(10_000, "left").silent(20_500).kinds() == kinds


def test_nothing_is_owed_before_the_first_report() -> None:
    line = Line().note(1, "connected").note(50_000, "report", offset=0).beats(50_001, 55_002).note(56_000, "left")
    assert line.silent(20_500).kinds() == []


@pytest.mark.parametrize(
    ("end_ms", "what", "kinds"),
    [
        (20_001 + LATE_MS, "ended", []),
        (20_002 + LATE_MS, "ended", ["silent-kept"]),
        (40_000, "left", ["silent-kept"]),
        (19_751, "ended", []),
        (19_750, "ended", ["thrown-out"]),
        (5_000, "ended", ["thrown-out"]),
        (5_000, "left", []),
    ],
)
def test_who_is_silent_is_ended_after_its_time(end_ms: int, what: str, kinds: list[str]) -> None:
    assert Line().begins().beats(5_002).note(6_000, "left").silent(end_ms, what).kinds() == kinds


def test_who_reports_is_not_thrown_out() -> None:
    line = Line().begins().beats(*range(5_002, 20_500, 5_002)).note(20_000, "report", offset=0).note(20_500, "ended")
    assert line.silent(20_500).kinds() == ["thrown-out"]


@pytest.mark.parametrize(("do", "node"), [("pause", "broker-a-0"), ("isolate", "broker-a-0"), ("kill", "broker-a-0")])
def test_a_fault_excuses_what_it_held_back(do: str, node: str) -> None:
    line = Line().begins().beats(5_002, 30_000).note(30_100, "ended").silent(20_500)
    assert "heartbeat-missing" in line.kinds()
    line.build.fault(do, node, 9_000, 9_001, heal=25_000, right=["client-3"] if do == "isolate" else [])
    assert "heartbeat-missing" not in line.kinds()


def test_without_a_heartbeat_or_an_end_nothing_is_shown() -> None:
    verdict = Line().begins().note(4_000, "left").verdict()
    assert verdict.outcome is UNKNOWN
    assert len(verdict.reasons) == 2


# Between brokers ------------------------------------------------------------------------------------------------------


def _between(why: str, closed_ms: int | None, closed_why: str = "silent") -> Build:
    build = Build()
    build.send(0, 1, message=0, offset=0)
    if closed_ms is not None:
        build.event(closed_ms, "role", "ha_slave_closed", "broker-a-0", why=closed_why)
    build.event(40_000, "role", "ha_master_gone", "broker-a-1", why=why)
    return build


@pytest.mark.parametrize(
    ("why", "closed_ms", "closed_why", "kinds"),
    [
        ("closed by the master", 39_999, "silent", ["thrown-out"]),
        ("closed by the master", 39_999, "stopping", []),
        ("closed by the master", 20_000, "silent", []),
        ("closed by the master", None, "", []),
        ("cannot connect", 39_999, "silent", []),
        ("silent", None, "", ["master-silent"]),
    ],
)
def test_ends_between_brokers(why: str, closed_ms: int | None, closed_why: str, kinds: list[str]) -> None:
    build = _between(why, closed_ms, closed_why)
    facts: Any = build.facts(mode="multi-master-multi-slave-async", nodes=NODES)
    verdict = check_replication_links(build.history(), facts)
    assert [anomaly.kind for anomaly in verdict.anomalies] == kinds
    assert verdict.outcome is (FAIL if kinds else PASS)


@pytest.mark.parametrize("node", ["broker-a-0", "broker-a-1"])
def test_who_was_paused_may_be_thrown_out(node: str) -> None:
    build = _between("closed by the master", 39_999)
    build.fault("pause", node, 15_000, 15_001, heal=39_000)
    facts = build.facts(mode="multi-master-multi-slave-async", nodes=NODES)
    assert not check_replication_links(build.history(), facts).anomalies


def test_nobody_who_told_of_connections_is_not_judged() -> None:
    build = Build()
    build.send(0, 1, message=0, offset=0)
    assert not has_replication_links(build.history(), build.facts())
