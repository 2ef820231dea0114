"""What a start makes of what survived (probes P10 to P21), told as short stories over real file bytes."""

from __future__ import annotations

import msgspec
import pytest

from harness.backends.sim.models import DiskModel
from reference_impl.store import PutStatus, StoreUnloadable
from reference_impl.wire.message import decode_record
from suites.unit.store.world import World

LOG = "commitlog/{:020d}"
FIRST = LOG.format(0)
FILE = 8192


def world(**properties: str) -> World:
    return World(properties).start()


def padded(name: str) -> str:
    """A body that makes a record of 900 bytes; nine of them fill a file."""
    return name.ljust(900 - 91 - len("T") - len("CLUSTER\x01C"), ".")


def filled(count: int, **properties: str) -> World:
    """A store with messages m0, m1 …"""
    w = world(**properties)
    w.send_ok(*[padded(f"m{i}") for i in range(count)])
    return w


def names_of(w: World) -> list[str]:
    """Bodies without padding."""
    return [body.rstrip(".") for body in w.bodies()]


def flip_body_of(w: World, offset: int, queue_id: int = 0) -> None:
    """One bit of the body of a message changes on the platter."""
    record = decode_record(w.get(offset, queue_id=queue_id).records[0])
    place = record.physical_offset
    w.patch(LOG.format(place - place % FILE), place % FILE + 88, bytes([record.body[0] ^ 1]))


# --- several folders -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_the_files_of_a_log_go_round_its_folders_and_are_found_again(end: str) -> None:
    w = filled(30, storePathCommitLog="disk1/log,disk2/log,disk3/log")
    assert w.names("disk1/")[:2] == [f"log/{start:020d}" for start in (0, 3 * FILE)]
    assert w.names("disk2/")[0] == f"log/{FILE:020d}"
    assert w.names("store/commitlog") == []
    getattr(w, end)()
    w.start()
    assert names_of(w) == [f"m{i}" for i in range(30)]
    assert w.send("x").queue_offset == 30


def test_what_lay_in_a_lost_folder_is_passed_over() -> None:
    w = filled(30, storePathCommitLog="disk1/log,disk2/log").stop()
    for name in w.names(""):
        if name.startswith("disk2/"):
            w.disk.delete(name)
    w.start()
    assert names_of(w) == [f"m{i}" for i in (*range(9), *range(18, 27))]


def test_folders_are_gone_round_in_the_order_of_the_alphabet() -> None:
    w = filled(30, storePathCommitLog="c/log,a/log,b/log")
    for folder, number in (("a", 0), ("b", 1), ("c", 2)):
        assert w.names(f"{folder}/")[0] == f"log/{number * FILE:020d}"


def test_a_read_only_folder_is_read_and_gets_no_new_files() -> None:
    w = filled(30, storePathCommitLog="a/log,b/log").stop()
    before = w.names("a/")
    w.config = msgspec.structs.replace(w.config, read_only_commit_log_store_paths="a/log")
    w.start()
    assert names_of(w) == [f"m{i}" for i in range(30)]
    send_more(w, 30, 60)
    assert w.names("a/") == before
    assert names_of(w) == [f"m{i}" for i in range(60)]


def send_more(w: World, begin: int, end: int) -> None:
    w.send_ok(*[padded(f"m{i}") for i in range(begin, end)])


def fill_folder(w: World, folder: str, percent: int) -> None:
    """And wait until that is noticed."""
    w.usages[folder] = (percent, 100)
    w.run(11)


def test_a_full_folder_is_passed_over_until_there_is_room() -> None:
    w = filled(0, storePathCommitLog="a/log,b/log,c/log")
    fill_folder(w, "b/log", 86)
    send_more(w, 0, 60)
    assert w.names("b/") == []
    assert len(w.names("a/")) + len(w.names("c/")) == 8  # six full ones, the seventh, and one made in advance
    fill_folder(w, "b/log", 85)
    send_more(w, 60, 120)
    assert w.names("b/") != []
    w.kill()
    w.start()
    assert names_of(w) == [f"m{i}" for i in range(120)]
    starts = sorted(name.rpartition("/")[2] for name in w.names("") if name[:2] in ("a/", "b/", "c/"))
    assert len(starts) == len(set(starts)), "a file made in advance was left behind"


def test_where_all_folders_are_full_none_is_passed_over() -> None:
    w = filled(0, storePathCommitLog="a/log,b/log")
    for folder in ("a/log", "b/log"):
        fill_folder(w, folder, 89)
    send_more(w, 0, 30)
    assert w.names("a/")
    assert w.names("b/")


# --- stop and kill ---------------------------------------------------------------------------------------------------


def test_p10_an_orderly_stop_and_start_change_nothing() -> None:
    w = filled(12)
    end = w.store.log_end
    w.stop()
    assert "abort" not in w.names()
    assert LOG.format(2 * FILE) not in w.names()
    w.start()
    assert (w.store.log_end, w.store.flushed_to, w.store.max_offset("T", 0)) == (end, end, 12)
    assert w.noted("recovered")[-1] == {"is_clean": True, "scanned_from": 0, "records": 12, "log_end": end}
    assert w.send("x").queue_offset == 12


@pytest.mark.parametrize("dispatched", [True, False])
def test_p11_a_kill_loses_nothing(dispatched: bool) -> None:
    """Not even what was never dispatched: the log is in the page cache, queues are built from it."""
    w = world()
    for i in range(20):
        assert w.put(f"m{i}")[0].status is PutStatus.PUT_OK
    if dispatched:
        w.run(0.01)
    assert w.store.max_offset("T", 0) == (20 if dispatched else 0)
    w.kill()
    assert "abort" in w.names()
    w.start()
    assert w.bodies() == [f"m{i}" for i in range(20)]
    assert w.noted("recovered")[-1]["is_clean"] is False
    assert w.send("x").queue_offset == 20


def test_p20_a_file_created_in_advance_goes_at_the_start_and_comes_with_the_next_roll() -> None:
    w = filled(3).kill()
    assert LOG.format(FILE) in w.names()
    w.start()
    assert LOG.format(FILE) not in w.names()
    w.send_ok(*["x" * 800] * 7)
    assert {LOG.format(FILE), LOG.format(2 * FILE)} <= set(w.names())


def test_a_start_again_is_a_start_again() -> None:
    """Recovery is idempotent: a second abnormal start finds the same."""
    w = filled(25).kill().start()
    first = w.noted("recovered")[-1]
    w.kill().start()
    assert w.noted("recovered")[-1] == first
    assert names_of(w) == [f"m{i}" for i in range(25)]


# --- damage ----------------------------------------------------------------------------------------------------------


def test_p13_a_flipped_body_of_the_last_record_ends_the_log_before_it() -> None:
    w = filled(5)
    flip_body_of(w, 4)
    w.kill().start()
    assert names_of(w) == ["m0", "m1", "m2", "m3"]
    assert w.send("again").queue_offset == 4


def test_p13_a_zeroed_last_byte_is_a_property_and_the_record_stays() -> None:
    w = filled(5)
    w.patch(FIRST, w.store.log_end - 1, b"\0")
    w.kill().start()
    assert len(w.bodies()) == 5
    assert decode_record(w.get(4).records[0]).properties == "CLUSTER\x01\0"


@pytest.mark.parametrize("is_clean", [True, False])
def test_p14_a_flip_in_the_middle_takes_everything_behind_it_of_all_queues(is_clean: bool) -> None:
    w = world()
    for i in range(12):
        w.send_ok(f"m{i}", queue_id=i % 3)
    flip_body_of(w, 2, queue_id=0)  # m6
    (w.stop() if is_clean else w.kill()).start()
    assert [w.bodies(queue_id=q) for q in range(3)] == [["m0", "m3"], ["m1", "m4"], ["m2", "m5"]]


def test_p15_a_flip_in_a_file_that_the_scan_does_not_reach_goes_unnoticed() -> None:
    w = filled(9 * 3)
    w.run(10).send_ok(*[padded("n")] * 9 * 2)
    w.run(60)  # the checkpoint now vouches for the first three files
    flip_body_of(w, 3)
    w.kill().start()
    assert w.noted("recovered")[-1]["scanned_from"] > 0
    assert len(w.bodies()) == 9 * 5


@pytest.mark.parametrize(("file_index", "is_cut"), [(1, False), (2, True)], ids=["fourth-last", "third-last"])
def test_a_clean_start_scans_the_last_three_files(file_index: int, is_cut: bool) -> None:
    w = filled(9 * 4 + 5)  # five files
    w.stop().start()
    flip_body_of(w, 9 * file_index + 2)
    w.stop().start()
    assert len(w.bodies()) == (9 * file_index + 2 if is_cut else 9 * 4 + 5)


def test_p16_a_flipped_topic_byte_moves_the_record_to_another_topic() -> None:
    w = filled(3)
    record = decode_record(w.get(2).records[0])
    at = record.physical_offset + 88 + len(record.body) + 1
    w.patch(FIRST, at, b"U")
    for name in [n for n in w.names() if n.startswith("consumequeue")]:
        w.disk.delete(f"store/{name}")
    w.kill().start()
    assert len(w.bodies()) == 2
    # The number on the record is 2, in an empty queue: units before it are fillers.
    assert w.store.max_offset("U", 0) == 3
    assert w.get(2, "U").records


@pytest.mark.parametrize("byte", [b"\0", b"/"])
@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_record_whose_topic_can_be_no_folder_does_not_end_the_log(byte: bytes, how: str) -> None:
    """Such names are refused at the door; a store of Apache's broker may hold them (a group with a slash)."""
    w = filled(6)
    end = w.store.log_end
    record = decode_record(w.get(3).records[0])
    (w.kill if how == "kill" else w.stop)()
    w.patch(FIRST, record.physical_offset + 88 + len(record.body) + 1, byte)
    for file in w.disk.files("store/consumequeue/"):
        w.disk.delete(file)
    w.start().run(1)
    assert w.store.log_end == end
    assert names_of(w) == ["m0", "m1", "m2", "m4", "m5"]
    assert w.store.view(w.env, record.physical_offset) is not None
    assert w.noted("record_without_queue")


def test_p21_stale_records_come_back_behind_a_shorter_tail() -> None:
    """RocketMQ leaves the bytes behind the cut and never compares a record's offset with its place."""
    w = filled(9)
    flip_body_of(w, 4)
    w.kill().start()
    assert names_of(w) == ["m0", "m1", "m2", "m3"]
    w.send_ok(padded("n4"))
    w.kill().start()
    assert names_of(w) == ["m0", "m1", "m2", "m3", "n4", "m5", "m6", "m7", "m8"]
    assert w.send("x").queue_offset == 9


@pytest.mark.parametrize("is_cleaned", [False, True])
def test_stale_units_come_back_as_well(is_cleaned: bool) -> None:
    """A queue that lost its tail keeps the units behind its end. Once the log has grown past them they are valid again,
    and name whatever is there now, here messages of another queue."""
    w = World({"cleanTruncatedTail": str(is_cleaned).lower()}).start()
    w.send_ok("m0", queue_id=0)
    w.send_ok("m1", "m2", "m3", queue_id=1)
    flip_body_of(w, 1, queue_id=1)
    w.kill().start()
    assert (w.bodies(queue_id=0), w.bodies(queue_id=1)) == (["m0"], ["m1"])
    w.send_ok("n2", "n3")
    w.kill().start()
    assert w.bodies(queue_id=0) == ["m0", "n2", "n3"]
    assert w.bodies(queue_id=1) == (["m1"] if is_cleaned else ["m1", "n2", "n3"])
    assert w.send("x", queue_id=1).queue_offset == (1 if is_cleaned else 3)


def test_clean_truncated_tail_forgets_stale_records() -> None:
    """P21 with the property set."""
    w = filled(9, cleanTruncatedTail="true")
    flip_body_of(w, 4)
    w.kill().start()
    w.send_ok(padded("n4"))
    w.kill().start()
    assert names_of(w) == ["m0", "m1", "m2", "m3", "n4"]


def test_the_dirty_tail_is_left_in_place() -> None:
    w = filled(5)
    flip_body_of(w, 2)
    before = w.content(FIRST)
    w.kill().start()
    assert w.store.log_end == 2 * 900
    assert w.content(FIRST) == before


# --- missing and strange files ---------------------------------------------------------------------------------------


def delete(w: World, prefix: str) -> None:
    for name in [n for n in w.names() if n.startswith(prefix)]:
        w.disk.delete(f"store/{name}")


@pytest.mark.parametrize("is_clean", [True, False])
def test_p17_queues_that_are_gone_are_built_again(is_clean: bool) -> None:
    w = filled(30)
    w.stop() if is_clean else w.kill()
    delete(w, "consumequeue")
    delete(w, "checkpoint")
    w.start()
    assert names_of(w) == [f"m{i}" for i in range(30)]
    assert w.send("x").queue_offset == 30


def test_queues_that_are_behind_are_caught_up_at_a_clean_start() -> None:
    """From the largest position that any queue knows: units missing below it stay missing (RocketMQ, too)."""
    w = filled(30)
    w.stop()
    last = max(n for n in w.names() if n.startswith("consumequeue"))
    w.patch(last, 0, bytes(400))
    w.start()
    assert w.store.max_offset("T", 0) == 30
    assert names_of(w) == [f"m{i}" for i in range(30)]


@pytest.mark.parametrize("lost", [8, 16])
def test_a_torn_unit_that_looks_good_is_built_again(lost: int) -> None:
    """A power cut keeps sectors, not units: of unit 7 the offset is gone, and its size perhaps still there."""
    w = filled(12).kill()
    w.patch(f"consumequeue/T/0/{0:020d}", 7 * 20, bytes(lost))
    w.start()
    assert names_of(w) == [f"m{i}" for i in range(12)]
    assert w.send("x").queue_offset == 12


def test_queues_that_are_ahead_of_the_log_are_cut() -> None:
    w = filled(30).kill()
    for start in (2 * FILE, 3 * FILE, 4 * FILE):
        delete(w, LOG.format(start))
    w.start()
    assert w.store.max_offset("T", 0) == 18 == len(w.bodies())
    assert w.send("x").queue_offset == 18


@pytest.mark.parametrize("is_clean", [True, False])
def test_p18_a_log_without_files_destroys_the_queues(is_clean: bool) -> None:
    w = filled(30)
    w.stop() if is_clean else w.kill()
    delete(w, "commitlog")
    w.start()
    assert w.store.max_offset("T", 0) == 0
    assert w.send("x").queue_offset == 0
    assert w.run(0.01).bodies() == ["x"]


@pytest.mark.parametrize("size", [0, 100, FILE + 1])
def test_p19_a_log_file_of_a_wrong_size_refuses_the_start(size: int) -> None:
    w = filled(12).kill()
    w.disk.truncate(f"store/{LOG.format(FILE)}", size)
    with pytest.raises(StoreUnloadable, match=f"{FILE:020d} has {size} bytes, {FILE} expected") as raised:
        w.start()
    assert raised.value.code == 253


def test_a_queue_file_of_a_wrong_size_refuses_the_start() -> None:
    w = filled(3).kill()
    w.disk.truncate(f"store/consumequeue/T/0/{0:020d}", 20)
    with pytest.raises(StoreUnloadable, match="20 bytes, 400 expected"):
        w.start()


def test_other_files_in_the_folders_are_none_of_ours() -> None:
    w = filled(3).kill()
    w.disk.write("store/commitlog/notes.txt", 0, b"x")
    w.disk.write("store/consumequeue/README", 0, b"x")
    assert names_of(w.start()) == ["m0", "m1", "m2"]


@pytest.mark.parametrize("content", [b"", b"\0" * 4096], ids=["missing", "zeros"])
def test_without_a_checkpoint_the_scan_begins_with_the_first_file(content: bytes) -> None:
    w = filled(40)
    w.run(65).kill()
    delete(w, "checkpoint")
    if content:
        w.disk.write("store/checkpoint", 0, content)
    assert w.start().noted("recovered")[-1]["scanned_from"] == 0


def test_the_scan_begins_with_the_newest_file_that_is_older_than_the_checkpoint() -> None:
    """Three seconds older: RocketMQ's margin."""
    w = world()
    starts = []
    for _ in range(6):
        starts.append(w.env.wall())
        w.send_ok(*["x" * 798] * 9)
        w.run(10)
    for time_ms, file_index in ((starts[4] + 3000, 4), (starts[4] + 2999, 3)):
        w.kill()
        w.patch("checkpoint", 0, time_ms.to_bytes(8, "big") * 2)
        w.start()
        assert w.noted("recovered")[-1]["scanned_from"] == file_index * FILE


def test_message_index_safe_takes_the_index_time_into_account() -> None:
    w = world(messageIndexSafe="true")
    for _ in range(3):
        w.send_ok(*["x" * 798] * 9)
        w.run(61)
    w.kill().start()
    assert w.noted("recovered")[-1]["scanned_from"] == 0  # the index time is 0: no index file is full yet


def test_abort_stays_where_dispatch_could_not_catch_up() -> None:
    w = world()
    w.send_ok("a")
    w.put("b")
    w.faults().read_only = True
    w.run(2)
    w.stop()
    assert "abort" in w.names()


def test_what_recovery_accepted_is_forced_before_anything_is_acknowledged() -> None:
    w = World({"flushDiskType": "SYNC_FLUSH"}).start()
    w.faults().hanging = True
    w.put("in the page cache only")
    w.run(0.01).kill()
    w.release().faults().hanging = True
    w.start()
    assert w.bodies() == ["in the page cache only"]
    results = w.put("b", properties="a\x01b")
    w.run(0.1)
    assert (results, w.store.flushed_to) == ([], 0)
    w.release().run(0.2)
    assert results[0].status is PutStatus.PUT_OK
    w.cut_power().start()
    assert w.bodies() == ["in the page cache only", "b"]


def test_count_recovered_as_flushed_is_the_real_brokers_gap() -> None:
    """A kill, a start, and a power cut within half a minute: the message was there and is lost."""
    drop_all = DiskModel(writeback_age_ns=None, journal_age_ns=None, power_cut_weights=(("drop-all", 1),))
    w = World({"countRecoveredAsFlushed": "true"}, model=drop_all).start()
    w.run(1)
    w.send_ok("acknowledged long ago")
    w.run(2).kill().start()
    assert w.store.flushed_to == w.store.log_end
    w.run(20).cut_power().start()
    assert w.bodies() == []


# --- planted bugs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_clean", [True, False])
def test_skip_last_record_loses_the_last_message_at_every_start(is_clean: bool) -> None:
    w = World(defects=("skip-last-record",)).start()
    w.send_ok("a", "b", "c")
    (w.stop() if is_clean else w.kill()).start()
    assert w.bodies() == ["a", "b"]
    assert w.send("d").queue_offset == 2


@pytest.mark.parametrize("is_clean", [True, False])
def test_reuse_offset_gives_the_number_of_the_last_message_again(is_clean: bool) -> None:
    w = World(defects=("reuse-offset",)).start()
    w.send_ok("a", "b")
    (w.stop() if is_clean else w.kill()).start()
    assert [w.send(body).queue_offset for body in "cd"] == [1, 2]
    assert w.run(0.01).bodies() == ["a", "b", "d"]
