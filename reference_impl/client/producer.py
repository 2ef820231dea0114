"""The producer: RocketMQ's retries, its avoidance of a failed broker, its one budget of time.

Question: what happens to a message between ``send`` and its result, and which broker gets it when one is down?

Model (RocketMQ: DefaultMQProducerImpl, MQFaultStrategy). Queues of a topic are used in rotation. ``send_timeout_ns`` is
the budget of *all* attempts together, the search for a route included. An attempt that fails without an answer, or with
a code of the retry list, is followed by the next queue of *another* broker. A stored but not promised status
(FLUSH_DISK_TIMEOUT and its kin) is a result, not a failure, unless ``retry_another_when_not_ok``. With
``latency_fault`` slow or failing brokers are left alone for the time that RocketMQ's table gives.

    attempt 1 ── timeout ──► budget spent: the result is TIMEOUT
    attempt 1 ── refused ──► attempt 2 elsewhere ── SEND_OK ──► the result is SEND_OK
    attempt 1 ── closed  ──► attempts 2, 3 fail ──► the result is CONNECTION_CLOSED: attempt 1 may be stored

Limits. A retry may store a message twice (same UNIQ_KEY): as with RocketMQ, nobody removes the second.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from reference_impl.client.avoidance import TABLE_4_9, TABLE_5, LatencyFaults, Rotation, choose_queue
from reference_impl.client.client import Client, Part
from reference_impl.client.model import Attempt, Message, MessageQueue, SendResult, TopicRoute
from reference_impl.client.status import NO_ROUTE, SEND_OK, STORED, remark_of, send_status_of, status_of, summary
from reference_impl.environment import MS, Address, Environment
from reference_impl.wire.codes import RequestCode
from reference_impl.wire.frame import Command
from reference_impl.wire.heartbeat import HeartbeatData, ProducerData
from reference_impl.wire.message import (
    COMPRESSED,
    COMPRESSION_ZLIB,
    PROPERTY_UNIQUE_KEY,
    PROPERTY_WAIT,
    TOPIC_BYTES_MAX,
    BatchEntry,
    UniqueKeys,
    encode_batch,
    properties_text,
)
from reference_impl.wire.remoting import Answer, CallFailed

OnResult = Callable[[Environment, SendResult], None]
"""Called exactly once a send, also for failures, and never from within ``send`` itself."""

Select = Callable[[Sequence[MessageQueue]], MessageQueue]
"""Which of a topic's queues a message is for (RocketMQ: MessageQueueSelector)."""

RETRY_CODES_4_9: Final = frozenset({1, 14, 16, 17, 204, 205})
RETRY_CODES_5: Final = RETRY_CODES_4_9 | {2, 1500}
_COMPRESSION_LEVEL: Final = 5


@dataclass(frozen=True)
class ProducerSettings:
    """RocketMQ: DefaultMQProducer. ``release`` picks the table of latencies and the codes retried (4.9.7 or 5.3.3)."""

    group: str
    send_timeout_ns: int = 3_000 * MS
    retries: int = 2
    retry_another_when_not_ok: bool = False
    latency_fault: bool = False
    release: str = "4.9.7"
    default_topic: str = "TBW102"
    default_topic_queue_nums: int = 4
    compress_over_bytes: int = 4096
    max_message_size: int = 4 * 1024 * 1024


@dataclass
class _Send:
    """One send under way. ``queue`` is that of the attempt under way or the last one; ``fixed``: no other is tried."""

    number: int
    topic: str
    request: Callable[[MessageQueue], Command]
    unique_key: str
    on_result: OnResult
    fixed: MessageQueue | None
    started_ns: int
    attempts: int = 0
    queue: MessageQueue | None = None
    statuses: list[str] = field(default_factory=list)
    remark: str = ""
    stored: SendResult | None = None


class Producer(Part):
    """One producer group member on a client."""

    def __init__(self, client: Client, settings: ProducerSettings) -> None:
        self.client = client
        self.settings = settings
        self._is_4_9 = settings.release.startswith("4.")
        self._retry_codes = RETRY_CODES_4_9 if self._is_4_9 else RETRY_CODES_5
        self._rotations: dict[str, tuple[TopicRoute | None, Rotation]] = {}
        self._faults: LatencyFaults | None = None
        self._keys: UniqueKeys | None = None
        self._sends = 0
        client.parts.append(self)

    # --- Part -------------------------------------------------------------------------------------------------------

    def start(self, env: Environment) -> None:
        """Nothing is sent yet."""
        self._keys = UniqueKeys(self.client.settings.ip, env.rng)
        if self.settings.latency_fault:
            self._faults = LatencyFaults(TABLE_4_9 if self._is_4_9 else TABLE_5, env.rng)

    def stop(self, env: Environment) -> None:
        """The group leaves its brokers."""
        self.client.unregister(env, producer_group=self.settings.group)

    def describe(self, heartbeat: HeartbeatData) -> None:
        """One producer group."""
        heartbeat.producer_data_set.append(ProducerData(self.settings.group))

    # --- sending ----------------------------------------------------------------------------------------------------

    def send(self, env: Environment, message: Message, on_result: OnResult, queue: MessageQueue | None = None) -> int:
        """Send with retries, or with exactly one attempt to *queue*. Returns the number of the send.

        ``ValueError`` for what RocketMQ's client refuses: an empty or too large body, a bad topic.
        """
        self._check(message.topic, message.body)
        properties, unique_key = self._properties(env, message)
        body, sys_flag = self._packed(message.body)
        request = self._requests(message.topic, body, properties, sys_flag, message.flag, env.wall())
        return self._begin(env, message.topic, request, unique_key, on_result, queue)

    def send_selected(self, env: Environment, message: Message, select: Select, on_result: OnResult) -> int:
        """Send once, to the queue that *select* chooses of those that the topic has now (RocketMQ: sendSelectImpl)."""
        self._check(message.topic, message.body)
        properties, unique_key = self._properties(env, message)
        body, sys_flag = self._packed(message.body)
        request = self._requests(message.topic, body, properties, sys_flag, message.flag, env.wall())
        return self._begin(env, message.topic, request, unique_key, on_result, None, select)

    def send_again(self, env: Environment, message: Message, tries: int, tries_max: int, on_result: OnResult) -> int:
        """A consumer's message to its retry topic: the broker counts the tries and gives up at *tries_max*."""
        properties, unique_key = self._properties(env, message)
        counts = {"j": str(tries), "l": str(tries_max)}
        request = self._requests(message.topic, message.body, properties, 0, message.flag, env.wall(), counts=counts)
        return self._begin(env, message.topic, request, unique_key, on_result, None)

    def send_batch(
        self, env: Environment, messages: Sequence[Message], on_result: OnResult, queue: MessageQueue | None = None
    ) -> int:
        """Send messages of one topic as one batch: one result, whose ids are joined by commas."""
        topics = list(dict.fromkeys(message.topic for message in messages))
        if len(topics) != 1:
            raise ValueError(f"a batch has one topic, not {len(topics)}")
        stamped = [(message, *self._properties(env, message)) for message in messages]
        body = encode_batch(BatchEntry(message.body, text, message.flag) for message, text, _ in stamped)
        self._check(topics[0], body)
        keys = ",".join(key for _, _, key in stamped)
        wait = properties_text({PROPERTY_WAIT: messages[0].properties.get(PROPERTY_WAIT, "true")})
        request = self._requests(topics[0], body, wait, 0, 0, env.wall(), batch=True)
        return self._begin(env, topics[0], request, keys, on_result, queue)

    def send_oneway(self, env: Environment, message: Message, queue: MessageQueue | None = None) -> None:
        """Send once and expect no answer; dropped silently where the topic has no route."""
        self._check(message.topic, message.body)
        properties, _ = self._properties(env, message)
        body, sys_flag = self._packed(message.body)
        request = self._requests(message.topic, body, properties, sys_flag, message.flag, env.wall())

        def routed(env: Environment) -> None:
            target = queue or self._choose(env, message.topic, None)
            address = self.client.routes.master(target.broker_name) if target else None
            if target is not None and address is not None:
                self.client.remoting.oneway(env, address, request(target))

        self._with_route(env, message.topic, routed)

    def send_reply(self, env: Environment, message: Message, on_told: Callable[[Environment, str], None]) -> None:
        """A reply (325), to some broker that has its topic: OK, or the word of what it said. Once: a broker that could
        not hand it over says an error, and another one could not either (RocketMQ: no retry of a reply)."""
        self._check(message.topic, message.body)
        properties, _ = self._properties(env, message)
        body, sys_flag = self._packed(message.body)
        request = self._requests(message.topic, body, properties, sys_flag, message.flag, env.wall())

        def routed(env: Environment) -> None:
            target = self._choose(env, message.topic, None)
            address = self.client.routes.master(target.broker_name) if target else None
            if target is None or address is None:
                on_told(env, NO_ROUTE)
                return
            command = request(target)
            command.code = RequestCode.SEND_REPLY_MESSAGE_V2
            self.client.remoting.call(
                env,
                address,
                command,
                self.settings.send_timeout_ns,
                lambda env, answer: on_told(env, status_of(answer)),
                close_on_timeout=True,
            )

        self._with_route(env, message.topic, routed)

    # --- preparing --------------------------------------------------------------------------------------------------

    def _check(self, topic: str, body: bytes) -> None:
        if not topic or len(topic) > TOPIC_BYTES_MAX:
            raise ValueError(f"a topic has 1 to {TOPIC_BYTES_MAX} characters, not {len(topic)}")
        if not 0 < len(body) <= self.settings.max_message_size:
            raise ValueError(f"a message has 1 to {self.settings.max_message_size} bytes, not {len(body)}")

    def _properties(self, env: Environment, message: Message) -> tuple[str, str]:
        """(text, unique key): the message's own, with UNIQ_KEY and WAIT as Java's client adds them."""
        properties = dict(message.properties)
        if PROPERTY_UNIQUE_KEY not in properties:
            if self._keys is None:
                raise RuntimeError("the client has not started")
            properties[PROPERTY_UNIQUE_KEY] = self._keys.make(env.wall())
        properties.setdefault(PROPERTY_WAIT, "true")
        return properties_text(properties), properties[PROPERTY_UNIQUE_KEY]

    def _packed(self, body: bytes) -> tuple[bytes, int]:
        if len(body) < self.settings.compress_over_bytes:
            return body, 0
        return zlib.compress(body, _COMPRESSION_LEVEL), COMPRESSED | COMPRESSION_ZLIB

    def _requests(
        self,
        topic: str,
        body: bytes,
        properties: str,
        sys_flag: int,
        flag: int,
        born_ms: int,
        *,
        batch: bool = False,
        counts: Mapping[str, str] = MappingProxyType({}),
    ) -> Callable[[MessageQueue], Command]:
        """A fresh request for each attempt: only queue and broker name differ."""
        code = RequestCode.SEND_BATCH_MESSAGE if batch else RequestCode.SEND_MESSAGE_V2
        fields = {
            "a": self.settings.group,
            "b": topic,
            "c": self.settings.default_topic,
            "d": str(self.settings.default_topic_queue_nums),
            "f": str(sys_flag),
            "g": str(born_ms),
            "h": str(flag),
            "i": properties,
            "j": "0",
            "k": "false",
            "m": "true" if batch else "false",
            **counts,
        }
        return lambda queue: Command(code, {**fields, "e": str(queue.queue_id), "n": queue.broker_name}, body)

    # --- routes and queues ------------------------------------------------------------------------------------------

    def _with_route(self, env: Environment, topic: str, go_on: Callable[[Environment], None]) -> None:
        """Call *go_on* when the topic has a route or none can be had (RocketMQ: tryToFindTopicPublishInfo)."""
        routes = self.client.routes
        if routes.publish_queues(topic):
            go_on(env)
            return

        def asked(env: Environment, _status: str) -> None:
            if topic in routes.routes:
                go_on(env)
                return
            settings = self.settings
            routes.borrow(
                env, topic, settings.default_topic, settings.default_topic_queue_nums, lambda env, _: go_on(env)
            )

        routes.refresh(env, topic, asked)

    def _choose(self, env: Environment, topic: str, last: MessageQueue | None) -> MessageQueue | None:
        rotation = self._rotation(env, topic)
        if not rotation.queues:
            return None
        last_broker = last.broker_name if last is not None else None
        now_ms = env.wall() if self._faults is not None else 0  # nobody else asks for the time
        return choose_queue(rotation, self._faults, last_broker, now_ms, self.settings.release)

    def _rotation(self, env: Environment, topic: str) -> Rotation:
        """The topic's rotation, with the queues of the newest route."""
        route = self.client.routes.routes.get(topic)
        known, rotation = self._rotations.get(topic, (None, None))
        if rotation is None:
            rotation = Rotation((), env.rng)
        elif known is route:
            return rotation
        rotation.queues = self.client.routes.publish_queues(topic)
        self._rotations[topic] = (route, rotation)
        return rotation

    # --- attempts ---------------------------------------------------------------------------------------------------

    def _begin(
        self,
        env: Environment,
        topic: str,
        request: Callable[[MessageQueue], Command],
        unique_key: str,
        on_result: OnResult,
        queue: MessageQueue | None,
        select: Select | None = None,
    ) -> int:
        self._sends += 1
        send = _Send(self._sends, topic, request, unique_key, on_result, queue, env.now())

        def routed(env: Environment) -> None:
            queues = self.client.routes.publish_queues(topic)
            send.fixed = select(queues) if select and queues else send.fixed
            self._attempt(env, send)

        self._with_route(env, topic, routed)
        return send.number

    def _attempt(self, env: Environment, send: _Send) -> None:
        """The next attempt, or the end where time is up or nobody can be asked."""
        queue = send.fixed or self._choose(env, send.topic, send.queue)
        remaining_ns = self.settings.send_timeout_ns - (env.now() - send.started_ns)
        if queue is None or remaining_ns <= 0:
            self._finish(env, send)
            return
        send.queue = queue
        send.attempts += 1
        address = self.client.routes.master(queue.broker_name)
        if address is None:
            self._find_broker(env, send, queue)
        else:
            self._call(env, send, queue, address, remaining_ns)

    def _find_broker(self, env: Environment, send: _Send, queue: MessageQueue) -> None:
        """The route names a broker whose master is unknown: ask once more, then give this attempt up."""

        def asked(env: Environment, _status: str) -> None:
            address = self.client.routes.master(queue.broker_name)
            remaining_ns = self.settings.send_timeout_ns - (env.now() - send.started_ns)
            if address is not None and remaining_ns > 0:
                self._call(env, send, queue, address, remaining_ns)
                return
            send.statuses.append(NO_ROUTE)
            send.remark = f"The broker[{queue.broker_name}] not exist"
            self._retry(env, send)

        self.client.routes.refresh(env, send.topic, asked)

    def _call(self, env: Environment, send: _Send, queue: MessageQueue, address: Address, timeout_ns: int) -> None:
        started_ns, number = env.now(), send.attempts

        def answered(env: Environment, answer: Answer) -> None:
            attempt = Attempt(
                send.number,
                number,
                queue,
                address,
                started_ns,
                env.now(),
                send_status_of(answer),
                remark_of(answer),
            )
            self.client.observer.on_attempt(env, attempt)
            self._learn(env, attempt, answer)
            self._decide(env, send, attempt, answer)

        self.client.observer.on_try(env, send.number, number, queue, address)
        self.client.remoting.call(env, address, send.request(queue), timeout_ns, answered, close_on_timeout=True)

    def _learn(self, env: Environment, attempt: Attempt, answer: Answer) -> None:
        """Tell the latency strategy (RocketMQ: updateFaultItem)."""
        if self._faults is None:
            return
        failed = attempt.status not in STORED
        reachable = self._is_4_9 or not failed or isinstance(answer, CallFailed)
        latency_ms = (attempt.ended_ns - attempt.started_ns) // MS
        self._faults.record(attempt.queue.broker_name, latency_ms, env.wall(), failed=failed, reachable=reachable)

    def _decide(self, env: Environment, send: _Send, attempt: Attempt, answer: Answer) -> None:
        """Result, or another try?"""
        send.remark = attempt.remark
        if attempt.status in STORED:
            send.stored = _stored(send, attempt, answer)
            again = attempt.status != SEND_OK and self.settings.retry_another_when_not_ok
        else:
            send.statuses.append(attempt.status)
            again = isinstance(answer, CallFailed) or answer.code in self._retry_codes
        if again:
            self._retry(env, send)
        else:
            self._finish(env, send)

    def _retry(self, env: Environment, send: _Send) -> None:
        if send.fixed is None and send.attempts <= self.settings.retries:
            self._attempt(env, send)
        else:
            self._finish(env, send)

    def _finish(self, env: Environment, send: _Send) -> None:
        """What was stored counts, else the least certain failure."""
        result = send.stored or SendResult(
            send=send.number,
            status=summary(send.statuses),
            queue=send.queue,
            queue_offset=-1,
            message_id="",
            unique_key=send.unique_key,
            attempts=send.attempts,
            started_ns=send.started_ns,
            ended_ns=env.now(),
            remark=send.remark,
        )
        self.client.observer.on_result(env, result)
        send.on_result(env, result)


def _stored(send: _Send, attempt: Attempt, answer: Answer) -> SendResult:
    fields = {} if isinstance(answer, CallFailed) else answer.fields
    queue_id = int(fields.get("queueId", attempt.queue.queue_id))
    return SendResult(
        send=send.number,
        status=attempt.status,
        queue=MessageQueue(send.topic, attempt.queue.broker_name, queue_id),
        queue_offset=int(fields.get("queueOffset", -1)),
        message_id=fields.get("msgId", ""),
        unique_key=send.unique_key,
        attempts=send.attempts,
        started_ns=send.started_ns,
        ended_ns=attempt.ended_ns,
        remark=attempt.remark,
    )
