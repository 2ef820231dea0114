"""What units exercise: the points are found in the sources, and one that nobody exercises is on record with 0."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from scripts import coverage_page
from suites import recorded
from suites.exercise.points import _points_of, declared
from suites.exercise.record import PATH, entries
from suites.exercise.watch import Exercised, watched


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("{RequestCode.HEART_BEAT: self.beat}", [("request", "HEART_BEAT")]),
        ("send(RequestCode.HEART_BEAT)", []),
        ("Command(ResponseCode.SUCCESS, {})", [("answer", "SUCCESS")]),
        ("env.note('log_cut', index=3)", [("branch", "log_cut")]),
        ("env.note('full' if bits else 'well')", [("branch", "full"), ("branch", "well")]),
        ("Note('two_leaders', fields)", [("branch", "two_leaders")]),
        ("env.note(name)", []),
        ("book.note_down('x')", []),
    ],
)
def test_points_are_found_by_how_they_are_written(source: str, found: list[tuple[str, str]]) -> None:
    assert list(_points_of(ast.parse(source))) == found


def test_of_each_kind_there_are_many_and_planted_bugs_have_none() -> None:
    points = declared()
    kinds = {kind: sum(point.kind == kind for point in points) for kind in ("request", "answer", "branch", "fault")}
    assert min(kinds.values()) > 10, kinds
    assert not any("defects" in Path(where).parts for point in points for where in point.where)


def test_what_nobody_exercises_is_on_record() -> None:
    one = Exercised("b", points={"branch": ["log_cut"], "fault": ["kill of master"]}, statuses=["send SEND_OK"])
    other = Exercised("a", points={"branch": ["log_cut"]})
    found = {(entry["kind"], entry["name"]): (entry["units"], entry["first"]) for entry in entries([one, other])}
    assert found["run", "units"] == (2, "")
    assert found["branch", "log_cut"] == (2, "a")
    assert found["branch", "two_leaders"] == (0, "")
    assert found["status", "send SEND_OK"] == (1, "b")
    assert found["fault", "kill of master"] == (1, "b")
    assert ("fault", "kill") not in found
    assert found["fault", "wipe"] == (0, "")


def test_a_run_is_looked_at() -> None:
    seen = watched("single-master-kill", 1)
    assert seen.is_good
    assert {"SEND_MESSAGE_V2", "PULL_MESSAGE", "REGISTER_BROKER"} <= set(seen.points["request"])
    assert {"SUCCESS", "PULL_NOT_FOUND"} <= set(seen.points["answer"])
    assert {"recovered", "broker_started"} <= set(seen.points["branch"])
    assert seen.points["fault"] == ["kill of master"]
    assert "send SEND_OK" in seen.statuses


def test_the_page_is_what_the_recording_makes() -> None:
    assert coverage_page.PAGE.read_text(encoding="utf-8") == coverage_page.page(recorded.read(PATH))
