"""The push consumer: members of a group share the queues of their topics, and what fails comes again later.

Question: which queues does this member read now, and what becomes of a message that the application could not handle?

Model (RocketMQ: DefaultMQPushConsumerImpl, RebalanceImpl, AllocateMessageQueueAveragely, ConsumeMessageConcurrently-
Service). At the start, every 20 s, and when a broker says that the members have changed, each member asks one broker of
each topic for all client ids, sorts ids and queues, and takes its own slice; all do the same sum, so the slices fit
together once all of them know the same. Until then two members may read one queue, or none does.

    8 queues, 3 members   [0 1 2] [3 4 5] [6 7]
    2 queues, 3 members   [0] [1] []

The application answers each message at once. What it refuses is sent back to its broker (36), which delivers it again
under %RETRY%group after 10 s, 30 s, 1 min …; if the broker does not take it, it is sent to the retry topic as a
message; if that fails too, the application gets it again after 5 s. The committed offset of a queue is that of its
oldest message which is not yet done.

With ``broadcast`` every member reads every queue, offsets are its own, and what the application refuses is gone.

Limits. Not ordered (:mod:`~reference_impl.client.orderly` is). The application takes no time. A queue whose offset was
moved goes on after 10 s (RocketMQ drops it and waits for the next rebalance). Offsets of a broadcast live as long as
the process (RocketMQ: in a local file).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from reference_impl.client.client import Client, Part
from reference_impl.client.consumer import SQL92, PullConsumer, PullSettings
from reference_impl.client.model import Message, MessageQueue, PulledMessage, PullOutcome, SendResult
from reference_impl.client.producer import OnResult, Producer, ProducerSettings
from reference_impl.client.status import STORED
from reference_impl.environment import SECOND, Address, Environment, Link
from reference_impl.wire.bodies import ConsumerIds, read_queue_offsets
from reference_impl.wire.codes import RequestCode
from reference_impl.wire.dialect import read_json
from reference_impl.wire.fields import ext_fields
from reference_impl.wire.frame import Command, RemoteWireError
from reference_impl.wire.heartbeat import ConsumerData, HeartbeatData, SubscriptionData
from reference_impl.wire.message import (
    PROPERTY_DELAY,
    PROPERTY_ORIGIN_MESSAGE_ID,
    PROPERTY_RETRY_TOPIC,
    java_string_hash,
)
from reference_impl.wire.remoting import Answer, CallFailed

Listener = Callable[[Environment, PulledMessage], bool]
"""Whether the message is done. The topic of a retried one is in its property RETRY_TOPIC."""

INNER_PRODUCER_GROUP: Final = "CLIENT_INNER_PRODUCER"
RETRY_PREFIX: Final = "%RETRY%"
REBALANCE_NS: Final = 20 * SECOND
MOVED_PAUSE_NS: Final = 10 * SECOND
RESET_PAUSE_NS: Final = 10 * SECOND
AGAIN_NS: Final = 5 * SECOND
FIRST_RETRY_LEVEL: Final = 3


@dataclass(frozen=True)
class PushSettings:
    """RocketMQ: DefaultMQPushConsumer. ``subscriptions``: topic → tag expression, or for those of ``conditions`` one in
    SQL92 (RocketMQ: MessageSelector.bySql)."""

    group: str
    subscriptions: Mapping[str, str]
    conditions: frozenset[str] = frozenset()
    from_last: bool = True
    batch_size: int = 32
    reconsume_times_max: int = 16
    broadcast: bool = False
    confirm: bool = False
    """Offsets are told, and locks given back, in calls that are answered, not one-way."""
    suspend_ns: int = 1 * SECOND
    """How long an orderly consumer leaves a queue alone whose message failed."""


def allocate(queues: list[MessageQueue], members: list[str], me: str) -> list[MessageQueue]:
    """My slice of *queues*; nothing if I am not among *members*. RocketMQ: AllocateMessageQueueAveragely."""
    if me not in members:
        return []
    index, rest = members.index(me), len(queues) % len(members)
    size = len(queues) // len(members) + (index < rest) if len(queues) > len(members) else 1
    start = index * size + (0 if index < rest else rest)
    return queues[start : start + size]


class PushConsumer(Part):
    """One member of a consumer group."""

    def __init__(self, client: Client, settings: PushSettings, listener: Listener) -> None:
        self.client = client
        self.settings = settings
        self._listener = listener
        retry_topic = RETRY_PREFIX + settings.group
        self.subscriptions = dict(settings.subscriptions) | ({} if settings.broadcast else {retry_topic: "*"})
        self._retry_topic = retry_topic
        self._owned: dict[str, tuple[MessageQueue, ...]] = dict.fromkeys(self.subscriptions, ())
        self._undone: dict[MessageQueue, dict[int, PulledMessage]] = {}
        self._asking: dict[str, None] = {}
        self._rebalance_key = ("push", settings.group, "rebalance")
        self._reset_key = ("push", settings.group, "reset")
        self._resets: dict[MessageQueue, int] = {}
        """Where queues are to begin that an operator has sent elsewhere; nothing changes hands while there are any."""
        pulls = PullSettings(
            settings.group,
            batch_size=settings.batch_size,
            from_last=settings.from_last,
            moved_pause_ns=MOVED_PAUSE_NS,
            auto_commit=False,
            in_request=False,
            confirm=settings.confirm,
            local_offsets=settings.broadcast,
        )
        client.parts.append(self)
        self._puller = PullConsumer(client, pulls, self._pulled)
        self._puller.expressions = dict(self.subscriptions)
        self._puller.conditions = settings.conditions
        self._producer = Producer(client, ProducerSettings(INNER_PRODUCER_GROUP))

    # --- Part -------------------------------------------------------------------------------------------------------

    def start(self, env: Environment) -> None:
        """Learn the routes, become known, take queues (RocketMQ: DefaultMQPushConsumerImpl#start)."""
        self._puller.sub_version = env.wall()
        missing = len(self.subscriptions)

        def learned(env: Environment, _status: str) -> None:
            nonlocal missing
            missing -= 1
            if not missing:
                self.client.heartbeat(env)
                self.rebalance(env)

        env.set_timer(self._rebalance_key, REBALANCE_NS)
        for topic in self.subscriptions:
            self.client.routes.refresh(env, topic, learned)

    def stop(self, env: Environment) -> None:
        """Offsets go out, then the group is left."""
        env.cancel_timer(self._rebalance_key)
        env.cancel_timer(self._reset_key)
        self._puller.assign(env, {})
        self.client.unregister(env, consumer_group=self.settings.group)

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Rebalancing, and messages that come again."""
        if key == self._rebalance_key:
            env.set_timer(key, REBALANCE_NS)
            self.rebalance(env)
            return True
        if key == self._reset_key:
            self._end_reset(env)
            return True
        if not isinstance(key, tuple) or key[:3] != ("push", self.settings.group, "again"):
            return False
        self._again(env, *key[3:])
        return True

    def on_request(self, env: Environment, link: Link, request: Command) -> bool:
        """Members have changed, in whichever group: look at once. Or an operator sends our group back in time."""
        if (
            request.code == RequestCode.RESET_CONSUMER_CLIENT_OFFSET
            and request.fields.get("group") == self.settings.group
        ):
            self._reset(env, request)
            return True
        if request.code != RequestCode.NOTIFY_CONSUMER_IDS_CHANGED:
            return False
        self.rebalance(env)
        return True

    def _reset(self, env: Environment, request: Command) -> None:
        """Queues that the table names are let go at once; in ten seconds, when what was under way has ended, their new
        offsets are told and they are taken again (RocketMQ: MQClientInstance#resetOffset)."""
        try:
            table = read_queue_offsets(request.body)
        except RemoteWireError as error:
            env.note("reset_unreadable", error=str(error))
            return
        told = {MessageQueue(queue.topic, queue.broker_name, queue.queue_id): at for queue, at in table.items()}
        self._resets |= {queue: offset for queue, offset in told.items() if queue in self._puller.assigned()}
        for topic, queues in self._owned.items():
            self._owned[topic] = tuple(queue for queue in queues if queue not in self._resets)
        self._keep(env)
        env.set_timer(self._reset_key, RESET_PAUSE_NS)

    def _end_reset(self, env: Environment) -> None:
        resets, self._resets = self._resets, {}
        for queue, offset in resets.items():
            self._puller.tell(env, queue, offset)
        self.rebalance(env)

    def describe(self, heartbeat: HeartbeatData) -> None:
        """One consumer group with its subscriptions."""
        heartbeat.consumer_data_set.append(
            ConsumerData(
                consume_from_where="CONSUME_FROM_LAST_OFFSET"
                if self.settings.from_last
                else "CONSUME_FROM_FIRST_OFFSET",
                consume_type="CONSUME_PASSIVELY",
                group_name=self.settings.group,
                message_model="BROADCASTING" if self.settings.broadcast else "CLUSTERING",
                subscription_data_set=[
                    _subscription(
                        topic, expression, self._puller.sub_version, is_condition=topic in self.settings.conditions
                    )
                    for topic, expression in self.subscriptions.items()
                ],
            )
        )

    # --- rebalancing ------------------------------------------------------------------------------------------------

    def queues(self) -> tuple[MessageQueue, ...]:
        """The queues that this member reads now."""
        return self._puller.assigned()

    def rebalance(self, env: Environment) -> None:
        """Ask for the members of each topic's brokers and take what is ours."""
        for topic in self.subscriptions if not self._resets else ():
            if self.settings.broadcast:
                self._own(env, topic, tuple(sorted(self.client.routes.subscribe_queues(topic))))
            elif topic not in self._asking:
                self._rebalance_topic(env, topic)

    def _rebalance_topic(self, env: Environment, topic: str) -> None:
        address = self._any_broker(env, topic)
        if address is None:
            return
        self._asking[topic] = None

        def answered(env: Environment, answer: Answer) -> None:
            del self._asking[topic]
            if not isinstance(answer, CallFailed) and answer.code == 0 and not self._resets:  # else: keep what we have
                members = sorted(read_json(answer.body, ConsumerIds).consumer_id_list)
                share = allocate(sorted(self.client.routes.subscribe_queues(topic)), members, self.client.client_id)
                self._own(env, topic, tuple(share))

        request = Command(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": self.settings.group})
        timeout_ns = self.client.settings.call_timeout_ns
        self.client.remoting.call(env, address, request, timeout_ns, answered, close_on_timeout=True)

    def _any_broker(self, env: Environment, topic: str) -> Address | None:
        """Some broker of the topic, its master if it has one (RocketMQ: findBrokerAddrByTopic)."""
        names = sorted({queue.broker_name for queue in self.client.routes.subscribe_queues(topic)})
        if not names:
            return None
        found = self.client.routes.reader(env.rng.choice(names), 0)
        return found[1] if found is not None else None

    def _own(self, env: Environment, topic: str, queues: tuple[MessageQueue, ...]) -> None:
        if self._owned[topic] == queues:
            return
        self._owned[topic] = queues
        self._puller.sub_version = max(env.wall(), self._puller.sub_version)
        self.client.heartbeat(env)
        kept = self._keep(env)
        self.client.observer.on_assigned(env, self.settings.group, tuple(kept))

    def _keep(self, env: Environment) -> list[MessageQueue]:
        """Read what is owned and nothing else; what is let go has its offset told first."""
        kept = [queue for owned in self._owned.values() for queue in owned]
        self._undone = {queue: undone for queue, undone in self._undone.items() if queue in kept}
        self._puller.assign(env, dict.fromkeys(kept, -1))
        return kept

    # --- consuming --------------------------------------------------------------------------------------------------

    def _pulled(self, env: Environment, outcome: PullOutcome) -> None:
        if outcome.next_offset < 0:
            return
        undone = self._undone.setdefault(outcome.queue, {})
        for message in outcome.messages:
            if not self._listener(env, message) and not self.settings.broadcast:
                undone[message.queue_offset] = message
                self._send_back(env, message)
        self._commit(env, outcome.queue, outcome.next_offset)

    def _commit(self, env: Environment, queue: MessageQueue, next_offset: int) -> None:
        """Everything before the oldest message that is not done."""
        undone = self._undone.get(queue)
        self._puller.commit(env, queue, min(undone) if undone else next_offset)

    def _done(self, env: Environment, message: PulledMessage) -> None:
        undone = self._undone.get(message.queue)
        if undone is not None and undone.pop(message.queue_offset, None) is not None:
            self._commit(env, message.queue, self._puller.position(message.queue))

    # --- what failed ------------------------------------------------------------------------------------------------

    def _send_back(self, env: Environment, message: PulledMessage) -> None:
        """36 to the broker that the message came from; it delays and counts."""

        def answered(env: Environment, answer: Answer) -> None:
            if not isinstance(answer, CallFailed) and answer.code == 0:
                self._done(env, message)
            else:
                self._send_again(env, message)

        address = self.client.routes.master(message.queue.broker_name)
        if address is None:
            self._send_again(env, message)
            return
        fields = ext_fields(
            offset=message.physical_offset,
            group=self.settings.group,
            delayLevel=0,
            originMsgId=message.message_id,
            originTopic=message.queue.topic,
            unitMode=False,
            maxReconsumeTimes=self.settings.reconsume_times_max,
            bname=message.queue.broker_name,
        )
        request = Command(RequestCode.CONSUMER_SEND_MSG_BACK, fields)
        self.client.remoting.call(env, address, request, AGAIN_NS, answered, close_on_timeout=True)

    def _send_again(self, env: Environment, message: PulledMessage) -> None:
        """The broker would not take it: to the retry topic as a message of ours, on whichever broker will."""

        def ended(env: Environment, result: SendResult) -> None:
            if result.status in STORED:
                self._done(env, message)
            else:
                env.set_timer(("push", self.settings.group, "again", message.queue, message.queue_offset), AGAIN_NS)

        self._to_retry_topic(env, message, message.reconsume_times + 1, ended)

    def _to_retry_topic(self, env: Environment, message: PulledMessage, times: int, ended: OnResult) -> None:
        """A copy, with the count that it is to have; a broker that finds this too many makes it a dead letter."""
        properties = {
            PROPERTY_RETRY_TOPIC: message.queue.topic,
            PROPERTY_ORIGIN_MESSAGE_ID: message.message_id,
            **message.properties,
            PROPERTY_DELAY: str(FIRST_RETRY_LEVEL + message.reconsume_times),
        }
        copy = Message(self._retry_topic, message.body, properties)
        self._producer.send_again(env, copy, times, self.settings.reconsume_times_max, ended)

    def _again(self, env: Environment, queue: MessageQueue, offset: int) -> None:
        """Nobody took it: the application gets it once more, if the queue is still ours."""
        message = self._undone.get(queue, {}).get(offset)
        if message is None:
            return
        once_more = replace(message, reconsume_times=message.reconsume_times + 1)
        if self._listener(env, once_more):
            self._done(env, message)
        else:
            self._undone[queue][offset] = once_more
            self._send_back(env, once_more)


def _subscription(topic: str, expression: str, version: int, *, is_condition: bool) -> SubscriptionData:
    if is_condition:
        return SubscriptionData(expression_type=SQL92, sub_string=expression, sub_version=version, topic=topic)
    tags = [tag for part in expression.split("||") if (tag := part.strip())]
    tags = [] if tags == ["*"] else tags
    return SubscriptionData(
        code_set=[java_string_hash(tag) for tag in tags],
        sub_string=expression,
        sub_version=version,
        tags_set=tags,
        topic=topic,
    )
