"""The harness is killed in mid-fault: another process finds the heal journal and clears everything."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from faults.journal import Leftover, heal, open_journals
from faults.mechanisms import loopfs, netns, pidfd, undo
from harness.targets.reference import import_path

HARNESS = """
import sys
from pathlib import Path
from faults.levers import LinkSet
from suites.unit.process.tiny_world import TinyWorld

world = TinyWorld(Path(sys.argv[1]), sys.argv[2])
world.start("broker-a-0")
world.journal.record("pause broker-a-0", world.levers.heal_steps("paused", "broker-a-0"))
world.do(world.levers.pause, "broker-a-0")
if world.backend.isolation == "namespaces":
    world.journal.record("partition", world.levers.heal_steps("network", "f1"))
    world.do(world.levers.partition, LinkSet("f1", ("client-1",), ("broker-a-0",)))
print(world.backend._tag, flush=True)
sys.stdin.read()
"""


def killed_harness(folder: Path, isolation: str) -> str:
    """Start a harness, let it break things, kill it; returns the tag that its things carry."""
    harness = subprocess.Popen(
        [sys.executable, "-c", HARNESS, str(folder), isolation],
        env={**os.environ, "PYTHONPATH": import_path()},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert harness.stdout is not None
    tag = harness.stdout.readline().strip()
    assert tag, "the harness did not get as far as breaking something"
    harness.send_signal(signal.SIGKILL)
    harness.wait(timeout=60)
    return tag


def leftovers_of(tag: str) -> dict[str, list[str]]:
    processes = [f"{process.pid}" for process in pidfd.holders_of_marker(undo.MARKER, f"{tag}/broker-a-0/1")]
    return {
        "processes": processes,
        "namespaces": netns.list_namespaces(tag),
        "mounts": [point for point in loopfs.mount_points() if tag in point],
        "folders": [str(folder) for folder in Path(tempfile.gettempdir()).glob(f"mqc-{tag}")],
    }


def the_journal(folder: Path) -> Leftover:
    (found,) = open_journals(folder / "heal")
    return found


@pytest.mark.parametrize(
    "isolation", ["loopback", pytest.param("namespaces", marks=pytest.mark.requires("process:network"))]
)
def test_everything_is_healed_by_another_process(tmp_path: Path, isolation: str) -> None:
    tag = killed_harness(tmp_path, isolation)
    before = leftovers_of(tag)
    assert before["processes"], "the node outlives its harness: that is what healing is for"
    assert before["folders"]
    assert bool(before["namespaces"]) == bool(before["mounts"]) == (isolation == "namespaces")
    heal(the_journal(tmp_path), undo.carry_out)
    assert leftovers_of(tag) == {"processes": [], "namespaces": [], "mounts": [], "folders": []}
    assert open_journals(tmp_path / "heal") == []


def test_healing_twice_is_no_error(tmp_path: Path) -> None:
    tag = killed_harness(tmp_path, "loopback")
    steps = [step for entry in the_journal(tmp_path).outstanding for step in entry.steps]
    for step in [*steps, *steps]:
        undo.carry_out(step)
    assert not any(leftovers_of(tag).values())
