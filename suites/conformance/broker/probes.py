"""The probes that a single master can answer, by the numbers of the wire description's section 10.

Each is a function of a :class:`Peer` that asserts what Apache's brokers were seen to do; where 4.9.7 and 5.3.3 differ
the probe asks ``peer.release``. Topics and groups carry the probe's number, so all of them can run against one broker,
in any order, once.

Not here: 4 and 10 to 20 (NameServer), 43 and 44 (transactions), 45 (a SYNC_MASTER, see the tests), 46 to 49 (slaves).
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from reference_impl.environment import MS, SECOND
from reference_impl.wire.bodies import ConsumerIds, LockBatchAnswer, TopicRouteData
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import read_json
from reference_impl.wire.frame import BINARY, JSON, ONE_WAY, Command, FrameDecoder, encode_frame
from reference_impl.wire.message import (
    BatchEntry,
    body_crc,
    decode_record,
    decode_records,
    encode_batch,
    encode_record,
    java_string_hash,
    parse_message_id,
    properties_text,
)
from suites.conformance.broker.peer import (
    Peer,
    answer,
    create_topic,
    drained,
    eventually,
    max_offset,
    messages,
    offsets,
    pull,
    send,
    stored,
)


@dataclass(frozen=True)
class Probe:
    """``is_slow``: needs minutes of real time."""

    number: int
    what: str
    run: Callable[[Peer], None]
    is_slow: bool = False

    def __str__(self) -> str:
        return f"{self.number:02}-{self.what.replace(' ', '-')}"


PROBES: list[Probe] = []


def probe(
    number: int, what: str, *, is_slow: bool = False
) -> Callable[[Callable[[Peer], None]], Callable[[Peer], None]]:
    """Add a function to the table."""

    def add(run: Callable[[Peer], None]) -> Callable[[Peer], None]:
        PROBES.append(Probe(number, what, run, is_slow))
        return run

    return add


# Frames (1 to 9) -----------------------------------------------------------------------------------------------------


@probe(1, "frame echo")
def frame_echo(peer: Peer) -> None:
    request = Command(Code.GET_MAX_OFFSET, {"topic": "TBW102", "queueId": "0"}, opaque=123_456_789)
    found = peer.ask(request, timeout_ns=3 * SECOND)
    assert found is not None
    assert (found.opaque, found.flag & 1, found.code) == (123_456_789, 1, 0)


@probe(2, "one way silence")
def one_way_silence(peer: Peer) -> None:
    create_topic(peer, "T02")
    answer(peer, Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, b'{"groupName":"CG02"}')  # 5.x refuses unknown groups
    fields = {"consumerGroup": "CG02", "topic": "T02", "queueId": "0"}
    update = Command(Code.UPDATE_CONSUMER_OFFSET, fields | {"commitOffset": "11"}, flag=ONE_WAY)
    assert peer.ask(update, timeout_ns=2 * SECOND) is None
    assert answer(peer, Code.QUERY_CONSUMER_OFFSET, **fields).fields == {"offset": "11"}


@probe(3, "unknown code")
def unknown_code(peer: Peer) -> None:
    found = answer(peer, 9999, a="b")
    assert (found.code, found.remark) == (3, " request type 9999 not supported")


@probe(4, "unknown one way code is silent")
def unknown_one_way(peer: Peer) -> None:
    assert peer.ask(Command(9999, flag=ONE_WAY), timeout_ns=SECOND) is None
    assert not peer.is_closed("main")


@probe(5, "bad serialization type closes")
def bad_serialization(peer: Peer) -> None:
    peer.write("probe5", bytes.fromhex("0000001407000010") + b'{"code":30      }')  # 5.x looks at 12 bytes first
    raw = peer.read("probe5", 3 * SECOND)
    assert (raw.data, raw.closed) == (b"", True)


@probe(6, "oversize frame closes as soon as its length is read")
def oversize(peer: Peer) -> None:
    peer.write("probe6", (16_777_213).to_bytes(4, "big") + bytes(16))
    raw = peer.read("probe6", 3 * SECOND)
    assert (raw.data, raw.closed) == (b"", True)


@probe(7, "binary request")
def binary_request(peer: Peer) -> None:
    request = Command(Code.GET_MAX_OFFSET, {"topic": "TBW102", "queueId": "0"}, serialization=BINARY)
    found = peer.ask(request)
    assert found is not None
    assert found.fields == {"offset": "0"}
    assert found.serialization == (BINARY if peer.release.startswith("4.") else JSON)


@probe(8, "pipelined and fragmented frames")
def pipelined_and_fragmented(peer: Peer) -> None:
    def frame(opaque: int) -> bytes:
        return encode_frame(Command(Code.GET_MIN_OFFSET, {"topic": "TBW102", "queueId": "0"}, opaque=opaque))

    peer.write("probe8", frame(81) + frame(82))
    for position in range(0, len(frame(83)), 1):
        peer.write("probe8", frame(83)[position : position + 1])
    decoder, found = FrameDecoder(), []
    for _ in range(50):
        found += list(decoder.feed(peer.read("probe8", 100 * MS).data))
        if len(found) == 3:
            break
    assert sorted(command.opaque for command in found) == [81, 82, 83]


@probe(9, "ext values are strings")
def ext_values_are_strings(peer: Peer) -> None:
    create_topic(peer, "T09")
    stored(peer, "T09")
    fields = {"topic": "T09", "queueId": "0"}
    asked = [
        Command(Code.GET_MAX_OFFSET, fields, opaque=91),
        Command(Code.QUERY_CONSUMER_OFFSET, fields | {"consumerGroup": "CG09"}, opaque=92),
    ]
    peer.write("probe9", b"".join(encode_frame(command) for command in asked))
    data = peer.read("probe9", 500 * MS).data
    headers = list(_json_headers(data))
    assert [header["opaque"] for header in headers] == [91, 92]
    assert all(isinstance(value, str) for header in headers for value in header["extFields"].values())


def _json_headers(data: bytes):
    position = 0
    while position < len(data):
        total, length = (
            int.from_bytes(data[position : position + 4], "big"),
            int.from_bytes(data[position + 4 : position + 8], "big"),
        )
        yield json.loads(data[position + 8 : position + 8 + (length & 0xFFFFFF)])
        position += 4 + total


# Sends (21 to 28) ----------------------------------------------------------------------------------------------------


@probe(21, "auto create")
def auto_create(peer: Peer) -> None:
    assert send(peer, "T21").code == 0

    def routed() -> TopicRouteData | None:
        found = answer(peer, Code.GET_ROUTEINFO_BY_TOPIC, channel="namesrv:", topic="T21")
        return read_json(found.body, TopicRouteData) if found.code == 0 else None

    (queues,) = eventually(peer, routed).queue_datas
    assert (queues.broker_name, queues.read_queue_nums, queues.write_queue_nums, queues.perm) == (
        peer.broker_name,
        4,
        4,
        6,
    )


@probe(21, "no template, no topic")
def no_template(peer: Peer) -> None:
    found = send(peer, "T21b", c="NoSuchTemplate")
    assert found.code == 17
    assert (found.remark or "").startswith("topic[T21b] not exist, apply first please!")
    assert found.fields == {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}


@probe(22, "send answer fields")
def send_answer_fields(peer: Peer) -> None:
    create_topic(peer, "T22")
    found = send(peer, "T22", b"twentytwo", queue=1)
    assert {name: found.fields[name] for name in ("queueId", "queueOffset", "MSG_REGION", "TRACE_ON")} == {
        "queueId": "1",
        "queueOffset": "0",
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
    }
    assert re.fullmatch(r"[0-9A-F]{32}", found.fields["msgId"])
    host, position = parse_message_id(found.fields["msgId"])
    assert host == peer.broker
    viewed = answer(peer, Code.VIEW_MESSAGE_BY_ID, offset=position)
    assert viewed.code == 0
    assert decode_record(viewed.body).body == b"twentytwo"


@probe(22, "the long header says the same")
def long_header(peer: Peer) -> None:
    create_topic(peer, "T22b")
    found = answer(
        peer,
        Code.SEND_MESSAGE,
        b"long",
        producerGroup="PG",
        topic="T22b",
        defaultTopic="TBW102",
        defaultTopicQueueNums=4,
        queueId=2,
        sysFlag=0,
        bornTimestamp=1_700_000_000_000,
        flag=7,
        properties="UNIQ_KEY\x01K22\x02",
        reconsumeTimes=0,
        unitMode=False,
        batch=False,
    )
    assert (found.code, found.fields["queueId"]) == (0, "2")
    (message,) = drained(peer, "T22b", 1, queue=2)
    assert (message.body, message.flag, message.born_timestamp) == (b"long", 7, 1_700_000_000_000)
    assert message.property_map()["UNIQ_KEY"] == "K22"


@probe(22, "view of an offset that is none")
def view_nothing(peer: Peer) -> None:
    found = answer(peer, Code.VIEW_MESSAGE_BY_ID, offset=123_456_789_012)
    assert found.code == 1


@probe(23, "queue offsets are consecutive")
def consecutive_offsets(peer: Peer) -> None:
    create_topic(peer, "T23")
    found = [int(send(peer, "T23", b"%d" % number).fields["queueOffset"]) for number in range(5)]
    assert found == [0, 1, 2, 3, 4]
    eventually(peer, lambda: max_offset(peer, "T23") == 5 or None)


@probe(24, "negative queue id")
def negative_queue_id(peer: Peer) -> None:
    create_topic(peer, "T24", queues=4)
    assert all(0 <= int(send(peer, "T24", queue=-1).fields["queueId"]) < 4 for _ in range(8))


@probe(25, "queue id too large")
def queue_id_too_large(peer: Peer) -> None:
    create_topic(peer, "T25", queues=4)
    found = send(peer, "T25", queue=4)
    assert found.code == (1 if peer.release.startswith("4.") else 29)
    assert (found.remark or "").startswith("request queueId[4] is illegal, TopicConfig [topicName=T25, readQueueNums=4")
    assert max_offset(peer, "T25", 4) == 0


@probe(26, "body of 4 MiB and one byte")
def body_too_large(peer: Peer) -> None:
    create_topic(peer, "T26")
    assert send(peer, "T26", bytes(4 * 1024 * 1024 + 1), timeout_ns=30 * SECOND).code == 13


@probe(26, "properties above 32767 bytes after the broker's own")
def properties_too_large(peer: Peer) -> None:
    create_topic(peer, "T26b")
    assert send(peer, "T26b", properties="k\x01" + "v" * 32_765).code == 13
    fits = properties_text({"k": "v" * (32_767 - 300)})
    assert send(peer, "T26b", properties=fits).code == 0


@probe(26, "topic names")
def topic_names(peer: Peer) -> None:
    expected = 1 if peer.release.startswith("4.") else 29
    for topic, remark in [
        ("x" * 128, "longer than topic max length"),
        ("bad topic", "illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
        (" ", "blank"),
    ]:
        found = send(peer, topic)
        assert found.code == expected, topic
        assert remark in (found.remark or "")
        assert found.fields["MSG_REGION"] == "DefaultRegion"


@probe(27, "batch of three")
def batch_of_three(peer: Peer) -> None:
    create_topic(peer, "T27")
    entries = [BatchEntry(b"b%d" % number, f"UNIQ_KEY\x01B{number}\x02n\x01{number}") for number in range(3)]
    found = send(peer, "T27", encode_batch(entries), "WAIT\x01true\x02", code=Code.SEND_BATCH_MESSAGE, m=True)
    assert (found.code, found.fields["queueOffset"]) == (0, "0")
    ids = found.fields["msgId"].split(",")
    read = drained(peer, "T27", 3)
    assert [message.body for message in read] == [b"b0", b"b1", b"b2"]
    assert [message.property_map()["n"] for message in read] == ["0", "1", "2"]
    assert {message.property_map()["CLUSTER"] for message in read} == {peer.cluster}
    assert [message.message_id() for message in read] == ids


@probe(27, "the batch flag decides, not the code")
def batch_flag_decides(peer: Peer) -> None:
    create_topic(peer, "T27b")
    body = encode_batch([BatchEntry(b"one"), BatchEntry(b"two")])
    assert len(send(peer, "T27b", body, m=True).fields["msgId"].split(",")) == 2
    assert "," not in send(peer, "T27b", body, code=Code.SEND_BATCH_MESSAGE, m=False).fields["msgId"]
    assert [message.body for message in drained(peer, "T27b", 3)] == [b"one", b"two", body]


@probe(27, "malformed batch")
def malformed_batch(peer: Peer) -> None:
    create_topic(peer, "T27c")
    assert send(peer, "T27c", b"garbage", code=Code.SEND_BATCH_MESSAGE, m=True).code == 1
    assert max_offset(peer, "T27c") == 0


@probe(28, "forbidden topics")
def forbidden_topics(peer: Peer) -> None:
    for topic in ("SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "OFFSET_MOVED_EVENT", "SELF_TEST_TOPIC"):
        found = send(peer, topic)
        assert (found.code, found.remark) == (16, f"Sending message to topic[{topic}] is forbidden.")
    assert send(peer, "TBW102").code == 0


# Pulls (29 to 34) ----------------------------------------------------------------------------------------------------


@probe(29, "pull round trip")
def pull_round_trip(peer: Peer) -> None:
    create_topic(peer, "T29")
    plain = {"TAGS": "TagA", "KEYS": "k1 k2", "UNIQ_KEY": "7F0000010001000000000000000029", "user": "v"}
    stored(peer, "T29", b"plain", properties_text(plain))
    packed = zlib.compress(b"packed" * 1000, 5)
    stored(peer, "T29", packed, f=0x301)
    found = pull(peer, "T29", 0)
    assert offsets(found) == {"suggestWhichBrokerId": 0, "nextBeginOffset": 2, "minOffset": 0, "maxOffset": 2}
    assert found.remark == "FOUND"
    first, second = messages(found)
    assert (first.body, first.topic, first.queue_id, first.queue_offset) == (b"plain", "T29", 0, 0)
    assert first.property_map().items() >= (plain | {"CLUSTER": peer.cluster}).items()
    assert (second.body, second.sys_flag & 0x701) == (packed, 0x301)
    assert [message.body_crc for message in (first, second)] == [body_crc(b"plain"), body_crc(packed)]
    assert b"".join(encode_record(message) for message in (first, second)) == found.body


@probe(30, "pull at the end without suspension")
def pull_at_end(peer: Peer) -> None:
    create_topic(peer, "T30")
    stored(peer, "T30")
    found = pull(peer, "T30", 1)
    assert (found.code, found.remark) == (19, "OFFSET_OVERFLOW_ONE")
    assert offsets(found) == {"suggestWhichBrokerId": 0, "nextBeginOffset": 1, "minOffset": 0, "maxOffset": 1}
    empty = pull(peer, "T30", 0, queue=1)
    assert (empty.code, empty.remark, offsets(empty)["nextBeginOffset"]) == (19, "NO_MESSAGE_IN_QUEUE", 0)


@probe(31, "a message wakes a suspended pull")
def suspended_pull_woken(peer: Peer) -> None:
    create_topic(peer, "T31")
    peer.write("probe31", encode_frame(_suspended_pull("T31", 0, 3000, "*", 31)))
    peer.sleep(SECOND)
    assert peer.read("probe31", 0).data == b""
    assert send(peer, "T31", b"wake").code == 0
    (found,) = _answers_within(peer, "probe31", 300 * MS, 31)
    assert [message.body for message in messages(found)] == [b"wake"]


@probe(31, "a suspended pull ends")
def suspended_pull_ends(peer: Peer) -> None:
    create_topic(peer, "T31b")
    peer.write("probe31b", encode_frame(_suspended_pull("T31b", 0, 3000, "*", 32)))
    assert _answers_within(peer, "probe31b", 2900 * MS, 32) == []
    (found,) = _answers_within(peer, "probe31b", 6 * SECOND, 32)
    assert found.code == 19


@probe(31, "another tag ends a suspension at the next sweep")
def suspended_pull_other_tag(peer: Peer) -> None:
    create_topic(peer, "T31c")
    peer.write("probe31c", encode_frame(_suspended_pull("T31c", 0, 20_000, "TagA", 33)))
    peer.sleep(200 * MS)
    stored(peer, "T31c", b"b", "TAGS\x01TagB")
    (found,) = _answers_within(peer, "probe31c", 6 * SECOND, 33)
    assert (found.code, offsets(found)["nextBeginOffset"]) == (20, 1)


def _suspended_pull(topic: str, offset: int, suspend_ms: int, expression: str, opaque: int) -> Command:
    fields = {
        "consumerGroup": "CG31",
        "topic": topic,
        "queueId": "0",
        "queueOffset": str(offset),
        "maxMsgNums": "32",
        "sysFlag": "6",
        "commitOffset": "0",
        "suspendTimeoutMillis": str(suspend_ms),
        "subscription": expression,
        "subVersion": "0",
        "expressionType": "TAG",
    }
    return Command(Code.PULL_MESSAGE, fields, opaque=opaque)


def _answers_within(peer: Peer, channel: str, within_ns: int, opaque: int) -> list[Command]:
    """What comes on a raw channel until the answer is there or time is up."""
    decoder: FrameDecoder = FrameDecoder()
    for _ in range(within_ns // (50 * MS)):
        found = [command for command in decoder.feed(peer.read(channel, 50 * MS).data) if command.opaque == opaque]
        if found:
            return found
    return []


@probe(32, "pull beyond the end and before the start")
def pull_out_of_range(peer: Peer) -> None:
    create_topic(peer, "T32")
    stored(peer, "T32")
    stored(peer, "T32")
    beyond = pull(peer, "T32", 10)
    assert (beyond.code, offsets(beyond)["nextBeginOffset"], beyond.remark) == (21, 2, "OFFSET_OVERFLOW_BADLY")
    before = pull(peer, "T32", -3)
    assert (before.code, offsets(before)["nextBeginOffset"], before.remark) == (21, 0, "OFFSET_TOO_SMALL")
    empty = pull(peer, "T32", 5, queue=1)
    assert (empty.code, offsets(empty)["nextBeginOffset"]) == (21, 0)
    suspended = pull(peer, "T32", 10, suspend_ms=10_000)
    assert suspended.code == 21


@probe(33, "tag filter")
def tag_filter(peer: Peer) -> None:
    create_topic(peer, "T33")
    stored(peer, "T33", b"b", "TAGS\x01TagB")
    nothing = pull(peer, "T33", 0, expression="TagA")
    assert (nothing.code, offsets(nothing)["nextBeginOffset"], nothing.remark) == (20, 1, "NO_MATCHED_MESSAGE")
    stored(peer, "T33", b"a", "TAGS\x01TagA")
    found = pull(peer, "T33", 0, expression=" TagA || TagC ")
    assert [message.body for message in messages(found)] == [b"a"]
    assert offsets(found)["nextBeginOffset"] == 2


@probe(34, "pull without heartbeat")
def pull_without_heartbeat(peer: Peer) -> None:
    create_topic(peer, "T34")
    stored(peer, "T34")
    found = pull(peer, "T34", 0, group="CG34", expression=None)
    assert (found.code, found.fields) == (24, {})
    assert (found.remark or "").startswith("the consumer's group info not exist")
    assert pull(peer, "T34", 0, group="CG34").code == 0


@probe(34, "refused pulls")
def refused_pulls(peer: Peer) -> None:
    illegal = 1 if peer.release.startswith("4.") else 29
    create_topic(peer, "T34b", queues=2)
    create_topic(peer, "T34w", queues=2, perm=2)
    table = [
        (17, pull(peer, "NoTopic34", 0)),
        (illegal, pull(peer, "T34b", 0, queue=2)),
        (16, pull(peer, "T34w", 0)),
        (23, pull(peer, "T34b", 0, expression="||")),
        (1, pull(peer, "T34b", 0, expression="a > 1", expressionType="SQL92")),
    ]
    assert [found.code for _, found in table] == [code for code, _ in table]
    assert all("nextBeginOffset" not in found.fields for _, found in table)


@probe(34, "at most 32 messages a pull")
def pull_limits(peer: Peer) -> None:
    create_topic(peer, "T34l")
    for number in range(40):
        send(peer, "T34l", b"%d" % number)
    eventually(peer, lambda: max_offset(peer, "T34l") == 40 or None)
    assert len(messages(pull(peer, "T34l", 0, count=64))) == 32
    assert len(messages(pull(peer, "T34l", 0, count=5))) == 5
    assert len(messages(pull(peer, "T34l", 0, count=0))) == 1


# Offsets (35, 36, 54, 55) --------------------------------------------------------------------------------------------


@probe(35, "offset of a new group")
def offset_of_new_group(peer: Peer) -> None:
    create_topic(peer, "T35")
    stored(peer, "T35")
    fields = {"consumerGroup": "CG35", "topic": "T35", "queueId": 0}
    assert answer(peer, Code.QUERY_CONSUMER_OFFSET, **fields).fields == {"offset": "0"}
    for other in ({**fields, "queueId": 3}, {**fields, "topic": "NoTopic35"}):
        found = answer(peer, Code.QUERY_CONSUMER_OFFSET, **other)
        expected = (0, {"offset": "0"}) if peer.release.startswith("4.") else (22, {})
        assert (found.code, found.fields) == expected


@probe(36, "offsets are stored, also backwards")
def offsets_are_stored(peer: Peer) -> None:
    create_topic(peer, "T36")
    pull(peer, "T36", 0, group="CG36")
    for offset in (7, 3):
        fields = {"consumerGroup": "CG36", "topic": "T36", "queueId": 0}
        assert answer(peer, Code.UPDATE_CONSUMER_OFFSET, **fields, commitOffset=offset).code == 0
        assert answer(peer, Code.QUERY_CONSUMER_OFFSET, **fields).fields == {"offset": str(offset)}
    stored(peer, "T36")
    assert pull(peer, "T36", 0, group="CG36", sysFlag=5, commitOffset=9).code == 0
    assert answer(peer, Code.QUERY_CONSUMER_OFFSET, **fields).fields == {"offset": "9"}


@probe(54, "search by time")
def search_by_time(peer: Peer) -> None:
    create_topic(peer, "T54")
    times = []
    for number in range(3):
        stored(peer, "T54", b"%d" % number)
        times.append(messages(pull(peer, "T54", number))[0].store_timestamp)
        peer.sleep(100 * MS)

    def search(timestamp: int) -> int:
        found = answer(peer, Code.SEARCH_OFFSET_BY_TIMESTAMP, topic="T54", queueId=0, timestamp=timestamp)
        return int(found.fields["offset"])

    is_4 = peer.release.startswith("4.")
    assert search(times[0] - 60_000) == 0
    assert search(times[1]) == 1
    assert search(times[2] + 60_000) == (2 if is_4 else 3)
    assert answer(peer, Code.GET_EARLIEST_MSG_STORETIME, topic="T54", queueId=0).fields == {"timestamp": str(times[0])}


@probe(55, "extents of unknown queues")
def unknown_extents(peer: Peer) -> None:
    create_topic(peer, "T55")
    for fields in ({"topic": "T55", "queueId": 50}, {"topic": "NoTopic55", "queueId": 0}):
        for code in (Code.GET_MIN_OFFSET, Code.GET_MAX_OFFSET):
            found = answer(peer, code, **fields)
            assert (found.code, found.fields) == (0, {"offset": "0"})


@probe(55, "missing and unreadable mandatory fields")
def missing_fields(peer: Peer) -> None:
    for fields in ({"queueId": "0"}, {"topic": "TBW102"}, {"topic": "TBW102", "queueId": "abc"}):
        found = answer(peer, Code.GET_MAX_OFFSET, **fields)
        assert found.code == 1
        assert (found.remark or "").startswith("java.lang.NullPointerException")


# Groups (37 to 40, 53) -----------------------------------------------------------------------------------------------


def heartbeat(peer: Peer, channel: str, client: str, group: str, topic: str, **more: object) -> Command:
    """One consumer of one topic (everything, unless *more* says otherwise)."""
    subscription = {"topic": topic, "subString": "*", "tagsSet": [], "codeSet": [], "subVersion": 1} | more
    consumer = {
        "groupName": group,
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
        "unitMode": False,
        "subscriptionDataSet": [subscription],
    }
    body = {"clientID": client, "producerDataSet": [], "consumerDataSet": [consumer]}
    return answer(peer, Code.HEART_BEAT, json.dumps(body).encode(), channel=channel)


def members(peer: Peer, group: str) -> list[str]:
    """Code 38; no member at all is code 1."""
    found = answer(peer, Code.GET_CONSUMER_LIST_BY_GROUP, consumerGroup=group)
    if found.code == 1:
        assert found.remark == f"no consumer for this group, {group}"
        return []
    return sorted(read_json(found.body, ConsumerIds).consumer_id_list)


def notices(peer: Peer, channel: str) -> list[str]:
    """Groups of the code 40 requests that have come on *channel*."""
    peer.sleep(200 * MS)
    received = peer.inbox(channel)
    assert all(command.code == Code.NOTIFY_CONSUMER_IDS_CHANGED and command.is_one_way for command in received)
    return [command.fields["consumerGroup"] for command in received]


@probe(37, "consumer list and notification")
def consumer_list(peer: Peer) -> None:
    create_topic(peer, "T37")
    assert members(peer, "CG37") == []
    heartbeat(peer, "p37a", "c1@1", "CG37", "T37")
    assert notices(peer, "p37a") == ["CG37"]
    heartbeat(peer, "p37b", "c2@2", "CG37", "T37")
    assert (notices(peer, "p37a"), notices(peer, "p37b")) == (["CG37"], ["CG37"])
    assert members(peer, "CG37") == ["c1@1", "c2@2"]
    heartbeat(peer, "p37b", "c2@2", "CG37", "T37")
    assert notices(peer, "p37a") == []
    peer.hang_up("p37b")
    assert notices(peer, "p37a") == ["CG37"]
    assert members(peer, "CG37") == ["c1@1"]


@probe(38, "heartbeat side effects")
def heartbeat_side_effects(peer: Peer) -> None:
    create_topic(peer, "T38")
    found = heartbeat(peer, "p38", "c1@1", "CG38", "T38")
    assert found.code == 0
    assert found.version >= 232

    def routed() -> TopicRouteData | None:
        found = answer(peer, Code.GET_ROUTEINFO_BY_TOPIC, channel="namesrv:", topic="%RETRY%CG38")
        return read_json(found.body, TopicRouteData) if found.code == 0 else None

    (queues,) = eventually(peer, routed).queue_datas
    assert (queues.read_queue_nums, queues.write_queue_nums, queues.perm) == (1, 1, 6)


@probe(39, "liberal heartbeat")
def liberal_heartbeat(peer: Peer) -> None:
    create_topic(peer, "T39")
    subscription = {
        "classFilterMode": False,
        "codeSet": [str(java_string_hash("TagA"))],
        "subString": "TagA",
        "subVersion": "1700000000000",
        "tagsSet": ["TagA"],
        "topic": "T39",
    }
    consumer = {
        "consumeFromWhere": 0,
        "consumeType": 1,
        "groupName": "CG39",
        "messageModel": 1,
        "subscriptionDataSet": [subscription],
    }
    body = json.dumps({"clientID": "cpp@1", "consumerDataSet": [consumer]}).encode()
    assert answer(peer, Code.HEART_BEAT, body, channel="p39").code == 0
    stored(peer, "T39", b"a", "TAGS\x01TagA")
    stored(peer, "T39", b"b", "TAGS\x01TagB")
    found = pull(peer, "T39", 0, group="CG39", expression=None, subVersion=1_700_000_000_000)
    assert [message.body for message in messages(found)] == [b"a"]
    newer = pull(peer, "T39", 0, group="CG39", expression=None, subVersion=1_700_000_000_001)
    assert (newer.code, newer.remark) == (25, "the consumer's subscription not latest")
    assert pull(peer, "TBW102", 0, group="CG39", expression=None).code == 24
    assert answer(peer, Code.HEART_BEAT, b"no json", channel="p39").code == 1
    assert answer(peer, Code.HEART_BEAT, b"", channel="p39").code == 1


def lock(peer: Peer, client: str, group: str, *queues: int, code: int = Code.LOCK_BATCH_MQ) -> list[int]:
    """Lock (or unlock) queues of T40."""
    wanted = [{"topic": "T40", "brokerName": peer.broker_name, "queueId": queue} for queue in queues]
    body = json.dumps({"consumerGroup": group, "clientId": client, "mqSet": wanted}).encode()
    found = answer(peer, code, body)
    assert found.code == 0
    return sorted(queue.queue_id for queue in read_json(found.body, LockBatchAnswer).queues) if found.body else []


@probe(40, "locks")
def locks(peer: Peer) -> None:
    create_topic(peer, "T40")
    assert lock(peer, "A", "CG40", 0, 1) == [0, 1]
    assert lock(peer, "B", "CG40", 0, 2) == [2]
    assert lock(peer, "A", "CG40", 0) == [0]
    assert lock(peer, "B", "CG40b", 0) == [0]
    lock(peer, "B", "CG40", 0, code=Code.UNLOCK_BATCH_MQ)
    assert lock(peer, "B", "CG40", 0) == []
    lock(peer, "A", "CG40", 0, code=Code.UNLOCK_BATCH_MQ)
    assert lock(peer, "B", "CG40", 0) == [0]


@probe(40, "locks expire after a minute", is_slow=True)
def locks_expire(peer: Peer) -> None:
    create_topic(peer, "T40")
    assert lock(peer, "A", "CG40c", 3) == [3]
    for _ in range(2):
        peer.sleep(29 * SECOND)
        assert lock(peer, "B", "CG40c", 3) == []
    peer.sleep(3 * SECOND)
    assert lock(peer, "B", "CG40c", 3) == [3]


@probe(53, "a client unregisters")
def client_unregisters(peer: Peer) -> None:
    create_topic(peer, "T53")
    heartbeat(peer, "p53a", "c1@1", "CG53", "T53")
    heartbeat(peer, "p53b", "c2@2", "CG53", "T53")
    notices(peer, "p53a")
    found = answer(peer, Code.UNREGISTER_CLIENT, channel="p53b", clientID="c2@2", consumerGroup="CG53")
    assert found.code == 0
    assert notices(peer, "p53a") == ["CG53"]
    assert members(peer, "CG53") == ["c1@1"]


@probe(53, "a silent client is closed after two minutes", is_slow=True)
def silent_client(peer: Peer) -> None:
    create_topic(peer, "T53")
    heartbeat(peer, "p53c", "c3@3", "CG53c", "T53")
    for _ in range(11):
        peer.sleep(10 * SECOND)
        answer(peer, Code.GET_MAX_OFFSET, channel="p53c", topic="T53", queueId=0)
    assert members(peer, "CG53c") == ["c3@3"]
    peer.sleep(25 * SECOND)
    assert members(peer, "CG53c") == []
    assert peer.is_closed("p53c")


# Retries and delays (41, 42) -----------------------------------------------------------------------------------------


@probe(41, "send back")
def send_back(peer: Peer) -> None:
    create_topic(peer, "T41")
    heartbeat(peer, "p41", "c1@1", "CG41", "T41")
    sent = stored(peer, "T41", b"again", "KEYS\x01kk\x02TAGS\x01TagA")
    position = parse_message_id(sent.fields["msgId"])[1]
    back = {"offset": position, "group": "CG41", "originTopic": "T41", "maxReconsumeTimes": 16}
    assert answer(peer, Code.CONSUMER_SEND_MSG_BACK, **back, delayLevel=1, originMsgId="x").code == 0
    assert max_offset(peer, "%RETRY%CG41") == 0
    (message,) = drained(peer, "%RETRY%CG41", 1, within_ns=4 * SECOND)
    told = message.property_map()
    assert (message.body, message.reconsume_times) == (b"again", 1)
    assert (told["RETRY_TOPIC"], told["ORIGIN_MESSAGE_ID"], told["KEYS"]) == ("T41", sent.fields["msgId"], "kk")
    assert (told["REAL_TOPIC"], told["DELAY"], told["WAIT"]) == ("%RETRY%CG41", "1", "false")


@probe(41, "send back waits ten seconds by default", is_slow=True)
def send_back_default_level(peer: Peer) -> None:
    create_topic(peer, "T41d")
    heartbeat(peer, "p41d", "c1@1", "CG41d", "T41d")
    sent = stored(peer, "T41d", b"again")
    position = parse_message_id(sent.fields["msgId"])[1]
    assert answer(peer, Code.CONSUMER_SEND_MSG_BACK, offset=position, group="CG41d", delayLevel=0).code == 0
    peer.sleep(9 * SECOND)
    assert max_offset(peer, "%RETRY%CG41d") == 0
    drained(peer, "%RETRY%CG41d", 1)


@probe(41, "send back to the dead letters")
def send_back_to_dead_letters(peer: Peer) -> None:
    create_topic(peer, "T41b")
    heartbeat(peer, "p41b", "c1@1", "CG41b", "T41b")
    sent = stored(peer, "T41b", b"dead")
    position = parse_message_id(sent.fields["msgId"])[1]
    fields = {"offset": position, "group": "CG41b", "delayLevel": 0, "originTopic": "T41b", "maxReconsumeTimes": 0}
    assert answer(peer, Code.CONSUMER_SEND_MSG_BACK, **fields).code == 0
    (message,) = drained(peer, "%DLQ%CG41b", 1)
    assert (message.topic, message.queue_id, message.body, message.reconsume_times) == ("%DLQ%CG41b", 0, b"dead", 1)
    assert message.property_map()["RETRY_TOPIC"] == "T41b"


@probe(41, "send back of nothing")
def send_back_of_nothing(peer: Peer) -> None:
    found = answer(peer, Code.CONSUMER_SEND_MSG_BACK, offset=123_456_789_012, group="CG41c", delayLevel=0)
    assert (found.code, found.remark) == (1, "look message by offset failed, 123456789012")


@probe(41, "a consumer's own resend ends in the dead letters")
def resend_to_dead_letters(peer: Peer) -> None:
    """4.9 gives up when the tries have reached the maximum, 5.x when they have passed it."""
    answer(
        peer, Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, json.dumps({"groupName": "CG41e", "retryMaxTimes": 16}).encode()
    )
    tries = [2, 3] if peer.release.startswith("4.") else [3, 4]
    for number in tries:
        assert send(peer, "%RETRY%CG41e", b"try %d" % number, "RETRY_TOPIC\x01T41", j=number, l=3).code == 0
    assert [message.body for message in drained(peer, "%RETRY%CG41e", 1)] == [b"try %d" % tries[0]]
    assert [message.body for message in drained(peer, "%DLQ%CG41e", 1)] == [b"try %d" % tries[1]]


@probe(42, "delay level 1")
def delay_level(peer: Peer) -> None:
    create_topic(peer, "T42")
    sent = send(peer, "T42", b"late", "DELAY\x011\x02TAGS\x01TagA\x02WAIT\x01true\x02", queue=1)
    assert (sent.code, sent.fields["queueId"]) == (0, "1")
    position = parse_message_id(sent.fields["msgId"])[1]
    record = decode_record(answer(peer, Code.VIEW_MESSAGE_BY_ID, offset=position).body)
    assert (record.topic, record.queue_id) == ("SCHEDULE_TOPIC_XXXX", 0)
    peer.sleep(900 * MS)
    assert max_offset(peer, "T42", 1) == 0
    (message,) = drained(peer, "T42", 1, queue=1)
    told = message.property_map()
    assert (message.body, told["REAL_TOPIC"], told["REAL_QID"], told["DELAY"], told["WAIT"]) == (
        b"late",
        "T42",
        "1",
        "1",
        "true",
    )
    assert 1000 <= message.store_timestamp - record.store_timestamp <= 1400


@probe(42, "levels above the last and below the first")
def delay_level_bounds(peer: Peer) -> None:
    create_topic(peer, "T42b")
    sent = send(peer, "T42b", b"later", "DELAY\x0199\x02")
    position = parse_message_id(sent.fields["msgId"])[1]
    record = decode_record(answer(peer, Code.VIEW_MESSAGE_BY_ID, offset=position).body)
    assert (record.queue_id, record.property_map()["DELAY"]) == (17, "18")
    stored(peer, "T42b", b"now", "DELAY\x010\x02")
    assert send(peer, "T42b", b"never", "DELAY\x01soon\x02").code == 1


# Ports, idleness, TLS (50 to 52) -------------------------------------------------------------------------------------


@probe(50, "fast port")
def fast_port(peer: Peer) -> None:
    assert answer(peer, Code.GET_ALL_TOPIC_CONFIG, channel="fast:").code == 0
    found = answer(peer, Code.PULL_MESSAGE, channel="fast:", topic="T50", consumerGroup="CG50")
    assert (found.code, found.remark) == (3, " request type 11 not supported")


@probe(51, "idle close", is_slow=True)
def idle_close(peer: Peer) -> None:
    assert answer(peer, Code.GET_MAX_OFFSET, channel="p51", topic="TBW102", queueId=0).code == 0
    peer.sleep(110 * SECOND)
    assert not peer.is_closed("p51")
    peer.sleep(20 * SECOND)
    assert peer.is_closed("p51")


@probe(52, "a broken TLS hello")
def broken_tls_hello(peer: Peer) -> None:
    """A permissive Java server sends an alert before it closes, a plain one nothing."""
    peer.write("p52", b"\x16\x03\x01\x00\x05hello" + bytes(64))
    assert peer.read("p52", 3 * SECOND).closed
    assert answer(peer, Code.GET_MAX_OFFSET, topic="TBW102", queueId=0).code == 0


# Administration (section 3.11) ---------------------------------------------------------------------------------------


@probe(56, "topics are made and deleted")
def topics_made_and_deleted(peer: Peer) -> None:
    create_topic(peer, "T56", queues=3)
    table = json.loads(answer(peer, Code.GET_ALL_TOPIC_CONFIG).body)["topicConfigTable"]
    assert (table["T56"]["readQueueNums"], table["T56"]["perm"]) == (3, 6)
    assert table["TBW102"]["perm"] == 7
    stored(peer, "T56")
    assert answer(peer, Code.DELETE_TOPIC_IN_BROKER, topic="T56").code == 0
    assert pull(peer, "T56", 0).code == 17
    for name, remark in [
        ("SCHEDULE_TOPIC_XXXX", "is conflict with system topic."),
        ("bad topic", "illegal characters"),
    ]:
        found = answer(
            peer,
            Code.UPDATE_AND_CREATE_TOPIC,
            topic=name,
            defaultTopic="TBW102",
            readQueueNums=1,
            writeQueueNums=1,
            perm=6,
            topicFilterType="SINGLE_TAG",
            order=False,
        )
        assert found.code == (1 if peer.release.startswith("4.") else 29)
        assert remark in (found.remark or "")


@probe(57, "query by key")
def query_by_key(peer: Peer) -> None:
    create_topic(peer, "T57")
    stored(peer, "T57", b"one", "KEYS\x01alpha beta\x02UNIQ_KEY\x01U57a")
    stored(peer, "T57", b"two", "KEYS\x01alpha\x02UNIQ_KEY\x01U57b")
    now_ms = peer.now_ms()
    window = {"beginTimestamp": now_ms - 3_600_000, "endTimestamp": now_ms + 3_600_000, "topic": "T57", "maxNum": 32}

    def found(key: str, **more: bool) -> list[bytes] | None:
        got = answer(peer, Code.QUERY_MESSAGE, key=key, **window, **more)
        return sorted(message.body for message in decode_records(got.body)) if got.code == 0 else None

    assert eventually(peer, lambda: found("alpha") if found("alpha") == [b"one", b"two"] else None)
    assert found("beta") == [b"one"]
    assert found("U57b", _UNIQUE_KEY_QUERY=True) == [b"two"]
    none = answer(peer, Code.QUERY_MESSAGE, key="nokey", **window)
    assert (none.code, dict(none.fields)) == (22, {"indexLastUpdateTimestamp": "0", "indexLastUpdatePhyoffset": "0"})


@probe(58, "who is connected")
def who_is_connected(peer: Peer) -> None:
    create_topic(peer, "T58")
    heartbeat(peer, "p58", "c1@1", "CG58", "T58")
    body = json.loads(answer(peer, Code.GET_CONSUMER_CONNECTION_LIST, consumerGroup="CG58").body)
    assert [connection["clientId"] for connection in body["connectionSet"]] == ["c1@1"]
    assert (body["consumeType"], body["messageModel"]) == ("CONSUME_PASSIVELY", "CLUSTERING")
    assert list(body["subscriptionTable"]) == ["T58"]
    offline = answer(peer, Code.GET_CONSUMER_CONNECTION_LIST, consumerGroup="CG58none")
    assert (offline.code, offline.remark) == (206, "the consumer group[CG58none] not online")
    assert answer(peer, Code.GET_PRODUCER_CONNECTION_LIST, producerGroup="PG58none").code == 1


@probe(59, "a request is handed on to a client")
def handed_on(peer: Peer) -> None:
    create_topic(peer, "T59")
    heartbeat(peer, "p59", "c1@1", "CG59", "T59")
    sent = stored(peer, "T59", b"by hand")
    fields = {"consumerGroup": "CG59", "clientId": "c1@1"}
    body = b'{"consumeResult":"CR_SUCCESS"}'
    for code, more in [
        (Code.GET_CONSUMER_RUNNING_INFO, {"jstackEnable": "false"}),
        (Code.CONSUME_MESSAGE_DIRECTLY, {"msgId": sent.fields["msgId"], "brokerName": peer.broker_name}),
    ]:
        notices_dropped(peer, "p59")
        peer.write("p59ask", encode_frame(Command(code, fields | more, opaque=590)))
        (onward,) = eventually(peer, lambda code=code: [it for it in peer.inbox("p59") if it.code == code] or None)
        assert onward.fields["clientId"] == "c1@1"
        if code == Code.CONSUME_MESSAGE_DIRECTLY:
            assert decode_record(onward.body).body == b"by hand"
        peer.reply("p59", onward, Command(0, body=body))
        (found,) = _answers_within(peer, "p59ask", 3 * SECOND, 590)
        assert (found.code, found.body) == (0, body)
    missing = answer(peer, Code.GET_CONSUMER_RUNNING_INFO, consumerGroup="CG59", clientId="zz", jstackEnable=False)
    assert (missing.code, missing.remark) == (1, "The Consumer <CG59> <zz> not online")


def notices_dropped(peer: Peer, channel: str) -> None:
    """Take what has come so far off the channel."""
    peer.sleep(50 * MS)
    peer.inbox(channel)


@probe(60, "a group is sent back in time")
def sent_back_in_time(peer: Peer) -> None:
    """4.9 tells the members (220); 5.3.3 moves the offset itself and tells nobody."""
    create_topic(peer, "T60", queues=1)
    heartbeat(peer, "p60", "c1@1", "CG60", "T60")
    notices_dropped(peer, "p60")
    ask = {"topic": "T60", "group": "CG60", "timestamp": 0, "isForce": True}
    if peer.release.startswith("4."):
        refused = answer(peer, Code.INVOKE_BROKER_TO_RESET_OFFSET, **ask)
        assert (refused.code, refused.remark) == (1, "THe consumer group <CG60> not exist")
    for number in range(3):
        stored(peer, "T60", b"%d" % number)
    fields = {"consumerGroup": "CG60", "topic": "T60", "queueId": 0}
    assert answer(peer, Code.UPDATE_CONSUMER_OFFSET, **fields, commitOffset=3).code == 0
    found = answer(peer, Code.INVOKE_BROKER_TO_RESET_OFFSET, **ask)
    queue = b'{"brokerName":"%s","queueId":0,"topic":"T60"}' % peer.broker_name.encode()
    assert (found.code, found.body) == (0, b'{"offsetTable":{%s:0}}' % queue)
    peer.sleep(200 * MS)
    told = [command for command in peer.inbox("p60") if command.code == Code.RESET_CONSUMER_CLIENT_OFFSET]
    if not peer.release.startswith("4."):
        assert told == []
        return
    assert [(command.fields["group"], command.is_one_way, command.body) for command in told] == [
        ("CG60", True, found.body)
    ]
    assert answer(peer, Code.QUERY_CONSUMER_OFFSET, **fields).fields == {"offset": "3"}


@probe(61, "a client's filter is checked")
def filter_checked(peer: Peer) -> None:
    for kind, code in [("TAG", 0), ("SQL92", 1)]:
        wanted = {"topic": "T", "subString": "a", "expressionType": kind, "subVersion": 1, "tagsSet": [], "codeSet": []}
        body = json.dumps({"clientId": "c1@1", "group": "CG61", "subscriptionData": wanted}).encode()
        assert answer(peer, Code.CHECK_CLIENT_CONFIG, body).code == code
