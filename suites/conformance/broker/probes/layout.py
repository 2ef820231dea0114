"""What is appended, and where (P02 to P09)."""

from __future__ import annotations

from harness.targets.releases import row_of
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.fields import ext_fields
from reference_impl.wire.frame import Command, encode_frame
from reference_impl.wire.message import BatchEntry, decode_record, encode_batch, parse_message_id
from suites.conformance.broker.lives import FILE_SIZE
from suites.conformance.broker.peer import (
    Peer,
    answer,
    create_topic,
    drained,
    eventually,
    max_offset,
    raw_answers,
    send,
)
from suites.conformance.broker.probing import Start, life, probe

FIRST, SECOND_FILE = (f"commitlog/{start:020d}" for start in (0, FILE_SIZE))
KEY = "UNIQ_KEY\x01K"
"""5.x makes a key of its own, of a length of its own, where there is none."""


def place(peer: Peer, sent: Command) -> tuple[int, int]:
    """(physical offset, size) of a message."""
    position = parse_message_id(sent.fields["msgId"].partition(",")[0])[1]
    return position, decode_record(answer(peer, Code.VIEW_MESSAGE_BY_ID, offset=position).body).size


def put(peer: Peer, size: int, topic: str = "T") -> tuple[int, int]:
    """Store a body of *size* bytes."""
    sent = send(peer, topic, bytes(size), KEY)
    assert sent.code == 0, sent
    return place(peer, sent)


def fill_until(peer: Peer, left: int) -> None:
    """Leave exactly *left* bytes of the first file."""
    position, size = put(peer, 1)
    own = size - 1
    room = FILE_SIZE - (position + size) - left
    while room > 4000:
        put(peer, 2000 - own)
        room -= 2000
    assert put(peer, room - own) == (FILE_SIZE - left - room, room)


NO_GROUP = 26


@life("P02", "a record that leaves eight bytes is accepted and a blank ends the file")
def eight_bytes_left(start: Start) -> None:
    peer = start()
    create_topic(peer, "T")
    fill_until(peer, 8)
    assert put(peer, 1)[0] == FILE_SIZE
    assert peer.files.read(FIRST)[-8:] == bytes.fromhex("00000008cbd43194")


@life("P02", "P06", "what does not fit goes to the next file, a batch as a whole")
def rolled_batch(start: Start) -> None:
    peer = start()
    create_topic(peer, "T")
    fill_until(peer, 300)
    entries = [BatchEntry(bytes(100), f"{KEY}{number}") for number in range(3)]
    found = send(peer, "T", encode_batch(entries), "", code=Code.SEND_BATCH_MESSAGE, m=True)
    assert found.code == 0
    places = [parse_message_id(text)[1] for text in found.fields["msgId"].split(",")]
    assert places[0] == FILE_SIZE
    assert places == sorted(places)
    end = int(found.fields["queueOffset"]) + 3
    eventually(peer, lambda: max_offset(peer, "T") >= end or None)
    assert max_offset(peer, "T") == end
    assert peer.files.read(FIRST)[-300:-292] == (300).to_bytes(4, "big") + bytes.fromhex("cbd43194")


@life("P03", "a body of the limit and one byte more")
def body_limit(start: Start) -> None:
    peer = start(maxMessageSize="1000")
    create_topic(peer, "T")
    position, size = put(peer, 1000)
    assert send(peer, "T", bytes(1001), KEY).code == 13
    assert put(peer, 1)[0] == position + size


@probe("P04", "a topic of 127 and of 128 characters")
def topic_limit(peer: Peer) -> None:
    assert send(peer, "p" * 127).code == 0
    release = row_of(peer.release)
    code = 1 if release.is_4 else 29
    for topic in ("p" * 128, "%RETRY%" + "p" * 121):
        expected, words = code, "longer than topic max length"
        if release.retries_need_group and topic.startswith("%RETRY%"):
            expected, words = NO_GROUP, "subscription group not exist"
        found = send(peer, topic)
        assert (found.code, words in (found.remark or "")) == (expected, True)


@probe("P05", "properties of the limit and one byte more")
def properties_limit(peer: Peer) -> None:
    """The stored text counts: 4.9 adds ``CLUSTER``, 5.x some 140 bytes."""
    create_topic(peer, "TP05")
    if row_of(peer.release).is_4:
        room = 32_767 - len(f"\x02CLUSTER\x01{peer.cluster}")
        fits, too_many = room, room + 1
    else:
        fits, too_many = 32_500, 32_700
    for size, code in [(fits, 0), (too_many, 13)]:
        assert send(peer, "TP05", properties="k\x01" + "v" * (size - 2)).code == code


@probe("P07", "a batch is neither delayed nor transactional")
def batch_types(peer: Peer) -> None:
    create_topic(peer, "TP07")
    body = encode_batch([BatchEntry(b"one"), BatchEntry(b"two")])
    assert send(peer, "TP07", body, "DELAY\x011", code=Code.SEND_BATCH_MESSAGE, m=True).code == 13
    assert send(peer, "TP07", body, code=Code.SEND_BATCH_MESSAGE, m=True, f=4).code == 13
    inner = encode_batch([BatchEntry(b"inner", "DELAY\x011")])
    assert send(peer, "TP07", inner, code=Code.SEND_BATCH_MESSAGE, m=True).code == 0
    (message,) = drained(peer, "TP07", 1)
    assert (message.body, message.property_map()["DELAY"]) == (b"inner", "1")


@probe("P08", "two producers and one queue")
def dense_and_in_order(peer: Peer) -> None:
    create_topic(peer, "TP08")
    fields = {"a": "PG", "b": "TP08", "c": "TBW102", "d": 4, "e": 0, "f": 0, "g": peer.now_ms(), "h": 0}
    fields |= {"i": "", "j": 0, "k": False, "m": False}
    for number in range(200):
        frame = encode_frame(Command(Code.SEND_MESSAGE_V2, ext_fields(**fields), b"%d" % number, opaque=number + 1))
        peer.write(f"p08{number % 2}", frame)
    answers: list[Command] = []
    for channel in ("p080", "p081"):
        answers += raw_answers(peer, channel, 100)
    assert {found.code for found in answers} == {0}
    numbered = {int(found.fields["queueOffset"]): parse_message_id(found.fields["msgId"])[1] for found in answers}
    assert sorted(numbered) == list(range(200))
    places = [numbered[offset] for offset in range(200)]
    assert places == sorted(places)
    times = [decode_record(answer(peer, Code.VIEW_MESSAGE_BY_ID, offset=p).body).store_timestamp for p in places[::20]]
    assert times == sorted(times)


@probe("P09", "what becomes of WAIT")
def wait_property(peer: Peer) -> None:
    create_topic(peer, "TP09")
    sent = send(peer, "TP09", b"w", "WAIT\x01true\x02k\x01v")
    position = parse_message_id(sent.fields["msgId"])[1]
    record = decode_record(answer(peer, Code.VIEW_MESSAGE_BY_ID, offset=position).body)
    told = record.property_map()
    assert (told["CLUSTER"], told["k"]) == (peer.cluster, "v")
    assert ("WAIT" in told) is not row_of(peer.release).is_4
    assert record.properties.endswith("\x02") is not row_of(peer.release).is_4
