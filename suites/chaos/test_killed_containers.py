"""A harness that is killed at any moment of a run in containers leaves nothing that ``mqchaos heal`` cannot undo.

Question: whatever the harness was doing (making networks, starting nodes, cutting power, healing) when it was killed,
is the machine as before after one ``mqchaos heal``? And is a container beside, which is none of ours, as it was?

The moment is drawn, over the whole length of a run. ``MQCHAOS_KILLS=100`` kills a hundred of them; a few otherwise.

Limits. One run at a time. Needs an engine (``scripts/setup --docker``).
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import docker
import pytest

from faults.mechanisms import engine, loopfs
from faults.mechanisms.command import call
from faults.mechanisms.undo import MARKER
from harness.backends.docker.images import image

ROOT = Path(__file__).resolve().parents[2]
KILLS = int(os.environ.get("MQCHAOS_KILLS", "3"))
LONGEST_S = 26.0
"""A run of the scenario takes as long, up to its report."""
NODES_AFTER_S = 8.0
"""By then there are containers."""

SCENARIO = """\
name: broken-in-many-ways
mode: multi-master-multi-slave-sync
topology: {nameservers: 1, brokers: 1, slaves: 1}
workload: {producers: 1, consumers: 1, queues: 2, rate: 30/s, for: 10s}
faults:
  - {at: 1s, do: pause, on: slave(broker-a), for: 1s}
  - {at: 2s, do: partition, on: "clients | master(broker-a)", for: 2s}
  - {at: 4s, do: cut_power, on: master(broker-a), for: 1s}
  - {at: 6s, do: slow_link, on: "link(clients, master(broker-a), broker)", for: 2s}
  - {at: 8s, do: fill_disk, on: master(broker-a)}
"""

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.requires("docker:power", "docker:links")]


@pytest.fixture
def client() -> Iterator[docker.DockerClient]:
    client = engine.connect()
    yield client
    client.close()


@pytest.fixture
def bystander(client: docker.DockerClient) -> Iterator[str]:
    """Somebody else's container in the same engine; its id."""
    container = client.containers.run(
        image(client, "reference"), entrypoint=["sleep", "infinity"], network_mode="none", detach=True
    )
    yield str(container.id)
    container.remove(force=True)


def leftovers(client: docker.DockerClient, tags: set[str]) -> list[str]:
    """Everything on this machine that carries one of *tags*."""
    folders = [f"mqc-{tag}" for tag in tags]
    found = [name for tag, name in engine.things_of_ours(client) if tag in tags]
    found += [point for point in loopfs.mount_points() if any(folder in point for folder in folders)]
    found += [
        line for line in call(["losetup", "--list", "--noheadings"]).splitlines() if any(f in line for f in folders)
    ]
    found += [str(path) for folder in folders for path in Path("/tmp").glob(folder)]
    return found + [
        f"process {pid.name}" for pid in Path("/proc").iterdir() if pid.name.isdigit() and _is_of(pid, tags)
    ]


def _is_of(pid: Path, tags: set[str]) -> bool:
    try:
        words = (pid / "environ").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
    return any(word.startswith(f"{MARKER}={tag}/".encode()) for word in words for tag in tags)


@pytest.mark.parametrize("number", range(KILLS))
def test_after_a_kill_at_any_moment_heal_leaves_nothing(
    client: docker.DockerClient, bystander: str, tmp_path: Path, number: int
) -> None:
    state = tmp_path / "state"
    environment = os.environ | {"XDG_STATE_HOME": str(state), "PYTHONPATH": str(ROOT)}
    (tmp_path / "broken.yaml").write_text(SCENARIO)
    argv = [sys.executable, "-m", "harness.cli"]
    run = subprocess.Popen(
        [*argv, "run", "broken.yaml", "--backend", "docker", "--seed", "1"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    moment_s = Random(number).uniform(0.5, LONGEST_S)
    try:
        run.wait(timeout=moment_s)
    except subprocess.TimeoutExpired:
        run.send_signal(signal.SIGKILL)
        run.wait()
    journals = list((state / "mqchaos" / "heal").glob("*.jsonl"))
    tags = {tag for journal in journals for tag in re.findall(r"/mqc-([\w-]+)", journal.read_text())}
    assert len(tags) <= 1, "one run, one tag"
    if run.returncode == -signal.SIGKILL and moment_s > NODES_AFTER_S:
        assert leftovers(client, tags), "a search that finds nothing now proves nothing later"
    healed = subprocess.run([*argv, "heal"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert healed.returncode == 0, healed.stderr
    assert leftovers(client, tags) == []
    assert list((state / "mqchaos" / "heal").glob("*.jsonl")) == []
    beside = client.api.inspect_container(bystander)
    assert (beside["State"]["Running"], beside["RestartCount"]) == (True, 0)
