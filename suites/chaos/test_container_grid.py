"""The page of modes in containers is what was measured, and every fault in it was proved at both ends."""

from __future__ import annotations

import pytest

from harness.modes import MODES
from suites.chaos.container_grid import FIVE, PAGE, TARGETS, has_mode, missing, page, read


def test_the_page_is_what_was_measured() -> None:
    assert PAGE.read_text() == page(read())


def test_every_row_has_all_five_faults_and_each_was_proved_to_be_healed() -> None:
    assert [entry for entry in read() if set(entry["cells"]) != set(FIVE)] == []
    assert [entry for entry in read() if any(healed != 1 for _, healed in entry["cells"].values())] == []


def test_the_reference_fails_nowhere() -> None:
    assert [entry for entry in read() if entry["target"] == "reference" and entry["outcome"] == "FAIL"] == []


def test_whatever_was_not_green_is_told_of_below_the_table() -> None:
    below = page(read()).partition("## What was not green")[2]
    assert [e for e in read() if e["outcome"] != "PASS" and f"* {e['mode']}, {e['target']}, " not in below] == []


def test_what_was_not_run_is_a_row_that_says_so() -> None:
    assert set(missing([])) == {(mode, target) for mode in MODES for target in TARGETS if has_mode(mode, target)}
    assert page([]).count("not run") == len(missing([]))


@pytest.mark.parametrize(("mode", "target", "has"), [
    ("controller", "reference", False), ("controller", "rocketmq:4.9.7", False), ("controller", "rocketmq:5.3.3", True),
    ("dledger", "rocketmq:4.9.7", True), ("single-master", "reference", True),
])  # fmt: skip
def test_a_release_has_the_modes_that_it_came_with(mode: str, target: str, has: bool) -> None:
    assert has_mode(mode, target) is has
