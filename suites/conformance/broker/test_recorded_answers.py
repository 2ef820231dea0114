"""Answers of Apache's broker 4.9.7, word by word: the recorded request goes to our broker, code, ext fields, remark,
serialization and (as a value) the body must be the recorded ones.

Only exchanges that need no more than ``SETUP`` are here; texts of Java exceptions are compared by their first word, and
what names a port or a time of the recording is masked.
"""

from __future__ import annotations

import re

import pytest

from reference_impl.environment import MS
from reference_impl.wire.dialect import parse_lenient
from reference_impl.wire.frame import NO_FIELDS, Command, FrameDecoder
from suites.conformance.golden_wire import GoldenFrame, golden_frames
from suites.unit.broker.broker_by_hand import BrokerByHand

TOPICS = {"TP": (4, 6), "TPull": (2, 6), "TO": (2, 6), "TWO": (2, 2), "TDel": (1, 6), "TTag": (1, 6), "TBatch": (4, 6)}

NAMES = (
    "error_missing_mandatory_topic",
    "error_missing_mandatory_queueId",
    "error_non_numeric_queueId",
    "error_pull_missing_fields",
    "error_send_missing_queueId",
    "unknown_code_broker",
    "unknown_code_binary",
    "max_offset_binary",
    "create_topic",
    "create_topic_error_1",
    "create_topic_error_2",
    "system_topics_broker",
    "create_group",
    "update_broker_config",
    "delete_topic_broker",
    "delete_group",
    "send_topic_not_exist",
    "send_illegal_queue_id",
    "send_illegal_topic_char",
    "send_forbidden_topic",
    "pull_empty_queue_0",
    "pull_empty_queue_5",
    "pull_no_subscription_24",
    "pull_topic_not_exist",
    "pull_illegal_queue_id",
    "pull_topic_not_readable",
    "pull_sql_disabled",
    "pull_bad_expression",
    "query_offset_new_group",
    "query_offset_unknown_topic",
    "query_offset_setZero_false",
    "update_offset_7",
    "update_offset_unknown_group",
    "update_offset_unknown_topic",
    "min_offset_unknown_queue",
    "max_offset_unknown_queue",
    "all_delay_offset",
    "query_message_none",
    "consumer_list_none",
    "consumer_connection_not_online",
    "consumer_running_info_unknown_client",
    "heartbeat",
    "heartbeat_liberal",
    "heartbeat_producer_only",
    "check_client_config_tag",
    "check_client_config_sql",
    "unregister_client",
    "lock_batch",
    "unlock_batch",
    "send_back_unknown_offset",
)


def broker() -> BrokerByHand:
    made = BrokerByHand(brokerName="ba", brokerClusterName="C", brokerIP1="127.0.0.1", listenPort="20010")
    for topic, (queues, perm) in TOPICS.items():
        made.create_topic(topic, queues, perm)
    return made


def recorded(name: str) -> tuple[GoldenFrame, Command]:
    """The client's request and the broker's answer."""
    frames = [frame for frame in golden_frames("4.9.7") if frame.name == name]
    request = next(frame for frame in frames if frame.sender == "client" and not frame.command.is_answer)
    return request, next(frame.command for frame in frames if frame.pair == request.pair and frame.command.is_answer)


def comparable(answer: Command) -> tuple[object, ...]:
    """What must agree. The order of topic names in a list is Java's hash order."""
    remark = re.sub(r"\d+(\.\d+){3}:\d+", "CLIENT", answer.remark or "")
    if remark.startswith("java.lang."):
        remark = remark.partition(":")[0]
    body = parse_lenient(answer.body) if answer.body else None
    if isinstance(body, dict) and "topicList" in body:
        body = sorted(body["topicList"])
    return (
        answer.code,
        dict(answer.fields),
        answer.fields is NO_FIELDS,
        remark,
        answer.serialization,
        answer.opaque,
        body,
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_answer_is_apaches(name: str) -> None:
    request, wanted = recorded(name)
    made = broker()
    made.env.deliver(made.client, request.frame)
    made.env.advance(5 * MS)
    (answer,) = [found for found in FrameDecoder().feed(made.env.take(made.client)) if found.is_answer]
    assert comparable(answer) == comparable(wanted)


def test_a_lock_that_another_client_holds_is_denied_in_apaches_words() -> None:
    made = broker()
    for name in ("lock_batch", "lock_batch_denied"):
        request, wanted = recorded(name)
        made.env.deliver(made.client, request.frame)
        (answer,) = FrameDecoder().feed(made.env.take(made.client))
        assert (answer.code, answer.body) == (wanted.code, wanted.body)
