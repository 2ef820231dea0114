"""What a group is given: each violation by hand, and its lawful neighbour."""

from __future__ import annotations

import pytest

from checkers.history.schema import TAKEN_AWAY
from checkers.runs.accounting import check_accounting
from checkers.runs.group_deliveries import check_deliveries
from suites.unit.checkers.group_story import (
    FAIL,
    MASTER,
    PASS,
    SLAVE,
    UNKNOWN,
    G,
    Group,
    Story,
    all_read,
    judged,
    kinds,
)


def test_everything_once_is_a_pass() -> None:
    verdict = judged(check_deliveries, all_read)
    assert (verdict.outcome, verdict.anomalies) == (PASS, ())
    assert verdict.measures["delivered"] == verdict.measures["promised"] == 4


def test_a_message_that_was_left_out_is_named() -> None:
    def story(g: Group) -> None:
        g.stored(4)
        g.told(10, -1)
        g.takes(12, 0, [0])
        g.takes(14, 2, [2, 3])
        g.ended(4, 50)

    verdict = judged(check_deliveries, story)
    assert verdict.outcome is FAIL
    (anomaly,) = verdict.anomalies
    assert anomaly.kind == "undelivered"
    assert "m1 (t/broker-a/0 @1" in anomaly.sentence


def test_messages_that_the_application_did_not_get_are_no_deliveries() -> None:
    def story(g: Group) -> None:
        g.stored(3)
        g.told(10, -1)
        g.takes(12, 0, [0])
        g.takes(14, 1, [1], detail=TAKEN_AWAY)
        g.takes(16, 2, [2])
        g.ended(3, 50)

    assert kinds(judged(check_deliveries, story)) == {"undelivered": False}


def test_what_lies_beyond_the_group_proves_nothing() -> None:
    def story(g: Group) -> None:
        g.stored(4)
        g.told(10, -1)
        g.takes(12, 0, [0, 1])
        g.ended(4, 50)

    verdict = judged(check_deliveries, story)
    assert verdict.outcome is UNKNOWN
    assert "2 messages before the end" in verdict.reasons[0]


def refilled(do: str) -> Story:
    """The group was at 4 when the log was cut back to 2; two new messages stand at 2 and 3."""

    def story(g: Group) -> None:
        g.stored(4)
        g.told(10, -1)
        g.takes(12, 0, [0, 1, 2, 3])
        g.fault(do, MASTER, 20, 22, heal=30)
        g.send(40, 41, message=4, offset=2)
        g.send(41, 42, message=5, offset=3)
        g.send(42, 43, message=6, offset=4)
        g.takes(45, 4, [6])
        g.drain(50, 51, at=0, got=[0, 1, 4, 5, 6])
        g.drained(52, at=5)

    return story


@pytest.mark.parametrize(("do", "found"), [("cut_power", {"skipped": True}), ("kill", {"undelivered": False})])
def test_below_the_group_may_be_skipped_only_where_offsets_may_be_used_again(do: str, found: dict[str, bool]) -> None:
    assert kinds(judged(check_deliveries, refilled(do))) == found


def come_back(adopt: str) -> Story:
    """Two messages are lost before the group enters; it reads two others at their places; then the first two are there
    again, since the slave had kept them."""

    def story(g: Group) -> None:
        g.stored(2)
        g.fault("cut_power", MASTER, 20, 22, heal=30)
        g.send(40, 41, message=2, offset=0, position=0)
        g.send(42, 43, message=3, offset=1, position=1000)
        g.told(44, -1)
        g.takes(45, 0, [2, 3])
        g.fault(adopt, MASTER, 60, 62, heal=70, fault="f2")
        g.drain(80, 81, at=0, got=[0, 1])
        g.drained(82, at=2)

    return story


def test_what_comes_back_at_places_that_the_group_had_passed_is_skipped() -> None:
    assert kinds(judged(check_deliveries, come_back("adopt_slave"))) == {"skipped": True}


def test_a_slave_that_kept_what_its_master_lost_may_lead_a_group_past_messages() -> None:
    def story(g: Group) -> None:
        g.stored(2)
        g.told(10, -1)
        g.takes(12, 0, [0, 1])
        g.fault("cut_power", MASTER, 20, 22, heal=30)
        g.stored(4, begin=40, first=2)
        g.takes(50, 2, [4, 5], node=SLAVE, next_offset=4)  # its queue is two messages ahead
        g.takes(52, 4, [])
        g.ended(6, 60)

    run = Group()
    story(run)
    slave_pull = next(op for op in run.ops if op["node"] == SLAVE)
    for row in run.reads:
        row["offset"] += 2 * (row["op"] == slave_pull["op"])  # records say where their master had put them
    verdict = check_deliveries(run.history(), run.facts(mode="multi-master-multi-slave-async"))
    assert (kinds(verdict), verdict.measures["skipped"]) == ({"skipped": True}, 2)


def again(do: str, told: int, node: str = MASTER) -> Story:
    """Read to 4 with 4 committed; a fault; told *told*, and read from there."""

    def story(g: Group) -> None:
        g.stored(5)
        g.told(10, -1)
        g.takes(12, 0, [0, 1, 2, 3])
        g.commit(13, 2)
        g.commit(16, 4)
        if do:
            g.fault(do, MASTER, 20, 22, heal=30)
        g.told(40, told, node)
        g.takes(42, max(told, 0), list(range(max(told, 0), 5)))
        g.ended(5, 50)

    return story


@pytest.mark.parametrize(
    ("story", "cause"),
    [
        (again("kill", 2), "told-back"),
        (again("cut_power", -1), "told-back"),
        (again("kill", 1, SLAVE), "slave-told"),
    ],
)
def test_what_came_again_has_its_reason(story: Story, cause: str) -> None:
    verdict = judged(check_deliveries, story)
    assert verdict.outcome is PASS
    assert set(verdict.measures["again_by_cause"]) == {cause}
    (anomaly,) = verdict.anomalies
    assert (anomaly.allowed, anomaly.details["cause"]) == (True, cause)


def test_what_was_not_yet_committed_comes_again_to_the_next_owner() -> None:
    def story(g: Group) -> None:
        g.stored(3)
        g.told(10, -1)
        g.takes(12, 0, [0, 1, 2])
        g.commit(14, 1)
        g.told(20, 1)
        g.takes(22, 1, [1, 2])
        g.ended(3, 50)

    verdict = judged(check_deliveries, story)
    assert (verdict.outcome, verdict.measures["again_by_cause"]) == (PASS, {"not-yet-committed": 2})


@pytest.mark.parametrize(
    ("got", "node", "outcome", "cause"),
    [
        ([3, 4], MASTER, PASS, "moved"),
        ([1, 2], MASTER, FAIL, "moved-too-far"),
        ([1, 2], SLAVE, PASS, "moved"),  # it kept what its master had lost
    ],
)
def test_a_moved_offset_is_a_reason_for_new_messages_at_old_offsets_only(got, node, outcome, cause) -> None:
    def story(g: Group) -> None:
        g.stored(3)
        g.told(10, -1)
        g.takes(12, 0, [0, 1, 2])
        g.fault("cut_power", MASTER, 14, 15, heal=16)
        for place, message in enumerate((3, 4)):
            g.send(17 + place, 18 + place, message, 1 + place)
        g.op(
            "pull", 20, 21, "PULL_OFFSET_MOVED", queue=0, offset=3, node=MASTER, group=G, next_offset=1, detail="next 1"
        )
        g.takes(22, 1, got, node=node)
        g.drain(50, 51, at=0, got=[0, 3, 4])
        g.drained(52, at=3)

    verdict = judged(check_deliveries, story)
    assert verdict.measures["again_by_cause"] == {cause: 2}
    assert kinds(verdict)["delivered-again"] == (outcome is PASS)


MEMBERS = {
    f"broker-a-{member}": {"brokerName": "broker-a", "brokerId": str(member), "enableDLegerCommitLog": "true"}
    for member in range(3)
}


def led_by(g: Group, ms: int, node: str) -> None:
    g.event(ms, "role", "became_master", node)


def test_a_follower_that_was_elected_by_nobody_tells_what_it_copied() -> None:
    def story(g: Group) -> None:
        led_by(g, 0, "broker-a-0")
        again("kill", 2, "broker-a-2")(g)

    verdict = judged(check_deliveries, story, "dledger", nodes=MEMBERS)
    assert (verdict.outcome, verdict.measures["again_by_cause"]) == (PASS, {"slave-told": 2})


@pytest.mark.parametrize(
    ("do", "leads_again", "cause"),
    [
        ("wipe", False, "moved-by-emptied"),
        ("cut_power", False, "moved-by-emptied"),
        ("wipe", True, "moved-too-far"),
        ("cut_power", True, "moved-too-far"),
        ("kill", False, "moved-too-far"),
    ],
)
def test_a_member_that_lost_data_ends_its_log_early_until_it_finds_a_leader(
    do: str, leads_again: bool, cause: str
) -> None:
    def story(g: Group) -> None:
        led_by(g, 0, MASTER)
        g.stored(3)
        g.told(10, -1)
        g.takes(12, 0, [0, 1, 2])
        g.fault(do, MASTER, 14, 15, heal=16)
        if leads_again:
            led_by(g, 18, MASTER)
        g.op(
            "pull", 20, 21, "PULL_OFFSET_MOVED", queue=0, offset=3, node=MASTER, group=G, next_offset=0, detail="next 0"
        )
        led_by(g, 22, "broker-a-1")
        g.takes(24, 0, [0, 1, 2], node="broker-a-1")
        g.drain(50, 51, at=0, got=[0, 1, 2])
        g.drained(52, at=3)

    verdict = judged(check_deliveries, story, "dledger", nodes=MEMBERS)
    assert verdict.measures["again_by_cause"] == {cause: 3}
    assert kinds(verdict)["delivered-again"] == (cause == "moved-by-emptied")


@pytest.mark.parametrize(("second", "kind"), [(1, "repeat"), (0, "inversion")])
def test_one_owner_never_goes_back_by_itself(second: int, kind: str) -> None:
    def story(g: Group) -> None:
        g.stored(3)
        g.told(10, -1)
        g.takes(12, 0, [0, 1])
        g.takes(14, second, list(range(second, 3)))
        g.ended(3, 50)

    verdict = judged(check_deliveries, story)
    assert verdict.outcome is FAIL
    assert kinds(verdict)[kind] is False


@pytest.mark.parametrize(
    ("node", "do", "found"), [(SLAVE, "cut_power", False), (MASTER, "cut_power", True), (SLAVE, "kill", True)]
)
def test_a_slave_that_kept_what_its_master_lost_gives_a_record_of_a_later_place(node, do, found) -> None:
    """Asked for @0 and @1 it gives the records 0 and 2, and says that @2 comes next."""

    def story(g: Group) -> None:
        g.fault(do, MASTER, 1, 2, heal=3)
        g.stored(3, begin=4)
        g.told(10, -1)
        pulled = g.takes(12, 0, [0, 1], node=node)
        second = [row for row in g.reads if row["op"] == pulled][1]
        second.update(offset=2, message=2)
        g.takes(14, 2, [2])
        g.ended(3, 50)

    assert ("repeat" in kinds(judged(check_deliveries, story))) is found


def test_a_lost_message_that_had_been_delivered_says_how_the_offset_went_back() -> None:
    def story(g: Group) -> None:
        g.stored(3)
        g.told(10, -1)
        g.takes(12, 0, [0, 1, 2])
        g.fault("cut_power", MASTER, 20, 22, heal=30)
        g.op("pull", 40, 41, "PULL_OFFSET_MOVED", queue=0, offset=3, node=MASTER, group=G, next_offset=1)
        g.drain(50, 51, at=0, got=[0])
        g.drained(52, at=1)

    one, two = judged(check_accounting, story).measures["deaths"]
    assert one["sentence"].endswith(
        "; delivered to group readers (op 4), whose offset went back to @1 afterwards "
        "(op 5: pull t/broker-a/0 @3 PULL_OFFSET_MOVED [0.040 s, 0.041 s])"
    )
    assert two["message"] == 2


# Nothing that could be judged -----------------------------------------------------------------------------------------


def test_a_group_that_got_nothing_does_not_hide_behind_another() -> None:
    def story(g: Group) -> None:
        all_read(g)
        g.op("fetch_offset", 5, 6, "QUERY_NOT_FOUND", queue=0, offset=-1, node=MASTER, group="others")

    verdict = judged(check_deliveries, story)
    assert verdict.outcome is UNKNOWN
    assert "the group stands at @0" in verdict.reasons[0]


def test_where_nothing_is_left_nothing_had_to_be_delivered() -> None:
    def story(g: Group) -> None:
        g.stored(2)
        g.told(10, -1)
        g.takes(20, 0, [0, 1])
        g.drained(30, at=0)

    verdict = judged(check_deliveries, story)
    assert verdict.outcome is UNKNOWN
    assert "nothing had to be delivered" in verdict.reasons[-1]
