"""What all tests share.

A property that is slow on a busy machine has not failed: Hypothesis' own default fails an example that takes longer
than 200 ms, and a search whose examples are slow to make. Both say something about who else is using the machine.

Tests that start real nodes, containers or Spark mostly wait, and share ports, namespaces and what is slow to make:
under ``-n`` with ``--dist loadgroup`` one worker runs all of a lane (:data:`LANES`), one after the other, and a test
that is in no lane goes to whoever is free: with one worker a lane the cores have something to do all the time.

The lanes are ours, and not the marks of pytest-xdist: with pytest 9.2 its 3.8.0 takes no notice of them and says
nothing of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

settings.register_profile("suites", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suites")

LANES: Final = {
    "machine": (
        "suites/chaos/test_killed_harness.py",
        "suites/chaos/test_mixed_clusters.py",
        "suites/chaos/test_processes.py",
        "suites/conformance/broker/test_official_java_client.py",
        "suites/conformance/broker/test_probes_on_processes.py",
        "suites/conformance/interchange/",
        "suites/conformance/replication/",
        "suites/conformance/test_apache_smoke.py",
        "suites/unit/faults/test_heal_journal.py",
        "suites/unit/process/",
        "suites/unit/reference/test_node_command.py",
        "suites/unit/runtime/test_process.py",
        "suites/unit/test_benchmarks.py",
    ),
    "containers": (
        "suites/chaos/test_containers.py",
        "suites/chaos/test_external_clients.py",
        "suites/chaos/test_killed_containers.py",
        "suites/conformance/dledger/test_mixed_groups.py",
    ),
    "spark": (
        "suites/browser/",
        "suites/installed/",
        "suites/unit/results/test_campaign.py",
        "suites/unit/results/test_marts.py",
        "suites/unit/results/test_recheck.py",
        "suites/unit/results/test_session.py",
    ),
}
"""Lane → how the node ids of its tests begin."""


def lane_of(nodeid: str) -> str:
    """The lane of a test; its own id where it is in none, so that it goes to any worker."""
    return next((lane for lane, begins in LANES.items() if nodeid.startswith(begins)), nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """Under ``loadgroup``: whole lanes, and single tests."""
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Lanes(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return lane_of(nodeid)

    return Lanes(config, log)


@pytest.fixture(scope="session", autouse=True)
def _orderly_end(orderly_end: None) -> None:
    """Tests start nodes by other ways than ``chaos_run``, too."""
