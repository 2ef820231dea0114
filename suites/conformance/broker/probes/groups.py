"""Consumer groups: members, heartbeats, queue locks (W37 to W40, W53)."""

from __future__ import annotations

import json

from reference_impl.environment import MS, SECOND
from reference_impl.wire.bodies import ConsumerIds, LockBatchAnswer, TopicRouteData
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import read_json
from reference_impl.wire.frame import Command
from reference_impl.wire.message import (
    java_string_hash,
)
from suites.conformance.broker.peer import (
    Peer,
    answer,
    create_topic,
    eventually,
    heartbeat,
    messages,
    pull,
    stored,
)
from suites.conformance.broker.probing import probe


def members(peer: Peer, group: str) -> list[str]:
    """Code 38; no member at all is code 1."""
    found = answer(peer, Code.GET_CONSUMER_LIST_BY_GROUP, consumerGroup=group)
    if found.code == 1:
        assert found.remark == f"no consumer for this group, {group}"
        return []
    return sorted(read_json(found.body, ConsumerIds).consumer_id_list)


def notified(peer: Peer, channel: str, group: str, times: int = 1) -> None:
    """So many code 40 requests about *group* come on *channel*, and then no more."""
    received: list[Command] = []

    def all_there() -> bool | None:
        received.extend(peer.inbox(channel))
        return len(received) >= times or None

    eventually(peer, all_there)
    peer.sleep(200 * MS)
    received += peer.inbox(channel)
    assert all(command.code == Code.NOTIFY_CONSUMER_IDS_CHANGED and command.is_one_way for command in received)
    assert [command.fields["consumerGroup"] for command in received] == [group] * times


@probe("W37", "consumer list and notification")
def consumer_list(peer: Peer) -> None:
    create_topic(peer, "T37")
    assert members(peer, "CG37") == []
    heartbeat(peer, "p37a", "c1@1", "CG37", "T37")
    notified(peer, "p37a", "CG37")
    heartbeat(peer, "p37b", "c2@2", "CG37", "T37")
    notified(peer, "p37a", "CG37")
    notified(peer, "p37b", "CG37")
    assert members(peer, "CG37") == ["c1@1", "c2@2"]
    heartbeat(peer, "p37b", "c2@2", "CG37", "T37")
    notified(peer, "p37a", "CG37", times=0)
    peer.hang_up("p37b")
    notified(peer, "p37a", "CG37")
    assert members(peer, "CG37") == ["c1@1"]


@probe("W38", "heartbeat side effects")
def heartbeat_side_effects(peer: Peer) -> None:
    create_topic(peer, "T38")
    found = heartbeat(peer, "p38", "c1@1", "CG38", "T38")
    assert found.code == 0
    assert found.version >= 232

    def routed() -> TopicRouteData | None:
        found = answer(peer, Code.GET_ROUTEINFO_BY_TOPIC, channel="namesrv:", topic="%RETRY%CG38")
        return read_json(found.body, TopicRouteData) if found.code == 0 else None

    (queues,) = eventually(peer, routed).queue_datas
    assert (queues.read_queue_nums, queues.write_queue_nums, queues.perm) == (1, 1, 6)


@probe("W39", "liberal heartbeat")
def liberal_heartbeat(peer: Peer) -> None:
    create_topic(peer, "T39")
    subscription = {
        "classFilterMode": False,
        "codeSet": [str(java_string_hash("TagA"))],
        "subString": "TagA",
        "subVersion": "1700000000000",
        "tagsSet": ["TagA"],
        "topic": "T39",
    }
    consumer = {
        "consumeFromWhere": 0,
        "consumeType": 1,
        "groupName": "CG39",
        "messageModel": 1,
        "subscriptionDataSet": [subscription],
    }
    body = json.dumps({"clientID": "cpp@1", "consumerDataSet": [consumer]}).encode()
    assert answer(peer, Code.HEART_BEAT, body, channel="p39").code == 0
    stored(peer, "T39", b"a", "TAGS\x01TagA")
    stored(peer, "T39", b"b", "TAGS\x01TagB")
    found = pull(peer, "T39", 0, group="CG39", expression=None, subVersion=1_700_000_000_000)
    assert [message.body for message in messages(found)] == [b"a"]
    newer = pull(peer, "T39", 0, group="CG39", expression=None, subVersion=1_700_000_000_001)
    assert (newer.code, newer.remark) == (25, "the consumer's subscription not latest")
    assert pull(peer, "TBW102", 0, group="CG39", expression=None).code == 24
    assert answer(peer, Code.HEART_BEAT, b"no json", channel="p39").code == 1
    assert answer(peer, Code.HEART_BEAT, b"", channel="p39").code == 1


def lock(peer: Peer, client: str, group: str, *queues: int, code: int = Code.LOCK_BATCH_MQ) -> list[int]:
    """Lock (or unlock) queues of T40."""
    wanted = [{"topic": "T40", "brokerName": peer.broker_name, "queueId": queue} for queue in queues]
    body = json.dumps({"consumerGroup": group, "clientId": client, "mqSet": wanted}).encode()
    found = answer(peer, code, body)
    assert found.code == 0
    return sorted(queue.queue_id for queue in read_json(found.body, LockBatchAnswer).queues) if found.body else []


@probe("W40", "locks")
def locks(peer: Peer) -> None:
    create_topic(peer, "T40")
    assert lock(peer, "A", "CG40", 0, 1) == [0, 1]
    assert lock(peer, "B", "CG40", 0, 2) == [2]
    assert lock(peer, "A", "CG40", 0) == [0]
    assert lock(peer, "B", "CG40b", 0) == [0]
    lock(peer, "B", "CG40", 0, code=Code.UNLOCK_BATCH_MQ)
    assert lock(peer, "B", "CG40", 0) == []
    lock(peer, "A", "CG40", 0, code=Code.UNLOCK_BATCH_MQ)
    assert lock(peer, "B", "CG40", 0) == [0]


@probe("W40", "P78", "locks expire after a minute", is_slow=True)
def locks_expire(peer: Peer) -> None:
    create_topic(peer, "T40")
    assert lock(peer, "A", "CG40c", 3) == [3]
    for _ in range(2):
        peer.sleep(27 * SECOND)
        assert lock(peer, "B", "CG40c", 3) == []
    peer.sleep(7 * SECOND)
    assert lock(peer, "B", "CG40c", 3) == [3]


@probe("W53", "a client unregisters")
def client_unregisters(peer: Peer) -> None:
    create_topic(peer, "T53")
    heartbeat(peer, "p53a", "c1@1", "CG53", "T53")
    heartbeat(peer, "p53b", "c2@2", "CG53", "T53")
    notified(peer, "p53a", "CG53", times=2)
    found = answer(peer, Code.UNREGISTER_CLIENT, channel="p53b", clientID="c2@2", consumerGroup="CG53")
    assert found.code == 0
    notified(peer, "p53a", "CG53")
    assert members(peer, "CG53") == ["c1@1"]


@probe("W53", "a silent client is closed after two minutes", is_slow=True)
def silent_client(peer: Peer) -> None:
    create_topic(peer, "T53")
    heartbeat(peer, "p53c", "c3@3", "CG53c", "T53")
    for _ in range(11):
        peer.sleep(10 * SECOND)
        answer(peer, Code.GET_MAX_OFFSET, channel="p53c", topic="T53", queueId=0)
    assert members(peer, "CG53c") == ["c3@3"]
    peer.sleep(25 * SECOND)
    assert members(peer, "CG53c") == []
    assert peer.is_closed("p53c")
