"""Findings that one hostile frame shows (``suites/hostile/one_frame.py`` tells the figures to a person).

Question: of a hundred messages that are acknowledged after the frame, how many can be read, and how many after a kill?
"""

from __future__ import annotations

from typing import Final

from reference_impl.environment import SECOND
from reference_impl.wire.codes import RequestCode as Code
from suites.conformance.broker.lives import LivingPeer, ProcessStart
from suites.conformance.broker.peer import answer, create_topic, max_offset, send
from suites.findings.seen import Seen, there_if

COUNT: Final = 100
SETTLE_NS: Final = 3 * SECOND
REPORT: Final = 1 << 62


def sysflag(start: ProcessStart) -> Seen:
    """A bit by which the broker tells how long the host in a record is."""
    peer = _peer(start)
    return _what_is_left(peer, send(peer, "T", b"flagged", queue=1, f=0x10).code)


def folder(start: ProcessStart) -> Seen:
    """A message is sent back by a group that is a path."""
    return _sent_back(_peer(start), "../../evil")


def long_group(start: ProcessStart) -> Seen:
    """A message is sent back by a group of a hundred two-byte letters."""
    return _sent_back(_peer(start), "é" * 100)


def ha_report(start: ProcessStart) -> Seen:
    """A slave's report of 2^62 from somebody who is no slave."""
    peer = _peer(start, brokerRole="SYNC_MASTER", inSyncReplicas="2")
    alone = send(peer, "T", b"alone").code
    if alone == 0:
        return Seen("undecided", "the master acknowledged without a slave before anybody reported")
    peer.write("ha:1", REPORT.to_bytes(8, "big"))
    peer.sleep(SETTLE_NS)
    codes = [send(peer, "T", b"x").code for _ in range(3)]
    return there_if(0 in codes, f"without a slave it answers {alone}, after the report {codes}")


def _peer(start: ProcessStart, **properties: str) -> LivingPeer:
    peer = start(flushDiskType="SYNC_FLUSH", **properties)
    create_topic(peer, "T")
    return peer


def _sent_back(peer: LivingPeer, group: str) -> Seen:
    place = int(send(peer, "T", b"first", queue=1).fields["msgId"][16:], 16)
    fields = {"offset": place, "group": group, "delayLevel": -1, "originTopic": "T", "maxReconsumeTimes": 16}
    told = answer(peer, Code.CONSUMER_SEND_MSG_BACK, unitMode=False, originMsgId="", **fields).code  # type: ignore[arg-type]
    return _what_is_left(peer, told)


def _what_is_left(peer: LivingPeer, told: int) -> Seen:
    acknowledged = sum(send(peer, "T", b"%d" % number).code == 0 for number in range(COUNT))
    peer.sleep(SETTLE_NS)
    before = max_offset(peer, "T")
    peer.again("kill")
    peer.sleep(SETTLE_NS)
    after = max_offset(peer, "T")
    said = f"answered {told}; of {acknowledged} acknowledged after it {before} can be read, {after} after a kill"
    return there_if(min(before, after) < acknowledged, said)
