"""Which queue comes next, and how long a broker is rested: RocketMQ's two tables, row by row."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.client.avoidance import TABLE_4_9, TABLE_5, FaultTable, LatencyFaults, Rotation, choose_queue
from reference_impl.client.model import MessageQueue

QUEUES = tuple(MessageQueue("T", broker, number) for broker in ("a", "b", "c") for number in range(2))


def rotation(queues: tuple[MessageQueue, ...] = QUEUES, seed: int = 0) -> Rotation:
    return Rotation(queues, Random(seed))


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        (TABLE_4_9, [(0, 0), (549, 0), (550, 30), (999, 30), (1000, 60), (2000, 120), (3000, 180), (15_000, 600)]),
        (TABLE_5, [(0, 0), (549, 0), (550, 2), (1799, 2), (1800, 5), (3000, 6), (5000, 10), (15_000, 30)]),
    ],
)
def test_rest_by_latency(table: FaultTable, rows: list[tuple[int, int]]) -> None:
    assert [(latency, table.rest_ms(latency) // 1000) for latency, _ in rows] == rows


@pytest.mark.parametrize(("table", "rest_ms"), [(TABLE_4_9, 600_000), (TABLE_5, 10_000)])
def test_a_failure_counts_as_a_very_slow_answer(table: FaultTable, rest_ms: int) -> None:
    faults = LatencyFaults(table, Random(0))
    faults.record("a", 3, 1000, failed=True)
    assert not faults.available("a", 1000 + rest_ms - 1)
    assert faults.available("a", 1000 + rest_ms)
    faults.record("a", 3, 2000, failed=False)
    assert faults.available("a", 2000)


def test_the_rotation_uses_every_queue_in_turn() -> None:
    turn = rotation()
    first = [turn.next() for _ in QUEUES]
    assert sorted(first) == sorted(QUEUES)
    assert [turn.next() for _ in QUEUES] == first


def test_a_retry_goes_elsewhere_and_to_the_same_broker_only_if_there_is_no_other() -> None:
    turn = rotation()
    assert all(turn.next_elsewhere("a").broker_name != "a" for _ in range(20))
    alone = rotation(QUEUES[:2])
    assert {alone.next_elsewhere("a").queue_id for _ in range(4)} == {0, 1}


def test_without_the_strategy_a_first_attempt_takes_the_plain_next() -> None:
    turn, plain = rotation(seed=5), rotation(seed=5)
    assert [choose_queue(turn, None, None, 0, "4.9.7") for _ in range(12)] == [plain.next() for _ in range(12)]


@pytest.mark.parametrize("release", ["4.9.7", "5.3.3"])
def test_a_rested_broker_gets_nothing(release: str) -> None:
    faults = LatencyFaults(TABLE_4_9, Random(0))
    faults.record("b", 0, 0, failed=True)
    turn = rotation()
    assert {choose_queue(turn, faults, None, 1, release).broker_name for _ in range(30)} == {"a", "c"}


def test_4_9_gives_up_avoiding_the_last_broker_while_the_strategy_is_on() -> None:
    faults = LatencyFaults(TABLE_4_9, Random(0))
    turn = rotation()
    assert "a" in {choose_queue(turn, faults, "a", 0, "4.9.7").broker_name for _ in range(6)}


def test_5_keeps_both_rules() -> None:
    faults = LatencyFaults(TABLE_5, Random(0))
    faults.record("b", 0, 0, failed=True)
    turn = rotation()
    assert {choose_queue(turn, faults, "a", 1, "5.3.3").broker_name for _ in range(50)} == {"c"}


def test_5_begins_its_turn_anywhere_before_a_retry_and_4_9_goes_on() -> None:
    def follows(release: str, last_broker: str | None) -> int:
        """How many different queues come right after the same one."""
        turns = [rotation(seed=seed) for seed in range(20)]
        for turn in turns:
            while turn.next() != QUEUES[0]:
                pass
        faults = LatencyFaults(TABLE_5, Random(0))
        return len({choose_queue(turn, faults, last_broker, 0, release) for turn in turns})

    assert follows("5.3.3", None) == follows("4.9.7", "a") == 1
    assert follows("5.3.3", "a") > 1


def test_4_9_with_everything_rested_takes_from_the_better_half() -> None:
    faults = LatencyFaults(TABLE_4_9, Random(0))
    for broker, latency in [("a", 10), ("b", 9000), ("c", 20)]:
        faults.record(broker, latency, 0, failed=True)
    turn = rotation()
    assert {choose_queue(turn, faults, None, 1, "4.9.7").broker_name for _ in range(30)} == {"a"}


def test_4_9_forgets_a_least_bad_broker_that_has_no_queue_any_more() -> None:
    faults = LatencyFaults(TABLE_4_9, Random(0))
    faults.record("gone", 0, 0, failed=True)
    for broker in ("a", "b", "c"):
        faults.record(broker, 9000, 0, failed=True)
    turn = rotation()
    for _ in range(3):
        assert choose_queue(turn, faults, None, 1, "4.9.7") in QUEUES
    assert faults.least_bad(1) != "gone"


def test_5_with_everything_rested_prefers_a_reachable_broker_elsewhere() -> None:
    faults = LatencyFaults(TABLE_5, Random(0))
    faults.record("a", 0, 0, failed=True, reachable=True)
    faults.record("b", 0, 0, failed=True, reachable=False)
    faults.record("c", 0, 0, failed=True, reachable=True)
    turn = rotation()
    assert {choose_queue(turn, faults, "a", 1, "5.3.3").broker_name for _ in range(30)} == {"c"}


@given(st.lists(st.sampled_from(["a", "b", "c"])), st.sampled_from(["4.9.7", "5.3.3"]), st.integers(0, 1000))
def test_there_is_always_a_queue_of_the_route(failures: list[str], release: str, seed: int) -> None:
    faults = LatencyFaults(TABLE_4_9, Random(seed))
    turn, last = rotation(seed=seed), None
    for now_ms, broker in enumerate([*failures, "a"]):
        queue = choose_queue(turn, faults, last, now_ms, release)
        assert queue in QUEUES
        faults.record(broker, 0, now_ms, failed=True, reachable=now_ms % 2 == 0)
        last = queue.broker_name
