"""The page of promises: made of claims, scenarios, recorded results and contracts, and up to date."""

from __future__ import annotations

import yaml

from harness.promises import CLAIMS, PAGE, Result, claim_scenarios, merged, page, read_results, write_results


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
    mixed = result(outcomes={"UNKNOWN": 1, "PASS": 19}, figures={"lost": 1234}, note="topic gone")
    assert mixed.cell == "**PASS 19 · UNKNOWN 1**<br>lost ≤ 1,234<br>topic gone"


def test_new_results_replace_old_ones_and_keep_their_note():
    old = [result(note="seen"), result(scenario="other")]
    new = [result(outcomes={"FAIL": 1})]
    assert merged(old, new) == [result(scenario="other"), result(outcomes={"FAIL": 1}, note="seen")]


def test_results_survive_their_file(tmp_path):
    results = [result(), result(backend="process", figures={"lost": 3})]
    write_results(results, tmp_path / "r.json")
    assert sorted(map(repr, read_results(tmp_path / "r.json"))) == sorted(map(repr, results))
