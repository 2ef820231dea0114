"""One frame of one client: what is acknowledged before and after it must survive it, and so must the broker.

Question: names, lengths and flags come from clients, and a start, a dispatch or a path relies on them; which of them
gets past the door? Each case is one request, then acknowledged messages under SYNC_FLUSH, then the end of the process.
"""

from __future__ import annotations

import pytest

from reference_impl.environment import SECOND
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import Command
from suites.conformance.broker.backend_peer import BackendPeer, simulated
from suites.conformance.broker.peer import answer, create_topic, drained, max_offset, send, stored

COUNT = 20
GROUPS = [
    "a/b",
    "../../evil",
    "..",
    "a\0b",
    "",
    "g" * 300,
    "é" * 100,
    "%DLQ%a/0/00000000000000000000",
    "\ufffe",
    "a b",
    "²",
]
HOW = ["kill", "stop", "cut_power"]


def sent_back(peer: BackendPeer, group: str, level: int) -> Command:
    """A consumer of *group* sends the first message of T back."""
    first = stored(peer, "T", b"first")
    return answer(
        peer,
        Code.CONSUMER_SEND_MSG_BACK,
        offset=int(first.fields["msgId"][16:], 16),
        group=group,
        delayLevel=level,
        maxReconsumeTimes=16,
    )


def nothing_is_lost(peer: BackendPeer, how: str, count: int = COUNT, before: int = 1) -> None:
    """*count* more messages are stored, the broker ends and comes back, and all of them are there."""
    for number in range(count):
        assert send(peer, "T", b"%d" % number).code == 0
    peer.sleep(15 * SECOND)  # what was delayed comes due, tables are saved
    peer.restart(how=how)
    if how == "cut_power":
        create_topic(peer, "T")
    bodies = [message.body for message in drained(peer, "T", before + count)]
    assert bodies[before:] == [b"%d" % number for number in range(count)]
    peer.sleep(15 * SECOND)
    assert send(peer, "T", b"and on").code == 0


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("level", [-1, 0, 1])
@pytest.mark.parametrize("group", GROUPS)
def test_whatever_a_group_is_called_its_message_costs_no_other(group: str, level: int, how: str) -> None:
    peer = simulated(flushDiskType="SYNC_FLUSH")
    create_topic(peer, "T")
    sent_back(peer, group, level)
    nothing_is_lost(peer, how)


@pytest.mark.parametrize("group", ["a/b", "../../evil", "..", "a\0b", "é" * 100])
def test_a_retry_that_no_folder_can_be_named_after_is_refused(group: str) -> None:
    """Upon which RocketMQ's consumer sends the message itself, and is refused by name."""
    peer = simulated()
    create_topic(peer, "T")
    for level in (-1, 1):
        refused = sent_back(peer, group, level)
        is_named_well = group == ".."  # %RETRY%.. is a name like any other
        assert refused.code == (0 if is_named_well else 1)


@pytest.mark.parametrize("queue", ["²", "-5", "4294967296", "1" * 40, ""])
@pytest.mark.parametrize("topic", ["../evil", "T", "a\0b"])
def test_what_a_message_says_of_its_real_place_is_checked_when_it_gets_there(topic: str, queue: str) -> None:
    """A plain message that looks like a half, and its end: the final message goes where its properties say."""
    peer = simulated(flushDiskType="SYNC_FLUSH")
    create_topic(peer, "T")
    properties = f"PGROUP\1PG\2REAL_TOPIC\1{topic}\2REAL_QID\1{queue}"
    half = stored(peer, "T", b"first", properties)
    place = int(half.fields["msgId"][16:], 16)
    ended = answer(
        peer,
        Code.END_TRANSACTION,
        producerGroup="PG",
        tranStateTableOffset=int(half.fields["queueOffset"]),
        commitLogOffset=place,
        commitOrRollback=8,
    )
    assert ended.code != 0
    nothing_is_lost(peer, "kill")


@pytest.mark.parametrize("delay", ["1", "0", "-1", "99", "1e3", "²", " 1", "1_0", "4294967297"])
def test_a_delay_that_is_no_level_costs_no_message(delay: str) -> None:
    peer = simulated(flushDiskType="SYNC_FLUSH")
    create_topic(peer, "T")
    stored(peer, "T", b"first")
    send(peer, "T", b"late", f"DELAY\1{delay}", queue=1)
    nothing_is_lost(peer, "kill")


@pytest.mark.parametrize("how", ["kill", "stop"])
@pytest.mark.parametrize("flag", [0x10, 0x20, 0x30])
def test_a_client_that_sets_a_host_bit_cuts_the_log_as_with_rocketmq(flag: int, how: str) -> None:
    """Finding 21: on 4.9.7 and 5.3.3 the next start ends the log before that message. With strictSysFlag it is
    refused."""
    peer = simulated(flushDiskType="SYNC_FLUSH")
    create_topic(peer, "T")
    stored(peer, "T", b"first")
    assert send(peer, "T", b"flagged", queue=1, f=flag).code == 0
    for number in range(COUNT):
        assert send(peer, "T", b"%d" % number).code == 0
    peer.restart(how=how)
    assert max_offset(peer, "T") == 1

    strict = simulated(flushDiskType="SYNC_FLUSH", strictSysFlag="true")
    create_topic(strict, "T")
    stored(strict, "T", b"first")
    assert send(strict, "T", b"flagged", queue=1, f=flag).code == 13
    nothing_is_lost(strict, how)
