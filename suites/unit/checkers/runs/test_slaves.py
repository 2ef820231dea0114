"""What slaves show, and what they refuse: each violation by hand, and its lawful neighbour."""

from __future__ import annotations

import pytest

from checkers.runs.slave_reads import check_freshness
from checkers.runs.slave_refusals import check_slaves
from checkers.verdict import Outcome
from suites.unit.checkers.group_story import FAIL, MASTER, PASS, SECOND, SLAVE, UNKNOWN, Group, Story, judged, kinds

# Slaves that answer ---------------------------------------------------------------------------------------------------


def empty_answer(after_ms: int, do: str = "", node: str = MASTER, right: tuple[str, ...] = ()) -> Story:
    """Two messages are acknowledged by 1.002 s, a fault comes 50 ms later; then a slave says that there are none."""

    def story(g: Group) -> None:
        g.stored(2, begin=SECOND)
        if do:
            g.fault(do, node, SECOND + 50, SECOND + 60, heal=60 * SECOND, right=right)
        g.takes(SECOND + after_ms, 0, [], node=SLAVE, next_offset=0)

    return story


@pytest.mark.parametrize(
    ("mode", "story", "outcome"),
    [
        ("async", empty_answer(100), PASS),  # within what dispatch and lag may take
        ("async", empty_answer(20 * SECOND), FAIL),
        ("async", empty_answer(20 * SECOND, "kill"), PASS),  # the master died before the slave had it
        ("async", empty_answer(20 * SECOND, "partition", right=(SLAVE,)), PASS),
        ("async", empty_answer(20 * SECOND, "kill", "broker-b-0"), FAIL),  # somebody else's fault
        ("sync", empty_answer(100), PASS),
        ("sync", empty_answer(20 * SECOND), FAIL),
        ("sync", empty_answer(20 * SECOND, "kill"), FAIL),  # SEND_OK meant that the slave had it
        ("sync", empty_answer(20 * SECOND, "partition", right=(SLAVE,)), FAIL),
        ("sync", empty_answer(20 * SECOND, "cut_power", SLAVE), PASS),  # the slave lost it, and has not caught up
        ("sync", empty_answer(20 * SECOND, "cut_power"), PASS),  # replicas may differ from now on
    ],
)
def test_what_a_slave_may_lack(mode: str, story: Story, outcome: Outcome) -> None:
    verdict = judged(check_freshness, story, mode=f"multi-master-multi-slave-{mode}")
    assert verdict.outcome is outcome
    assert verdict.measures["behind_max"] == verdict.measures["promised_behind_max"] == 2, "it is measured in any case"
    assert set(kinds(verdict)) == ({"slave-lacks"} if outcome is FAIL else set())


@pytest.mark.parametrize(
    ("asked", "master", "outcome"),
    [
        (25, None, FAIL),  # it has had the time
        (15, None, PASS),
        (25, (9, 20), PASS),  # its master went before it had the time, and then it needs it again
        (40, (9, 20), FAIL),
        (25, (18, 24), FAIL),  # its master went when it had long caught up
    ],
)
def test_who_lost_something_catches_up_only_with_a_master_that_is_there(
    asked: int, master: tuple[int, int] | None, outcome: Outcome
) -> None:
    """The slave is emptied at 1 s and is back at 2 s; its master is away between two instants."""

    def story(g: Group) -> None:
        g.stored(2)
        g.fault("wipe", SLAVE, 1 * SECOND, 1 * SECOND, heal=2 * SECOND)
        if master:
            g.fault("kill", MASTER, master[0] * SECOND, master[0] * SECOND, heal=master[1] * SECOND, fault="f2")
        g.takes(asked * SECOND, 0, [], node=SLAVE, next_offset=0)

    assert judged(check_freshness, story, mode="multi-master-multi-slave-sync").outcome is outcome


@pytest.mark.parametrize(
    ("shown", "do", "bit", "outcome"),
    [
        ([0, 1], "", 1, PASS),
        ([1, 0], "", 1, FAIL),
        ([0, -1], "", 1, FAIL),  # none of ours
        ([1, 0], "kill", 1, FAIL),
        ([1, 0], "cut_power", 1, PASS),  # the master's log may have lost its end, and gone on differently
        ([1, 0], "cut_power", 0, FAIL),
    ],
)
def test_a_slave_shows_what_its_master_has(shown: list[int], do: str, bit: int, outcome: Outcome) -> None:
    def story(g: Group) -> None:
        g.stored(2)
        if do:
            g.fault(do, MASTER, 50, 51, heal=60, bit=bit)
        g.takes(100, 0, shown, node=SLAVE)

    verdict = judged(check_freshness, story)
    assert verdict.outcome is outcome
    assert kinds(verdict) == ({"slave-shows-another": False} if outcome is FAIL else {})


@pytest.mark.parametrize(
    ("end", "do", "found"),
    [
        (3, "", {}),  # its send got no answer, and it is there
        (2, "", {"slave-showed-more": False}),
        (2, "partition", {"slave-showed-more": False}),
        (2, "cut_power", {}),  # the end of the log may have gone
    ],
)
def test_what_a_slave_showed_is_there_in_the_end(end: int, do: str, found: dict[str, bool]) -> None:
    def story(g: Group) -> None:
        g.stored(2)
        g.send(5, None, message=2, offset=-1, status="TIMEOUT")
        if do:
            g.fault(do, MASTER, 50, 51, heal=60)
        g.takes(100, 0, [0, 1, 2], node=SLAVE)
        g.ended(end, 200)

    assert kinds(judged(check_freshness, story)) == found


def test_what_only_a_slave_tells_is_not_compared() -> None:
    def story(g: Group) -> None:
        g.stored(1)
        g.send(10, None, message=7)
        g.takes(100, 0, [0, 7], node=SLAVE)

    assert judged(check_freshness, story).outcome is PASS


def test_a_power_cut_that_did_nothing_lets_no_slave_differ() -> None:
    def story(g: Group) -> None:
        g.stored(2, begin=SECOND)
        g.fault("cut_power", MASTER, 2 * SECOND, 2 * SECOND + 1, heal=3 * SECOND, bit=0)
        g.takes(40 * SECOND, 0, [], node=SLAVE, next_offset=0)

    assert judged(check_freshness, story, mode="multi-master-multi-slave-sync").outcome is FAIL


def test_what_was_not_promised_may_be_lacking_on_a_synchronous_slave() -> None:
    def story(g: Group) -> None:
        g.send(0, 1, message=0, offset=0, status="FLUSH_SLAVE_TIMEOUT")
        g.takes(30 * SECOND, 0, [], node=SLAVE, next_offset=0)

    verdict = judged(check_freshness, story, mode="multi-master-multi-slave-sync")
    assert (verdict.outcome, verdict.measures["behind_max"]) == (PASS, 1)
    assert verdict.measures["promised_behind_max"] == 0


def test_with_several_slaves_no_single_one_is_promised_to_be_complete() -> None:
    nodes = {"broker-a-2": {}}
    verdict = judged(
        check_freshness, empty_answer(20 * SECOND, "kill"), mode="multi-master-multi-slave-sync", nodes=nodes
    )
    assert verdict.outcome is PASS


# Slaves that are written to -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "is_read", "outcome", "found"),
    [
        ("SERVICE_NOT_AVAILABLE", False, PASS, set()),
        ("SYSTEM_BUSY", False, PASS, set()),
        ("TOPIC_NOT_EXIST", False, PASS, set()),
        ("TIMEOUT", False, UNKNOWN, set()),
        ("SEND_OK", False, FAIL, {"slave-stored"}),
        ("FLUSH_DISK_TIMEOUT", False, FAIL, {"slave-stored"}),
        ("SERVICE_NOT_AVAILABLE", True, FAIL, {"stray-visible"}),
    ],
)
def test_a_slave_takes_nothing(status: str, is_read: bool, outcome: Outcome, found: set[str]) -> None:
    def story(g: Group) -> None:
        g.op("stray_send", 0, 1, status, queue=0, message=0, node=SLAVE)
        if is_read:
            g.pull(10, 11, 0, [0], node=SLAVE, f="replica")

    verdict = judged(check_slaves, story)
    assert (verdict.outcome, set(kinds(verdict))) == (outcome, found)
