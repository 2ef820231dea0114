"""Loads of client guarantees: each reaches what its check is about while its clients and a broker die."""

from __future__ import annotations

import pytest

from checkers.verdict import Outcome, Verdict
from faults.plan import bind_fault
from harness.run import run_scenario
from harness.scenario import SECOND, Scenario, Topology, Workload, find
from harness.scenario_file import load
from harness.workloads.table import LOADS

KILLS = (("3s", "client(4)", "2s"), ("4s", "client(1)", "2s"), ("6s", "master(broker-a)", "3s"))
SHOWN = {
    "push": ("owners", {"ownerships": 10}),
    "push-levels": ("delays", {"delayed": 200, "delivered": 200, "delays": 18}),
    "push-timers": ("delays", {"delayed": 200, "delivered": 200, "delays": 6}),
    "push-retries": ("retries", {"refused": 20, "retried": 20, "dead": 5, "times_max": 2}),
    "push-ordered": ("order", {"keys": 16, "messages": 300}),
    "push-tags": ("filters", {"given": 200}),
    "push-sql": ("filters", {"given": 150}),
    "broadcast": ("broadcasts", {"promised": 300, "members": 3}),
    "transactions": ("transactions", {"transactions": 200, "committed": 130, "shown": 130, "asked": 30}),
    "requests": ("replies", {"requests": 300, "answered": 200, "handed_over": 200}),
    "locks": ("locks", {"granted": 20, "refused": 50}),
}
"""Load → its check, and what that must have measured at least."""


def ran(kind: str) -> list[Verdict]:
    faults = tuple(
        bind_fault(number, at=at, do="kill", on=on, hold=hold, options={})
        for number, (at, on, hold) in enumerate(KILLS, 1)
    )
    workload = Workload(kind=kind, producers=2, consumers=3, queues=2, rate_per_s=50, duration_ns=12 * SECOND)
    properties = {"broker": LOADS[kind].broker} if LOADS[kind].broker else {}
    scenario = Scenario(f"loads-{kind}", "multi-master", Topology(brokers=2), workload, faults, properties)
    result = run_scenario(scenario, seed=1, keep="none")
    assert result.outcome is Outcome.PASS, [verdict.to_json() for verdict in result.verdicts if verdict.outcome]
    return list(result.verdicts)


@pytest.mark.parametrize("kind", SHOWN)
def test_a_load_shows_what_its_check_is_about(kind: str) -> None:
    check, least = SHOWN[kind]
    measures = next(verdict.measures for verdict in ran(kind) if verdict.check == check)
    assert {name: measures[name] for name in least if measures[name] < least[name]} == {}


@pytest.mark.parametrize(
    "name", ["zombie-member-returns", "rebalance-storm", "transactions-producer-dies", "orderly-members-come-and-go"]
)
def test_scenarios_of_clients_hold(name: str) -> None:
    result = run_scenario(load(find(name)), seed=1, keep="none")
    assert result.outcome is Outcome.PASS, [verdict.to_json() for verdict in result.verdicts if verdict.outcome]


def test_a_zombie_was_a_member_before_it_was_frozen_and_its_queues_were_taken_over() -> None:
    """It is frozen for longer than its broker keeps its connection."""
    result = run_scenario(load(find("zombie-member-returns")), seed=1, keep="none")
    measures = next(verdict.measures for verdict in result.verdicts if verdict.check == "owners")
    assert measures["two_owners_max_ms"] > 5_000
