"""Planted bugs of the reference: each is found by the check that is meant to find it, and the honest twin is clean.

The same scenario and the same seeds run twice: with the defect, where some seed must be FAIL by the named check with a
sentence that names what is needed, and without it, where every seed must PASS. A run with a defect that does not show
itself may pass: a bug that needs luck to bite is still found within the seeds given here.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from checkers.verdict import Outcome, Verdict
from faults.plan import bind_fault
from harness.run import run_scenario
from harness.scenario import SECOND, Scenario, Topology, Workload
from reference_impl.defects import DEFECTS
from suites.unit.harness.tiny import CUT, KILL, tiny


@dataclass(frozen=True)
class Exhibit:
    """*kinds*: the anomalies that prove it; *words*: what a person must be told."""

    scenario: Scenario
    check: str
    kinds: tuple[str, ...]
    words: tuple[str, ...]
    seeds: range


BUSY_CUT = tiny(CUT, flush="sync", rate_per_s=400)
LONG_KILL = {"at": "2s", "do": "kill", "on": "master(broker-a)", "hold": "10s"}
ROUTES = tiny(LONG_KILL, brokers=2, kind="routes", rate_per_s=10, duration_ns=14 * SECOND)


def pair(*faults: tuple[str, str], file_bytes: int = 65536) -> Scenario:
    """A SYNC_MASTER with its slave, faults that strike together, log files that are small enough to roll."""
    return Scenario(
        name="pair",
        mode="multi-master-multi-slave-sync",
        topology=Topology(brokers=1, slaves=1, flush="sync"),
        workload=Workload(producers=2, consumers=1, queues=2, rate_per_s=100, duration_ns=8 * SECOND),
        faults=tuple(bind_fault(number, at="3s", do=do, on=on, hold="2s") for number, (do, on) in enumerate(faults, 1)),
        properties={"broker": {"mappedFileSizeCommitLog": str(file_bytes)}},
    )


ADOPTED = ("adopt_slave", "master(broker-a)")
ADOPTION_LOST = ("acknowledged", "adopt_slave", "broker-a", "SEND_OK")
STUCK = ("broker-a-1", "the slave has not got these")

EXHIBITS = {
    "ack-before-replication": Exhibit(pair(ADOPTED), "accounting", ("lost",), ADOPTION_LOST, range(4)),
    "slave-acks-in-memory": Exhibit(
        pair(ADOPTED, ("kill", "slave(broker-a)")), "accounting", ("lost",), ADOPTION_LOST, range(4)
    ),
    "ha-start-from-acked": Exhibit(
        pair(("wipe", "slave(broker-a)"), file_bytes=1 << 20), "replicas", ("replica-missing",), STUCK, range(2)
    ),
    "ha-skips-file-tail": Exhibit(pair(("kill", "slave(broker-a)")), "replicas", ("replica-missing",), STUCK, range(2)),
    "ack-before-fsync": Exhibit(BUSY_CUT, "accounting", ("lost",), ("acknowledged", "cut_power", "broker-a"), range(6)),
    "skip-last-record": Exhibit(tiny(KILL), "accounting", ("lost",), ("acknowledged", "kill", "SEND_OK"), range(4)),
    "reuse-offset": Exhibit(
        tiny(KILL), "log", ("two-values-one-offset",), ("holds two different messages", "chaos/broker-a/"), range(4)
    ),
    "namesrv-never-expires": Exhibit(
        ROUTES, "routes", ("stale-route",), ("namesrv-1", "still listed broker-a"), range(2)
    ),
}


def verdict_of(name: str, seed: int, *defects: str) -> Verdict:
    exhibit = EXHIBITS[name]
    result = run_scenario(exhibit.scenario, seed=seed, keep="none", defects=defects)
    return next(verdict for verdict in result.verdicts if verdict.check == exhibit.check)


def test_every_planted_bug_is_an_exhibit():
    assert set(EXHIBITS) == set(DEFECTS)


@pytest.mark.parametrize("name", EXHIBITS)
def test_a_planted_bug_is_found_by_its_check_with_a_sentence(name):
    exhibit = EXHIBITS[name]
    verdicts = [verdict_of(name, seed, name) for seed in exhibit.seeds]
    found = [anomaly for verdict in verdicts for anomaly in verdict.anomalies if not anomaly.allowed]
    assert Outcome.FAIL in {verdict.outcome for verdict in verdicts}
    proofs = [anomaly for anomaly in found if anomaly.kind in exhibit.kinds]
    assert proofs, {anomaly.kind for anomaly in found}
    assert proofs[0].ops
    for word in exhibit.words:
        assert word in proofs[0].sentence


@pytest.mark.parametrize("name", EXHIBITS)
def test_the_honest_twin_passes_every_check(name):
    exhibit = EXHIBITS[name]
    for seed in exhibit.seeds:
        result = run_scenario(exhibit.scenario, seed=seed, keep="none")
        assert result.outcome is Outcome.PASS, [v.to_json() for v in result.verdicts if v.outcome]
