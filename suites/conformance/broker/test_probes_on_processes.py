"""The probes over real TCP against real processes: the reference, or with ``--target`` Apache's own broker.

One cluster for all of them, on loopback, since the probes do not disturb each other. With ``--target rocketmq:4.9.7``
every probe is put, also those that need minutes; else those that the reference answers within seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.journal import HealJournal
from harness.backends.process import ProcessBackend
from harness.worlds import open_target
from suites.conformance.broker.backend_peer import BackendPeer
from suites.conformance.broker.probes import PROBES, Probe


@pytest.fixture(scope="module")
def peer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BackendPeer]:
    name = request.config.getoption("--target")
    target = open_target(name)
    target.prepare()
    folder: Path = tmp_path_factory.mktemp("probes")
    journal = HealJournal.open("probes", folder / "heal")
    backend = ProcessBackend("probes", folder, target, journal, isolation="loopback")
    try:
        yield BackendPeer(backend, release=name.partition(":")[2] or "4.9.7")
    finally:
        backend.close()
        journal.close()


@pytest.mark.parametrize("probe", PROBES, ids=str)
def test_probe(probe: Probe, peer: BackendPeer, request: pytest.FixtureRequest) -> None:
    if probe.is_slow and request.config.getoption("--target") == "reference":
        pytest.skip("needs minutes; the simulator has answered it")
    probe.run(peer)
