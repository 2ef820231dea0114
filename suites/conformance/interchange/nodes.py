"""Real nodes whose target may change from one life to the next, and the versions of Apache's that are asked.

Question: how does a test say "now the other broker, on the same folder"? ``Implementations`` is the mix of the cluster;
a node is what it says at the moment of its start.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from faults.journal import HealJournal
from harness.backends.process import ProcessBackend
from harness.errors import BackendUnavailable
from harness.targets.mixed import MixedTarget
from harness.worlds import open_target

APACHE = "rocketmq:4.9.7"
APACHE_5 = "rocketmq:5.3.3"


def release_of(target: str) -> str:
    """What the reference behaves like beside *target*."""
    return target.partition(":")[2] or "4.9.7"


class Implementations:
    """Node → target by name; assigned to, it holds for the next start."""

    def __init__(self, nodes: Mapping[str, str]) -> None:
        self._targets = {node: open_target(name) for node, name in nodes.items()}
        self.target = MixedTarget("as the test says", self._targets)

    def __setitem__(self, node: str, name: str) -> None:
        target = open_target(name)
        target.prepare()
        self._targets[node] = target


@contextmanager
def real_nodes(implementations: Implementations, folder: Path) -> Iterator[ProcessBackend]:
    """A world of processes without a node; everything is gone on leaving. What the machine lacks is a named skip."""
    try:
        implementations.target.prepare()
    except BackendUnavailable as missing:
        if os.environ.get("MQCHAOS_REQUIRE_ALL") == "1":
            raise
        pytest.skip(str(missing))
    journal = HealJournal.open("interchange", folder / "heal")
    backend = ProcessBackend("interchange", folder, implementations.target, journal)
    try:
        yield backend
    finally:
        backend.close()
        journal.close()


def store_of(folder: Path, node: str) -> Path:
    """A node's store, alive or dead."""
    return folder / "nodes" / node / "data" / "store"
