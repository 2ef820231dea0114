"""The page of promises: made of claims, scenarios, recorded results and contracts, and up to date."""

from __future__ import annotations

import json

import yaml

from harness.promises import (
    CLAIMS,
    PAGE,
    Result,
    claim_scenarios,
    headline,
    merged,
    page,
    read_results,
    recorded_in,
    write_results,
)


def result(scenario="s", backend="sim", target="reference", outcomes=None, note="", figures=None):
    return Result(scenario, backend, target, outcomes or {"PASS": 1}, figures or {}, "abc", note)


def test_the_committed_page_is_what_its_sources_make():
    assert PAGE.read_text(encoding="utf-8") == page(read_results()), "run: python -m harness.promises"


def test_every_claim_that_a_scenario_names_is_a_claim():
    known = yaml.safe_load(CLAIMS.read_text(encoding="utf-8"))
    named = {claim for scenario in claim_scenarios() for claim in scenario.claims}
    assert named <= set(known)


def test_every_result_is_of_a_scenario_that_is_there():
    names = {scenario.name for scenario in claim_scenarios()}
    assert {r.scenario for r in read_results()} <= names


def test_a_cell_says_outcomes_figures_and_the_note():
    assert result().cell == "**PASS**"
    assert result(outcomes={"PASS": 20}).cell == "**PASS ×20**"
    figures = {"lost": [7, 1234], "duplicated": [0, 0]}
    mixed = result(outcomes={"UNKNOWN": 1, "PASS": 19}, figures=figures, note="topic gone")
    assert mixed.cell == "**PASS 19 · UNKNOWN 1**<br>lost 7 to 1,234, duplicated 0<br>topic gone"


def test_new_results_replace_old_ones_and_keep_their_note():
    old = [result(note="seen"), result(scenario="other")]
    new = [result(outcomes={"FAIL": 1})]
    assert merged(old, new) == [result(scenario="other"), result(outcomes={"FAIL": 1}, note="seen")]


def test_results_survive_their_file(tmp_path):
    results = [result(), result(backend="process", figures={"lost": [3, 3]})]
    write_results(results, tmp_path / "r.json")
    assert sorted(map(repr, read_results(tmp_path / "r.json"))) == sorted(map(repr, results))


def test_the_headline_has_the_longest_of_several_times():
    checks = [
        ("accounting", {"lost": 3, "sent": 9}),
        ("routes", {"left_after_ms": {"f1/broker-a/namesrv-1": 120_500, "f1/broker-a/namesrv-2": 121_000}}),
        ("availability", {"rto_max_ms": 40}),
    ]
    assert headline(checks) == {"lost": 3, "left_after_ms": 121_000, "rto_max_ms": 40}
    assert headline([("routes", {"left_after_ms": {}})]) == {"left_after_ms": 0}


def keep(folder, outcome, lost, *, scenario="single-master-kill", defects=()):
    folder.mkdir(parents=True)
    run = {"scenario": scenario, "backend": "process", "target": "rocketmq:4.9.7", "commit": "c", "defects": defects}
    (folder / "run.json").write_text(json.dumps(run))
    verdict = {"check": "accounting", "measures": {"lost": lost}}
    (folder / "verdict.json").write_text(json.dumps({"outcome": outcome, "verdicts": [verdict]}))


def test_kept_runs_are_recorded_but_for_planted_bugs_and_scenarios_of_no_claim(tmp_path):
    keep(tmp_path / "a" / "r-1", "PASS", 0)
    keep(tmp_path / "b" / "r-2", "FAIL", 5)
    keep(tmp_path / "r-3", "FAIL", 9, defects=["ack-before-fsync"])
    keep(tmp_path / "r-4", "PASS", 0, scenario="of-my-own")
    (tmp_path / "latest").symlink_to("a/r-1")
    assert recorded_in(tmp_path) == [
        Result("single-master-kill", "process", "rocketmq:4.9.7", {"PASS": 1, "FAIL": 1}, {"lost": [0, 5]}, "c")
    ]
