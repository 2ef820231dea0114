"""What a read of a queue finds: the decision table, batch limits, filters, times, single records."""

from __future__ import annotations

import pytest

from reference_impl.store import GetStatus
from reference_impl.store.mapped_files import MappedFiles
from reference_impl.wire.message import decode_record, tags_code
from suites.unit.store.world import World, body_of

FILE = 8192


def world(**properties: str) -> World:
    return World(properties).start()


def with_messages(count: int, **properties: str) -> World:
    w = world(**properties)
    w.send_ok(*[f"m{i}" for i in range(count)])
    return w


def expired(w: World) -> MappedFiles:
    """Take the oldest log file away, as retention does."""
    log = w.store.log.files
    log.drop_first(w.env)
    return log


# --- the decision table ----------------------------------------------------------------------------------------------

TABLE = [
    # offset, status and next on a master, next on a slave
    (5, GetStatus.FOUND, 10, 10),
    (9, GetStatus.FOUND, 10, 10),
    (10, GetStatus.OFFSET_OVERFLOW_ONE, 10, 10),
    (11, GetStatus.OFFSET_OVERFLOW_BADLY, 10, 11),
    (999, GetStatus.OFFSET_OVERFLOW_BADLY, 10, 999),
    (4, GetStatus.OFFSET_TOO_SMALL, 5, 4),
    (0, GetStatus.OFFSET_TOO_SMALL, 5, 0),
    (-1, GetStatus.OFFSET_TOO_SMALL, 5, -1),
]


@pytest.mark.parametrize(("offset", "status", "on_master", "on_slave"), TABLE)
def test_the_decision_table(offset: int, status: GetStatus, on_master: int, on_slave: int) -> None:
    w = with_messages(10)
    w.store._queues.of("T", 0).min_offset = 5
    result = w.get(offset)
    assert (result.status, result.next_offset, result.min_offset, result.max_offset) == (status, on_master, 5, 10)
    for check, expected in (("false", on_slave), ("true", on_master)):
        w.kill()
        w.config = w.config.from_properties(
            {"mappedFileSizeCommitLog": "8192", "mappedFileSizeConsumeQueue": "400", "brokerRole": "SLAVE"}
            | {"offsetCheckInSlave": check}
        )
        w.start()
        w.store._queues.of("T", 0).min_offset = 5
        assert (w.get(offset).status, w.get(offset).next_offset) == (status, expected)


@pytest.mark.parametrize("offset", [0, 7, -1])
def test_an_unknown_queue_is_an_empty_one(offset: int) -> None:
    result = world().get(offset, "nobody")
    assert (result.status, result.next_offset) == (GetStatus.NO_MESSAGE_IN_QUEUE, 0)


def test_a_queue_file_that_is_gone_leads_to_the_next_one() -> None:
    w = with_messages(50)  # twenty units a file
    queue = w.store._queues.of("T", 0)
    del queue.files.files[1]
    result = w.get(25)
    assert (result.status, result.next_offset) == (GetStatus.OFFSET_FOUND_NULL, 40)


def test_records_that_are_gone_are_skipped_file_by_file() -> None:
    w = world()
    w.send_ok(*["x" * 700] * 12)  # ten in the first file
    expired(w)
    result = w.get(0)
    assert (result.status, len(result.records), result.next_offset) == (GetStatus.FOUND, 2, 12)
    assert result.queue_offsets == (10, 11)


def test_only_records_that_are_gone() -> None:
    w = world(mappedFileSizeConsumeQueue="200")
    w.send_ok(*["x" * 700] * 12)
    expired(w)
    result = w.get(0)
    assert (result.status, result.next_offset) == (GetStatus.MESSAGE_WAS_REMOVING, 10)


# --- batches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "properties", "expected"),
    [
        (5, {}, 5),
        (100, {"mappedFileSizeConsumeQueue": "2000"}, 32),
        (0, {}, 1),
        (100, {"maxTransferCountOnMessageInMemory": "7"}, 7),
        (100, {"maxTransferBytesOnMessageInMemory": "1000"}, 9),  # records of 104 or 105 bytes
        (100, {"maxTransferBytesOnMessageInMemory": "50"}, 1),
        (100, {"accessMessageInMemoryMaxRatio": "0"}, 8),
        (100, {"accessMessageInMemoryMaxRatio": "0", "maxTransferBytesOnMessageInDisk": "300"}, 2),
        (100, {"maxTransferCountOnMessageInMemory": "90", "mappedFileSizeConsumeQueue": "1000"}, 50),
    ],
    ids=[
        "wanted",
        "32-in-memory",
        "at-least-one",
        "count",
        "bytes",
        "first-always",
        "8-on-disk",
        "disk-bytes",
        "cq-file",
    ],
)
def test_where_a_batch_ends(wanted: int, properties: dict[str, str], expected: int) -> None:
    w = with_messages(60, **properties)
    result = w.get(0, count=wanted)
    assert (len(result.records), result.next_offset) == (expected, expected)
    assert w.get(expected, count=wanted).queue_offsets[0] == expected


def test_far_behind_is_a_matter_of_distance_from_the_end() -> None:
    w = with_messages(60, totalPhysicalMemorySize="5000")
    assert (len(w.get(0).records), w.get(0).suggest_slave) == (8, True)
    assert (len(w.get(50).records), w.get(50).suggest_slave) == (10, False)
    assert w.store.is_in_disk(w.env, "T", 0, 0)
    assert not w.store.is_in_disk(w.env, "T", 0, 59)
    assert not w.store.is_in_disk(w.env, "nobody", 0, 0)


def test_a_filter_reads_up_to_eight_hundred_units() -> None:
    w = world(mappedFileSizeConsumeQueue="40000", mappedFileSizeCommitLog="1048576")
    w.send_ok(*["x"] * 900)
    w.send("tagged", properties="TAGS\x01TagA")
    w.run(0.01)
    codes = frozenset({tags_code("TagA")})
    first = w.get(0, tag_codes=codes)
    assert (first.status, first.next_offset) == (GetStatus.NO_MATCHED_MESSAGE, 800)
    second = w.get(800, tag_codes=codes)
    assert [body_of(r) for r in second.records] == [b"tagged"]
    assert second.next_offset == 901


def test_a_filter_passes_over_what_does_not_match() -> None:
    w = world()
    for i in range(9):
        w.send(f"m{i}", properties=f"TAGS\x01{'ABC'[i % 3]}")
    w.run(0.01)
    codes = frozenset({tags_code("A"), tags_code("C")})
    result = w.get(0, tag_codes=codes)
    assert [body_of(r) for r in result.records] == [b"m0", b"m2", b"m3", b"m5", b"m6", b"m8"]
    assert (result.queue_offsets, result.next_offset) == ((0, 2, 3, 5, 6, 8), 9)


def test_a_stopped_store_is_not_readable() -> None:
    w = with_messages(1).stop()
    assert w.store.get(w.env, "T", 0, 0, 1) is None


# --- one record ------------------------------------------------------------------------------------------------------


def test_view_finds_exactly_the_starts_of_records() -> None:
    w = with_messages(20)
    starts = {r.physical_offset for r in map(decode_record, w.get(0).records)}
    for place in range(w.store.log_end + 200):
        data = w.store.view(w.env, place)
        assert (data is not None) == (place in starts), place


def test_view_of_offset_zero_is_the_oldest_record() -> None:
    w = world()
    w.send_ok(*["x" * 700] * 12)
    oldest = w.store.view(w.env, FILE)
    expired(w)
    assert w.store.view(w.env, 0) == oldest
    assert w.store.view(w.env, 1) is None


# --- times -----------------------------------------------------------------------------------------------------------


def test_offset_by_time_is_the_nearest_message() -> None:
    w = world()
    times = []
    for i in range(10):
        times.append(w.send(f"m{i}").store_timestamp)
        w.run(1)
    by_time = lambda ms: w.store.offset_by_time(w.env, "T", 0, ms)  # noqa: E731
    assert [by_time(time) for time in times] == list(range(10))
    assert [by_time(time + 400) for time in times] == list(range(10))
    assert [by_time(time + 600) for time in times[:-1]] == list(range(1, 10))
    assert by_time(times[3] + (times[4] - times[3]) // 2) == 3
    assert (by_time(0), by_time(times[9] + 10**9)) == (0, 9)
    assert w.store.offset_by_time(w.env, "nobody", 0, 5) == 0
    assert w.store.earliest_timestamp(w.env, "T", 0) == times[0]
    assert w.store.earliest_timestamp(w.env, "nobody", 0) == -1


def test_offset_by_time_passes_over_records_that_are_gone() -> None:
    w = world(mappedFileSizeConsumeQueue="2000")
    for _ in range(12):
        w.send_ok("x" * 700)
        w.run(1)
    log = expired(w)
    assert w.store.offset_by_time(w.env, "T", 0, 0) == 10
    w.store._queues.of("T", 0).correct_min_offset(w.env, log.start)
    assert w.store.offset_by_time(w.env, "T", 0, 0) == 10 == w.store.min_offset("T", 0)


# --- by key ----------------------------------------------------------------------------------------------------------


def bodies_by_key(w: World, key: str, topic: str = "T", count: int = 32, begin: int = 0, end: int = 2**60) -> list[str]:
    return [body_of(r).decode() for r in w.store.query(w.env, topic, key, count, begin, end).records]


def test_unique_key_and_every_word_of_keys_are_found() -> None:
    w = world()
    w.send("a", properties="UNIQ_KEY\x01u1\x02KEYS\x01red blue  green")
    w.send("b", properties="KEYS\x01blue")
    w.send("c")
    w.send("half", sys_flag=4, properties="UNIQ_KEY\x01u2")
    w.send("rolled back", sys_flag=12, properties="UNIQ_KEY\x01u3")
    w.run(0.01)
    assert bodies_by_key(w, "u1") == bodies_by_key(w, "red") == bodies_by_key(w, "green") == ["a"]
    assert bodies_by_key(w, "blue") == ["a", "b"]
    assert bodies_by_key(w, "u2") == ["half"]
    assert bodies_by_key(w, "u3") == bodies_by_key(w, "") == bodies_by_key(w, "u1", "other") == []


def test_index_files_roll_and_are_searched_newest_first() -> None:
    w = world(maxIndexNum="20")
    for i in range(70):
        w.send(f"m{i}", properties=f"UNIQ_KEY\x01u{i}\x02KEYS\x01all")
        w.run(0.5)
    assert len(w.store._index.files) == 8
    for i in range(70):
        assert bodies_by_key(w, f"u{i}") == [f"m{i}"]
    assert bodies_by_key(w, "all", count=5) == [f"m{i}" for i in range(65, 70)]
    assert len(bodies_by_key(w, "all", count=1000)) == 64
    w.stop().start()
    assert bodies_by_key(w, "u3") == ["m3"]
    assert bodies_by_key(w, "all", count=5) == [f"m{i}" for i in range(65, 70)]


def test_after_a_kill_full_index_files_stay_and_the_last_is_built_again() -> None:
    w = world(maxIndexNum="20")
    for i in range(50):
        w.send(f"m{i}", properties=f"UNIQ_KEY\x01u{i}")
        w.run(0.5)
    before = [file.name for file in w.store._index.files]
    w.kill().start()
    after = [file.name for file in w.store._index.files]
    assert before[:-1] == after[: len(before) - 1]
    assert before[-1] not in after
    # The last record of a file that stayed is entered once more, as in RocketMQ.
    assert [set(bodies_by_key(w, f"u{i}")) for i in range(50)] == [{f"m{i}"} for i in range(50)]


def test_an_index_with_more_entries_than_wait_in_memory() -> None:
    w = world(maxIndexNum="20000", maxHashSlotNum="7", mappedFileSizeCommitLog="1048576")
    for i in range(5000):
        w.put(f"{i}", properties=f"UNIQ_KEY\x01u{i}")
    w.run(0.01)
    assert [bodies_by_key(w, f"u{i}") for i in (0, 4000, 4999)] == [["0"], ["4000"], ["4999"]]


def test_an_index_is_optional() -> None:
    w = world(messageIndexEnable="false")
    w.send("a", properties="UNIQ_KEY\x01u")
    w.run(0.01)
    assert bodies_by_key(w, "u") == []
    assert not [n for n in w.names() if n.startswith("index")]
