"""The check ``log`` of a run: offsets, epochs, staleness; each case is a handful of operations."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from checkers.runs.log import check_logs
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.build import Build


def judge(build: Build, **facts: object) -> Verdict:
    return check_logs(build.history(), build.facts(**facts))


def violations(verdict: Verdict) -> list[str]:
    return [anomaly.kind for anomaly in verdict.anomalies if not anomaly.allowed]


def two_messages(build: Build) -> None:
    build.send(0, 10, 0, 0)
    build.send(20, 30, 1, 1)


def valid(build: Build) -> None:
    two_messages(build)
    build.pull(0, 5, 0, [])
    build.pull(40, 41, 0, [0, 1])
    build.query_max(50, 51, 2)


def two_values(build: Build) -> None:
    build.send(0, 10, 0, 0)
    build.send(20, 30, 1, 0)
    build.pull(40, 41, 0, [1])


def two_readers_disagree(build: Build) -> None:
    build.send(0, None, 0)
    build.send(0, None, 1)
    build.pull(40, 41, 0, [0])
    build.pull(50, 51, 0, [1])


def at_two_offsets(build: Build) -> None:
    two_messages(build)
    build.pull(40, 41, 0, [0, 1, 0])


def phantom(build: Build) -> None:
    build.pull(40, 41, 0, [7])


def refused_but_there(build: Build) -> None:
    build.send(0, 10, 0, status="SERVICE_NOT_AVAILABLE")
    build.pull(40, 41, 0, [0])


def in_the_wrong_queue(build: Build) -> None:
    build.send(0, None, 0, queue=1)
    build.pull(40, 41, 0, [0], queue=0)


def hole(build: Build) -> None:
    build.send(0, 10, 0, 1)
    build.pull(40, 41, 1, [0])


def real_time_order(build: Build) -> None:
    build.send(0, 10, 0, 1)
    build.send(20, 30, 1, 0)
    build.pull(40, 41, 0, [1, 0])


def read_before_sent(build: Build) -> None:
    build.pull(0, 5, 0, [0])
    build.send(10, 20, 0, 0)


def skipped(build: Build) -> None:
    two_messages(build)
    number = build.pull(40, 41, 0, [0])
    build.send(42, 43, 2, 2)
    build.reads.append({"op": number, "position": 1, "offset": 2, "message": 2, "detail": ""})
    build.ops[number]["count"] = 2


CASES: list[tuple[Callable[[Build], None], str]] = [
    (two_values, "two-values-one-offset"),
    (two_readers_disagree, "two-values-one-offset"),
    (at_two_offsets, "value-at-two-offsets"),
    (phantom, "phantom"),
    (refused_but_there, "failed-append-visible"),
    (in_the_wrong_queue, "wrong-queue"),
    (hole, "hole-without-writer"),
    (real_time_order, "real-time-order"),
    (read_before_sent, "read-from-future"),
    (skipped, "skipped-in-read"),
]


def test_a_valid_history_passes() -> None:
    build = Build()
    valid(build)
    verdict = judge(build)
    assert (verdict.outcome, verdict.anomalies) == (Outcome.PASS, ())
    assert verdict.measures["stale_answers"] == 0


@pytest.mark.parametrize(("plant", "kind"), CASES, ids=[kind for _, kind in CASES])
def test_each_planted_violation_is_found_by_name(plant: Callable[[Build], None], kind: str) -> None:
    build = Build()
    plant(build)
    verdict = judge(build)
    assert verdict.outcome is Outcome.FAIL
    assert violations(verdict) == [kind]


def test_the_sentence_names_queue_offset_operations_and_fault() -> None:
    build = Build()
    real_time_order(build)
    build.fault("kill", "broker-a-0", 12, 13, heal=15)
    assert judge(build).anomalies[0].sentence == (
        "t/broker-a/0 @0 was given to a message whose send began after @1 had been acknowledged. Proof: "
        "op 1: send m1 t/broker-a/0 @0 SEND_OK [0.020 s, 0.030 s]; op 0: send m0 t/broker-a/0 @1 SEND_OK "
        "[0.000 s, 0.010 s]. Nearest fault: kill of broker-a-0 (f1) at 0.013 s."
    )


def test_an_unknown_send_may_fill_a_hole_or_not_exist() -> None:
    build = Build()
    build.send(0, None, 0)
    build.send(20, 30, 1, 1)
    build.send(40, None, 2)
    build.pull(50, 51, 1, [1])
    assert judge(build).outcome is Outcome.PASS


def reused(build: Build, do: str, bit: int = 1) -> None:
    """m1 is acknowledged at @1, then a fault, then m2 is acknowledged at @1."""
    two_messages(build)
    build.pull(35, 36, 0, [0, 1])
    build.fault(do, "broker-a-0", 40, 41, heal=60, bit=bit)
    build.send(70, 80, 2, 1)
    build.pull(90, 91, 0, [0, 2])


@pytest.mark.parametrize(
    ("do", "bit", "outcome"), [("cut_power", 1, "PASS"), ("kill", 1, "FAIL"), ("cut_power", 0, "FAIL")]
)
def test_an_offset_may_be_used_again_only_after_a_power_cut(do: str, bit: int, outcome: str) -> None:
    build = Build()
    reused(build, do, bit)
    verdict = judge(build)
    assert verdict.outcome.name == outcome
    assert violations(verdict) == ([] if outcome == "PASS" else ["two-values-one-offset"])


def test_what_survived_a_power_cut_must_not_change() -> None:
    build = Build()
    reused(build, "cut_power")
    build.pull(100, 101, 0, [1])
    assert "two-values-one-offset" in violations(judge(build))


def test_what_a_power_cut_took_may_not_come_back() -> None:
    build = Build()
    two_messages(build)
    build.send(32, 33, 2, 2)
    build.fault("cut_power", "broker-a-0", 40, 41, heal=60)
    build.send(70, 80, 3, 1)
    build.pull(90, 91, 0, [0, 3, 2])
    verdict = judge(build)
    assert violations(verdict) == ["resurrected"]
    assert (
        "m2 was cut off with the end of the log, and now it stands at t/broker-a/0 @2 again"
        in verdict.anomalies[0].sentence
    )


def test_another_broker_has_no_new_epoch() -> None:
    build = Build()
    build.fault("cut_power", "broker-a-0", 40, 41, heal=60)
    build.send(0, 10, 0, 0, queue=2)
    build.send(70, 80, 1, 0, queue=2)
    assert violations(judge(build, mode="multi-master")) == ["two-values-one-offset"]


def test_an_unknown_send_may_survive_a_power_cut() -> None:
    build = Build()
    build.send(0, None, 0)
    build.fault("cut_power", "broker-a-0", 40, 41, heal=60)
    build.send(70, 80, 1, 1)
    build.pull(90, 91, 0, [0, 1])
    assert judge(build).outcome is Outcome.PASS


def late_pull(build: Build, at: int) -> None:
    build.send(0, 10, 0, 0)
    build.pull(at, at + 1, 0, [])
    build.pull(at + 10, at + 11, 0, [0])


def test_a_reader_may_lag_a_little_and_it_is_measured() -> None:
    build = Build()
    late_pull(build, 210)
    verdict = judge(build)
    assert verdict.outcome is Outcome.PASS
    assert (verdict.measures["stale_answers"], verdict.measures["stale_max_ms"]) == (1, 200)
    assert [(a.kind, a.allowed) for a in verdict.anomalies] == [("stale", True)]


def test_a_reader_that_lags_longer_than_the_contract_allows_fails() -> None:
    build = Build()
    late_pull(build, 6_000)
    assert violations(judge(build)) == ["stale"]


def stored_and_late(build: Build, *, seen_at: int | None = None, acknowledged_at: int | None = None) -> Build:
    """m0 is answered FLUSH_SLAVE_TIMEOUT; at 20 s, past the bound from there, the queue is still said to be empty."""
    build.send(0, 10, 0, 0, status="FLUSH_SLAVE_TIMEOUT")
    if seen_at is not None:
        build.pull(seen_at, seen_at + 1, 0, [0])
    if acknowledged_at is not None:
        build.send(acknowledged_at, acknowledged_at + 1, 1, 1)
    build.pull(20_000, 20_001, 0, [])
    build.pull(20_010, 20_011, 0, [0])
    return build


@pytest.mark.parametrize(
    ("mode", "known", "found"),
    [
        ("controller", {}, []),
        ("controller", {"seen_at": 9_000}, ["stale"]),
        ("controller", {"acknowledged_at": 9_000}, ["stale"]),
        ("controller", {"acknowledged_at": 18_000}, []),
        ("multi-master-multi-slave-sync", {}, ["stale"]),
    ],
)
def test_what_promised_nothing_is_due_where_controllers_elect_once_it_was_seen_or_one_behind_it_acknowledged(
    mode: str, known: dict[str, int], found: list[str]
) -> None:
    assert violations(judge(stored_and_late(Build(), **known), mode=mode)) == found


def test_a_pause_excuses_a_late_reader() -> None:
    build = Build()
    late_pull(build, 6_000)
    build.fault("pause", "broker-a-0", 20, 21, heal=5_900)
    assert judge(build).outcome is Outcome.PASS


def test_nothing_read_is_unknown() -> None:
    build = Build()
    two_messages(build)
    assert judge(build).outcome is Outcome.UNKNOWN


def test_trimmed_offsets_are_not_read_again() -> None:
    build = Build()
    two_messages(build)
    build.op("pull", 40, 41, "PULL_OFFSET_MOVED", queue=0, offset=0, count=0, node="broker-a-0", detail="next 1")
    assert judge_with_read(build, 1).outcome is Outcome.PASS
    assert violations(judge_with_read(build, 0)) == ["read-of-trimmed"]


def judge_with_read(build: Build, at: int) -> Verdict:
    build.pull(50, 51, at, [at])
    return judge(build)


def test_a_slave_is_not_judged_here() -> None:
    build = Build()
    two_messages(build)
    build.pull(40, 41, 0, [0, 1])
    build.pull(60, 61, 0, [9], node="broker-a-1")
    assert judge(build).outcome is Outcome.PASS


def retried(second_queue: int) -> Build:
    """Message 0: a try to queue 0 with unknown end, then one to *second_queue*, unknown as well."""
    build = Build()
    build.send(0, None, 0)
    build.send(20, None, 0, queue=second_queue)
    return build


@pytest.mark.parametrize("queue", [0, 2])
def test_a_message_whose_tries_are_all_unknown_may_stand_where_any_of_them_went(queue: int) -> None:
    build = retried(2)
    build.pull(40, 41, 0, [0], queue=queue)
    assert judge(build).outcome is Outcome.PASS


def test_both_tries_may_have_been_stored() -> None:
    build = retried(2)
    build.pull(40, 41, 0, [0], queue=2)
    build.pull(40, 41, 0, [0], queue=0)
    assert judge(build).outcome is Outcome.PASS


def test_a_queue_that_no_try_went_to_is_still_wrong() -> None:
    build = retried(2)
    build.pull(40, 41, 0, [0], queue=1)
    assert violations(judge(build)) == ["wrong-queue"]


def test_a_try_that_was_read_before_it_began_is_no_excuse() -> None:
    build = Build()
    build.send(0, None, 0)
    build.pull(10, 11, 0, [0], queue=2)
    build.send(20, None, 0, queue=2)
    assert violations(judge(build))
