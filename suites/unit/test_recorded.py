"""Recordings: one entry a line, in order; what came out as before leaves its line as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from suites import recorded


def about(entry: recorded.Entry) -> tuple[str, ...]:
    return (entry["test"],)


def test_a_changed_outcome_is_a_diff_of_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    first = [{"test": name, "outcome": "passed", "commit": "a"} for name in ("c", "a", "b")]
    recorded.write(path, first, about)
    before = path.read_text().splitlines()
    assert [entry["test"] for entry in recorded.read(path)] == ["a", "b", "c"]
    again = [entry | {"commit": "b"} for entry in first]
    again[0]["outcome"] = "failed"
    recorded.write(path, again, about)
    after = path.read_text().splitlines()
    assert after[:2] == before[:2]
    assert recorded.read(path)[2] == {"test": "c", "outcome": "failed", "commit": "b"}


@pytest.mark.parametrize("path", sorted(recorded.FOLDER.glob("*.jsonl")), ids=lambda path: path.name)
def test_what_is_recorded_is_one_entry_a_line(path: Path) -> None:
    assert len(recorded.read(path)) == len(path.read_text("utf-8").splitlines()) > 0
