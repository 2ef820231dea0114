"""Acting masters of different implementations: either end, and the NameServer, may be Apache's 5.3.3.

Question: does a slave of the one make act for a master of the other, and does that master take its progress when it
returns? Asked is what a pair of one make is asked (``suites/conformance/replication/test_acting_masters.py``).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from suites.conformance.interchange.nodes import APACHE_5, Implementations, real_nodes
from suites.conformance.replication.pair import Pair
from suites.conformance.replication.test_acting_masters import BOTH, SETTINGS, ask_the_pair
from suites.minutes import needs_minutes

pytestmark = [pytest.mark.slow, pytest.mark.requires("java", "process:network")]

REFERENCE = "reference"


@pytest.mark.parametrize(
    ("nameserver", "master", "slave"),
    [
        needs_minutes(REFERENCE, REFERENCE, APACHE_5),
        needs_minutes(REFERENCE, APACHE_5, REFERENCE),
        needs_minutes(APACHE_5, REFERENCE, REFERENCE),
        needs_minutes(REFERENCE, APACHE_5, APACHE_5),
    ],
)
def test_a_slave_of_another_make_acts(nameserver: str, master: str, slave: str, tmp_path: Path) -> None:
    implementations = Implementations({"namesrv-1": nameserver, "broker-a-0": master, "broker-a-1": slave})
    with real_nodes(implementations, tmp_path) as backend:
        ask_the_pair(Pair(backend, **BOTH, **SETTINGS))
