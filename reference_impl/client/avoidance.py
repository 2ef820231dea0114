"""Which queue a producer tries next, and which brokers it leaves alone for a while.

Question: a broker has failed or is slow: which queues does the producer use now, and when does it come back?

Model (RocketMQ: TopicPublishInfo, MQFaultStrategy, LatencyFaultToleranceImpl). Queues are used in rotation, starting
anywhere. Without the latency strategy the only rule is: a retry takes the next queue of another broker. With it every
attempt is measured and its broker rested for a time that grows with its latency; an attempt without success counts as
a very slow one. Two tables exist, one a release line:

    4.9   ≥ 550 ms → 30 s,  ≥ 1 s → 60 s,   ≥ 2 s → 120 s,  ≥ 3 s → 180 s,  ≥ 15 s and any failure → 600 s
    5.x   ≥ 550 ms → 2 s,   ≥ 1.8 s → 5 s,  ≥ 3 s → 6 s,    ≥ 5 s → 10 s,   ≥ 15 s → 30 s,  any failure → 10 s

4.9 gives up the rule "another broker" while the strategy is on; 5.x keeps both rules.

Limits. Rest periods are judged by the client's wall clock, as in RocketMQ: a jump ends or prolongs them. The
background prober of 5.x (``startDetectorEnable``) is off, as by default, so a broker that answered with an error is
unreachable until something succeeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from reference_impl.client.model import MessageQueue

Pick = Callable[[MessageQueue], bool]


@dataclass(frozen=True)
class FaultTable:
    """Milliseconds: with a latency of at least ``latencies[i]`` a broker is rested for ``rests[i]``."""

    latencies: tuple[int, ...]
    rests: tuple[int, ...]
    failure_latency: int

    def rest_ms(self, latency_ms: int) -> int:
        """The rest that the largest fitting row gives; 0 below all of them."""
        rows = zip(reversed(self.latencies), reversed(self.rests), strict=True)
        return next((rest for latency, rest in rows if latency_ms >= latency), 0)


TABLE_4_9: Final = FaultTable(
    (50, 100, 550, 1000, 2000, 3000, 15_000), (0, 0, 30_000, 60_000, 120_000, 180_000, 600_000), 30_000
)
TABLE_5: Final = FaultTable((50, 100, 550, 1800, 3000, 5000, 15_000), (0, 0, 2000, 5000, 6000, 10_000, 30_000), 10_000)


class Rotation:
    """The queues of one topic in turn; ``queues`` may be replaced at any time without restarting the turn."""

    def __init__(self, queues: tuple[MessageQueue, ...], rng: Random) -> None:
        self.queues = queues
        self._turn = rng.randrange(1 << 16)
        self._rng = rng

    def next(self) -> MessageQueue:
        """The next queue of all."""
        self._turn += 1
        return self.queues[self._turn % len(self.queues)]

    def next_where(self, wanted: Pick) -> MessageQueue | None:
        """The next queue that is *wanted*; ``None`` after a full turn without one."""
        candidates = (self.next() for _ in self.queues)
        return next((queue for queue in candidates if wanted(queue)), None)

    def next_elsewhere(self, broker_name: str | None) -> MessageQueue:
        """The next queue of a broker other than *broker_name*, plainly the next if there is none."""
        elsewhere = self.next_where(lambda queue: queue.broker_name != broker_name) if broker_name else None
        return elsewhere or self.next()

    def next_of(self, broker_name: str) -> MessageQueue | None:
        """Any queue of *broker_name*: the number is the turn, as RocketMQ computes it; ``None`` if it has none."""
        count = sum(queue.broker_name == broker_name for queue in self.queues)
        self._turn += 1
        topic = self.queues[0].topic
        return MessageQueue(topic, broker_name, self._turn % count) if count else None

    def restart(self) -> None:
        """Begin the turn anywhere (5.x does so before each retry)."""
        self._turn = self._rng.randrange(1 << 16)


@dataclass
class _Fault:
    latency_ms: int
    rested_until_ms: int
    reachable: bool = True


class LatencyFaults:
    """What a producer has measured of each broker."""

    def __init__(self, table: FaultTable, rng: Random) -> None:
        self._table = table
        self._rng = rng
        self._faults: dict[str, _Fault] = {}
        self._worst_turn = rng.randrange(1 << 16)

    def record(self, broker_name: str, latency_ms: int, now_ms: int, *, failed: bool, reachable: bool = True) -> None:
        """An attempt at *broker_name* ended after *latency_ms*; *failed* ones count with the table's latency."""
        rest = self._table.rest_ms(self._table.failure_latency if failed else latency_ms)
        self._faults[broker_name] = _Fault(latency_ms, now_ms + rest, reachable)

    def available(self, broker_name: str, now_ms: int) -> bool:
        """Whether the broker's rest is over."""
        fault = self._faults.get(broker_name)
        return fault is None or now_ms >= fault.rested_until_ms

    def reachable(self, broker_name: str) -> bool:
        """Whether the last attempt was answered well (5.x only)."""
        fault = self._faults.get(broker_name)
        return fault is None or fault.reachable

    def forget(self, broker_name: str) -> None:
        """Drop what was measured."""
        self._faults.pop(broker_name, None)

    def least_bad(self, now_ms: int) -> str | None:
        """One of the better half of all measured brokers, in turn; ``None`` if nothing was measured."""
        names = list(self._faults)
        self._rng.shuffle(names)
        names.sort(key=lambda name: self._badness(name, now_ms))
        if len(names) < 2:
            return names[0] if names else None
        self._worst_turn += 1
        return names[self._worst_turn % (len(names) // 2)]

    def _badness(self, name: str, now_ms: int) -> tuple[bool, int, int]:
        fault = self._faults[name]
        return not self.available(name, now_ms), fault.latency_ms, fault.rested_until_ms


def choose_queue(
    rotation: Rotation, faults: LatencyFaults | None, last_broker: str | None, now_ms: int, release: str
) -> MessageQueue:
    """The queue of the next attempt. *last_broker* is that of the attempt before, ``None`` at the first."""
    if faults is None:
        return rotation.next_elsewhere(last_broker)
    if release.startswith("4."):
        return _choose_4_9(rotation, faults, now_ms)
    return _choose_5(rotation, faults, last_broker, now_ms)


def _choose_4_9(rotation: Rotation, faults: LatencyFaults, now_ms: int) -> MessageQueue:
    """RocketMQ 4.9: MQFaultStrategy#selectOneMessageQueue. The last broker is *not* avoided."""
    rested = rotation.next_where(lambda queue: faults.available(queue.broker_name, now_ms))
    if rested is not None:
        return rested
    least_bad = faults.least_bad(now_ms)
    queue = rotation.next_of(least_bad) if least_bad else None
    if queue is None and least_bad:
        faults.forget(least_bad)
    return queue or rotation.next()


def _choose_5(rotation: Rotation, faults: LatencyFaults, last_broker: str | None, now_ms: int) -> MessageQueue:
    """RocketMQ 5: availability and "another broker" together, then reachability, then anything."""
    if last_broker is not None:
        rotation.restart()

    def elsewhere(queue: MessageQueue) -> bool:
        return queue.broker_name != last_broker

    rested = rotation.next_where(lambda queue: elsewhere(queue) and faults.available(queue.broker_name, now_ms))
    if rested is not None:
        return rested
    reachable = rotation.next_where(lambda queue: elsewhere(queue) and faults.reachable(queue.broker_name))
    return reachable or rotation.next()
