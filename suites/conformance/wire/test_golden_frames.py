"""Frames recorded from Apache 4.9.7 and 5.3.3 come back byte for byte.

Every frame decodes. What Apache code wrote (servers, and the recorded Java clients) encodes to the same bytes: header,
key order, ext fields, body. Requests of the recording script itself have another key order: they come back as the
same command. So do stored records and the JSON bodies.
"""

from __future__ import annotations

from collections import Counter

import pytest

from harness.targets.releases import row_of
from reference_impl.wire.bodies import (
    ClusterInfo,
    ConsumerIds,
    DataVersion,
    KVTable,
    LockBatchAnswer,
    LockBatchRequest,
    SubscriptionGroupTable,
    TopicConfigTable,
    TopicList,
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
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import read_json, write_dialect, write_json
from reference_impl.wire.frame import BINARY, Command, FrameDecoder, decode_frame, encode_frame
from reference_impl.wire.heartbeat import read_heartbeat
from reference_impl.wire.message import decode_records, encode_record
from reference_impl.wire.registration import read_registration, write_registration
from suites.conformance.golden_wire import VERSIONS, golden_frames


@pytest.mark.parametrize("version", VERSIONS)
def test_what_apache_wrote_encodes_to_the_same_bytes(version: str) -> None:
    differing = []
    for golden in golden_frames(version):
        if golden.is_by_java and encode_frame(golden.command) != golden.frame:
            differing.append(str(golden))
    assert [name for name in differing if not name.startswith("real_SEND_MESSAGE_V2")] == []
    # Java writes the ext fields of a signed binary request twice (FastCodesHeader and map); once is enough for anyone.
    assert len(differing) == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_scripted_requests_come_back_as_the_same_command(version: str) -> None:
    checked = 0
    for golden in golden_frames(version):
        again = decode_frame(encode_frame(golden.command))
        assert again == golden.command, str(golden)
        checked += not golden.is_by_java
    assert checked > 150


@pytest.mark.parametrize("version", VERSIONS)
def test_the_decoded_header_is_what_the_recording_says(version: str) -> None:
    for golden in golden_frames(version):
        command, header = golden.command, golden.view["header"]
        if golden.view["serializeType"] == "ROCKETMQ":
            assert command.serialization == BINARY
            continue
        assert (command.code, command.opaque, command.flag) == (int(header["code"]), header["opaque"], header["flag"])
        assert dict(command.fields) == header.get("extFields", {})
        assert command.remark == header.get("remark")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("cut_bytes", [1, 7, 1000, 1 << 20])
def test_one_stream_cut_anywhere_gives_the_same_commands(version: str, cut_bytes: int) -> None:
    frames = golden_frames(version)[:60]
    stream = b"".join(golden.frame for golden in frames)
    decoder = FrameDecoder()
    commands = [c for at in range(0, len(stream), cut_bytes) for c in decoder.feed(stream[at : at + cut_bytes])]
    assert commands == [golden.command for golden in frames]
    assert decoder.buffered() == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_stored_records_encode_to_the_same_bytes(version: str) -> None:
    bodies = [golden.command.body for golden in golden_frames(version) if "messages" in golden.view]
    assert len(bodies) > 20
    for body in bodies:
        records = decode_records(body)
        assert b"".join(map(encode_record, records)) == body
        assert all(record.crc_matches() for record in records)


@pytest.mark.parametrize("version", VERSIONS)
def test_properties_of_the_records_end_as_their_release_ends_them(version: str) -> None:
    texts = [
        record.properties
        for golden in golden_frames(version)
        if "messages" in golden.view
        for record in decode_records(golden.command.body)
        if record.properties
    ]
    assert {text.endswith("\x02") for text in texts} == {not row_of(version).is_4}


_KINDS = {
    (Code.GET_ALL_TOPIC_CONFIG, True): TopicConfigTable,
    (Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, True): SubscriptionGroupTable,
    (Code.LOCK_BATCH_MQ, False): LockBatchRequest,
    (Code.UNLOCK_BATCH_MQ, False): LockBatchRequest,
    (Code.LOCK_BATCH_MQ, True): LockBatchAnswer,
    (Code.GET_CONSUMER_LIST_BY_GROUP, True): ConsumerIds,
    (Code.GET_BROKER_RUNTIME_INFO, True): KVTable,
    (Code.GET_KVLIST_BY_NAMESPACE, True): KVTable,
    (Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, True): TopicList,
    (Code.GET_SYSTEM_TOPIC_LIST_FROM_NS, True): TopicList,
    (Code.GET_TOPICS_BY_CLUSTER, True): TopicList,
    (Code.QUERY_DATA_VERSION, True): DataVersion,
}

_TABLES = {
    Code.GET_ALL_CONSUMER_OFFSET: (read_consumer_offsets, write_consumer_offsets),
    Code.GET_ALL_DELAY_OFFSET: (read_delay_offsets, write_delay_offsets),
    Code.GET_TOPIC_STATS_INFO: (read_topic_stats, write_topic_stats),
    Code.GET_CONSUME_STATS: (read_consume_stats, write_consume_stats),
}


def _rewritten(code: int, is_answer: bool, command: Command) -> bytes | None:
    """*command*'s body read as a value and written again; ``None`` where we have no type for it."""
    body = command.body
    if code == Code.GET_ROUTEINFO_BY_TOPIC and is_answer:
        return write_route(read_json(body, TopicRouteData), strict=b'{"0"' in body or b'{"1"' in body)
    if code == Code.GET_BROKER_CLUSTER_INFO and is_answer:
        return write_dialect(read_json(body, ClusterInfo))
    if code == Code.REGISTER_BROKER and not is_answer:
        compressed = command.fields["compressed"] == "true"
        read = read_registration(body, compressed=compressed, attributes=True)
        return write_registration(read.topics, read.filter_server_list or (), compressed=compressed)
    if code == Code.HEART_BEAT and not is_answer:
        return write_json(read_heartbeat(body))
    if code in _TABLES and is_answer:
        read, write = _TABLES[code]
        return write(read(body))
    kind = _KINDS.get((code, is_answer))
    return None if kind is None else write_json(read_json(body, kind))


def test_bodies_written_by_4_9_7_come_back_byte_for_byte() -> None:
    same: Counter[int] = Counter()
    for golden in golden_frames("4.9.7"):
        command = golden.command
        if not golden.is_by_java or not command.body or (command.is_answer and command.code):
            continue
        again = _rewritten(golden.request_code, command.is_answer, command)
        if again is not None:
            assert again == command.body, str(golden)
            same[golden.request_code] += 1
    assert len(same) >= 16
    assert sum(same.values()) >= 50


def test_bodies_written_by_5_3_3_are_read_whatever_they_add() -> None:
    read = 0
    for golden in golden_frames("5.3.3"):
        command = golden.command
        if not command.body or (command.is_answer and command.code):
            continue
        read += _rewritten(golden.request_code, command.is_answer, command) is not None
    assert read >= 60
