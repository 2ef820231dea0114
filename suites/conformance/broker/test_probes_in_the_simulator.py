"""Every probe against the reference broker in the simulator, each on a cluster of its own."""

from __future__ import annotations

import pytest

from suites.conformance.broker.backend_peer import simulated
from suites.conformance.broker.peer import create_topic, drained, send
from suites.conformance.broker.probes import PROBES, Probe


@pytest.mark.parametrize("probe", PROBES, ids=str)
def test_probe(probe: Probe) -> None:
    probe.run(simulated())


@pytest.mark.parametrize("seed", [1, 2])
def test_probes_do_not_disturb_each_other(seed: int) -> None:
    peer = simulated(seed)
    for probe in PROBES:
        probe.run(peer)


@pytest.mark.parametrize(("properties", "code"), [("", 11), ("WAIT\x01false", 0)])
def test_probe_45_a_sync_master_without_slave_stores_and_says_so_at_once(properties: str, code: int) -> None:
    peer = simulated(brokerRole="SYNC_MASTER")
    create_topic(peer, "T45")
    before_ns = peer.backend.now()
    found = send(peer, "T45", b"alone", properties)
    assert found.code == code
    assert peer.backend.now() - before_ns < 1_000_000_000
    assert int(found.fields["queueOffset"]) == 0
    assert [message.body for message in drained(peer, "T45", 1)] == [b"alone"]
