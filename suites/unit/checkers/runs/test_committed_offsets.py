"""What a group is told of the offsets that it committed: each violation by hand, and its lawful neighbour."""

from __future__ import annotations

import pytest

from checkers.runs.group_offsets import check_offsets
from checkers.verdict import Outcome
from suites.unit.checkers.group_story import FAIL, MASTER, PASS, SECOND, SLAVE, UNKNOWN, Group, Story, judged, kinds

CALM: dict[str, tuple[Story, Outcome, dict[str, bool]]] = {
    "the last commit is told": (lambda g: (g.commit(0, 5), g.told(10, 5)), PASS, {}),
    "also a smaller one": (lambda g: (g.commit(0, 10), g.commit(5, 5), g.told(10, 5)), PASS, {}),
    "nothing was committed, nothing is known": (lambda g: g.told(10, -1), PASS, {}),
    "0 is nothing, too": (lambda g: g.told(10, 0), PASS, {}),
    "an older one is told": (
        lambda g: (g.commit(0, 5), g.commit(5, 9), g.told(10, 5)),
        FAIL,
        {"offset-went-back": False},
    ),
    "nothing is told": (lambda g: (g.commit(0, 5), g.told(10, -1)), FAIL, {"offset-went-back": False}),
    "what nobody committed is told": (
        lambda g: (g.commit(0, 5), g.told(10, 6)),
        FAIL,
        {"offset-invented": False},
    ),
    "a greater one is told that was replaced": (
        lambda g: (g.commit(0, 9), g.commit(5, 5), g.told(10, 9)),
        FAIL,
        {"offset-undone": False},
    ),
    "a commit that overlaps the question may be told": (
        lambda g: (g.commit(0, 5), g.commit(9, 8, took=5), g.told(10, 8)),
        PASS,
        {},
    ),
    "or not": (lambda g: (g.commit(0, 5), g.commit(9, 8, took=5), g.told(10, 5)), PASS, {}),
    "a commit without an answer may arrive at any time": (
        lambda g: (g.commit(0, 3, "TIMEOUT", took=3), g.commit(5, 9), g.told(10, 3)),
        PASS,
        {},
    ),
    "one that was refused never does": (
        lambda g: (g.commit(0, 3, "SYSTEM_BUSY"), g.commit(5, 9), g.told(10, 3)),
        FAIL,
        {"offset-went-back": False},
    ),
    "what a slave took is none of the master's": (
        lambda g: (g.commit(0, 5), g.commit(5, 9, node=SLAVE), g.told(10, 5)),
        PASS,
        {},
    ),
    "what a slave tells is not judged": (
        lambda g: (g.commit(0, 5), g.told(8, 5), g.told(10, 2, node=SLAVE)),
        PASS,
        {},
    ),
    "and proves nothing": (lambda g: (g.commit(0, 5), g.told(10, 2, node=SLAVE)), UNKNOWN, {}),
}


@pytest.mark.parametrize("name", CALM)
def test_committed_offsets_without_a_fault(name: str) -> None:
    story, outcome, found = CALM[name]
    verdict = judged(check_offsets, story)
    assert (verdict.outcome, kinds(verdict)) == (outcome, found)


def over_a_fault(do: str, committed_before_ms: int, told: int) -> Story:
    """5 was committed long before, 9 *committed_before_ms* before the fault; *told* after the return."""

    def story(g: Group) -> None:
        g.commit(0, 5)
        g.commit(60 * SECOND - committed_before_ms, 9)
        g.fault(do, MASTER, 60 * SECOND, 60 * SECOND + 1, heal=65 * SECOND)
        g.told(70 * SECOND, told)

    return story


@pytest.mark.parametrize(
    ("do", "before_ms", "told", "outcome"),
    [
        ("kill", 20 * SECOND, 9, PASS),
        ("kill", 20 * SECOND, 5, FAIL),  # older than the file that was written in between
        ("kill", 2 * SECOND, 9, PASS),
        ("kill", 2 * SECOND, 5, PASS),  # not yet written
        ("kill", 2 * SECOND, -1, FAIL),  # but 5 was
        ("stop", 2 * SECOND, 9, PASS),
        ("stop", 2 * SECOND, 5, FAIL),  # an orderly stop writes the file
        ("pause", 2 * SECOND, 5, FAIL),
        ("partition", 2 * SECOND, 5, FAIL),
        ("cut_power", 20 * SECOND, 5, PASS),  # never forced
        ("cut_power", 20 * SECOND, -1, PASS),
        ("cut_power", 20 * SECOND, 7, FAIL),  # but nobody ever said 7
        ("wipe", 20 * SECOND, -1, PASS),
    ],
)
def test_what_commits_survive(do: str, before_ms: int, told: int, outcome: Outcome) -> None:
    verdict = judged(check_offsets, over_a_fault(do, before_ms, told))
    assert verdict.outcome is outcome
    went_back = told < 9 and outcome is PASS
    assert kinds(verdict).get("offset-went-back", False) is went_back, "what is allowed is told, with its fault"
    if went_back:
        assert f"{do} of {MASTER}" in verdict.anomalies[0].sentence


def test_a_group_must_not_commit_what_it_has_not_got() -> None:
    def story(g: Group) -> None:
        g.stored(3)
        g.told(10, -1)
        g.takes(12, 0, [0, 1])
        g.commit(14, 2)
        g.commit(16, 3)
        g.takes(18, 2, [2])
        g.ended(3, 50)

    (anomaly,) = judged(check_offsets, story).anomalies
    assert (anomaly.kind, anomaly.allowed, anomaly.details["offset"]) == ("commit-ahead", False, 2)


def test_an_unknown_offset_told_as_0_is_no_step_of_any_register() -> None:
    measures = judged(check_offsets, lambda g: (g.told(0, 0), g.commit(5, 3), g.told(10, 3))).measures
    assert (measures["lanes"], measures["monotonic"], measures["greatest_wins"]) == (1, 1, 1)


def test_grades_are_measured() -> None:
    def story(g: Group) -> None:
        g.commit(0, 9)
        g.told(5, 9)
        g.commit(10, 5)
        g.told(15, 5)

    measures = judged(check_offsets, story).measures
    assert (measures["lanes"], measures["monotonic"], measures["greatest_wins"]) == (1, 0, 0)


# Excuses that are none ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("do", ["step_clock", "reconfigure", "fail_sync", "fill_disk", "pause", "stop"])
def test_what_ends_no_process_or_in_order_excuses_no_forgotten_offset(do: str) -> None:
    verdict = judged(check_offsets, over_a_fault(do, 2 * SECOND, 5))
    assert (verdict.outcome, kinds(verdict)) == (FAIL, {"offset-went-back": False})


@pytest.mark.parametrize(("full", "outcome"), [(True, PASS), (False, FAIL)])
def test_a_full_disk_keeps_commits_from_the_file_that_survives_a_kill(full: bool, outcome: Outcome) -> None:
    def story(g: Group) -> None:
        g.commit(0, 5)
        if full:
            g.fault("fill_disk", MASTER, 5 * SECOND, 5 * SECOND + 1, heal=65 * SECOND, fault="full")
        g.commit(20 * SECOND, 9)
        g.fault("kill", MASTER, 60 * SECOND, 60 * SECOND + 1, heal=64 * SECOND)
        g.told(70 * SECOND, 5)

    assert judged(check_offsets, story).outcome is outcome


@pytest.mark.parametrize(("lack", "outcome"), [("exhaust_files", PASS), ("fill_disk", PASS), ("starve_cpu", FAIL)])
def test_an_end_in_order_cannot_save_what_cannot_be_written(lack: str, outcome: Outcome) -> None:
    def story(g: Group) -> None:
        g.commit(0, 5)
        g.fault(lack, MASTER, 20 * SECOND, 20 * SECOND + 1, heal=65 * SECOND, fault="lack")
        g.commit(21 * SECOND, 9)
        g.fault("stop", MASTER, 60 * SECOND, 60 * SECOND + 1, heal=64 * SECOND)
        g.told(70 * SECOND, 5)

    verdict = judged(check_offsets, story)
    assert verdict.outcome is outcome
    assert ("could not be written" in verdict.anomalies[0].sentence) is (outcome is PASS)


def test_it_saved_what_it_had_time_for_before() -> None:
    def story(g: Group) -> None:
        g.commit(0, 9)
        g.fault("exhaust_files", MASTER, 30 * SECOND, 30 * SECOND + 1, heal=65 * SECOND, fault="lack")
        g.fault("stop", MASTER, 60 * SECOND, 60 * SECOND + 1, heal=64 * SECOND)
        g.told(70 * SECOND, 5)

    assert judged(check_offsets, story).outcome is FAIL


@pytest.mark.parametrize("do", ["cut_power", "wipe", "adopt_slave"])
def test_a_fault_that_was_over_before_the_commit_excuses_nothing(do: str) -> None:
    def story(g: Group) -> None:
        g.fault(do, MASTER, 10, 20, heal=30)
        g.commit(SECOND, 5)
        g.told(2 * SECOND, -1)

    assert judged(check_offsets, story).outcome is FAIL
