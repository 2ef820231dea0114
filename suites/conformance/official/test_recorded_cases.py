"""Official clients: what was recorded is complete, every difference is named, and the reference still does the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import suites.conformance.official.cases  # noqa: F401 - they add themselves
from suites.conformance.official.case import CASES, without_numbers
from suites.conformance.official.comparison import REFERENCE, compared, named, recorded
from suites.conformance.official.mqadmin import TOOLS
from suites.conformance.official.place import place
from suites.conformance.official.record import names_for, observe

ENOUGH = 100


def test_there_are_a_hundred_cases_and_each_was_recorded_on_apache_too() -> None:
    results = recorded()
    assert sum(len(cases) for cases in results.values()) >= ENOUGH
    for client, cases in results.items():
        assert set(names_for(client)) <= set(cases), client
        for case, seen in cases.items():
            assert REFERENCE in seen, (client, case)
            assert len(seen) > 1, (client, case)


def test_every_difference_is_named_and_every_name_is_a_difference() -> None:
    differ = {(row.client, row.case, row.target) for row in compared(recorded()) if not row.is_same}
    assert set(named()) - differ == set(), "no difference any more"
    assert differ - set(named()) == set(), "not named"


NOTHING_MATCHES = ("a-tag-that-nobody-has", "sql-number-of-text")
"""Cases that are there to see that nothing comes."""


def test_no_observation_is_an_accident() -> None:
    """What is empty everywhere was not looked at."""
    differing = {(client, case) for client, case, _ in named()}
    for client, cases in recorded().items():
        for case, seen in cases.items():
            for target, observation in seen.items():
                is_empty = observation in (None, [], [0])
                is_meant = case in NOTHING_MATCHES or (client, case) in differing
                assert is_meant or not is_empty, (client, case, target)
                assert "did not come to an end" not in str(observation), (client, case, target)


def test_what_changes_by_the_run_is_left_out() -> None:
    text = "broker-a 0 10.77.1.2:10911 V4_9_7 0.00(0,0ms)\n7F00000100002A9F0000000000000B40 2026-11-28 19:00:01\n"
    assert without_numbers(text) == ["broker-a N ADDRESS V4_9_7 N(Nms)", "ID N N"]


@pytest.mark.slow
@pytest.mark.requires("java", "root")
def test_the_reference_does_what_was_recorded(tmp_path: Path) -> None:
    """A sample, so that the page stays true; all of them by the recorder."""
    client, seen = "java:4.9.8", recorded()["java:4.9.8"]
    sample = [name for number, name in enumerate(names_for(client)) if number % 8 == 3]
    with place("reference", tmp_path) as where:
        assert {name: observe(where, client, name) for name in sample} == {
            name: seen[name][REFERENCE] for name in sample
        }


def test_cases_say_what_they_do() -> None:
    assert all(case.text.endswith(".") for case in CASES.values())
    assert len(TOOLS) >= 45
