"""What a 5.x broker tells of a group: the topics in which it has committed (343), what it wants of one (345).

The texts of bodies are as RocketMQ 5.3.3's classes write them: keys by name, nothing for null.
"""

from __future__ import annotations

import json

import pytest

from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import Command
from suites.unit.broker.broker_by_hand import HOST, BrokerByHand

WANTED = {
    "classFilterMode": False,
    "codeSet": [65],
    "expressionType": "TAG",
    "subString": "A",
    "subVersion": 7,
    "tagsSet": ["A"],
    "topic": "T",
}


def broker(release: str = "5.3.3") -> BrokerByHand:
    """CG is online and wants tag A of T; it has committed in T and U."""
    made = BrokerByHand(release=release)
    for topic in ("T", "U"):
        made.create_topic(topic)
    group = {
        "groupName": "CG",
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
        "subscriptionDataSet": [WANTED],
    }
    heartbeat = {"clientID": "c@1", "producerDataSet": [], "consumerDataSet": [group]}
    made.answer(Code.HEART_BEAT, json.dumps(heartbeat).encode())
    for topic in ("T", "U"):
        made.answer(Code.UPDATE_CONSUMER_OFFSET, consumerGroup="CG", topic=topic, queueId=0, commitOffset=0)
    return made


def topics_of(made: BrokerByHand, group: str) -> Command:
    return made.answer(Code.QUERY_TOPICS_BY_CONSUMER, group=group)


def wanted_of(made: BrokerByHand, group: str, topic: str) -> Command:
    return made.answer(Code.QUERY_SUBSCRIPTION_BY_CONSUMER, group=group, topic=topic)


def test_the_topics_of_a_group_are_those_in_which_it_has_committed() -> None:
    made = broker()
    assert topics_of(made, "CG").body == b'{"brokerAddr":"%s:10911","topicList":["T","U"]}' % HOST.encode()
    assert topics_of(made, "nobody").body == b'{"brokerAddr":"%s:10911","topicList":[]}' % HOST.encode()


def test_what_a_group_wants_of_a_topic() -> None:
    body = wanted_of(broker(), "CG", "T").body
    assert json.loads(body) == {"group": "CG", "subscriptionData": WANTED, "topic": "T"}
    assert list(json.loads(body)) == ["group", "subscriptionData", "topic"]


@pytest.mark.parametrize(("group", "topic"), [("CG", "U"), ("nobody", "T")])
def test_who_wants_nothing_of_it_or_is_not_there_has_no_subscription(group: str, topic: str) -> None:
    assert wanted_of(broker(), group, topic).body == b'{"group":"%s","topic":"%s"}' % (group.encode(), topic.encode())


@pytest.mark.parametrize("missing", ["group", "topic"])
def test_a_header_that_lacks_a_field_is_refused(missing: str) -> None:
    fields = {"group": "CG", "topic": "T"}
    del fields[missing]
    answer = broker().answer(Code.QUERY_SUBSCRIPTION_BY_CONSUMER, **fields)
    assert answer.code == 1


def test_4_9_knows_neither() -> None:
    made = broker("4.9.7")
    assert (topics_of(made, "CG").code, wanted_of(made, "CG", "T").code) == (3, 3)
