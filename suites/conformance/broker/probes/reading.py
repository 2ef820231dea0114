"""Limits of reads, the default of an unknown offset, in-sync replicas of 5.x (P45 to P47, P56, P59, P65, P66)."""

from __future__ import annotations

import pytest

from harness.targets.releases import row_of
from reference_impl.environment import SECOND
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.fields import ext_fields
from reference_impl.wire.frame import Command, encode_frame
from suites.conformance.broker.peer import (
    Peer,
    answer,
    create_topic,
    eventually,
    max_offset,
    messages,
    offsets,
    pull,
    send,
)
from suites.conformance.broker.probes.layout import KEY
from suites.conformance.broker.probes.recovery import numbered
from suites.conformance.broker.probes.replication import OK, SLAVE_TIMEOUT, timed
from suites.conformance.broker.probing import Start, life, probe


def flood(peer: Peer, topic: str, count: int, properties: str) -> None:
    """Many messages, pipelined; all readable when this returns."""
    fields = {"a": "PG", "b": topic, "c": "TBW102", "d": 4, "e": 0, "f": 0, "g": peer.now_ms(), "h": 0}
    fields |= {"i": properties, "j": 0, "k": False, "m": False}
    request = Command(Code.SEND_MESSAGE_V2, ext_fields(**fields), b"x")
    for begin in range(0, count, 100):
        many = min(100, count - begin)
        peer.write(f"flood-{topic}", b"".join(encode_frame(request) for _ in range(many)))
        eventually(peer, lambda end=begin + many: max_offset(peer, topic) >= end or None)


@probe("P66", "a filter that matches nothing")
def nothing_matches(peer: Peer) -> None:
    """800 units are looked at, then the answer comes."""
    create_topic(peer, "TP66")
    flood(peer, "TP66", 1000, "TAGS\x01TagB")
    found = pull(peer, "TP66", 0, expression="TagA")
    assert (found.code, offsets(found)["nextBeginOffset"]) == (20, 800)
    found = pull(peer, "TP66", 800, expression="TagA")
    assert (found.code, offsets(found)["nextBeginOffset"]) == (20, 1000)


@life("P65", "P59", "reads from the disk")
def from_disk(start: Start) -> None:
    """With a memory of nothing every message counts as on the disk: 8 a pull, and unknown groups have no offset.

    5.3.3 answers 0 for an unknown group all the same."""
    peer = start(accessMessageInMemoryMaxRatio="0", mappedFileSizeConsumeQueue="20000")
    create_topic(peer, "T")
    numbered(peer, 40)
    eventually(peer, lambda: max_offset(peer, "T") == 40 or None)
    assert len(messages(pull(peer, "T", 0, count=64))) == 8
    found = answer(peer, Code.QUERY_CONSUMER_OFFSET, consumerGroup="CG", topic="T", queueId=0)
    assert (found.code, found.fields.get("offset")) == ((22, None) if row_of(peer.release).is_4 else (0, "0"))


def of_5x(start: Start) -> dict[str, str]:
    """What makes the reference one of 5.3.3; Apache's 4.9.7 cannot be asked."""
    if start.is_apache and row_of(start.release).is_4:
        pytest.skip("a setting of 5.x")
    return {} if start.is_apache else {"release": "5.3.3"}


@life("P45", "W45", "5.x waits for no slave by default")
def no_wait_by_default(start: Start) -> None:
    peer = start(brokerRole="SYNC_MASTER", **of_5x(start))
    create_topic(peer, "T")
    assert timed(peer)[0] == OK


@life("P46", "W45", "5.x with two in-sync replicas and no slave")
def two_replicas(start: Start) -> None:
    peer = start(brokerRole="SYNC_MASTER", inSyncReplicas="2", totalReplicas="2", **of_5x(start))
    create_topic(peer, "T")
    code, seconds = timed(peer)
    assert (code, 2.9 <= seconds <= 4.5 + peer.slack_ns / SECOND) == (SLAVE_TIMEOUT, True)
    eventually(peer, lambda: max_offset(peer, "T") == 1 or None)


@life("P47", "too few in-sync replicas")
def too_few_replicas(start: Start) -> None:
    """With acting masters 5.x looks before it stores; with automatic in-sync replicas it lowers its demand."""
    settings = {"inSyncReplicas": "2", "totalReplicas": "2", "enableSlaveActingMaster": "true"} | of_5x(start)
    for automatic, code in [("false", 1), ("true", OK)]:
        peer = start(brokerRole="SYNC_MASTER", enableAutoInSyncReplicas=automatic, **settings)
        create_topic(peer, "T")
        found = send(peer, "T", b"x", KEY)
        assert found.code == code
        assert ("in-sync replicas not enough" in (found.remark or "")) is bool(code)
        if code == OK:
            eventually(peer, lambda peer=peer: max_offset(peer, "T") or None)
        assert max_offset(peer, "T") == (1 if code == OK else 0)
