"""From the log to the queues: lag, both ways of knowing a record, bytes that cannot be read, queues that cannot be
written, and the hooks of replication."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.environment import MS
from reference_impl.store import PutStatus
from reference_impl.store.consume_queue import FILLER
from reference_impl.store.waiting import combined
from reference_impl.wire.message import tags_code
from suites.unit.store.world import World

FILE = 8192


def world(**properties: str) -> World:
    return World(properties).start()


# --- the lag ---------------------------------------------------------------------------------------------------------


def test_a_message_is_visible_after_the_answer_and_within_a_millisecond() -> None:
    lags = []
    for seed in range(20):
        w = World(seed=seed).start()
        w.put("a")
        assert w.store.max_offset("T", 0) == 0
        start = w.scheduler.now
        assert w.scheduler.run_until(lambda w=w: w.store.max_offset("T", 0) == 1, start + MS)
        lags.append(w.scheduler.now - start)
    assert len(set(lags)) > 10
    assert max(lags) < MS


def test_an_idle_store_does_not_poll() -> None:
    w = world()
    w.send_ok("a")
    w.run(2)
    assert ("store", "reput") not in w.env.timers


def test_what_came_in_the_meantime_is_dispatched_together() -> None:
    w = world()
    for i in range(10):
        w.put(f"m{i}", queue_id=i % 2)
    assert w.env.timers.count(("store", "reput")) == 1
    w.run(0.001)
    assert [w.store.max_offset("T", q) for q in (0, 1)] == [5, 5]


def test_arrivals_are_told_once_each_when_they_can_be_read() -> None:
    w = world()
    told: list[tuple[str, int, int, int]] = []

    def arrived(env: Any, topic: str, queue_id: int, next_offset: int, code: int) -> None:
        assert w.get(next_offset - 1, topic, queue_id).records
        told.append((topic, queue_id, next_offset, code))

    w.store.on_arrived = arrived
    w.put("a", properties="TAGS\x01x")
    w.put("b", queue_id=1)
    w.put("half", sys_flag=4)
    assert not told
    w.run(0.01)
    assert told == [("T", 0, 1, tags_code("x")), ("T", 1, 1, 0)]


def test_a_slave_tells_no_arrivals() -> None:
    master, slave = world(), World({"brokerRole": "SLAVE"}).start()
    told: list[Any] = []
    slave.store.on_arrived = lambda *arguments: told.append(arguments)
    master.send_ok("a")
    slave.store.append_raw(slave.env, 0, master.store.read_raw(master.env, 0, 1000))
    assert slave.run(0.01).bodies() == ["a"]
    assert not told


# --- two ways of knowing a record ------------------------------------------------------------------------------------


def files_of(w: World, prefix: str) -> dict[str, bytes]:
    return {name: w.content(name) for name in w.names() if name.startswith(prefix)}


def test_reading_the_log_makes_the_same_queues_as_remembering_the_puts() -> None:
    w = world(mappedFileSizeConsumeQueue="2000")
    for i in range(80):
        w.put(
            f"m{i}" * (i % 40 + 1),
            topic=f"T{i % 3}",
            queue_id=i % 2,
            properties=f"TAGS\x01t{i % 5}\x02KEYS\x01k{i} all" + ("\x02DELAY\x012" if i % 7 == 0 else ""),
            sys_flag=(0, 0, 8, 4, 12)[i % 5],
        )
        w.run(0.0003)
    w.run(0.01)
    remembered = files_of(w, "consumequeue")
    w.kill()
    for name in remembered:
        w.disk.delete(f"store/{name}")
    w.start()
    assert len(remembered) >= 6
    assert files_of(w, "consumequeue") == remembered


# --- bytes that cannot be read ---------------------------------------------------------------------------------------


def slave_of(w: World, size: int = 1000, **properties: str) -> World:
    """A slave that has got everything of a master, in pieces that cut records."""
    slave = World({"brokerRole": "SLAVE", **properties}).start()
    feed(slave, w, size)
    return slave


def feed(slave: World, w: World, size: int = 1000) -> None:
    while slave.store.log_end < w.store.log_end:
        data = w.store.read_raw(w.env, slave.store.log_end, size)
        assert slave.store.append_raw(slave.env, slave.store.log_end, data)
        slave.run(0.002)


@pytest.mark.parametrize("size", [1, 7, 100, 5000])
def test_a_slave_has_the_masters_bytes_and_queues_however_they_are_cut(size: int) -> None:
    w = world()
    for i in range(30):
        w.send_ok(f"m{i}" * 60, queue_id=i % 2)
    slave = slave_of(w, size)
    assert files_of(slave, "consumequeue") == files_of(w, "consumequeue")
    log = files_of(w, "commitlog")
    assert {name: data for name, data in files_of(slave, "commitlog").items() if name in log} == log


def test_a_half_received_record_waits_and_a_restart_cuts_it_off() -> None:
    w = world()
    w.send_ok("a", "b")
    slave = World({"brokerRole": "SLAVE"}).start()
    slave.store.append_raw(slave.env, 0, w.store.read_raw(w.env, 0, w.store.log_end - 20))
    assert slave.run(0.01).bodies() == ["a"]
    end = slave.store.log_end
    slave.kill().start()
    assert slave.store.log_end < end
    feed(slave, w)
    assert slave.bodies() == ["a", "b"]


def test_a_record_that_lacks_only_property_bytes_is_taken_for_whole_by_a_restart() -> None:
    """The CRC covers the body only: the slave's log then ends *behind* what it has got."""
    w = world()
    w.send_ok("a", "b")
    slave = World({"brokerRole": "SLAVE"}).start()
    slave.store.append_raw(slave.env, 0, w.store.read_raw(w.env, 0, w.store.log_end - 5))
    slave.run(0.01).kill().start()
    assert slave.store.log_end == w.store.log_end
    assert slave.store.read_raw(slave.env, 0, 1000) != w.store.read_raw(w.env, 0, 1000)


def test_a_slave_refuses_bytes_that_do_not_continue_its_log() -> None:
    w = world()
    w.send_ok("a")
    data = w.store.read_raw(w.env, 0, 100)
    slave = slave_of(w)
    end = slave.store.log_end
    for offset in (0, end - 1, end + 1, FILE):
        assert not slave.store.append_raw(slave.env, offset, data)
    assert not slave.store.append_raw(slave.env, end, bytes(FILE))
    assert slave.store.log_end == end


def test_an_empty_slave_begins_at_the_file_start_wherever_the_frame_says() -> None:
    slave = World({"brokerRole": "SLAVE"}).start()
    assert slave.store.append_raw(slave.env, 3 * FILE + 100, b"x" * 10)
    assert (slave.store.log_start, slave.store.log_end) == (3 * FILE, 3 * FILE + 10)


def test_a_running_master_skips_the_rest_of_a_file_that_it_cannot_read() -> None:
    w = world()
    for i in range(10):
        w.put(f"m{i}".ljust(800, "."))
    w.store._dispatcher._known.clear()  # as after a start: the log has to be read
    third = 2 * 901
    w.patch(f"commitlog/{0:020d}", third + 4, bytes(4))
    w.run(0.01)
    assert w.noted("log_unreadable") == [{"offset": third, "skipped_to": FILE}]
    # m9 is in the next file. Its number is 9, the slot it gets is 2: as in RocketMQ.
    assert [b.rstrip(".") for b in w.bodies()] == ["m0", "m1", "m9"]
    assert w.noted("queue_order_wrong") == [{"topic": "T", "queue_id": 0, "queue_offset": 9, "slot": 2}]
    assert not w.store._dispatcher.is_behind


def test_behind_a_gap_of_the_log_units_have_their_own_slots() -> None:
    """A member of a group was given a later beginning of its log: what it lacks was never there."""
    w = world()
    queue = w.store._queues.of("T", 0)
    queue.put(w.env, 0, 10, 0, 0)
    queue.is_behind_gap = True
    far = 2 * queue.files.file_size // 20 + 3
    queue.put(w.env, 9 * FILE, 10, 0, far)
    queue.put(w.env, 9 * FILE + 10, 10, 0, far + 1)
    queue.write_out(w.env)
    assert queue.units(w.env, far, 2) == [(9 * FILE, 10, 0), (9 * FILE + 10, 10, 0)]
    assert (queue.min_offset, queue.max_offset, queue.is_behind_gap) == (far, far + 2, False)
    assert w.noted("queue_order_wrong") == []


def test_a_running_slave_stops_in_front_of_bytes_that_it_cannot_read_and_goes_on_storing() -> None:
    w = world()
    w.send_ok("a")
    slave = slave_of(w)
    end = slave.store.log_end
    assert slave.store.append_raw(slave.env, end, bytes(50))
    slave.run(0.01)
    assert slave.store.append_raw(slave.env, end + 50, bytes(50))
    slave.run(0.01)
    assert (slave.bodies(), slave.store.log_end) == (["a"], end + 100)
    assert slave.store._dispatcher.position == end


def test_a_record_whose_size_contradicts_its_fields_is_skipped_by_its_size() -> None:
    w = world()
    results = [w.put(f"m{i}") for i in range(4)]
    w.store._dispatcher._known.clear()
    place, size = results[1][0].physical_offset, results[2][0].physical_offset - results[1][0].physical_offset
    # One more property byte than there is: the record seems to end inside the next one.
    w.patch(f"commitlog/{0:020d}", place + size - 11, (10).to_bytes(2, "big"))
    w.run(0.01)
    assert w.noted("record_skipped") == [{"offset": place, "size": size}]
    assert w.noted("queue_order_wrong")[0] == {"topic": "T", "queue_id": 0, "queue_offset": 2, "slot": 1}


# --- queues that cannot be written -----------------------------------------------------------------------------------


def test_a_queue_that_cannot_be_written_is_tried_again_every_second() -> None:
    w = world()
    w.send_ok("a")
    w.put("b")
    w.faults().read_only = True
    w.run(3.5)
    assert w.bodies() == ["a"]
    w.faults().read_only = False
    w.run(1)
    assert w.bodies() == ["a", "b"]
    assert w.store.is_writable


def test_after_thirty_tries_the_store_is_read_only_until_its_next_start() -> None:
    w = world()
    w.send_ok("a")
    w.put("b")
    w.faults().read_only = True
    w.run(28.5)
    assert w.store.is_writable
    w.run(2)
    w.faults().read_only = False
    assert w.send("c").status is PutStatus.SERVICE_NOT_AVAILABLE
    assert w.run(5).bodies() == ["a"]
    w.stop()
    assert "abort" in w.names()
    w.start()
    assert w.bodies() == ["a", "b"]
    assert w.store.is_writable


def test_a_queue_that_begins_in_its_middle_is_filled_up() -> None:
    w = world()
    for _ in range(3):
        w.send_ok(*["x" * 700] * 10)
    slave = World({"brokerRole": "SLAVE"}).start()
    data = w.store.read_raw(w.env, FILE, FILE)
    slave.store.append_raw(slave.env, FILE, data)
    slave.run(0.01)
    first = slave.store.min_offset("T", 0)
    assert 0 < first == 10
    assert slave.content(f"consumequeue/T/0/{0:020d}")[: 20 * first] == FILLER * first
    assert slave.get(first).queue_offsets[0] == first
    slave.kill().start()
    assert (slave.store.min_offset("T", 0), slave.get(first).queue_offsets[0]) == (first, first)


def test_a_filler_without_a_unit_behind_it_does_not_block_the_queue() -> None:
    w = world()
    w.send_ok(*["x" * 700] * 25)
    slave = World({"brokerRole": "SLAVE"}).start()
    slave.store.append_raw(slave.env, FILE, w.store.read_raw(w.env, FILE, FILE))
    slave.run(0.01).kill()
    slave.patch(f"consumequeue/T/0/{0:020d}", 200, bytes(200))
    slave.start()
    assert slave.get(10).queue_offsets[0] == 10


# --- gates -----------------------------------------------------------------------------------------------------------


def test_a_slave_takes_no_messages() -> None:
    slave = World({"brokerRole": "SLAVE"}).start()
    assert slave.send().status is PutStatus.SERVICE_NOT_AVAILABLE


def test_before_its_start_and_after_its_end_a_store_takes_no_messages() -> None:
    w = world()
    w.stop()
    assert w.send().status is PutStatus.SERVICE_NOT_AVAILABLE


OK, DISK, SLAVE, NO_SLAVE = (
    PutStatus.PUT_OK,
    PutStatus.FLUSH_DISK_TIMEOUT,
    PutStatus.FLUSH_SLAVE_TIMEOUT,
    PutStatus.SLAVE_NOT_AVAILABLE,
)


@pytest.mark.parametrize(
    ("flush", "replica", "answer"),
    [(OK, OK, OK), (DISK, OK, DISK), (OK, SLAVE, SLAVE), (DISK, SLAVE, SLAVE), (DISK, NO_SLAVE, NO_SLAVE)],
)
def test_the_replica_status_wins_unless_it_is_ok(flush: PutStatus, replica: PutStatus, answer: PutStatus) -> None:
    assert combined(flush, replica) is answer


@pytest.mark.parametrize("flush_type", ["ASYNC_FLUSH", "SYNC_FLUSH"])
@pytest.mark.parametrize("is_replica_first", [True, False])
def test_the_answer_leaves_when_flush_and_replicas_have_decided(flush_type: str, is_replica_first: bool) -> None:
    w = world(flushDiskType=flush_type, brokerRole="SYNC_MASTER")
    w.run(0.1)
    asked: list[tuple[int, Any]] = []

    def gate(env: Any, end: int, decide: Any) -> None:
        asked.append((end, decide))

    w.store.replica_gate = gate
    results = w.put("a")
    if not is_replica_first:
        w.run(0.1)
    assert not results
    end, decide = asked[0]
    assert end == w.store.log_end
    decide(w.env, PutStatus.FLUSH_SLAVE_TIMEOUT)
    w.run(0.1)
    assert [r.status for r in results] == [PutStatus.FLUSH_SLAVE_TIMEOUT]
    assert w.put("b", properties="WAIT\x01false")[0].status is PutStatus.PUT_OK
    assert len(asked) == 1


def test_a_gate_may_decide_at_once() -> None:
    w = world(brokerRole="SYNC_MASTER")
    w.store.replica_gate = lambda env, end, decide: PutStatus.SLAVE_NOT_AVAILABLE
    assert w.put("a")[0].status is PutStatus.SLAVE_NOT_AVAILABLE
    assert w.run(0.01).bodies() == ["a"]


def test_new_bytes_are_told_with_the_end_of_the_log() -> None:
    w = world()
    told: list[int] = []
    w.store.on_appended = lambda env, end: told.append(end)
    ends = [w.put("a")[0].end_offset, w.put("b" * 100)[0].end_offset]
    assert told == ends == [102, 303]


def test_raw_reads_stay_within_one_file_and_below_the_end() -> None:
    w = world()
    w.send_ok(*["x" * 700] * 12)
    end = w.store.log_end
    assert len(w.store.read_raw(w.env, 100, 10**6)) == FILE - 100
    assert len(w.store.read_raw(w.env, FILE, 10**6)) == end - FILE
    assert w.store.read_raw(w.env, end, 10) == w.store.read_raw(w.env, -1, 10) == b""
    whole = w.store.read_raw(w.env, 0, FILE)
    assert w.store.read_raw(w.env, 50, 20) == whole[50:70]
