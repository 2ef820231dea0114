"""Logs on the disks of members: one log, well formed, noted and forced; and what excuses a difference."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.runs.member_logs import check_member_logs, has_member_logs
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.build import MS, Build

S = 1000
END = 100 * S
RIGHT: dict[str, Any] = {
    "begin": 0,
    "end": 69,
    "terms": [[1, 0], [2, 40]],
    "term": 2,
    "checkpoint": [69, 69],
    "block": 0,
    "blocks": [11],
    "rest": [1, 2, 3, 4, 5, 6],
    "wrong": [],
    "unforced": [],
    "expected": 69,
}


def group(*others: dict[str, Any]) -> Build:
    """Three members; what *others* say differs from what is right."""
    build = Build(["broker-a"])
    build.send(500, 501, 0, 0)
    for member in range(3):
        build.event(0, "node", "started", f"broker-a-{member}")
        said = {**RIGHT, **(others[member] if member < len(others) else {})}
        build.event(END, "note", "log_on_disk", f"broker-a-{member}", **said)
    return build


def judged(build: Build) -> Verdict:
    members = {"brokerName": "broker-a", "enableDLegerCommitLog": "true"}
    nodes = {f"broker-a-{member}": {**members, "brokerId": str(member)} for member in range(3)}
    return check_member_logs(build.history(), build.facts(mode="dledger", nodes=nodes))


def kinds(verdict: Verdict) -> list[str]:
    return sorted({anomaly.kind for anomaly in verdict.anomalies if not anomaly.allowed})


@pytest.mark.parametrize(
    ("said", "bad"),
    [
        ({}, []),
        ({"begin": 64, "block": 1, "blocks": []}, []),  # its first files have expired
        ({"begin": 66, "block": 2, "blocks": [], "rest": []}, []),
        ({"blocks": [12]}, ["logs-differ"]),
        ({"end": 68, "rest": [1, 2, 3, 4, 5]}, ["logs-differ"]),
        ({"rest": [1, 2, 3, 4, 5, 7]}, ["logs-differ"]),
        ({"wrong": [["index", "the index of entry 7 does not lead to its record at 9"]]}, ["log-malformed"]),
        ({"term": 1}, ["term-behind"]),
        ({"checkpoint": [69, 68]}, ["not-noted"]),
        ({"checkpoint": []}, ["not-noted"]),
        ({"unforced": [[90 * S * MS, 100]]}, ["not-forced"]),
        ({"unforced": [[END * MS - 9, 100]]}, []),  # the next force takes it
        ({"unforced": None}, []),  # nobody can tell
    ],
)
def test_members_have_one_log(said, bad) -> None:
    assert kinds(judged(group(said))) == bad


@pytest.mark.parametrize("said", [{"blocks": [12]}, {"wrong": [["unit", "t/0 @7 leads to 9"]]}])
def test_a_damaged_member_may_differ(said) -> None:
    build = group(said)
    build.fault("flip_bits", "broker-a-0", 40 * S, 40 * S, 41 * S)
    build.event(41 * S, "node", "started", "broker-a-0")
    assert judged(build).outcome is Outcome.PASS
    assert judged(build).anomalies, "it is told all the same"


@pytest.mark.parametrize(("do", "bad"), [("fail_sync", []), ("step_clock", ["not-forced"])])
def test_forces_that_fail_leave_something_unforced(do, bad) -> None:
    build = group({"unforced": [[90 * S * MS, 100]]})
    build.fault(do, "broker-a-0", 80 * S, 80 * S, 95 * S)
    assert kinds(judged(build)) == bad


def test_what_a_process_wrote_that_is_gone_is_not_forced_by_the_next() -> None:
    build = group({"unforced": [[50 * S * MS, 100]]})
    build.event(60 * S, "node", "started", "broker-a-0")
    assert kinds(judged(build)) == []


def test_a_member_that_did_not_run_is_not_judged() -> None:
    build = group({"end": 3, "expected": 3})
    build.event(90 * S, "node", "killed", "broker-a-0")
    build.event(95 * S, "node", "started", "broker-a-0")
    assert judged(build).measures["members"] == 2


def test_nobody_to_judge_is_unknown() -> None:
    build = group()
    for member in range(3):
        build.event(95 * S, "node", "killed", f"broker-a-{member}")
        build.event(96 * S, "node", "started", f"broker-a-{member}")
    assert judged(build).outcome is Outcome.UNKNOWN


def test_logs_without_an_entry_prove_nothing() -> None:
    empty = {"begin": -1, "end": -1, "terms": [], "checkpoint": [-1, -1], "blocks": [], "rest": [], "expected": -1}
    verdict = judged(group(empty, empty, empty))
    assert (verdict.outcome, verdict.measures) == (Outcome.UNKNOWN, {"members": 3, "entries": 0})


def test_runs_in_which_nobody_looked_are_not_asked() -> None:
    build = Build(["broker-a"])
    build.send(500, 501, 0, 0)
    assert not has_member_logs(build.history(), build.facts(mode="dledger"))
    assert has_member_logs(group().history(), group().facts(mode="dledger"))
