"""A harness that is killed at any moment: is nothing left behind after ``mqchaos heal``?

Question: a run in real processes, with namespaces and disks of their own, ends without having cleaned up; or its disk
is full, or its terminal gone, or it is ``heal`` that is killed. What is on the machine after one more ``heal``?

Model. One seed is one run with a paused broker and an isolated one, an end at a random moment of it, and ``heal``:

    killed      SIGKILL
    heal        SIGKILL, and ``heal`` is killed as well, at a random moment of its own
    full        the disk that holds the run folders and the heal journal gets full, SIGKILL half a second later; it is
                still full while ``heal`` works
    terminal    SIGHUP, as from a terminal that is closed
    output      whoever reads standard output and error goes away; SIGKILL some time later

It holds if ``heal`` ends with 0 and there is no process with the run's environment, no namespace of the run, no mount
and no loop device below its temporary folder, and no journal.

Limits. Needs root, as the faults do. Real time decides where a run was when it ended: a seed names the intention only.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import IO, Final

from faults.mechanisms import loopfs, netns

NAME = "kills"
A_SEED = "a run that is ended at a random moment, and heal"
ROOT: Final = Path(__file__).resolve().parents[2]
RUN_S: Final = 14.0
HEAL_S: Final = 1.5
WITHIN_S: Final = 120
DISK: Final = "size=96m"

SCENARIO: Final = """\
name: broken-in-several-ways
mode: multi-master
topology: {nameservers: 1, brokers: 2}
workload: {producers: 2, consumers: 1, queues: 2, rate: 20/s, for: 5s}
faults:
  - {at: 500ms, do: pause, on: master(broker-a), for: 3s}
  - {at: 500ms, do: isolate, on: master(broker-b), for: 3s}
"""
ENDS: Final = ("killed", "killed", "heal", "heal", "full", "terminal", "output")


class _Place:
    """Folders of one seed: what a run keeps, on a small disk of its own, and where its nodes lie."""

    def __init__(self, folder: Path) -> None:
        self.small, self.scratch = folder / "small", folder / "tmp"
        for made in (self.small, self.scratch):
            made.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", DISK, "tmpfs", self.small], check=True)
        (self.small / "broken.yaml").write_text(SCENARIO)
        self._mine = {"XDG_STATE_HOME": str(self.small / "state"), "TMPDIR": str(self.scratch)}

    def start(self, *words: str, output: int | IO[bytes] = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "harness.cli", *words],
            cwd=self.small,
            env=os.environ | self._mine | {"PYTHONPATH": str(ROOT)},
            stdout=output,
            stderr=subprocess.STDOUT if output != subprocess.DEVNULL else output,
            start_new_session=True,
        )

    def fill(self) -> None:
        with (self.small / "filler").open("wb", buffering=0) as filler:
            try:
                while filler.write(bytes(1 << 20)):
                    pass
            except OSError:
                return  # full

    def left(self) -> dict[str, list[str]]:
        """What there is of the run, and should not."""
        runs = [run.name for run in (self.small / "runs").glob("r-*")]
        devices = subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=True).stdout.splitlines()
        return {
            "processes": [pid.name for pid in Path("/proc").iterdir() if pid.name.isdigit() and self._is_ours(pid)],
            "namespaces": [name for run in runs for name in netns.list_namespaces(run)],
            "mounts": [point for point in loopfs.mount_points() if str(self.scratch) in point],
            "devices": [line for line in devices if str(self.scratch) in line],
            "journals": [str(journal) for journal in (self.small / "state").rglob("*.jsonl")],
        }

    def _is_ours(self, pid: Path) -> bool:
        try:
            return self._mine["TMPDIR"].encode() in (pid / "environ").read_bytes()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            return False


def attack(seed: int) -> None:
    """One seed."""
    rng = Random(f"{NAME}/{seed}")
    way, moment_s = rng.choice(ENDS), rng.uniform(0.3, RUN_S)
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        place = _Place(Path(folder))
        try:
            _end(rng, place, way, moment_s)
            if way == "heal":
                _kill_after(place.start("heal"), rng.uniform(0.0, HEAL_S))
            healed = place.start("heal").wait(timeout=WITHIN_S)
            left = {kind: things for kind, things in place.left().items() if things}
            assert (healed, left) == (0, {}), f"{way} after {moment_s:.2f} s: heal ended with {healed}, left: {left}"
        finally:
            subprocess.run(["umount", place.small], check=True)


def _end(rng: Random, place: _Place, way: str, moment_s: float) -> None:
    words = ("run", "broken.yaml", "--backend", "process", "--seed", "1")
    if way == "output":
        reader, writer = os.pipe()
        run = place.start(*words, output=writer)
        os.close(writer)
        time.sleep(moment_s)
        os.close(reader)
        _kill_after(run, rng.uniform(0.0, 3.0))
        return
    run = place.start(*words)
    time.sleep(moment_s)
    if way == "terminal":
        run.send_signal(signal.SIGHUP)
        run.wait(timeout=WITHIN_S)
        return
    if way == "full":
        place.fill()
    _kill_after(run, 0.5 if way == "full" else 0.0)


def _kill_after(process: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=WITHIN_S)
