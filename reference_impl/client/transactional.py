"""The transactional producer: a half, the local transaction, its end, and answers to the broker's questions.

Question: when does a producer commit, when does it roll back, and when does it leave the broker to ask?

Model (RocketMQ: TransactionMQProducer, DefaultMQProducerImpl#sendMessageInTransaction, #endTransaction).

    SEND_OK                                         the local transaction runs; its word is the end: commit, rollback,
                                                    or unknown, which makes the broker ask later
    FLUSH_DISK_TIMEOUT, FLUSH_SLAVE_TIMEOUT,
    SLAVE_NOT_AVAILABLE                             rolled back, the local transaction never runs
    anything else                                   nothing is known to be stored: no end is sent

The end goes one-way to the master that the broker name has now. A question (39) is answered with the word of
``on_check`` on the connection that it came on; it names the newest copy of the half, and so does the answer.

Limits. An end may get lost: the broker asks then. A delay is taken out of the message, as in RocketMQ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import IntEnum

from reference_impl.client.client import Client
from reference_impl.client.consumer import pulled
from reference_impl.client.model import Message, MessageQueue, PulledMessage, SendResult
from reference_impl.client.producer import OnResult, Producer, ProducerSettings
from reference_impl.client.status import SEND_OK, STORED
from reference_impl.environment import Environment, Link
from reference_impl.wire.codes import RequestCode
from reference_impl.wire.fields import ext_fields
from reference_impl.wire.frame import Command, RemoteWireError
from reference_impl.wire.message import (
    PROPERTY_DELAY,
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_TRANSACTION_PREPARED,
    PROPERTY_UNIQUE_KEY,
    TRANSACTION_COMMIT,
    TRANSACTION_NONE,
    TRANSACTION_PREPARED,
    TRANSACTION_ROLLBACK,
    decode_record,
    parse_message_id,
)


class TransactionState(IntEnum):
    """What an application says of its transaction; the numbers are those of the wire."""

    COMMIT = TRANSACTION_COMMIT
    ROLLBACK = TRANSACTION_ROLLBACK
    UNKNOWN = TRANSACTION_NONE


OnHalf = Callable[[Environment, SendResult], TransactionState]
"""The local transaction, run when the half is stored as promised."""

OnCheck = Callable[[Environment, PulledMessage], TransactionState]
"""The word about a half that a broker asks about."""


class TransactionProducer(Producer):
    """A producer whose messages become visible only when their local transaction says so."""

    def __init__(self, client: Client, settings: ProducerSettings, on_check: OnCheck) -> None:
        super().__init__(client, settings)
        self._on_check = on_check

    def send_in_transaction(
        self,
        env: Environment,
        message: Message,
        on_half: OnHalf,
        on_ended: Callable[[Environment, SendResult, TransactionState | None], None],
        queue: MessageQueue | None = None,
    ) -> int:
        """Send the half, run *on_half*, send the end; then *on_ended* with the word that was sent, ``None`` for none.

        Returns the number of the send. ``ValueError`` as :meth:`Producer.send`.
        """

        def sent(env: Environment, result: SendResult) -> None:
            if result.status not in STORED:
                on_ended(env, result, None)
                return
            state = on_half(env, result) if result.status == SEND_OK else TransactionState.ROLLBACK
            self._end(env, result, state)
            on_ended(env, result, state)

        return self._send_half(env, message, sent, queue)

    def _send_half(self, env: Environment, message: Message, sent: OnResult, queue: MessageQueue | None) -> int:
        properties = {name: value for name, value in message.properties.items() if name != PROPERTY_DELAY}
        properties |= {PROPERTY_TRANSACTION_PREPARED: "true", PROPERTY_PRODUCER_GROUP: self.settings.group}
        half = replace(message, properties=properties)
        self._check(half.topic, half.body)
        text, unique_key = self._properties(env, half)
        body, sys_flag = self._packed(half.body)
        request = self._requests(half.topic, body, text, sys_flag | TRANSACTION_PREPARED, half.flag, env.wall())
        return self._begin(env, half.topic, request, unique_key, sent, queue)

    def _end(self, env: Environment, result: SendResult, state: TransactionState) -> None:
        """37, one-way; nowhere if the broker name has no master now."""
        assert result.queue is not None, "what is stored has a place"
        address = self.client.routes.master(result.queue.broker_name)
        if address is None:
            return
        fields = self._ending(result.unique_key, result.queue_offset, parse_message_id(result.message_id)[1], state)
        fields |= ext_fields(bname=result.queue.broker_name, fromTransactionCheck=False)
        self.client.remoting.oneway(env, address, Command(RequestCode.END_TRANSACTION, fields))

    def _ending(
        self, unique_key: str, queue_offset: int, physical_offset: int, state: TransactionState
    ) -> dict[str, str]:
        return ext_fields(
            producerGroup=self.settings.group,
            tranStateTableOffset=queue_offset,
            commitLogOffset=physical_offset,
            commitOrRollback=int(state),
            msgId=unique_key,
        )

    # --- questions --------------------------------------------------------------------------------------------------

    def on_request(self, env: Environment, link: Link, request: Command) -> bool:
        """39 about a half of our group."""
        if request.code != RequestCode.CHECK_TRANSACTION_STATE:
            return False
        try:
            record = decode_record(request.body)
            half = pulled(MessageQueue(record.topic, "", record.queue_id), record)
        except RemoteWireError as error:
            env.note("transaction_question_unreadable", error=str(error))
            return False
        if half.properties.get(PROPERTY_PRODUCER_GROUP) != self.settings.group:
            return False
        state = self._on_check(env, half)
        key = half.properties.get(PROPERTY_UNIQUE_KEY) or request.fields.get("msgId", "")
        fields = self._ending(
            key, int(request.fields["tranStateTableOffset"]), int(request.fields["commitLogOffset"]), state
        )
        fields |= ext_fields(transactionId=request.fields.get("transactionId"), fromTransactionCheck=True)
        self.client.remoting.oneway_link(env, link, Command(RequestCode.END_TRANSACTION, fields))
        return True
