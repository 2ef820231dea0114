"""A harness that is killed in mid-fault leaves nothing that ``mqchaos heal`` cannot undo, and a history to judge."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from faults.mechanisms import loopfs, netns, pidfd
from faults.mechanisms.undo import MARKER
from harness.errors import EXIT_ERROR, EXIT_PASS, EXIT_UNKNOWN

ROOT = Path(__file__).resolve().parents[2]

SCENARIO = """\
name: broken-in-several-ways
mode: multi-master
topology: {nameservers: 1, brokers: 2}
workload: {producers: 2, consumers: 1, queues: 2, rate: 50/s, for: 20s}
faults:
  - {at: 1s, do: pause, on: master(broker-a)}
  - {at: 1s, do: isolate, on: master(broker-b)}
"""

KILLS_ITSELF = """
import os, signal, sys
from harness import cli
from harness.terminal import Ticker

def die_in_mid_fault(ticker, line):
    if "pause broker-a-0" in line() and "isolate broker-b-0" in line():
        os.kill(os.getpid(), signal.SIGKILL)

Ticker.tick = die_in_mid_fault
sys.exit(cli.main(["run", "broken.yaml", "--backend", "process", "--seed", "1"]))
"""


@pytest.fixture
def call(tmp_path: Path):
    """Run python in the test's own folder, with a heal journal of its own."""
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path / "state"), "PYTHONPATH": str(ROOT)}
    (tmp_path / "broken.yaml").write_text(SCENARIO)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


def things_of(tag: str) -> dict[str, list[str]]:
    """What a run with this tag has on the machine."""
    folder = f"mqc-{tag}"
    processes = [pid.name for pid in Path("/proc").iterdir() if pid.name.isdigit() and _is_marked(pid, tag)]
    return {
        "namespaces": netns.list_namespaces(tag),
        "mounts": [point for point in loopfs.mount_points() if folder in point],
        "processes": processes,
        "folders": [str(path) for path in Path("/tmp").glob(folder)],
    }


def _is_marked(pid: Path, tag: str) -> bool:
    try:
        return f"{MARKER}={tag}/".encode() in (pid / "environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False


@pytest.mark.on("process")
@pytest.mark.requires("process:network")
def test_after_kill_minus_nine_heal_leaves_nothing_and_check_says_unknown(call, tmp_path: Path) -> None:
    killed = call("-c", KILLS_ITSELF)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    (journal,) = (tmp_path / "state" / "mqchaos" / "heal").glob("*.jsonl")
    tag = re.findall(r"mqc-([\w-]+)-hub", journal.read_text())[0]
    before = things_of(tag)
    assert all(before.values()), before
    assert len(before["processes"]) == 3

    doctor = call("-m", "harness.cli", "doctor")
    assert doctor.returncode == EXIT_ERROR
    assert f"journals of dead runs: {journal.stem}" in doctor.stdout

    healed = call("-m", "harness.cli", "heal")
    assert healed.returncode == EXIT_PASS, healed.stderr
    assert "undid pause broker-a-0" in healed.stdout
    assert "undid isolate broker-b-0" in healed.stdout
    assert not any(things_of(tag).values()), things_of(tag)
    assert not journal.exists()

    checked = call("-m", "harness.cli", "check", "runs/latest")
    assert checked.returncode == EXIT_UNKNOWN, checked.stderr
    assert "the run ended in phase 'faults', before 'heal'" in checked.stdout


def test_markers_are_found_where_processes_are(tmp_path: Path) -> None:
    """The control of the search above: a process that carries a marker is seen, and not after its end."""
    marker = f"test-{os.getpid()}"
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; print('up', flush=True); sys.stdin.read()"],
        env=os.environ | {MARKER: f"{marker}/node/1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    assert things_of(marker)["processes"] == [str(process.pid)]
    assert [found.pid for found in pidfd.holders_of_marker(MARKER, f"{marker}/node/1")] == [process.pid]
    process.communicate("")
    assert things_of(marker)["processes"] == []
