"""Signals hit the process they were meant for, or nobody; states are what the kernel says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from faults.mechanisms import pidfd

THREADS = """
import threading, sys
for _ in range(3):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def child() -> Iterator[subprocess.Popen[str]]:
    """A process with four threads; its environment carries a marker."""
    made = subprocess.Popen(
        [sys.executable, "-c", THREADS],
        env={**os.environ, "MQCHAOS_TEST": f"marker-{os.getpid()}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert made.stdout is not None
    made.stdout.readline()
    yield made
    made.kill()
    made.wait()


def test_stop_continue_kill(child: subprocess.Popen[str]) -> None:
    process = pidfd.identify(child.pid)
    assert pidfd.state(process) == "running"
    assert pidfd.send_signal(process, signal.SIGSTOP)
    assert pidfd.wait_still(process, 60)
    assert pidfd.state(process) == "paused"
    assert pidfd.send_signal(process, signal.SIGCONT)
    assert pidfd.state(process) == "running"
    assert pidfd.send_signal(process, signal.SIGKILL)
    assert pidfd.wait_dead(process, 60)
    assert pidfd.state(process) == "dead", "a zombie is dead"
    child.wait()
    assert pidfd.state(process) == "dead"
    assert not pidfd.send_signal(process, signal.SIGKILL)


def test_a_process_with_another_start_time_is_another_process(child: subprocess.Popen[str]) -> None:
    now = pidfd.identify(child.pid)
    earlier = pidfd.ProcessId(now.pid, now.start_ticks - 1)
    assert pidfd.state(earlier) == "dead"
    assert not pidfd.send_signal(earlier, signal.SIGKILL)
    assert pidfd.wait_dead(earlier, 60)
    assert pidfd.state(now) == "running", "a number that was reused is never hit"


def test_waiting_is_bounded(child: subprocess.Popen[str]) -> None:
    process = pidfd.identify(child.pid)
    assert not pidfd.wait_dead(process, 0.01)
    assert not pidfd.wait_still(process, 0.01)


def test_a_marker_finds_exactly_those_that_were_started_with_it(child: subprocess.Popen[str]) -> None:
    assert [found.pid for found in pidfd.holders_of_marker("MQCHAOS_TEST", f"marker-{os.getpid()}")] == [child.pid]
    assert pidfd.holders_of_marker("MQCHAOS_TEST", f"marker-{os.getpid()}x") == []


def test_nobody_has_this_number() -> None:
    with pytest.raises(ProcessLookupError):
        pidfd.identify(2**22 + 1)
