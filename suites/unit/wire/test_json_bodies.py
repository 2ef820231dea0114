"""Bodies from liberal peers: fastjson's dialect, C++'s ordinals, registrations in both forms."""

from __future__ import annotations

import contextlib
import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.wire.bodies import (
    BrokerData,
    ConsumeOffset,
    DataVersion,
    MessageQueue,
    QueueData,
    TopicConfig,
    TopicConfigTable,
    TopicOffset,
    TopicRouteData,
    read_consume_stats,
    read_consumer_offsets,
    read_delay_offsets,
    read_topic_stats,
    write_consume_stats,
    write_consumer_offsets,
    write_delay_offsets,
    write_route,
    write_topic_stats,
)
from reference_impl.wire.dialect import parse_lenient, read_json, write_dialect
from reference_impl.wire.frame import RemoteWireError
from reference_impl.wire.heartbeat import read_heartbeat
from reference_impl.wire.registration import read_registration, write_registration

QUEUE = MessageQueue("b-a", 0, "T1")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{0:"a",1:"b"}', {"0": "a", "1": "b"}),
        ('{ 0 : [1, -2.5e3, true, null] }', {"0": [1, -2500.0, True, None]}),
        ("{bare_name:1}", {"bare_name": 1}),
        ('{{"queueId":0,"topic":"T"}:{"maxOffset":7}}', {'{"queueId":0,"topic":"T"}': {"maxOffset": 7}}),
        ('{"a":{0:{1:{}}},"b":[{}]}', {"a": {"0": {"1": {}}}, "b": [{}]}),
        (r'{0:"br{ace}, colon: and \"quote\" \\"}', {"0": 'br{ace}, colon: and "quote" \\'}),
    ],
)  # fmt: skip
def test_the_dialect_is_read(text: str, value: object) -> None:
    assert parse_lenient(text.encode()) == value


@pytest.mark.parametrize(
    "text",
    ["", "{", "{0}", "{0:}", "{0:1", "{0:1,}x", "[1 2]", "{,}", "nope", '{0:1 "b":2}', "{[1]:2}", "{0:'a'}", "{0:1}}",
     "{1:" * 100 + "1" + "}" * 100, "\xff"],
)  # fmt: skip
def test_what_is_not_even_the_dialect_is_refused(text: str) -> None:
    with pytest.raises(RemoteWireError):
        parse_lenient(text.encode("latin-1"))


_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('abc:{}"\\, 0', max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(_values)
def test_strict_json_behind_a_bare_key_is_read_as_json_reads_it(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert parse_lenient(f"{{0:{text}}}".encode()) == {"0": value}


@given(st.binary(max_size=80) | st.text('{}[]:,"0a\\ ', max_size=40).map(str.encode))
def test_random_bodies_are_only_ever_a_remote_error(data: bytes) -> None:
    with contextlib.suppress(RemoteWireError):
        parse_lenient(data)


def test_integer_and_struct_keys_are_written_bare() -> None:
    assert write_dialect({1: {"a": [True, None]}, "b": 2.5, QUEUE: 3}) == (
        b'{1:{"a":[true,null]},"b":2.5,{"brokerName":"b-a","queueId":0,"topic":"T1"}:3}'
    )


# Routes and tables ---------------------------------------------------------------------------------------------------

ROUTE = TopicRouteData(
    broker_datas=[BrokerData({0: "10.0.0.1:10911", 1: "10.0.0.2:10911"}, "b-a", "C1")],
    queue_datas=[QueueData("b-a", 6, 8, 0, 8)],
)
STRICT_ROUTE = (
    b'{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.1:10911","1":"10.0.0.2:10911"},"brokerName":"b-a","cluster":"C1"}],'
    b'"filterServerTable":{},'
    b'"queueDatas":[{"brokerName":"b-a","perm":6,"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":8}]}'
)


def test_a_route_in_both_forms_is_the_same_route() -> None:
    assert write_route(ROUTE) == STRICT_ROUTE
    legacy = write_route(ROUTE, strict=False)
    assert legacy == STRICT_ROUTE.replace(b'"0":', b"0:").replace(b'"1":', b"1:")
    assert read_json(STRICT_ROUTE, TopicRouteData) == read_json(legacy, TopicRouteData) == ROUTE


def test_a_route_keeps_what_5_x_adds_and_ignores_the_rest() -> None:
    text = STRICT_ROUTE.replace(b'"cluster":"C1"', b'"cluster":"C1","enableActingMaster":false,"zoneName":"z"')
    read = read_json(
        text.replace(b'{"brokerDatas"', b'{"topicQueueMappingByBroker":null,"brokerDatas"'), TopicRouteData
    )
    assert read.broker_datas[0].enable_acting_master is False
    assert write_route(read) == text.replace(b',"zoneName":"z"', b"")


def test_an_order_configuration_is_written_only_where_there_is_one() -> None:
    ordered = TopicRouteData(order_topic_conf="b-a:4")
    assert b'"orderTopicConf":"b-a:4"' in write_route(ordered)
    assert b"orderTopicConf" not in write_route(TopicRouteData())


@pytest.mark.parametrize(
    ("write", "read", "table", "text"),
    [
        (write_consumer_offsets, read_consumer_offsets, {"T1@CG_A": {0: 12, 1: 7}}, '{"T1@CG_A":{0:12,1:7}}'),
        (write_delay_offsets, read_delay_offsets, {1: 100, 2: 4}, "{1:100,2:4}"),
        (
            write_topic_stats,
            read_topic_stats,
            {QUEUE: TopicOffset(0, 10, 0)},
            '{{"brokerName":"b-a","queueId":0,"topic":"T1"}:{"lastUpdateTimestamp":0,"maxOffset":10,"minOffset":0}}',
        ),
    ],
)
def test_offset_tables(write, read, table, text) -> None:
    body = f'{{"offsetTable":{text}}}'.encode()
    assert write(table) == body
    assert read(body) == table


def test_consume_stats() -> None:
    table = {QUEUE: ConsumeOffset(9, 7, 0)}
    assert read_consume_stats(write_consume_stats(table)) == table
    assert write_consume_stats({}) == b'{"consumeTps":0.0,"offsetTable":{}}'


@pytest.mark.parametrize("text", [b"{}", b"[]", b'{"offsetTable":[]}', b'{"offsetTable":{x:1}}'])
def test_a_body_without_an_offset_table_is_refused(text: bytes) -> None:
    with pytest.raises(RemoteWireError):
        read_delay_offsets(text)


def test_a_data_version_counts_its_changes() -> None:
    version = DataVersion(3, timestamp=5).next(9)
    assert (version.counter, version.timestamp) == (4, 9)
    assert version.same_as(DataVersion(4, 7, 9))
    assert not version.same_as(DataVersion(4, timestamp=8))


# Heartbeats ----------------------------------------------------------------------------------------------------------


def test_a_heartbeat_of_cpp() -> None:
    body = (
        b'{"clientID":"cpp@1","consumerDataSet":[{"consumeFromWhere":0,"consumeType":1,"groupName":"CG","messageModel":1,'
        b'"subscriptionDataSet":[{"classFilterMode":false,"codeSet":["2598919"],"subString":"TagA",'
        b'"subVersion":"1700000000000","tagsSet":["TagA"],"topic":"TP"}],"unitMode":false}]}'
    )
    heartbeat = read_heartbeat(body)
    (consumer,) = heartbeat.consumer_data_set
    assert (consumer.consume_from_where, consumer.consume_type, consumer.message_model) == (
        "CONSUME_FROM_LAST_OFFSET",
        "CONSUME_PASSIVELY",
        "CLUSTERING",
    )
    (subscription,) = consumer.subscription_data_set
    assert (subscription.code_set, subscription.sub_version) == ([2598919], 1_700_000_000_000)
    assert (subscription.expression_type, heartbeat.producer_data_set) == ("TAG", [])


@pytest.mark.parametrize("body", [b"", b"not json", b"[]", b'{"consumerDataSet":{}}', b'{"consumerDataSet":[7]}'])
def test_what_is_no_heartbeat_is_refused(body: bytes) -> None:
    with pytest.raises(RemoteWireError):
        read_heartbeat(body)


# Registrations -------------------------------------------------------------------------------------------------------

TOPICS = TopicConfigTable(
    DataVersion(3, timestamp=1_700_000_000_000),
    {"T1": TopicConfig(topic_name="T1", read_queue_nums=8, write_queue_nums=4), "T2": TopicConfig(topic_name="T2")},
)


@pytest.mark.parametrize("compressed", [False, True])
def test_a_registration_comes_back(compressed: bool) -> None:
    body = write_registration(TOPICS, ["f:1"], compressed=compressed)
    read = read_registration(body, compressed=compressed)
    assert (read.topics, read.filter_server_list) == (TOPICS, ["f:1"])


def counted(*chunks: bytes) -> bytes:
    return b"".join(len(chunk).to_bytes(4, "big") + chunk for chunk in chunks)


def compressed_body(*topics: bytes, behind: bytes = b"") -> bytes:
    version = b'{"counter":1,"timestamp":2}'
    return zlib.compress(counted(version) + len(topics).to_bytes(4, "big") + counted(*topics, b"[]") + behind)


def test_six_items_a_topic_are_5_x_only() -> None:
    body = compressed_body(b'T1 4 4 6 SINGLE_TAG {"+message.type":"NORMAL"}')
    with pytest.raises(RemoteWireError, match="6 items"):
        read_registration(body, compressed=True)
    topic = read_registration(body, compressed=True, attributes=True).topics.topic_config_table["T1"]
    assert topic.attributes == {"+message.type": "NORMAL"}


def test_the_mapping_section_is_needed_or_ignored() -> None:
    without, with_one = compressed_body(b"T1 4 4 6 SINGLE_TAG"), compressed_body(behind=b"\0\0\0\1" + counted(b"{}"))
    assert read_registration(with_one, compressed=True).topics.topic_config_table == {}
    assert read_registration(with_one, compressed=True, mapping=True).topics.topic_config_table == {}
    with pytest.raises(RemoteWireError, match="cut off"):
        read_registration(without, compressed=True, mapping=True)


@pytest.mark.parametrize(
    "body",
    [
        b"junk",
        compressed_body(b"T1 4 4 6"),
        compressed_body(b"T1 four 4 6 SINGLE_TAG"),
        compressed_body(b"T1 4 4 6 SINGLE_TAG")[:-9],
        zlib.compress(b"\xff\xff\xff\xff"),
        zlib.compress(counted(b"{}") + b"\x7f\xff\xff\xff"),
    ],
)
def test_broken_compressed_registrations_are_refused(body: bytes) -> None:
    with pytest.raises(RemoteWireError):
        read_registration(body, compressed=True)


def test_a_compressed_body_that_says_it_is_plain_is_refused() -> None:
    """5.x brokers with ``compressedRegister=true`` send exactly this and are never registered."""
    with pytest.raises(RemoteWireError):
        read_registration(write_registration(TOPICS, compressed=True), compressed=False)


def test_an_empty_registration_announces_nothing() -> None:
    for compressed in (False, True):
        assert read_registration(b"", compressed=compressed).topics == TopicConfigTable()
    assert read_registration(b"{}", compressed=False).topics.data_version == DataVersion()
