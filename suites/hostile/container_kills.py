"""A harness that is killed at any moment of a run in containers: is nothing left after ``mqchaos heal``?

Question: whatever the harness was doing (making networks, starting nodes, cutting power, healing) when it was killed,
is the machine as before after one more ``mqchaos heal``? And is a container beside, which is none of ours, as it was?

Model. One seed is one run with a paused slave, a partition, a power cut, a slow link and a full disk, a SIGKILL at a
moment that is drawn over its whole length, and ``heal``. In every third seed ``heal`` is killed as well, at a moment of
its own, and asked again. It holds if ``heal`` ends with 0 and nothing carries the run's tag: container, network, mount,
loop device, folder, process, namespace, journal; and if the container beside still runs and was never started anew.

Limits. One run at a time. Needs root and an engine (``scripts/setup --docker``). Real time decides where a run was
when it ended: a seed names the intention only.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

import docker

from faults.journal import open_journals
from faults.mechanisms import engine, loopfs, netns
from faults.mechanisms.command import call
from faults.mechanisms.undo import MARKER
from harness.backends.docker.images import image

NAME = "container_kills"
A_SEED = "a run in containers that is killed at a random moment, and heal"
ROOT: Final = Path(__file__).resolve().parents[2]
LONGEST_S: Final = 26.0
"""A run of the scenario takes as long, up to its report."""
SURELY_MADE: Final = 2
"""So many undo entries that are outstanding: what the older one is for has been made, and is still there."""
HEAL_S: Final = 3.0
WITHIN_S: Final = 120

SCENARIO: Final = """\
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


class _Place:
    """The folder of one seed: the scenario, the run folders, a heal journal of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._state = folder / "state"
        (folder / "broken.yaml").write_text(SCENARIO)

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "harness.cli", *words],
            cwd=self._folder,
            env=os.environ | {"XDG_STATE_HOME": str(self._state), "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def journals(self) -> list[Path]:
        return list((self._state / "mqchaos" / "heal").glob("*.jsonl"))

    def outstanding(self) -> int:
        """How many acts are still to be undone."""
        return sum(len(journal.outstanding) for journal in open_journals(self._state / "mqchaos" / "heal"))

    def tags(self) -> set[str]:
        """Of the runs that the journals know."""
        return {tag for journal in self.journals() for tag in re.findall(r"/mqc-([\w-]+)", journal.read_text())}


def attack(seed: int) -> None:
    """One seed."""
    rng = Random(f"{NAME}/{seed}")
    moment_s = rng.uniform(0.5, LONGEST_S)
    client = engine.connect()
    with tempfile.TemporaryDirectory(prefix="kills-") as folder, _bystander(client) as beside:
        place = _Place(Path(folder))
        was_killed = _kill_after(place.start("run", "broken.yaml", "--backend", "docker", "--seed", "1"), moment_s)
        tags = place.tags()
        assert len(tags) <= 1, "one run, one tag"
        if was_killed and place.outstanding() >= SURELY_MADE:
            assert leftovers(client, tags), "a search that finds nothing now proves nothing later"
        if seed % 3 == 0:
            _kill_after(place.start("heal"), rng.uniform(0.0, HEAL_S))
        healed = place.start("heal").wait(timeout=WITHIN_S)
        left = leftovers(client, tags) + [str(journal) for journal in place.journals()]
        assert (healed, left) == (0, []), f"killed after {moment_s:.2f} s: heal ended with {healed}, left: {left}"
        assert _runs_untouched(client, beside), "the container beside was touched"
    client.close()


def leftovers(client: docker.DockerClient, tags: set[str]) -> list[str]:
    """Everything on this machine that carries one of *tags*."""
    folders = [f"mqc-{tag}" for tag in tags]
    found = [name for tag, name in engine.things_of_ours(client) if tag in tags]
    found += [name for tag in tags for name in netns.list_namespaces(tag)]
    found += [point for point in loopfs.mount_points() if any(folder in point for folder in folders)]
    found += [
        line for line in call(["losetup", "--list", "--noheadings"]).splitlines() if any(f in line for f in folders)
    ]
    found += [str(path) for folder in folders for path in Path(tempfile.gettempdir()).glob(folder)]
    return found + [
        f"process {pid.name}" for pid in Path("/proc").iterdir() if pid.name.isdigit() and _is_of(pid, tags)
    ]


def _is_of(pid: Path, tags: set[str]) -> bool:
    try:
        words = (pid / "environ").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
    return any(word.startswith(f"{MARKER}={tag}/".encode()) for word in words for tag in tags)


@contextmanager
def _bystander(client: docker.DockerClient) -> Iterator[str]:
    """Somebody else's container in the same engine; its id."""
    container = client.containers.run(
        image(client, "reference"), entrypoint=["sleep", "infinity"], network_mode="none", detach=True
    )
    try:
        yield str(container.id)
    finally:
        container.remove(force=True)


def _runs_untouched(client: docker.DockerClient, container: str) -> bool:
    seen = client.api.inspect_container(container)
    return (seen["State"]["Running"], seen["RestartCount"]) == (True, 0)


def _kill_after(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether it had to be killed; what ends before has ended by itself."""
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=WITHIN_S)
    return process.returncode == -signal.SIGKILL
