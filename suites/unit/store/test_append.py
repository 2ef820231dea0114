"""What a put writes: records, blanks, numbers, and what it refuses (probes P01 to P09)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.store import PutStatus
from reference_impl.store.properties import java_order, single_message_properties
from reference_impl.wire.message import BatchEntry, decode_record, encode_batch
from suites.unit.store.world import World, body_of

FILE = 8192
OVERHEAD = 91 + len("T") + len("CLUSTER\x01C")
"""Record size of an empty body under topic T of cluster C."""


def world(**properties: str) -> World:
    return World(properties).start()


# --- P01: bytes ------------------------------------------------------------------------------------------------------


def test_p01_record_and_unit_of_the_specification() -> None:
    w = World({"storeHost": "10.0.0.1:10911"})
    w.wall_step_ms = 123
    w.start()
    result = w.send(
        "hello",
        "TopicTest",
        3,
        properties="KEYS\x01k1\x02TAGS\x01TagA",
        is_internal=True,
        born_timestamp=1_700_000_000_000,
        born_host="127.0.0.1:40000",
    )
    w.run(0.002)
    assert w.content("commitlog/00000000000000000000")[:122].hex(" ", -4) == bytes.fromhex(
        "0000007a daa320a7 3610a686 00000003 00000000 0000000000000000 0000000000000000 00000000"
        "0000018bcfe56800 7f00000100009c40 0000018bcfe5687b 0a00000100002a9f 00000000 0000000000000000"
        "00000005 68656c6c6f 09 546f70696354657374 0011 4b455953016b3102544147530154616741"
    ).hex(" ", -4)
    assert w.content("consumequeue/TopicTest/3/00000000000000000000")[:20] == bytes.fromhex(
        "0000000000000000 0000007a 000000000027a807"
    )
    assert (result.physical_offset, result.queue_offset, result.end_offset) == (0, 0, 122)


# --- P02, P06: file ends ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left_after", "next_place", "blank"),
    [
        (9, None, None),
        (8, None, None),
        (7, FILE, FILE - 200),
        (0, FILE, FILE - 200),
        (-1, FILE, FILE - 200),
    ],
    ids=["leaves-9", "leaves-exactly-8", "leaves-7", "fits-exactly", "one-too-long"],
)
def test_p02_a_record_needs_eight_bytes_behind_it(left_after: int, next_place: int | None, blank: int | None) -> None:
    w = world()
    w.send_ok("a" * (FILE - 200 - OVERHEAD))
    assert w.store.log_end == FILE - 200
    result = w.send("b" * (200 - left_after - OVERHEAD))
    assert result.physical_offset == (next_place if next_place is not None else FILE - 200)
    if blank is not None:
        assert w.content(f"commitlog/{0:020d}")[blank : blank + 8] == bytes.fromhex("000000c8 cbd43194")


def test_p02_the_eight_bytes_are_filled_by_the_next_blank() -> None:
    w = world()
    w.send_ok("a" * (FILE - 8 - OVERHEAD), "b")
    assert w.content(f"commitlog/{0:020d}")[-8:] == bytes.fromhex("00000008 cbd43194")
    assert w.bodies()[1] == "b"
    assert w.store.view(w.env, FILE) is not None


def test_p06_a_batch_moves_as_a_whole() -> None:
    w = world()
    w.send_ok("a" * (FILE - 400 - OVERHEAD))
    batch = encode_batch([BatchEntry(bytes(100)) for _ in range(3)])
    result = w.send(batch, is_batch=True)
    size = OVERHEAD + 100
    assert result.physical_offsets == (FILE, FILE + size, FILE + 2 * size)
    assert result.queue_offset == 1
    assert w.run(0.002).store.max_offset("T", 0) == 4


def test_the_next_file_is_there_before_it_is_needed_and_no_further_one_after_a_restart() -> None:
    w = world()
    assert [n for n in w.names() if n.startswith("commitlog/")] == []
    w.send_ok("a")
    assert [n for n in w.names() if n.startswith("commitlog/")] == [f"commitlog/{0:020d}", f"commitlog/{FILE:020d}"]
    w.stop()
    assert [n for n in w.names() if n.startswith("commitlog/")] == [f"commitlog/{0:020d}"]
    w.start().send_ok("b")
    assert [n for n in w.names() if n.startswith("commitlog/")] == [f"commitlog/{0:020d}"]


# --- P03 to P05: limits ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"body": bytes(1000)}, PutStatus.PUT_OK),
        ({"body": bytes(1001)}, PutStatus.MESSAGE_ILLEGAL),
        ({"body": b""}, PutStatus.PUT_OK),
        ({"topic": "t" * 127}, PutStatus.PUT_OK),
        ({"topic": "t" * 128}, PutStatus.MESSAGE_ILLEGAL),
        ({"properties": "K\x01" + "v" * (32767 - 12)}, PutStatus.PUT_OK),
        ({"properties": "K\x01" + "v" * (32767 - 11)}, PutStatus.PROPERTIES_SIZE_EXCEEDED),
        ({"properties": "DELAY\x01soon"}, PutStatus.UNKNOWN_ERROR),
        ({"body": encode_batch([BatchEntry(b"1")]), "is_batch": True}, PutStatus.PUT_OK),
        ({"body": b"no batch", "is_batch": True}, PutStatus.UNKNOWN_ERROR),
        ({"body": b"", "is_batch": True}, PutStatus.UNKNOWN_ERROR),
    ],
)
def test_p03_p04_p05_limits(fields: dict, status: PutStatus) -> None:
    w = world(maxMessageSize="1000", mappedFileSizeCommitLog="65536")
    result = w.send(**{"body": b"x", **fields})
    assert result.status is status
    assert (w.store.log_end > 0) == status.is_stored == bool(result.physical_offsets)
    assert status.is_stored or result.remark


def test_p05_the_limit_counts_the_stored_text() -> None:
    """32757 bytes of client text and CLUSTER of a one-byte name are 32767."""
    w = world(mappedFileSizeCommitLog="65536")
    assert w.send(properties="K\x01" + "v" * 32755).status is PutStatus.PUT_OK
    assert w.send(properties="K\x01" + "v" * 32756).status is PutStatus.PROPERTIES_SIZE_EXCEEDED


def test_a_message_that_fits_into_no_file_is_refused() -> None:
    w = world()
    assert w.send("a" * (FILE - 7 - OVERHEAD)).status is PutStatus.MESSAGE_ILLEGAL
    assert w.send("a" * (FILE - 8 - OVERHEAD)).status is PutStatus.PUT_OK


# --- P07: batches and delay ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [{"properties": "DELAY\x011"}, {"sys_flag": 4}, {"sys_flag": 8}])
def test_p07_a_batch_is_neither_delayed_nor_transactional(fields: dict) -> None:
    result = world().send(encode_batch([BatchEntry(b"1")]), is_batch=True, **fields)
    assert result.status is PutStatus.MESSAGE_ILLEGAL


def test_p07_a_delay_inside_a_batch_is_not_looked_at() -> None:
    w = world()
    w.send(encode_batch([BatchEntry(b"1", "DELAY\x013")]), is_batch=True)
    w.run(0.002)
    assert w.bodies() == ["1"]
    assert b"DELAY\x013" in w.get().records[0]


def test_batch_records_have_their_own_text_then_the_requests() -> None:
    w = world()
    w.send(
        encode_batch([BatchEntry(b"1", "UNIQ_KEY\x01u1"), BatchEntry(b"2", "", 7)]),
        is_batch=True,
        properties="WAIT\x01true\x02a\x01b",
    )
    first, second = [decode_record(data) for data in w.run(0.002).get().records]
    assert first.properties == "UNIQ_KEY\x01u1\x02" + second.properties
    assert set(second.property_map()) == {"CLUSTER", "WAIT", "a"}
    assert second.flag == 7


@pytest.mark.parametrize(
    ("level", "stored", "queue"), [("1", "1", 0), ("3", "3", 2), ("18", "18", 17), ("99", "18", 17)]
)
def test_a_delayed_message_goes_to_the_schedule_topic(level: str, stored: str, queue: int) -> None:
    w = world(mappedFileSizeConsumeQueue="2000")
    w.send("late", "T", 5, properties=f"DELAY\x01{level}\x02WAIT\x01true")
    record = decode_record(w.run(0.002).get(0, "SCHEDULE_TOPIC_XXXX", queue).records[0])
    properties = record.property_map()
    assert (properties["REAL_TOPIC"], properties["REAL_QID"], properties["DELAY"]) == ("T", "5", stored)
    assert properties["WAIT"] == "true"
    assert w.store.max_offset("T", 5) == 0
    due = w.store._queues.of("SCHEDULE_TOPIC_XXXX", queue).units(w.env, 0, 1)[0][2]
    assert due == record.store_timestamp + w.store.delay_levels.delay_ms(queue + 1)


@pytest.mark.parametrize("level", ["0", "-1"])
def test_levels_that_are_none(level: str) -> None:
    w = world()
    w.send("now", properties=f"DELAY\x01{level}")
    assert w.run(0.002).bodies() == ["now"]


def test_an_internal_message_is_delayed_only_if_it_says_so() -> None:
    """The delivered copy of a delayed message still carries DELAY in its text."""
    w = world()
    w.send("delivered", properties="DELAY\x011", is_internal=True)
    w.send("again", properties="a\x01b", is_internal=True, delay_level=1)
    w.run(0.002)
    assert w.bodies() == ["delivered"]
    assert w.bodies("SCHEDULE_TOPIC_XXXX") == ["again"]
    assert b"CLUSTER" not in w.get().records[0]


# --- P08, P09: numbers and properties --------------------------------------------------------------------------------


def test_p08_numbers_are_dense_and_places_rise_in_the_same_order() -> None:
    w = world()
    results = [w.send(f"m{i}", queue_id=i % 3) for i in range(60)]
    assert [r.queue_offset for r in results] == [i // 3 for i in range(60)]
    places = [r.physical_offset for r in results]
    assert places == sorted(set(places))
    assert [r.store_timestamp for r in results] == sorted(r.store_timestamp for r in results)


@pytest.mark.parametrize("sys_flag", [4, 12])
def test_prepared_and_rolled_back_messages_have_no_number_and_are_in_no_queue(sys_flag: int) -> None:
    w = world()
    w.send_ok("a")
    assert w.send("half", sys_flag=sys_flag).queue_offset == 0
    assert w.send("b").queue_offset == 1
    assert w.run(0.002).bodies() == ["a", "b"]


@pytest.mark.parametrize("wait", ["true", "false"])
def test_p09_wait_is_not_stored_and_cluster_is(wait: str) -> None:
    w = world()
    w.send("x", properties=f"WAIT\x01{wait}\x02a\x01b")
    assert decode_record(w.run(0.002).get().records[0]).property_map() == {"a": "b", "CLUSTER": "C"}


@pytest.mark.parametrize(
    ("names", "order"),
    [
        # Orders that a Java HashMap printed: captured records, see the golden stores.
        ("UNIQ_KEY TAGS KEYS CLUSTER", "KEYS UNIQ_KEY CLUSTER TAGS"),
        ("UNIQ_KEY note CLUSTER", "note UNIQ_KEY CLUSTER"),
        ("UNIQ_KEY DELAY TAGS CLUSTER REAL_TOPIC REAL_QID", "REAL_TOPIC UNIQ_KEY CLUSTER DELAY TAGS REAL_QID"),
        # "Aa" and "BB" have one hash: within a bucket the order of insertion counts.
        ("BB Aa", "BB Aa"),
        ("Aa BB", "Aa BB"),
    ],
)
def test_properties_are_stored_in_the_order_of_a_java_map(names: str, order: str) -> None:
    assert java_order(tuple(names.split())) == tuple(order.split())


def test_the_thirteenth_name_doubles_the_map() -> None:
    """'q' and 'a' share a bucket of sixteen, not of thirty-two."""
    assert java_order(tuple("qabcdefghijk")) == tuple("qabcdefghijk")
    assert java_order(tuple("qabcdefghijkl")) == tuple("abcdefghijklq")


@given(st.dictionaries(st.text("abcXYZ_09ż🙂", min_size=1), st.text("xyz1", min_size=1), max_size=30))
def test_no_property_is_lost_or_changed(properties: dict[str, str]) -> None:
    text = "\x02".join(f"{name}\x01{value}" for name, value in properties.items())
    stored, known = single_message_properties(text, "C")
    read = dict(pair.split("\x01") for pair in stored.split("\x02"))
    assert read == {**properties, "CLUSTER": "C"} == known


def test_an_ipv6_host_makes_a_longer_record_that_reads_back() -> None:
    w = world(storeHost="[::1]:10911")
    w.send("six", born_host="[fe80::1]:77")
    record = decode_record(w.run(0.002).get().records[0])
    assert (record.born_host, record.store_host, record.body) == ("[fe80::1]:77", "[::1]:10911", b"six")
    assert record.sys_flag == 0x30


# --- the disk says no ------------------------------------------------------------------------------------------------


def test_a_log_file_that_cannot_be_created() -> None:
    w = world()
    w.faults().read_only = True
    assert w.send().status is PutStatus.CREATE_MAPEDFILE_FAILED
    w.faults().read_only = False
    assert w.send().queue_offset == 0


def test_a_write_that_fails_uses_up_neither_number_nor_place() -> None:
    w = world()
    w.send_ok("a")
    w.faults().write_failures = [1]
    assert w.send("lost").status is PutStatus.UNKNOWN_ERROR
    assert w.send("b").queue_offset == 1
    assert w.run(0.002).bodies() == ["a", "b"]
    assert [body_of(r) for r in w.get().records] == [b"a", b"b"]
