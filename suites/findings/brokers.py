"""Findings that one broker shows to whoever asks it: acts that decide.

Question: as the probes of the conformance suite, but a probe allows for what the reference does otherwise and for what
is known of two releases; here each act says what was seen, of any release.
"""

from __future__ import annotations

from typing import Final

from reference_impl.client import TransactionState
from reference_impl.environment import MS, SECOND
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import parse_lenient
from reference_impl.wire.fields import ext_fields
from reference_impl.wire.frame import Command, encode_frame
from suites.conformance.broker.lives import ProcessStart, StoreFiles
from suites.conformance.broker.peer import (
    answer,
    create_topic,
    eventually,
    heartbeat,
    max_offset,
    messages,
    pull,
    raw_answers,
    send,
    stored,
)
from suites.conformance.broker.probes.administration import commit
from suites.conformance.broker.probes.folders import passed_over
from suites.conformance.broker.probes.layout import KEY
from suites.conformance.broker.probes.recovery import bodies, numbered
from suites.conformance.broker.probes.transactions import Application, visible
from suites.findings.seen import Seen, there_if

AT_ONCE: Final = 4000
BODY_BYTES: Final = 8192
SYSTEM_BUSY: Final = 2
TRANSACTIONS: Final = 16
PASSED_OVER: Final = "TIMEOUT_CLEAN_QUEUE"
MANY_FILES: Final = 48
"""Messages of eight KiB, seven to a log file of 64."""
DELETED_WITHIN_NS: Final = 150 * SECOND
"""A broker looks for old files every ten seconds, from the first minute of its life on."""
BROKERS: Final = 4
"""Each shows it or not, once in its life."""
ASKED_AFTERWARDS: Final = 150
"""Fifteen seconds: where the beginnings of queues are corrected apart from the files, it takes ten at most."""


def overloaded(start: ProcessStart) -> Seen:
    """More sends at once than one thread stores within 200 ms."""
    peer = start(sendMessageThreadPoolNums="1", waitTimeMillsInSendQueue="200", sendThreadPoolQueueCapacity="10000")
    create_topic(peer, "T")
    fields = {"a": "PG", "b": "T", "c": "TBW102", "d": 4, "e": 0, "f": 0, "g": peer.now_ms(), "h": 0}
    fields |= {"i": "", "j": 0, "k": False, "m": False}
    body = bytes(BODY_BYTES)
    frames = [
        encode_frame(Command(Code.SEND_MESSAGE_V2, ext_fields(**fields), body, opaque=number, version=401))
        for number in range(1, AT_ONCE + 1)
    ]
    peer.write("many", b"".join(frames))
    answers = raw_answers(peer, "many", AT_ONCE)
    refused = [found for found in answers if found.code == SYSTEM_BUSY and PASSED_OVER in (found.remark or "")]
    others = sum(found.code != 0 for found in answers) - len(refused)
    return there_if(bool(refused), f"{len(refused)} of {AT_ONCE} sends refused so, {others} otherwise")


def query_forgets(start: ProcessStart) -> Seen:
    """QUERY_CORRECTION_OFFSET with a filter; what is left of the group that was filtered out."""
    peer = start()
    create_topic(peer, "T", queues=1)
    for number in range(9):
        stored(peer, "T", b"%d" % number)
    for group, offset in (("CG", 3), ("CGb", 2)):
        heartbeat(peer, f"p{group}", "c1@1", group, "T")
        commit(peer, group, "T", offset)
    before = _groups(peer)
    answer(peer, Code.QUERY_CORRECTION_OFFSET, topic="T", compareGroup="CG", filterGroups="CGb")
    after = _groups(peer)
    if "CGb" not in before:
        return Seen("undecided", f"the broker shows the offsets of {sorted(before)} only")
    return there_if("CGb" not in after, f"groups with offsets before {sorted(before)}, after {sorted(after)}")


def _groups(peer: object) -> set[str]:
    table = parse_lenient(answer(peer, Code.GET_ALL_CONSUMER_OFFSET).body)["offsetTable"]  # type: ignore[arg-type]
    return {key.partition("@")[2] for key in table}


def torn_unit(start: ProcessStart) -> Seen:
    """Eight bytes of the sixth unit are zeroed while the broker is dead."""
    peer = start(flushDiskType="SYNC_FLUSH")
    create_topic(peer, "T")
    numbered(peer, 10)
    peer.again("kill", lambda files: files.write(f"consumequeue/T/0/{0:020d}", 5 * 20, bytes(8)))
    eventually(peer, lambda: max_offset(peer, "T") >= 10 or None)
    found = bodies(peer, count=10)
    if found == list(range(10)):
        return Seen("gone", "the queue has all ten messages")
    return there_if(5 not in found, f"whoever reads ten messages gets {found}")


def committed_twice(start: ProcessStart) -> Seen:
    """Many transactions, so that a look of the broker falls between a commit and its note."""
    peer = start(transactionCheckInterval="4000", transactionTimeOut="2000")
    create_topic(peer, "T")
    application = Application(peer, *[TransactionState.COMMIT] * TRANSACTIONS)
    for number in range(TRANSACTIONS):
        application.send("T", b"%02d" % number)
        peer.sleep(500 * MS)
    peer.sleep(12 * SECOND)
    found = visible(peer, "T")
    if len(set(found)) < TRANSACTIONS:
        return Seen("undecided", f"{len(set(found))} of {TRANSACTIONS} committed messages can be read")
    twice = len(found) - len(set(found))
    asked = len(set(application.checked))
    return there_if(twice > 0, f"of {TRANSACTIONS} committed {asked} were asked about and {twice} stored a second time")


def full_folder(start: ProcessStart) -> Seen:
    """A kill after the first of two folders was nearly full."""
    peer, count = passed_over(start)
    peer.again("kill")
    is_whole = _settles_at(peer, count)
    if is_whole:
        return Seen("gone", f"all {count} messages are there")
    kept = send(peer, "T", b"next", KEY)
    return there_if(
        int(kept.fields["queueOffset"]) < count, f"{kept.fields['queueOffset']} of {count} messages are left"
    )


def damaged_twice(start: ProcessStart) -> Seen:
    """A flipped byte in each of two log files: the last but two, which an orderly start reads, and the one before."""
    peer = start(flushDiskType="SYNC_FLUSH")
    create_topic(peer, "T", queues=1)
    for _ in range(MANY_FILES):
        stored(peer, "T", bytes(BODY_BYTES))
    peer.again("stop", _flip_twice)
    stored(peer, "Later")
    peer.again("stop")
    peer.sleep(3 * SECOND)
    left = max_offset(peer, "Later")
    return there_if(left == 0, f"of one message acknowledged after the first start {left} is left after the second")


def reader_of_another_queue(start: ProcessStart) -> Seen:
    """Queue 0 has the first message of the log and the last one; who asks for the first while the broker deletes it.
    Files and the beginnings of queues are looked after by two threads at the same second, so chance decides."""
    for number in range(1, BROKERS + 1):
        seen = _asked_while_deleted(start)
        if seen.state != "gone":
            return Seen(seen.state, f"broker {number}: {seen.sentence}")
    return Seen("gone", f"{BROKERS} brokers: {seen.sentence}")


def _asked_while_deleted(start: ProcessStart) -> Seen:
    peer = start(fileReservedTime="0", deleteWhen=";".join(f"{hour:02}" for hour in range(24)))
    create_topic(peer, "T", queues=2)
    for queue in (0, *[1] * (MANY_FILES - 1), 0):
        stored(peer, "T", bytes(BODY_BYTES), queue=queue)
    asked, end_ns = 0, peer.now_ns() + DELETED_WITHIN_NS
    while peer.now_ns() < end_ns:
        found = pull(peer, "T", 0, count=1)
        got = messages(found)[0] if found.code == 0 else None
        if got is not None and got.queue_id != 0:
            return Seen("there", f"who asked queue 0 for offset 0 got what stands in queue 1 at {got.queue_offset}")
        if got is None and f"commitlog/{0:020}" not in peer.files.names("commitlog"):
            asked += 1
        if asked == ASKED_AFTERWARDS:
            return Seen("gone", f"the file of the message is deleted, and {asked} times the answer was {found.code}")
        peer.sleep(100 * MS)
    return Seen("undecided", f"no log file was deleted within {DELETED_WITHIN_NS // SECOND} s")


def _flip_twice(files: StoreFiles) -> None:
    for name in files.names("commitlog")[-4:-2]:
        assert files.read(name)[BODY_BYTES // 2] == 0
        files.write(name, BODY_BYTES // 2, b"\x01")


def _settles_at(peer: object, count: int) -> bool:
    try:
        eventually(peer, lambda: max_offset(peer, "T") == count or None, 20 * SECOND)  # type: ignore[arg-type]
    except AssertionError:
        return False
    return True
