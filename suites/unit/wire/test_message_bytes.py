"""Records, batches, properties and ids: round trips, limits, and what damaged bytes do."""

from __future__ import annotations

import contextlib
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.wire.frame import LocalWireError, RemoteWireError
from reference_impl.wire.message import (
    MAGIC_BLANK,
    MAGIC_V1,
    MAGIC_V2,
    BatchEntry,
    Message,
    UniqueKeys,
    append_properties,
    body_crc,
    decode_batch,
    decode_record,
    decode_records,
    encode_batch,
    encode_record,
    java_string_hash,
    offset_message_id,
    parse_message_id,
    parse_properties,
    properties_text,
)

_int64 = st.integers(-(2**63), 2**63 - 1)
_int32 = st.integers(-(2**31), 2**31 - 1)
_clean = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x01\x02"), min_size=1, max_size=12)
_hosts = st.builds(
    lambda ip, port: f"[{ip}]:{port}" if ":" in str(ip) else f"{ip}:{port}",
    st.ip_addresses(),
    st.integers(0, 65535),
)
_messages = st.builds(
    Message,
    topic=_clean,
    queue_id=_int32,
    body=st.binary(max_size=80),
    properties=st.dictionaries(_clean, _clean, max_size=4).map(properties_text),
    flag=_int32,
    sys_flag=st.integers(0, 0xF),
    queue_offset=_int64,
    physical_offset=_int64,
    born_timestamp=_int64,
    born_host=_hosts,
    store_timestamp=_int64,
    store_host=_hosts,
    reconsume_times=_int32,
    prepared_transaction_offset=_int64,
    magic=st.sampled_from([MAGIC_V1, MAGIC_V2]),
)


@given(_messages)
def test_any_record_comes_back(message: Message) -> None:
    record = encode_record(message)
    read = decode_record(record)
    assert (read.size, read.body_crc) == (len(record), body_crc(message.body))
    assert encode_record(read) == record
    read.size, read.body_crc, read.sys_flag = message.size, message.body_crc, read.sys_flag & 0xF
    assert read == message


@given(st.lists(_messages, max_size=4))
def test_records_behind_each_other_come_back(messages: list[Message]) -> None:
    data = b"".join(map(encode_record, messages))
    assert b"".join(map(encode_record, decode_records(data))) == data


@given(_messages, st.data())
def test_a_damaged_record_is_read_or_refused_never_worse(message: Message, data: st.DataObject) -> None:
    record = bytearray(encode_record(message))
    at = data.draw(st.integers(0, len(record) - 1))
    record[at] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(RemoteWireError):
        decode_records(bytes(record))


@given(_messages, st.integers(1, 60))
def test_a_record_cut_off_is_refused(message: Message, missing: int) -> None:
    with pytest.raises(RemoteWireError):
        decode_record(encode_record(message)[:-missing])


def test_a_record_is_read_at_its_place() -> None:
    record = encode_record(Message(topic="T", queue_id=1, body=b"x"))
    assert decode_record(b"junk" + record + b"junk", 4).body == b"x"


def test_zeros_where_properties_should_be_are_a_good_record() -> None:
    """The CRC covers the body only: RocketMQ takes a torn tail for a message, and so must whoever reads its log."""
    record = encode_record(Message(topic="T", queue_id=1, body=b"x", properties="KEYS\x01k1"))
    torn = record[:-7] + bytes(7)
    assert decode_record(torn).crc_matches()
    assert decode_record(torn).property_map() == {}


@pytest.mark.parametrize("magic", [0, MAGIC_BLANK, 1])
def test_other_magics_begin_no_record(magic: int) -> None:
    record = bytearray(encode_record(Message(topic="T", queue_id=1)))
    record[4:8] = magic.to_bytes(4, "big", signed=True)
    with pytest.raises(RemoteWireError):
        decode_record(bytes(record))


@pytest.mark.parametrize(
    "message",
    [
        Message(topic="t" * 256, queue_id=0),
        Message(topic="t", queue_id=0, properties="x" * 32768),
        Message(topic="t", queue_id=1 << 31),
        Message(topic="t", queue_id=0, store_host="broker-a:10911"),
        Message(topic="t", queue_id=0, store_host="10.0.0.1"),
    ],
)
def test_what_no_record_holds_is_our_fault(message: Message) -> None:
    with pytest.raises(LocalWireError):
        encode_record(message)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("TAGS\x01TagA", {"TAGS": "TagA"}),
        ("TAGS\x01TagA\x02", {"TAGS": "TagA"}),
        ("KEYS\x01k1\x02TAGS\x01TagA", {"KEYS": "k1", "TAGS": "TagA"}),
        ("KEYS\x01\x02\x01v\x02junk\x02TAGS\x01TagA", {"TAGS": "TagA"}),
        ("A\x011\x02A\x012", {"A": "2"}),
    ],
)
def test_properties_are_read_as_java_reads_them(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


def test_properties_are_written_with_and_without_a_trailing_separator() -> None:
    properties = {"KEYS": "k1", "empty": "", "TAGS": "TagA"}
    assert properties_text(properties) == "KEYS\x01k1\x02TAGS\x01TagA"
    assert properties_text(properties, trailing=True) == "KEYS\x01k1\x02TAGS\x01TagA\x02"
    assert properties_text({}, trailing=True) == ""


@given(st.dictionaries(_clean, _clean, max_size=5), st.booleans())
def test_any_properties_come_back(properties: dict[str, str], trailing: bool) -> None:
    assert parse_properties(properties_text(properties, trailing=trailing)) == properties


@pytest.mark.parametrize(
    ("text", "more", "expected"),
    [
        ("a\x011", "b\x012", "a\x011\x02b\x012"),
        ("a\x011\x02", "b\x012", "a\x011\x02b\x012"),
        ("", "b", "b"),
        ("a", "", "a"),
    ],
)
def test_properties_are_joined_by_one_separator(text: str, more: str, expected: str) -> None:
    assert append_properties(text, more) == expected


_entries = st.builds(BatchEntry, st.binary(max_size=40), st.dictionaries(_clean, _clean).map(properties_text), _int32)


@given(st.lists(_entries, max_size=5))
def test_any_batch_comes_back(entries: list[BatchEntry]) -> None:
    assert decode_batch(encode_batch(entries)) == entries


def test_a_batch_entry_byte_for_byte() -> None:
    expected = "0000001f 00000000 00000000 00000007 00000002 6869 0007 54414753015461"
    assert encode_batch([BatchEntry(b"hi", "TAGS\x01Ta", 7)]) == bytes.fromhex(expected)


@given(st.binary(max_size=100))
def test_random_batches_are_only_ever_a_remote_error(data: bytes) -> None:
    with contextlib.suppress(RemoteWireError):
        decode_batch(data)


@pytest.mark.parametrize(
    "text", ["", "xyz", "0A", "0A00000100002A9F00000000000010", "0a 00000100002A9F0000000000001000"]
)
def test_texts_that_are_no_message_id(text: str) -> None:
    with pytest.raises(RemoteWireError):
        parse_message_id(text)


@given(_hosts, st.integers(0, 2**63 - 1))
def test_any_message_id_comes_back(host: str, offset: int) -> None:
    text = offset_message_id(host, offset)
    assert text == text.upper()
    assert parse_message_id(text) == (host, offset)


@given(st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=30))
def test_java_hash_is_the_recurrence_over_characters(text: str) -> None:
    value = 0
    for character in text:
        value = (31 * value + ord(character)) % 2**32
    assert java_string_hash(text) % 2**32 == value
    assert -(2**31) <= java_string_hash(text) < 2**31


def test_unique_keys_are_reproducible_and_unique() -> None:
    def ids(seed: int) -> list[str]:
        keys = UniqueKeys("10.0.0.9", Random(seed))
        return [keys.make(1_700_000_000_000 + k // 100) for k in range(5000)]

    assert ids(1) == ids(1)
    assert len({*ids(1), *ids(2)}) == 10_000
    assert all(len(key) == 32 and key.startswith("0A000009") for key in ids(1))


@pytest.mark.parametrize(
    ("wall_ms", "milliseconds"),
    [
        (1_698_796_800_000, 0),  # 2023-11-01T00:00:00Z
        (1_698_796_800_001, 1),
        (1_701_388_799_999, 30 * 86_400_000 - 1),  # the last of November
        (1_703_980_800_000, 30 * 86_400_000),  # 2023-12-31T00:00:00Z
    ],
)
def test_unique_keys_count_from_the_first_of_the_month(wall_ms: int, milliseconds: int) -> None:
    keys = UniqueKeys("10.0.0.9", Random(0))
    keys.make(0)
    assert int(keys.make(wall_ms)[20:28], 16) == milliseconds


def test_unique_keys_of_version_6_hosts_have_56_characters() -> None:
    assert len(UniqueKeys("fe80::1", Random(0)).make(0)) == 56
