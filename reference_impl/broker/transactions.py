"""Transactional messages: stored as halves that nobody sees, then made real or dropped by END_TRANSACTION (37).

Question: when does a message of a transactional producer become visible, and what is written on the way?

Model (RocketMQ: TransactionalMessageServiceImpl, TransactionalMessageBridge, EndTransactionProcessor).

    send with TRAN_MSG=true     a *half*: the message in RMQ_SYS_TRANS_HALF_TOPIC, queue 0, its real topic and queue in
                                its properties; an ordinary put that waits as the sender wished
    commit (8)                  the message is put under its real name (type 8, preparedTransactionOffset = place of the
                                half) and waits like any other; once stored, an *op* is written
    rollback (12)               an op only
    unknown (0)                 nothing, and no answer: the check (:mod:`~reference_impl.broker.transaction_check`) asks

A half with a delay goes through the schedule topic as half of the half topic, and is dropped there: as in RocketMQ,
whose producers take the delay away.

An op is a message in RMQ_SYS_TRANS_OP_HALF_TOPIC whose body is the half's queue offset in decimal. An end names the
half's place in the log and in its queue, so only the broker that has that log can end it. Nothing remembers what was
ended: the same commit twice makes two messages, and a kill between final message and op makes the check ask again.

Limits. As 4.9.7: one op an end, code 604 (late ends) does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from reference_impl.broker.state import State
from reference_impl.broker.topics import HALF_TOPIC, OP_TOPIC
from reference_impl.environment import Environment, Link
from reference_impl.store.delay import delay_level
from reference_impl.store.properties import java_text, single_message_properties
from reference_impl.store.request import PutRequest, PutResult, PutStatus
from reference_impl.wire.codes import RequestCode, ResponseCode
from reference_impl.wire.fields import RequestRefused, integer, java_number, small_integer, text
from reference_impl.wire.frame import Command
from reference_impl.wire.message import (
    PROPERTY_DELAY,
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    PROPERTY_TAGS,
    PROPERTY_TRANSACTION_PREPARED,
    PROPERTY_WAIT,
    TRANSACTION_COMMIT,
    TRANSACTION_MASK,
    TRANSACTION_NONE,
    TRANSACTION_ROLLBACK,
    Message,
    decode_record,
    parse_properties,
)
from reference_impl.wire.remoting import Handler

OP_TAG: Final = "d"
QUEUE: Final = 0
"""Of both topics."""

_UNSET: Final = "not set any response code"
"""What an answer says that nobody gave a remark (RocketMQ: RemotingCommand#createResponseCommand)."""

_REMOTING_EXCEPTION: Final = "org.apache.rocketmq.remoting.exception.RemotingCommandException"

_FINAL_CODES: Final[Mapping[PutStatus, tuple[int, str]]] = {
    PutStatus.CREATE_MAPEDFILE_FAILED: (ResponseCode.SYSTEM_ERROR, "Create mapped file failed."),
    PutStatus.MESSAGE_ILLEGAL: (
        ResponseCode.MESSAGE_ILLEGAL,
        "The message is illegal, maybe msg body or properties length not matched. msg body length limit 128k, msg "
        "properties length limit 32k.",
    ),
    PutStatus.PROPERTIES_SIZE_EXCEEDED: (
        ResponseCode.MESSAGE_ILLEGAL,
        "The message is illegal, maybe msg body or properties length not matched. msg body length limit 128k, msg "
        "properties length limit 32k.",
    ),
    PutStatus.SERVICE_NOT_AVAILABLE: (ResponseCode.SERVICE_NOT_AVAILABLE, "Service not available now."),
    PutStatus.OS_PAGE_CACHE_BUSY: (ResponseCode.SYSTEM_ERROR, "OS page cache busy, please try another machine"),
    PutStatus.IN_SYNC_REPLICAS_NOT_ENOUGH: (ResponseCode.SYSTEM_ERROR, "in-sync replicas not enough"),
    PutStatus.UNKNOWN_ERROR: (ResponseCode.SYSTEM_ERROR, "UNKNOWN_ERROR"),
}
"""RocketMQ: EndTransactionProcessor#sendFinalMessage."""


def is_half(put: PutRequest) -> bool:
    """Whether a send is to be stored as a half (RocketMQ: SendMessageProcessor; clients before 4.6.1 left TRAN_MSG in
    messages that a consumer sends back)."""
    if put.is_batch or PROPERTY_TRANSACTION_PREPARED not in put.properties:
        return False
    properties = parse_properties(put.properties)
    if properties.get(PROPERTY_TRANSACTION_PREPARED, "").lower() != "true":
        return False
    return not (put.reconsume_times > 0 and properties.get(PROPERTY_DELAY, "0") not in ("", "0"))


def half_of(put: PutRequest, cluster: str) -> PutRequest:
    """What is stored of a transactional send. RocketMQ: TransactionalMessageBridge#parseHalfMessageInner."""
    _, properties = single_message_properties(put.properties, cluster)
    properties[PROPERTY_REAL_TOPIC] = put.topic
    properties[PROPERTY_REAL_QUEUE_ID] = str(put.queue_id)
    return msgspec.structs.replace(
        put,
        topic=HALF_TOPIC,
        queue_id=QUEUE,
        properties=java_text(properties),
        sys_flag=put.sys_flag & ~TRANSACTION_MASK,
        is_internal=True,
        delay_level=_level(properties),
        wait=waits(properties),
    )


def waits(properties: Mapping[str, str]) -> bool:
    """WAIT absent means true."""
    return properties.get(PROPERTY_WAIT, "true").lower() == "true"


def _level(properties: Mapping[str, str]) -> int:
    """The delay level of a half or a final message; :class:`RequestRefused` for one that is no number."""
    try:
        return delay_level(properties.get(PROPERTY_DELAY))
    except ValueError as error:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, str(error)) from error


class Ending(msgspec.Struct, frozen=True, gc=False):
    """The header of END_TRANSACTION. ``kind``: 8 commit, 12 rollback, else nothing."""

    group: str
    queue_offset: int
    physical_offset: int
    kind: int


class Transactions:
    """The handler of END_TRANSACTION on a master."""

    def __init__(self, state: State) -> None:
        self._state = state

    def handlers(self) -> dict[int, Handler]:
        """By request code."""
        return {int(RequestCode.END_TRANSACTION): self.end}

    def end(self, env: Environment, link: Link, request: Command) -> Command | None:
        """37. A commit is answered when its message is stored as it wished."""
        ending = _ending(request)
        if ending.kind == TRANSACTION_NONE:
            return None
        half = self._half(env, ending)
        if ending.kind == TRANSACTION_ROLLBACK:
            self._write_op(env, half)
            return Command(ResponseCode.SUCCESS, {}, remark=_UNSET)
        final = final_of(half, ending)

        def stored(env: Environment, result: PutResult) -> None:
            if result.status.is_stored:
                self._write_op(env, half)
            self._state.remoting.reply(env, link, request, _answer(result.status))

        self._state.store.put(env, final, stored)
        return None

    def _half(self, env: Environment, ending: Ending) -> Message:
        """The half that is meant. RocketMQ: EndTransactionProcessor#checkPrepareMessage."""
        record = self._state.store.view(env, ending.physical_offset)
        if record is None:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "Find prepared transaction message failed")
        half = decode_record(record)
        if half.property_map().get(PROPERTY_PRODUCER_GROUP) != ending.group:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "The producer group wrong")
        if half.queue_offset != ending.queue_offset:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "The transaction state table offset wrong")
        if half.physical_offset != ending.physical_offset:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "The commit log offset wrong")
        return half

    def _write_op(self, env: Environment, half: Message) -> None:
        """Mark the half as ended; where that fails the check asks again. RocketMQ: putOpMessage."""
        own = self._state.config.address
        op = PutRequest(
            topic=OP_TOPIC,
            queue_id=half.queue_id,
            body=str(half.queue_offset).encode(),
            properties=java_text({PROPERTY_WAIT: "true", PROPERTY_TAGS: OP_TAG}),
            born_timestamp=env.wall(),
            born_host=own,
            is_internal=True,
            wait=False,
        )
        self._state.store.put(env, op, lambda env, result: None)


def _ending(request: Command) -> Ending:
    """The header; what is mandatory and missing is code 1, as Java's null."""
    ending = Ending(
        text(request, "producerGroup"),
        integer(request, "tranStateTableOffset"),
        integer(request, "commitLogOffset"),
        small_integer(request, "commitOrRollback"),
    )
    if ending.kind not in (TRANSACTION_NONE, TRANSACTION_COMMIT, TRANSACTION_ROLLBACK):
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"{_REMOTING_EXCEPTION}: commitOrRollback field wrong")
    return ending


def final_of(half: Message, ending: Ending) -> PutRequest:
    """The message itself. RocketMQ: EndTransactionProcessor#endMessageTransaction. Its text is the half's."""
    properties = half.property_map()
    queue_id = java_number(properties.get(PROPERTY_REAL_QUEUE_ID, ""), 32)
    if PROPERTY_REAL_TOPIC not in properties or queue_id is None:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, "Find prepared transaction message failed")
    return PutRequest(
        topic=properties[PROPERTY_REAL_TOPIC],
        queue_id=queue_id,
        body=half.body,
        properties=half.properties,
        flag=half.flag,
        sys_flag=(half.sys_flag & ~TRANSACTION_MASK) | ending.kind,
        born_timestamp=half.born_timestamp,
        born_host=half.born_host,
        reconsume_times=half.reconsume_times,
        prepared_transaction_offset=half.physical_offset,
        is_internal=True,
        delay_level=_level(properties),
        wait=waits(properties),
    )


def _answer(status: PutStatus) -> Command:
    if status.is_stored:
        return Command(ResponseCode.SUCCESS, {})
    code, remark = _FINAL_CODES[status]
    return Command(code, {}, remark=remark)
