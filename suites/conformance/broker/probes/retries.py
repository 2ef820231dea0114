"""Messages that come later: sent back, delayed, given up (W41, W42)."""

from __future__ import annotations

import json

from harness.targets.releases import row_of
from reference_impl.environment import MS
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.message import (
    decode_record,
    parse_message_id,
)
from suites.conformance.broker.peer import (
    Peer,
    answer,
    create_topic,
    drained,
    heartbeat,
    send,
    stored,
)
from suites.conformance.broker.probing import probe


@probe("W41", "send back")
def send_back(peer: Peer) -> None:
    create_topic(peer, "T41")
    heartbeat(peer, "p41", "c1@1", "CG41", "T41")
    sent = stored(peer, "T41", b"again", "KEYS\x01kk\x02TAGS\x01TagA")
    position = parse_message_id(sent.fields["msgId"])[1]
    begin_ms = peer.now_ms()
    back = {"offset": position, "group": "CG41", "originTopic": "T41", "maxReconsumeTimes": 16}
    assert answer(peer, Code.CONSUMER_SEND_MSG_BACK, **back, delayLevel=1, originMsgId="x").code == 0
    (message,) = drained(peer, "%RETRY%CG41", 1)
    assert message.store_timestamp - begin_ms >= 1000, "it waited"
    told = message.property_map()
    assert (message.body, message.reconsume_times) == (b"again", 1)
    assert (told["RETRY_TOPIC"], told["ORIGIN_MESSAGE_ID"], told["KEYS"]) == ("T41", sent.fields["msgId"], "kk")
    assert (told["REAL_TOPIC"], told["DELAY"], told["WAIT"]) == ("%RETRY%CG41", "1", "false")


@probe("W41", "send back waits ten seconds by default", is_slow=True)
def send_back_default_level(peer: Peer) -> None:
    create_topic(peer, "T41d")
    heartbeat(peer, "p41d", "c1@1", "CG41d", "T41d")
    sent = stored(peer, "T41d", b"again")
    position = parse_message_id(sent.fields["msgId"])[1]
    begin_ms = peer.now_ms()
    assert answer(peer, Code.CONSUMER_SEND_MSG_BACK, offset=position, group="CG41d", delayLevel=0).code == 0
    (message,) = drained(peer, "%RETRY%CG41d", 1)
    assert 10_000 <= message.store_timestamp - begin_ms <= 12_000 + peer.slack_ns // MS


@probe("W41", "send back to the dead letters")
def send_back_to_dead_letters(peer: Peer) -> None:
    create_topic(peer, "T41b")
    heartbeat(peer, "p41b", "c1@1", "CG41b", "T41b")
    sent = stored(peer, "T41b", b"dead")
    position = parse_message_id(sent.fields["msgId"])[1]
    fields = {"offset": position, "group": "CG41b", "delayLevel": 0, "originTopic": "T41b", "maxReconsumeTimes": 0}
    assert answer(peer, Code.CONSUMER_SEND_MSG_BACK, **fields).code == 0
    (message,) = drained(peer, "%DLQ%CG41b", 1)
    assert (message.topic, message.queue_id, message.body, message.reconsume_times) == ("%DLQ%CG41b", 0, b"dead", 1)
    assert message.property_map()["RETRY_TOPIC"] == "T41b"


@probe("W41", "send back of nothing")
def send_back_of_nothing(peer: Peer) -> None:
    found = answer(peer, Code.CONSUMER_SEND_MSG_BACK, offset=123_456_789_012, group="CG41c", delayLevel=0)
    assert (found.code, found.remark) == (1, "look message by offset failed, 123456789012")


@probe("W41", "a consumer's own resend ends in the dead letters")
def resend_to_dead_letters(peer: Peer) -> None:
    """4.9 gives up when the tries have reached the maximum, 5.x when they have passed it."""
    answer(
        peer, Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, json.dumps({"groupName": "CG41e", "retryMaxTimes": 16}).encode()
    )
    tries = [2, 3] if row_of(peer.release).is_4 else [3, 4]
    for number in tries:
        assert send(peer, "%RETRY%CG41e", b"try %d" % number, "RETRY_TOPIC\x01T41", j=number, l=3).code == 0
    assert [message.body for message in drained(peer, "%RETRY%CG41e", 1)] == [b"try %d" % tries[0]]
    assert [message.body for message in drained(peer, "%DLQ%CG41e", 1)] == [b"try %d" % tries[1]]


@probe("W42", "P68", "delay level 1")
def delay_level(peer: Peer) -> None:
    create_topic(peer, "T42")
    sent = send(peer, "T42", b"late", "DELAY\x011\x02TAGS\x01TagA\x02WAIT\x01true\x02", queue=1)
    assert (sent.code, sent.fields["queueId"]) == (0, "1")
    position = parse_message_id(sent.fields["msgId"])[1]
    record = decode_record(answer(peer, Code.VIEW_MESSAGE_BY_ID, offset=position).body)
    assert (record.topic, record.queue_id) == ("SCHEDULE_TOPIC_XXXX", 0)
    (message,) = drained(peer, "T42", 1, queue=1)
    told = message.property_map()
    assert (message.body, told["REAL_TOPIC"], told["REAL_QID"], told["DELAY"], told["WAIT"]) == (
        b"late",
        "T42",
        "1",
        "1",
        "true",
    )
    assert 1000 <= message.store_timestamp - record.store_timestamp <= 1400 + peer.slack_ns // MS


@probe("W42", "P68", "levels above the last and below the first")
def delay_level_bounds(peer: Peer) -> None:
    create_topic(peer, "T42b")
    sent = send(peer, "T42b", b"later", "DELAY\x0199\x02")
    position = parse_message_id(sent.fields["msgId"])[1]
    record = decode_record(answer(peer, Code.VIEW_MESSAGE_BY_ID, offset=position).body)
    assert (record.queue_id, record.property_map()["DELAY"]) == (17, "18")
    stored(peer, "T42b", b"now", "DELAY\x010\x02")
    assert send(peer, "T42b", b"never", "DELAY\x01soon\x02").code == 1
