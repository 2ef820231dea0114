"""The load ``push-ordered``: messages with keys, and a group of orderly push consumers.

Question: is a queue given to one listener at a time, in order, each message not before the one before it was done,
while members and brokers die, freeze and come back?

Model. Each producer has :data:`KEYS_PER_PRODUCER` sharding keys in turn. A key's hash chooses its queue of those that
the route has at that moment, in one attempt; the next message of a key is sent when the one before it was answered, so
what is "in order" is a fact of the history. Members host the reference's orderly consumer. A listener has each message
for up to :data:`WORKS_NS`: an op ``deliver`` lasts that long. Members record the locks of their queues (``lock``,
``unlock``, ``harness/workloads/offsets.py``). Refusals and poison are those of the load ``push-retries``, and dead
letters are read in the end; an op ``subscribe`` says that the group is orderly, and how often it is given a message
again.

A member enters :data:`STAGGER_NS` after the one before it: that one has to give queues back.

Limits. A queue whose message failed rests for :data:`SUSPEND_NS`, not RocketMQ's second, so that a short run has many
of them. A key whose last send failed goes on with the next message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Final

from harness.workloads.measuring import Process
from harness.workloads.producers import About, Application, AttemptRecorder, OnResult
from harness.workloads.retries import TIMES_MAX, RefusingMember, RetryWorkload
from harness.workloads.workload import Stage
from reference_impl.client import (
    Client,
    Message,
    MessageQueue,
    OrderlyConsumer,
    Producer,
    PulledMessage,
    PushConsumer,
    PushSettings,
    SendResult,
)
from reference_impl.client.client import Part
from reference_impl.client.orderly import Done
from reference_impl.environment import MS, SECOND, Environment
from reference_impl.wire.message import java_string_hash

KEYS_PER_PRODUCER: Final = 8
WORKS_NS: Final = 4 * MS
SUSPEND_NS: Final = 200 * MS
STAGGER_NS: Final = 500 * MS
NOTHING_MORE_NS: Final = 75 * SECOND
"""Longer than a lock that nobody gives back (60 s) and what it takes to ask for it."""

PUT_AWAY_NS: Final = 70 * SECOND
"""A dead letter has the delay of its count, 1 min (RocketMQ 4.9: SendMessageProcessor#handleRetryAndDLQ leaves it)."""


class OrderingApplication(Application):
    """Sends messages of its keys in turn, each key's one after the other."""

    def __init__(self, stage: Stage, producer: Producer, record: AttemptRecorder, number: int, counts: Counter[str]):
        super().__init__(stage, producer, record, number, counts)
        self._under_way: dict[str, None] = {}

    def is_busy(self) -> bool:
        """The key whose turn it is may have a message under way."""
        return super().is_busy() or self._key() in self._under_way

    def about(self) -> About:
        return About("ordered", key=self._key())

    def hand_over(self, env: Environment, message: Message, number: int, ended: OnResult) -> int:
        key = self._key()
        self._under_way[key] = None

        def over(env: Environment, result: SendResult) -> None:
            del self._under_way[key]
            ended(env, result)

        def select(queues: Sequence[MessageQueue]) -> MessageQueue:
            return queues[abs(java_string_hash(key)) % len(queues)]

        return self._producer.send_selected(env, message, select, over)

    def _key(self) -> str:
        """Whose turn it is."""
        return f"{self._producer.client.settings.instance}/{self._given % KEYS_PER_PRODUCER}"


class _Desk(Part):
    """What the listeners of one life have before them, each until its time is over."""

    def __init__(self, member: OrderedMember) -> None:
        self._member = member
        self._open: dict[MessageQueue, tuple[int, PulledMessage, Done]] = {}

    def put(self, env: Environment, op: int, message: PulledMessage, done: Done) -> None:
        self._open[message.queue] = op, message, done
        env.set_timer(("listener", message.queue), 1 + env.rng.randrange(WORKS_NS))

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        if not isinstance(key, tuple) or key[0] != "listener":
            return False
        op, message, done = self._open.pop(key[1])
        done(env, self._member.answer(env, op, message))
        return True


class OrderedMember(RefusingMember):
    """A member whose listener is an orderly one and takes its time."""

    def begin(self) -> Client:
        client = super().begin()
        client.parts.append(self._desk)
        return client

    def consume(self) -> PushConsumer:
        self._desk = _Desk(self)
        self._processes: dict[MessageQueue, Process] = {}
        return OrderlyConsumer(self.client, self._settings, self._given)

    def _given(self, env: Environment, message: PulledMessage, done: Done) -> None:
        process = self._processes.setdefault(message.queue, Process(self._stage.recorder.process()))
        self._desk.put(env, self.take(message, process), message, done)


class OrderedWorkload(RetryWorkload):
    """``Workload`` of the load ``push-ordered``."""

    application = OrderingApplication
    member: Callable[[Stage, str, Counter[str], PushSettings], OrderedMember] = OrderedMember
    patience_ns = NOTHING_MORE_NS
    put_away_ns = PUT_AWAY_NS

    def settings(self) -> PushSettings:
        return replace(super().settings(), suspend_ns=SUSPEND_NS)

    def start(self) -> None:
        super().start()
        recorder = self.stage.recorder
        op = recorder.invoke(recorder.process(), "subscribe", group=self.settings().group)
        recorder.complete(op, "ok", "OK", detail={"orderly": True, "times_max": TIMES_MAX})

    def _enter(self) -> None:
        for number, member in enumerate(self._members):
            self.stage.backend.after(number * STAGGER_NS, member.enter)
