"""What an operator asks for (W56 to W61: beyond the list, from the same captures)."""

from __future__ import annotations

import json

from reference_impl.environment import MS, SECOND
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import Command, encode_frame
from reference_impl.wire.message import (
    decode_record,
    decode_records,
)
from suites.conformance.broker.peer import (
    Peer,
    answer,
    answers_within,
    create_topic,
    eventually,
    heartbeat,
    notices_dropped,
    pull,
    stored,
)
from suites.conformance.broker.probing import probe


@probe("W56", "topics are made and deleted")
def topics_made_and_deleted(peer: Peer) -> None:
    create_topic(peer, "T56", queues=3)
    table = json.loads(answer(peer, Code.GET_ALL_TOPIC_CONFIG).body)["topicConfigTable"]
    assert (table["T56"]["readQueueNums"], table["T56"]["perm"]) == (3, 6)
    assert table["TBW102"]["perm"] == 7
    stored(peer, "T56")
    assert answer(peer, Code.DELETE_TOPIC_IN_BROKER, topic="T56").code == 0
    assert pull(peer, "T56", 0).code == 17
    for name, remark in [
        ("SCHEDULE_TOPIC_XXXX", "is conflict with system topic."),
        ("bad topic", "illegal characters"),
    ]:
        found = answer(
            peer,
            Code.UPDATE_AND_CREATE_TOPIC,
            topic=name,
            defaultTopic="TBW102",
            readQueueNums=1,
            writeQueueNums=1,
            perm=6,
            topicFilterType="SINGLE_TAG",
            order=False,
        )
        assert found.code == (1 if peer.release.startswith("4.") else 29)
        assert remark in (found.remark or "")


@probe("W57", "query by key")
def query_by_key(peer: Peer) -> None:
    create_topic(peer, "T57")
    stored(peer, "T57", b"one", "KEYS\x01alpha beta\x02UNIQ_KEY\x01U57a")
    stored(peer, "T57", b"two", "KEYS\x01alpha\x02UNIQ_KEY\x01U57b")
    now_ms = peer.now_ms()
    window = {"beginTimestamp": now_ms - 3_600_000, "endTimestamp": now_ms + 3_600_000, "topic": "T57", "maxNum": 32}

    def found(key: str, **more: bool) -> list[bytes] | None:
        got = answer(peer, Code.QUERY_MESSAGE, key=key, **window, **more)
        return sorted(message.body for message in decode_records(got.body)) if got.code == 0 else None

    assert eventually(peer, lambda: found("alpha") if found("alpha") == [b"one", b"two"] else None)
    assert found("beta") == [b"one"]
    assert found("U57b", _UNIQUE_KEY_QUERY=True) == [b"two"]
    none = answer(peer, Code.QUERY_MESSAGE, key="nokey", **window)
    assert (none.code, dict(none.fields)) == (22, {"indexLastUpdateTimestamp": "0", "indexLastUpdatePhyoffset": "0"})


@probe("W58", "who is connected")
def who_is_connected(peer: Peer) -> None:
    create_topic(peer, "T58")
    heartbeat(peer, "p58", "c1@1", "CG58", "T58")
    body = json.loads(answer(peer, Code.GET_CONSUMER_CONNECTION_LIST, consumerGroup="CG58").body)
    assert [connection["clientId"] for connection in body["connectionSet"]] == ["c1@1"]
    assert (body["consumeType"], body["messageModel"]) == ("CONSUME_PASSIVELY", "CLUSTERING")
    assert list(body["subscriptionTable"]) == ["T58"]
    offline = answer(peer, Code.GET_CONSUMER_CONNECTION_LIST, consumerGroup="CG58none")
    assert (offline.code, offline.remark) == (206, "the consumer group[CG58none] not online")
    assert answer(peer, Code.GET_PRODUCER_CONNECTION_LIST, producerGroup="PG58none").code == 1


@probe("W59", "a request is handed on to a client")
def handed_on(peer: Peer) -> None:
    create_topic(peer, "T59")
    heartbeat(peer, "p59", "c1@1", "CG59", "T59")
    sent = stored(peer, "T59", b"by hand")
    fields = {"consumerGroup": "CG59", "clientId": "c1@1"}
    body = b'{"consumeResult":"CR_SUCCESS"}'
    for code, more in [
        (Code.GET_CONSUMER_RUNNING_INFO, {"jstackEnable": "false"}),
        (Code.CONSUME_MESSAGE_DIRECTLY, {"msgId": sent.fields["msgId"], "brokerName": peer.broker_name}),
    ]:
        notices_dropped(peer, "p59")
        peer.write("p59ask", encode_frame(Command(code, fields | more, opaque=590)))
        (onward,) = eventually(peer, lambda code=code: [it for it in peer.inbox("p59") if it.code == code] or None)
        assert onward.fields["clientId"] == "c1@1"
        if code == Code.CONSUME_MESSAGE_DIRECTLY:
            assert decode_record(onward.body).body == b"by hand"
        peer.reply("p59", onward, Command(0, body=body))
        (found,) = answers_within(peer, "p59ask", 3 * SECOND, 590)
        assert (found.code, found.body) == (0, body)
    missing = answer(peer, Code.GET_CONSUMER_RUNNING_INFO, consumerGroup="CG59", clientId="zz", jstackEnable=False)
    assert (missing.code, missing.remark) == (1, "The Consumer <CG59> <zz> not online")


@probe("W60", "a group is sent back in time")
def sent_back_in_time(peer: Peer) -> None:
    """4.9 tells the members (220); 5.3.3 moves the offset itself and tells nobody."""
    create_topic(peer, "T60", queues=1)
    heartbeat(peer, "p60", "c1@1", "CG60", "T60")
    notices_dropped(peer, "p60")
    ask = {"topic": "T60", "group": "CG60", "timestamp": 0, "isForce": True}
    if peer.release.startswith("4."):
        refused = answer(peer, Code.INVOKE_BROKER_TO_RESET_OFFSET, **ask)
        assert (refused.code, refused.remark) == (1, "THe consumer group <CG60> not exist")
    for number in range(3):
        stored(peer, "T60", b"%d" % number)
    fields = {"consumerGroup": "CG60", "topic": "T60", "queueId": 0}
    assert answer(peer, Code.UPDATE_CONSUMER_OFFSET, **fields, commitOffset=3).code == 0
    found = answer(peer, Code.INVOKE_BROKER_TO_RESET_OFFSET, **ask)
    queue = b'{"brokerName":"%s","queueId":0,"topic":"T60"}' % peer.broker_name.encode()
    assert (found.code, found.body) == (0, b'{"offsetTable":{%s:0}}' % queue)
    peer.sleep(200 * MS)
    told = [command for command in peer.inbox("p60") if command.code == Code.RESET_CONSUMER_CLIENT_OFFSET]
    if not peer.release.startswith("4."):
        assert told == []
        return
    assert [(command.fields["group"], command.is_one_way, command.body) for command in told] == [
        ("CG60", True, found.body)
    ]
    assert answer(peer, Code.QUERY_CONSUMER_OFFSET, **fields).fields == {"offset": "3"}


@probe("W61", "a client's filter is checked")
def filter_checked(peer: Peer) -> None:
    for kind, code in [("TAG", 0), ("SQL92", 1)]:
        wanted = {"topic": "T", "subString": "a", "expressionType": kind, "subVersion": 1, "tagsSet": [], "codeSet": []}
        body = json.dumps({"clientId": "c1@1", "group": "CG61", "subscriptionData": wanted}).encode()
        assert answer(peer, Code.CHECK_CLIENT_CONFIG, body).code == code
