"""CONSUMER_SEND_MSG_BACK (36): a consumer could not handle a message and wants it again, later.

Question: where does such a message go, when does it come back, and when is it given up?

Model (RocketMQ: SendMessageProcessor#asyncConsumerSendMsgBack). The message is read by its commit log offset and
written anew: to %RETRY%group with a delay (level 3 + times tried, or the level asked for), or, once it was tried as
often as the request (else the group) allows or with a negative level, to %DLQ%group at once. The new record remembers
its first topic and id, does not wait for the flush, and counts one more try.

Limits. The answer is 0 for PUT_OK only; any other status is 1 with the status' name, upon which RocketMQ's consumer
sends the message itself.
"""

from __future__ import annotations

from reference_impl.broker.send import FAQ, VERSION_OF_MAX_RECONSUME
from reference_impl.broker.state import State
from reference_impl.broker.topics import DEAD_LETTER_PREFIX, RETRY_PREFIX
from reference_impl.environment import Environment, Link
from reference_impl.store.properties import java_text
from reference_impl.store.request import PutRequest, PutResult, PutStatus
from reference_impl.wire.bodies import PERM_WRITE, SubscriptionGroupConfig, TopicConfig
from reference_impl.wire.codes import RequestCode, ResponseCode
from reference_impl.wire.fields import RequestRefused, integer, integer_or_none, small_integer, text
from reference_impl.wire.frame import Command
from reference_impl.wire.message import (
    PROPERTY_DELAY,
    PROPERTY_ORIGIN_MESSAGE_ID,
    PROPERTY_RETRY_TOPIC,
    PROPERTY_WAIT,
    Message,
    decode_record,
)
from reference_impl.wire.remoting import Handler

FIRST_RETRY_LEVEL = 3


class SendBacks:
    """The handler of one broker."""

    def __init__(self, state: State) -> None:
        self._state = state

    def handlers(self) -> dict[int, Handler]:
        """By request code."""
        return {RequestCode.CONSUMER_SEND_MSG_BACK: self.send_back}

    def send_back(self, env: Environment, link: Link, request: Command) -> Command | None:
        """36; answered when the store has decided."""
        group = self._checked_group(env, text(request, "group"))
        if group.retry_queue_nums <= 0:
            return Command(ResponseCode.SUCCESS)
        queues = self._state.internal_topic(env, RETRY_PREFIX + group.group_name, group.retry_queue_nums)
        _check_writable(queues)
        message = self._message(env, integer(request, "offset"))
        put = self._put_request(env, request, group, message)

        def stored(env: Environment, result: PutResult) -> None:
            if result.status.is_stored:
                self._state.rates.sent_back(
                    group.group_name, message.property_map().get(PROPERTY_RETRY_TOPIC, message.topic)
                )
            self._state.remoting.reply(env, link, request, _answer(result.status))

        self._state.store.put(env, put, stored)
        return None

    def _checked_group(self, env: Environment, name: str) -> SubscriptionGroupConfig:
        group, config = self._state.group(env, name), self._state.config
        if group is None:
            remark = f"subscription group not exist, {name} {FAQ}"
            raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remark)
        if not config.writable:
            remark = f"the broker[{config.broker_ip}] sending message is forbidden"
            raise RequestRefused(ResponseCode.NO_PERMISSION, remark)
        return group

    def _message(self, env: Environment, offset: int) -> Message:
        record = self._state.store.view(env, offset)
        if record is None:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"look message by offset failed, {offset}")
        return decode_record(record)

    def _put_request(
        self, env: Environment, request: Command, group: SubscriptionGroupConfig, message: Message
    ) -> PutRequest:
        level = small_integer(request, "delayLevel")
        told = (
            integer_or_none(request, "maxReconsumeTimes", bits=32)
            if request.version >= VERSION_OF_MAX_RECONSUME
            else None
        )
        is_dead = level < 0 or message.reconsume_times >= (group.retry_max_times if told is None else told)
        delay = 0 if is_dead else level or FIRST_RETRY_LEVEL + message.reconsume_times
        topic = (DEAD_LETTER_PREFIX if is_dead else RETRY_PREFIX) + group.group_name
        if is_dead:
            self._state.internal_topic(env, topic, 1)
        return PutRequest(
            topic=topic,
            queue_id=0 if is_dead else env.rng.randrange(group.retry_queue_nums),
            body=message.body,
            properties=java_text(_properties(message, delay)),
            flag=message.flag,
            sys_flag=message.sys_flag,
            born_timestamp=message.born_timestamp,
            born_host=message.born_host,
            reconsume_times=message.reconsume_times + 1,
            is_internal=is_dead,  # a retry goes through the schedule topic, which the store does for ordinary puts
            wait=False,
        )


def _properties(message: Message, delay: int) -> dict[str, str]:
    properties = message.property_map()
    properties.setdefault(PROPERTY_RETRY_TOPIC, message.topic)
    properties[PROPERTY_WAIT] = "false"
    properties[PROPERTY_DELAY] = str(delay)
    properties.setdefault(PROPERTY_ORIGIN_MESSAGE_ID, message.message_id())
    return properties


def _check_writable(topic: TopicConfig) -> None:
    if not topic.perm & PERM_WRITE:
        remark = f"the topic[{topic.topic_name}] sending message is forbidden"
        raise RequestRefused(ResponseCode.NO_PERMISSION, remark)


def _answer(status: PutStatus) -> Command:
    if status is PutStatus.PUT_OK:
        return Command(ResponseCode.SUCCESS)
    return Command(ResponseCode.SYSTEM_ERROR, remark=status.value)
