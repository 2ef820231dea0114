"""Clients come and go: heartbeats (34), unregistering (35), consumer lists (38), notifications (40), locks (41, 42).

Question: who belongs to a group now, who must be told of a change, and who holds which queue?

Model (RocketMQ: ClientManageProcessor, ConsumerManageProcessor, AdminBrokerProcessor). A heartbeat registers its
connection for each of its groups and makes the group's retry topic. When the members or the topics of a consumer group
change, every member (the newcomer too) gets NOTIFY_CONSUMER_IDS_CHANGED, one-way, unless the group or the broker has
that switched off. Connections without a heartbeat for 120 s are closed, whatever else they carry.
"""

from __future__ import annotations

from collections.abc import Iterable

from reference_impl.broker.clients import Member, Subscription
from reference_impl.broker.state import State
from reference_impl.broker.topics import RETRY_PREFIX
from reference_impl.environment import Environment, Link
from reference_impl.wire.bodies import ConsumerIds, LockBatchAnswer, LockBatchRequest
from reference_impl.wire.codes import RequestCode, ResponseCode
from reference_impl.wire.dialect import read_json, write_json
from reference_impl.wire.fields import text
from reference_impl.wire.frame import Command
from reference_impl.wire.heartbeat import ConsumerData, SubscriptionData, read_heartbeat
from reference_impl.wire.remoting import Handler


class Membership:
    """Handlers about groups and their members."""

    def __init__(self, state: State) -> None:
        self._state = state

    def handlers(self) -> dict[int, Handler]:
        """By request code."""
        return {
            RequestCode.HEART_BEAT: self.heartbeat,
            RequestCode.UNREGISTER_CLIENT: self.unregister,
            RequestCode.GET_CONSUMER_LIST_BY_GROUP: self.consumer_list,
            RequestCode.LOCK_BATCH_MQ: self.lock,
            RequestCode.UNLOCK_BATCH_MQ: self.unlock,
        }

    # --- requests ---------------------------------------------------------------------------------------------------

    def heartbeat(self, env: Environment, link: Link, request: Command) -> Command:
        """34."""
        heartbeat = read_heartbeat(request.body)
        for consumer in heartbeat.consumer_data_set:
            member = Member(heartbeat.client_id, request.language, request.version, env.wall())
            self._register_consumer(env, link, consumer, member)
        for producer in heartbeat.producer_data_set:
            member = Member(heartbeat.client_id, request.language, request.version, env.wall())
            self._state.clients.producer_seen(producer.group_name, link, member)
        return Command(ResponseCode.SUCCESS)

    def unregister(self, env: Environment, link: Link, request: Command) -> Command:
        """35: this connection leaves the groups named."""
        producer_group = request.fields.get("producerGroup")
        if producer_group:
            self._state.clients.remove_producer(producer_group, link)
        consumer_group = request.fields.get("consumerGroup")
        if consumer_group and self._state.clients.remove_consumer(consumer_group, link):
            self._notify(env, [consumer_group])
        return Command(ResponseCode.SUCCESS, {})

    def consumer_list(self, env: Environment, link: Link, request: Command) -> Command:
        """38."""
        group = text(request, "consumerGroup")
        ids = self._state.clients.client_ids(group)
        if not ids:
            return Command(ResponseCode.SYSTEM_ERROR, {}, remark=f"no consumer for this group, {group}")
        return Command(ResponseCode.SUCCESS, {}, write_json(ConsumerIds(ids)))

    def lock(self, env: Environment, link: Link, request: Command) -> Command:
        """41."""
        asked = read_json(request.body, LockBatchRequest)
        granted = self._state.locks.lock(env.wall(), asked.consumer_group, asked.client_id, asked.queues)
        return Command(ResponseCode.SUCCESS, body=write_json(LockBatchAnswer(granted)))

    def unlock(self, env: Environment, link: Link, request: Command) -> Command:
        """42."""
        asked = read_json(request.body, LockBatchRequest)
        self._state.locks.unlock(asked.consumer_group, asked.client_id, asked.queues)
        return Command(ResponseCode.SUCCESS)

    # --- endings ----------------------------------------------------------------------------------------------------

    def connection_gone(self, env: Environment, link: Link) -> None:
        """A connection ended, however it did."""
        self._notify(env, self._state.clients.connection_closed(link))

    def close_expired(self, env: Environment) -> None:
        """Every 10 s: end the connections whose heartbeats stopped."""
        for link in self._state.clients.expired(env.wall()):
            self._state.remoting.close(env, link)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _register_consumer(self, env: Environment, link: Link, consumer: ConsumerData, member: Member) -> None:
        """RocketMQ: ClientManageProcessor#heartBeat. A group that may not be made is registered all the same."""
        group = self._state.group(env, consumer.group_name)
        if group is not None:
            self._state.internal_topic(env, RETRY_PREFIX + consumer.group_name, group.retry_queue_nums)
        changed = self._state.clients.consumer_seen(
            consumer.group_name,
            link,
            member,
            (consumer.consume_type, consumer.message_model, consumer.consume_from_where),
            [_subscription(data) for data in consumer.subscription_data_set],
        )
        if changed and (group is None or group.notify_consumer_ids_changed_enable):
            self._notify(env, [consumer.group_name])

    def _notify(self, env: Environment, groups: Iterable[str]) -> None:
        if not self._state.config.notify_consumer_ids_changed:
            return
        for group in groups:
            for link in self._state.clients.links(group):
                notice = Command(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, {"consumerGroup": group})
                self._state.remoting.oneway_link(env, link, notice)


def _subscription(data: SubscriptionData) -> Subscription:
    return Subscription(
        data.topic,
        data.sub_string,
        tuple(data.tags_set),
        frozenset(data.code_set),
        data.sub_version,
        data.expression_type or "TAG",
    )
