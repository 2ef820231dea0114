"""``docs/detection.md``: what was measured, explained by people, and up to date."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.mutation.reviewed import Review, reviews
from scripts.detection_page import EXECUTED, MUTANTS, PAGE, SCORES, made, merged
from suites import recorded


def test_the_page_is_what_its_sources_make() -> None:
    assert PAGE.read_text(encoding="utf-8") == made(), "python scripts/detection_page.py"


def test_every_survivor_is_explained_and_nothing_else_is() -> None:
    survivors = {entry["mutant"] for entry in recorded.read(MUTANTS) if entry["kind"] == "survived"}
    assert survivors == reviews().keys()


def test_scores_and_modules_are_whole() -> None:
    assert [score["day"] for score in recorded.read(SCORES)] == sorted(score["day"] for score in recorded.read(SCORES))
    assert all(0 <= entry["executed"] <= entry["places"] for entry in recorded.read(EXECUTED))


def test_later_judgements_add_what_is_noticed_and_take_nothing_away() -> None:
    def entries(**kinds: str) -> list[recorded.Entry]:
        return [{"mutant": mutant, "kind": kind, "commit": "later"} for mutant, kind in kinds.items()]

    old = [
        entry | {"commit": "first"}
        for entry in entries(a="killed", b="survived", c="survived", d="unexecuted", e="unexecuted")
    ]
    later = entries(a="survived", b="noticed", c="survived", d="killed", e="survived", other="killed")
    assert [(entry["mutant"], entry["kind"], entry["commit"]) for entry in merged(old, later)] == [
        ("a", "killed", "first"),
        ("b", "noticed", "later"),
        ("c", "survived", "first"),
        ("d", "killed", "later"),
        ("e", "survived", "later"),
    ]


def test_every_mutant_says_when_and_at_which_commit_it_was_judged() -> None:
    assert all(entry["day"] and entry["commit"] for entry in recorded.read(MUTANTS))


@pytest.mark.parametrize("missing", ["is", "reason", "place"])
def test_a_review_that_is_not_whole_is_refused(tmp_path: Path, missing: str) -> None:
    entry = {"id": "1f", "place": "store", "is": "hole", "reason": "because"}
    path = tmp_path / "reviewed.yaml"
    path.write_text(f"- {entry}\n")
    assert reviews(path) == {"1f": Review("store", "hole", "because")}
    path.write_text(f"- { ({key: value for key, value in entry.items() if key != missing}) }\n")
    with pytest.raises(UsageError, match="is not whole"):
        reviews(path)
