"""The load ``producer``: RocketMQ's own producers, with their retries and their avoidance of a broker that failed.

Question: what does an application see when a broker dies: how many of its sends fail, for how long, and how many of its
messages are stored twice?

Model. Each producer node hosts the reference's client (``reference_impl.client``), which chooses the queue, retries on
another broker and keeps its own route table. What the application sees is an op ``produce`` (process of the
application); every attempt below it is an op ``send`` (process of its own), with the queue, the broker and its answer.
So the log of each queue is checked as ever, a message that was stored by two attempts shows as two, and success as the
application sees it is a question about ``produce``. An attempt at another node
than the queue's first master says so (``detail`` by). A change of a client's routes is a note ``routes`` of its node.
The last producer joins when half of the load has been given; then, and near the end, the first one looks for a topic
that nobody has heard of (note ``new_topic``).

Producers enter one after the other over the first quarter of the load, as clients of a real system do: each asks for
routes every 30 s since it entered, so they learn of a change at different times. The last of several enters at half of
the load: what a *new* client can do is seen in each such run (note ``joins``). Consumers are those of the load ``log``.

Limits. At most :data:`IN_FLIGHT_MAX` sends a node are under way; what comes due
beyond them is *withheld* and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from harness.payload import Body, encode
from harness.recorder import Detail, Recorder
from harness.workloads.log import consumers_of
from harness.workloads.measuring import GROUP, Process, position_of
from harness.workloads.parts import PartHost
from harness.workloads.table import Companion
from harness.workloads.workload import Stage
from reference_impl.client import (
    Attempt,
    Client,
    ClientSettings,
    Message,
    MessageQueue,
    Observer,
    Producer,
    ProducerSettings,
    SendResult,
    TopicRoute,
)
from reference_impl.client.client import Part
from reference_impl.environment import SECOND, Address, Environment
from reference_impl.node import plant_in_client

IN_FLIGHT_MAX: Final = 32
STORED: Final = ("ok", "weak")
NEW_TOPIC: Final = "unheard-of"
TEMPLATE_TOPIC: Final = "TBW102"
"""What a producer takes the route of where a topic has none (RocketMQ: TopicValidator.AUTO_CREATE_TOPIC_KEY_TOPIC)."""
NEW_TOPIC_QUEUES: Final = 4
_TICK: Final = "timetable"


@dataclass(frozen=True)
class About:
    """Of a message: its kind and when it is due, for the history; its topic (empty: the load's) and properties.
    Attempts to store it are ops *f*: another name where it does not stand in the topic's queues at once."""

    kind: str = "plain"
    due_ns: int = -1
    topic: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    f: str = "send"
    tags: str = ""
    key: str = ""
    """Its sharding key."""


PLAIN: Final = About()


class _Open:
    """A send of the application that has not ended: its op, its message, the op of its attempt now."""

    __slots__ = ("application", "attempt_op", "by", "f", "message", "op", "stored")

    def __init__(self, application: Process, op: int, message: int, f: str) -> None:
        self.application, self.op, self.message, self.f = application, op, message, f
        self.attempt_op = -1
        self.by = ""
        """Who was asked in the attempt now, if not the node that was the queue's master at the start."""
        self.stored: Attempt | None = None


class AttemptRecorder(Observer):
    """Writes what a client does into the history. ``opening`` is the send that is being begun."""

    def __init__(self, stage: Stage, name: str) -> None:
        self._stage, self._recorder, self._name = stage, stage.recorder, name
        self._free: list[Process] = []
        self._busy: dict[int, Process] = {}
        self._sends: dict[int, _Open] = {}
        self._routes: Mapping[str, Mapping[int, Address]] | None = None
        masters = {queue.node for queue in stage.queues}
        self._others = {address: node for node, address in stage.brokers.items() if node not in masters}
        self.opening: _Open | None = None

    def began(self, send: int, opened: _Open) -> None:
        """The send has its number. Its first attempt may come later: the client asks for a route first."""
        self._sends.setdefault(send, opened)

    def on_try(self, env: Environment, send: int, number: int, queue: MessageQueue, address: Address) -> None:
        opened = self._sends.get(send)
        if opened is None:
            if self.opening is None:
                raise RuntimeError(f"attempt {number} of send {send}, which nobody began")
            opened = self._sends[send] = self.opening
        process = self._free.pop() if self._free else Process(self._recorder.process())
        opened.by = self._others.get(address, "")
        opened.attempt_op = self._recorder.invoke(
            process.number,
            opened.f,
            queue=self._recorder.queue(queue.topic, queue.broker_name, queue.queue_id),
            message=opened.message,
            node=queue.broker_name,
        )
        self._busy[opened.attempt_op] = process

    def on_attempt(self, env: Environment, attempt: Attempt) -> None:
        opened = self._sends[attempt.send]
        if self._stage.classify("send", attempt.status) in STORED:
            opened.stored = attempt  # its offset comes with the result, in the same step
        else:
            self._complete_attempt(opened, attempt.status, detail=attempt.remark)

    def on_result(self, env: Environment, result: SendResult) -> None:
        opened = self._sends.pop(result.send, None)
        if opened is not None and opened.stored is not None:
            position = position_of(result.message_id)
            by: Detail = {"by": opened.by} if opened.by else ""
            status, offset = opened.stored.status, result.queue_offset
            self._complete_attempt(opened, status, offset=offset, position=position, detail=by)

    def on_route(self, env: Environment, topic: str, server: Address, status: str, route: TopicRoute | None) -> None:
        if topic != self._stage.topic or route is None or route.brokers == self._routes:
            return
        self._routes = route.brokers
        brokers = {broker: sorted(ids) for broker, ids in sorted(route.brokers.items())}
        self._recorder.event("note", node=self._name, step="routes", detail={"from": server, "brokers": brokers})

    def _complete_attempt(
        self, opened: _Open, status: str, *, offset: int = -1, position: int = -1, detail: Detail = ""
    ) -> None:
        process = self._busy.pop(opened.attempt_op)
        outcome = self._stage.classify("send", status)
        self._recorder.complete(opened.attempt_op, outcome, status, offset=offset, position=position, detail=detail)
        opened.attempt_op, opened.stored = -1, None
        renew(self._recorder, process, outcome)
        self._free.append(process)


OnResult = Callable[[Environment, SendResult], None]


class Application(Part):
    """What uses the producer: a timetable, and processes that wait for their result."""

    def __init__(self, stage: Stage, producer: Producer, record: AttemptRecorder, number: int, counts: Counter[str]):
        self._stage, self._producer, self._record, self._counts = stage, producer, record, counts
        load = stage.load
        self.is_newcomer = 0 < number == load.producers - 1
        in_turn_ns = load.duration_ns * number // (4 * load.producers)
        self.joins_after_ns = load.duration_ns // 2 if self.is_newcomer else in_turn_ns
        self._quota = self._quota_of(load.duration_ns - self.joins_after_ns)
        self._every_ns = load.producers * SECOND // load.rate_per_s
        self._first_ns = self._every_ns * number // load.producers
        self._free: list[Process] = []
        self._due_ns = self._given = self.in_flight = 0
        self.stopped = self.is_finished = False
        self.acknowledged: set[int] = set()
        """Messages that it was told are stored as promised."""

    def _quota_of(self, left_ns: int) -> int:
        """How many messages it sends in so much time."""
        return self._stage.load.rate_per_s * left_ns // SECOND // self._stage.load.producers

    def begin_again(self, left_ns: int) -> None:
        """A next life, with so much of the load's time left: it joins at once."""
        self.is_newcomer, self.joins_after_ns, self._quota = False, 0, self._quota_of(max(0, left_ns))

    def start(self, env: Environment) -> None:
        self._due_ns = env.now() + self._first_ns
        env.set_timer(_TICK, self._first_ns)

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        if key != _TICK:
            return False
        now_ns = env.now()
        while self._due_ns <= now_ns and self._given < self._quota and not self.stopped:
            self._send(env)
            self._given += 1
            self._due_ns += self._every_ns
        if self._given >= self._quota:
            self.is_finished = True
        elif not self.stopped:
            env.set_timer(_TICK, self._due_ns - now_ns)
        return True

    def _send(self, env: Environment) -> None:
        if self.is_busy():
            self._counts["withheld"] += 1
            return
        recorder, size = self._stage.recorder, self._stage.load.draw_size(self._stage.rng)
        process = self._free.pop() if self._free else Process(recorder.process())
        about = self.about()
        message = recorder.message(
            process.number,
            process.sequence,
            size,
            sharding_key=about.key,
            tags=about.tags,
            kind=about.kind,
            due_ns=about.due_ns,
        )
        body = encode(Body(recorder.run, message, process.number, process.sequence), size)
        process.sequence += 1
        opened = _Open(process, recorder.invoke(process.number, "produce", message=message), message, about.f)
        self._counts["sent"] += 1
        self.in_flight += 1
        self._record.opening = opened
        whole = Message(about.topic or self._stage.topic, body, about.properties)
        send = self.hand_over(env, whole, message, self._ended(opened))
        self._record.opening = None
        self._record.began(send, opened)

    def is_busy(self) -> bool:
        """Whether what is due now has to be left out."""
        return self.in_flight == IN_FLIGHT_MAX

    def hand_over(self, env: Environment, message: Message, number: int, ended: OnResult) -> int:
        """To the producer; returns the number of its send."""
        return self._producer.send(env, message, ended)

    def about(self) -> About:
        """Of the next message."""
        return PLAIN

    def _ended(self, opened: _Open) -> OnResult:
        def ended(env: Environment, result: SendResult) -> None:
            self.in_flight -= 1
            outcome = self._stage.classify("send", result.status)
            detail = {"attempts": result.attempts, "broker": result.queue.broker_name if result.queue else ""}
            self._stage.recorder.complete(opened.op, outcome, result.status, detail=detail)
            self._counts[outcome] += 1
            if outcome == "ok":
                self.acknowledged.add(opened.message)
            renew(self._stage.recorder, opened.application, outcome)
            self._free.append(opened.application)

        return ended


class Asleep:
    """A client node (``Role``) that is there from the beginning and knows nothing until its client is started."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.on_connected, self.on_closed, self.on_bytes = client.on_connected, client.on_closed, client.on_bytes
        self.on_timer, self.on_synced, self.on_disk_error = client.on_timer, client.on_synced, client.on_disk_error
        self.on_stop = client.on_stop

    def on_start(self, env: Environment) -> None:
        """Not yet."""


def renew(recorder: Recorder, process: Process, outcome: str) -> None:
    """A process whose operation may still take effect goes on under a fresh number."""
    if outcome == "info":
        process.number, process.sequence = recorder.process(), 0


class ProducerWorkload:
    """``Workload`` of the load ``producer``: clients 1…P are RocketMQ's producers, P+1…P+C measuring consumers."""

    application: Callable[[Stage, Producer, AttemptRecorder, int, Counter[str]], Application] = Application

    def __init__(self, stage: Stage, companions: Sequence[Companion] = ()) -> None:
        self.stage = stage
        self.counts: Counter[str] = Counter()
        self._names = [f"client-{number + 1}" for number in range(stage.load.producers)]
        self._lives = [self._make_life(number) for number in range(stage.load.producers)]
        self._past: list[Application] = []
        self._began_ns = 0
        self._readers = self._make_readers(companions)

    def _make_readers(self, companions: Sequence[Companion]) -> Sequence[PartHost]:
        return consumers_of(self.stage, self.counts, companions)

    def start(self) -> None:
        backend = self.stage.backend
        self._began_ns = backend.now()
        for number, (name, life) in enumerate(zip(self._names, self._lives, strict=True)):
            again = partial(self._begin_again, number)
            if life.application.joins_after_ns:
                backend.add_client(name, Asleep(life.client), again)
                backend.after(life.application.joins_after_ns, partial(self._join, number, life))
            else:
                backend.add_client(name, life.client, again)
        for reader in self._readers:
            backend.add_client(reader.name, reader)

    def _begin_again(self, number: int) -> Client:
        """The next life of a producer that was ended. What it had under way is never heard of again."""
        past, life = self._lives[number].application, self._make_life(number)
        life.application.begin_again(self._began_ns + self.stage.load.duration_ns - self.stage.backend.now())
        life.application.stopped = past.stopped
        self._past.append(past)
        self._lives[number] = life
        return life.client

    def _join(self, number: int, life: Life) -> None:
        name, client, application = self._names[number], life.client, life.application
        if life is self._lives[number] and not application.stopped and is_running(self.stage, name):
            if application.is_newcomer:
                self.stage.recorder.event("note", node=name, step="joins")
                self._ask_for_a_new_topic()
                self.stage.backend.after(self.stage.load.duration_ns * 2 // 5, self._ask_for_a_new_topic)
            self.stage.backend.step(name, client.on_start)

    def _ask_for_a_new_topic(self) -> None:
        """A running client does what its first send to an unheard-of topic would do: it asks for the template's route.

        Nothing is sent, so no topic comes into being that the drain would not know.
        """
        name, client = self._names[0], self._lives[0].client

        def told(_env: Environment, status: str) -> None:
            self.stage.recorder.event("note", node=name, step="new_topic", detail={"status": status})

        if not self._lives[0].application.stopped and is_running(self.stage, name):
            self.stage.backend.step(
                name, lambda env: client.routes.borrow(env, NEW_TOPIC, TEMPLATE_TOPIC, NEW_TOPIC_QUEUES, told)
            )

    def stop(self) -> None:
        for application in self.applications():
            application.stopped = True
        for reader in self._readers:
            reader.stopped = True

    def finish(self) -> None:
        """Nobody reads after :meth:`stop`."""

    def finished(self) -> bool:
        return True

    def done(self) -> bool:
        return all(application.is_finished for application in self.applications())

    def idle(self) -> bool:
        sending = any(application.in_flight for application in self.applications())
        return not sending and not any(reader.in_flight for reader in self._readers)

    def measures(self) -> Mapping[str, int]:
        return {name: self.counts[name] for name in ("sent", "ok", "weak", "fail", "info", "withheld", "read")}

    def applications(self) -> list[Application]:
        """Of the present lives."""
        return [life.application for life in self._lives]

    def acknowledged(self) -> set[int]:
        """What applications were told is stored as promised, in all of their lives."""
        return set().union(*(application.acknowledged for application in (*self._past, *self.applications())))

    def _make_life(self, number: int) -> Life:
        stage, name = self.stage, self._names[number]
        record = self._make_record(name)
        settings = ClientSettings(
            ip=stage.backend.host(name), nameservers=tuple(stage.nameservers.values()), instance=name
        )
        client = Client(settings, record)
        producer = self._make_producer(client)
        application = self._make_application(producer, record, number)
        client.parts.append(application)
        plant_in_client(client, stage.defects)
        return Life(client, application)

    def _make_record(self, name: str) -> AttemptRecorder:
        return AttemptRecorder(self.stage, name)

    def _make_application(self, producer: Producer, record: AttemptRecorder, number: int) -> Application:
        return self.application(self.stage, producer, record, number, self.counts)

    def _make_producer(self, client: Client) -> Producer:
        return Producer(client, ProducerSettings(group=GROUP))


@dataclass(frozen=True)
class Life:
    """A producer from its start to its end."""

    client: Client
    application: Application


def is_running(stage: Stage, client: str) -> bool:
    """Whether that client's process is there, be it frozen."""
    return stage.backend.levers.state(client) != "dead"
