"""Every probe against the reference broker in the simulator, each on a cluster of its own."""

from __future__ import annotations

import pytest

from suites.conformance.broker.backend_peer import simulated
from suites.conformance.broker.lives import SimulatedStart
from suites.conformance.broker.probes import LIVES, PROBES, Probe


def table(probes: list[Probe]) -> list[object]:
    return [pytest.param(probe, id=str(probe), marks=pytest.mark.conformance(*probe.ids)) for probe in probes]


@pytest.mark.parametrize("probe", table(PROBES))
def test_probe(probe: Probe) -> None:
    probe.run(simulated())


@pytest.mark.parametrize("seed", [1, 2])
def test_probes_do_not_disturb_each_other(seed: int) -> None:
    peer = simulated(seed)
    for probe in PROBES:
        probe.run(peer)


@pytest.mark.parametrize("probe", table([probe for probe in LIVES if probe.needs not in ("processes", "two_disks")]))
def test_life(probe: Probe) -> None:
    probe.run(SimulatedStart())
