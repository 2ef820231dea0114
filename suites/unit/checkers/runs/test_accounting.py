"""Accounting and the loss envelope: what is lost, what explains it, and what is no excuse."""

from __future__ import annotations

from collections import Counter

import pytest

from checkers.runs.accounting import check_accounting
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.build import Build


def run_of(lost: list[int], *, count: int = 10, spacing_ms: int = 10, do: str = "cut_power", bit: int = 1) -> Build:
    """*count* messages acknowledged one after the other, then a fault, then a drain without *lost*."""
    build = Build()
    for message in range(count):
        at = message * spacing_ms
        build.send(at, at + 1, message, message)
    end = count * spacing_ms
    build.fault(do, "broker-a-0", end, end + 1, heal=end + 50, bit=bit)
    kept = [message for message in range(count) if message not in lost]
    for index, message in enumerate(kept):
        build.drain(end + 100 + index, end + 101 + index, message, [message])
    build.drained(end + 500, count)
    return build


def judge(build: Build, **facts: object) -> Verdict:
    return check_accounting(build.history(), build.facts(**facts))


def kinds(verdict: Verdict) -> list[tuple[str, bool]]:
    return [(anomaly.kind, anomaly.allowed) for anomaly in verdict.anomalies]


def test_all_there_passes() -> None:
    verdict = judge(run_of([]))
    assert verdict.outcome is Outcome.PASS
    assert verdict.measures["lost"] == 0
    assert verdict.measures["ok"] == verdict.measures["drained"] == 10


def test_a_lost_suffix_by_power_cut_with_async_flush_is_allowed_and_shown() -> None:
    verdict = judge(run_of([8, 9]))
    assert verdict.outcome is Outcome.PASS
    assert kinds(verdict) == [("lost", True)]
    assert verdict.measures["lost"] == verdict.measures["lost_allowed"] == 2
    details = verdict.anomalies[0].details
    assert (details["first_position"], details["last_position"]) == (8000, 9000)
    assert details["oldest_age_ns"] == 20_000_000
    assert "the end of its log from position 8000 to 9000" in verdict.anomalies[0].sentence


@pytest.mark.parametrize(
    ("build", "facts", "kind"),
    [
        (run_of([8, 9]), {"flush": "sync"}, "lost"),
        (run_of([8, 9], do="kill"), {}, "lost"),
        (run_of([8, 9], do="pause"), {}, "lost"),
        (run_of([8, 9], bit=0), {}, "lost"),
        (run_of([8, 9]), {"expect": {"lost": "none"}}, "lost"),
        (run_of([7, 9]), {}, "lost-in-middle"),
        (run_of([9], spacing_ms=1500, count=12), {}, "lost-in-middle"),
        (run_of([0, 1], count=2, spacing_ms=12_000), {}, "lost"),
    ],
    ids=["sync", "kill", "pause", "no-bite", "expect-none", "hole", "last-but-two", "too-old"],
)
def test_no_other_loss_is_excused(build: Build, facts: dict[str, object], kind: str) -> None:
    verdict = judge(build, **facts)
    assert verdict.outcome is Outcome.FAIL
    assert (kind, False) in kinds(verdict)


def test_a_tail_that_a_page_flush_must_have_reached_is_a_failure() -> None:
    """40 messages of 1000 bytes, one every 100 ms: five pages are dirty long before the cut."""
    verdict = judge(run_of(list(range(5, 40)), count=40, spacing_ms=100))
    assert kinds(verdict) == [("lost", False)]
    assert "more than 4 pages" in verdict.anomalies[0].sentence
    assert judge(run_of(list(range(33, 40)), count=40, spacing_ms=100)).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("count", "begin", "file_bytes", "outcome"),
    [
        (200, 100, 100_000, Outcome.PASS),  # the last turn ended with the first file, the one before it within that
        (200, 101, 100_000, Outcome.FAIL),  # something of the second file was flushed, so all that was there
        (200, 100, 1 << 30, Outcome.FAIL),  # no border
        (300, 100, 100_000, Outcome.FAIL),  # two turns more
        (300, 200, 40_000, Outcome.PASS),  # files as small as what a turn finds: each turn ends one
        (300, 100, 20_000, Outcome.PASS),  # smaller ones: it falls behind
        (200, 0, 100_000, Outcome.FAIL),  # nothing was flushed at all
    ],
)
def test_a_flush_ends_with_its_file(count: int, begin: int, file_bytes: int, outcome: Outcome) -> None:
    """100,000 bytes a second, a turn every half second (and a quarter of slack); 20,480 bytes must be dirty."""
    nodes = {"broker-a-0": {"mappedFileSizeCommitLog": str(file_bytes)}, "broker-b-0": {}}
    verdict = judge(run_of(list(range(begin, count)), count=count), nodes=nodes)
    assert verdict.outcome is outcome, verdict.anomalies[0].sentence


@pytest.mark.parametrize("do", ["pause", "kill", "stop"])
def test_time_in_which_the_broker_stood_still_widens_the_window(do: str) -> None:
    build = run_of([0, 1], count=2, spacing_ms=6_000)
    assert judge(build).outcome is Outcome.FAIL
    build.fault(do, "broker-a-0", 1000, 1001, heal=11_000, fault="f0")
    assert judge(build).outcome is Outcome.PASS


def test_two_faults_at_once_stand_still_only_once() -> None:
    build = run_of([0, 1], count=2, spacing_ms=6_000)
    for fault in ("f0", "f00"):
        build.fault("kill", "broker-a-0", 1000, 1001, heal=1600, fault=fault)
    assert judge(build).outcome is Outcome.FAIL


def test_a_second_cut_cannot_take_what_survived_the_first() -> None:
    build = Build()
    build.send(0, 1, 0, 0)
    build.fault("cut_power", "broker-a-0", 10, 11, heal=20, fault="f1")
    build.pull(30, 31, 0, [0])
    build.send(40, 41, 1, 1)
    build.fault("cut_power", "broker-a-0", 20_000, 20_001, heal=20_050, fault="f2")
    build.drain(20_100, 20_101, 0, [])
    verdict = judge(build)
    assert verdict.outcome is Outcome.FAIL
    assert "(f2)" in verdict.anomalies[0].sentence


def in_flight_over_the_cut(answered: int, position: int) -> Build:
    """Of ten messages 8 and 9 are lost by a cut at 100; 10 is sent before it and answered at *answered*, 11 later."""
    build = run_of([8, 9])
    build.send(99, answered, 10, 8, position=position)
    build.send(170, 171, 11, 9, position=8000)
    build.drain(300, 301, 8, [10, 11])
    return build


def test_what_was_in_flight_over_a_cut_neither_survived_it_nor_came_back() -> None:
    """Its place is behind what was lost, and behind where the recovered log ended: it was stored after the cut."""
    verdict = judge(in_flight_over_the_cut(answered=165, position=9500))
    assert verdict.outcome is Outcome.PASS, verdict
    assert kinds(verdict) == [("lost", True)]


def test_what_was_answered_before_the_cut_came_back_if_it_is_there() -> None:
    verdict = judge(in_flight_over_the_cut(answered=100, position=9500))
    assert ("resurrected", False) in kinds(verdict), verdict


def test_weak_and_unknown_messages_are_promised_nothing() -> None:
    build = Build()
    build.send(0, 1, 0, 0)
    build.send(2, 3, 1, 1, status="FLUSH_DISK_TIMEOUT")
    build.send(4, None, 2)
    build.send(5, 6, 3, status="SYSTEM_ERROR")
    build.drain(10, 11, 0, [0])
    build.drained(12, 1)
    verdict = judge(build)
    assert verdict.outcome is Outcome.PASS
    assert [verdict.measures[name] for name in ("ok", "weak", "info", "fail", "lost")] == [1, 1, 2, 0, 0]


def test_an_unpromised_message_that_is_there_is_recovered() -> None:
    build = Build()
    build.send(0, 1, 0, 0)
    build.send(4, None, 1)
    build.drain(10, 11, 0, [0, 1])
    build.drained(12, 2)
    assert judge(build).measures["recovered"] == 1


def test_a_message_at_two_places_is_duplicated() -> None:
    build = Build()
    build.send(0, 1, 0, 0)
    build.drain(10, 11, 0, [0, 0])
    build.drained(12, 2)
    verdict = judge(build)
    assert kinds(verdict) == [("duplicated", False)]
    assert verdict.anomalies[0].sentence == (
        "Message m0 was sent once (op 0: send m0 t/broker-a/0 @0 SEND_OK [0.000 s, 0.001 s]), but is there twice: "
        "t/broker-a/0 @0, t/broker-a/0 @1."
    )


def test_a_retry_may_leave_two_copies() -> None:
    build = Build()
    build.send(0, None, 0)
    build.send(5, 6, 0, 1)
    build.drain(10, 11, 0, [0, 0])
    build.drained(12, 2)
    assert judge(build).outcome is Outcome.PASS


@pytest.mark.parametrize(("message", "kind"), [(-1, "phantom"), (7, "phantom"), (1, "failed-append-visible")])
def test_what_was_never_stored_must_not_be_read(message: int, kind: str) -> None:
    build = Build()
    build.send(0, 1, 0, 0)
    build.send(2, 3, 1, status="SERVICE_NOT_AVAILABLE")
    build.drain(10, 11, 0, [0, message])
    build.drained(12, 2)
    verdict = judge(build)
    assert kinds(verdict) == [(kind, False)]
    assert verdict.outcome is Outcome.FAIL


def test_a_message_of_another_queue_is_told_by_its_own_place() -> None:
    build = Build()
    build.send(0, 1, 0, 0)
    build.drain(10, 11, 0, [0, -1])
    build.reads[-1]["detail"] = "message 7 of t/1"
    build.drained(12, 2)
    (found,) = judge(build).anomalies
    assert found.kind == "phantom"
    assert "Who asked t/broker-a/0 got message 7 of t/1 by op 1" in found.sentence


def test_a_queue_that_was_not_drained_proves_nothing() -> None:
    build = Build()
    build.send(0, 1, 0, 0)
    build.send(2, 3, 1, 0, queue=1)
    build.drain(10, 11, 0, [0])
    build.drained(12, 1)
    verdict = judge(build)
    assert verdict.outcome is Outcome.UNKNOWN
    assert "t/broker-a/1" in verdict.reasons[0]


def test_nothing_acknowledged_is_unknown() -> None:
    build = Build()
    build.send(0, None, 0)
    build.drained(12, 0)
    assert judge(build).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize(
    ("do", "flush", "outcome"),
    [("cut_power", "sync", Outcome.PASS), ("cut_power", "async", Outcome.PASS), ("kill", "sync", Outcome.FAIL)],
)
def test_a_topic_that_is_gone_is_unreachable_not_lost(do: str, flush: str, outcome: Outcome) -> None:
    build = run_of([], do=do)
    build.op("pull", 151, 152, "TOPIC_NOT_EXIST", queue=0, offset=0, node="broker-a-0")
    build.event(153, "note", "unreachable", "broker-a-0", topic="t")
    verdict = judge(build, flush=flush)
    assert verdict.outcome is outcome
    assert kinds(verdict) == [("unreachable", outcome is Outcome.PASS)]
    assert "until the topic was created again" in verdict.anomalies[0].sentence


@pytest.mark.parametrize("outage", ["kill", "stop", "restart"])
@pytest.mark.parametrize(("acked_ms", "allowed"), [(78_000, True), (74_000, False)])
def test_an_outage_is_an_outage_whatever_ended_the_broker(outage: str, acked_ms: int, allowed: bool) -> None:
    """Ten seconds without a process, then a power cut: the flush thread did not run meanwhile, and had else to have
    reached everything older than its thorough interval."""
    build = Build()
    build.event(0, "node", "started", "broker-a-0")
    build.send(acked_ms - 1, acked_ms, 0, 0)
    build.fault(outage, "broker-a-0", 80_000, 80_001, heal=90_001)
    build.event(80_000, "node", "stopped" if outage == "stop" else "killed", "broker-a-0")
    build.event(90_000, "node", "started", "broker-a-0")
    build.fault("cut_power", "broker-a-0", 96_000, 96_000, heal=97_000, fault="f2")
    build.drain(190_000, 190_001, 0, [])
    build.drained(190_002, 0)
    verdict = check_accounting(build.history(), build.facts(flush="async"))
    assert [anomaly.allowed for anomaly in verdict.anomalies if anomaly.kind == "lost"] == [allowed]


@pytest.mark.parametrize(
    ("by", "allowed"), [("wipe", True), ("flip_bits", True), ("kill", False), ("fill_disk", False)]
)
def test_what_two_faults_took_before_anything_was_stored_is_put_down_to_both(by: str, allowed: bool) -> None:
    """A disk that is wiped, or a sector that goes bad, while the machine is dark: nobody can tell what took it."""
    build = Build()
    build.send(0, 1, 0, 0)
    build.fault("cut_power", "broker-a-0", 40_000, 40_000, heal=41_000, fault="f1")
    build.fault(by, "broker-a-0", 42_000, 42_000, heal=50_000, fault="f2")
    build.send(60_000, 60_001, 1, 0, position=0)
    build.drain(190_000, 190_001, 0, [1])
    build.drained(190_002, 1)
    verdict = check_accounting(build.history(), build.facts(flush="sync"))
    assert [anomaly.allowed for anomaly in verdict.anomalies if anomaly.kind == "lost"] == [allowed]


def failed_forces(sector: int, *, healed: bool = True) -> Build:
    """Forces fail while messages 1 to 4 are stored, a sector of the last one goes bad, message 5 takes its place; then
    a disk that takes nothing comes back with what was forced: message 0."""
    build = Build()
    build.event(0, "node", "started", "broker-a-0")
    build.send(0, 1, 0, 0)
    build.fault("fail_sync", "broker-a-0", 10_000, 10_001, heal=30_000)
    for message in range(1, 5):
        build.send(11_000 + message, 11_100 + message, message, message)
    build.fault("flip_bits", "broker-a-0", 31_000, 31_001, heal=32_000, fault="f2", position=sector)
    build.send(40_000, 40_001, 5, 4, position=4000)
    if healed:
        build.fault("read_only_disk", "broker-a-0", 60_000, 60_001, heal=61_000, fault="f3")
    build.drain(190_000, 190_001, 0, [0] if healed else [0, 5])
    build.drained(190_002, 1 if healed else 2)
    return build


def lost(build: Build) -> dict[tuple[str, bool], int]:
    """How many by which fault, and whether that is allowed."""
    verdict = check_accounting(build.history(), build.facts(flush="async"))
    found: Counter[tuple[str, bool]] = Counter()
    for anomaly in verdict.anomalies:
        if anomaly.kind == "lost":
            found[anomaly.details["fault"], anomaly.allowed] += anomaly.details["count"]
    return found


def test_what_ended_before_a_bad_sector_was_taken_by_another_fault() -> None:
    """What no force had reached since the first that failed, a kill left in the page cache; the disk has it not."""
    assert lost(failed_forces(4100)) == {("f2", True): 1, ("f3", True): 4}


def test_what_ended_before_a_bad_sector_and_nothing_else_took_is_no_allowed_loss() -> None:
    assert lost(failed_forces(4100, healed=False)) == {("f2", False): 4}
