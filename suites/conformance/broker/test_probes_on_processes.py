"""The probes over real TCP against real processes: the reference, or with ``--target`` Apache's own broker.

One cluster for all probes of a running broker, since they do not disturb each other; one after the other for those that
start brokers themselves. Apache's servers listen on all addresses, so they get namespaces where those are to be had.
With ``--target rocketmq:4.9.7``, and where results are recorded, every probe is put, also those that need minutes; else
those that the reference answers within seconds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.journal import HealJournal
from harness.backends.process import ProcessBackend
from harness.worlds import open_target
from suites.conformance.broker.backend_peer import BackendPeer
from suites.conformance.broker.lives import ProcessStart
from suites.conformance.broker.probes import LIVES, PROBES, Probe

OWN_DISK = ("power_cut", "two_disks")
"""What a probe needs that wants an image for the node's disk."""


def table(probes: list[Probe]) -> list[object]:
    return [pytest.param(probe, id=str(probe), marks=marks(probe)) for probe in probes]


def marks(probe: Probe) -> list[pytest.MarkDecorator]:
    needed = [pytest.mark.requires("process:network", "process:power")] if probe.needs in OWN_DISK else []
    slow = [pytest.mark.slow] if probe.is_slow else []
    return [pytest.mark.conformance(*probe.ids, lane="target"), *slow, *needed]


@pytest.fixture(scope="module")
def peer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BackendPeer]:
    name = request.config.getoption("--target")
    target = open_target(name)
    target.prepare()
    folder: Path = tmp_path_factory.mktemp("probes")
    journal = HealJournal.open("probes", folder / "heal")
    backend = ProcessBackend("probes", folder, target, journal, isolation="loopback" if name == "reference" else "auto")
    try:
        yield BackendPeer(backend, release=name.partition(":")[2] or "4.9.7")
    finally:
        backend.close()
        journal.close()


@pytest.fixture
def start(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ProcessStart]:
    """The reference on plain loopback, unless the probe cuts power or fills a disk."""
    owns = request.node.callspec.params["probe"].needs in OWN_DISK
    name = request.config.getoption("--target")
    begun = ProcessStart(open_target(name), tmp_path, "loopback" if name == "reference" and not owns else "auto")
    yield begun
    begun.close()


def skip_unfit(probe: Probe, request: pytest.FixtureRequest) -> None:
    is_recorded = os.environ.get("MQCHAOS_RECORD_CONFORMANCE") == "1"
    if probe.is_slow and request.config.getoption("--target") == "reference" and not is_recorded:
        pytest.skip("takes long; the simulator has answered it")


@pytest.mark.parametrize("probe", table(PROBES))
def test_probe(probe: Probe, peer: BackendPeer, request: pytest.FixtureRequest) -> None:
    skip_unfit(probe, request)
    probe.run(peer)


@pytest.mark.parametrize("probe", table([probe for probe in LIVES if probe.needs != "simulator"]))
def test_life(probe: Probe, start: ProcessStart, request: pytest.FixtureRequest) -> None:
    skip_unfit(probe, request)
    probe.run(start)
