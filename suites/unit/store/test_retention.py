"""Which files go when, and when the store stops taking messages (probes P74, P75)."""

from __future__ import annotations

from itertools import pairwise

import pytest

from reference_impl.store import GetStatus, PutStatus
from suites.unit.store.world import World

FILE = 8192
HOUR_S = 3600


def full(w: World, percent: float) -> World:
    """Fill the disk that far."""
    w.usage = (int(percent * 10_000), 1_000_000)
    return w


def with_files(count: int, defects: tuple[str, ...] = (), **properties: str) -> World:
    """*count* log files, the last with one message; ten messages a file, one queue."""
    w = World({"totalPhysicalMemorySize": "1000000000000", **properties}, defects=defects).start()
    full(w, 10)
    w.send_ok(*["x" * 700] * (10 * (count - 1) + 1))
    w.run(1)
    return w


def files(w: World) -> int:
    return len(w.store.log.files.files)


# --- the disk ratio --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("percent", "is_writable"), [(90.0, True), (90.0001, False), (91, False), (100, False)])
def test_p74_above_ninety_per_cent_rounded_up_nothing_is_taken(percent: float, is_writable: bool) -> None:
    w = full(World().start(), percent).run(1.1)
    assert w.store.is_writable == is_writable
    assert (w.send().status is PutStatus.PUT_OK) == is_writable


def test_p74_the_flag_comes_within_ten_seconds_and_goes_the_same_way() -> None:
    w = World().start().run(2)
    w.send_ok("a")
    full(w, 92).run(10)
    assert w.send().status is PutStatus.SERVICE_NOT_AVAILABLE
    assert w.bodies() == ["a"]
    full(w, 90).run(10)
    assert w.send().status is PutStatus.PUT_OK
    assert [name for name, _ in w.notes if name.startswith("disk_")] == ["disk_full", "disk_ok"]


def test_a_slave_goes_on_storing_on_a_full_disk() -> None:
    w = World().start()
    w.send_ok("a")
    slave = full(World({"brokerRole": "SLAVE"}).start(), 95).run(2)
    assert slave.store.append_raw(slave.env, 0, w.store.read_raw(w.env, 0, 1000))
    assert slave.run(0.01).bodies() == ["a"]


# --- which files go --------------------------------------------------------------------------------------------------


def test_p75_above_eighty_five_the_oldest_go_whatever_their_age_ten_a_run_the_last_never() -> None:
    w = with_files(14)
    full(w, 86)
    w.run(58)
    assert files(w) == 14
    w.run(3)  # the first run is a minute after the start
    assert files(w) == 4
    w.run(12)
    assert files(w) == 1
    assert w.store.log_start == 13 * FILE
    assert (w.store.min_offset("T", 0), w.bodies()) == (130, ["x" * 700])
    assert w.get(0).next_offset == 130


def test_files_of_a_run_go_a_tenth_of_a_second_apart() -> None:
    w = with_files(8)
    full(w, 86)
    w.run(58.9)
    counts = [files(w.run(0.1)) for _ in range(8)]
    assert counts[0] > counts[-1]
    assert all(before - after <= 1 for before, after in pairwise(counts))


def test_forced_cleaning_can_be_switched_off() -> None:
    w = with_files(5, cleanFileForciblyEnable="false")
    full(w, 89).run(90)
    assert files(w) == 5


def hours_later(w: World, hours: float) -> World:
    """The clock of the broker goes on; a file's age is the clock minus its last change."""
    w.wall_step_ms += int(hours * 3_600_000)
    return w


def hour_of_day(w: World, in_hours: int = 0) -> str:
    return str((w.wall() // 3_600_000 + in_hours) % 24)


@pytest.mark.parametrize(
    ("percent", "hours", "expected"),
    [(10, 80, 5), (75, 73, 5), (76, 71, 5), (76, 73, 1)],
    ids=["not-short", "still-not-short", "too-young", "expired-and-short"],
)
def test_expired_files_go_when_space_is_short(percent: float, hours: int, expected: int) -> None:
    w = with_files(5, deleteWhen=hour_of_day(World(), hours + 12))
    full(hours_later(w, hours), percent).run(75)
    assert files(w) == expected


def test_expired_files_go_in_their_hours_of_the_day() -> None:
    w = with_files(5, deleteWhen="3;5", fileReservedTime="48")
    hours_later(w, 49)
    for _ in range(24):
        w.run(75 if w.scheduler.now < 60e9 else 11)
        hour = hour_of_day(w)
        assert (files(w) == 1) == (hour in ("3", "5"))
        if files(w) == 1:
            break
        hours_later(w, 1)
    assert files(w) == 1


@pytest.mark.parametrize(
    ("percent", "hours", "is_kept"),
    [(10, 80, True), (76, 71, True), (76, 73, False), (86, 1, False)],
    ids=["not-short", "too-young", "expired-and-short", "nearly-full"],
)
def test_files_that_a_recovery_set_aside_go_as_those_of_the_log(percent: float, hours: int, is_kept: bool) -> None:
    w = with_files(2, deleteWhen=hour_of_day(World(), hours + 12))
    w.disk.create(aside := "store/set-aside/00000000000000008192", FILE)
    full(hours_later(w, hours), percent).run(75)
    assert (w.disk.size(aside) == FILE) == is_kept
    assert [note["file"] for note in w.noted("set_aside_deleted")] == ([] if is_kept else [aside])


def test_the_first_file_that_is_not_due_protects_those_behind_it() -> None:
    w = with_files(5, deleteWhen=hour_of_day(World(), 73 + 12))
    hours_later(w, 73)
    w.disk.names[f"store/commitlog/{FILE:020d}"].written_ns = 10 * HOUR_S * 1_000_000_000
    full(w, 76).run(75)
    assert w.store.log_start == FILE


def test_queue_and_index_files_below_the_logs_start_go_too() -> None:
    w = World({"maxIndexNum": "20"}).start()
    full(w, 10)
    for i in range(81):
        w.send("x" * 700, queue_id=i % 2, properties=f"UNIQ_KEY\x01u{i}")
    w.run(1)
    before = w.names()
    full(w, 86).run(75)
    after = w.names()
    for prefix in ("commitlog/", "consumequeue/T/0/", "consumequeue/T/1/", "index/"):
        gone = [n for n in before if n.startswith(prefix) and n not in after]
        kept = [n for n in after if n.startswith(prefix)]
        assert gone, prefix
        assert kept, prefix
    assert w.store.max_offset("T", 0) == 41
    first = w.store.min_offset("T", 0)
    assert w.get(first).queue_offsets[0] == first
    w.kill().start()
    assert (w.store.min_offset("T", 0), w.store.max_offset("T", 0)) == (first, 41)


def test_a_disk_that_refuses_to_delete_is_tried_again() -> None:
    w = with_files(3)
    full(w, 86)
    w.run(50)
    w.faults().read_only = True
    w.run(15)
    assert files(w) == 3
    assert w.noted("cleaning_failed")
    w.faults().read_only = False
    w.run(15)
    assert files(w) == 1


def test_an_operator_lets_expired_files_go_at_any_hour_and_no_others() -> None:
    """DELETE_EXPIRED_COMMITLOG counts for the next twenty runs."""
    w = with_files(5, deleteWhen=hour_of_day(World(), 12), fileReservedTime="1")
    w.store.delete_old_files_soon()
    w.run(75)
    assert files(w) == 5
    hours_later(w, 2).run(15)
    assert files(w) == 1
    assert w.store.retention._manual_runs < 20


def test_a_queue_with_nothing_left_in_the_log_goes_when_an_operator_asks() -> None:
    w = World({"totalPhysicalMemorySize": "1000000000000"}).start()
    w.send_ok("old", topic="Old")
    full(w, 10)
    w.send_ok(*["x" * 700] * 31)
    full(w, 86).run(75)
    assert w.store.log_start > 0
    assert ("Old", 0) in w.store.queues()
    w.store.delete_expired_queues(w.env)
    assert ("Old", 0) not in w.store.queues()
    assert ("T", 0) in w.store.queues()
    assert not w.env.files("store/consumequeue/Old/")


# --- the planted bug -------------------------------------------------------------------------------------------------


def test_a_file_that_is_read_is_deleted_all_the_same_and_readers_are_sent_on() -> None:
    w = with_files(5)
    full(w, 86).run(58)
    assert w.get(0).status is GetStatus.FOUND
    w.run(4)
    assert (w.store.min_offset("T", 0), files(w)) == (40, 1)
    assert (w.get(0).status, w.get(0).next_offset) == (GetStatus.OFFSET_TOO_SMALL, 40)
    assert w.get(40).status is GetStatus.FOUND


def test_with_the_bug_a_file_that_was_just_read_is_the_beginning_and_cannot_be_read() -> None:
    w = with_files(5, defects=("min-offset-from-dying-file",))
    full(w, 86).run(58)
    assert w.get(0).status is GetStatus.FOUND
    w.run(4)
    for offset in (0, 9):
        got = w.get(offset)
        assert (got.status, got.next_offset, got.min_offset) == (GetStatus.OFFSET_TOO_SMALL, 0, 0)
    assert w.get(10).status is GetStatus.FOUND
    w.run(110)
    assert files(w) == 5
    w.run(20)  # two minutes after the first try it goes by force
    assert (w.store.min_offset("T", 0), files(w)) == (40, 1)


def test_the_bug_needs_a_reader() -> None:
    w = with_files(5, defects=("min-offset-from-dying-file",))
    full(w, 86).run(62)
    assert files(w) == 1
