"""Pulls (W29 to W34)."""

from __future__ import annotations

import zlib

from harness.targets.releases import row_of
from reference_impl.environment import MS, SECOND
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import Command, encode_frame
from reference_impl.wire.message import (
    body_crc,
    encode_record,
    properties_text,
)
from suites.conformance.broker.peer import (
    Peer,
    create_topic,
    eventually,
    max_offset,
    messages,
    offsets,
    pull,
    raw_answers,
    send,
    stored,
)
from suites.conformance.broker.probing import probe


@probe("W29", "pull round trip")
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


@probe("W30", "pull at the end without suspension")
def pull_at_end(peer: Peer) -> None:
    create_topic(peer, "T30")
    stored(peer, "T30")
    found = pull(peer, "T30", 1)
    assert (found.code, found.remark) == (19, "OFFSET_OVERFLOW_ONE")
    assert offsets(found) == {"suggestWhichBrokerId": 0, "nextBeginOffset": 1, "minOffset": 0, "maxOffset": 1}
    empty = pull(peer, "T30", 0, queue=1)
    assert (empty.code, empty.remark, offsets(empty)["nextBeginOffset"]) == (19, "NO_MESSAGE_IN_QUEUE", 0)


@probe("W31", "P58", "a message wakes a suspended pull")
def suspended_pull_woken(peer: Peer) -> None:
    create_topic(peer, "T31")
    peer.write("probe31", encode_frame(_suspended_pull("T31", 0, 60_000, "*", 31)))
    assert peer.read("probe31", SECOND).data == b""
    assert send(peer, "T31", b"wake").code == 0
    begin_ns = peer.now_ns()
    (found,) = raw_answers(peer, "probe31", 1)
    assert [message.body for message in messages(found)] == [b"wake"]
    assert peer.now_ns() - begin_ns <= 300 * MS + peer.slack_ns


@probe("W31", "P58", "a suspended pull ends")
def suspended_pull_ends(peer: Peer) -> None:
    create_topic(peer, "T31b")
    peer.write("probe31b", encode_frame(_suspended_pull("T31b", 0, 3000, "*", 32)))
    begin_ns = peer.now_ns()
    (found,) = raw_answers(peer, "probe31b", 1)
    assert (found.opaque, found.code) == (32, 19)
    assert 2900 * MS <= peer.now_ns() - begin_ns <= 8900 * MS + peer.slack_ns


@probe("W31", "another tag ends a suspension at the next sweep")
def suspended_pull_other_tag(peer: Peer) -> None:
    create_topic(peer, "T31c")
    peer.write("probe31c", encode_frame(_suspended_pull("T31c", 0, 60_000, "TagA", 33)))
    peer.sleep(200 * MS)
    stored(peer, "T31c", b"b", "TAGS\x01TagB")
    begin_ns = peer.now_ns()
    (found,) = raw_answers(peer, "probe31c", 1)
    assert peer.now_ns() - begin_ns <= 6 * SECOND + peer.slack_ns
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


@probe("W32", "P56", "P57", "pull beyond the end and before the start")
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


@probe("W33", "tag filter")
def tag_filter(peer: Peer) -> None:
    create_topic(peer, "T33")
    stored(peer, "T33", b"b", "TAGS\x01TagB")
    nothing = pull(peer, "T33", 0, expression="TagA")
    assert (nothing.code, offsets(nothing)["nextBeginOffset"], nothing.remark) == (20, 1, "NO_MATCHED_MESSAGE")
    stored(peer, "T33", b"a", "TAGS\x01TagA")
    found = pull(peer, "T33", 0, expression=" TagA || TagC ")
    assert [message.body for message in messages(found)] == [b"a"]
    assert offsets(found)["nextBeginOffset"] == 2


@probe("W34", "pull without heartbeat")
def pull_without_heartbeat(peer: Peer) -> None:
    create_topic(peer, "T34")
    stored(peer, "T34")
    found = pull(peer, "T34", 0, group="CG34", expression=None)
    assert (found.code, found.fields) == (24, {})
    assert (found.remark or "").startswith("the consumer's group info not exist")
    assert pull(peer, "T34", 0, group="CG34").code == 0


@probe("W34", "refused pulls")
def refused_pulls(peer: Peer) -> None:
    illegal = 1 if row_of(peer.release).is_4 else 29
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


@probe("W34", "P65", "at most 32 messages a pull")
def pull_limits(peer: Peer) -> None:
    create_topic(peer, "T34l")
    for number in range(40):
        send(peer, "T34l", b"%d" % number)
    eventually(peer, lambda: max_offset(peer, "T34l") == 40 or None)
    assert len(messages(pull(peer, "T34l", 0, count=64))) == 32
    assert len(messages(pull(peer, "T34l", 0, count=5))) == 5
    assert len(messages(pull(peer, "T34l", 0, count=0))) == 1
