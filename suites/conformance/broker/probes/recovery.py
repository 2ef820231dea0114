"""What a start finds after a stop, a kill and damage (P10 to P22, P61, P62, P69)."""

from __future__ import annotations

from harness.targets.releases import row_of
from reference_impl.environment import MS, SECOND
from reference_impl.wire.bodies import read_delay_offsets
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.fields import ext_fields
from reference_impl.wire.frame import Command, encode_frame
from suites.conformance.broker.lives import FILE_SIZE, LivingPeer, StoreFiles
from suites.conformance.broker.peer import (
    Peer,
    answer,
    create_topic,
    drained,
    eventually,
    max_offset,
    messages,
    pull,
    send,
    stored,
)
from suites.conformance.broker.probes.layout import KEY, place, put
from suites.conformance.broker.probing import Start, life

BODY_AT = 88
"""In a record with IPv4 hosts."""

OFFSET_FILE = "config/consumerOffset.json"
DELAY_FILE = "config/delayOffset.json"


def flip(files: StoreFiles, position: int) -> None:
    """Change one bit of the log."""
    name = f"commitlog/{position - position % FILE_SIZE:020d}"
    at = position % FILE_SIZE
    files.write(name, at, bytes([files.read(name)[at] ^ 1]))


def numbered(peer: Peer, count: int, topic: str = "T", begin: int = 0) -> list[tuple[int, int]]:
    """Store messages ``00000`` … of equal size; their places."""
    return [place(peer, send(peer, topic, b"%05d" % number, KEY)) for number in range(begin, begin + count)]


def bodies(peer: Peer, topic: str = "T", count: int = 0) -> list[int]:
    """The numbers in a queue."""
    return [int(message.body) for message in drained(peer, topic, count)]


def log_files(files: StoreFiles) -> list[str]:
    return [name for name in files.names("commitlog/") if name.rpartition("/")[2].isdigit()]


@life("P10", "a clean stop leaves neither the mark nor files made in advance")
def clean_stop(start: Start) -> None:
    peer = start()
    create_topic(peer, "T")
    places = numbered(peer, 9)
    assert peer.files.size("abort") >= 0
    eventually(peer, lambda: len(log_files(peer.files)) == 2 or None)
    peer.end("stop")
    assert peer.files.size("abort") == -1
    assert log_files(peer.files) == [f"commitlog/{0:020d}"]
    peer.begin()
    assert bodies(peer, count=9) == list(range(9))
    position, _ = numbered(peer, 1, begin=9)[0]
    assert position == places[-1][0] + places[-1][1]
    assert bodies(peer, count=10) == list(range(10))


@life("P11", "P20", "a kill leaves the mark and loses nothing")
def killed(start: Start) -> None:
    peer = start()
    create_topic(peer, "T")
    places = numbered(peer, 20)
    eventually(peer, lambda: len(log_files(peer.files)) == 2 or None)
    peer.end("kill")
    assert peer.files.size("abort") >= 0
    made = log_files(peer.files)
    assert len(made) == 2
    assert not any(peer.files.read(made[1]))
    peer.begin()
    assert log_files(peer.files) == made[:1]
    assert bodies(peer, count=20) == list(range(20))
    assert numbered(peer, 1)[0][0] == sum(places[-1])


@life("P12", "with write buffers a kill takes the newest messages only")
def buffered(start: Start) -> None:
    """A new file has a buffer, one that a start has found has none. A commit just before the kill is bad luck; so it
    comes every two seconds here, not five times a second."""
    assert any(lost_by_kill(start) for _ in range(4))


def lost_by_kill(start: Start) -> int:
    rarely = {"commitIntervalCommitLog": "2000", "commitCommitLogThoroughInterval": "2000"}
    peer = start(transientStorePoolEnable="true", flushDiskType="ASYNC_FLUSH", **rarely)
    create_topic(peer, "T")
    numbered_with_patience(peer, 20)
    fields = {"a": "PG", "b": "T", "c": "TBW102", "d": 4, "e": 0, "f": 0, "g": peer.now_ms(), "h": 0}
    fields |= {"i": KEY, "j": 0, "k": False, "m": False}
    for number in range(20, 60):
        peer.write("p12", encode_frame(Command(Code.SEND_MESSAGE_V2, ext_fields(**fields), b"%05d" % number)))
    eventually(peer, lambda: peer.talker.channels["p12"].data.count(b"queueOffset") >= 40 or None)
    peer.again("kill")
    kept = max_offset(peer, "T")
    assert 20 <= kept <= 60
    found = [int(message.body) for message in messages(pull(peer, "T", 0, count=64))]
    assert found == list(range(len(found)))
    assert int(send(peer, "T", b"00000", KEY).fields["queueOffset"]) == kept
    return 60 - kept


def numbered_with_patience(peer: Peer, count: int) -> None:
    """Messages that have left the buffer when this returns."""
    for number in range(count):
        assert send(peer, "T", b"%05d" % number, KEY).code == 0
    eventually(peer, lambda: max_offset(peer, "T") == count or None)


@life("P13", "a flipped body ends the log, a torn property does not")
def damaged_last_record(start: Start) -> None:
    peer = start()
    create_topic(peer, "T")
    position, _ = numbered(peer, 5)[-1]
    peer.again("kill", lambda files: flip(files, position + BODY_AT))
    eventually(peer, lambda: max_offset(peer, "T") == 4 or None)
    sent = stored(peer, "T", b"00099", KEY)
    assert (int(sent.fields["queueOffset"]), place(peer, sent)[0]) == (4, position)
    end = sum(place(peer, sent))
    peer.again("kill", lambda files: files.write(f"commitlog/{0:020d}", end - 1, b"\0"))
    (message,) = messages(pull(peer, "T", 4))
    assert (message.body, message.properties[-1]) == (b"00099", "\0")


@life("P14", "what lies behind a damaged record is gone, of all topics")
def damaged_middle(start: Start) -> None:
    peer = start()
    for topic in ("T", "U"):
        create_topic(peer, topic)
    numbered(peer, 4)
    position, _ = numbered(peer, 1, begin=4)[0]
    numbered(peer, 3, "U")
    numbered(peer, 3, begin=5)
    peer.again("kill", lambda files: flip(files, position + BODY_AT))
    assert bodies(peer, count=4) == [0, 1, 2, 3]
    assert max_offset(peer, "U") == 0


@life("P15", "damage in a file that is not scanned goes unnoticed", is_slow=True)
def unscanned_damage(start: Start) -> None:
    """The scan begins with the newest file whose first record is 3 s older than the checkpoint."""
    peer = start()
    create_topic(peer, "T")
    position, _ = numbered(peer, 1)[0]
    while put(peer, 4000)[0] < FILE_SIZE:
        pass
    peer.sleep(5 * SECOND)
    numbered(peer, 1)
    peer.sleep(12 * SECOND)  # a thorough flush
    peer.again("stop")
    count = max_offset(peer, "T")
    peer.again("kill", lambda files: flip(files, position + BODY_AT + 4))
    eventually(peer, lambda: max_offset(peer, "T") == count or None)
    found = messages(pull(peer, "T", 0))[0]
    assert (found.body, found.crc_matches()) == (b"00001", False)


@life("P16", "a flipped topic makes another topic")
def damaged_topic(start: Start) -> None:
    peer = start()
    create_topic(peer, "Tab")
    position, _ = numbered(peer, 3, "Tab")[-1]
    peer.again("kill", lambda files: flip(files, position + BODY_AT + 5 + 1 + 2))  # body, length of the topic, "Ta"
    create_topic(peer, "Tac")
    eventually(peer, lambda: max_offset(peer, "Tac") == 3 or None)
    (message,) = messages(pull(peer, "Tac", 2))
    assert (message.topic, message.body) == ("Tac", b"00002")


@life("P17", "queues are rebuilt from the first file on")
def queues_lost(start: Start) -> None:
    peer = start()
    create_topic(peer, "T")
    numbered(peer, 9)
    count = 10
    while put(peer, 8000, "T")[0] < FILE_SIZE:
        count += 1

    def damage(files: StoreFiles) -> None:
        for name in [*files.names("consumequeue/"), "checkpoint"]:
            files.delete(name)
        files.truncate("abort", 0)

    peer.again("stop", damage)
    eventually(peer, lambda: max_offset(peer, "T") == count or None)
    assert [int(message.body) for message in messages(pull(peer, "T", 0, count=9))] == list(range(9))


@life("W67", "a torn unit of a queue stays torn")
def torn_unit(start: Start) -> None:
    """Units lie across sectors and pages: a power cut may keep the size of one and lose its offset.

    Apache's broker takes it, and it then points at the first record of the log; the reference builds it again.
    """
    peer = start(flushDiskType="SYNC_FLUSH")
    create_topic(peer, "T")
    numbered(peer, 10)
    peer.again("kill", lambda files: files.write(f"consumequeue/T/0/{0:020d}", 5 * 20, bytes(8)))
    sent = stored(peer, "T", b"00010", KEY)
    assert int(sent.fields["queueOffset"]) == 10
    expected = [0, 1, 2, 3, 4, 0 if start.is_apache else 5, 6, 7, 8, 9, 10]
    assert bodies(peer, count=11) == expected
    peer.again("stop")
    assert bodies(peer, count=11) == expected


@life("P18", "without a log the queues go")
def log_lost(start: Start) -> None:
    peer = start()
    create_topic(peer, "T")
    numbered(peer, 5)

    def damage(files: StoreFiles) -> None:
        for name in files.names("commitlog/"):
            files.delete(name)

    peer.again("stop", damage)
    assert max_offset(peer, "T") == 0
    sent = stored(peer, "T", b"00007", KEY)
    assert (int(sent.fields["queueOffset"]), place(peer, sent)[0]) == (0, 0)


@life("P19", "a log file of the wrong size")
def wrong_size(start: Start) -> None:
    """4.9 does not start; 5.x takes an empty last file away and starts."""
    is_4 = row_of(start.release).is_4
    peer = start()
    create_topic(peer, "T")
    numbered(peer, 3)
    peer.end("stop")
    last = f"commitlog/{FILE_SIZE:020d}"
    peer.files.truncate(last, 100)
    assert peer.refuses_to_start() == row_of(start.release).refused_start_exit
    peer.files.truncate(last, 0)
    if is_4:
        assert peer.refuses_to_start() == 253
        peer.files.delete(last)
    peer.begin()
    assert bodies(peer, count=3) == [0, 1, 2]


@life("P21", "old records behind a cut come back")
def resurrection(start: Start) -> None:
    """Equal sizes: the record written over the damaged one ends where an old one begins."""
    peer = start()
    create_topic(peer, "T")
    places = numbered(peer, 9, begin=1)
    peer.again("kill", lambda files: flip(files, places[4][0] + BODY_AT))
    assert bodies(peer, count=4) == [1, 2, 3, 4]
    sent = stored(peer, "T", b"00055", KEY)
    assert place(peer, sent) == places[4]
    peer.again("kill")
    assert bodies(peer, count=9) == [1, 2, 3, 4, 55, 6, 7, 8, 9]
    assert int(send(peer, "T", b"00010", KEY).fields["queueOffset"]) == 9


@life("P22", "a second process on the same store is refused", needs="processes")
def second_process(start: Start) -> None:
    peer = start()
    create_topic(peer, "T")
    numbered(peer, 2)
    code, words = peer.second_process()
    assert code == 255
    assert "Lock failed" in words
    assert bodies(peer, count=2) == [0, 1]
    numbered(peer, 1, begin=2)
    assert bodies(peer, count=3) == [0, 1, 2]


# Consumer offsets and delays -----------------------------------------------------------------------------------------


def commit(peer: Peer, offset: int) -> None:
    fields = {"consumerGroup": "CG", "topic": "T", "queueId": 0, "commitOffset": offset}
    assert answer(peer, Code.UPDATE_CONSUMER_OFFSET, **fields).code == 0


def committed(peer: Peer) -> Command:
    return answer(peer, Code.QUERY_CONSUMER_OFFSET, consumerGroup="CG", topic="T", queueId=0)


def with_group(start: Start) -> LivingPeer:
    """A queue of messages, and a group that is known."""
    peer: LivingPeer = start()
    create_topic(peer, "T")
    answer(peer, Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, b'{"groupName":"CG"}')
    numbered(peer, 9)
    return peer


@life("P61", "a kill takes commits back to the last save", is_slow=True)
def commits_after_kill(start: Start) -> None:
    peer = with_group(start)
    commit(peer, 2)
    peer.sleep(16 * SECOND)
    for offset in (3, 4, 5):
        commit(peer, offset)
    peer.again("kill")
    assert 2 <= int(committed(peer).fields["offset"]) <= 5
    commit(peer, 6)
    peer.again("stop")
    assert committed(peer).fields == {"offset": "6"}


@life("P62", "the copy of an unreadable file counts, and two unreadable ones end the broker")
def unreadable_offsets(start: Start) -> None:
    peer = with_group(start)
    commit(peer, 4)
    peer.again("stop")
    peer.end("stop")
    copy = f"{OFFSET_FILE}.bak"
    assert peer.files.size(copy) > 0
    for text in (b"", b"{no json"):
        peer.files.truncate(OFFSET_FILE, 0)
        peer.files.write(OFFSET_FILE, 0, text)
        peer.begin()
        assert committed(peer).fields == {"offset": "4"}
        peer.end("kill")
    for name in (OFFSET_FILE, copy):
        peer.files.truncate(name, 0)
    peer.begin()
    assert committed(peer).fields.get("offset", "0") == "0"
    peer.end("kill")
    for name in (OFFSET_FILE, copy):
        peer.files.truncate(name, 0)
        peer.files.write(name, 0, b"{no json")
    assert peer.refuses_to_start() == row_of(start.release).refused_start_exit


@life("P69", "delayed messages delivered since the last save come again")
def delayed_again(start: Start) -> None:
    """Ten seconds after the start comes the first save: on a busy machine it may come before the kill."""
    assert any(came_again(start) == 10 for _ in range(4))


def came_again(start: Start) -> int:
    """How many of ten delayed messages were delivered twice; they are those that the file does not tell of."""
    peer = start()
    create_topic(peer, "T")
    for number in range(10):
        assert send(peer, "T", b"%05d" % number, "DELAY\x011").code == 0
    eventually(peer, lambda: max_offset(peer, "T") == 10 or None)
    peer.end("kill")
    has_saved = peer.files.size(DELAY_FILE) > 0
    saved = read_delay_offsets(peer.files.read(DELAY_FILE)).get(1, 0) if has_saved else 0
    peer.begin()
    eventually(peer, lambda: max_offset(peer, "T") == 20 - saved or None)
    peer.sleep(500 * MS)
    assert sorted(bodies(peer)) == sorted([*range(10), *range(saved, 10)])
    return 10 - saved
