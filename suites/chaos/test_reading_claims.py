"""What the documents guarantee to those who read, shown by scenarios: the verdict, and the claim itself.

One run a scenario. Where brokers of 5.3 do otherwise than those of 4.9 (and the reference), both are said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from checkers.history.cluster import Cluster
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.groups import LOOKED_AT
from checkers.history.history import History
from faults.plan import bind_fault
from harness.run import RunResult
from harness.scenario import Scenario, Topology, Workload
from harness.targets.releases import row_of
from suites.chaos.came_out import came_out

pytestmark = pytest.mark.chaos

SECOND = 1_000_000_000
ROUTES_NS = 8 * SECOND
"""Members of a group ask for routes every 5 s, and their connections have to break first."""


MASTER_AWAY = Scenario(
    name="master-away",
    mode="multi-master-multi-slave-async",
    topology=Topology(brokers=1, slaves=1),
    workload=Workload(producers=2, consumers=2, queues=2, rate_per_s=40, duration_ns=30 * SECOND),
    faults=(bind_fault(1, at="12s", do="kill", on="master(broker-a)", hold="6s"),),
)


def broker_id(node: str) -> int:
    """As nodes of the harness are named."""
    return Cluster().member(node).broker_id


@dataclass(frozen=True)
class Shown:
    """A run that passed, with what it is made of."""

    result: RunResult
    history: History
    facts: RunFacts

    @property
    def slave_is_4(self) -> bool:
        """Whether the slaves behave as those of 4.x."""
        return row_of(self.facts.cluster.release_of("broker-a-1")).is_4

    def fault(self, kind: str) -> FaultFact:
        return next(fault for fault in self.facts.faults if fault.kind == kind)

    def measure(self, check: str, name: str):
        return next(v.measures[name] for v in self.result.verdicts if v.check == check)

    def pulls(self, *statuses: str, slaves: bool | None = None, group: str = "") -> list[int]:
        """Rows of pulls that were answered so, of slaves or of masters only if it is said."""
        ops = self.history.ops
        mask = ops.f.mask("pull") & ops.status.mask(*(statuses or LOOKED_AT))
        mask = mask & ops.group.mask(group) if group else mask
        rows = np.flatnonzero(mask).tolist()
        return [row for row in rows if slaves is None or (broker_id(ops.node[row]) > 0) == slaves]

    def within(self, rows: list[int], begin_ns: int, end_ns: int) -> list[int]:
        ops = self.history.ops
        return [row for row in rows if begin_ns <= ops.invoke_ns[row] < end_ns]

    def answers(self, f: str, begin_ns: int = 0, end_ns: int = 2**62) -> Counter[str]:
        ops = self.history.ops
        rows = self.within(np.flatnonzero(ops.f.mask(f)).tolist(), begin_ns, end_ns)
        return Counter(ops.status[row] for row in rows)

    def read(self, rows: list[int]) -> int:
        return int(self.history.ops.count[rows].sum()) if rows else 0


@pytest.fixture
def show(chaos_run) -> Callable[[str | Scenario], Shown]:
    """Run a scenario that must pass, every fault of which must have bitten."""
    return lambda name: Shown(*came_out(chaos_run(name)))


def assert_refused(shown: Shown, at_least: int) -> None:
    """No slave took anything that was sent to it, and it said so as its release does."""
    said = shown.answers("stray_send")
    refusal = "SERVICE_NOT_AVAILABLE" if shown.slave_is_4 else "SYSTEM_BUSY"
    transport = {"CONNECT_FAILED", "CONNECTION_CLOSED", "TIMEOUT"}
    assert set(said) - transport <= {refusal, "TOPIC_NOT_EXIST"}, "4.9 looks for the topic first"
    assert said[refusal] >= at_least
    strays = shown.history.ops.message[shown.history.ops.f.mask("stray_send")]
    assert not np.isin(shown.history.reads.message, strays).any(), "nothing of it is anywhere, on masters or slaves"


def test_cl_10_a_slave_refuses_what_is_sent_to_it(show):
    shown = show("slave-refuses-sends")
    assert_refused(shown, 5)
    assert set(shown.answers("send")) == {"SEND_OK"}, "while its master takes everything"


def test_cl_11_messages_spread_over_all_masters_of_a_cluster_with_slaves(show):
    shown = show("messages-spread-over-pairs")
    ops, queues, kill = shown.history.ops, shown.history.queues, shown.fault("kill")

    def spread(begin_ns: int, end_ns: int) -> Counter[int]:
        rows = shown.within(np.flatnonzero(ops.f.mask("send") & ops.outcome.mask("ok")).tolist(), begin_ns, end_ns)
        return Counter(int(ops.queue[row]) for row in rows)

    calm = spread(0, kill.begin_ns)
    assert len(calm) == 8, "four queues on each of two masters"
    assert min(calm.values()) > 0.7 * max(calm.values())
    alone = spread(kill.inject_ns, kill.heal_ns)
    assert {queues.broker_of(queue) for queue in alone} == {"broker-b"}, "the slave of broker-a takes none"
    last_ns = max(int(ops.invoke_ns[row]) for row in np.flatnonzero(ops.f.mask("produce")).tolist())
    again = spread(last_ns - 5 * SECOND, last_ns)
    assert len(again) == 8, "everybody has found the way back"


def test_cl_12_and_15_the_master_is_asked_first_and_slaves_only_copy(show):
    shown = show("master-is-read-first")
    ops = shown.history.ops
    asked = np.flatnonzero(ops.f.mask("pull")).tolist()
    assert len(asked) > 200
    assert {broker_id(ops.node[row]) for row in asked} == {0}, "no slave is asked"
    assert {int(ops.suggested[row]) for row in shown.pulls()} == {0}, "every answer names the master"
    assert shown.measure("replicas", "same") >= 800, "but the slaves have it all"


def test_cl_13_and_14_who_is_far_behind_is_sent_to_the_slave_however_far_that_is(show):
    shown = show("suggested-slave-lags")
    ops, cut = shown.history.ops, shown.fault("partition")
    assert {int(ops.suggested[row]) for row in shown.pulls("FOUND")} == {1}, "who gets something is behind"
    assert {int(ops.suggested[row]) for row in shown.pulls("PULL_NOT_FOUND")} == {0}, "who gets nothing is not"
    assert shown.read(shown.pulls("FOUND", slaves=True)) > shown.read(shown.pulls("FOUND", slaves=False))
    first = [next(row for row in shown.pulls(group=group)) for group in ("readers", "newcomers")]
    assert {broker_id(ops.node[row]) for row in first} == {0}, "the first pull is the master's"
    lagging = shown.within(shown.pulls("FOUND", slaves=False), cut.inject_ns, cut.heal_ns)
    assert lagging, "while the slave lags its master gives what the slave has not got"
    assert {int(ops.suggested[row]) for row in lagging} == {1}, "and suggests the slave all the same"
    back = shown.within(shown.pulls("PULL_RETRY_IMMEDIATELY", slaves=True), cut.inject_ns, cut.heal_ns + 5 * SECOND)
    assert back, "which sends the reader back"
    assert {int(ops.suggested[row]) for row in back} == {0}


def test_cl_13_without_slave_read_enable_nobody_is_sent_to_the_slave(show):
    shown = show("far-behind-stays-at-master")
    ops = shown.history.ops
    assert {int(ops.suggested[row]) for row in shown.pulls()} == {0}
    assert not shown.pulls(slaves=True)
    assert max(int(ops.count[row]) for row in shown.pulls("FOUND")) == 8, "what is read counts as not in memory"


@pytest.mark.parametrize("mode", ["async", "sync"])
def test_cl_27_and_38_reads_go_on_from_the_slave_complete_if_it_is_synchronous(show, mode):
    shown = show(f"{mode}-master-killed-while-read")
    kill = shown.fault("kill")
    down = (kill.inject_ns, kill.heal_ns)
    assert not {"SEND_OK", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE"} & set(shown.answers("send", *down))
    got = shown.read(shown.within(shown.pulls("FOUND", slaves=True, group="newcomers"), *down))
    assert got > 1000, "a group that begins now reads everything there is from the slave"
    lacked = shown.measure("freshness", "promised_behind_max")
    if mode == "sync":
        assert lacked == 0
    else:
        assert lacked > 10, "what was acknowledged after the link had broken"
    assert shown.measure("deliveries", "promised") == shown.measure("deliveries", "delivered"), "in the end all came"


def test_cl_38_every_reader_goes_to_the_slave_and_back(show):
    """The measuring readers of the log load, too, which know no routes."""
    shown = show(MASTER_AWAY)
    kill = shown.fault("kill")
    while_away = shown.within(shown.pulls("FOUND", "PULL_NOT_FOUND", slaves=True), kill.inject_ns, kill.heal_ns)
    assert len(while_away) > 10
    assert shown.within(shown.pulls("FOUND", slaves=False), kill.heal_ns + 5 * SECOND, 2**62)


def test_cl_38_without_slave_read_enable_4_9_reads_from_its_slave_and_5_3_does_not(show):
    shown = show("master-killed-slaves-not-readable")
    kill = shown.fault("kill")
    ops = shown.history.ops
    rows = np.flatnonzero(ops.f.mask("pull")).tolist()
    asked = shown.within(rows, kill.inject_ns + ROUTES_NS, kill.heal_ns)
    of_slave = [row for row in asked if broker_id(ops.node[row]) > 0]
    assert of_slave, "the routes name only the slave"
    if shown.slave_is_4:
        assert shown.read([row for row in of_slave if ops.status[row] == "FOUND"]) > 500
    else:
        assert {ops.status[row] for row in of_slave} == {"SYSTEM_BUSY"}
    assert "SEND_OK" not in shown.answers("send", kill.inject_ns, kill.heal_ns)


def test_cl_40_only_the_master_is_written_and_the_slave_is_read_only_without_it(show):
    shown = show("master-writes-slave-reads")
    ops, stop = shown.history.ops, shown.fault("stop")
    assert_refused(shown, 50)
    of_slave = [row for row in np.flatnonzero(ops.f.mask("pull")).tolist() if broker_id(ops.node[row]) > 0]
    assert of_slave
    assert not shown.within(of_slave, 0, stop.begin_ns), "before its master was away nobody asked it"
    # Who was told of the master's return asks it again; a broker that was started is registered at once.
    assert not shown.within(of_slave, stop.heal_ns + 30 * SECOND, 2**62)
    assert "SEND_OK" not in shown.answers("send", stop.inject_ns, stop.heal_ns)
