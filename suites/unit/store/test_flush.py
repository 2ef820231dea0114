"""When bytes are forced and who waits for it (probes P23 to P29)."""

from __future__ import annotations

import pytest

from reference_impl.environment import MS, SECOND
from reference_impl.store import PutRequest, PutStatus
from suites.unit.store.world import World

LOG = f"store/commitlog/{0:020d}"


def world(flush: str = "SYNC_FLUSH", **properties: str) -> World:
    w = World({"flushDiskType": flush, "mappedFileSizeCommitLog": "65536", **properties}).start()
    w.run(0.05)
    w.syncs.clear()
    return w


def log_syncs(w: World) -> int:
    return sum(file.startswith("store/commitlog/") for file in w.syncs)


# --- SYNC_FLUSH ------------------------------------------------------------------------------------------------------


def test_sync_flush_answers_when_the_force_has_come_back() -> None:
    w = world()
    results = w.put("a")
    assert not results
    assert w.store.flushed_to == 0
    w.run(0.1)
    assert results[0].status is PutStatus.PUT_OK
    assert w.store.flushed_to == w.store.log_end == results[0].end_offset


def test_the_name_of_a_new_file_is_made_durable_with_its_first_record() -> None:
    w = world()
    w.send("a")
    assert w.syncs == [LOG, ""]
    w.run(0.1).syncs.clear()
    w.send("b")
    # A queue file was created by the dispatch in between.
    assert w.syncs == [LOG, ""]
    w.run(0.1).syncs.clear()
    w.send("c")
    assert w.syncs == [LOG]


def test_puts_that_come_during_a_force_share_the_next_one() -> None:
    w = world()
    w.send("first")
    w.run(0.1).syncs.clear()
    results = [w.put(f"m{i}") for i in range(20)]
    w.run(0.1)
    assert all(r[0].status is PutStatus.PUT_OK for r in results)
    assert log_syncs(w) == 2


def test_answers_leave_in_the_order_of_the_log() -> None:
    w = world()
    order: list[int] = []
    for i in range(5):
        request = PutRequest(topic="T", queue_id=0, body=b"%d" % i)
        w.store.put(w.env, request, lambda env, result: order.append(result.queue_offset))
    w.run(0.1)
    assert order == [0, 1, 2, 3, 4]


def test_p23_a_force_that_hangs_ends_in_flush_disk_timeout_and_the_message_stays() -> None:
    w = world()
    w.send("before")
    w.faults().hanging = True
    start = w.scheduler.now
    result = w.send("stuck")
    assert result.status is PutStatus.FLUSH_DISK_TIMEOUT
    assert w.scheduler.now - start == 5 * SECOND
    assert w.run(0.01).bodies() == ["before", "stuck"]
    flushed_before = w.store.flushed_to
    w.release()
    w.run(0.1)
    assert w.store.flushed_to == w.store.log_end > flushed_before
    assert w.send("after").status is PutStatus.PUT_OK


def test_p23_each_put_has_its_own_deadline_and_there_is_one_timer() -> None:
    w = world(syncFlushTimeout="1000")
    w.faults().hanging = True
    first = w.put("a")
    w.run(0.4)
    second = w.put("b")
    assert w.env.timers.count(("store", "flush-deadline")) == 1
    w.run(0.6, ns=MS)
    assert first
    assert not second
    w.run(0.4)
    assert second[0].status is PutStatus.FLUSH_DISK_TIMEOUT


def test_p24_a_failed_force_is_acknowledged_as_apache_does() -> None:
    w = world()
    w.faults().sync_failures = [1]
    result = w.send("a")
    assert result.status is PutStatus.PUT_OK
    assert w.store.flushed_to == result.end_offset
    assert w.noted("force_failed")


def test_p24_strict_flush_never_acknowledges_a_failed_force() -> None:
    w = world(strictFlush="true")
    w.send_ok("durable")
    w.faults().sync_failures = [1]
    first, second = w.put("a"), w.put("b")
    w.run(0.1)
    assert first[0].status is second[0].status is PutStatus.FLUSH_DISK_TIMEOUT
    assert w.send("c").status is PutStatus.SERVICE_NOT_AVAILABLE
    assert not w.store.is_writable
    assert w.noted("read_only")
    # What was not forced never counts, and the next start must look for itself.
    assert w.store.flushed_to == len(w.get().records[0])
    w.stop()
    assert "abort" in w.names()
    w.start()
    assert w.store.is_writable


def test_p25_wait_false_is_answered_at_once_and_forced_at_once() -> None:
    w = world()
    w.faults().hanging = True
    results = w.put("a", properties="WAIT\x01false")
    assert results[0].status is PutStatus.PUT_OK
    assert log_syncs(w) == 1


def test_an_internal_message_waits_as_it_says_whatever_its_text() -> None:
    w = world()
    assert w.put("a", properties="WAIT\x01true", is_internal=True, wait=False)[0].status is PutStatus.PUT_OK
    assert not w.put("b", properties="WAIT\x01false", is_internal=True, wait=True)


def test_p28_a_message_is_readable_before_it_is_flushed() -> None:
    w = world()
    w.faults().hanging = True
    results = w.put("early")
    w.run(0.002)
    assert w.bodies() == ["early"]
    assert not results


def test_a_put_across_a_file_border_takes_two_forces() -> None:
    w = world(mappedFileSizeCommitLog="4096")
    w.send_ok("a" * 3800)
    w.run(0.1).syncs.clear()
    results = w.put("b" * 3000)
    w.run(0.1)
    assert results[0].status is PutStatus.PUT_OK
    assert [f for f in w.syncs if f] == [LOG, f"store/commitlog/{4096:020d}"]


def test_a_put_three_files_ahead_of_the_flush_is_not_confirmed() -> None:
    """RocketMQ forces at most twice for one request. Here the put before does not wait, so nobody forced for it."""
    w = world(mappedFileSizeCommitLog="4096")
    w.send_ok("a" * 3000)
    w.faults().hanging = True
    w.put("b" * 3000, properties="WAIT\x01false")
    w.put("c" * 3000, properties="WAIT\x01false")
    results = w.put("d" * 3000)
    w.release()
    w.run(0.2)
    assert results[0].status is PutStatus.FLUSH_DISK_TIMEOUT
    w.run(0.2)
    assert w.store.flushed_to == w.store.log_end


# --- ASYNC_FLUSH -----------------------------------------------------------------------------------------------------


def flushed_after(w: World, seconds: float) -> bool:
    w.run(seconds)
    return w.store.flushed_to == w.store.log_end


def test_async_flush_answers_at_once() -> None:
    w = world("ASYNC_FLUSH")
    assert w.put("a")[0].status is PutStatus.PUT_OK
    assert not log_syncs(w)


def test_p27_four_dirty_pages_are_forced_within_half_a_second() -> None:
    w = world("ASYNC_FLUSH")
    w.run(1)
    for _ in range(9):
        w.put("x" * 2000)
    assert flushed_after(w, 0.6)


def test_p26_a_small_message_waits_for_the_thorough_flush() -> None:
    w = world("ASYNC_FLUSH")
    w.run(1)  # the first look, half a second after the start, is a thorough one
    w.put("x")
    assert not flushed_after(w, 5)
    assert flushed_after(w, 5.6)


def test_p29_a_clock_set_back_stops_the_thorough_flush() -> None:
    w = world("ASYNC_FLUSH")
    w.run(1)
    w.wall_step_ms -= 3_600_000
    w.put("x")
    assert not flushed_after(w, 300)
    w.wall_step_ms += 3_600_000
    assert flushed_after(w, 1)


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
def test_an_orderly_stop_forces_everything(flush: str) -> None:
    w = world(flush)
    results = [w.put("x" * 5000, queue_id=i % 2) for i in range(40)]
    w.stop()
    assert all(r[0].status is PutStatus.PUT_OK for r in results)
    assert w.store.flushed_to == w.store.log_end
    assert not any(inode.pending for name, inode in w.disk.names.items() if "commitlog" in name or "queue" in name)


def test_no_message_sets_a_timer_of_its_own() -> None:
    w = world("ASYNC_FLUSH")
    for _ in range(100):
        w.put("x")
    assert sorted(map(str, w.env.timers)) == sorted(set(map(str, w.env.timers)))
    assert len(w.env.timers) <= 6


# --- queues and checkpoint -------------------------------------------------------------------------------------------


def checkpoint(w: World) -> tuple[int, int, int]:
    data = w.content("checkpoint")
    physic, logics, index = (int.from_bytes(data[at : at + 8], "big") for at in (0, 8, 16))
    return physic, logics, index


def test_the_checkpoint_file_changes_a_second_after_the_start_and_then_every_minute() -> None:
    w = World({"flushDiskType": "SYNC_FLUSH"}).start()
    w.send_ok("a")
    first_ms = w.env.wall()
    assert checkpoint(w) == (0, 0, 0)
    w.run(1.1)
    assert all(first_ms - 10 <= time <= first_ms for time in checkpoint(w)[:2])
    saved = checkpoint(w)
    w.run(30).send_ok("b")
    w.run(20)
    assert checkpoint(w) == saved
    w.run(15)
    assert checkpoint(w) > saved


def test_queue_units_are_forced_by_page_or_once_a_minute() -> None:
    w = world("ASYNC_FLUSH", mappedFileSizeConsumeQueue="20000")
    w.run(2)
    queue = f"store/consumequeue/T/0/{0:020d}"
    w.send_ok(*["x"] * 100)
    w.syncs.clear()
    assert queue not in w.run(2).syncs
    w.send_ok(*["x"] * 400)
    assert queue in w.run(2).syncs
    w.send_ok("x")
    w.syncs.clear()
    assert queue not in w.run(5).syncs
    assert queue in w.run(60).syncs


def test_the_saved_time_never_vouches_for_a_unit_that_was_not_forced() -> None:
    """Units dispatched while a thorough pass is under way are not covered by it."""
    w = world()
    w.send_ok("a")
    covered_ms = w.env.wall()
    w.run(0.9)
    w.faults().hanging = True
    w.run(0.2)  # the pass has begun
    w.put("b")
    w.run(0.1)
    w.release()
    w.run(0.2)
    assert 0 < checkpoint(w)[1] <= covered_ms
