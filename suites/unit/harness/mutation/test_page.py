"""``docs/detection.md``: what was measured, explained by people, and up to date."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.mutation.reviewed import Review, reviews
from scripts.detection_page import EXECUTED, MUTANTS, PAGE, SCORES, made
from suites import recorded


def test_the_page_is_what_its_sources_make() -> None:
    assert PAGE.read_text(encoding="utf-8") == made(), "python scripts/detection_page.py"


def test_every_survivor_is_explained_and_nothing_else_is() -> None:
    survivors = {entry["mutant"] for entry in recorded.read(MUTANTS) if entry["kind"] == "survived"}
    assert survivors == reviews().keys()


def test_scores_and_modules_are_whole() -> None:
    assert [score["day"] for score in recorded.read(SCORES)] == sorted(score["day"] for score in recorded.read(SCORES))
    assert all(0 <= entry["executed"] <= entry["places"] for entry in recorded.read(EXECUTED))


@pytest.mark.parametrize("missing", ["is", "reason", "place"])
def test_a_review_that_is_not_whole_is_refused(tmp_path: Path, missing: str) -> None:
    entry = {"id": "1f", "place": "store", "is": "hole", "reason": "because"}
    path = tmp_path / "reviewed.yaml"
    path.write_text(f"- {entry}\n")
    assert reviews(path) == {"1f": Review("store", "hole", "because")}
    path.write_text(f"- { ({key: value for key, value in entry.items() if key != missing}) }\n")
    with pytest.raises(UsageError, match="is not whole"):
        reviews(path)
