"""What an operator asks for (W56 to W66, W68: beyond the list, from the same captures)."""

from __future__ import annotations

import json
from typing import Any

from harness.targets.releases import row_of
from reference_impl.environment import MS, SECOND
from reference_impl.wire.bodies import MessageQueue, read_consumer_status
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import parse_lenient
from reference_impl.wire.frame import Command, encode_frame
from reference_impl.wire.message import (
    decode_record,
    decode_records,
)
from suites.conformance.broker.peer import (
    Peer,
    answer,
    create_topic,
    eventually,
    heartbeat,
    max_offset,
    messages,
    notices_dropped,
    pull,
    raw_answers,
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
        assert found.code == (1 if row_of(peer.release).is_4 else 29)
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
        (found,) = raw_answers(peer, "p59ask", 1)
        assert (found.opaque, found.code, found.body) == (590, 0, body)
    missing = answer(peer, Code.GET_CONSUMER_RUNNING_INFO, consumerGroup="CG59", clientId="zz", jstackEnable=False)
    assert (missing.code, missing.remark) == (1, "The Consumer <CG59> <zz> not online")


@probe("W60", "a group is sent back in time")
def sent_back_in_time(peer: Peer) -> None:
    """4.9 tells the members (220); 5.3.3 moves the offset itself and tells nobody."""
    create_topic(peer, "T60", queues=1)
    heartbeat(peer, "p60", "c1@1", "CG60", "T60")
    notices_dropped(peer, "p60")
    ask = {"topic": "T60", "group": "CG60", "timestamp": 0, "isForce": True}
    if row_of(peer.release).is_4:
        refused = answer(peer, Code.INVOKE_BROKER_TO_RESET_OFFSET, **ask)
        assert (refused.code, refused.remark) == (1, "THe consumer group <CG60> not exist")
    for number in range(3):
        stored(peer, "T60", b"%d" % number)
    fields = {"consumerGroup": "CG60", "topic": "T60", "queueId": 0}
    assert answer(peer, Code.UPDATE_CONSUMER_OFFSET, **fields, commitOffset=3).code == 0
    found = answer(peer, Code.INVOKE_BROKER_TO_RESET_OFFSET, **ask)
    queue = b'{"brokerName":"%s","queueId":0,"topic":"T60"}' % peer.broker_name.encode()
    assert (found.code, found.body) == (0, b'{"offsetTable":{%s:0}}' % queue)
    resets = lambda: [it for it in peer.inbox("p60") if it.code == Code.RESET_CONSUMER_CLIENT_OFFSET]  # noqa: E731
    if not row_of(peer.release).is_4:
        peer.sleep(200 * MS)
        assert resets() == []
        return
    told = eventually(peer, lambda: resets() or None)
    assert [(command.fields["group"], command.is_one_way, command.body) for command in told] == [
        ("CG60", True, found.body)
    ]
    assert answer(peer, Code.QUERY_CONSUMER_OFFSET, **fields).fields == {"offset": "3"}


@probe("W68", "how far the members of a group are, as they tell")
def told_by_members(peer: Peer) -> None:
    """One question for each member, or for the one that is named; a member that knows nothing of the group is empty."""
    create_topic(peer, "T68", queues=1)
    for channel, client in (("p68", "c1@1"), ("q68", "c2@1")):
        heartbeat(peer, channel, client, "CG68", "T68")
        notices_dropped(peer, channel)
    queue = b'{"brokerName":"%s","queueId":0,"topic":"T68"}' % peer.broker_name.encode()
    bodies = {
        "p68": b'{"consumerTable":{},"messageQueueTable":{%s:7}}' % queue,
        "q68": b'{"consumerTable":{},"messageQueueTable":{}}',
    }
    asked: dict[str, Command] = {}

    def answered_by(*channels: str) -> bool:
        for channel in channels:
            for question in peer.inbox(channel):
                if question.code == Code.GET_CONSUMER_STATUS_FROM_CLIENT:
                    asked[channel] = question
                    peer.reply(channel, question, Command(0, body=bodies[channel]))
        return all(channel in asked for channel in channels)

    def told(client: str, *channels: str) -> Command:
        asked.clear()
        fields = {"topic": "T68", "group": "CG68"} | ({"clientAddr": client} if client else {})
        peer.write(
            f"ask68{client}", encode_frame(Command(Code.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, fields, opaque=680))
        )
        eventually(peer, lambda: answered_by(*channels) or None)
        (found,) = raw_answers(peer, f"ask68{client}", 1)
        assert [(each.fields.get("topic"), each.fields.get("group")) for each in asked.values()] == [
            ("T68", "CG68") for _ in channels
        ]
        return found

    everyone = told("", "p68", "q68")
    assert (everyone.opaque, everyone.code) == (680, 0)
    assert read_consumer_status(everyone.body) == (
        {},
        {"c1@1": {MessageQueue(peer.broker_name, 0, "T68"): 7}, "c2@1": {}},
    )
    one = told("c1@1", "p68")
    assert one.body == b'{"consumerTable":{"c1@1":{%s:7}},"messageQueueTable":{}}' % queue
    assert answer(peer, Code.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, topic="T68", group="CG68none").code == 1


@probe("W61", "a client's filter is checked")
def filter_checked(peer: Peer) -> None:
    for kind, code in [("TAG", 0), ("SQL92", 1)]:
        wanted = {"topic": "T", "subString": "a", "expressionType": kind, "subVersion": 1, "tagsSet": [], "codeSet": []}
        body = json.dumps({"clientId": "c1@1", "group": "CG61", "subscriptionData": wanted}).encode()
        assert answer(peer, Code.CHECK_CLIENT_CONFIG, body).code == code


@probe("W62", "which groups lag")
def which_groups_lag(peer: Peer) -> None:
    """Progress of all groups, the least offset of a topic, a group that starts where another stands."""
    create_topic(peer, "T62", queues=1)
    times = [int(decode_record(_first(peer, "T62", number)).store_timestamp) for number in range(3)]
    heartbeat(peer, "p62", "c1@1", "CG62", "T62")
    commit(peer, "CG62", "T62", 2)
    span = _span(peer, "T62", "CG62")
    assert [span[f"{of}TimeStamp"] for of in ("min", "consume", "max")] == [times[0], times[1], times[2]]
    assert span["maxTimeStampStr"].endswith(f":{times[2] % 1000:03d}")
    assert 0 <= span["delayTime"] <= peer.now_ms() - times[2] + 1000
    assert answer(peer, Code.QUERY_CONSUME_TIME_SPAN, topic="T62none", group="CG62").code == 17

    everybody = parse_lenient(answer(peer, Code.GET_BROKER_CONSUME_STATS, isOrder=False).body)
    (of_group,) = [entry["CG62"] for entry in everybody["consumeStatsList"] if "CG62" in entry]
    (queue,) = of_group[0]["offsetTable"].values()
    assert (queue["brokerOffset"], queue["consumerOffset"], queue["lastTimestamp"]) == (3, 2, times[1])
    assert everybody["brokerAddr"] == peer.broker
    ordered = parse_lenient(answer(peer, Code.GET_BROKER_CONSUME_STATS, isOrder=True).body)
    assert {"CG62": []} in ordered["consumeStatsList"]

    assert answer(peer, Code.CLONE_GROUP_OFFSET, srcGroup="CG62", destGroup="CG62b", topic="T62").code == 0
    assert _committed(peer, "CG62b", "T62") == "2"
    assert answer(peer, Code.CLONE_GROUP_OFFSET, srcGroup="CG62", destGroup="CG62c").code == 0
    assert "T62@CG62c" not in parse_lenient(answer(peer, Code.GET_ALL_CONSUMER_OFFSET).body)["offsetTable"]


@probe("W63", "a query that forgets offsets")
def query_that_forgets(peer: Peer) -> None:
    """QUERY_CORRECTION_OFFSET leaves groups out of its answer by deleting what they had committed, in all topics."""
    for topic in ("T63", "T63b"):
        create_topic(peer, topic, queues=1)
        for number in range(9):
            stored(peer, topic, b"%d" % number)
    for group, offset in [("CG63", 3), ("CG63b", 2), ("CG63c", 9)]:
        heartbeat(peer, f"p63{group}", "c1@1", group, "T63")
        commit(peer, group, "T63", offset)
    commit(peer, "CG63b", "T63b", 7)

    def least(**more: str) -> dict[str, int]:
        return dict(
            parse_lenient(answer(peer, Code.QUERY_CORRECTION_OFFSET, topic="T63", **more).body)["correctionOffsets"]
        )

    assert list(least(compareGroup="CG63c").values()) == [2]
    assert list(least(compareGroup="CG63").values()) == [2]
    assert list(least(compareGroup="CG63", filterGroups="CG63b").values()) == [3]
    assert list(least(compareGroup="CG63c").values()) == [3]
    left = parse_lenient(answer(peer, Code.GET_ALL_CONSUMER_OFFSET).body)["offsetTable"]
    assert [key for key in left if key.endswith("@CG63b")] == []
    assert least(compareGroup="CG63none", filterGroups="CG63,CG63c") == {}


@probe("W64", "what went in and out lately")
def rates(peer: Peer) -> None:
    """Nothing until the first sample, at most ten seconds later; then the sum of a minute.

    A sample may fall between two of the messages: the next one has all of them, and a longer time that they came in.
    """
    create_topic(peer, "T64", queues=1)
    heartbeat(peer, "p64", "c1@1", "CG64", "T64")
    sizes = [len(_first(peer, "T64", number)) for number in range(3)]
    assert len(messages(pull(peer, "T64", 0, group="CG64"))) == 3

    def minute(name: str, key: str, total: int) -> dict[str, float]:
        def whole() -> dict[str, float] | None:
            found = answer(peer, Code.VIEW_BROKER_STATS_DATA, statsName=name, statsKey=key)
            assert found.code == 0, found
            figures: dict[str, float] = json.loads(found.body)["statsMinute"]
            return figures if figures["sum"] == total else None

        return eventually(peer, whole)

    puts = minute("TOPIC_PUT_NUMS", "T64", 3)
    assert puts["avgpt"] == 1.0
    assert 3 / (10.5 + peer.slack_ns / SECOND) < puts["tps"] < 0.31
    minute("TOPIC_PUT_SIZE", "T64", sum(sizes))
    assert minute("GROUP_GET_NUMS", "T64@CG64", 3)["avgpt"] == 3.0
    unknown = answer(peer, Code.VIEW_BROKER_STATS_DATA, statsName="TOPIC_PUT_NUMS", statsKey="T64none")
    assert (unknown.code, unknown.remark) == (1, "The stats <TOPIC_PUT_NUMS> <T64none> not exist")

    def rate() -> float | None:
        body = answer(peer, Code.GET_CONSUME_STATS, consumerGroup="CG64", topic="T64").body
        return parse_lenient(body)["consumeTps"] or None

    assert eventually(peer, rate) > 0


@probe("W65", "a look into a queue")
def look_into_a_queue(peer: Peer) -> None:
    create_topic(peer, "T65", queues=1)
    heartbeat(peer, "p65", "c1@1", "CG65", "T65")
    for number in range(3):
        stored(peer, "T65", b"%d" % number, "TAGS\x01TagA" if number == 1 else "")

    def units(first: int, **more: str) -> dict[str, Any]:
        found = answer(peer, Code.QUERY_CONSUME_QUEUE, topic="T65", queueId=0, index=first, count=2, **more)
        return dict(json.loads(found.body))

    body = units(1)
    assert (body["minQueueIndex"], body["maxQueueIndex"]) == (0, 3)
    assert [unit["tagsCode"] for unit in body["queueData"]] == [2598919, 0]
    assert "subscriptionData" not in body
    assert units(0, consumerGroup="CG65")["subscriptionData"]["subString"] == "*"
    assert units(0, consumerGroup="CG65none")["filterData"] == "CG65none@T65 is not online!"
    beyond = answer(peer, Code.QUERY_CONSUME_QUEUE, topic="T65", queueId=0, index=9, count=2)
    assert (beyond.code, beyond.body, beyond.remark) == (0, b"", "Index 9 of 0@T65 is not exist!")
    nowhere = answer(peer, Code.QUERY_CONSUME_QUEUE, topic="T65none", queueId=0, index=0, count=2)
    assert (nowhere.code, nowhere.remark) == (1, "0@T65none is not exist!")


@probe("W66", "clean-up by hand")
def clean_up_by_hand(peer: Peer) -> None:
    """Nothing here is expired; the queues of a deleted topic go away."""
    create_topic(peer, "T66", queues=1)
    stored(peer, "T66")
    create_topic(peer, "T66b", queues=1)
    stored(peer, "T66b", b"kept")
    assert answer(peer, Code.DELETE_TOPIC_IN_BROKER, topic="T66").code == 0
    for code in (Code.CLEAN_EXPIRED_CONSUMEQUEUE, Code.CLEAN_UNUSED_TOPIC, Code.DELETE_EXPIRED_COMMITLOG):
        assert answer(peer, code).code == 0
    assert max_offset(peer, "T66") == 0
    assert [message.body for message in messages(pull(peer, "T66b", 0))] == [b"kept"]


def _first(peer: Peer, topic: str, number: int) -> bytes:
    """Send one more message and read its record, as it lies in the log."""
    sent = stored(peer, topic, b"%d" % number)
    return answer(peer, Code.VIEW_MESSAGE_BY_ID, offset=int(sent.fields["msgId"][-16:], 16)).body


def _span(peer: Peer, topic: str, group: str) -> dict[str, Any]:
    body = json.loads(answer(peer, Code.QUERY_CONSUME_TIME_SPAN, topic=topic, group=group).body)
    return dict(body["consumeTimeSpanSet"][0])


def commit(peer: Peer, group: str, topic: str, offset: int) -> None:
    """Code 15, queue 0."""
    fields = {"consumerGroup": group, "topic": topic, "queueId": 0, "commitOffset": offset}
    assert answer(peer, Code.UPDATE_CONSUMER_OFFSET, **fields).code == 0


def _committed(peer: Peer, group: str, topic: str) -> str:
    return answer(peer, Code.QUERY_CONSUMER_OFFSET, consumerGroup=group, topic=topic, queueId=0).fields["offset"]
