"""Bad input: RocketMQ's own codes, the connection kept, nothing stored.

The codes were asked of Apache 4.9.7 and 5.3.3 with the same requests; where 5.3.3 has another one, it is beside it.
What both store (a queue id below zero means "any") is not here.
"""

from __future__ import annotations

import pytest

from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import Command
from reference_impl.wire.message import properties_text
from suites.conformance.broker.backend_peer import BackendPeer, simulated
from suites.conformance.broker.peer import create_topic, max_offset

TOPIC = "Smoke"
SEND = {"a": "pg", "b": TOPIC, "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0", "i": "", "j": "0"}
SEND |= {"k": "false", "m": "false"}
PULL = {"consumerGroup": "g", "topic": TOPIC, "queueId": "0", "queueOffset": "0", "maxMsgNums": "32", "sysFlag": "4"}
PULL |= {"commitOffset": "0", "suspendTimeoutMillis": "0", "subscription": "*", "subVersion": "0"}
PULL |= {"expressionType": "TAG"}


def send(body: bytes = b"hello", **fields: str) -> Command:
    return Command(Code.SEND_MESSAGE_V2, {**SEND, **fields}, body)


def pull(**fields: str) -> Command:
    return Command(Code.PULL_MESSAGE, {**PULL, **fields})


END = {"producerGroup": "pg", "tranStateTableOffset": "0", "commitLogOffset": "77", "commitOrRollback": "8"}
END |= {"fromTransactionCheck": "false", "msgId": "x"}

CASES = {
    "send: queue 99 of 4": (send(e="99"), 1, 29),
    "send: a queue that is no number": (send(e="x"), 1, 1),
    "send: no topic": (Command(Code.SEND_MESSAGE_V2, {"a": "pg"}, b"x"), 1, 1),
    "send: a topic with a blank": (send(b="a b"), 1, 29),
    "send: a topic of 200 characters": (send(b="t" * 200), 1, 29),
    "send: a topic of the broker's own": (send(b="SCHEDULE_TOPIC_XXXX"), 16, 16),
    "send: a body of 5 MiB": (send(b"x" * (5 << 20)), 13, 13),
    "send: properties of 40 kB": (send(i=properties_text({"k": "v" * 40_000})), 13, 13),
    "pull: queue 99 of 4": (pull(queueId="99"), 1, 29),
    "pull: an offset that is no number": (pull(queueOffset="x"), 1, 1),
    "pull: a topic that there is not": (pull(topic="nope"), 17, 17),
    "pull: a topic that may not be read": (pull(topic="WriteOnly"), 16, 16),
    "pull: a condition where there are none": (pull(subscription="a ||", expressionType="SQL92"), 1, 1),
    "pull: of a group that nobody knows": (pull(sysFlag="0"), 24, 24),
    "a code that there is not": (Command(9999), 3, 3),
    "give back: an offset of nothing": (
        Command(Code.CONSUMER_SEND_MSG_BACK, {"offset": "77", "group": "g", "delayLevel": "0"}),
        1,
        1,
    ),
    "end: a transaction of nothing": (Command(Code.END_TRANSACTION, END), 1, 1),
    "heartbeat: no JSON": (Command(Code.HEART_BEAT, {}, b"{"), 1, 1),
    "lock: no JSON": (Command(Code.LOCK_BATCH_MQ, {}, b"{"), 1, 1),
}
"""What is asked, and the codes of Apache 4.9.7 and 5.3.3."""


@pytest.fixture(scope="module")
def peer() -> BackendPeer:
    made = simulated(autoCreateTopicEnable="true")
    create_topic(made, TOPIC, 4)
    create_topic(made, "WriteOnly", 4, perm=2)
    return made


@pytest.mark.parametrize("name", CASES)
def test_a_bad_request_gets_its_code_and_changes_nothing(name: str, peer: BackendPeer) -> None:
    request, code, _ = CASES[name]
    before = [max_offset(peer, TOPIC, queue) for queue in range(4)]
    answer = peer.ask(request)
    assert answer is not None
    assert answer.code == code
    assert answer.remark
    assert [max_offset(peer, TOPIC, queue) for queue in range(4)] == before
    good = peer.ask(pull(queueId="1"))
    assert good is not None, "on the same connection"
    assert good.code == 19


UNBUILT_IN_5X = (200050, 200051, 200053, 200151, 400, 513, 370)


@pytest.mark.parametrize("code", UNBUILT_IN_5X)
def test_what_is_not_built_of_5_x_is_refused_by_its_name(code: int) -> None:
    peer = simulated(release="5.3.3")
    answer = peer.ask(Command(code, {"topic": TOPIC}))
    assert answer is not None
    assert answer.code == 3
    assert Code(code).name in (answer.remark or "")


def test_arbitrary_delays_are_refused_by_a_broker_without_timers() -> None:
    """Apache 5.3.3 with timerWheelEnable=false; 4.9 stores them as any message."""
    delayed = send(i=properties_text({"TIMER_DELAY_SEC": "2"}))
    old, new = simulated(), simulated(release="5.3.3", timerWheelEnable="false")
    for made in (old, new):
        create_topic(made, TOPIC, 4)
    taken, refused = old.ask(delayed), new.ask(delayed)
    assert taken is not None
    assert taken.code == 0
    assert refused is not None
    assert (refused.code, refused.remark) == (1, "accurate timer message is not enabled, timerWheelEnable is false")


def test_one_topic_and_one_group_of_5_x() -> None:
    """As Apache 5.3.3 answered."""
    peer = simulated(release="5.3.3")
    create_topic(peer, TOPIC, 4)
    topic = peer.ask(Command(Code.GET_TOPIC_CONFIG, {"topic": TOPIC, "lo": "true"}))
    assert topic is not None
    assert topic.code == 0
    assert topic.body == (
        b'{"attributes":{},"order":false,"perm":6,"readQueueNums":4,"topicFilterType":"SINGLE_TAG","topicName":"Smoke",'
        b'"topicSysFlag":0,"writeQueueNums":4}'
    )
    none = peer.ask(Command(Code.GET_TOPIC_CONFIG, {"topic": "nope", "lo": "true"}))
    assert none is not None
    assert (none.code, none.remark) == (17, "No topic in this broker. topic: nope")
    group = peer.ask(Command(Code.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": "g"}))
    assert group is not None
    assert group.code == 0
    assert b'"groupName":"g"' in group.body
