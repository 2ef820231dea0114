"""Small scenarios for tests of the life cycle: two simulated seconds of load, a fault or none."""

from __future__ import annotations

from dataclasses import replace

from faults.plan import bind_fault
from harness.scenario import SECOND, Scenario, Topology, Workload


def tiny(*faults: dict, flush: str = "async", brokers: int = 1, **load) -> Scenario:
    """*faults* as in a scenario file; *load* replaces what the load has here."""
    workload = Workload(producers=2, consumers=2, queues=2, rate_per_s=50, duration_ns=2 * SECOND)
    return Scenario(
        name="tiny",
        mode="single-master" if brokers == 1 else "multi-master",
        topology=Topology(brokers=brokers, flush=flush),
        workload=replace(workload, **load),
        faults=tuple(bind_fault(number, **fault) for number, fault in enumerate(faults, 1)),
    )


KILL = {"at": "500ms", "do": "kill", "on": "master(broker-a)", "hold": "500ms"}
CUT = {"at": "1s", "do": "cut_power", "on": "master(broker-a)", "hold": "300ms"}
