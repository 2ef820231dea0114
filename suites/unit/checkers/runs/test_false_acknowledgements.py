"""What came back behind a cut, and SEND_OK that stood for nothing: told by positions, and apart from other losses."""

from __future__ import annotations

import pytest

from checkers.runs.accounting import check_accounting
from checkers.runs.replicas import check_replicas
from checkers.verdict import Anomaly, Verdict
from suites.unit.checkers.build import Build

SYNC, ASYNC = "multi-master-multi-slave-sync", "multi-master-multi-slave-async"
NODES = {"broker-a-0": {}, "broker-a-1": {}}


def bad(verdict: Verdict) -> list[tuple[str, int]]:
    return [(a.kind, a.details["count"]) for a in verdict.anomalies if not a.allowed]


def only(verdict: Verdict, kind: str) -> Anomaly:
    (anomaly,) = [a for a in verdict.anomalies if a.kind == kind]
    return anomaly


def cut_and_killed(drained: list[int], *, at: int = 1000) -> Build:
    """Messages 0 to 3, a cut that leaves 0, message 4 at position *at*, a kill; then *drained* is there."""
    build = Build()
    for message in range(4):
        build.send(10 * message, 10 * message + 1, message, message)
    build.fault("cut_power", "broker-a-0", 50, 51, heal=60)
    build.send(70, 71, 4, 1, position=at)
    build.fault("kill", "broker-a-0", 80, 81, heal=90, fault="f2")
    build.drain(900, 901, 0, drained)
    build.drained(902, len(drained))
    return build


def account(build: Build, **facts: object) -> Verdict:
    return check_accounting(build.history(), build.facts(**facts))


def test_old_records_behind_new_ones_came_back() -> None:
    verdict = account(cut_and_killed([0, 4, 2, 3]))
    assert bad(verdict) == [("resurrected", 2)]
    sentence = only(verdict, "resurrected").sentence
    assert "2 records of before the cut at 1000 came back behind newer ones" in sentence
    assert "RocketMQ does not clear what lies behind the recovered end" in sentence
    assert "the recovery after kill of broker-a-0" in sentence
    assert "position 2000" in sentence


def test_what_stays_away_did_not_come_back() -> None:
    assert bad(account(cut_and_killed([0, 4]))) == []


def test_a_log_that_goes_on_behind_a_survivor_lost_its_middle() -> None:
    """The first position after the cut is 4000: nothing behind it was there before, so 2 and 3 survived."""
    verdict = account(cut_and_killed([0, 2, 3, 4], at=4000))
    assert bad(verdict) == [("lost-in-middle", 1)]


def test_a_message_that_was_sent_twice_may_be_the_second_copy() -> None:
    build = Build()
    build.send(0, 1, 0, 0)
    build.send(10, 11, 1, 1)
    build.fault("cut_power", "broker-a-0", 50, 51, heal=60)
    build.send(70, 71, 2, 1, position=1000)
    build.send(72, 73, 1, 2, position=2000)
    build.drain(900, 901, 0, [0, 2, 1])
    build.drained(902, 3)
    assert "resurrected" not in dict(bad(account(build)))


def forces_failed(*, acked: int, failing: tuple[int, int] = (20, 200), flush: str = "sync") -> Verdict:
    """One message that was acknowledged at *acked*, a power cut at 100, and nothing is left."""
    build = Build()
    build.send(0, 1, 0, 0)
    build.fault("fail_sync", "broker-a-0", *failing, heal=300)
    build.send(acked - 1, acked, 1, 1)
    build.fault("cut_power", "broker-a-0", 100, 101, heal=110, fault="f2")
    build.drain(900, 901, 0, [0])
    build.drained(902, 1)
    return account(build, flush=flush)


def test_send_ok_while_every_force_failed() -> None:
    verdict = forces_failed(acked=50)
    assert bad(verdict) == [("unforced-ok", 1)]
    sentence = only(verdict, "unforced-ok").sentence
    assert sentence.startswith("SEND_OK although fsync failed: 1 acknowledged message of broker-a lost by cut_power")
    assert "the broker takes a force that failed for a flush" in sentence


def test_what_was_acknowledged_before_they_failed_is_lost_for_no_known_reason() -> None:
    assert bad(forces_failed(acked=50, failing=(60, 61))) == [("lost", 1)]


def test_asynchronous_flush_promised_no_force() -> None:
    assert bad(forces_failed(acked=50, flush="async")) == []


def adopted(*, mode: str = SYNC, loser: str = "cut_power") -> Verdict:
    """Acknowledged after the master had lost its end; the slave that takes its place has not got it."""
    build = Build()
    build.send(0, 1, 0, 0)
    build.fault(loser, "broker-a-0", 50, 51, heal=60)
    build.send(70, 71, 1, 1, position=1000)
    build.fault("adopt_slave", "broker-a-0", 10_000, 10_001, heal=10_100, fault="f2")
    build.drain(20_000, 20_001, 0, [0])
    build.drained(20_002, 1)
    return account(build, mode=mode, nodes=NODES)


def test_what_an_adopted_slave_never_had_was_acknowledged_falsely() -> None:
    verdict = adopted()
    assert bad(verdict) == [("unreplicated-ok", 1)]
    sentence = only(verdict, "unreplicated-ok").sentence
    assert sentence.startswith("SEND_OK although the slave's log differs at 1000: 1 acknowledged message")
    assert "the slave was ahead of its restarted master" in sentence


def test_without_an_earlier_loss_there_is_no_such_reason() -> None:
    assert bad(adopted(loser="kill")) == [("lost", 1)]


def test_asynchronous_replication_promised_no_copy() -> None:
    assert "unreplicated-ok" not in dict(bad(adopted(mode=ASYNC)))


def both(master: list[int], slave: list[int], *, status: str = "SEND_OK") -> Build:
    """Message 9 and a cut, after which it is only on the slave; then all others."""
    build = Build()
    build.send(0, 1, 9, 1, position=9000)
    build.fault("cut_power", "broker-a-0", 50, 51, heal=60)
    for offset, message in enumerate(master):
        build.send(100 + 10 * offset, 101 + 10 * offset, message, offset, status=status)
    build.drain(900, 901, 0, master)
    build.drained(902, len(master))
    build.pull(910, 911, 0, slave, f="replica", node="broker-a-1")
    build.pull(912, 913, len(slave), [], f="replica", node="broker-a-1")
    return build


def compared(build: Build, mode: str = SYNC, **facts: object) -> Verdict:
    return check_replicas(build.history(), build.facts(mode=mode, nodes=NODES, **facts))


@pytest.mark.parametrize(
    ("slave", "count", "is_stuck"),
    [([0, 1, 2], 0, False), ([0, 9, 2], 1, False), ([0, 9], 2, True), ([0, 2, 1], 0, False)],
)
def test_acknowledged_by_a_synchronous_master_and_on_no_slave(slave: list[int], count: int, is_stuck: bool) -> None:
    verdict = compared(both([0, 1, 2], slave), expect={"replicas": "agree"})
    assert dict(bad(verdict)).get("unreplicated-ok", 0) == verdict.measures["unreplicated_ok"] == count
    if count:
        sentence = only(verdict, "unreplicated-ok").sentence
        assert (
            "SEND_OK although the slave's log differs at 1000: the slave was ahead of its restarted master" in sentence
        )
        assert ("dispatches none" in sentence) == is_stuck


def test_what_promised_no_copy_is_not_missed() -> None:
    assert compared(both([0, 1], [0], status="SLAVE_NOT_AVAILABLE")).measures["unreplicated_ok"] == 0
    assert compared(both([0, 1], [0]), mode=ASYNC).measures["unreplicated_ok"] == 0


def test_the_contract_may_let_replicas_differ_and_then_it_is_told_but_allowed() -> None:
    verdict = compared(both([0, 1, 2], [0, 9, 2]), flush="async")
    assert only(verdict, "unreplicated-ok").allowed
    assert bad(verdict) == []


def flipped(sector: int) -> Verdict:
    """Messages 0 to 3 at 0, 1000, 2000, 3000; a sector goes bad; only 0 is left."""
    build = Build()
    for message in range(4):
        build.send(10 * message, 10 * message + 1, message, message)
    build.fault("flip_bits", "broker-a-0", 50, 51, heal=60)
    next(e for e in build.events if e["step"] == "probe")["detail"] = f'{{"position": {sector}}}'
    build.drain(900, 901, 0, [0])
    build.drained(902, 1)
    return account(build)


@pytest.mark.parametrize(("sector", "allowed"), [(512, True), (1000, True), (1536, True), (2000, False), (3072, False)])
def test_a_bad_sector_takes_its_own_record_and_what_follows(sector: int, allowed: bool) -> None:
    lost = only(flipped(sector), "lost")
    assert lost.details["count"] == 3
    assert lost.allowed == allowed, lost.sentence


@pytest.mark.parametrize(
    ("first", "position", "way"),
    [
        ("cut_power", 1000, "slave-ahead"),
        ("flip_bits", 1000, "slave-ahead"),
        ("kill", 1000, ""),  # a kill takes nothing: the slave was never ahead
        ("cut_power", 9000, ""),  # behind all that the slave can have kept
    ],
)
def test_the_middle_of_a_log_that_a_slave_was_never_sent(first: str, position: int, way: str) -> None:
    """Messages 0 to 3; the master is back without 1 to 3, which its slave has; 4 takes the place of 1, 5 lies behind;
    the slave's data takes the master's place: 4 is gone, and 5 is there."""
    build = Build()
    for message in range(4):
        build.send(10 * message, 10 * message + 1, message, message)
    build.fault(first, "broker-a-0", 100, 101, heal=200)
    build.send(30_000, 30_001, 4, 1, position=position)
    build.send(30_002, 30_003, 5, 4, position=10_000)
    build.fault("adopt_slave", "broker-a-0", 40_000, 40_001, heal=42_000, fault="f2")
    build.drain(90_000, 90_001, 0, [0, 1, 2, 3, 5])
    build.drained(90_002, 5)
    mode = "multi-master-multi-slave-async"
    verdict = check_accounting(build.history(), build.facts(mode=mode, nodes={"broker-a-0": {}, "broker-a-1": {}}))
    (middle,) = [anomaly for anomaly in verdict.anomalies if anomaly.kind == "lost-in-middle"]
    assert (middle.details["count"], middle.details.get("mechanism", "")) == (1, way), middle.sentence
    assert ("was sent only what follows its own end" in middle.sentence) is bool(way)
