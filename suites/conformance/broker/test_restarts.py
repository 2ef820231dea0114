"""What a broker still knows after a stop, a kill and a power cut (probes P60 to P62, P67, P69 of the store).

In the simulator: a kill keeps the page cache, a power cut what was forced. The claims about tables are Apache's own
behaviour: topics.json and its siblings are never forced, so a power cut takes the topic, though not its messages.
"""

from __future__ import annotations

import pytest

from reference_impl.environment import SECOND
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.message import decode_records
from suites.conformance.broker.backend_peer import BackendPeer, simulated
from suites.conformance.broker.peer import answer, create_topic, drained, max_offset, messages, pull, send, stored

QUEUE = {"consumerGroup": "CG", "topic": "T", "queueId": 0}


def commit(peer: BackendPeer, offset: int) -> None:
    assert answer(peer, Code.UPDATE_CONSUMER_OFFSET, **QUEUE, commitOffset=offset).code == 0


def committed(peer: BackendPeer) -> int:
    return int(answer(peer, Code.QUERY_CONSUMER_OFFSET, **QUEUE).fields["offset"])


@pytest.mark.conformance("P60")
def test_p60_a_smaller_offset_is_stored() -> None:
    peer = simulated()
    for offset in (10, 5):
        commit(peer, offset)
    assert committed(peer) == 5


@pytest.mark.conformance("P61")
def test_p61_a_kill_takes_offsets_back_to_the_last_save() -> None:
    peer = simulated()
    commit(peer, 1)
    peer.sleep(11 * SECOND)
    commit(peer, 2)
    peer.restart(how="kill")
    assert committed(peer) == 1


@pytest.mark.conformance("P61")
def test_p61_an_orderly_stop_keeps_them() -> None:
    peer = simulated()
    commit(peer, 2)
    peer.restart(how="stop")
    assert committed(peer) == 2


def test_a_power_cut_may_take_the_topic_but_not_its_messages() -> None:
    """May: a part of what was not forced reaches the platter by chance."""
    codes = []
    for seed in range(1, 9):
        peer = simulated(seed, flushDiskType="SYNC_FLUSH")
        create_topic(peer, "T")
        for number in range(3):
            stored(peer, "T", b"%d" % number)
        peer.restart(how="cut_power")
        codes.append(pull(peer, "T", 0).code)
        create_topic(peer, "T")
        assert [message.body for message in drained(peer, "T", 3)] == [b"0", b"1", b"2"]
    assert codes.count(17) >= 4
    assert set(codes) <= {0, 17}


@pytest.mark.parametrize("seed", range(1, 6))
def test_with_metadata_sync_a_power_cut_takes_neither(seed: int) -> None:
    peer = simulated(seed, flushDiskType="SYNC_FLUSH", metadataSync="true")
    create_topic(peer, "T")
    stored(peer, "T", b"0")
    peer.sleep(SECOND)  # the forced save ends a little after the answer
    peer.restart(how="cut_power")
    assert [message.body for message in drained(peer, "T", 1)] == [b"0"]


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_neither_a_stop_nor_a_kill_takes_a_message(flush: str, how: str) -> None:
    peer = simulated(flushDiskType=flush)
    create_topic(peer, "T")
    for number in range(20):
        assert send(peer, "T", b"%d" % number).code == 0
    peer.restart(how=how)
    assert [message.body for message in drained(peer, "T", 20)] == [b"%d" % number for number in range(20)]
    assert int(send(peer, "T").fields["queueOffset"]) == 20


def test_an_asynchronous_power_cut_loses_a_suffix_and_offsets_are_given_again() -> None:
    peer = simulated(2, flushDiskType="ASYNC_FLUSH")
    create_topic(peer, "T")
    for number in range(5):
        stored(peer, "T", b"old %d" % number)
    peer.sleep(11 * SECOND)  # beyond the thorough flush
    for number in range(5):
        stored(peer, "T", b"new %d" % number)
    peer.restart(how="cut_power")
    create_topic(peer, "T")
    kept = [message.body for message in drained(peer, "T", 5)]
    sent = [b"old %d" % number for number in range(5)] + [b"new %d" % number for number in range(5)]
    assert kept == sent[: len(kept)]
    assert int(send(peer, "T").fields["queueOffset"]) == len(kept)


@pytest.mark.conformance("P67")
def test_p67_a_consumer_ahead_of_a_shortened_queue_is_sent_back_to_its_end() -> None:
    shortened = [peer for seed in range(1, 9) if max_offset(peer := after_a_lossy_power_cut(seed), "T") < 3]
    assert shortened
    for peer in shortened:
        end = max_offset(peer, "T")
        moved = pull(peer, "T", 3)
        assert (moved.code, moved.fields["nextBeginOffset"]) == (21, str(end))
        for _ in range(3 - end):
            stored(peer, "T", b"refill")
        assert pull(peer, "T", 3).code == 19  # the refilled slots below are never read by that consumer


def after_a_lossy_power_cut(seed: int) -> BackendPeer:
    peer = simulated(seed, flushDiskType="ASYNC_FLUSH")
    create_topic(peer, "T")
    for number in range(3):
        stored(peer, "T", b"%d" % number)
    peer.restart(how="cut_power")
    create_topic(peer, "T")
    return peer


def test_a_moved_offset_is_written_down_as_an_event() -> None:
    peer = simulated()
    create_topic(peer, "T")
    stored(peer, "T")
    assert pull(peer, "T", 7, group="CG").code == 21
    (event,) = drained(peer, "OFFSET_MOVED_EVENT", 1)
    assert event.body == (
        b'{"consumerGroup":"CG","messageQueue":{"brokerName":"broker-a","queueId":0,"topic":"T"},'
        b'"offsetNew":1,"offsetRequest":7}'
    )
    assert event.property_map() == {"KEYS": "CG", "TAGS": "CG"}


@pytest.mark.conformance("P69")
def test_p69_delayed_messages_delivered_since_the_last_save_come_again_after_a_kill() -> None:
    peer = simulated()
    create_topic(peer, "T")
    peer.sleep(11 * SECOND)
    for number in range(40):
        assert send(peer, "T", b"%d" % number, "DELAY\x011").code == 0
    peer.sleep(2 * SECOND)
    assert max_offset(peer, "T") == 40
    peer.restart(how="kill")
    peer.sleep(3 * SECOND)
    assert max_offset(peer, "T") == 80


def test_locks_are_forgotten_by_a_restart() -> None:
    peer = simulated()
    ask = b'{"consumerGroup":"G","clientId":"%s","mqSet":[{"topic":"T","brokerName":"broker-a","queueId":0}]}'
    assert b"queueId" in answer(peer, Code.LOCK_BATCH_MQ, ask % b"A").body
    assert b"queueId" not in answer(peer, Code.LOCK_BATCH_MQ, ask % b"B").body
    peer.restart(how="stop")
    assert b"queueId" in answer(peer, Code.LOCK_BATCH_MQ, ask % b"B").body


def test_a_deleted_topic_begins_anew() -> None:
    peer = simulated()
    create_topic(peer, "T")
    stored(peer, "T", b"old")
    assert answer(peer, Code.DELETE_TOPIC_IN_BROKER, topic="T").code == 0
    create_topic(peer, "T")
    assert pull(peer, "T", 0).code == 19
    stored(peer, "T", b"new")
    assert [message.body for message in messages(pull(peer, "T", 0))] == [b"new"]
    peer.restart(how="stop")
    assert [message.body for message in drained(peer, "T", 1)] == [b"new"]


def test_a_view_by_id_is_possible_before_the_message_is_readable() -> None:
    peer = simulated()
    create_topic(peer, "T")
    sent = send(peer, "T", b"seen")
    position = int(sent.fields["msgId"][16:], 16)
    (record,) = decode_records(answer(peer, Code.VIEW_MESSAGE_BY_ID, offset=position).body)
    assert record.body == b"seen"
