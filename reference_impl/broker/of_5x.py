"""What 5.x brokers are asked besides: one topic (351), one group (352), a group's topics (343) and what it wants of one
(345); and what of theirs is not built here.

Question: a 5.x client asks for something that 4.9 does not know. Is it served, and if not, does the answer say what it
was?

Model (RocketMQ 5.3.3: AdminBrokerProcessor#getTopicConfig, #getSubscriptionGroup, #queryTopicsByConsumer,
#querySubscriptionByConsumer). With ``release=5.3.3``:

    343   the topics in which a group has committed      none for a group that nobody knows
    345   what a group that is online wants of a topic   no ``subscriptionData`` where it wants nothing, or is not there
    351   the configuration of one topic                 17 where there is none
    352   that of one group, which is made if groups are made by themselves

The checkpoint of timers (60) is told by every broker, by one without a wheel as zeros, which nobody takes over: a
returning master of 5.3.3 asks each slave for it, and without an answer stays isolated for ever.

:data:`UNBUILT` are refused with code 3 as any unknown request is, by name.

Limits. No attributes of topics and groups, no static topics (their queues are mapped nowhere).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reference_impl.broker.state import State
from reference_impl.broker.statistics import subscription_data
from reference_impl.environment import Environment, Link
from reference_impl.wire.bodies import TopicList
from reference_impl.wire.codes import RequestCode, ResponseCode
from reference_impl.wire.dialect import write_json
from reference_impl.wire.fields import RequestRefused, text
from reference_impl.wire.frame import Command
from reference_impl.wire.remoting import Handler

UNBUILT: Final[Mapping[RequestCode, str]] = {
    RequestCode.POP_MESSAGE: "pop consumption",
    RequestCode.ACK_MESSAGE: "pop consumption",
    RequestCode.BATCH_ACK_MESSAGE: "pop consumption",
    RequestCode.PEEK_MESSAGE: "pop consumption",
    RequestCode.CHANGE_MESSAGE_INVISIBLETIME: "pop consumption",
    RequestCode.NOTIFICATION: "pop consumption",
    RequestCode.POLLING_INFO: "pop consumption",
    RequestCode.POP_ROLLBACK: "pop consumption",
    RequestCode.QUERY_ASSIGNMENT: "queues that the broker assigns",
    RequestCode.SET_MESSAGE_REQUEST_MODE: "queues that the broker assigns",
    RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC: "static topics",
    RequestCode.RECALL_MESSAGE: "recalling a message",
    RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN: "groups that are forbidden a topic",
}
"""Requests of 5.x that are not served here, and what they are about."""


class Of5x:
    """Handlers of a broker with ``release=5.3.3``; none with another."""

    def __init__(self, state: State) -> None:
        self._state = state

    def handlers(self) -> dict[int, Handler]:
        """By request code."""
        if not self._state.config.is_5x:
            return {}
        served: dict[int, Handler] = {
            int(RequestCode.QUERY_TOPICS_BY_CONSUMER): self.topics_of_group,
            int(RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER): self.subscription,
            int(RequestCode.GET_TOPIC_CONFIG): self.topic,
            int(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG): self.group,
            int(RequestCode.GET_TIMER_CHECK_POINT): self.timers,
        }
        return {**dict.fromkeys(map(int, UNBUILT), self.refuse), **served}

    def topics_of_group(self, env: Environment, link: Link, request: Command) -> Command:
        """343."""
        topics = self._state.offsets.topics_of(text(request, "group"))
        return Command(ResponseCode.SUCCESS, {}, write_json(TopicList(self._state.config.address, topics)))

    def subscription(self, env: Environment, link: Link, request: Command) -> Command:
        """345."""
        name, topic = text(request, "group"), text(request, "topic")
        group = self._state.clients.consumers.get(name)
        wanted = group.subscriptions.get(topic) if group is not None else None
        body: dict[str, object] = {"group": name}
        body |= {"subscriptionData": subscription_data(wanted)} if wanted is not None else {}
        return Command(ResponseCode.SUCCESS, {}, write_json(body | {"topic": topic}))

    def topic(self, env: Environment, link: Link, request: Command) -> Command:
        """351."""
        name = text(request, "topic")
        found = self._state.topics.topics.get(name)
        if found is None:
            raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, f"No topic in this broker. topic: {name}")
        return Command(ResponseCode.SUCCESS, {}, _with_attributes(write_json(found)))

    def group(self, env: Environment, link: Link, request: Command) -> Command:
        """352."""
        name = text(request, "group")
        found = self._state.group(env, name)
        if found is None:
            raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"No group in this broker. group: {name}")
        return Command(ResponseCode.SUCCESS, {}, _with_attributes(write_json(found)))

    def timers(self, env: Environment, link: Link, request: Command) -> Command:
        """60."""
        return Command(ResponseCode.SUCCESS, {}, self._state.timers.checkpoint())

    def refuse(self, env: Environment, link: Link, request: Command) -> Command:
        """By name."""
        code = RequestCode(request.code)
        remark = f" request type {request.code} not supported: {code.name}, {UNBUILT[code]} is not built"
        return Command(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark=remark)


def _with_attributes(body: bytes) -> bytes:
    """5.x writes an empty table of attributes first."""
    return b'{"attributes":{},' + body[1:]
