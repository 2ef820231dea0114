"""The numbers of the simulated world: how fast, how large, how unkind. Frozen values, printed with the seed.

Question: which constants decide what a simulated run can show? All of them are here, none is hidden in the machinery.

Model. Latencies come from long-tailed tables made with integer arithmetic only, so that they are the same on every
machine: ``minimum + spread * q // (LATENCY_STEPS + LATENCY_TAIL - q)`` for q in 0..1023. The median is about
``minimum + spread``, the worst of a thousand about ``minimum + 60 * spread``.

Limits. A model never changes during a run; faults change the world (``levers.py``), not its numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from reference_impl.environment import MS, SECOND

LATENCY_STEPS = 1024
LATENCY_TAIL = 16

EPOCH_MS = 1_704_067_200_000
"""Wall time at the start of every simulated run: 2024-01-01T00:00:00Z. A constant, so that stores are reproducible."""


@lru_cache(maxsize=64)
def latency_table(minimum_ns: int, spread_ns: int) -> list[int]:
    """1024 latencies in ns, ascending; an evenly drawn index gives the long-tailed distribution described above."""
    return [minimum_ns + spread_ns * q // (LATENCY_STEPS + LATENCY_TAIL - q) for q in range(LATENCY_STEPS)]


@dataclass(frozen=True)
class NetModel:
    """A switched local network and Linux TCP."""

    latency_min_ns: int = 60_000
    latency_spread_ns: int = 100_000
    loopback_min_ns: int = 15_000
    loopback_spread_ns: int = 10_000
    byte_ns: int = 8
    """Serialisation, per byte and connection: 8 ns is 1 Gbit/s."""
    split_per_1024: int = 16
    """How many of 1024 segments arrive in two pieces, so that frames get torn."""
    retransmit_first_ns: int = 200 * MS
    """Linux: TCP_RTO_MIN. It doubles with every attempt."""
    retransmit_max_ns: int = 120 * SECOND
    """Linux: TCP_RTO_MAX."""
    retransmit_give_up_ns: int = 924_600 * MS
    """Linux: tcp_retries2 = 15, about 924.6 s of silence before ETIMEDOUT."""
    orphan_give_up_ns: int = 100 * SECOND
    """Linux: tcp_orphan_retries = 8: how long the kernel goes on for a process that is gone."""
    unacknowledged_bytes_max: int = 64 * 1024
    """What still arrives while acknowledgements are dropped (one-way partition of the other direction): one window."""
    syn_retry_ns: int = SECOND
    """Linux: 1 s, then 2 s, 4 s …"""
    connect_timeout_ns: int = 3 * SECOND
    """RocketMQ: NettyClientConfig.connectTimeoutMillis."""


@dataclass(frozen=True)
class DiskModel:
    """One SSD a node, ext4 with a journal, a kernel that writes back late."""

    capacity_bytes: int = 100 * 1024**3
    sync_min_ns: int = 150_000
    sync_spread_ns: int = 500_000
    sync_clean_ns: int = 20_000
    """An fsync with nothing to write."""
    byte_ns: int = 5
    """Write-out, per byte: 5 ns is 200 MB/s."""
    writeback_age_ns: int | None = 30 * SECOND
    """Linux: dirty_expire_centisecs. Data older than this (plus up to ``writeback_every_ns``) is on the platter by
    itself; ``None``: never."""
    journal_age_ns: int | None = 5 * SECOND
    """ext4: commit=5. The same for names (create, delete, rename); ``None``: never."""
    writeback_every_ns: int = 5 * SECOND
    """Linux: dirty_writeback_centisecs."""
    power_cut_weights: tuple[tuple[str, int], ...] = (("drop-all", 3), ("prefix", 3), ("subset", 3), ("torn", 1))


@dataclass(frozen=True)
class ClockModel:
    """Clocks at the start; steps and drift are faults."""

    wall_error_max_ms: int = 5
    """Every node's wall clock is off by a drawn amount up to this, as with NTP on a local network."""
    uptime_max_ns: int = 1_000_000 * SECOND
    """The monotonic clock of a node starts at a drawn value below this."""


@dataclass(frozen=True)
class Model:
    """The whole world."""

    net: NetModel = field(default_factory=NetModel)
    disk: DiskModel = field(default_factory=DiskModel)
    clock: ClockModel = field(default_factory=ClockModel)
    start_min_ns: int = 20 * MS
    start_spread_ns: int = 30 * MS
    """From ``start`` to ``on_start``: what a process needs to come up."""


@dataclass(frozen=True)
class Budgets:
    """Bounds of a run. Reaching one raises ``BudgetExceeded``; the run is then UNKNOWN with that reason."""

    events: int = 200_000_000
    virtual_ns: int = 48 * 3600 * SECOND
    queued_bytes: int = 256 * 1024 * 1024
    """Per direction of a connection: sent and not yet consumed by the other end."""
