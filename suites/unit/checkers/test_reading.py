"""The checks of what groups are told and given, and by whom: each violation by hand, and its lawful neighbour."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from checkers.accounting import check_accounting
from checkers.check import check_all
from checkers.facts import RunFacts
from checkers.group_deliveries import check_deliveries
from checkers.group_offsets import check_offsets
from checkers.history import History
from checkers.schema import TAKEN_AWAY
from checkers.slave_reads import check_freshness, has_slave_reads
from checkers.slaves import check_slaves
from checkers.suggestions import check_suggestions
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.build import Build

PASS, UNKNOWN, FAIL = Outcome.PASS, Outcome.UNKNOWN, Outcome.FAIL
MASTER, SLAVE = "broker-a-0", "broker-a-1"
G = "readers"
SECOND = 1000
Story = Callable[[Build], None]


class Group(Build):
    """A group of one in queue 0: what it commits, is told and reads. Times in milliseconds."""

    def commit(self, at: int, offset: int, status: str = "OK", node: str = MASTER, took: int | None = 1) -> int:
        done = None if took is None else at + took
        return self.op("commit_offset", at, done, status, queue=0, offset=offset, node=node, group=G)

    def told(self, at: int, offset: int, node: str = MASTER) -> int:
        status = "OK" if offset >= 0 else "QUERY_NOT_FOUND"
        return self.op("fetch_offset", at, at + 1, status, queue=0, offset=offset, node=node, group=G)

    def takes(self, at: int, offset: int, got: list[int], node: str = MASTER, **cells: object) -> int:
        known = {"next_offset": offset + len(got), "suggested": 0, **cells}
        return self.pull(at, at + 1, offset, got, group=G, node=node, process=7, **known)

    def stored(self, count: int, begin: int = 0, first: int = 0) -> None:
        """*count* messages in a row, from offset *first* on, one a millisecond."""
        for index in range(count):
            self.send(begin + index, begin + index + 1, message=first + index, offset=first + index)

    def ended(self, count: int, at: int) -> None:
        """The drain reads everything."""
        self.drain(at, at + 1, at=0, got=list(range(count)))
        self.drained(at + 2, at=count)


def judged(
    check: Callable[[History, RunFacts], Verdict],
    story: Story,
    mode: str = "multi-master-multi-slave-async",
    **more: object,
) -> Verdict:
    run = Group()
    story(run)
    nodes = {MASTER: {}, SLAVE: {}, "broker-b-0": {}, **more.pop("nodes", {})}  # type: ignore[dict-item]
    return check(run.history(), run.facts(mode=mode, nodes=nodes, **more))


def kinds(verdict: Verdict) -> dict[str, bool]:
    return {anomaly.kind: anomaly.allowed for anomaly in verdict.anomalies}


# Offsets --------------------------------------------------------------------------------------------------------------

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


# Deliveries -----------------------------------------------------------------------------------------------------------


def all_read(g: Group) -> None:
    g.stored(4)
    g.told(10, -1)
    g.takes(12, 0, [0, 1])
    g.takes(14, 2, [2, 3])
    g.ended(4, 50)


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


@pytest.mark.parametrize("do", ["cut_power", "wipe", "adopt_slave"])
def test_a_fault_that_was_over_before_the_commit_excuses_nothing(do: str) -> None:
    def story(g: Group) -> None:
        g.fault(do, MASTER, 10, 20, heal=30)
        g.commit(SECOND, 5)
        g.told(2 * SECOND, -1)

    assert judged(check_offsets, story).outcome is FAIL


def test_a_fault_that_did_nothing_sends_nobody_to_a_slave() -> None:
    def story(g: Group) -> None:
        g.stored(5)
        g.told(10, -1)
        g.takes(20, 0, [0])
        g.fault("partition", MASTER, 25, 26, heal=40, bit=0, right=("client-1",))
        g.takes(30, 1, [1], node=SLAVE)

    assert judged(check_suggestions, story).outcome is FAIL


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


def test_only_runs_in_which_a_slave_answered_are_judged() -> None:
    run = Group()
    all_read(run)
    assert not has_slave_reads(run.history())


# Where to read next ---------------------------------------------------------------------------------------------------

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
    ("suggested", "do", "outcome"), [(0, "", FAIL), (1, "", PASS), (0, "kill", PASS), (0, "partition", PASS)]
)
def test_a_slave_is_asked_only_if_suggested_or_without_its_master(suggested: int, do: str, outcome: Outcome) -> None:
    def story(g: Group) -> None:
        g.stored(5)
        g.told(10, -1)
        g.takes(20, 0, [0], suggested=suggested)
        if do:
            g.fault(do, MASTER, 25, 26, heal=40, right=("client-1",) if do == "partition" else ())
        g.takes(30, 1, [1], node=SLAVE, suggested=suggested)

    nodes = {MASTER: NO_MEMORY if suggested else {}, SLAVE: NO_MEMORY if suggested else {}}
    verdict = judged(check_suggestions, story, nodes=nodes)
    assert verdict.outcome is outcome
    assert set(kinds(verdict)) == ({"slave-unasked"} if outcome is FAIL else set())


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


# Which runs are asked -------------------------------------------------------------------------------------------------


def test_a_run_without_groups_and_slaves_is_not_asked_about_them() -> None:
    run = Build()
    run.send(0, 1, message=0, offset=0)
    run.drain(10, 11, at=0, got=[0])
    run.drained(12, at=1)
    checks = {verdict.check for verdict in check_all(run.history(), run.facts())}
    assert not checks & {"offsets", "deliveries", "freshness", "suggestions", "slaves"}


def test_a_run_with_a_group_is() -> None:
    run = Group()
    all_read(run)
    checks = {verdict.check for verdict in check_all(run.history(), run.facts())}
    assert {"offsets", "deliveries", "suggestions"} <= checks
