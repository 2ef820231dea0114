"""What an operator asks for to keep a broker in order: clean-up (306, 316, 329), progress (303, 308, 314, 317), rates
(315), and a look into a queue (321).

Question: which groups lag and by how much, what may be thrown away, and what do the index units of a queue point at?

Model (RocketMQ: AdminBrokerProcessor). All as 4.9.7 answers it, checked against it.

    306   queues with nothing left in the log go away    316   queues of topics that are not there any more go away
    329   old log files go as if it were time for it     321   units of a queue, with a group's filter
    303   oldest, newest and consumed message            317   progress of all groups
    308   the least offset of all groups                 314   a group starts where another stands
    315   messages and bytes of the last minute, hour and day

One trap is kept, because Apache's brokers have it: 308 with ``filterGroups`` *forgets* the offsets of the
groups that it should leave out of the answer, although it is a query. Both 4.9.7 and 5.3.3 do.

Limits. Times are written in UTC, because a role knows no time zone.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
from msgspec import UNSET, UnsetType

from reference_impl.broker.admin import NO_CODE_REMARK
from reference_impl.broker.rates import Figures
from reference_impl.broker.state import State
from reference_impl.broker.statistics import Statistics, subscription_data
from reference_impl.broker.topics import listed_write_queues
from reference_impl.environment import Environment, Link
from reference_impl.wire.bodies import ConsumeOffset, MessageQueue
from reference_impl.wire.codes import RequestCode, ResponseCode
from reference_impl.wire.dialect import write_dialect, write_json
from reference_impl.wire.fields import RequestRefused, boolean, integer, small_integer, text
from reference_impl.wire.frame import Command
from reference_impl.wire.heartbeat import SubscriptionData
from reference_impl.wire.remoting import Handler

NEVER = (1 << 63) - 1
"""RocketMQ: Long.MAX_VALUE, where the group compared with is already behind all others."""


class _Rates(msgspec.Struct, rename="camel"):
    stats_day: Figures
    stats_hour: Figures
    stats_minute: Figures


class _TimeSpan(msgspec.Struct, rename="camel"):
    consume_time_stamp: int
    consume_time_stamp_str: str
    delay_time: int
    max_time_stamp: int
    max_time_stamp_str: str
    message_queue: MessageQueue
    min_time_stamp: int
    min_time_stamp_str: str


class _Unit(msgspec.Struct, rename="camel"):
    eval: bool
    physic_offset: int
    physic_size: int
    tags_code: int


class _Units(msgspec.Struct, rename="camel"):
    filter_data: str | UnsetType
    max_queue_index: int
    min_queue_index: int
    queue_data: list[_Unit]
    subscription_data: SubscriptionData | UnsetType


class Upkeep:
    """Handlers for an operator's routine."""

    def __init__(self, state: State, statistics: Statistics) -> None:
        self._state, self._statistics = state, statistics

    def handlers(self) -> dict[int, Handler]:
        """By request code."""
        return {
            RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE: self.clean_expired_queues,
            RequestCode.CLEAN_UNUSED_TOPIC: self.clean_unused_topics,
            RequestCode.DELETE_EXPIRED_COMMITLOG: self.delete_expired_log,
            RequestCode.QUERY_CONSUME_TIME_SPAN: self.time_spans,
            RequestCode.QUERY_CORRECTION_OFFSET: self.least_offsets,
            RequestCode.CLONE_GROUP_OFFSET: self.clone_offsets,
            RequestCode.GET_BROKER_CONSUME_STATS: self.all_progress,
            RequestCode.VIEW_BROKER_STATS_DATA: self.rates,
            RequestCode.QUERY_CONSUME_QUEUE: self.units,
        }

    # --- clean-up ---------------------------------------------------------------------------------------------------

    def clean_expired_queues(self, env: Environment, link: Link, request: Command) -> Command:
        """306."""
        self._state.store.delete_expired_queues(env)
        return Command(ResponseCode.SUCCESS)

    def clean_unused_topics(self, env: Environment, link: Link, request: Command) -> Command:
        """316."""
        topics = self._state.topics
        for topic in dict.fromkeys(topic for topic, _ in self._state.store.queues()):
            if topic not in topics.topics and not topics.is_system(topic):
                self._state.store.delete_topic(env, topic)
        return Command(ResponseCode.SUCCESS)

    def delete_expired_log(self, env: Environment, link: Link, request: Command) -> Command:
        """329."""
        self._state.store.delete_old_files_soon()
        return Command(ResponseCode.SUCCESS)

    # --- progress ---------------------------------------------------------------------------------------------------

    def time_spans(self, env: Environment, link: Link, request: Command) -> Command:
        """303."""
        topic, group = text(request, "topic"), text(request, "group")
        config = self._state.topics.topics.get(topic)
        if config is None:
            raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist")
        spans = [self._span(env, group, topic, queue_id) for queue_id in listed_write_queues(config)]
        return Command(ResponseCode.SUCCESS, body=write_json({"consumeTimeSpanSet": spans}))

    def _span(self, env: Environment, group: str, topic: str, queue_id: int) -> _TimeSpan:
        store = self._state.store
        end, offset = store.max_offset(topic, queue_id), self._state.offsets.query(group, topic, queue_id)
        stands = -1 if offset is None else offset
        oldest_ms = store.earliest_timestamp(env, topic, queue_id)
        newest_ms = self._stored_ms(env, topic, queue_id, end - 1)
        consumed_ms = self._stored_ms(env, topic, queue_id, stands - 1) if stands > 0 else oldest_ms
        delay_ms = env.wall() - self._stored_ms(env, topic, queue_id, stands) if stands < end else 0
        return _TimeSpan(
            consumed_ms,
            _written(consumed_ms),
            delay_ms,
            newest_ms,
            _written(newest_ms),
            MessageQueue(self._state.config.broker_name, queue_id, topic),
            oldest_ms,
            _written(oldest_ms),
        )

    def _stored_ms(self, env: Environment, topic: str, queue_id: int, offset: int) -> int:
        """Store time of one message, −1 where there is none."""
        return self._statistics.store_time(env, topic, queue_id, offset) or -1

    def least_offsets(self, env: Environment, link: Link, request: Command) -> Command:
        """308."""
        topic, compared = text(request, "topic"), text(request, "compareGroup")
        offsets = self._state.offsets
        for group in filter(None, request.fields.get("filterGroups", "").split(",")):
            offsets.forget_group(group)
        least = offsets.least(topic)
        for queue_id, offset in offsets.of(compared, topic).items():
            if least.get(queue_id, 0) > offset:
                least[queue_id] = NEVER
        return Command(ResponseCode.SUCCESS, body=write_dialect({"correctionOffsets": least}))

    def clone_offsets(self, env: Environment, link: Link, request: Command) -> Command:
        """314: of one topic; without one nothing happens."""
        source, target, topic = text(request, "srcGroup"), text(request, "destGroup"), request.fields.get("topic")
        if topic:
            for queue_id, offset in self._state.offsets.of(source, topic).items():
                self._state.offsets.commit(target, topic, queue_id, offset)
        return Command(ResponseCode.SUCCESS)

    def all_progress(self, env: Environment, link: Link, request: Command) -> Command:
        """317."""
        only_ordered = boolean(request, "isOrder")
        table: list[dict[str, list[object]]] = []
        behind = 0
        for group in self._state.groups.groups:
            entries: list[object] = []
            for topic in self._state.offsets.topics_of(group):
                config = self._state.topics.topics.get(topic)
                if config is None or (only_ordered and not config.order):
                    continue
                progress = self._statistics.progress(env, group, topic)
                behind += sum(_behind(at) for at in progress.values())
                rate = self._state.rates.taken_each_second(group, topic)
                entries.append({"consumeTps": rate, "offsetTable": progress})
            table.append({group: entries})
        body = {"brokerAddr": self._state.config.address, "consumeStatsList": table, "totalDiff": behind}
        return Command(ResponseCode.SUCCESS, body=write_dialect(body))

    # --- looks ------------------------------------------------------------------------------------------------------

    def rates(self, env: Environment, link: Link, request: Command) -> Command:
        """315."""
        name, key = request.fields.get("statsName", "null"), request.fields.get("statsKey", "null")
        rate = self._state.rates.find(name, key)
        if rate is None:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"The stats <{name}> <{key}> not exist")
        minute, hour, day = (rate.figures(which) for which in range(3))
        return Command(ResponseCode.SUCCESS, body=write_json(_Rates(day, hour, minute)))

    def units(self, env: Environment, link: Link, request: Command) -> Command:
        """321."""
        topic, queue_id = text(request, "topic"), small_integer(request, "queueId")
        first, count = integer(request, "index"), small_integer(request, "count")
        store = self._state.store
        if (topic, queue_id) not in store.queues():
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"{queue_id}@{topic} is not exist!")
        low, high = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
        if not low <= first < high:
            return Command(ResponseCode.SUCCESS, remark=f"Index {first} of {queue_id}@{topic} is not exist!")
        filter_data, subscription = self._filter(request.fields.get("consumerGroup"), topic)
        rows = [_Unit(False, *unit) for unit in store.units(env, topic, queue_id, first, count)]
        body = _Units(filter_data, high, low, rows, subscription)
        return Command(ResponseCode.SUCCESS, body=write_json(body), remark=NO_CODE_REMARK)

    def _filter(self, group: str | None, topic: str) -> tuple[str | UnsetType, SubscriptionData | UnsetType]:
        if not group:
            return UNSET, UNSET
        members = self._state.clients.consumers.get(group)
        wanted = members.subscriptions.get(topic) if members is not None else None
        if wanted is None:
            return f"{group}@{topic} is not online!", UNSET
        return "null", subscription_data(wanted)


def _behind(at: ConsumeOffset) -> int:
    return at.broker_offset - at.consumer_offset


def _written(epoch_ms: int) -> str:
    """RocketMQ: UtilAll#timeMillisToHumanString2."""
    moment = datetime.fromtimestamp(epoch_ms // 1000, UTC)
    return f"{moment:%Y-%m-%d#%H:%M:%S}:{epoch_ms % 1000:03d}"
