"""What a broker tells of itself: runtime (28), topics (202), connections (203, 204, 328), progress (208), 300.

Question: what can be seen of a running broker from outside?

Model (RocketMQ: AdminBrokerProcessor). Everything is looked up when it is asked for; the numbers of 28 count from this
process's start. Only what is measured is told: RocketMQ's latencies and the queue lengths of its thread pools have no
counterpart here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from reference_impl.broker.clients import Member, Subscription
from reference_impl.broker.state import State
from reference_impl.broker.topics import listed_queues
from reference_impl.environment import Environment, Link
from reference_impl.wire.bodies import (
    ConsumeOffset,
    KVTable,
    MessageQueue,
    TopicOffset,
    write_consume_stats,
    write_topic_stats,
)
from reference_impl.wire.codes import OUR_VERSION, RequestCode, ResponseCode, version_name
from reference_impl.wire.dialect import write_json
from reference_impl.wire.fields import RequestRefused, text
from reference_impl.wire.frame import Command
from reference_impl.wire.heartbeat import SubscriptionData
from reference_impl.wire.message import decode_record
from reference_impl.wire.remoting import Handler


class _Connection(msgspec.Struct, rename="camel"):
    client_addr: str
    client_id: str
    language: str
    version: int


class _ConsumerConnections(msgspec.Struct, rename="camel"):
    connection_set: list[_Connection]
    consume_from_where: str
    consume_type: str
    message_model: str
    subscription_table: dict[str, SubscriptionData]


class _ProducerConnections(msgspec.Struct, rename="camel"):
    connection_set: list[_Connection]


class _ProducerInfo(msgspec.Struct):
    client_id: str = msgspec.field(name="clientId")
    language: str
    last_update_timestamp: int = msgspec.field(name="lastUpdateTimestamp")
    remote_ip: str = msgspec.field(name="remoteIP")
    version: int


class Statistics:
    """Handlers that describe."""

    def __init__(self, state: State) -> None:
        self._state = state

    def handlers(self) -> dict[int, Handler]:
        """By request code."""
        return {
            RequestCode.GET_BROKER_RUNTIME_INFO: self.runtime,
            RequestCode.GET_TOPIC_STATS_INFO: self.topic_stats,
            RequestCode.GET_CONSUMER_CONNECTION_LIST: self.consumer_connections,
            RequestCode.GET_PRODUCER_CONNECTION_LIST: self.producer_connections,
            RequestCode.GET_CONSUME_STATS: self.consume_stats,
            RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: self.consumed_by,
            RequestCode.GET_ALL_PRODUCER_INFO: self.all_producers,
        }

    def runtime(self, env: Environment, link: Link, request: Command) -> Command:
        """28: all values are texts."""
        store, counters = self._state.store, self._state.counters
        used, total = env.disk_usage()
        ratios = {folder: _ratio(env, folder) for folder in store.config.commit_log_folders}
        table = {
            "bootTimestamp": counters.started_ms,
            "brokerVersion": OUR_VERSION,
            "brokerVersionDesc": version_name(OUR_VERSION),
            "commitLogDirCapacity": f"Total : {total} B, Free : {total - used} B.",
            "commitLogDiskRatio": f"{min(ratios.values()):.2f}",
            **{f"commitLogDiskRatio_{folder}": f"{ratio:.2f}" for folder, ratio in ratios.items()},
            "consumeQueueDiskRatio": f"{_ratio(env, f'{store.config.store_path_root_dir}/consumequeue'):.2f}",
            "commitLogMaxOffset": store.log_end,
            "commitLogMinOffset": store.log_start,
            "dispatchBehindBytes": store.log_end - store.dispatched_to,
            "earliestMessageTimeStamp": store.oldest_store_time(env),
            "msgGetTotalTodayNow": counters.messages_pulled,
            "msgPutTotalTodayNow": counters.messages_put,
            "putMessageFailedTimes": counters.puts_failed,
            "putMessageSizeTotal": counters.bytes_put,
            "putMessageTimesTotal": counters.messages_put,
            "remainHowManyDataToFlush": f"{store.log_end - store.flushed_to} B",
            "runtime": _runtime_text(env.wall() - counters.started_ms),
            "putMessageAverageSize": counters.bytes_put / counters.messages_put if counters.messages_put else 0.0,
            **self._state.throughput.table(),
            **self._state.mornings.table(),
            **_waiting(self._state.config.properties),
            "startAcceptSendRequestTimeStamp": self._state.config.start_accept_send_ms,
        }
        body = KVTable({name: str(value) for name, value in table.items()})
        return Command(ResponseCode.SUCCESS, body=write_json(body))

    # --- topics and progress ----------------------------------------------------------------------------------------

    def topic_stats(self, env: Environment, link: Link, request: Command) -> Command:
        """202."""
        name = text(request, "topic")
        if name not in self._state.topics.topics:
            raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, f"topic[{name}] not exist")
        stats = {
            queue: TopicOffset(
                self.store_time(env, name, queue.queue_id, self._end(queue) - 1),
                self._end(queue),
                self._state.store.min_offset(name, queue.queue_id),
            )
            for queue in self._queues(name)
        }
        return Command(ResponseCode.SUCCESS, body=write_topic_stats(stats))

    def consume_stats(self, env: Environment, link: Link, request: Command) -> Command:
        """208: of all topics in which the group has committed, or of the one asked for."""
        group = text(request, "consumerGroup")
        wanted = request.fields.get("topic")
        topics = [wanted] if wanted else self._state.offsets.topics_of(group)
        known = [topic for topic in topics if topic in self._state.topics.topics]
        stats = {queue: at for topic in known for queue, at in self.progress(env, group, topic).items()}
        rate = sum(self._state.rates.taken_each_second(group, topic) for topic in known)
        return Command(ResponseCode.SUCCESS, body=write_consume_stats(stats, float(rate)))

    def progress(self, env: Environment, group: str, topic: str) -> dict[MessageQueue, ConsumeOffset]:
        """Where *group* stands in every queue of *topic*, a topic that is there."""
        return {queue: self._progress(env, group, queue) for queue in self._queues(topic)}

    def consumed_by(self, env: Environment, link: Link, request: Command) -> Command:
        """300: groups that subscribe now, and groups that have committed."""
        topic = text(request, "topic")
        online = [name for name, group in self._state.clients.consumers.items() if topic in group.subscriptions]
        groups = list(dict.fromkeys(online + self._state.offsets.groups_of(topic)))
        return Command(ResponseCode.SUCCESS, body=write_json({"groupList": groups}))

    def _queues(self, topic: str) -> list[MessageQueue]:
        ids = listed_queues(self._state.topics.topics[topic])
        return [MessageQueue(self._state.config.broker_name, queue_id, topic) for queue_id in ids]

    def _end(self, queue: MessageQueue) -> int:
        return self._state.store.max_offset(queue.topic, queue.queue_id)

    def _progress(self, env: Environment, group: str, queue: MessageQueue) -> ConsumeOffset:
        offset = max(0, self._state.offsets.query(group, queue.topic, queue.queue_id) or 0)
        last_ms = self.store_time(env, queue.topic, queue.queue_id, offset - 1)
        return ConsumeOffset(self._end(queue), offset, last_ms)

    def store_time(self, env: Environment, topic: str, queue_id: int, offset: int) -> int:
        """Store time of one message, 0 where there is none."""
        found = self._state.store.get(env, topic, queue_id, offset, 1) if offset >= 0 else None
        return decode_record(found.records[0]).store_timestamp if found is not None and found.records else 0

    # --- connections ------------------------------------------------------------------------------------------------

    def consumer_connections(self, env: Environment, link: Link, request: Command) -> Command:
        """203."""
        name = text(request, "consumerGroup")
        group = self._state.clients.consumers.get(name)
        if group is None:
            raise RequestRefused(ResponseCode.CONSUMER_NOT_ONLINE, f"the consumer group[{name}] not online")
        body = _ConsumerConnections(
            _connections(env, group.members.items()),
            group.consume_from,
            group.consume_type,
            group.message_model,
            {topic: subscription_data(wanted) for topic, wanted in group.subscriptions.items()},
        )
        return Command(ResponseCode.SUCCESS, body=write_json(body))

    def producer_connections(self, env: Environment, link: Link, request: Command) -> Command:
        """204."""
        name = text(request, "producerGroup")
        members = self._state.clients.producers.get(name)
        if members is None:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"the producer group[{name}] not exist")
        body = _ProducerConnections(_connections(env, members.items()))
        return Command(ResponseCode.SUCCESS, body=write_json(body))

    def all_producers(self, env: Environment, link: Link, request: Command) -> Command:
        """328."""
        data = {
            name: [
                _ProducerInfo(member.client_id, member.language, member.seen_ms, f"/{env.peer(at)}", member.version)
                for at, member in members.items()
            ]
            for name, members in self._state.clients.producers.items()
        }
        return Command(ResponseCode.SUCCESS, body=write_json({"data": data}))


def _connections(env: Environment, members: Iterable[tuple[Link, Member]]) -> list[_Connection]:
    return [_Connection(env.peer(link), member.client_id, member.language, member.version) for link, member in members]


def subscription_data(wanted: Subscription) -> SubscriptionData:
    """What a member asked for, as it is told to others."""
    return SubscriptionData(
        code_set=sorted(wanted.codes),
        expression_type=wanted.expression_type,
        sub_string=wanted.expression,
        sub_version=wanted.version,
        tags_set=list(wanted.tags),
        topic=wanted.topic,
    )


_QUEUES = {
    "sendThreadPoolQueue": "10000",
    "pullThreadPoolQueue": "100000",
    "queryThreadPoolQueue": "20000",
    "endTransactionPoolQueue": "100000",
}
"""RocketMQ's thread pools with a queue, and how long it may be by default (``<name>Capacity``)."""


def _waiting(properties: Mapping[str, str]) -> dict[str, str | int]:
    """Requests that wait for a thread: none, since a request is served in the step that brings it."""
    table: dict[str, str | int] = {"pageCacheLockTimeMills": 0}  # nor does any writer wait for another
    for queue, capacity in _QUEUES.items():
        shown = "EndTransaction" if queue.startswith("end") else queue.removesuffix("ThreadPoolQueue")
        long_name = shown if queue.startswith("end") else f"{shown}ThreadPool"
        table[f"{long_name}QueueSize"] = 0
        table["EndTransactionThreadPoolQueueCapacity" if shown == "EndTransaction" else f"{queue}Capacity"] = (
            properties.get(f"{queue}Capacity", capacity)
        )
        if shown != "EndTransaction":
            table[f"{queue}HeadWaitTimeMills"] = 0
    return table


def _runtime_text(elapsed_ms: int) -> str:
    """RocketMQ: BrokerStats#getRunTime form."""
    seconds = max(0, elapsed_ms) // 1000
    days, hours, minutes = seconds // 86_400, seconds // 3600 % 24, seconds // 60 % 60
    return f"[ {days} days, {hours} hours, {minutes} minutes, {seconds % 60} seconds ]"


def _ratio(env: Environment, folder: str) -> float:
    used, total = env.disk_usage(folder)
    return used / total if total else 0.0
