"""The load ``log``: producers append to queues, consumers read them from the front, everything is an op.

Question: is each queue of each broker an append-only log, whatever happens to its broker?

Model. Producers are open-loop: each has a fixed timetable (its share of the rate) and goes round-robin over all queues
of all brokers, whether they answer or not. What may be in flight is bounded for each producer and broker
(:data:`IN_FLIGHT_MAX` processes of one op each), so that a broker that hangs does not silence the others; a send whose
time comes when all are busy is *withheld* and counted. Consumers share the queues; each queue is read by one process,
one pull at a time, from offset 0, and asked for its end now and then. Every second consumer lets the broker wait for
messages (long polling); the others ask five times a second, so that they notice early when a broker is gone or back.
Readers go where answers send them, and from a master that does not answer to its slave, if it has one, and back.

Limits. No consumer groups, no offsets at the broker, no retries: those are other loads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from harness.addressing import Addressing
from harness.workloads.measuring import PAUSE_NS, MeasuringClient, Process, Pulled
from harness.workloads.parts import PartHost, lone_host
from harness.workloads.table import Companion
from harness.workloads.workload import QueueAddress, Stage
from reference_impl.environment import MS, SECOND, Environment

IN_FLIGHT_MAX: Final = 8
END_QUERY_EVERY_NS: Final = 2 * SECOND
NO_CONNECTION: Final = ("CONNECT_FAILED", "CONNECTION_CLOSED", "TIMEOUT")
EMPTY_PAUSE_NS: Final = 200 * MS
"""After an empty answer: since then the time that passed while the broker waited counts, too."""


class Producer(MeasuringClient):
    """One producer node: a timetable, and processes that are free or busy, by broker."""

    def __init__(self, stage: Stage, name: str, number: int, counts: Counter[str]) -> None:
        super().__init__(stage, name)
        load = stage.load
        self._counts = counts
        self._quota = load.rate_per_s * load.duration_ns // SECOND // load.producers
        self._every_ns = load.producers * SECOND // load.rate_per_s
        self._first_ns = self._every_ns * number // load.producers
        self._next_queue = number * len(stage.queues) // load.producers
        brokers = dict.fromkeys(queue.broker for queue in stage.queues)
        self._free: dict[str, list[Process]] = {broker: [] for broker in brokers}
        self._made = dict.fromkeys(brokers, 0)
        self._due_ns = 0
        self.given = 0

    @property
    def done(self) -> bool:
        """The timetable is at its end."""
        return self.given >= self._quota

    def on_start(self, env: Environment) -> None:
        self._due_ns = env.now() + self._first_ns
        env.set_timer("send", self._first_ns)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        if key == "send":
            self._send_due(env)
        else:
            super().on_timer(env, key)

    def _send_due(self, env: Environment) -> None:
        now_ns = env.now()
        while self._due_ns <= now_ns and not self.stopped and not self.done:
            self._send_next(env)
            self.given += 1
            self._due_ns += self._every_ns
        if self.done:
            self._counts["finished"] += 1
        elif not self.stopped:
            env.set_timer("send", self._due_ns - now_ns)

    def _send_next(self, env: Environment) -> None:
        queue = self._turn()
        process = self._process(queue.broker)
        if process is None:
            self._counts["withheld"] += 1
            return
        self._counts["sent"] += 1
        self.send(env, process, queue, partial(self._answered, queue.broker, process))

    def _turn(self) -> QueueAddress:
        """Whose turn it is."""
        queue = self.stage.queues[self._next_queue]
        self._next_queue = (self._next_queue + 1) % len(self.stage.queues)
        return self.stage.at(queue)

    def _answered(self, broker: str, process: Process, env: Environment, outcome: str) -> None:
        self._counts[outcome] += 1
        self._free[broker].append(process)

    def _process(self, broker: str) -> Process | None:
        if self._free[broker]:
            return self._free[broker].pop()
        if self._made[broker] == IN_FLIGHT_MAX:
            return None
        self._made[broker] += 1
        return Process(self.recorder.process())


class _Reader:
    """One queue as its consumer reads it: ``nodes`` by the broker id that they began with, of which it asks
    ``broker_id`` next. Where roles move only who serves the queue is asked."""

    __slots__ = ("_addressing", "asked_end_ns", "began_ns", "broker_id", "nodes", "position", "process", "queue")

    def __init__(self, queue: QueueAddress, process: Process, addressing: Addressing) -> None:
        self.queue, self.process, self.position = queue, process, 0
        self.began_ns = self.asked_end_ns = self.broker_id = 0
        self._addressing = addressing
        self.nodes = {
            node.broker_id: replace(queue, node=node.node, address=node.address)
            for node in addressing.brokers
            if node.broker == queue.broker
        }

    def asked(self) -> QueueAddress:
        """Where the next pull goes."""
        return self._addressing.at(self.queue) if self._addressing.roles_move else self.nodes[self.broker_id]

    def take(self, pulled: Pulled) -> None:
        """Where to ask next: whom the answer suggests; without an answer the next broker id, after the last the first
        (RocketMQ: PullAPIWrapper, but that by routes)."""
        if pulled.status in NO_CONNECTION:
            ids = sorted(self.nodes)
            self.broker_id = ids[(ids.index(self.broker_id) + 1) % len(ids)]
        elif pulled.suggested in self.nodes:
            self.broker_id = pulled.suggested
        else:
            self.broker_id = 0


class Consumer(PartHost):
    """One consumer node: a reader for each of its queues, and parts."""

    def __init__(self, stage: Stage, name: str, number: int, counts: Counter[str]) -> None:
        super().__init__(stage, name)
        queues = stage.queues[number :: stage.load.consumers]
        self._readers = [_Reader(queue, Process(stage.recorder.process()), stage.addressing) for queue in queues]
        self._counts = counts
        self._suspend = number % 2 == 1

    def on_start(self, env: Environment) -> None:
        for reader in self._readers:
            reader.asked_end_ns = env.now()
            self._go_on(env, reader)
        super().on_start(env)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        if isinstance(key, int):
            self._go_on(env, self._readers[key])
        else:
            super().on_timer(env, key)

    def _go_on(self, env: Environment, reader: _Reader) -> None:
        if self.stopped:
            return
        reader.began_ns = env.now()
        if reader.began_ns - reader.asked_end_ns >= END_QUERY_EVERY_NS:
            reader.asked_end_ns = reader.began_ns
            self.query(env, reader.process, self.stage.at(reader.queue), "query_max", partial(self._told_end, reader))
        else:
            got = partial(self._got, reader)
            self.pull(env, reader.process, reader.asked(), reader.position, got, suspend=self._suspend)

    def _told_end(self, reader: _Reader, env: Environment, offset: int) -> None:
        self._later(env, reader, 0 if offset >= 0 else PAUSE_NS)

    def _got(self, reader: _Reader, env: Environment, pulled: Pulled) -> None:
        self._counts["read"] += pulled.count
        reader.take(pulled)
        if pulled.status == "PULL_NOT_FOUND":
            self._later(env, reader, max(0, EMPTY_PAUSE_NS - (env.now() - reader.began_ns)))
        elif pulled.next_offset >= 0 and pulled.next_offset != reader.position:
            reader.position = pulled.next_offset
            self._later(env, reader, 0)
        else:
            self._later(env, reader, PAUSE_NS)

    def _later(self, env: Environment, reader: _Reader, delay_ns: int) -> None:
        if delay_ns:
            env.set_timer(self._readers.index(reader), delay_ns)
        else:
            self._go_on(env, reader)


def consumers_of(stage: Stage, counts: Counter[str], companions: Sequence[Companion]) -> Sequence[PartHost]:
    """Measuring consumers that host *companions*; a node for these alone if there are no consumers."""
    consumers = []
    for number in range(stage.load.consumers):
        consumer = Consumer(stage, f"client-{stage.load.producers + number + 1}", number, counts)
        consumer.take([companion for companion in companions if companion.is_everywhere or number == 0])
        consumers.append(consumer)
    return consumers or lone_host(stage, companions)


class LogWorkload:
    """``Workload`` of the load ``log``: clients 1…P are producers, P+1…P+C consumers."""

    producer: Callable[[Stage, str, int, Counter[str]], Producer] = Producer

    def __init__(self, stage: Stage, companions: Sequence[Companion] = ()) -> None:
        self.stage = stage
        self.counts: Counter[str] = Counter(finished=0)  # asked for after every event: there from the beginning
        load = stage.load
        self._producers = [
            self.producer(stage, f"client-{number + 1}", number, self.counts) for number in range(load.producers)
        ]
        self._readers = self._make_readers(companions)

    def _make_readers(self, companions: Sequence[Companion]) -> Sequence[PartHost]:
        return consumers_of(self.stage, self.counts, companions)

    def start(self) -> None:
        for client in self._clients():
            self.stage.backend.add_client(client.name, client)

    def stop(self) -> None:
        for client in self._clients():
            client.stopped = True

    def finish(self) -> None:
        """Nobody reads after :meth:`stop`."""

    def finished(self) -> bool:
        return True

    def done(self) -> bool:
        return self.counts["finished"] == len(self._producers)

    def idle(self) -> bool:
        return not any(client.in_flight for client in self._clients())

    def measures(self) -> Mapping[str, int]:
        counts = self.counts
        return {name: counts[name] for name in ("sent", "ok", "weak", "fail", "info", "withheld", "read")}

    def _clients(self) -> list[MeasuringClient]:
        return [*self._producers, *self._readers]
