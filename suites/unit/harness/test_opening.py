"""Worlds: what two runs that know nothing of each other must not share."""

from __future__ import annotations

from faults.journal import open_journals
from harness.backends.opening import open_heal_journal


def test_two_living_runs_of_one_name_have_a_heal_journal_each(tmp_path):
    first, second = (open_heal_journal("r-20240131-142501-1", tmp_path) for _ in range(2))
    assert [journal.is_owned for journal in open_journals(tmp_path)] == [True, True]
    first.record("something", [])
    first.close()
    second.close()
    (left,) = open_journals(tmp_path)
    assert (left.path.name, left.is_owned) == ("r-20240131-142501-1.jsonl", False)
