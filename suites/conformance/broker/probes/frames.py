"""Frames, connections and ports (W01 to W09, W50 to W52)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from harness.targets.releases import row_of
from reference_impl.environment import MS, SECOND
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import BINARY, JSON, ONE_WAY, Command, encode_frame
from suites.conformance.broker.peer import PATIENCE_NS, Peer, answer, create_topic, raw_answers, stored
from suites.conformance.broker.probing import probe


@probe("W01", "frame echo")
def frame_echo(peer: Peer) -> None:
    request = Command(Code.GET_MAX_OFFSET, {"topic": "TBW102", "queueId": "0"}, opaque=123_456_789)
    found = peer.ask(request)
    assert found is not None
    assert (found.opaque, found.flag & 1, found.code) == (123_456_789, 1, 0)


@probe("W02", "one way silence")
def one_way_silence(peer: Peer) -> None:
    create_topic(peer, "T02")
    answer(peer, Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, b'{"groupName":"CG02"}')  # 5.x refuses unknown groups
    fields = {"consumerGroup": "CG02", "topic": "T02", "queueId": "0"}
    update = Command(Code.UPDATE_CONSUMER_OFFSET, fields | {"commitOffset": "11"}, flag=ONE_WAY)
    assert peer.ask(update, timeout_ns=2 * SECOND) is None
    assert answer(peer, Code.QUERY_CONSUMER_OFFSET, **fields).fields == {"offset": "11"}


@probe("W03", "unknown code")
def unknown_code(peer: Peer) -> None:
    found = answer(peer, 9999, a="b")
    assert (found.code, found.remark) == (3, " request type 9999 not supported")


@probe("W04", "unknown one way code is silent")
def unknown_one_way(peer: Peer) -> None:
    assert peer.ask(Command(9999, flag=ONE_WAY), timeout_ns=SECOND) is None
    assert not peer.is_closed("main")


@probe("W05", "bad serialization type closes")
def bad_serialization(peer: Peer) -> None:
    peer.write("probe5", bytes.fromhex("0000001407000010") + b'{"code":30      }')  # 5.x looks at 12 bytes first
    raw = peer.read("probe5", PATIENCE_NS)
    assert (raw.data, raw.closed) == (b"", True)


@probe("W06", "oversize frame closes as soon as its length is read")
def oversize(peer: Peer) -> None:
    peer.write("probe6", (16_777_213).to_bytes(4, "big") + bytes(16))
    raw = peer.read("probe6", PATIENCE_NS)
    assert (raw.data, raw.closed) == (b"", True)


@probe("W07", "binary request")
def binary_request(peer: Peer) -> None:
    request = Command(Code.GET_MAX_OFFSET, {"topic": "TBW102", "queueId": "0"}, serialization=BINARY)
    found = peer.ask(request)
    assert found is not None
    assert found.fields == {"offset": "0"}
    assert found.serialization == (BINARY if row_of(peer.release).is_4 else JSON)


@probe("W08", "pipelined and fragmented frames")
def pipelined_and_fragmented(peer: Peer) -> None:
    def frame(opaque: int) -> bytes:
        return encode_frame(Command(Code.GET_MIN_OFFSET, {"topic": "TBW102", "queueId": "0"}, opaque=opaque))

    peer.write("probe8", frame(81) + frame(82))
    for position in range(0, len(frame(83)), 1):
        peer.write("probe8", frame(83)[position : position + 1])
    found = raw_answers(peer, "probe8", 3)
    assert sorted(command.opaque for command in found) == [81, 82, 83]


@probe("W09", "ext values are strings")
def ext_values_are_strings(peer: Peer) -> None:
    create_topic(peer, "T09")
    stored(peer, "T09")
    fields = {"topic": "T09", "queueId": "0"}
    asked = [
        Command(Code.GET_MAX_OFFSET, fields, opaque=91),
        Command(Code.QUERY_CONSUMER_OFFSET, fields | {"consumerGroup": "CG09"}, opaque=92),
    ]
    peer.write("probe9", b"".join(encode_frame(command) for command in asked))
    data = b""
    while len(headers := list(_json_headers(data))) < len(asked):
        raw = peer.read("probe9", 100 * MS)
        assert not raw.closed
        data += raw.data
    assert [header["opaque"] for header in headers] == [91, 92]
    assert all(isinstance(value, str) for header in headers for value in header["extFields"].values())


def _json_headers(data: bytes) -> Iterator[dict[str, Any]]:
    """Of the whole frames in *data*, as they came."""
    position = 0
    while position + 8 <= len(data):
        total = int.from_bytes(data[position : position + 4], "big")
        length = int.from_bytes(data[position + 4 : position + 8], "big")
        if len(data) < position + 4 + total:
            return
        yield json.loads(data[position + 8 : position + 8 + (length & 0xFFFFFF)])
        position += 4 + total


@probe("W50", "fast port")
def fast_port(peer: Peer) -> None:
    assert answer(peer, Code.GET_ALL_TOPIC_CONFIG, channel="fast:").code == 0
    found = answer(peer, Code.PULL_MESSAGE, channel="fast:", topic="T50", consumerGroup="CG50")
    assert (found.code, found.remark) == (3, " request type 11 not supported")


@probe("W51", "idle close", is_slow=True)
def idle_close(peer: Peer) -> None:
    assert answer(peer, Code.GET_MAX_OFFSET, channel="p51", topic="TBW102", queueId=0).code == 0
    peer.sleep(110 * SECOND)
    assert not peer.is_closed("p51")
    peer.sleep(20 * SECOND)
    assert peer.is_closed("p51")


@probe("W52", "a broken TLS hello")
def broken_tls_hello(peer: Peer) -> None:
    """A permissive Java server sends an alert before it closes, a plain one nothing."""
    peer.write("p52", b"\x16\x03\x01\x00\x05hello" + bytes(64))
    assert peer.read("p52", PATIENCE_NS).closed
    assert answer(peer, Code.GET_MAX_OFFSET, topic="TBW102", queueId=0).code == 0
