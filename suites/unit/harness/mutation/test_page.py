"""``docs/detection.md``: what was measured, explained by people, and up to date."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.mutation.reviewed import Review, reviews
from scripts.detection_page import EXECUTED, MUTANTS, PAGE, SCORES, fresh, made, merged, page
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


def test_fresh_mutants_are_those_that_no_draw_had_before() -> None:
    old: list[recorded.Entry] = [{"mutant": "a", "kind": "killed"}]
    new: list[recorded.Entry] = [{"mutant": "a", "kind": "survived"}, {"mutant": "b", "kind": "survived"}]
    assert fresh(old, new, 2) == [{"mutant": "b", "kind": "survived", "draw": 2, "fresh": True}]


@pytest.mark.parametrize("kind", ["survived", "killed"])
def test_who_is_judged_once_more_is_of_its_draw_and_not_fresh(kind: str) -> None:
    old: list[recorded.Entry] = [{"mutant": "b", "kind": "survived", "draw": 2, "fresh": True}]
    assert merged(old, [{"mutant": "b", "kind": kind}]) == [{"mutant": "b", "kind": kind, "draw": 2}]
    assert merged(old, [{"mutant": "c", "kind": kind}]) == old


def test_the_page_tells_taught_and_fresh_apart() -> None:
    entries = recorded.read(MUTANTS)
    known = next(entry for entry in entries if entry["kind"] == "killed" and "draw" not in entry)
    again = [known, known | {"mutant": "0123456789", "draw": 9, "fresh": True}]
    told = page(again, recorded.read(SCORES), recorded.read(EXECUTED), reviews())
    assert "| **taught, seed 1** | 1 | 0 | 0 | 1 |" in told
    assert "| **fresh, seed 9** | 1 | 0 | 0 | 1 |" in told
    assert "2 mutants, of the draws of seeds 1 and 9" in told.replace("\n", " ")


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
