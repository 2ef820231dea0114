"""Sends (W21 to W28)."""

from __future__ import annotations

import re

from harness.targets.releases import row_of
from reference_impl.wire.bodies import TopicRouteData
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import read_json
from reference_impl.wire.message import (
    BatchEntry,
    decode_record,
    encode_batch,
    parse_message_id,
    properties_text,
)
from suites.conformance.broker.peer import (
    Peer,
    answer,
    create_topic,
    drained,
    eventually,
    max_offset,
    send,
)
from suites.conformance.broker.probing import probe


@probe("W21", "auto create")
def auto_create(peer: Peer) -> None:
    assert send(peer, "T21").code == 0

    def routed() -> TopicRouteData | None:
        found = answer(peer, Code.GET_ROUTEINFO_BY_TOPIC, channel="namesrv:", topic="T21")
        return read_json(found.body, TopicRouteData) if found.code == 0 else None

    (queues,) = eventually(peer, routed).queue_datas
    assert (queues.broker_name, queues.read_queue_nums, queues.write_queue_nums, queues.perm) == (
        peer.broker_name,
        4,
        4,
        6,
    )


@probe("W21", "no template, no topic")
def no_template(peer: Peer) -> None:
    found = send(peer, "T21b", c="NoSuchTemplate")
    assert found.code == 17
    assert (found.remark or "").startswith("topic[T21b] not exist, apply first please!")
    assert found.fields == {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}


@probe("W22", "send answer fields")
def send_answer_fields(peer: Peer) -> None:
    create_topic(peer, "T22")
    found = send(peer, "T22", b"twentytwo", queue=1)
    assert {name: found.fields[name] for name in ("queueId", "queueOffset", "MSG_REGION", "TRACE_ON")} == {
        "queueId": "1",
        "queueOffset": "0",
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
    }
    assert re.fullmatch(r"[0-9A-F]{32}", found.fields["msgId"])
    host, position = parse_message_id(found.fields["msgId"])
    assert host == peer.broker
    viewed = answer(peer, Code.VIEW_MESSAGE_BY_ID, offset=position)
    assert viewed.code == 0
    assert decode_record(viewed.body).body == b"twentytwo"


@probe("W22", "the long header says the same")
def long_header(peer: Peer) -> None:
    create_topic(peer, "T22b")
    found = answer(
        peer,
        Code.SEND_MESSAGE,
        b"long",
        producerGroup="PG",
        topic="T22b",
        defaultTopic="TBW102",
        defaultTopicQueueNums=4,
        queueId=2,
        sysFlag=0,
        bornTimestamp=1_700_000_000_000,
        flag=7,
        properties="UNIQ_KEY\x01K22\x02",
        reconsumeTimes=0,
        unitMode=False,
        batch=False,
    )
    assert (found.code, found.fields["queueId"]) == (0, "2")
    (message,) = drained(peer, "T22b", 1, queue=2)
    assert (message.body, message.flag, message.born_timestamp) == (b"long", 7, 1_700_000_000_000)
    assert message.property_map()["UNIQ_KEY"] == "K22"


@probe("W22", "view of an offset that is none")
def view_nothing(peer: Peer) -> None:
    found = answer(peer, Code.VIEW_MESSAGE_BY_ID, offset=123_456_789_012)
    assert found.code == 1


@probe("W23", "queue offsets are consecutive")
def consecutive_offsets(peer: Peer) -> None:
    create_topic(peer, "T23")
    found = [int(send(peer, "T23", b"%d" % number).fields["queueOffset"]) for number in range(5)]
    assert found == [0, 1, 2, 3, 4]
    eventually(peer, lambda: max_offset(peer, "T23") == 5 or None)


@probe("W24", "negative queue id")
def negative_queue_id(peer: Peer) -> None:
    create_topic(peer, "T24", queues=4)
    assert all(0 <= int(send(peer, "T24", queue=-1).fields["queueId"]) < 4 for _ in range(8))


@probe("W25", "queue id too large")
def queue_id_too_large(peer: Peer) -> None:
    create_topic(peer, "T25", queues=4)
    found = send(peer, "T25", queue=4)
    assert found.code == (1 if row_of(peer.release).is_4 else 29)
    assert (found.remark or "").startswith("request queueId[4] is illegal, TopicConfig [topicName=T25, readQueueNums=4")
    assert max_offset(peer, "T25", 4) == 0


@probe("W26", "body of 4 MiB and one byte")
def body_too_large(peer: Peer) -> None:
    create_topic(peer, "T26")
    assert send(peer, "T26", bytes(4 * 1024 * 1024 + 1)).code == 13


@probe("W26", "properties above 32767 bytes after the broker's own")
def properties_too_large(peer: Peer) -> None:
    create_topic(peer, "T26b")
    assert send(peer, "T26b", properties="k\x01" + "v" * 32_765).code == 13
    fits = properties_text({"k": "v" * (32_767 - 300)})
    assert send(peer, "T26b", properties=fits).code == 0


@probe("W26", "topic names")
def topic_names(peer: Peer) -> None:
    expected = 1 if row_of(peer.release).is_4 else 29
    for topic, remark in [
        ("x" * 128, "longer than topic max length"),
        ("bad topic", "illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
        (" ", "blank"),
    ]:
        found = send(peer, topic)
        assert found.code == expected, topic
        assert remark in (found.remark or "")
        assert found.fields["MSG_REGION"] == "DefaultRegion"


@probe("W27", "batch of three")
def batch_of_three(peer: Peer) -> None:
    create_topic(peer, "T27")
    entries = [BatchEntry(b"b%d" % number, f"UNIQ_KEY\x01B{number}\x02n\x01{number}") for number in range(3)]
    found = send(peer, "T27", encode_batch(entries), "WAIT\x01true\x02", code=Code.SEND_BATCH_MESSAGE, m=True)
    assert (found.code, found.fields["queueOffset"]) == (0, "0")
    ids = found.fields["msgId"].split(",")
    read = drained(peer, "T27", 3)
    assert [message.body for message in read] == [b"b0", b"b1", b"b2"]
    assert [message.property_map()["n"] for message in read] == ["0", "1", "2"]
    cluster = peer.cluster if row_of(peer.release).batches_name_cluster else None
    assert {message.property_map().get("CLUSTER") for message in read} == {cluster}
    assert [message.message_id() for message in read] == ids


@probe("W27", "the batch flag decides, not the code")
def batch_flag_decides(peer: Peer) -> None:
    create_topic(peer, "T27b")
    body = encode_batch([BatchEntry(b"one"), BatchEntry(b"two")])
    assert len(send(peer, "T27b", body, m=True).fields["msgId"].split(",")) == 2
    assert "," not in send(peer, "T27b", body, code=Code.SEND_BATCH_MESSAGE, m=False).fields["msgId"]
    assert [message.body for message in drained(peer, "T27b", 3)] == [b"one", b"two", body]


@probe("W27", "malformed batch")
def malformed_batch(peer: Peer) -> None:
    create_topic(peer, "T27c")
    assert send(peer, "T27c", b"garbage", code=Code.SEND_BATCH_MESSAGE, m=True).code == 1
    assert max_offset(peer, "T27c") == 0


@probe("W28", "forbidden topics")
def forbidden_topics(peer: Peer) -> None:
    for topic in ("SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "OFFSET_MOVED_EVENT", "SELF_TEST_TOPIC"):
        found = send(peer, topic)
        assert (found.code, found.remark) == (16, f"Sending message to topic[{topic}] is forbidden.")
    assert send(peer, "TBW102").code == 0
