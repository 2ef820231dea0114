"""Sets that are read as a whole: each violation by name, and Jepsen's account of what was lost, stale or never read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checkers.external.check import check_file
from checkers.objects.sets import check_set, fates
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.draw_set import Call, set_input


def add(value: int, inv: int, ret: int, outcome: str = "ok") -> Call:
    return Call("add", inv, 1 << 40 if outcome == "info" else ret, [value], outcome)


def read(inv: int, ret: int, *values: int) -> Call:
    return Call("read", inv, ret, list(values))


CASES: dict[str, tuple[list[Call], str]] = {
    "what was added is read": ([add(0, 0, 1), read(2, 3, 0)], ""),
    "an add that is open may be read or not": ([add(0, 0, 9), read(1, 2), read(3, 4, 0), read(5, 6, 0)], ""),
    "but not go away again": ([add(0, 0, 9), read(3, 4, 0), read(5, 6)], "went-backwards"),
    "acknowledged, then missing": ([add(0, 0, 1), read(2, 3)], "stale-or-lost"),
    "acknowledged as the read began": ([add(0, 0, 2), read(2, 3)], ""),
    "an unknown add may turn up late": ([add(0, 0, 0, "info"), read(5, 6), read(7, 8, 0)], ""),
    "an unknown add that nobody saw": ([add(0, 0, 0, "info"), read(5, 6)], ""),
    "read before it was added": ([read(0, 1, 0), add(0, 2, 3)], "read-from-future"),
    "never added": ([read(0, 1, 0)], "phantom"),
    "certainly refused": ([add(0, 0, 1, "fail"), read(2, 3, 0)], "failed-append-visible"),
    "twice in one read": ([add(0, 0, 1), read(2, 3, 0, 0)], "duplicated-in-read"),
    "added twice, there once": ([add(0, 0, 1), add(0, 2, 3), read(4, 5, 0)], ""),
    "two orders": ([add(0, 0, 9), add(1, 0, 9), read(1, 8, 0), read(1, 8, 1)], "reads-disagree"),
    "the later without the earlier": ([add(0, 0, 1), add(1, 2, 3), read(0, 9, 1)], "real-time-order"),
    "the later without the earlier, both open": ([add(0, 0, 2), add(1, 2, 3), read(0, 9, 1)], ""),
}


@pytest.mark.parametrize("case", CASES)
def test_a_set(case: str) -> None:
    calls, kind = CASES[case]
    violations = check_set(set_input(calls)).violations
    assert [violation.kind for violation in violations] == ([kind] if kind else [])
    assert all(len(violation.ops) <= (3 if kind == "real-time-order" else 2) for violation in violations)


@pytest.mark.parametrize(
    ("calls", "lost", "stale"),
    [
        ([add(0, 0, 1), read(2, 3)], [0], []),
        ([add(0, 0, 1), read(2, 3), read(4, 5, 0)], [], [0]),
        ([add(0, 0, 1), read(2, 3, 0), read(4, 5)], [0], []),
        ([add(0, 0, 9), read(2, 3), read(10, 11, 0)], [], []),
        ([add(0, 0, 0, "info"), read(2, 3)], [], []),
        ([add(0, 0, 0, "info"), read(2, 3, 0), read(4, 5), read(6, 7, 0), read(8, 9)], [0], []),
        ([add(0, 0, 1), add(1, 0, 1), read(2, 3, 1), read(4, 5, 1), read(6, 7, 0, 1)], [], [0]),
    ],
)
def test_what_was_known_and_then_missing(calls: list[Call], lost: list[int], stale: list[int]) -> None:
    found = fates(set_input(calls))
    assert (found.lost.tolist(), found.stale.tolist()) == (lost, stale)


def judge(tmp_path: Path, *steps: tuple[str, Any, Any]) -> Verdict:
    rows = [
        {"process": 0, "type": kind, "f": f, "value": value}
        for f, asked, answered in steps
        for kind, value in (("invoke", asked), ("ok", answered))
    ]
    path = tmp_path / "history.json"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return check_file(path, "set")


def test_a_history_of_others(tmp_path: Path) -> None:
    verdict = judge(tmp_path, ("add", "a", "a"), ("add", "b", "b"), ("read", None, ["b", "a"]), ("read", None, ["b"]))
    assert verdict.outcome is Outcome.FAIL
    assert (verdict.measures["lost"], verdict.measures["stale"], verdict.measures["never_read"]) == (1, 0, 0)
    assert "'a'" in verdict.anomalies[0].sentence
    assert "line 7: process 0 read ['b'] (ok)" in verdict.anomalies[0].sentence


def test_independent_keys_inside_the_values(tmp_path: Path) -> None:
    steps = [
        ("add", [0, 5], [0, 5]),
        ("add", [1, 5], [1, 5]),
        ("read", [0, None], [0, [5]]),
        ("read", [1, None], [1, []]),
    ]
    verdict = judge(tmp_path, *steps)
    assert (verdict.measures["objects"], [anomaly.kind for anomaly in verdict.anomalies]) == (2, ["stale-or-lost"])


def test_independent_keys_that_only_the_question_names(tmp_path: Path) -> None:
    verdict = judge(tmp_path, ("add", [0, 5], [0, 5]), ("add", [0, 6], [0, 6]), ("read", [0, None], [5, 6]))
    assert (verdict.outcome, verdict.measures["objects"]) == (Outcome.PASS, 1)


def test_without_a_read_nothing_is_known(tmp_path: Path) -> None:
    assert judge(tmp_path, ("add", 1, 1)).outcome is Outcome.UNKNOWN
