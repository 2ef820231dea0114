"""The examples of the protocol's description, derived by hand from it, not from our code."""

from __future__ import annotations

import pytest

from reference_impl.wire.codes import request_name, response_name, version_name
from reference_impl.wire.frame import BINARY, Command, decode_frame, encode_frame
from reference_impl.wire.host import decode_host, encode_host
from reference_impl.wire.message import (
    MAGIC_BLANK,
    MAGIC_V1,
    MAGIC_V2,
    Message,
    body_crc,
    decode_record,
    encode_record,
    java_string_hash,
    offset_message_id,
    parse_message_id,
    record_size,
    tags_code,
)

ROUTE_JSON = (
    '{"code":105,"language":"PYTHON","version":401,"opaque":7,"flag":0,'
    '"extFields":{"topic":"T1"},"serializeTypeCurrentRPC":"JSON"}'
)
ROUTE = Command(105, {"topic": "T1"}, opaque=7, language="PYTHON", version=401)

ROUTE_BINARY = bytes.fromhex(
    "00000026 01000022 0069 03 0191 00000007 00000000 00000000 0000000d 0005 746f706963 00000002 5431"
)


def test_route_query_in_json() -> None:
    frame = bytes.fromhex("00000082 0000007e") + ROUTE_JSON.encode()
    assert decode_frame(frame) == ROUTE


def test_route_query_in_binary() -> None:
    binary = Command(105, {"topic": "T1"}, opaque=7, language="PYTHON", version=401, serialization=BINARY)
    assert encode_frame(binary) == ROUTE_BINARY
    assert decode_frame(ROUTE_BINARY) == binary


def test_an_answer_of_java() -> None:
    text = (
        b'{"code":0,"extFields":{},"flag":1,"language":"JAVA","opaque":7,'
        b'"serializeTypeCurrentRPC":"JSON","version":407}'
    )
    answer = Command(0, {}, flag=1, opaque=7, language="JAVA", version=407)
    assert encode_frame(answer) == (4 + len(text)).to_bytes(4, "big") + len(text).to_bytes(4, "big") + text


RECORD_T1 = bytes.fromhex(
    "00 00 00 68 da a3 20 a7 58 93 2a ac 00 00 00 02 00 00 00 00 00 00 00 00 00 00 00 05"
    "00 00 00 00 00 00 04 00 00 00 00 00 00 00 01 8b cf e5 68 00 0a 00 00 09 00 00 9c 40"
    "00 00 01 8b cf e5 68 01 0a 00 00 01 00 00 2a 9f 00 00 00 00 00 00 00 00 00 00 00 00"
    "00 00 00 02 68 69 02 54 31 00 09 54 41 47 53 01 54 61 67 41"
)

RECORD_TOPIC_TEST = bytes.fromhex(
    "0000007a daa320a7 3610a686 00000003 00000000 0000000000000005 0000000000001000 00000000"
    "0000018bcfe56800 7f00000100009c40 0000018bcfe5687b 0a00000100002a9f 00000000 0000000000000000"
    "00000005 68656c6c6f 09 546f70696354657374 0011 4b455953016b3102544147530154616741"
)


def test_record_of_the_wire_description() -> None:
    message = Message(
        topic="T1",
        queue_id=2,
        queue_offset=5,
        physical_offset=1024,
        body=b"hi",
        properties="TAGS\x01TagA",
        born_timestamp=1_700_000_000_000,
        born_host="10.0.0.9:40000",
        store_timestamp=1_700_000_000_001,
        store_host="10.0.0.1:10911",
    )
    assert encode_record(message) == RECORD_T1
    read = decode_record(RECORD_T1)
    assert (read.size, read.topic, read.body, read.property_map()) == (104, "T1", b"hi", {"TAGS": "TagA"})
    assert read.message_id() == "0A00000100002A9F0000000000000400"
    assert read.crc_matches()


@pytest.mark.conformance("P01")
def test_record_of_the_store_description() -> None:
    read = decode_record(RECORD_TOPIC_TEST)
    assert encode_record(read) == RECORD_TOPIC_TEST
    assert read.size == record_size(len("hello"), len("TopicTest"), 17) == 122
    assert read.body_crc == body_crc(b"hello") == 0x3610A686
    assert read.message_id() == "0A00000100002A9F0000000000001000"


def test_a_topic_above_127_bytes_takes_version_2() -> None:
    topic = "%RETRY%" + "g" * 200
    record = encode_record(Message(topic=topic, queue_id=0, magic=MAGIC_V2))
    assert record[4:8] == bytes.fromhex("daa320ab")
    assert len(record) == 92 + len(topic)
    assert decode_record(record).topic == topic


def test_hosts_of_version_6_take_20_bytes_and_their_bits() -> None:
    message = Message(topic="T", queue_id=0, born_host="[fe80::1]:40000", store_host="10.0.0.1:10911")
    record = encode_record(message)
    assert len(record) == record_size(0, 1, 0, hosts=28)
    assert int.from_bytes(record[36:40], "big") == 0x10
    assert decode_record(record).born_host == "[fe80::1]:40000"


@pytest.mark.parametrize(
    ("magic", "value"), [(MAGIC_V1, 0xDAA320A7), (MAGIC_V2, 0xDAA320AB), (MAGIC_BLANK, 0xCBD43194)]
)
def test_magic_numbers(magic: int, value: int) -> None:
    assert magic & 0xFFFFFFFF == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("TagA", 2598919),
        ("TagB", 2598920),
        ("order-paid", 710106603),
        ("zzzzzzzzzz", -1580979136),
        ("", 0),
        ("😀", 1772899),
    ],
)
def test_java_hashes(text: str, value: int) -> None:
    assert java_string_hash(text) == value


@pytest.mark.conformance("P01")
def test_no_tag_has_code_zero() -> None:
    assert tags_code(None) == tags_code("") == 0


@pytest.mark.conformance("P01")
def test_message_ids() -> None:
    assert offset_message_id("10.0.0.1:10911", 0x1000) == "0A00000100002A9F0000000000001000"
    assert parse_message_id("0A00000100002A9F0000000000001000") == ("10.0.0.1:10911", 0x1000)
    assert parse_message_id(offset_message_id("[::1]:10911", 7)) == ("[::1]:10911", 7)
    assert len(offset_message_id("[::1]:10911", 7)) == 56


def test_hosts() -> None:
    assert encode_host("10.0.0.1:10911") == bytes.fromhex("0a00000100002a9f")
    assert decode_host(bytes.fromhex("0a00000100002a9f")) == "10.0.0.1:10911"


@pytest.mark.parametrize(
    ("ordinal", "name"),
    [(317, "V4_5_2"), (333, "V4_6_0"), (373, "V4_8_0"), (401, "V4_9_4"), (407, "V4_9_7"), (408, "V4_9_8_SNAPSHOT"),
     (413, "V5_0_0"), (433, "V5_1_0"), (453, "V5_2_0"), (479, "V5_3_3"), (232, "232")],
)  # fmt: skip
def test_version_names(ordinal: int, name: str) -> None:
    assert version_name(ordinal) == name


def test_code_names() -> None:
    assert request_name(310) == "SEND_MESSAGE_V2"
    assert request_name(9999) == "CODE_9999"
    assert response_name(11) == "SLAVE_NOT_AVAILABLE"
    assert response_name(77) == "CODE_77"
