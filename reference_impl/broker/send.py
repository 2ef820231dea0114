"""Sends: SEND_MESSAGE (10), SEND_MESSAGE_V2 (310), SEND_BATCH_MESSAGE (320).

Question: may this message be stored here, where does it go, and what is the producer told?

Model (RocketMQ: SendMessageProcessor, AbstractSendMessageProcessor). Checks in RocketMQ's order: not yet accepting (1),
broker not writable and topic ordered (16), name illegal (1), topic forbidden (16), topic unknown and not to be created
(17), queue id too large (1), unknown group of a retry topic (26), transactional where that is refused (16). Then the
store decides, and its status becomes the answer's code. Codes 0, 10, 11 and 12 mean *stored* and carry message id,
queue and offset; the region and trace fields stand in every answer but those to exceptions.

``batch`` decides what the body is, not the request code, and a negative queue id means any queue. A transactional
message is stored as a half (:mod:`~reference_impl.broker.transactions`), one that wants a time of its own is parked
(:mod:`~reference_impl.broker.timers`).

Limits. Topic permissions are not looked at, as in RocketMQ: clients go by the route.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from reference_impl.broker.state import State
from reference_impl.broker.timers import parked
from reference_impl.broker.topics import (
    DEAD_LETTER_PREFIX,
    FORBIDDEN_TOPICS,
    RETRY_PREFIX,
    name_fault,
)
from reference_impl.broker.transactions import half_of, is_half
from reference_impl.environment import Environment, Link
from reference_impl.store.request import PutRequest, PutResult, PutStatus
from reference_impl.wire.bodies import MULTI_TAG, TopicConfig
from reference_impl.wire.codes import RequestCode, ResponseCode
from reference_impl.wire.fields import RequestRefused, boolean, integer, integer_or_none, small_integer, text
from reference_impl.wire.frame import Command
from reference_impl.wire.message import (
    MULTI_TAGS,
    offset_message_id,
)
from reference_impl.wire.remoting import Handler

VERSION_OF_MAX_RECONSUME: Final = 121
"""3.4.9: from this version on a client's ``maxReconsumeTimes`` counts."""

BUSY: Final = "[REJECTREQUEST]system busy, start flow control for a while"

FAQ: Final = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."

NOT_ENOUGH_REPLICAS: Final = "in-sync replicas not enough"

PUT_CODES: Final[Mapping[PutStatus, int]] = {
    PutStatus.PUT_OK: ResponseCode.SUCCESS,
    PutStatus.FLUSH_DISK_TIMEOUT: ResponseCode.FLUSH_DISK_TIMEOUT,
    PutStatus.FLUSH_SLAVE_TIMEOUT: ResponseCode.FLUSH_SLAVE_TIMEOUT,
    PutStatus.SLAVE_NOT_AVAILABLE: ResponseCode.SLAVE_NOT_AVAILABLE,
    PutStatus.SERVICE_NOT_AVAILABLE: ResponseCode.SERVICE_NOT_AVAILABLE,
    PutStatus.CREATE_MAPEDFILE_FAILED: ResponseCode.SYSTEM_ERROR,
    PutStatus.MESSAGE_ILLEGAL: ResponseCode.MESSAGE_ILLEGAL,
    PutStatus.PROPERTIES_SIZE_EXCEEDED: ResponseCode.MESSAGE_ILLEGAL,
    PutStatus.IN_SYNC_REPLICAS_NOT_ENOUGH: ResponseCode.SYSTEM_ERROR,
    PutStatus.OS_PAGE_CACHE_BUSY: ResponseCode.SYSTEM_ERROR,
    PutStatus.UNKNOWN_ERROR: ResponseCode.SYSTEM_ERROR,
}
"""RocketMQ: SendMessageProcessor#handlePutMessageResult."""

_REMARKS: Final[Mapping[PutStatus, str]] = {
    PutStatus.SERVICE_NOT_AVAILABLE: "service not available now. It may be caused by one of the following reasons: the "
    "broker's disk is full, messages are put to the slave, message store has been shut down, etc.",
    PutStatus.CREATE_MAPEDFILE_FAILED: "create mapped file failed, server is busy or broken.",
    PutStatus.MESSAGE_ILLEGAL: "the message is illegal, maybe msg body or properties length not matched. msg body "
    "length limit {size}B, msg properties length limit 32KB.",
    PutStatus.PROPERTIES_SIZE_EXCEEDED: "the message is illegal, maybe msg body or properties length not matched. msg "
    "body length limit {size}B, msg properties length limit 32KB.",
    PutStatus.IN_SYNC_REPLICAS_NOT_ENOUGH: NOT_ENOUGH_REPLICAS,
    PutStatus.OS_PAGE_CACHE_BUSY: "[PC_SYNCHRONIZED]broker busy, start flow control for a while",
    PutStatus.UNKNOWN_ERROR: "UNKNOWN_ERROR",
}


class SendHeader(msgspec.Struct, gc=False):
    """The header of a send, from the long or the one-letter names."""

    topic: str
    default_topic: str
    default_topic_queue_nums: int
    queue_id: int
    sys_flag: int
    born_timestamp: int
    flag: int
    properties: str
    reconsume_times: int
    max_reconsume_times: int | None
    batch: bool


_LONG_NAMES: Final = (
    "topic",
    "defaultTopic",
    "defaultTopicQueueNums",
    "queueId",
    "sysFlag",
    "bornTimestamp",
    "flag",
    "properties",
    "reconsumeTimes",
    "maxReconsumeTimes",
    "batch",
)
_LETTERS: Final = ("b", "c", "d", "e", "f", "g", "h", "i", "j", "l", "m")


def read_header(request: Command) -> SendHeader:
    """The header; a missing mandatory field is code 1, as Java's null."""
    long_form = request.code == RequestCode.SEND_MESSAGE
    topic, template, queues, queue_id, sys_flag, born, flag, properties, times, times_max, batch = (
        _LONG_NAMES if long_form else _LETTERS
    )
    return SendHeader(
        text(request, topic),
        request.fields.get(template, ""),
        small_integer(request, queues),
        small_integer(request, queue_id),
        small_integer(request, sys_flag),
        integer(request, born),
        small_integer(request, flag),
        request.fields.get(properties, ""),
        integer_or_none(request, times, bits=32) or 0,
        integer_or_none(request, times_max, bits=32),
        boolean(request, batch),
    )


class Sends:
    """The send handlers of one broker."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._fields = {"MSG_REGION": state.config.region, "TRACE_ON": "true" if state.config.trace_on else "false"}
        self._id_prefix = offset_message_id(state.config.address, 0)[:-16]

    def handlers(self) -> dict[int, Handler]:
        """By request code."""
        codes = (RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)
        return {int(code): self.send for code in codes}

    def send(self, env: Environment, link: Link, request: Command) -> Command | None:
        """One send; answered when the store has decided."""
        if self._state.store.has_no_buffer:
            return Command(ResponseCode.SYSTEM_BUSY, remark=BUSY)
        header = read_header(request)
        try:
            put = self._put_request(env, link, request, header)
            record = self._half(put) if is_half(put) else parked(put, env.wall(), self._state.config)
        except RequestRefused as refusal:
            return Command(refusal.code, self._fields, remark=refusal.remark)

        def stored(env: Environment, result: PutResult) -> None:
            answer = self._answer(header, put, result)
            self._state.when_topics_are_saved(env, lambda env: self._state.remoting.reply(env, link, request, answer))

        self._state.store.put(env, record, stored)
        return None

    def checked(self, env: Environment, link: Link, request: Command) -> PutRequest:
        """What a send of this header would store; :class:`RequestRefused` if it may not be stored."""
        return self._put_request(env, link, request, read_header(request))

    # --- checks -----------------------------------------------------------------------------------------------------

    def _put_request(self, env: Environment, link: Link, request: Command, header: SendHeader) -> PutRequest:
        """What to store, after all checks; :class:`RequestRefused` with the code of the first that failed."""
        topic = self._checked_topic(env, link, header)
        name, queue_id = header.topic, header.queue_id
        if not header.batch:
            name, queue_id = self._after_retries(env, request, header)
        if queue_id < 0:
            queue_id = env.rng.randrange(max(1, topic.write_queue_nums))
        return PutRequest(
            topic=name,
            queue_id=queue_id,
            body=request.body,
            properties=header.properties,
            flag=header.flag,
            sys_flag=header.sys_flag | (MULTI_TAGS if topic.topic_filter_type == MULTI_TAG else 0),
            born_timestamp=header.born_timestamp,
            born_host=env.peer(link),
            reconsume_times=header.reconsume_times,
            is_batch=header.batch,
        )

    def _checked_topic(self, env: Environment, link: Link, header: SendHeader) -> TopicConfig:
        """RocketMQ: AbstractSendMessageProcessor#msgCheck."""
        config, name = self._state.config, header.topic
        topic = self._state.topics.topics.get(name)
        if config.start_accept_send_ms and config.start_accept_send_ms > env.wall():
            raise RequestRefused(
                ResponseCode.SYSTEM_ERROR,
                f"broker[{config.broker_ip}] unable to service, until {config.start_accept_send_ms}",
            )
        if not config.writable and topic is not None and topic.order:
            remark = f"the broker[{config.broker_ip}] sending message is forbidden"
            raise RequestRefused(ResponseCode.NO_PERMISSION, remark)
        if fault := name_fault(name):
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, fault)
        if name in FORBIDDEN_TOPICS:
            raise RequestRefused(ResponseCode.NO_PERMISSION, f"Sending message to topic[{name}] is forbidden.")
        if topic is None:
            topic = self._created_topic(env, header)
        if header.queue_id >= max(topic.write_queue_nums, topic.read_queue_nums):
            remark = f"request queueId[{header.queue_id}] is illegal, {_described(topic)} Producer: {env.peer(link)}"
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
        return topic

    def _created_topic(self, env: Environment, header: SendHeader) -> TopicConfig:
        """A topic that comes into being by this send, or code 17."""
        topic = self._state.topics.create_from_template(
            header.topic, header.default_topic, header.default_topic_queue_nums, 0, env.wall()
        )
        if topic is not None:
            self._state.topics_changed(env)
            return topic
        if header.topic.startswith(RETRY_PREFIX):
            return self._state.internal_topic(env, header.topic, 1)
        remark = f"topic[{header.topic}] not exist, apply first please!{FAQ}"
        raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, remark)

    def _after_retries(self, env: Environment, request: Command, header: SendHeader) -> tuple[str, int]:
        """Where a message goes: a consumer's message to its retry topic ends in the dead-letter topic at last.

        RocketMQ: SendMessageProcessor#handleRetryAndDLQ. Its delay stays (4.9), so that it arrives there late.
        """
        if not header.topic.startswith(RETRY_PREFIX):
            return header.topic, header.queue_id
        name = header.topic.removeprefix(RETRY_PREFIX)
        group = self._state.group(env, name)
        if group is None:
            remark = f"subscription group not exist, {name} {FAQ}"
            raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remark)
        told = header.max_reconsume_times if request.version >= VERSION_OF_MAX_RECONSUME else None
        if header.reconsume_times < (group.retry_max_times if told is None else told):
            return header.topic, header.queue_id
        return self._state.internal_topic(env, DEAD_LETTER_PREFIX + name, 1).topic_name, 0

    def _half(self, put: PutRequest) -> PutRequest:
        """What is stored of a transactional message, unless such are refused."""
        config = self._state.config
        if config.reject_transaction_message:
            remark = f"the broker[{config.broker_ip}] sending transaction message is forbidden"
            raise RequestRefused(ResponseCode.NO_PERMISSION, remark)
        return half_of(put, config.cluster_name)

    # --- answers ----------------------------------------------------------------------------------------------------

    def _answer(self, header: SendHeader, put: PutRequest, result: PutResult) -> Command:
        counters, status = self._state.counters, result.status
        if not status.is_stored:
            counters.puts_failed += 1
            remark = result.remark or _REMARKS[status].format(size=self._state.config.max_message_size)
            is_busy = status is PutStatus.OS_PAGE_CACHE_BUSY and self._state.config.is_5x
            code = ResponseCode.SYSTEM_BUSY if is_busy else PUT_CODES[status]
            return Command(code, self._fields, remark=remark)
        places = result.physical_offsets
        size = result.end_offset - places[0]
        counters.messages_put += len(places)
        counters.bytes_put += size
        self._state.rates.put(put.topic, len(places), size)
        prefix = self._id_prefix
        fields = {
            "msgId": ",".join([f"{prefix}{offset:016X}" for offset in result.physical_offsets]),
            "queueId": str(put.queue_id if header.queue_id < 0 else header.queue_id),
            "queueOffset": str(result.queue_offset),
            **self._fields,
        }
        return Command(PUT_CODES[status], fields)


def _described(topic: TopicConfig) -> str:
    """RocketMQ: TopicConfig#toString."""
    perm = ("R" if topic.perm & 4 else "-") + ("W" if topic.perm & 2 else "-") + ("X" if topic.perm & 1 else "-")
    return (
        f"TopicConfig [topicName={topic.topic_name}, readQueueNums={topic.read_queue_nums}, "
        f"writeQueueNums={topic.write_queue_nums}, perm={perm}, topicFilterType={topic.topic_filter_type}, "
        f"topicSysFlag={topic.topic_sys_flag}, order={'true' if topic.order else 'false'}]"
    )
