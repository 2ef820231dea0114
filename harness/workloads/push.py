"""The loads ``push``, ``push-delayed``, ``push-levels`` and ``push-timers``: producers, and a group of push consumers.

Question: what are the listeners of a group given while brokers die and members come and go: everything, how often,
when, and if they refuse a message, does it come back?

Model. Producers are those of the load ``producer``. Members host the reference's push consumer: they share the queues
by rebalancing, and each message that a listener gets is an op ``deliver`` (``checkers/history/listeners.py``). A
listener refuses every :data:`REFUSED_EVERY`-th message at its first time: it must come again, counted. With delays
every second message has one of the first delay levels, or one of all eighteen (:data:`LEVELS_NS`, which are the
brokers' ``messageDelayLevel``), or a time of its own (:data:`TIMERS`, brokers of 5.x); ``due_ns`` says since when it
may be given.

Members enter after an eighth of the load, two seconds at most, so that what hits them hits members. After the last heal
the group reads on until everything that a producer was told to be stored was given to it, or nothing has come for
:data:`QUIET_NS`.

A member that is killed begins again as one that knows nothing; which queues each has, where it begins in them and what
it commits are recorded, too (:mod:`harness.workloads.offsets`).

Limits. The listener takes no time, so two at work at once cannot be seen here. Members ask for routes every 5 s, not
30, so that a return is seen in a short run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from checkers.history.listeners import CONSUMED, LATER
from harness.payload import Body, decode
from harness.recorder import Detail
from harness.workloads.group import GROUP, POLL_NAMESERVER_NS
from harness.workloads.measuring import Process
from harness.workloads.offsets import OwnerRecorder
from harness.workloads.parts import PartHost, lone_host
from harness.workloads.producers import (
    PLAIN,
    About,
    Application,
    Asleep,
    AttemptRecorder,
    OnResult,
    ProducerWorkload,
    is_running,
)
from harness.workloads.table import DELAY_LEVELS, Companion
from harness.workloads.workload import Stage
from reference_impl.broker.timers import DELAY_MS, DELAY_SEC, DELIVER_MS
from reference_impl.client import (
    Client,
    ClientSettings,
    Message,
    MessageQueue,
    Producer,
    PulledMessage,
    PushConsumer,
    PushSettings,
)
from reference_impl.environment import MS, SECOND, Environment
from reference_impl.node import plant_in_client
from reference_impl.wire.message import PROPERTY_DELAY

REFUSED_EVERY: Final = 25
ENTER_AFTER: Final = 8
"""Members enter when so many-th of the load has been given: the topic of delayed messages is there by then."""
ENTER_AT_MOST_NS: Final = 2 * SECOND

QUIET_NS: Final = 60 * SECOND
"""Longer than two rebalances and the first retry (10 s)."""

DELAYS_NS: Final = {1: 1 * SECOND, 2: 5 * SECOND, 3: 10 * SECOND}
"""By level, RocketMQ's defaults."""


LEVELS_NS: Final = {level: int(word[:-1]) * SECOND for level, word in enumerate(DELAY_LEVELS.split(), 1)}
"""By level, of the load ``push-levels``."""

TIMERS: Final = (
    (DELAY_MS, 1_300),
    (DELAY_SEC, 2),
    (DELIVER_MS, 4_700),
    (DELAY_MS, 300),
    (DELAY_SEC, 9),
    (DELIVER_MS, 2_600),
)
"""In turn: a property, and how far away the time is, in its unit. DELIVER_MS has it on the wall clock."""
CLOCKS_NS: Final = 10 * MS
"""Wall clocks of a client and a broker differ by no more (``ClockModel.wall_error_max_ms`` of each)."""


def delayed_topic(topic: str) -> str:
    """Delayed messages have a topic of their own, made by the first send: until they are due they stand elsewhere, and
    may be moved twice, so its queues are not judged as logs."""
    return f"{topic}-delayed"


class DelayingApplication(Application):
    """Every second message is delayed, by the three first levels in turn."""

    delays_ns: Mapping[int, int] = DELAYS_NS
    _count = 0

    def about(self) -> About:
        self._count += 1
        if self._count % 2:
            return PLAIN
        level = 1 + self._count // 2 % len(self.delays_ns)
        due_ns = self._stage.backend.now() + self.delays_ns[level]
        topic = delayed_topic(self._stage.topic)
        return About("delayed", due_ns, topic, {PROPERTY_DELAY: str(level)}, "send_delayed")


class LevelsApplication(DelayingApplication):
    """The same, by all eighteen."""

    delays_ns = LEVELS_NS


class TimingApplication(Application):
    """Every second message wants a time of its own, by the three properties in turn."""

    _count = 0

    def about(self) -> About:
        self._count += 1
        if self._count % 2:
            return PLAIN
        wish, delay = TIMERS[self._count // 2 % len(TIMERS)]
        delay_ns = delay * (SECOND if wish == DELAY_SEC else MS) - (CLOCKS_NS if wish == DELIVER_MS else 0)
        due_ns = self._stage.backend.now() + delay_ns
        return About("delayed", due_ns, delayed_topic(self._stage.topic), {wish: str(delay)}, "send_delayed")

    def hand_over(self, env: Environment, message: Message, number: int, ended: OnResult) -> int:
        if DELIVER_MS in message.properties:
            due_ms = env.wall() + int(message.properties[DELIVER_MS])
            message = replace(message, properties={DELIVER_MS: str(due_ms)})
        return super().hand_over(env, message, number, ended)


class Member:
    """One member of the group: a client with one push consumer, anew in each life."""

    def __init__(self, stage: Stage, name: str, counts: Counter[str], settings: PushSettings) -> None:
        self.name, self._stage, self._counts, self._settings = name, stage, counts, settings
        self._process = Process(stage.recorder.process())
        self.delivered: set[int] = set()
        self.refused: set[int] = set()
        self.last_ns = 0
        self._lives: list[OwnerRecorder] = []
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
        self._lives.append(OwnerRecorder(stage, self._settings.group, self.name, broadcasts=self._settings.broadcast))
        self.client = Client(settings, self._lives[-1])
        self.consumer = self.consume()
        plant_in_client(self.client, stage.defects)
        return self.client

    def had(self) -> set[MessageQueue]:
        """All queues that this member ever had, in whichever life."""
        return set().union(*(life.had for life in self._lives))

    def consume(self) -> PushConsumer:
        """What reads for the listener."""
        return PushConsumer(self.client, self._settings, self._listen)

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
        return self.answer(env, self.take(message, self._process), message)

    def take(self, message: PulledMessage, process: Process) -> int:
        """The listener is given it; the number of the op."""
        recorder, queue = self._stage.recorder, message.queue
        return recorder.invoke(
            process.number,
            "deliver",
            queue=recorder.queue(queue.topic, queue.broker_name, queue.queue_id),
            offset=message.queue_offset,
            node=self.name,
            group=self._settings.group,
        )

    def answer(self, env: Environment, op: int, message: PulledMessage) -> bool:
        """The listener says what became of it: whether it is done."""
        recorder = self._stage.recorder
        body = decode(message.body, recorder.run)
        number, unrecognised = (body.message, "") if isinstance(body, Body) else (-1, f"{body.reason}: {body.digest}")
        is_done = self.is_done(number, message.reconsume_times)
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
        backend.after(min(self.stage.load.duration_ns // ENTER_AFTER, ENTER_AT_MOST_NS), self._enter)

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
        """Every queue has one owner: those of the topic, and whatever a member had before (retries)."""
        owned = Counter(queue for member in self._members for queue in member.consumer.queues())
        topic = self.stage.topic
        known = {MessageQueue(topic, queue.broker, queue.queue_id) for queue in self.stage.queues}
        known |= set().union(*(member.had() for member in self._members))
        return all(owned[queue] == 1 for queue in known | owned.keys())

    def quiet_ns(self) -> int:
        """Since when nothing has come, or the end of the drain."""
        since_ns = max([self._finishing_ns, *(member.last_ns for member in self._members)])
        return self.stage.backend.now() - since_ns


class DelayedWorkload(PushWorkload):
    """The same, with delayed messages."""

    application: Callable[[Stage, Producer, AttemptRecorder, int, Counter[str]], Application] = DelayingApplication

    def topics(self) -> tuple[str, ...]:
        return (self.stage.topic, delayed_topic(self.stage.topic))


class LevelsWorkload(DelayedWorkload):
    """The same, with all eighteen levels."""

    application = LevelsApplication


class TimersWorkload(DelayedWorkload):
    """The same, with messages that want a time of their own."""

    application = TimingApplication


class BroadcastWorkload(PushWorkload):
    """The same, but every member reads every queue for itself; what its listener refuses is gone."""

    def settings(self) -> PushSettings:
        return replace(super().settings(), broadcast=True)

    def is_complete(self) -> bool:
        owed = self.acknowledged()
        return all(owed <= member.delivered | member.refused for member in self._members)

    def is_settled(self) -> bool:
        return True
