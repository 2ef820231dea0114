"""Where lost messages died: from the history alone, and with what nodes left on their disks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from checkers.history.dumps import NodeDump
from checkers.history.ledger import ledger_of
from checkers.runs.forensics import deaths_of, shape_of
from suites.unit.checkers.build import Build


def history_of(kept: list[tuple[int, int]], count: int = 4) -> Build:
    """Messages 0 … count − 1 acknowledged at their own offsets; the drain finds *kept* (offset, message)."""
    build = Build()
    for message in range(count):
        build.send(message * 10, message * 10 + 1, message, message)
    build.pull(60, 61, 0, [0])
    for index, (offset, message) in enumerate(kept):
        build.drain(100 + index, 101 + index, offset, [message])
    return build


def fate(build: Build, message: int, *dumps: NodeDump) -> tuple[str, str]:
    history = build.history()
    (death,) = deaths_of(history, ledger_of(history), np.array([message]), dumps)
    return death.fate, death.sentence


KEPT = [(0, 0), (1, 1)]
MASTER = NodeDump(
    "broker-a-0", "broker-a", {0: 0, 1: 1000}, 2000, {}, {("t", 0): {0: 0, 1: 1000}}, is_first_master=True
)


@pytest.mark.parametrize(
    ("dump", "expected", "words"),
    [
        (None, "behind-the-end", "its queue ends at @1 now; nobody ever read it"),
        (MASTER, "never-on-disk", "no trace on the disk of broker-a-0"),
        (
            NodeDump("broker-a-0", "broker-a", {0: 0}, 2000, {3: 3088}, is_first_master=True),
            "truncated",
            "at position 3088, behind the end of the log of broker-a-0 at 2000",
        ),
        (
            NodeDump("broker-a-0", "broker-a", {3: 3000}, 4000, {}, {("t", 0): {3: 3000}}, is_first_master=True),
            "in-queue",
            "and so has its queue: it was not read",
        ),
        (
            NodeDump("broker-a-0", "broker-a", {3: 3000}, 4000, {}, {("t", 0): {0: 0, 1: 1000}}, is_first_master=True),
            "not-in-queue",
            "has no slot for it (the last is @1)",
        ),
        (
            NodeDump("broker-a-0", "broker-a", {3: 3000}, 4000, {}, {("t", 0): {3: 2000}}, is_first_master=True),
            "not-in-queue",
            "its slot points to position 2000",
        ),
        (NodeDump("broker-a-1", "broker-a", {3: 3000}, 4000), "elsewhere", "only broker-a-1 has it, at position 3000"),
        (NodeDump("broker-b-0", "broker-b", {3: 3000}, 4000), "behind-the-end", "its queue ends at @1 now"),
    ],
)
def test_each_fate_has_its_evidence(dump: NodeDump | None, expected: str, words: str) -> None:
    found, sentence = fate(history_of(KEPT), 3, *([dump] if dump else []))
    assert (found, words in sentence) == (expected, True), sentence


def test_a_place_that_was_given_away() -> None:
    build = history_of([(0, 0), (1, 1), (2, 2), (3, 4)])
    build.send(70, 71, 4, 3)
    assert fate(build, 3) == ("overwritten", "m3 (t/broker-a/0 @3): its place holds m4 now; nobody ever read it")


def test_a_gap_in_its_queue() -> None:
    assert fate(history_of([(0, 0), (2, 2), (3, 3)]), 1)[0] == "unexplained"


def test_who_saw_it_last() -> None:
    found, sentence = fate(history_of([(1, 1), (2, 2), (3, 3)]), 0)
    assert found == "unexplained"
    assert "last seen by op 4: pull t/broker-a/0 @0 FOUND" in sentence


@pytest.mark.parametrize(
    ("kept", "lost", "shape"),
    [
        ([(0, 0), (1, 1)], [2, 3], "suffix"),
        ([(2, 2), (3, 3)], [0, 1], "prefix"),
        ([(0, 0), (3, 3)], [1, 2], "middle"),
        ([], [0, 1, 2, 3], "all"),
    ],
)
def test_the_shape_of_a_loss(kept: list[tuple[int, int]], lost: list[int], shape: str) -> None:
    history = history_of(kept).history()
    assert shape_of(history, ledger_of(history), np.array(lost)) == {"t/broker-a/0": shape}


def test_messages_sent_after_the_loss_do_not_change_its_shape() -> None:
    build = history_of([(0, 0), (1, 1), (2, 4)])
    build.send(70, 71, 4, 2)
    history = build.history()
    assert shape_of(history, ledger_of(history), np.array([2, 3])) == {"t/broker-a/0": "suffix"}


def test_a_kept_run_tells_where_a_planted_bug_killed_messages(tmp_path: Path) -> None:
    """The whole way: a simulated broker with a bug, its store on disk, the verdict."""
    from harness.run import run_scenario

    result = run_scenario("single-master-kill", seed=1, defects=("reuse-offset",), out=tmp_path)
    (accounting,) = [verdict for verdict in result.verdicts if verdict.check == "accounting"]
    deaths = accounting.measures["deaths"]
    assert len(deaths) == accounting.measures["lost"] > 0
    assert {death["fate"] for death in deaths} == {"not-in-queue"}
    assert "but its slot points to position" in deaths[0]["sentence"]
