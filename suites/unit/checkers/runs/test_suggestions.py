"""Where to read next: each violation by hand, and its lawful neighbour."""

from __future__ import annotations

import pytest

from checkers.runs.suggestions import check_suggestions
from checkers.verdict import Outcome
from suites.unit.checkers.group_story import FAIL, MASTER, PASS, SLAVE, Group, judged, kinds

READ_SLAVES = {"slaveReadEnable": "true"}

NO_MEMORY = READ_SLAVES | {"accessMessageInMemoryMaxRatio": "0"}

SMALL_MEMORY = READ_SLAVES | {"totalPhysicalMemorySize": "5000"}  # 40 %: 2000 bytes; a message has 1000


@pytest.mark.parametrize(
    ("properties", "at", "got", "suggested", "outcome"),
    [
        ({}, 0, [0], 0, PASS),
        ({}, 0, [0], 1, FAIL),  # slaves may not be read
        ({}, 0, [0], -1, FAIL),  # nothing suggested
        (READ_SLAVES, 0, [0], 0, PASS),
        (READ_SLAVES, 0, [0], 1, FAIL),  # all of it is in memory
        (NO_MEMORY, 0, [0], 1, PASS),
        (NO_MEMORY, 0, [0], 0, FAIL),  # nothing is in memory
        (NO_MEMORY, 5, [], 0, PASS),
        (NO_MEMORY, 5, [], 1, FAIL),  # nothing was read
        (SMALL_MEMORY, 0, [0], 1, PASS),
        (SMALL_MEMORY, 0, [0], 0, FAIL),  # 4000 bytes behind
        (SMALL_MEMORY, 2, [2], 0, PASS),  # 2000 bytes behind: not more than 2000
        (SMALL_MEMORY, 1, [1], 0, FAIL),  # 3000 bytes behind
    ],
)
def test_suggestions(properties: dict[str, str], at: int, got: list[int], suggested: int, outcome: Outcome) -> None:
    def story(g: Group) -> None:
        g.stored(5)
        g.told(10, -1)
        g.takes(20, at, got, suggested=suggested)

    verdict = judged(check_suggestions, story, nodes={MASTER: properties})
    assert verdict.outcome is outcome
    expected = {"not-suggested"} if suggested < 0 else {"wrong-suggestion"} if outcome is FAIL else set()
    assert set(kinds(verdict)) == expected


@pytest.mark.parametrize(
    ("suggested", "do", "bit", "outcome"),
    [
        (0, "", 1, FAIL),
        (1, "", 1, PASS),
        (0, "kill", 1, PASS),
        (0, "partition", 1, PASS),
        (0, "partition", 0, FAIL),
        (0, "flip_bits", 0, PASS),  # nothing was harmed, but the process ended for it
    ],
)
def test_a_slave_is_asked_only_if_suggested_or_without_its_master(
    suggested: int, do: str, bit: int, outcome: Outcome
) -> None:
    def story(g: Group) -> None:
        g.stored(5)
        g.told(10, -1)
        g.takes(20, 0, [0], suggested=suggested)
        if do:
            g.fault(do, MASTER, 25, 26, heal=40, right=("client-1",) if do == "partition" else (), bit=bit)
        g.takes(30, 1, [1], node=SLAVE, suggested=suggested)

    nodes = {MASTER: NO_MEMORY if suggested else {}, SLAVE: NO_MEMORY if suggested else {}}
    verdict = judged(check_suggestions, story, nodes=nodes)
    assert verdict.outcome is outcome
    assert set(kinds(verdict)) == ({"slave-unasked"} if outcome is FAIL else set())


def test_a_fault_that_did_nothing_sends_nobody_to_a_slave() -> None:
    def story(g: Group) -> None:
        g.stored(5)
        g.told(10, -1)
        g.takes(20, 0, [0])
        g.fault("partition", MASTER, 25, 26, heal=40, bit=0, right=("client-1",))
        g.takes(30, 1, [1], node=SLAVE)

    assert judged(check_suggestions, story).outcome is FAIL
