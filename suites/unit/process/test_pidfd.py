"""Signals hit the process they were meant for, or nobody; states are what the kernel says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic

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


SPAWNS = """
import os, sys
os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, sys.argv[1], os.O_RDONLY, 0)])
print("went on", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process that waits uninterruptibly (D) until somebody writes to a pipe: its child, which has not called exec
    yet, opens that."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    made = subprocess.Popen(
        [sys.executable, "-c", SPAWNS, str(pipe)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    yield made, pipe
    made.kill()
    made.wait()
    with suppress(OSError):  # nobody waits for it any more
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))


def wait_for(process: pidfd.ProcessId, letters: str) -> None:
    deadline = monotonic() + 60
    while pidfd._thread_states(process.pid) != list(letters):
        assert monotonic() < deadline, pidfd._thread_states(process.pid)


@pytest.mark.parametrize("undone", [False, True])
def test_a_stop_waits_for_an_uninterruptible_call_and_a_continue_takes_it_back(held, undone: bool) -> None:
    """So what reads as running may be about to stop, and is to be continued all the same."""
    child, pipe = held
    process = pidfd.identify(child.pid)
    wait_for(process, "D")
    assert pidfd.send_signal(process, signal.SIGSTOP)
    assert pidfd.wait_still(process, 60)
    assert pidfd.state(process) == "running"
    if undone:
        assert pidfd.send_signal(process, signal.SIGCONT)
    pipe.write_text("")
    if undone:
        assert child.stdout.readline() == "went on\n"
        assert pidfd.state(process) == "running"
    else:
        wait_for(process, "T")
        assert pidfd.state(process) == "paused"


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
