"""What do applications wait for, beside Apache RocketMQ 4.9.7: a delivery, a new owner, messages in order?

Real processes, one target after the other in the same run, on networks and disks of their own where this machine allows
it; all figures are read from the histories of runs, as checkers read them.

    delivery    two producers, a group of three push consumers of ours, 200 messages a second: from the begin of the
                application's send to the begin of the listener's work
    rebalance   the same run; a member is killed: until each of its queues has another owner. Its connection closes, so
                the broker tells the others at once
    orderly     the official Java client (4.9.8) with keys and orderly listeners, which take 2 ms a message: deliveries
                a second while the load lasts

Ratios are to Apache in the same run; those of times are better below 1. Without Java or its jars the reference is
measured alone. Client and nodes share the processors, as they do in tests.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.brokers import APACHE_VERSION
from benchmarks.figure import Figure
from checkers.history.columns import Ints
from checkers.history.history import History
from checkers.history.listeners import RETRY_PREFIX
from faults.plan import bind_fault
from harness import runfolder
from harness.errors import BackendUnavailable
from harness.run import run_scenario
from harness.scenario import SECOND, Scenario, Topology, Workload

APACHE = f"rocketmq:{APACHE_VERSION}"
TARGETS = (APACHE, "reference")
RATE, QUICK_RATE = 200, 40
ORDERED_RATE = 400
CLIENT = "java:4.9.8"
MEMBER = "client-3"
KILLED_AT_S = 12
MS = 1_000_000


def measure(quick: bool) -> Iterator[Figure]:
    """Figures of all targets that run here, Apache's first."""
    first: dict[str, float] = {}
    for target in TARGETS:
        try:
            yield from _of(target, quick, first)
        except BackendUnavailable as error:
            yield Figure(f"{target}: not measured", 0, "", note=error.what)


def _of(target: str, quick: bool, first: dict[str, float]) -> Iterator[Figure]:
    history = _ran(_push(quick), target)
    latency = _latencies_ns(history)
    values = {
        "delivery, median": (float(np.percentile(latency, 50)) / MS, "ms"),
        "delivery, 99th percentile": (float(np.percentile(latency, 99)) / MS, "ms"),
        "rebalance after a death": (_rebalance_ns(history) / MS, "ms"),
    }
    if not quick:
        values["orderly deliveries"] = (_per_second(_ran(_ordered(), target)), "messages/s")
    for name, (value, unit) in values.items():
        beside = first.get(name)
        first.setdefault(name, value)
        ratio = value / beside if beside else None
        yield Figure(f"{target}: {name}", value, unit, ratio, APACHE if ratio is not None else "")


def _push(quick: bool) -> Scenario:
    load = Workload(
        kind="push",
        producers=2,
        consumers=3,
        queues=6,
        rate_per_s=QUICK_RATE if quick else RATE,
        duration_ns=(KILLED_AT_S + 8) * SECOND,
    )
    killed = bind_fault(1, at=f"{KILLED_AT_S}s", do="kill", on="client(3)", hold="6s", options={})
    return Scenario("delivery", "single-master", Topology(brokers=1), load, (killed,), source="benchmark")


def _ordered() -> Scenario:
    load = Workload(
        kind="external-ordered",
        client=CLIENT,
        producers=2,
        consumers=2,
        queues=8,
        rate_per_s=ORDERED_RATE,
        duration_ns=20 * SECOND,
    )
    return Scenario("orderly", "single-master", Topology(brokers=1), load, source="benchmark")


def _ran(scenario: Scenario, target: str) -> History:
    with tempfile.TemporaryDirectory() as folder:
        result = run_scenario(scenario, backend="process", target=target, seed=1, out=Path(folder), keep="all")
        assert result.folder is not None
        return runfolder.load_history(result.folder)


def _latencies_ns(history: History) -> Ints:
    """Of messages that were given before anybody died; the members enter late, so those are new."""
    ops, reads = history.ops, history.reads
    sent = np.full(1 + int(ops.message.max()), -1, dtype=np.int64)
    produced = np.flatnonzero(ops.f.mask("produce"))
    sent[ops.message[produced]] = ops.invoke_ns[produced]
    rows = ops.rows(reads.op)
    given = np.flatnonzero(ops.f.mask("deliver")[rows] & (reads.message >= 0))
    message, begin = reads.message[given], ops.invoke_ns[rows[given]]
    entered = int(ops.invoke_ns[ops.f.mask("own")].min()) + 2 * SECOND
    known = (sent[message] > entered) & (begin < _died_ns(history))
    return begin[known] - sent[message[known]]


def _died_ns(history: History) -> int:
    events = history.events
    rows = np.flatnonzero(events.kind.mask("node") & events.node.mask(MEMBER) & events.step.mask("killed"))
    return int(events.ns[rows[0]])


def _rebalance_ns(history: History) -> int:
    """Until the last of the dead member's queues had another owner; retry topics have routes that are learned late."""
    ops, died = history.ops, _died_ns(history)
    owned = np.flatnonzero(ops.f.mask("own") & ops.node.mask(MEMBER) & (ops.invoke_ns < died) & (ops.complete_ns < 0))
    after = [
        int(ops.invoke_ns[(ops.f.mask("own") & (ops.queue == queue) & (ops.invoke_ns > died))].min())
        for queue in np.unique(ops.queue[owned]).tolist()
        if not history.queues.name(queue).startswith(RETRY_PREFIX)
    ]
    return max(after) - died


def _per_second(history: History) -> float:
    """Between the first delivery and the last send."""
    ops = history.ops
    begin = ops.invoke_ns[ops.f.mask("deliver")]
    end = int(ops.invoke_ns[ops.f.mask("produce")].max())
    whole = begin[begin <= end]
    return len(whole) / ((end - int(begin.min())) / 1e9)
