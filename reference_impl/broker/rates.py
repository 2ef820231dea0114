"""How much went in and out lately: the figures behind VIEW_BROKER_STATS_DATA (315) and every ``consumeTps``.

Question: how many messages and bytes did a topic get, and a group take, in the last minute, hour and day?

Model (RocketMQ: BrokerStatsManager, StatsItemSet). One counter for each kind and key, made at its first use. Every 10 s
after the start all counters are sampled for the minute, every 10 min for the hour, every hour for the day; a window
keeps its last samples, the first of them stands one period before the counter was first seen. So a window says nothing
until its first sample: right after a send the sum of the last minute is still 0, and stays in the tables for a minute
after the last one.

    TOPIC_PUT_NUMS, TOPIC_PUT_SIZE, BROKER_PUT_NUMS (key: the cluster's name)
    GROUP_GET_NUMS, GROUP_GET_SIZE, SNDBCK_PUT_NUMS (key: topic@group), BROKER_GET_NUMS (the cluster's name)

Limits. RocketMQ's other kinds (latencies of gets, commercial and per-queue counters) are not counted.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from reference_impl.environment import SECOND, Environment

RATES_TIMER: Final = ("broker", "rates")
SAMPLE_NS: Final = 10 * SECOND


class Window(NamedTuple):
    """What is kept: a sample every *period_ticks* times 10 s, at most *kept* of them."""

    period_ticks: int
    kept: int


WINDOWS: Final = (Window(1, 7), Window(60, 7), Window(360, 25))
"""Minute, hour, day."""


class Sample(NamedTuple):
    """A counter at one time."""

    at_ms: int
    value: int
    times: int


class Figures(msgspec.Struct):
    """One window: ``sum`` of what was counted, ``tps`` of it a second, ``avgpt`` of it each time."""

    avgpt: float = 0.0
    sum: int = 0
    tps: float = 0.0


@dataclass
class Rate:
    """One counter with its three windows."""

    value: int = 0
    times: int = 0
    windows: tuple[deque[Sample], ...] = field(default_factory=lambda: tuple(deque(maxlen=w.kept) for w in WINDOWS))

    def sample(self, which: int, now_ms: int) -> None:
        """Add a sample to one window."""
        samples = self.windows[which]
        if not samples:
            samples.append(Sample(now_ms - WINDOWS[which].period_ticks * SAMPLE_NS // 1_000_000, 0, 0))
        samples.append(Sample(now_ms, self.value, self.times))

    def figures(self, which: int) -> Figures:
        """What one window says."""
        samples = self.windows[which]
        if not samples:
            return Figures()
        first, last = samples[0], samples[-1]
        total, times, took_ms = last.value - first.value, last.times - first.times, last.at_ms - first.at_ms
        return Figures(total / times if times else 0.0, total, total * 1000 / took_ms if took_ms else 0.0)


class Rates:
    """All counters of one broker."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._table: dict[tuple[str, str], Rate] = {}
        self._ticks = 0

    def start(self, env: Environment) -> None:
        """Begin to sample."""
        env.set_timer(RATES_TIMER, SAMPLE_NS)

    def stop(self, env: Environment) -> None:
        """Sample no more."""
        env.cancel_timer(RATES_TIMER)

    def on_tick(self, env: Environment) -> None:
        """Ten seconds are over."""
        env.set_timer(RATES_TIMER, SAMPLE_NS)
        self._ticks += 1
        now_ms = env.wall()
        for which, window in enumerate(WINDOWS):
            if self._ticks % window.period_ticks == 0:
                for rate in self._table.values():
                    rate.sample(which, now_ms)

    def put(self, topic: str, messages: int, size: int) -> None:
        """*messages* of *size* bytes in all were stored for *topic*."""
        self._count("TOPIC_PUT_NUMS", topic, messages)
        self._count("TOPIC_PUT_SIZE", topic, size)
        self._count("BROKER_PUT_NUMS", self._cluster, messages, times=0)

    def got(self, group: str, topic: str, messages: int, size: int) -> None:
        """*group* was handed messages of *topic*."""
        key = f"{topic}@{group}"
        self._count("GROUP_GET_NUMS", key, messages)
        self._count("GROUP_GET_SIZE", key, size)
        self._count("BROKER_GET_NUMS", self._cluster, messages, times=0)

    def sent_back(self, group: str, topic: str) -> None:
        """*group* could not use a message of *topic*."""
        self._count("SNDBCK_PUT_NUMS", f"{topic}@{group}", 1)

    def find(self, name: str, key: str) -> Rate | None:
        """The counter of that kind and key, if it has counted anything."""
        return self._table.get((name, key))

    def taken_each_second(self, group: str, topic: str) -> float:
        """Messages a second that *group* took of *topic* in the last minute."""
        rate = self.find("GROUP_GET_NUMS", f"{topic}@{group}")
        return rate.figures(0).tps if rate is not None else 0.0

    def _count(self, name: str, key: str, amount: int, times: int = 1) -> None:
        rate = self._table.get((name, key))
        if rate is None:
            rate = self._table[name, key] = Rate()
        rate.value += amount
        rate.times += times
