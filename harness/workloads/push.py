"""The loads ``push`` and ``push-delayed``: RocketMQ's producers, and a consumer group of push consumers.

Question: what are the listeners of a group given while brokers die and members come and go: everything, how often,
when, and if they refuse a message, does it come back?

Model. Producers are those of the load ``producer``. Members host the reference's push consumer: they share the queues
by rebalancing, and each message that a listener gets is an op ``deliver`` (``checkers/history/listeners.py``). A
listener refuses every :data:`REFUSED_EVERY`-th message at its first time: it must come again, counted. With delays
every second message has one of the first delay levels, and ``due_ns`` says since when it may be given.

Members enter after an eighth of the load. After the last heal the group reads on until everything that a producer was
told to be stored was given to it, or nothing has come for :data:`QUIET_NS`.

A member that is killed begins again as one that knows nothing; which queues each has, where it begins in them and what
it commits are recorded, too (:mod:`harness.workloads.offsets`).

Limits. The listener takes no time, so two at work at once cannot be seen here. Members ask for routes every 5 s, not
30, so that a return is seen in a short run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from checkers.history.listeners import CONSUMED, LATER
from harness.payload import Body, decode
from harness.recorder import Detail
from harness.workloads.group import GROUP, POLL_NAMESERVER_NS
from harness.workloads.measuring import Process
from harness.workloads.offsets import OwnerRecorder
from harness.workloads.parts import PartHost, lone_host
from harness.workloads.producers import PLAIN, About, Application, Asleep, ProducerWorkload, is_running
from harness.workloads.table import Companion
from harness.workloads.workload import Stage
from reference_impl.client import Client, ClientSettings, MessageQueue, PulledMessage, PushConsumer, PushSettings
from reference_impl.environment import SECOND, Environment
from reference_impl.wire.message import PROPERTY_DELAY

REFUSED_EVERY: Final = 25
ENTER_AFTER: Final = 8
"""Members enter when so many-th of the load has been given: the topic of delayed messages is there by then."""

QUIET_NS: Final = 60 * SECOND
"""Longer than two rebalances and the first retry (10 s)."""

DELAYS_NS: Final = {1: 1 * SECOND, 2: 5 * SECOND, 3: 10 * SECOND}
"""By level, RocketMQ's defaults."""


def delayed_topic(topic: str) -> str:
    """Delayed messages have a topic of their own, made by the first send: until they are due they stand elsewhere, and
    may be moved twice, so its queues are not judged as logs."""
    return f"{topic}-delayed"


class DelayingApplication(Application):
    """Every second message is delayed, by the three first levels in turn."""

    _count = 0

    def about(self) -> About:
        self._count += 1
        if self._count % 2:
            return PLAIN
        level = 1 + self._count // 2 % len(DELAYS_NS)
        due_ns = self._stage.backend.now() + DELAYS_NS[level]
        topic = delayed_topic(self._stage.topic)
        return About("delayed", due_ns, topic, {PROPERTY_DELAY: str(level)}, "send_delayed")


class Member:
    """One member of the group: a client with one push consumer, anew in each life."""

    def __init__(self, stage: Stage, name: str, counts: Counter[str], settings: PushSettings) -> None:
        self.name, self._stage, self._counts, self._settings = name, stage, counts, settings
        self._process = Process(stage.recorder.process())
        self.delivered: set[int] = set()
        self.refused: set[int] = set()
        self.last_ns = 0
        self.client = self.begin()

    def begin(self) -> Client:
        """A life."""
        stage = self._stage
        settings = ClientSettings(
            ip=stage.backend.host(self.name),
            nameservers=tuple(stage.nameservers.values()),
            instance=self.name,
            poll_nameserver_ns=POLL_NAMESERVER_NS,
        )
        self.client = Client(
            settings, OwnerRecorder(stage, self._settings.group, self.name, broadcasts=self._settings.broadcast)
        )
        self.consumer = PushConsumer(self.client, self._settings, self._listen)
        return self.client

    def enter(self) -> None:
        """Into the group, in its first life; the next ones enter at once."""
        first = self.client
        if is_running(self._stage, self.name):
            self._stage.backend.step(self.name, lambda env: first.on_start(env) if first is self.client else None)

    def is_done(self, number: int, times: int) -> bool:
        """What the listener says to a message that it refused so often before."""
        return number % REFUSED_EVERY > 0 or times > 0

    def _listen(self, env: Environment, message: PulledMessage) -> bool:
        """Recorded at once; whether it is done."""
        recorder = self._stage.recorder
        queue = recorder.queue(message.queue.topic, message.queue.broker_name, message.queue.queue_id)
        body = decode(message.body, recorder.run)
        number, unrecognised = (body.message, "") if isinstance(body, Body) else (-1, f"{body.reason}: {body.digest}")
        is_done = self.is_done(number, message.reconsume_times)
        op = recorder.invoke(
            self._process.number,
            "deliver",
            queue=queue,
            offset=message.queue_offset,
            node=self.name,
            group=self._settings.group,
        )
        detail: Detail = {"times": message.reconsume_times, **self.about(message)}
        recorder.complete(
            op,
            "ok",
            CONSUMED if is_done else LATER,
            count=1,
            detail=detail,
            offsets=[message.queue_offset],
            messages=[number],
            unrecognised=[(0, unrecognised)] if unrecognised else (),
        )
        self._counts["read"] += 1
        self.last_ns = self._stage.backend.now()
        (self.delivered if is_done else self.refused).add(number)
        self.heard(env, message, number)
        return is_done

    def about(self, message: PulledMessage) -> dict[str, str]:
        """What else the history is told of a delivery."""
        return {}

    def heard(self, env: Environment, message: PulledMessage, number: int) -> None:
        """A message came; for members that do something about it."""


class PushWorkload(ProducerWorkload):
    """``Workload`` of the load ``push``: clients 1…P are RocketMQ's producers, P+1…P+C members of the group."""

    member: Callable[[Stage, str, Counter[str], PushSettings], Member] = Member

    def __init__(self, stage: Stage, companions: Sequence[Companion] = ()) -> None:
        load = stage.load
        super().__init__(stage, companions)
        settings = self.settings()
        self._members = [
            self.member(stage, f"client-{load.producers + number + 1}", self.counts, settings)
            for number in range(load.consumers)
        ]
        self._finishing_ns = -1

    def topics(self) -> tuple[str, ...]:
        """What the group wants."""
        return (self.stage.topic,)

    def settings(self) -> PushSettings:
        """Of every member."""
        return PushSettings(GROUP, dict.fromkeys(self.topics(), "*"), from_last=False, confirm=True)

    def _make_readers(self, companions: Sequence[Companion]) -> Sequence[PartHost]:
        """Members read; companions have a node of their own."""
        return lone_host(self.stage, companions)

    def start(self) -> None:
        super().start()
        backend = self.stage.backend
        for member in self._members:
            backend.add_client(member.name, Asleep(member.client), member.begin)
        backend.after(self.stage.load.duration_ns // ENTER_AFTER, self._enter)

    def _enter(self) -> None:
        for member in self._members:
            member.enter()

    def finish(self) -> None:
        self._finishing_ns = self.stage.backend.now()

    def finished(self) -> bool:
        is_over = self.is_complete() and self.is_settled()
        return not self._members or is_over or self.quiet_ns() >= QUIET_NS

    def is_complete(self) -> bool:
        """Everything was given that is owed."""
        owed = self.acknowledged().union(*(member.refused for member in self._members))
        return owed <= set().union(*(member.delivered for member in self._members))

    def is_settled(self) -> bool:
        """Every queue has one owner."""
        owned = Counter(queue for member in self._members for queue in member.consumer.queues())
        topic = self.stage.topic
        known = [MessageQueue(topic, queue.broker, queue.queue_id) for queue in self.stage.queues]
        return all(count == 1 for count in owned.values()) and all(queue in owned for queue in known)

    def quiet_ns(self) -> int:
        """Since when nothing has come, or the end of the drain."""
        since_ns = max([self._finishing_ns, *(member.last_ns for member in self._members)])
        return self.stage.backend.now() - since_ns


class DelayedWorkload(PushWorkload):
    """The same, with delayed messages."""

    application = DelayingApplication

    def topics(self) -> tuple[str, ...]:
        return (self.stage.topic, delayed_topic(self.stage.topic))


class BroadcastWorkload(PushWorkload):
    """The same, but every member reads every queue for itself; what its listener refuses is gone."""

    def settings(self) -> PushSettings:
        return replace(super().settings(), broadcast=True)

    def is_complete(self) -> bool:
        owed = self.acknowledged()
        return all(owed <= member.delivered | member.refused for member in self._members)

    def is_settled(self) -> bool:
        return True
