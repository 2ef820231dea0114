"""Published histories with known verdicts: none may come out wrong.

``porcupine``: 102 logs of etcd by Jepsen and 6 key-value histories, from anishathalye/porcupine at 55508eb2 (MIT), with
the verdicts of its own tests; one log is empty there, and an empty history is UNKNOWN here. ``s2``: the streams of
s2-streamstore/s2-verification at 36ce9bd1 (MIT). ``jepsen``: histories that the tests of jepsen-io/jepsen's checkers
judge, as events, with what those tests assert.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checkers.external.calls import Event, pair
from checkers.external.check import check_calls, check_file
from checkers.external.s2 import s2_input
from checkers.logs.linear import check_log
from checkers.verdict import Outcome

HERE = Path(__file__).parent
VERDICTS: dict[str, bool] = json.loads((HERE / "porcupine" / "verdicts.json").read_text(encoding="utf-8"))
STREAMS: list[dict[str, Any]] = json.loads((HERE / "s2" / "cases.json").read_text(encoding="utf-8"))["cases"]

CASES: list[dict[str, Any]] = json.loads((HERE / "jepsen" / "cases.json").read_text(encoding="utf-8"))


def test_all_of_them_are_here() -> None:
    assert len([name for name in VERDICTS if "etcd" in name]) == 102
    assert len([name for name in VERDICTS if "/kv/" in name]) == 6
    assert len(STREAMS) == 9
    assert len(CASES) == 59


@pytest.mark.parametrize("name", sorted(VERDICTS))
def test_porcupine(name: str) -> None:
    path = HERE / "porcupine" / name
    verdict = check_file(path, "kv" if "/kv/" in name else "register")
    expected = Outcome.PASS if VERDICTS[name] else Outcome.FAIL
    assert verdict.outcome is expected, verdict
    if expected is Outcome.FAIL:
        assert verdict.anomalies[0].ops
        assert "line" in verdict.anomalies[0].sentence


def test_the_log_without_operations_is_unknown() -> None:
    (empty,) = [path for path in (HERE / "porcupine" / "test_data" / "jepsen").glob("*.log") if not path.stat().st_size]
    assert check_file(empty, "register").outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("case", STREAMS, ids=[case["test"] for case in STREAMS])
def test_s2(case: dict[str, Any]) -> None:
    columns, gaps = s2_input(case["ops"])
    assert check_log(columns, gaps=gaps).holds is case["linearizable"]


@pytest.mark.parametrize("case", CASES, ids=[f"{case['test']}: {case['case']}" for case in CASES])
def test_jepsen(case: dict[str, Any]) -> None:
    events = [Event(number, *event) for number, event in enumerate(case["events"], 1)]
    verdict = check_calls(pair(events, "history"), case["model"])
    assert verdict.outcome.name == case["ours"], verdict
    assert {name: verdict.measures[name] for name in case.get("measures", {})} == case.get("measures", {})
    if verdict.outcome is Outcome.FAIL:
        assert "Proof: line" in verdict.anomalies[0].sentence


def test_no_verdict_differs_from_what_jepsen_asserts_without_a_reason() -> None:
    same = {"PASS": True, "FAIL": False, "UNKNOWN": "unknown"}
    for case in CASES:
        assert same[case["ours"]] is case["valid"] or same[case["ours"]] == case["valid"] or case["why"], case
    against = [case for case in CASES if {same[case["ours"]], case["valid"]} == {True, False}]
    assert len(against) == 4, [case["case"] for case in against]
