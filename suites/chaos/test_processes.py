"""Real processes on real disks: what a kill and a power cut take from the reference and from Apache's own brokers.

Question: are the three statements that everything else here hangs on true outside the simulator, too?

    kill                       loses nothing acknowledged, whatever the flush type: the page cache survives
    power cut, ASYNC_FLUSH     loses the end of the log and nothing before it, no older than the flush rules allow
    power cut, SYNC_FLUSH      loses nothing acknowledged
    either power cut           takes the young topic with it: its messages are unreachable until it is created again
                               (from 5.4 on it does not)

Model. Each node is a process in a network namespace with an ext4 of its own; short loads, one fault each. What the
verdict says is looked at again here, on the history: which messages were acknowledged, and which the drain found.

Limits. Needs root, and Java for Apache's brokers. One run a cell; ``docs/findings.md`` has the figures of many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from _pytest.mark.structures import ParameterSet

from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History
from checkers.history.ledger import OK, Ledger, ledger_of
from checkers.verdict import Anomaly
from harness import runfolder
from harness.run import RunResult
from harness.targets.releases import row_of
from harness.worlds import versions_in
from suites.minutes import needs_minutes

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.slow,
    pytest.mark.on("process"),
    pytest.mark.requires("root", "process:power"),
]

ENOUGH = 20
"""Of some 1,600 messages that are due before the fault: a JVM that has just started on a busy machine is slow."""

SCENARIO = """\
name: {name}
mode: single-master
topology: {{flush: {flush}}}
workload: {{producers: 2, consumers: 1, queues: 4, rate: 400/s, for: 5s}}
faults:
  - {{at: 4s, do: {fault}, on: master(broker-a), for: 500ms}}
properties: {{broker: {{{properties}}}}}
"""

CUTS_MAX = 3
"""A cut that falls into a flush takes nothing: the process stands still only when its msync is over."""

REFERENCE, OLDER, NEWER = "reference", "rocketmq:4.9.7", "rocketmq:5.3.3"
java = pytest.mark.requires("java")


def asked(*values: str) -> ParameterSet:
    """In every run of the tests."""
    return pytest.param(*values, marks=[java])


def asked_at_leisure(*values: str) -> ParameterSet:
    return needs_minutes(*values, marks=[java])


@dataclass(frozen=True)
class Seen:
    """A run that passed and whose fault bit."""

    result: RunResult
    history: History
    fault: FaultFact
    ledger: Ledger

    def measure(self, name: str) -> int:
        return next(int(v.measures[name]) for v in self.result.verdicts if v.check == "accounting")

    def anomalies(self, kind: str) -> list[Anomaly]:
        return [a for verdict in self.result.verdicts for a in verdict.anomalies if a.kind == kind]

    def acknowledged(self, *, before: bool) -> np.ndarray:
        """Numbers of messages with SEND_OK that were sent before the fault was done, or after its heal."""
        invoked = self.history.ops.invoke_ns[self.ledger.row]
        when = invoked < self.fault.inject_ns if before else invoked > self.fault.heal_ns
        return np.flatnonzero((self.ledger.outcome == OK) & when)


@pytest.fixture
def run(chaos_run: Callable[..., RunResult], tmp_path: Path) -> Callable[..., Seen]:
    def seen(target: str, fault: str, flush: str, properties: str = "") -> Seen:
        path = tmp_path / "scenario.yaml"
        path.write_text(
            SCENARIO.format(name=f"{fault}-{flush}".replace("_", "-"), fault=fault, flush=flush, properties=properties)
        )
        result = chaos_run(path, target=target)
        assert result.folder is not None
        history = runfolder.load_history(result.folder)
        (the_fault,) = RunFacts.from_run(runfolder.read_run(result.folder), history).faults
        assert the_fault.effective == 1
        return Seen(result, history, the_fault, ledger_of(history))

    return seen


@pytest.mark.parametrize(
    ("target", "flush"),
    [
        (REFERENCE, "async"),
        (REFERENCE, "sync"),
        asked(OLDER, "async"),
        asked(NEWER, "sync"),
        asked_at_leisure(OLDER, "sync"),
        asked_at_leisure(NEWER, "async"),
    ],
)
def test_a_kill_loses_nothing(run: Callable[..., Seen], target: str, flush: str) -> None:
    seen = run(target, "kill", flush)
    before = seen.acknowledged(before=True)
    assert len(before) > ENOUGH
    assert seen.ledger.drained[before].all()
    assert len(seen.acknowledged(before=False)) > 0, "and it serves again"
    assert seen.measure("lost") == seen.measure("unreachable") == 0


@pytest.mark.parametrize("target", [REFERENCE, asked(OLDER), asked_at_leisure(NEWER)])
def test_a_power_cut_with_asynchronous_flush_loses_the_end_of_the_log(run: Callable[..., Seen], target: str) -> None:
    seen = next(filter(loses, (run(target, "cut_power", "async") for _ in range(CUTS_MAX))), None)
    assert seen is not None, "something was lost"
    before = seen.acknowledged(before=True)
    is_there = seen.ledger.drained[before]
    position = seen.ledger.position[before]
    assert (position >= 0).all()
    assert position[is_there].max(initial=-1) < position[~is_there].min(), "the end of the log, and nothing before it"
    (allowed,) = seen.anomalies("lost")
    assert seen.measure("lost") == seen.measure("lost_allowed") == allowed.details["count"] == (~is_there).sum()
    assert allowed.details["broker"] == "broker-a"
    assert seen.measure("oldest_lost_age_ms") < 500 + 3_000, "the flush interval, and what a busy machine adds"


def loses(seen: Seen) -> bool:
    assert_unreachable_until_created_again(seen)
    return seen.measure("lost") > 0


@pytest.mark.parametrize("target", [REFERENCE, asked(NEWER), asked_at_leisure(OLDER)])
def test_a_power_cut_with_synchronous_flush_loses_nothing_but_the_topic(run: Callable[..., Seen], target: str) -> None:
    seen = run(target, "cut_power", "sync")
    before = seen.acknowledged(before=True)
    assert len(before) > ENOUGH
    assert seen.ledger.drained[before].all()
    assert seen.measure("lost") == 0
    assert_unreachable_until_created_again(seen)


def assert_unreachable_until_created_again(seen: Seen) -> None:
    """Pulls said that the topic does not exist; the operator created it; then pulls found what had been there. Where
    tables are forced the topic is still there."""
    if any(row_of(version).forces_tables for version in versions_in(seen.result.target)):
        assert seen.anomalies("unreachable") == []
        return
    (unreachable,) = seen.anomalies("unreachable")
    assert unreachable.details["node"] == "broker-a-0"
    assert unreachable.allowed
    ops = seen.history.ops
    refused = ops.invoke_ns[ops.status.mask("TOPIC_NOT_EXIST") & ops.f.mask("pull")]
    created = ops.invoke_ns[ops.f.mask("create_topic") & ops.outcome.mask("ok")]
    assert len(refused)
    assert seen.fault.inject_ns < refused.min() < created.max(), "created at the start, and again"
    assert ops.invoke_ns[ops.f.mask("pull") & ops.outcome.mask("ok")].max() > created.max()


def test_the_strict_reference_keeps_its_topic(run: Callable[..., Seen]) -> None:
    """The control: where topics are forced to the disk before anybody is told, the same cut leaves them reachable."""
    seen = run("reference", "cut_power", "sync", properties="metadataSync: true")
    assert seen.ledger.drained[seen.acknowledged(before=True)].all()
    assert seen.measure("lost") == seen.measure("unreachable") == 0
    assert not seen.history.ops.status.mask("TOPIC_NOT_EXIST").any()
