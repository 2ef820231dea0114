"""Offsets of queues and groups (W35, W36, W54, W55)."""

from __future__ import annotations

from harness.targets.releases import row_of
from reference_impl.environment import MS
from reference_impl.wire.codes import RequestCode as Code
from suites.conformance.broker.peer import (
    Peer,
    answer,
    create_topic,
    messages,
    pull,
    stored,
)
from suites.conformance.broker.probing import probe


@probe("W35", "P59", "offset of a new group")
def offset_of_new_group(peer: Peer) -> None:
    create_topic(peer, "T35")
    stored(peer, "T35")
    fields = {"consumerGroup": "CG35", "topic": "T35", "queueId": 0}
    assert answer(peer, Code.QUERY_CONSUMER_OFFSET, **fields).fields == {"offset": "0"}
    for other in ({**fields, "queueId": 3}, {**fields, "topic": "NoTopic35"}):
        found = answer(peer, Code.QUERY_CONSUMER_OFFSET, **other)
        expected = (0, {"offset": "0"}) if row_of(peer.release).is_4 else (22, {})
        assert (found.code, found.fields) == expected


@probe("W36", "P60", "offsets are stored, also backwards")
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


@probe("W54", "search by time")
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

    is_4 = row_of(peer.release).is_4
    assert search(times[0] - 60_000) == 0
    assert search(times[1]) == 1
    assert search(times[2] + 60_000) == (2 if is_4 else 3)
    assert answer(peer, Code.GET_EARLIEST_MSG_STORETIME, topic="T54", queueId=0).fields == {"timestamp": str(times[0])}


@probe("W55", "extents of unknown queues")
def unknown_extents(peer: Peer) -> None:
    create_topic(peer, "T55")
    for fields in ({"topic": "T55", "queueId": 50}, {"topic": "NoTopic55", "queueId": 0}):
        for code in (Code.GET_MIN_OFFSET, Code.GET_MAX_OFFSET):
            found = answer(peer, code, **fields)
            assert (found.code, found.fields) == (0, {"offset": "0"})


@probe("W55", "missing and unreadable mandatory fields")
def missing_fields(peer: Peer) -> None:
    for fields in ({"queueId": "0"}, {"topic": "TBW102"}, {"topic": "TBW102", "queueId": "abc"}):
        found = answer(peer, Code.GET_MAX_OFFSET, **fields)
        assert found.code == 1
        assert (found.remark or "").startswith("java.lang.NullPointerException")
