"""What all tests share.

A property that is slow on a busy machine has not failed: Hypothesis' own default fails an example that takes longer
than 200 ms, and a search whose examples are slow to make. Both say something about who else is using the machine.

Tests that start real nodes or a Java machine share ports, namespaces and cores: under ``-n`` with ``--dist loadgroup``
one worker runs them, one after the other, while the others do the rest.
"""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("suites", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suites")

HERE = Path(__file__).parent
REAL_NODES = (
    "browser/",
    "chaos/test_killed_harness.py",
    "chaos/test_mixed_clusters.py",
    "chaos/test_processes.py",
    "conformance/broker/test_official_java_client.py",
    "conformance/broker/test_probes_on_processes.py",
    "conformance/replication/test_pairs_on_processes.py",
    "conformance/interchange/",
    "conformance/test_apache_smoke.py",
    "installed/",
    "unit/faults/test_heal_journal.py",
    "unit/process/",
    "unit/reference/test_node_command.py",
    "unit/results/test_campaign.py",
    "unit/results/test_marts.py",
    "unit/results/test_recheck.py",
    "unit/results/test_session.py",
    "unit/runtime/test_process.py",
    "unit/test_benchmarks.py",
)


@pytest.fixture(scope="session", autouse=True)
def _orderly_end(orderly_end: None) -> None:
    """Tests start nodes by other ways than ``chaos_run``, too."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what needs the machine for itself into one group."""
    for item in items:
        if item.path.relative_to(HERE).as_posix().startswith(REAL_NODES):
            item.add_marker(pytest.mark.xdist_group("machine"))
