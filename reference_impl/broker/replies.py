"""Replies: SEND_REPLY_MESSAGE (324) and its V2 (325), handed to the producer that asked (326).

Question: a consumer answers a request; which connection is waiting for it, and what is the replier told?

Model (RocketMQ: ReplyMessageProcessor). A request is a plain message with the properties CORRELATION_ID,
REPLY_TO_CLIENT and TTL. Its reply is sent to ``<cluster>_REPLY_TOPIC`` with the same properties; the broker looks for
a producer's connection whose client id is REPLY_TO_CLIENT and calls it with 326. Whatever came of that, the reply is
stored (``storeReplyMessageEnable``), and the replier is told:

    0   handed over                        message id, queue and offset of the stored reply, if it is stored
    1   no such connection, or it refused  the same fields

Limits. Producers are known by their heartbeats: one that has not yet said hello to this broker gets no reply.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_impl.broker.send import Sends
from reference_impl.broker.state import State
from reference_impl.environment import SECOND, Environment, Link
from reference_impl.store.request import PutRequest, PutResult
from reference_impl.wire.codes import RequestCode, ResponseCode
from reference_impl.wire.fields import ext_fields
from reference_impl.wire.frame import Command
from reference_impl.wire.message import PROPERTY_REPLY_TO_CLIENT, offset_message_id, parse_properties
from reference_impl.wire.remoting import Answer, CallFailed, Handler

PUSH_TIMEOUT_NS: Final = 10 * SECOND
_Handed = Callable[[Environment, str], None]
"""Called with what went wrong, empty for nothing."""

NOTHING_STORED: Final = {"msgId": "0", "queueId": "0", "queueOffset": "0"}


class Replies:
    """The reply handlers of one broker; *sends* knows what may be stored."""

    def __init__(self, state: State, sends: Sends) -> None:
        self._state, self._sends = state, sends

    def handlers(self) -> dict[int, Handler]:
        """By request code."""
        return {int(RequestCode.SEND_REPLY_MESSAGE): self.reply, int(RequestCode.SEND_REPLY_MESSAGE_V2): self.reply}

    def reply(self, env: Environment, link: Link, request: Command) -> None:
        """Hand it over, store it, answer."""
        as_send = RequestCode.SEND_MESSAGE if request.code == RequestCode.SEND_REPLY_MESSAGE else request.code
        put = self._sends.checked(env, link, Command(as_send, request.fields, request.body, version=request.version))
        client = parse_properties(put.properties).get(PROPERTY_REPLY_TO_CLIENT, "")

        def handed(env: Environment, trouble: str) -> None:
            code = ResponseCode.SYSTEM_ERROR if trouble else ResponseCode.SUCCESS
            self._store(env, link, request, put, Command(code, NOTHING_STORED, remark=trouble or None))

        asker = self._link_of(client)
        if not client:
            handed(env, f"reply message properties[{PROPERTY_REPLY_TO_CLIENT}] is null")
        elif asker is None:
            handed(env, f"push reply message fail, channel of <{client}> not found.")
        else:
            self._push(env, asker, client, put, handed)

    def _push(self, env: Environment, asker: Link, client: str, put: PutRequest, handed: _Handed) -> None:
        """326, to the connection that asked."""

        def answered(env: Environment, answer: Answer) -> None:
            failed = isinstance(answer, CallFailed) or answer.code != ResponseCode.SUCCESS
            handed(env, f"push reply message to {client} fail." if failed else "")

        command = Command(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, self._push_fields(env, put), put.body)
        if self._state.remoting.call_link(env, asker, command, PUSH_TIMEOUT_NS, answered) is None:
            handed(env, f"push reply message fail, channel of <{client}> not found.")

    def _push_fields(self, env: Environment, put: PutRequest) -> dict[str, str]:
        """RocketMQ: ReplyMessageRequestHeader."""
        return ext_fields(
            producerGroup="",
            topic=put.topic,
            defaultTopic="",
            defaultTopicQueueNums=0,
            queueId=put.queue_id,
            sysFlag=put.sys_flag,
            bornTimestamp=put.born_timestamp,
            flag=put.flag,
            properties=put.properties,
            reconsumeTimes=put.reconsume_times,
            unitMode=False,
            bornHost=put.born_host,
            storeHost=self._state.config.address,
            storeTimestamp=env.wall(),
        )

    def _store(self, env: Environment, link: Link, request: Command, put: PutRequest, answer: Command) -> None:
        if not self._state.config.store_reply_message:
            self._state.remoting.reply(env, link, request, answer)
            return

        def stored(env: Environment, result: PutResult) -> None:
            if result.status.is_stored:
                answer.fields = ext_fields(
                    msgId=offset_message_id(self._state.config.address, result.physical_offsets[0]),
                    queueId=put.queue_id,
                    queueOffset=result.queue_offset,
                )
            self._state.remoting.reply(env, link, request, answer)

        self._state.store.put(env, put, stored)

    def _link_of(self, client_id: str) -> Link | None:
        """The newest connection of a producer with that client id."""
        links = [
            link
            for members in self._state.clients.producers.values()
            for link, member in members.items()
            if member.client_id == client_id
        ]
        return max(links, default=None)
