"""The page of guarantees: made of claims, scenarios, recorded results and contracts, and up to date."""

from __future__ import annotations

from dataclasses import replace

import yaml

from harness.errors import ClusterError
from harness.matrix import scenario_of
from harness.run import run_scenario
from scripts.promises_page import (
    CLAIMS,
    PAGE,
    Result,
    claim_scenarios,
    grid,
    headline,
    merged,
    page,
    read_results,
    record,
    recorded_in,
    write_results,
)
from suites.unit.harness.tiny import KILL, tiny


def result(scenario="s", backend="sim", target="reference", outcomes=None, note="", figures=None):
    return Result(scenario, backend, target, outcomes or {"PASS": 1}, figures or {}, "abc", note)


def test_the_committed_page_is_what_its_sources_make():
    assert PAGE.read_text(encoding="utf-8") == page(read_results()), "run: python scripts/promises_page.py"


def test_every_claim_that_a_scenario_names_is_a_claim():
    known = yaml.safe_load(CLAIMS.read_text(encoding="utf-8"))
    named = {claim for scenario in claim_scenarios() for claim in scenario.claims}
    assert named <= set(known)


def test_every_result_is_of_a_scenario_or_a_cell_that_is_there():
    names = {scenario.name for scenario in claim_scenarios()} | {scenario_of(*cell).name for cell in grid()}
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


def test_a_note_that_says_why_a_cluster_did_not_get_ready_goes_when_it_did():
    old = [result(outcomes={"NOT READY": 1}, note="broker-a-1 is not registered")]
    assert merged(old, [result()]) == [result()]


def test_a_seed_whose_cluster_did_not_get_ready_is_counted_beside_the_others(monkeypatch):
    claim = claim_scenarios()[0].name
    runs = iter([ClusterError("nothing arrives at broker-a-1"), tiny(KILL)])

    def run(scenario, **options):
        if isinstance(came := next(runs), ClusterError):
            raise came
        return run_scenario(came, seed=options["seed"], keep="none")

    monkeypatch.setattr("harness.run.run_scenario", run)
    (recorded,) = record("sim", "reference", [1, 2], only=claim)
    assert (recorded.outcomes, recorded.note) == ({"NOT READY": 1, "PASS": 1}, "nothing arrives at broker-a-1")


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


def test_kept_runs_are_judged_anew_but_for_planted_bugs_and_scenarios_of_no_claim(tmp_path):
    own, other = replace(tiny(KILL), name="single-master-kill"), replace(tiny(KILL), name="of-my-own")
    runs = [run_scenario(own, seed=seed, out=tmp_path / f"of-{seed}") for seed in (1, 2)]
    run_scenario(own, seed=3, out=tmp_path, defects=("skip-last-record",))
    run_scenario(other, seed=4, out=tmp_path)
    (runs[0].folder / "verdict.json").write_text('{"outcome": "FAIL", "verdicts": []}')
    (recorded,) = recorded_in(tmp_path)
    assert (recorded.scenario, recorded.backend, recorded.target) == ("single-master-kill", "sim", "reference")
    assert recorded.outcomes == {"PASS": 2}
    assert recorded.figures["lost"] == [0, 0]
    returns = [next(v for v in run.verdicts if v.check == "availability").measures["rto_max_ms"] for run in runs]
    assert recorded.figures["rto_max_ms"] == [min(returns), max(returns)]
