"""What slaves hold beside their masters, what may be missing when a slave takes a master's place, and what may not."""

from __future__ import annotations

import pytest

from checkers.contract import classify
from checkers.history.facts import FaultFact
from checkers.runs.accounting import check_accounting
from checkers.runs.checks import check_all
from checkers.runs.replicas import check_replicas
from checkers.runs.replication_bound import replicated_until
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.build import MS, Build

ASYNC, SYNC = "multi-master-multi-slave-async", "multi-master-multi-slave-sync"
NODES = {"broker-a-0": {}, "broker-a-1": {}}


def run(master: list[int], slave: list[int], *, begin: int = 0, end: bool = True) -> Build:
    """Messages in one queue of the master, and of the slave from offset *begin* on."""
    build = Build()
    for offset, message in enumerate(master):
        build.send(offset, offset + 1, message, offset)
    build.drain(900, 901, 0, master)
    build.drained(902, len(master))
    if slave:
        build.pull(910, 911, begin, slave, f="replica", node="broker-a-1")
    if end:
        build.pull(912, 913, begin + len(slave), [], f="replica", node="broker-a-1")
    return build


def judged(build: Build, mode: str = ASYNC, **facts: object) -> Verdict:
    return check_replicas(build.history(), build.facts(mode=mode, **facts))


def kinds(verdict: Verdict) -> list[tuple[str, bool]]:
    return [(anomaly.kind, anomaly.allowed) for anomaly in verdict.anomalies]


@pytest.mark.parametrize(
    ("master", "slave", "begin", "found"),
    [
        ([0, 1, 2], [0, 1, 2], 0, []),
        ([0, 1, 2], [1, 2], 1, ["replica-missing"]),
        ([0, 1, 2], [0, 1], 0, ["replica-missing"]),
        ([0, 1], [0, 1, 2], 0, ["replica-ahead"]),
        ([0, 1, 2], [0, 3, 2], 0, ["replica-differs"]),
        ([0, 1, 2, 4], [0, 3], 0, ["replica-differs", "replica-missing"]),
        ([0], [], 0, ["replica-missing"]),
    ],
)
def test_a_slave_has_what_its_master_has(master: list[int], slave: list[int], begin: int, found: list[str]) -> None:
    verdict = judged(run(master, slave, begin=begin))
    assert kinds(verdict) == [(kind, False) for kind in found]
    assert (verdict.outcome.name == "FAIL") == bool(found)


HELD = [
    # separated from 200 until, sent with answer, what the slave has, found
    pytest.param(600, "TIMEOUT", [0, 1, 2, 3], [], id="may-have-come-after-the-master-was-read"),
    pytest.param(500, "TIMEOUT", [0, 1, 2, 3], ["replica-ahead"], id="had-come-before-or-never"),
    pytest.param(600, "SEND_OK", [0, 1, 2, 3], ["replica-ahead"], id="was-acknowledged-before"),
    pytest.param(600, "TIMEOUT", [0, 1, 2, 3, 1], [], id="of-a-send-that-was-done-again"),
    pytest.param(600, "TIMEOUT", [0, 3, 2], ["replica-differs"], id="in-the-middle"),
]
ELSEWHERE = [
    pytest.param("namesrv-1", ("broker-a-0",), id="a-nameserver-from-the-broker"),
    pytest.param("client-1", ("broker-b-0",), id="a-client-from-another-broker"),
]


@pytest.mark.parametrize(("until", "status", "slave", "found"), HELD)
def test_what_a_partition_held_back_may_come_when_the_master_has_been_read(
    until: int, status: str, slave: list[int], found: list[str]
) -> None:
    """The master is read from 900 to 903; what was held for 400 ms comes until 400 ms after the heal at 600."""
    build = run([0, 1, 2], slave)
    build.send(250, 251 if status == "SEND_OK" else 550, 3, 3 if status == "SEND_OK" else -1, status)
    build.send(251, 551, 1, status=status if status == "TIMEOUT" else "CONNECT_FAILED")
    build.fault("partition", "client-1", 200, 200, until, right=("broker-a-0",))
    assert kinds(judged(build)) == [(kind, False) for kind in found]


@pytest.mark.parametrize(("left", "right"), ELSEWHERE)
def test_a_partition_of_others_holds_no_send_back(left: str, right: tuple[str, ...]) -> None:
    build = run([0, 1, 2], [0, 1, 2, 3])
    build.send(250, 550, 3, -1, "TIMEOUT")
    build.fault("partition", left, 200, 200, 600, right=right)
    assert kinds(judged(build)) == [("replica-ahead", False)]


def test_a_send_that_began_after_the_partition_was_not_held_back() -> None:
    build = run([0, 1, 2], [0, 1, 2, 3])
    build.send(650, 850, 3, -1, "TIMEOUT")
    build.fault("partition", "client-1", 200, 200, 600, right=("broker-a-0",))
    assert kinds(judged(build)) == [("replica-ahead", False)]


@pytest.mark.parametrize("lost", ["broker-a-0", "broker-a-1"])
def test_behind_a_disk_that_was_replaced_both_are_equal_from_the_slaves_first_offset_on(lost: str) -> None:
    """A new slave begins with the last file of its master's log."""
    build = run([0, 1, 2], [1, 2], begin=1)
    build.fault("wipe", lost, 20, 21, heal=30)
    assert kinds(judged(build)) == []
    build = run([0, 1, 2], [1], begin=1)
    build.fault("wipe", lost, 20, 21, heal=30)
    assert kinds(judged(build)) == [("replica-missing", False)]


ALL_HOURS = {"fileReservedTime": "0", "mappedFileSizeCommitLog": "2000"}
"""Files of two messages, which may go at once."""


@pytest.mark.parametrize(
    ("properties", "slave", "begin", "found"),
    [
        (ALL_HOURS, [2, 3, 4], 2, []),
        (ALL_HOURS, [2, 3], 2, ["replica-missing"]),
        (ALL_HOURS, [2, 9, 4], 2, ["replica-differs"]),
        (ALL_HOURS, [], 5, ["replica-missing"]),
        ({**ALL_HOURS, "fileReservedTime": "72"}, [2, 3, 4], 2, ["replica-missing"]),
        ({**ALL_HOURS, "mappedFileSizeCommitLog": "100000"}, [2, 3, 4], 2, ["replica-missing"]),  # the last file stays
    ],
)
def test_what_a_node_deleted_for_its_age_is_no_difference(properties, slave, begin, found) -> None:
    build = run([0, 1, 2, 3, 4], slave, begin=begin)
    nodes = {node: {"brokerName": "broker-a", "brokerId": node[-1], **properties} for node in NODES}
    assert kinds(judged(build, nodes=nodes)) == [(kind, False) for kind in found]


def test_a_slave_may_keep_what_its_master_has_deleted() -> None:
    build = Build()
    for message in range(5):
        build.send(message, message + 1, message, message)
    build.drain(900, 901, 2, [2, 3, 4])
    build.drained(902, 5)
    build.pull(910, 911, 0, [0, 1, 2, 3, 4], f="replica", node="broker-a-1")
    build.pull(912, 913, 5, [], f="replica", node="broker-a-1")
    nodes = {node: {"brokerName": "broker-a", "brokerId": node[-1], **ALL_HOURS} for node in NODES}
    assert kinds(judged(build, nodes=nodes)) == []
    assert kinds(judged(build)) == [("replica-ahead", False)]


def test_a_slave_that_was_not_read_to_its_end_proves_nothing() -> None:
    verdict = judged(run([0, 1], [0, 1], end=False))
    assert verdict.outcome.name == "UNKNOWN"
    assert len(verdict.reasons) == 2
    assert all(reason.endswith("was not read to its end on broker-a-1") for reason in verdict.reasons)


@pytest.mark.parametrize(
    ("do", "node", "flush", "expect", "allowed"),
    [
        ("cut_power", "broker-a-0", "async", {}, True),
        ("cut_power", "broker-a-0", "async", {"replicas": "agree"}, False),
        ("cut_power", "broker-a-1", "async", {}, False),
        ("cut_power", "broker-b-0", "async", {}, False),
        ("wipe", "broker-a-0", "sync", {}, True),
        ("wipe", "broker-a-1", "sync", {}, False),
        ("kill", "broker-a-0", "async", {}, False),
        ("adopt_slave", "broker-a-0", "async", {}, False),
    ],
)
def test_only_a_master_that_lost_something_excuses_its_slaves(
    do: str, node: str, flush: str, expect: dict[str, str], allowed: bool
) -> None:
    build = Build()
    for ms, message in ((0, 0), (10, 3)):
        build.send(ms, ms + 1, message, message)
    build.fault(do, node, 50, 52, heal=60)
    build.send(70, 71, 1, 1)
    build.drain(900, 901, 0, [0, 1])
    build.drained(902, 2)
    build.pull(910, 911, 0, [0, 3], f="replica", node="broker-a-1")
    build.pull(912, 913, 2, [], f="replica", node="broker-a-1")
    assert kinds(judged(build, flush=flush, expect=expect)) == [("replica-differs", allowed)]


def test_the_check_is_made_where_slaves_were_read_and_only_there() -> None:
    with_slaves, without = run([0], [0]), Build()
    without.send(0, 1, 0, 0)
    names = [verdict.check for verdict in check_all(with_slaves.history(), with_slaves.facts(mode=ASYNC))]
    assert "replicas" in names
    assert "replicas" not in [v.check for v in check_all(without.history(), without.facts())]


def test_reads_of_slaves_are_answers_like_those_of_masters() -> None:
    assert [classify("replica", status) for status in ("FOUND", "PULL_NOT_FOUND", "TIMEOUT")] == ["ok", "ok", "info"]


# --- loss of the machine ---


def lost_tail(
    do: str,
    ack_ms: int,
    *,
    at_ms: int = 10_000,
    slave_fault: tuple[int, int] | None = None,
    slave: str = "broker-a-1",
    taken_from: str = "",
) -> Build:
    """Message 1 was acknowledged at *ack_ms*; the master's disk broke at *at_ms*; message 1 is not there any more."""
    build = Build()
    build.send(0, 1, 0, 0)
    build.send(ack_ms - 1, ack_ms, 1, 1)
    if slave_fault is not None:
        build.fault("kill", slave, slave_fault[0], slave_fault[0], heal=slave_fault[1], fault="f0")
    build.fault(do, "broker-a-0", at_ms, at_ms, heal=at_ms + 2000)
    if taken_from:
        build.event(at_ms, "fault", "probe", "broker-a-0", "f1", 1, **{"from": taken_from})
    build.send(at_ms + 3000, at_ms + 3001, 2, 1)
    build.drain(90_000, 90_001, 0, [0, 2])
    build.drained(90_002, 2)
    return build


@pytest.mark.parametrize(
    ("do", "mode", "ack_ms", "slave_fault", "allowed"),
    [
        ("adopt_slave", ASYNC, 9_900, None, True),
        ("adopt_slave", ASYNC, 9_000, None, False),
        ("adopt_slave", SYNC, 9_999, None, False),
        ("adopt_slave", ASYNC, 6_000, (5_000, 6_500), True),  # the slave had not joined again
        ("adopt_slave", ASYNC, 3_000, (5_000, 6_500), False),
        ("wipe", ASYNC, 100, None, True),
        ("wipe", SYNC, 100, None, True),
        ("wipe", "multi-master", 100, None, True),
        ("adopt_slave", "multi-master", 9_999, None, False),
        ("kill", ASYNC, 9_999, None, False),
    ],
)
def test_loss_is_judged_by_how_the_machine_was_replaced(
    do: str, mode: str, ack_ms: int, slave_fault: tuple[int, int] | None, allowed: bool
) -> None:
    build = lost_tail(do, ack_ms, slave_fault=slave_fault)
    verdict = check_accounting(build.history(), build.facts(mode=mode, flush="sync"))
    (lost,) = [anomaly for anomaly in verdict.anomalies if anomaly.kind == "lost"]
    assert lost.allowed is allowed, lost.sentence


@pytest.mark.parametrize(
    ("ack_ms", "slave", "slave_fault", "taken_from", "allowed"),
    [
        (9_900, "broker-a-2", None, "broker-a-2", True),  # within the lag of a healthy slave
        (9_000, "broker-a-2", None, "broker-a-2", False),
        (6_000, "broker-a-2", (5_000, 6_500), "broker-a-2", True),  # it had not joined again
        (3_000, "broker-a-2", (5_000, 6_500), "broker-a-2", False),
        (6_000, "broker-a-1", (5_000, 6_500), "broker-a-2", False),  # it was the other one that was away
        (6_000, "broker-a-1", (5_000, 6_500), "", True),  # nobody tells whose data it was
    ],
)
def test_one_of_several_synchronous_slaves_may_lack_what_another_one_acknowledged(
    ack_ms: int, slave: str, slave_fault: tuple[int, int] | None, taken_from: str, allowed: bool
) -> None:
    build = lost_tail("adopt_slave", ack_ms, slave_fault=slave_fault, slave=slave, taken_from=taken_from)
    nodes = {**NODES, "broker-a-2": {}}
    verdict = check_accounting(build.history(), build.facts(mode=SYNC, flush="sync", nodes=nodes))
    (lost,) = [anomaly for anomaly in verdict.anomalies if anomaly.kind == "lost"]
    assert lost.allowed is allowed, lost.sentence
    if taken_from and allowed:
        assert "SEND_OK meant the master and one slave: broker-a-1 had them" in lost.sentence


@pytest.mark.parametrize(
    ("mode", "do", "ack_ms", "lost_ms", "back_ms", "allowed"),
    [
        (SYNC, "wipe", 4_000, 5_000, 9_000, True),  # both disks have lost it
        (ASYNC, "wipe", 4_000, 5_000, 9_000, True),
        (SYNC, "flip_bits", 4_000, 5_000, 9_000, True),
        (SYNC, "cut_power", 4_000, 5_000, 9_000, True),
        (SYNC, "wipe", 6_000, 5_000, 5_500, False),  # confirmed by the slave after it had lost its disk
        (SYNC, "kill", 4_000, 5_000, 9_000, False),  # a kill takes nothing
        (ASYNC, "kill", 4_000, 5_000, 9_000, False),
        (SYNC, "wipe", 4_000, 9_999, 9_999, True),
        (SYNC, "cut_power", 9_000, 11_000, 11_500, True),  # its data is copied when the master is made anew
        (SYNC, "wipe", 4_000, 11_000, 11_500, True),
        (ASYNC, "cut_power", 9_000, 11_000, 11_500, True),
        (SYNC, "wipe", 4_000, 12_500, 13_000, False),  # the copy had been made
        (SYNC, "kill", 9_000, 11_000, 11_500, False),
    ],
)
def test_a_message_is_lost_with_both_disks_that_had_it(
    mode: str, do: str, ack_ms: int, lost_ms: int, back_ms: int, allowed: bool
) -> None:
    build = lost_tail("adopt_slave", ack_ms, taken_from="broker-a-1")
    build.fault(do, "broker-a-1", lost_ms, lost_ms, heal=back_ms, fault="f0")
    verdict = check_accounting(build.history(), build.facts(mode=mode, flush="sync", nodes=NODES))
    (lost,) = [anomaly for anomaly in verdict.anomalies if anomaly.kind == "lost"]
    assert lost.allowed is allowed, lost.sentence
    assert ("broker-a-1 had lost its copy, too" in lost.sentence) is (allowed and mode == SYNC)


def test_what_a_slave_has_copied_again_since_it_lost_its_disk_must_be_there() -> None:
    build = lost_tail("adopt_slave", 1_000, at_ms=60_000, taken_from="broker-a-1")
    build.fault("wipe", "broker-a-1", 2_000, 2_000, heal=4_000, fault="f0")
    verdict = check_accounting(build.history(), build.facts(mode=SYNC, flush="sync", nodes=NODES))
    (lost,) = [anomaly for anomaly in verdict.anomalies if anomaly.kind == "lost"]
    assert not lost.allowed
    assert "broker-a-1 must have had everything" in lost.sentence


@pytest.mark.parametrize(
    ("kind", "right", "begin_ms", "heal_ms", "bit", "allowed"),
    [
        ("kill", (), 5_000, 95_000, 1, False),
        ("pause", (), 5_000, 9_950, 1, False),
        ("wipe", (), 5_000, 95_000, 1, False),
        ("flip_bits", (), 5_000, 95_000, 1, False),
        ("cut_power", (), 5_000, 95_000, 1, False),
        ("isolate", ("broker-a-0", "client-1"), 5_000, 95_000, 1, False),
        ("partition", ("broker-a-0",), 5_000, 95_000, 1, False),
        ("partition", ("broker-b-0",), 5_000, 95_000, 1, True),
        ("kill", (), 5_000, 9_895, 1, True),  # it was back before the answer
        ("kill", (), 9_899, 95_000, 1, True),  # it was there when the send began
        ("kill", (), 5_000, 95_000, -1, True),  # nobody saw it bite
        ("slow_disk", (), 5_000, 95_000, 1, True),
    ],
)
def test_what_only_the_slave_can_have_confirmed_whose_data_was_taken_must_be_there(
    kind: str, right: tuple[str, ...], begin_ms: int, heal_ms: int, bit: int, allowed: bool
) -> None:
    build = lost_tail("adopt_slave", 9_900, taken_from="broker-a-2")
    build.fault(kind, "broker-a-1", begin_ms, begin_ms, heal=heal_ms, bit=bit, right=right, fault="f0")
    nodes = {**NODES, "broker-a-2": {}}
    verdict = check_accounting(build.history(), build.facts(mode=SYNC, flush="sync", nodes=nodes))
    (lost,) = [anomaly for anomaly in verdict.anomalies if anomaly.kind == "lost"]
    assert lost.allowed is allowed, lost.sentence
    assert ("broker-a-2, whose data took the place, must have had them" in lost.sentence) is not allowed


@pytest.mark.parametrize(
    ("taken", "ack_ms", "allowed"),
    [("broker-a-2", 6_000, True), ("broker-a-2", 3_000, False), ("broker-a-1", 6_000, False)],
)
def test_so_may_one_that_an_operator_promotes(taken: str, ack_ms: int, allowed: bool) -> None:
    build = Build()
    build.send(0, 1, 0, 0)
    build.send(ack_ms - 1, ack_ms, 1, 1)
    build.fault("kill", "broker-a-2", 5_000, 5_000, heal=6_500, fault="f0")
    build.fault("kill", "broker-a-0", 9_000, 9_000, heal=20_000, fault="f1")
    build.fault("promote", taken, 10_000, 10_000, heal=20_000, fault="f2")
    build.send(13_000, 13_001, 2, 1)
    build.drain(90_000, 90_001, 0, [0, 2])
    build.drained(90_002, 2)
    nodes = {**NODES, "broker-a-2": {}}
    verdict = check_accounting(build.history(), build.facts(mode=SYNC, flush="sync", nodes=nodes))
    (lost,) = [anomaly for anomaly in verdict.anomalies if anomaly.kind == "lost"]
    assert lost.allowed is allowed, lost.sentence


@pytest.mark.parametrize(
    ("first", "second", "allowed"),
    [("cut_power", "wipe", True), ("cut_power", "kill", False), ("wipe", "cut_power", True), ("cut_power", "", False)],
)
def test_a_disk_that_is_lost_later_takes_the_proof_of_an_earlier_loss_along(first, second, allowed) -> None:
    build = Build()
    build.send(0, 1, 0, 0)
    build.fault(first, "broker-a-0", 10, 11, heal=20)
    if second:
        build.fault(second, "broker-a-0", 20, 21, heal=30, fault="f2")
    build.drain(900, 901, 0, [])
    build.drained(902, 0)
    verdict = check_accounting(build.history(), build.facts(mode=SYNC, flush="sync"))
    (lost,) = [anomaly for anomaly in verdict.anomalies if anomaly.kind == "lost"]
    assert lost.allowed is allowed, lost.sentence


def test_a_replaced_master_that_lost_something_in_the_middle_fails() -> None:
    build = Build()
    for message in range(3):
        build.send(9_900 + message, 9_901 + message, message, message)
    build.fault("adopt_slave", "broker-a-0", 10_000, 10_000, heal=12_000)
    build.drain(90_000, 90_001, 0, [0])
    build.drain(90_003, 90_004, 2, [2])
    build.drained(90_005, 3)
    verdict = check_accounting(build.history(), build.facts(mode=ASYNC, flush="sync"))
    assert ("lost-in-middle", False) in kinds(verdict)


def test_what_a_slave_still_shows_does_not_prove_that_the_master_had_it_after_the_cut() -> None:
    build = Build()
    build.send(0, 1, 0, 0)
    build.send(9_998, 9_999, 1, 1)
    build.fault("cut_power", "broker-a-0", 10_000, 10_000, heal=12_000)
    build.drain(90_000, 90_001, 0, [0])
    build.drained(90_002, 1)
    build.pull(90_010, 90_011, 0, [0, 1], f="replica", node="broker-a-1")
    verdict = check_accounting(build.history(), build.facts(mode=ASYNC, flush="async"))
    assert ("lost", True) in kinds(verdict)


def test_the_lag_reaches_back_over_every_disturbance_that_touches_the_next() -> None:
    facts = Build().facts(mode=ASYNC)

    def until(*faults: FaultFact) -> int:
        return replicated_until(type(facts)(**{**vars(facts), "faults": faults}), "broker-a", 100_000 * MS)

    def fault(
        kind: str, node: str, begin: int, heal: int, right: tuple[str, ...] = (), ports: str = "any"
    ) -> FaultFact:
        return FaultFact("f", kind, (node,), right, begin * MS, begin * MS, 0, heal * MS, 1, ports=ports)

    lag = 450  # 0.2 s of the contract and 0.25 s of the simulator
    assert until() == (100_000 - lag) * MS
    assert until(fault("kill", "broker-b-1", 90_000, 95_000)) == (100_000 - lag) * MS
    assert until(fault("pause", "broker-a-1", 90_000, 95_000)) == (90_000 - lag) * MS
    assert until(fault("kill", "broker-a-1", 10_000, 11_000)) == (100_000 - lag) * MS
    assert (
        until(fault("kill", "broker-a-0", 80_000, 81_000), fault("kill", "broker-a-1", 90_000, 91_000))
        == (80_000 - lag) * MS
    )
    assert until(fault("partition", "broker-a-0", 90_000, 95_000, ("broker-a-1",), "ha")) == (90_000 - lag) * MS
    assert until(fault("partition", "broker-a-0", 90_000, 95_000, ("client-1",), "any")) == (100_000 - lag) * MS
    assert until(fault("partition", "broker-a-0", 90_000, 95_000, ("broker-a-1",), "broker")) == (100_000 - lag) * MS


@pytest.mark.parametrize(("kind", "behind_ms"), [("kill", 450), ("cut_power", 450 + 10_000 + 500 + 250)])
def test_a_slave_that_lost_its_own_power_is_behind_by_what_it_had_not_flushed(kind: str, behind_ms: int) -> None:
    nodes = {"broker-a-0": {}, "broker-a-1": {}}
    facts = Build().facts(mode=ASYNC, nodes=nodes)
    cut = FaultFact("f", kind, ("broker-a-1",), (), 95_000 * MS, 95_000 * MS, 0, 96_000 * MS, 1)
    facts = type(facts)(**{**vars(facts), "faults": (cut,)})
    assert replicated_until(facts, "broker-a", 100_000 * MS, "broker-a-1") == (95_000 - behind_ms) * MS


def test_a_queue_that_the_topic_has_not_got_is_on_no_slave() -> None:
    """A producer without a route asks for queues of the default topic; its master and its slave refuse to read them."""
    build = run([0, 1], [0, 1])
    for f, node in (("drain", "broker-a-0"), ("replica", "broker-a-1")):
        refusal = "queueId[2] is illegal, topic:[chaos] topicConfig.readQueueNums:[2]"
        build.op(f, 990, 991, "SYSTEM_ERROR", queue=1, offset=0, outcome="fail", node=node, detail=refusal)
    assert judged(build).outcome is Outcome.PASS
