"""What an operator asks of a broker about clients: 307 and 309 are handed on, 222 moves a group, 223 asks all its
members how far they are, 46 checks a filter.

Question: how is a running consumer looked into, given one message by hand, or sent back to an earlier time?

Model (RocketMQ: AdminBrokerProcessor, Broker2Client). 307 (running info) and 309 (consume this message) go on the
client's own connection and its answer comes back as ours, or code 1 where the client is not online; 207 where it does
not answer within 10 s. 222 computes an offset by time for every queue and tells it to every member of the group (220);
what is stored is not touched: the clients commit it themselves. 223 asks one member after the other (221), all or the
one that is named, 5 s each; who does not answer, or not to be understood, is left out.

Limits. 222 as 4.9.7 has it: a group without a committed offset in every queue is refused. 220 goes out in the form that
Java and Go read; C++ clients, which want a list, are told in the same form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from reference_impl.broker.admin import NO_CODE_REMARK
from reference_impl.broker.filters import check_kind, checked_condition
from reference_impl.broker.state import State
from reference_impl.broker.topics import listed_write_queues
from reference_impl.environment import SECOND, Environment, Link
from reference_impl.wire.bodies import MessageQueue, read_consumer_status, write_consumer_status, write_queue_offsets
from reference_impl.wire.codes import RequestCode, ResponseCode
from reference_impl.wire.dialect import read_json
from reference_impl.wire.fields import RequestRefused, boolean, integer, text
from reference_impl.wire.frame import Command, RemoteWireError
from reference_impl.wire.heartbeat import SubscriptionData
from reference_impl.wire.message import parse_message_id
from reference_impl.wire.remoting import Answer, CallFailed, Handler

CLIENT_TIMEOUT_NS: Final = 10 * SECOND
STATUS_TIMEOUT_NS: Final = 5 * SECOND
_Status = dict[str, dict[MessageQueue, int]]
"""Client id → how far it is in each queue."""


class _ClientConfig(msgspec.Struct, rename="camel"):
    subscription_data: SubscriptionData | None = None


class Relay:
    """Handlers that reach through to clients."""

    def __init__(self, state: State) -> None:
        self._state = state

    def handlers(self) -> dict[int, Handler]:
        """By request code."""
        return {
            RequestCode.GET_CONSUMER_RUNNING_INFO: self.running_info,
            RequestCode.CONSUME_MESSAGE_DIRECTLY: self.consume_directly,
            RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: self.reset_offset,
            RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: self.consumer_status,
            RequestCode.CHECK_CLIENT_CONFIG: self.check_client,
        }

    def running_info(self, env: Environment, link: Link, request: Command) -> None:
        """307."""
        self._hand_on(env, link, request, request.body)

    def consume_directly(self, env: Environment, link: Link, request: Command) -> None:
        """309: the message is looked up here and goes along."""
        offset = parse_message_id(text(request, "msgId"))[1]
        record = self._state.store.view(env, offset)
        if record is None:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"can not find message by the offset, {offset}")
        self._hand_on(env, link, request, record)

    def reset_offset(self, env: Environment, link: Link, request: Command) -> Command:
        """222."""
        topic, group = text(request, "topic"), text(request, "group")
        table = self._offsets(env, topic, group, integer(request, "timestamp"), boolean(request, "isForce"))
        members = self._state.clients.links(group)
        if not members:
            remark = f"Consumer not online, so can not reset offset. Group: {group} Topic: {topic}"
            raise RequestRefused(ResponseCode.CONSUMER_NOT_ONLINE, remark)
        body = write_queue_offsets(table)
        fields = {"topic": topic, "group": group, "timestamp": request.fields["timestamp"], "isForce": "false"}
        for member in members:
            notice = Command(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, fields, body)
            self._state.remoting.oneway_link(env, member, notice)
        return Command(ResponseCode.SUCCESS, body=body, remark=NO_CODE_REMARK)

    def consumer_status(self, env: Environment, link: Link, request: Command) -> None:
        """223. RocketMQ: Broker2Client#getConsumeStatus."""
        topic, group, wanted = text(request, "topic"), text(request, "group"), request.fields.get("clientAddr", "")
        consumers = self._state.clients.consumers.get(group)
        if consumers is None or not consumers.members:
            remark = f"No Any Consumer online in the consumer group: [{group}]"
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
        members = [(member_link, member.client_id) for member_link, member in consumers.members.items()]
        asked = [member for member in members if not wanted.strip() or member[1] == wanted]
        question = {"topic": topic, "group": group}

        def done(env: Environment, told: _Status) -> None:
            body = write_consumer_status({}, told)
            self._state.remoting.reply(env, link, request, Command(ResponseCode.SUCCESS, body=body))

        self._ask_next(env, question, asked[:1] if wanted.strip() else asked, {}, done)

    def check_client(self, env: Environment, link: Link, request: Command) -> Command:
        """46: whether this broker can filter by that expression."""
        wanted = read_json(request.body, _ClientConfig).subscription_data
        if wanted is not None and check_kind(self._state.config, wanted.expression_type):
            checked_condition(self._state.config, wanted.sub_string)
        return Command(ResponseCode.SUCCESS)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _hand_on(self, env: Environment, link: Link, request: Command, body: bytes) -> None:
        group, client = text(request, "consumerGroup"), text(request, "clientId")
        member = self._member(group, client)
        if member is None:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"The Consumer <{group}> <{client}> not online")

        def answered(env: Environment, answer: Answer) -> None:
            if isinstance(answer, CallFailed):
                remark = f"consumer <{group}> <{client}> Exception: {answer.kind}"
                answer = Command(ResponseCode.CONSUME_MSG_TIMEOUT, remark=remark)
            self._state.remoting.reply(env, link, request, Command(answer.code, body=answer.body, remark=answer.remark))

        onward = Command(request.code, dict(request.fields), body)
        self._state.remoting.call_link(env, member, onward, CLIENT_TIMEOUT_NS, answered)

    def _ask_next(
        self,
        env: Environment,
        question: dict[str, str],
        members: list[tuple[Link, str]],
        told: _Status,
        done: Callable[[Environment, _Status], None],
    ) -> None:
        """221 to the first of *members*, then to the others."""
        if not members:
            done(env, told)
            return
        (member, client_id), *others = members

        def answered(env: Environment, answer: Answer) -> None:
            if isinstance(answer, Command) and answer.code == ResponseCode.SUCCESS and answer.body:
                try:
                    told[client_id] = read_consumer_status(answer.body)[0]
                except RemoteWireError as error:
                    env.note("consumer_status_unreadable", client=client_id, error=str(error))
            self._ask_next(env, question, others, told, done)

        asking = Command(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, dict(question))
        if self._state.remoting.call_link(env, member, asking, STATUS_TIMEOUT_NS, answered) is None:
            self._ask_next(env, question, others, told, done)

    def _member(self, group: str, client_id: str) -> Link | None:
        consumers = self._state.clients.consumers.get(group)
        members: dict[Link, Any] = consumers.members if consumers is not None else {}
        return next((link for link, member in members.items() if member.client_id == client_id), None)

    def _offsets(
        self, env: Environment, topic: str, group: str, timestamp_ms: int, is_forced: bool
    ) -> dict[MessageQueue, int]:
        """Where every queue is to go: back in time, or wherever if that is forced (−1: the end)."""
        config = self._state.topics.topics.get(topic)
        if config is None:
            raise RequestRefused(
                ResponseCode.SYSTEM_ERROR, f"[reset-offset] reset offset failed, no topic in this broker. topic={topic}"
            )
        table = {}
        for queue_id in listed_write_queues(config):
            stood = self._state.offsets.query(group, topic, queue_id)
            if stood is None:
                raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"THe consumer group <{group}> not exist")
            store = self._state.store
            then = (
                store.max_offset(topic, queue_id)
                if timestamp_ms == -1
                else store.offset_by_time(env, topic, queue_id, timestamp_ms)
            )
            queue = MessageQueue(self._state.config.broker_name, queue_id, topic)
            table[queue] = then if is_forced or then < stood else stood
        return table
