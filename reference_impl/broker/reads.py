"""Lookups: consumer offsets (14, 15), queue extents (29 to 32), one message by id (33), messages by key (12).

Question: where does a group stand, how far does a queue reach, and what is stored there?

Model (RocketMQ: ConsumerManageProcessor, AdminBrokerProcessor, QueryMessageProcessor). An offset that nobody stored is
0 as long as the queue begins at 0 and its first message is still "in memory", else 22, whatever the topic; an update is
never refused. Extents of unknown queues are 0. The end of a queue is that of the *dispatched* messages, so it may lag
behind an acknowledged send.

Limits. "In memory" is the store's estimate (40 % of the RAM behind the log's end), as RocketMQ's is.
"""

from __future__ import annotations

from typing import Final

from reference_impl.broker.state import State
from reference_impl.environment import Environment, Link
from reference_impl.wire.codes import RequestCode, ResponseCode
from reference_impl.wire.fields import ext_fields, integer, small_integer, text
from reference_impl.wire.frame import Command
from reference_impl.wire.remoting import Handler

UNIQUE_KEY_QUERY: Final = "_UNIQUE_KEY_QUERY"
QUERY_MESSAGES_MAX: Final = 32
"""Of a query by unique key (RocketMQ: MessageStoreConfig.defaultQueryMaxNum)."""


class Reads:
    """Handlers that look something up."""

    def __init__(self, state: State) -> None:
        self._state = state

    def handlers(self) -> dict[int, Handler]:
        """By request code."""
        return {
            RequestCode.QUERY_CONSUMER_OFFSET: self.query_offset,
            RequestCode.UPDATE_CONSUMER_OFFSET: self.update_offset,
            RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: self.search_offset,
            RequestCode.GET_MAX_OFFSET: self.max_offset,
            RequestCode.GET_MIN_OFFSET: self.min_offset,
            RequestCode.GET_EARLIEST_MSG_STORETIME: self.earliest_time,
            RequestCode.VIEW_MESSAGE_BY_ID: self.view,
            RequestCode.QUERY_MESSAGE: self.query,
        }

    # --- consumer offsets -------------------------------------------------------------------------------------------

    def query_offset(self, env: Environment, link: Link, request: Command) -> Command:
        """14."""
        topic, queue_id = _queue(request)
        offset = self._state.offsets.query(text(request, "consumerGroup"), topic, queue_id)
        if offset is None and self._begins_in_memory(env, topic, queue_id):
            offset = 0
        if offset is None:
            remark = "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"
            return Command(ResponseCode.QUERY_NOT_FOUND, {}, remark=remark)
        return Command(ResponseCode.SUCCESS, {"offset": str(offset)})

    def update_offset(self, env: Environment, link: Link, request: Command) -> Command:
        """15."""
        topic, queue_id = _queue(request)
        group, offset = text(request, "consumerGroup"), integer(request, "commitOffset")
        self._state.offsets.commit(group, topic, queue_id, offset)
        return Command(ResponseCode.SUCCESS, {})

    def _begins_in_memory(self, env: Environment, topic: str, queue_id: int) -> bool:
        store = self._state.store
        return store.min_offset(topic, queue_id) <= 0 and not store.is_in_disk(env, topic, queue_id, 0)

    # --- extents ----------------------------------------------------------------------------------------------------

    def search_offset(self, env: Environment, link: Link, request: Command) -> Command:
        """29."""
        topic, queue_id = _queue(request)
        offset = self._state.store.offset_by_time(env, topic, queue_id, integer(request, "timestamp"))
        return Command(ResponseCode.SUCCESS, {"offset": str(offset)})

    def max_offset(self, env: Environment, link: Link, request: Command) -> Command:
        """30."""
        return Command(ResponseCode.SUCCESS, {"offset": str(self._state.store.max_offset(*_queue(request)))})

    def min_offset(self, env: Environment, link: Link, request: Command) -> Command:
        """31."""
        return Command(ResponseCode.SUCCESS, {"offset": str(self._state.store.min_offset(*_queue(request)))})

    def earliest_time(self, env: Environment, link: Link, request: Command) -> Command:
        """32: store time of the queue's first message, −1 if it has none."""
        timestamp = self._state.store.earliest_timestamp(env, *_queue(request))
        return Command(ResponseCode.SUCCESS, {"timestamp": str(timestamp)})

    # --- messages ---------------------------------------------------------------------------------------------------

    def view(self, env: Environment, link: Link, request: Command) -> Command:
        """33."""
        offset = integer(request, "offset")
        record = self._state.store.view(env, offset)
        if record is None:
            remark = f"can not find message by the offset, {offset}"
            return Command(ResponseCode.SYSTEM_ERROR, remark=remark)
        return Command(ResponseCode.SUCCESS, body=record)

    def query(self, env: Environment, link: Link, request: Command) -> Command:
        """12."""
        by_unique_key = request.fields.get(UNIQUE_KEY_QUERY, "").lower() == "true"
        found = self._state.store.query(
            env,
            text(request, "topic"),
            text(request, "key"),
            QUERY_MESSAGES_MAX if by_unique_key else small_integer(request, "maxNum"),
            integer(request, "beginTimestamp"),
            integer(request, "endTimestamp"),
        )
        if not found.records:
            fields = ext_fields(indexLastUpdateTimestamp=0, indexLastUpdatePhyoffset=0)
            remark = "can not find message, maybe time range not correct"
            return Command(ResponseCode.QUERY_NOT_FOUND, fields, remark=remark)
        fields = ext_fields(
            indexLastUpdateTimestamp=found.last_update_timestamp, indexLastUpdatePhyoffset=found.last_update_offset
        )
        return Command(ResponseCode.SUCCESS, fields, b"".join(found.records))


def _queue(request: Command) -> tuple[str, int]:
    return text(request, "topic"), small_integer(request, "queueId")
