"""The page of a history that another tool wrote: the verdict, its proof, every operation, everything escaped."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from checkers.external.calls import Call
from checkers.external.check import check_calls
from checkers.verdict import Verdict
from harness.cli import main
from harness.report import foreign
from harness.report.columns import OPEN
from suites.unit.harness.test_report import Outline

STALE = """\
{"process": 0, "type": "invoke", "f": "write", "value": 1}
{"process": 0, "type": "ok", "f": "write", "value": 1}
{"process": 0, "type": "invoke", "f": "write", "value": "<b>2"}
{"process": 0, "type": "ok", "f": "write", "value": "<b>2"}
{"process": 2, "type": "invoke", "f": "write", "value": 3}
{"process": 1, "type": "invoke", "f": "read", "value": null}
{"process": 1, "type": "ok", "f": "read", "value": 1}
"""


@pytest.fixture
def history(tmp_path: Path) -> Path:
    path = tmp_path / "history.json"
    path.write_text(STALE)
    return path


def column(header: dict, data: bytes, name: str) -> list[int]:
    place = header["columns"][name]
    return np.frombuffer(
        data, f"<{place['type']}" if place["type"] != "u1" else "u1", header["count"], place["at"]
    ).tolist()


def test_the_page_has_the_verdict_its_proof_and_every_operation(history: Path) -> None:
    page = history.with_name("page.html")
    assert main(["check", str(history), "--model", "register", "--report", str(page)]) == 1
    outline = Outline(page.read_text())
    assert outline.open == []
    assert "FAIL" in outline.text
    assert "No register can have this history." in outline.text
    assert "zone-inside-zone" in outline.text
    assert f"mqchaos check {history} --model register" in outline.text
    header = json.loads(outline.data["timeline"])
    assert header["count"] == 4
    assert header["texts"][1] == "line 3: process 0 write '<b>2' (ok)"
    assert header["lanes"] == ["process 0", "process 2", "process 1"]
    assert column(header, outline.data["ops"], "op") == [1, 3, 5, 6]
    assert column(header, outline.data["ops"], "end") == [1, 3, OPEN, 6]
    assert column(header, outline.data["ops"], "marked") == [1, 1, 0, 1], "what the sentence names"
    assert column(header, outline.data["ops"], "outcome") == [0, 0, 3, 0]


def test_a_pass_and_an_empty_history_have_pages() -> None:
    calls = [Call(1, 0, "write", None, 0, 1, "ok", 1, 1), Call(3, 1, "read", None, 2, 3, "ok", None, 1)]
    for these in (calls, []):
        verdict = check_calls(these, "register")
        outline = Outline(foreign.render("h.edn", "register", verdict, these))
        assert verdict.outcome.name in outline.text
        assert outline.open == []


def test_many_processes_take_places_in_turn(history: Path) -> None:
    """Jepsen gives a process that got no answer a new number; what overlaps stays in lanes of its own."""
    calls = [Call(n, n, "write", None, 2 * n, 2 * n + 3, "ok", n, n) for n in range(100)]
    verdict = Verdict("register", check_calls(calls, "register").outcome)
    header = json.loads(Outline(foreign.render("h", "register", verdict, calls)).data["timeline"])
    assert header["lanes"] == ["lane 1", "lane 2"]


def test_a_check_that_met_its_bound_leaves_no_page_that_seems_to_be_of_it(
    history: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = history.with_name("page.html")
    page.write_text("of yesterday")
    assert main(["check", str(history), "--model", "register", "--seconds", "0", "--report", str(page)]) == 2
    assert not page.exists()
    assert "report:" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("report", "said"), [("no/such/folder.html", "there is no folder"), ("history.json", "is not a place for a page")]
)
def test_a_place_that_is_none(history: Path, report: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    place = history.parent / report
    assert main(["check", str(history), "--model", "register", "--report", str(place)]) == 64
    assert said in capsys.readouterr().err
    assert history.read_text() == STALE
