"""A backend, a family of levers and a verb, added as a stranger would: one file (``proxied_world.py``), a row each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checkers.verdict import Outcome
from faults.catalogue import VERBS
from faults.levers import FAMILIES
from harness.backends.table import BACKENDS
from harness.doctor import examine
from harness.errors import BackendUnavailable
from harness.pytest_plugin import missing_capability
from harness.run import RunResult, run_scenario
from suites.unit.harness.proxied_world import HANG_UP, ROW, ProxyLevers
from suites.unit.harness.tiny import KILL, tiny


@pytest.fixture(autouse=True)
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKENDS, ROW.name, ROW)
    monkeypatch.setitem(FAMILIES, "proxy", ProxyLevers)
    monkeypatch.setitem(VERBS, HANG_UP.name, HANG_UP)


def events(result: RunResult) -> list[dict[str, object]]:
    assert result.folder is not None
    return [json.loads(line) for line in (result.folder / "journal.jsonl").read_text().splitlines()]


def test_a_run_in_it_is_like_any_other(tmp_path: Path) -> None:
    result = run_scenario(tiny(KILL), backend="proxied", seed=1, out=tmp_path)
    assert (result.outcome, result.backend) == (Outcome.PASS, "proxied")
    assert result.history_sha256 == run_scenario(tiny(KILL), seed=1, keep="none").history_sha256


def test_its_fault_goes_through_the_whole_life_of_faults_and_into_the_history(tmp_path: Path) -> None:
    hang_up = {"at": "500ms", "do": "hang_up", "on": "masters"}
    result = run_scenario(tiny(hang_up), backend="proxied", seed=1, out=tmp_path)
    told = [event["step"] for event in events(result) if event.get("fault") == "f1"]
    assert told == ["resolve", "inject", "probe", "heal", "heal_probe"]
    assert "hung_up" in [event.get("step") for event in events(result)], "it is recorded, and nobody wrote how"


def test_other_backends_refuse_its_fault_and_it_refuses_theirs() -> None:
    with pytest.raises(BackendUnavailable, match="no levers of the family 'proxy'"):
        run_scenario(tiny({"at": "500ms", "do": "hang_up", "on": "masters"}), seed=1, keep="none")
    cut = {"at": "500ms", "do": "isolate", "on": "masters", "hold": "500ms"}
    with pytest.raises(BackendUnavailable, match="no levers of the family 'network'"):
        run_scenario(tiny(cut), backend="proxied", seed=1, keep="none")
    with pytest.raises(BackendUnavailable, match="lives in the harness's own process"):
        run_scenario(tiny({**KILL, "on": "client(1)"}), backend="proxied", seed=1, keep="none")


def test_doctor_and_tests_ask_its_capabilities() -> None:
    found = {finding.name: finding.found for finding in examine()}
    assert found["backend proxied"] == "can: process, proxy"
    assert missing_capability("proxied:proxy") == ""
    assert missing_capability("sim:proxy") == "sim has no levers of proxy"
