"""Replies reach the producer that asked, and the replier is told what became of them."""

from __future__ import annotations

import pytest

from reference_impl.wire.codes import RequestCode
from reference_impl.wire.frame import Command
from reference_impl.wire.message import properties_text
from suites.conformance.broker.backend_peer import BackendPeer, simulated
from suites.conformance.broker.peer import answer

ASKER = "10.0.0.9@asker"


def said_hello(peer: BackendPeer) -> None:
    body = b'{"clientID":"%s","producerDataSet":[{"groupName":"PG"}],"consumerDataSet":[]}' % ASKER.encode()
    assert peer.ask(Command(RequestCode.HEART_BEAT, {}, body), "main:asker").code == 0  # type: ignore[union-attr]


def reply(peer: BackendPeer, code: int, client: str = ASKER) -> Command:
    """A reply by the long header (324) or the one-letter one (325), without waiting for its answer."""
    properties = properties_text(
        {"CORRELATION_ID": "c1", "REPLY_TO_CLIENT": client, "TTL": "3000", "MSG_TYPE": "reply"}
    )
    names = ("producerGroup", "topic", "defaultTopic", "defaultTopicQueueNums", "queueId", "sysFlag")
    names += ("bornTimestamp", "flag", "properties")
    letters = "abcdefghi" if code == RequestCode.SEND_REPLY_MESSAGE_V2 else names
    values = ("RG", "DefaultCluster_REPLY_TOPIC", "TBW102", "4", "0", "0", "1700000000000", "0", properties)
    return Command(code, dict(zip(letters, values, strict=True)), b"the reply")


@pytest.mark.parametrize("code", [RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2])
def test_a_reply_is_handed_to_the_connection_that_asked(code: RequestCode) -> None:
    peer = simulated()
    said_hello(peer)
    assert peer.ask(reply(peer, code), timeout_ns=1) is None  # answered when the asker has taken it
    peer.sleep(1_000_000_000)
    (pushed,) = peer.inbox("main:asker")
    assert (pushed.code, pushed.body) == (RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, b"the reply")
    assert "CORRELATION_ID\x01c1" in pushed.fields["properties"]
    assert pushed.fields["topic"] == "DefaultCluster_REPLY_TOPIC"
    peer.reply("main:asker", pushed, Command(0))
    peer.sleep(1_000_000_000)
    (told,) = peer.talker.channels["main"].answers.values()
    assert (told.code, told.fields["queueOffset"]) == (0, "0")
    assert len(told.fields["msgId"]) == 32


def test_without_such_a_client_the_reply_is_stored_and_the_replier_told() -> None:
    peer = simulated()
    told = peer.ask(reply(peer, RequestCode.SEND_REPLY_MESSAGE_V2, "10.0.0.9@nobody"))
    assert told is not None
    assert told.code == 1
    assert told.remark == "push reply message fail, channel of <10.0.0.9@nobody> not found."
    assert (len(told.fields["msgId"]), told.fields["queueOffset"]) == (32, "0")


def test_replies_need_not_be_stored() -> None:
    peer = simulated(storeReplyMessageEnable="false")
    told = peer.ask(reply(peer, RequestCode.SEND_REPLY_MESSAGE_V2, "10.0.0.9@nobody"))
    assert told is not None
    assert (told.code, told.fields["msgId"]) == (1, "0")
    end = answer(peer, RequestCode.GET_MAX_OFFSET, topic="DefaultCluster_REPLY_TOPIC", queueId=0)
    assert end.fields["offset"] == "0"
