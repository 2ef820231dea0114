"""Who may hold a queue, told by a model: the last client that was granted it, for 60 s since its last call."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reference_impl.broker.locks import LOCK_LIFE_MS, QueueLocks


def test_a_silent_holder_loses_its_lock_after_more_than_a_minute() -> None:
    locks = QueueLocks()
    assert locks.lock(0, "G", "A", ["q"]) == ["q"]
    assert locks.lock(LOCK_LIFE_MS, "G", "B", ["q"]) == []
    assert locks.lock(LOCK_LIFE_MS, "G", "A", ["q"]) == ["q"]
    assert locks.lock(LOCK_LIFE_MS + 1, "G", "B", ["q"]) == []
    assert locks.lock(2 * LOCK_LIFE_MS + 1, "G", "B", ["q"]) == ["q"]


def test_only_the_holder_unlocks() -> None:
    locks = QueueLocks()
    locks.lock(0, "G", "A", ["q"])
    locks.unlock("G", "B", ["q"])
    locks.unlock("G", "A", ["other"])
    assert locks.lock(1, "G", "B", ["q"]) == []
    locks.unlock("G", "A", ["q"])
    assert locks.lock(1, "G", "B", ["q"]) == ["q"]


def test_groups_do_not_hinder_each_other() -> None:
    locks = QueueLocks()
    assert locks.lock(0, "G", "A", ["q"]) == locks.lock(0, "H", "B", ["q"]) == ["q"]


@given(st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from("xy"), st.integers(0, 40_000), st.booleans())))
def test_two_clients_never_hold_a_queue_within_the_life_of_a_lock(steps: list[tuple[str, str, int, bool]]) -> None:
    locks, now_ms = QueueLocks(), 0
    holders: dict[str, tuple[str, int]] = {}
    for client, queue, pause_ms, is_lock in steps:
        now_ms += pause_ms
        holder, since_ms = holders.get(queue, ("", -LOCK_LIFE_MS - 1))
        if is_lock:
            free = holder in ("", client) or now_ms - since_ms > LOCK_LIFE_MS
            assert locks.lock(now_ms, "G", client, [queue]) == ([queue] if free else [])
            holders |= {queue: (client, now_ms)} if free else {}
        else:
            locks.unlock("G", client, [queue])
            holders |= {queue: ("", 0)} if holder == client else {}
