"""Planted bugs of the reference: each is found by the check that is meant to find it, and the twin without the bug is
clean.

Few seeds each, known to find it, with the bug and without: with it the named check must FAIL with an anomaly that names
the mechanism, without it every check must PASS. Where luck is needed, one of up to three seeds is enough: whatever else
changes in the broker moves the draws. How often a bug is found among many seeds is what
``python -m suites.museum.hunt`` measures and ``docs/museum.md`` shows.
"""

from __future__ import annotations

import pytest

from checkers.runs.checks import CHECKS
from checkers.runs.kinds import KINDS
from checkers.verdict import Outcome
from harness.scenario import MUSEUM, find
from reference_impl.defects import DEFECTS
from suites.museum.exhibits import EXHIBITS, OfEntries, OfShipped, proof, run, scenario_of
from suites.museum.hunt import read_findings

FINDINGS = read_findings()
KNOWN = {name: f.first if f.found < f.seeds else f.first[:1] for name, f in FINDINGS.items()}
"""Seeds that find each bug: one where all do, else up to three."""
OF_NODES = [
    kind for check in ("elections", "member-logs", "broker-disks", "replication-links") for kind in KINDS[check]
]


def test_every_planted_bug_is_an_exhibit_and_names_a_check_that_there_is():
    assert set(EXHIBITS) == set(DEFECTS) == set(FINDINGS)
    of_entries = {name for name, exhibit in EXHIBITS.items() if isinstance(exhibit, OfEntries)}
    assert {defect.check for name, defect in DEFECTS.items() if name not in of_entries} <= set(CHECKS)
    assert {DEFECTS[name].check for name in of_entries} == {"entries"}


def test_every_scenario_of_the_museum_is_used_and_found_by_name():
    paths = sorted(MUSEUM.glob("*.yaml"))
    used = {exhibit.path for exhibit in EXHIBITS.values() if not isinstance(exhibit, OfEntries | OfShipped)}
    assert paths == sorted(used)
    for path in paths:
        assert scenario_of(path).name == path.stem
        assert find(path.stem) == path


@pytest.mark.parametrize("name", EXHIBITS)
def test_a_planted_bug_is_found_by_its_check_with_a_sentence(name):
    results = [run(name, seed) for seed in KNOWN[name]]
    found = [anomaly for result in results if (anomaly := proof(name, result)) is not None]
    assert found, [verdict.to_json() for result in results for verdict in result.verdicts if verdict.outcome]
    assert found[0].ops or found[0].kind in OF_NODES, "what nodes say and keep proves it, or operations do"
    assert found[0].sentence == FINDINGS[name].sentence, "python -m suites.museum.hunt --words, then suites.museum.page"


TWINS = {(EXHIBITS[name].scenario, seed): name for name, seeds in KNOWN.items() for seed in seeds}


@pytest.mark.parametrize(("scenario", "seed"), TWINS)
def test_the_twin_without_the_bug_passes_every_check(scenario, seed):
    result = run(TWINS[scenario, seed], seed, clean=True)
    assert result.outcome is Outcome.PASS, [verdict.to_json() for verdict in result.verdicts if verdict.outcome]
