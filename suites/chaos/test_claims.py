"""What the documents guarantee, shown by the scenarios that come with the project: the verdict, and the claim itself.

A verdict says that no guarantee was broken. Whether the run *showed* what its claim says is asserted here, on its
history: who was listed, who was served, where messages went, how long it took.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History
from harness.backends.table import BACKENDS
from harness.run import RunResult
from suites.chaos.came_out import came_out

pytestmark = pytest.mark.chaos

MS, SECOND = 1_000_000, 1_000_000_000
SLACK_NS = 3 * SECOND

OVERLOADED = ("SYSTEM_BUSY", "TIMEOUT")
"""What living brokers may say on a machine that is too busy for them; producers do not try again after SYSTEM_BUSY."""


@dataclass(frozen=True)
class Shown:
    """A run that passed, with what it is made of."""

    result: RunResult
    history: History
    facts: RunFacts

    @property
    def fault(self) -> FaultFact:
        return self.facts.faults[0]

    def rows(self, *fs: str, outcome: str = "") -> list[int]:
        ops = self.history.ops
        mask = ops.f.mask(*fs)
        return np.flatnonzero(mask & ops.outcome.mask(outcome) if outcome else mask).tolist()

    def notes(self, step: str) -> list[tuple[str, int, dict]]:
        events = self.history.events
        rows = np.flatnonzero(events.kind.mask("note") & events.step.mask(step)).tolist()
        return [(events.node[row], int(events.ns[row]), json.loads(events.detail[row] or "{}")) for row in rows]

    def measure(self, check: str, name: str):
        return next(v.measures[name] for v in self.result.verdicts if v.check == check)


@pytest.fixture
def show(chaos_run) -> Callable[[str], Shown]:
    """Run a scenario that must pass, every fault of which must have bitten."""
    return lambda name: Shown(*came_out(chaos_run(name)))


def listed(shown: Shown, server: str) -> list[tuple[int, frozenset[str]]]:
    """(when it was asked, broker names with a master) of every answer of *server*."""
    ops = shown.history.ops
    rows = [row for row in shown.rows("route", outcome="ok") if ops.node[row] == server]
    return [
        (int(ops.invoke_ns[row]), frozenset(b for b, one in json.loads(ops.detail[row]).items() if 0 in one["ids"]))
        for row in rows
    ]


def left_after_ns(shown: Shown, server: str, broker: str, fault: FaultFact) -> int:
    """From the fault to the first answer without the broker, while it lasted; −1: there is none."""
    asked = [ns for ns, names in listed(shown, server) if fault.inject_ns < ns < fault.heal_ns and broker not in names]
    return min(asked) - fault.inject_ns if asked else -1


def test_cl_01_nameservers_do_not_talk_to_each_other(show):
    shown = show("nameserver-cut-from-broker")
    assert 90 * SECOND - SLACK_NS < left_after_ns(shown, "namesrv-1", "broker-a", shown.fault) < 130 * SECOND + SLACK_NS
    for server in ("namesrv-2", "namesrv-3"):
        views = listed(shown, server)
        assert len(views) > 100
        assert {names for _, names in views} == {frozenset({"broker-a", "broker-b"})}
    assert listed(shown, "namesrv-1")[-1][1] == {"broker-a", "broker-b"}, "and it learns it again after the heal"


def test_cl_02_any_nameserver_may_die(show):
    shown = show("nameservers-die-in-turn")
    ops = shown.history.ops
    produced = shown.rows("produce")
    assert len(produced) > 1000
    assert_served(Counter(ops.status[row] for row in produced))
    ((_, joined_ns, _),) = shown.notes("joins")
    assert all(fault.inject_ns < joined_ns < fault.heal_ns for fault in shown.facts.faults), "two are dead by then"


def assert_served(said: Counter[str]) -> None:
    """Applications were told SEND_OK, but for what an overloaded machine may do."""
    assert set(said) - {*OVERLOADED} == {"SEND_OK"}
    assert said["SEND_OK"] > 0.95 * said.total()


def test_cl_03_a_silent_broker_stays_for_two_minutes_a_dead_one_leaves_at_once(show):
    shown = show("silent-broker-expires")
    pause, kill = shown.facts.faults
    for server in ("namesrv-1", "namesrv-2"):
        assert 90 * SECOND - SLACK_NS < left_after_ns(shown, server, "broker-a", pause) < 130 * SECOND + SLACK_NS
        assert 0 <= left_after_ns(shown, server, "broker-b", kill) < SLACK_NS


def test_cl_04_what_a_client_knows_may_be_thirty_seconds_old(show):
    shown = show("routes-of-clients-are-old")
    (node,) = shown.fault.left
    dead = node.rpartition("-")[0]
    learned: dict[str, int] = {}
    for client, ns, detail in shown.notes("routes"):
        if ns > shown.fault.inject_ns and dead not in detail["brokers"]:
            learned.setdefault(client, ns - shown.fault.inject_ns)
    assert len(learned) >= 7, "all producers but perhaps the one that joins later"
    assert max(learned.values()) < 30 * SECOND + SLACK_NS
    assert max(learned.values()) > SECOND, "nobody tells them"
    assert max(learned.values()) - min(learned.values()) > 5 * SECOND, "each asks in its own time"


def test_cl_05_without_nameservers_those_who_know_go_on_and_nobody_can_join(show):
    shown = show("all-nameservers-dead")
    ops = shown.history.ops
    ((_, joined_ns, _),) = shown.notes("joins")
    assert shown.fault.inject_ns < joined_ns < shown.fault.heal_ns
    while_dead = [
        row for row in shown.rows("produce") if shown.fault.inject_ns < ops.invoke_ns[row] < shown.fault.heal_ns
    ]
    said = Counter(ops.status[row] for row in while_dead)
    assert set(said) - {*OVERLOADED} == {"SEND_OK", "NO_ROUTE"}
    unlucky = {int(ops.process[row]) for row in shown.rows("produce") if ops.status[row] == "NO_ROUTE"}
    lucky = {int(ops.process[row]) for row in while_dead if ops.status[row] == "SEND_OK"}
    assert not unlucky & lucky, "the newcomer never succeeds, the others always do"
    after = [row for row in shown.rows("produce", outcome="ok") if int(ops.process[row]) in unlucky]
    assert after, "with the NameServers back the newcomer sends, too"
    assert min(ops.invoke_ns[after]) > shown.fault.heal_ns
    (_, dead_ns, nobody), (_, alive_ns, somebody) = shown.notes("new_topic")
    assert dead_ns < shown.fault.heal_ns < alive_ns
    assert nobody["status"] != "OK", "a running client finds no broker for a new topic either"
    assert somebody["status"] == "OK"


def by_queue(shown: Shown, begin_ns: int, end_ns: int) -> Counter[int]:
    ops = shown.history.ops
    rows = [row for row in shown.rows("send", outcome="ok") if begin_ns <= ops.invoke_ns[row] < end_ns]
    return Counter(int(ops.queue[row]) for row in rows)


def test_cl_11_messages_spread_over_the_queues_of_all_brokers(show):
    shown = show("messages-spread-over-brokers")
    calm = by_queue(shown, 0, shown.fault.begin_ns)
    assert len(calm) == 8, "four queues on each of two brokers"
    assert min(calm.values()) > 0.8 * max(calm.values())
    queues = shown.history.queues
    alone = by_queue(shown, shown.fault.inject_ns, shown.fault.heal_ns)
    assert {queues.broker_of(queue) for queue in alone} == {"broker-b"}
    last = max(int(shown.history.ops.invoke_ns[row]) for row in shown.rows("produce"))
    again = by_queue(shown, last - 5 * SECOND, last)
    assert len(again) == 8, "everybody has found the way back"
    assert min(again.values()) > 0.6 * max(again.values())


def test_cl_32_senders_retry_and_go_on_with_the_other_broker(show):
    shown = show("messages-spread-over-brokers")
    ops = shown.history.ops
    assert_served(Counter(ops.status[row] for row in shown.rows("produce")))
    failed = [row for row in shown.rows("send") if ops.outcome[row] != "ok" and ops.status[row] not in OVERLOADED]
    assert failed, "but attempts did fail"
    assert {ops.node[row] for row in failed} == {"broker-a"}
    attempts = {json.loads(ops.detail[row])["attempts"] for row in shown.rows("produce", outcome="ok")}
    assert attempts == {1, 2}


@pytest.mark.parametrize("name", ["single-master-kill", "single-master-sync-kill"])
def test_cl_31_with_its_only_broker_down_nobody_sends_or_reads(show, name):
    shown = show(name)
    ops = shown.history.ops
    for f in ("send", "pull"):
        down = [r for r in shown.rows(f) if shown.fault.inject_ns < ops.invoke_ns[r] < shown.fault.heal_ns]
        assert len(down) > 10
        assert "ok" not in {ops.outcome[row] for row in down}
    assert shown.measure("accounting", "lost") == 0


def test_cl_33_and_34_unread_messages_wait_and_new_ones_are_not_affected(show):
    shown = show("multi-master-kill")
    history, ops = shown.history, shown.history.ops
    (node,) = shown.fault.left
    dead = node.rpartition("-")[0]
    sent = {int(ops.message[r]): r for r in shown.rows("send", outcome="ok")}
    first_read: dict[int, int] = {}
    for op, message in zip(history.reads.op.tolist(), history.reads.message.tolist(), strict=True):
        row = int(ops.rows(np.array([op]))[0])
        if message >= 0 and ops.f[row] in ("pull", "drain"):
            first_read[message] = min(first_read.get(message, 2**62), int(ops.complete_ns[row]))
    assert set(sent) <= set(first_read), "everything acknowledged was read in the end"
    others = [
        first_read[message] - int(ops.invoke_ns[row])
        for message, row in sent.items()
        if ops.node[row] != dead and shown.fault.inject_ns < ops.invoke_ns[row] < shown.fault.heal_ns
    ]
    assert len(others) > 100
    assert sorted(others)[len(others) // 2] < SECOND, "those sent to living brokers arrive as ever"


def test_cl_33_a_power_cut_takes_only_the_tail_of_the_broker_it_hit(show):
    shown = show("multi-master-power-cut")
    dead = shown.fault.left[0].rpartition("-")[0]
    by_queue = shown.measure("accounting", "by_queue")
    losers = [name for name, counts in by_queue.items() if counts["lost"]]
    assert all(f"/{dead}/" in name for name in losers)


@pytest.mark.parametrize(("name", "least"), [("single-master-async-power-cut", 9), ("single-master-sync-power-cut", 0)])
def test_cl_36_and_37_what_a_power_cut_takes(chaos_run, backend, name, least):
    """Asynchronous flush loses the tail in nearly every power cut, synchronous flush never. On real disks: one each."""
    seeds = range(10) if BACKENDS[backend].runs_at_once else range(1)
    results = [chaos_run(name, seed=seed) for seed in seeds]
    accounting = [next(v for v in result.verdicts if v.check == "accounting") for result in results]
    losing = sum(verdict.measures["lost"] > 0 for verdict in accounting)
    if least == 0:
        assert losing == 0
    else:
        assert losing >= least * len(results) // 10
    assert all(verdict.measures["lost"] == verdict.measures["lost_allowed"] for verdict in accounting)
