"""Stale units: a place that nobody wrote, or that holds no record, has a known reason only if all conditions hold."""

from __future__ import annotations

import pytest

from checkers.runs.availability import check_availability
from checkers.runs.log import check_logs
from checkers.runs.mechanisms import mechanism_of
from checkers.runs.stale_units import DAMAGED_ANSWER, way_to
from suites.unit.checkers.build import Build


def run(first: str = "flip_bits", end: str = "kill", old: int = 5, reached: int = 3400, hole: int = 3) -> Build:
    """Messages 0 to *old* − 1, at 1000 bytes each; a fault leaves message 0; 10 and 11 take the places 1 and 2, the
    second at *reached*; the process ends again; message 12 gets the place behind *hole*."""
    build = Build()
    for message in range(old):
        build.send(10 * message, 10 * message + 1, message, message)
    build.fault(first, "broker-a-0", 100, 101, heal=110)
    build.send(120, 121, 10, 1, position=1000)
    build.send(130, 131, 11, 2, position=reached)
    if end:
        build.fault(end, "broker-a-0", 140, 141, heal=150, fault="f2")
    build.send(160, 161, 12, hole + 1, position=reached + 300)
    return build


def of_log(build: Build) -> list[tuple[str, str]]:
    verdict = check_logs(build.history(), build.facts(flush="sync"))
    return [(anomaly.kind, mechanism_of(anomaly)) for anomaly in verdict.anomalies if not anomaly.allowed]


@pytest.mark.parametrize("end", ["kill", "stop", "restart", "cut_power"])
def test_a_unit_of_before_a_fault_makes_a_hole_that_nobody_wrote(end: str) -> None:
    build = run(end=end)
    build.drain(900, 901, 0, [0, 10, 11])
    build.op("drain", 902, 903, DAMAGED_ANSWER, queue=0, offset=3, outcome="fail")
    build.drain(904, 905, 4, [12])
    build.drained(906, 5)
    assert of_log(build) == [("hole-without-writer", "stale-units")]


@pytest.mark.parametrize(
    "changed",
    [
        {"first": "kill"},  # nothing took the end of the log
        {"first": "wipe"},  # no unit of before is left
        {"end": ""},  # no start that could have taken the old units for its own
        {"old": 3},  # the queue never had that place before
        {"reached": 1400},  # the log had not reached the position of that place again
    ],
    ids=lambda changed: "{0[0]}={0[1]}".format(*changed.items()),
)
def test_a_hole_without_one_of_the_conditions_has_no_known_reason(changed: dict[str, object]) -> None:
    build = run(**changed)
    build.drain(900, 901, 0, [0, 10, 11])
    build.drain(904, 905, 4, [12])
    assert ("hole-without-writer", "stale-units") not in of_log(build)
    assert of_log(build)


def stuck(at: int, status: str = DAMAGED_ANSWER) -> list[tuple[str, str]]:
    build = run(end="restart")
    for ms in range(200, 62_000, 100):
        build.op("pull", ms, ms + 1, status, queue=0, offset=min(1, at), outcome="fail", node="broker-a-0")
        build.op("pull", ms + 2, ms + 3, status, queue=0, offset=at, outcome="fail", node="broker-a-0")
    verdict = check_availability(build.history(), build.facts(flush="sync"))
    return [(anomaly.kind, mechanism_of(anomaly)) for anomaly in verdict.anomalies if not anomaly.allowed]


def test_readers_that_stand_before_such_a_place_for_ever_have_its_reason() -> None:
    assert stuck(at=3) == [("not-recovered", "stale-units")]
    assert stuck(at=9) == [("not-recovered", "")], "the queue never was that long"
    assert stuck(at=3, status="SYSTEM_ERROR") == [("not-recovered", "")], "an error is no bytes"


def reason(answers: int, next_position: int) -> bool:
    """Nothing is sent between the two faults, but pulls are moved: a broker writes a record for each of them."""
    build = Build()
    for message in range(5):
        build.send(10 * message, 10 * message + 1, message, message)
    build.fault("flip_bits", "broker-a-0", 100, 101, heal=110)
    for number in range(answers):
        ms = 120 + 2 * number
        build.op("pull", ms, ms + 1, "PULL_OFFSET_MOVED", queue=0, offset=9, outcome="ok", node="broker-a-0")
    build.fault("kill", "broker-a-0", 140, 141, heal=150, fault="f2")
    build.send(160, 161, 12, 2, position=next_position)
    return bool(way_to(build.history(), build.facts(flush="sync"), 0, 1, -1))


def test_a_log_grows_by_the_records_of_moved_offsets_too() -> None:
    assert reason(answers=2, next_position=1500)
    assert not reason(answers=0, next_position=1500), "nothing was written"
    assert not reason(answers=2, next_position=900), "not as far as the old unit points"


def ended_short(does_grow: bool) -> list[tuple[str, str]]:
    """A fault leaves message 0, and the queue ends at @1; after the next start, which takes nothing, it is longer."""
    build = Build()
    for message in range(5):
        build.send(10 * message, 10 * message + 1, message, message)
    build.fault("flip_bits", "broker-a-0", 100, 101, heal=110)
    if does_grow:
        build.op("pull", 120, 121, "PULL_OFFSET_MOVED", queue=0, offset=9, outcome="ok", node="broker-a-0")
    build.query_max(10_000, 10_001, 1)
    build.fault("kill", "broker-a-0", 20_000, 20_001, heal=20_010, fault="f2")
    build.send(21_000, 21_001, 12, 3, position=3500)
    build.drain(90_000, 90_001, 0, [0])
    build.drain(90_004, 90_005, 3, [12])
    verdict = check_logs(build.history(), build.facts(flush="sync"))
    return [(a.kind, mechanism_of(a)) for a in verdict.anomalies if a.kind == "stale" and not a.allowed]


def test_a_queue_that_was_shorter_before_old_units_were_taken_for_its_own() -> None:
    assert ended_short(does_grow=True) == [("stale", "stale-units")]
    assert ended_short(does_grow=False) == [("stale", "")], "the log cannot have reached the old units again"
