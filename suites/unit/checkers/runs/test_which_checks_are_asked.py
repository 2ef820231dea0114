"""Which checks a run is asked by: those of whose subject its history tells."""

from __future__ import annotations

from checkers.runs.checks import check_all
from checkers.runs.slave_reads import has_slave_reads
from suites.unit.checkers.build import Build
from suites.unit.checkers.group_story import Group, all_read


def test_only_runs_in_which_a_slave_answered_are_judged() -> None:
    run = Group()
    all_read(run)
    assert not has_slave_reads(run.history(), run.facts())


def test_a_run_without_groups_and_slaves_is_not_asked_about_them() -> None:
    run = Build()
    run.send(0, 1, message=0, offset=0)
    run.drain(10, 11, at=0, got=[0])
    run.drained(12, at=1)
    checks = {verdict.check for verdict in check_all(run.history(), run.facts())}
    assert not checks & {"offsets", "deliveries", "freshness", "suggestions", "slaves"}


def test_a_run_with_a_group_is() -> None:
    run = Group()
    all_read(run)
    checks = {verdict.check for verdict in check_all(run.history(), run.facts())}
    assert {"offsets", "deliveries", "suggestions"} <= checks
