"""The page of releases: what is recorded of a run, who is compared with whom, and that the page is up to date."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.run import run_scenario
from results.compare.figures import Measured
from scripts import releases_page
from scripts.releases_page import PAGE, comparisons, main, measured, page, record, releases_of

FIGURES = {"lost": 0.0, "recovery_ms": 100.0, "served": 1.0, "steady_ms": 2.0, "failed": 0.0}


def run(target: str, number: int, **figures: float | None) -> Measured:
    return Measured(f"r-{number}", "plan", f"0x{number}", "cell", target, "abc", {**FIGURES, **figures})


def runs(target: str, **figures: float | None) -> list[Measured]:
    return [run(target, number, **figures) for number in range(20)]


def test_the_page_is_what_its_record_makes() -> None:
    assert PAGE.read_text("utf-8") == page(), "run scripts/releases_page.py"


def test_the_record_compares_three_releases_in_forty_cells() -> None:
    found = comparisons(measured())
    assert len(found) == 3
    assert all(len(comparison.cells) >= 40 and comparison.unpaired == 0 for comparison in found)


def test_each_release_stands_beside_each_older_one() -> None:
    all_runs = [*runs("rocketmq:5.5.0"), *runs("rocketmq:4.9.7"), *runs("rocketmq:5.3.3"), *runs("reference")]
    assert releases_of(all_runs) == ["4.9.7", "5.3.3", "5.5.0"]
    assert [(found.first, found.second, found.pairs) for found in comparisons(all_runs)] == [
        ("rocketmq:4.9.7", "rocketmq:5.3.3", 20),
        ("rocketmq:4.9.7", "rocketmq:5.5.0", 20),
        ("rocketmq:5.3.3", "rocketmq:5.5.0", 20),
    ]


@pytest.mark.parametrize(
    ("figures", "judgement"),
    [({}, "same"), ({"recovery_ms": 300.0}, "worse"), ({"lost": 100.0}, "worse"), ({"recovery_ms": 10.0}, "better")],
)
def test_a_release_that_does_worse_is_told(figures: dict[str, float], judgement: str) -> None:
    (found,) = comparisons([*runs("rocketmq:5.3.3"), *runs("rocketmq:5.5.0", **figures)])
    assert found.judgement == judgement
    row = next(line for line in releases_page._whole(found).splitlines() if f"| {judgement} |" in line)
    assert row.count("|") == 7


def test_only_apaches_runs_are_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases_page, "RUNS", tmp_path / "releases.jsonl")
    run_scenario("single-master-kill", seed=1, out=tmp_path / "runs", keep="all")
    assert record(tmp_path / "runs") == 1
    assert measured() == []


def test_a_page_that_is_old_fails_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "releases.md"
    old.write_text(f"# Releases\n\n{releases_page.BEGIN}\n\n{releases_page.END}\n")
    monkeypatch.setattr(releases_page, "PAGE", old)
    assert main(["--check"]) == 1
    assert main([]) == 0
    assert main(["--check"]) == 0
