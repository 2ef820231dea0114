"""Forces that fail or come late: strace, attached to a process that runs, holds its fsync, fdatasync and msync.

Question: what does a broker tell its clients when the disk no longer takes what it is told to take, or takes its time?

    fails    EIO, and the call is not carried out: what it should have forced stays in the page cache, where everybody
             can read it, and is not on the disk
    late     the call begins so much later, each for itself: several threads wait beside each other
    held     the call does not begin before the tracer lets go

strace stops every system call of every thread for that (a JVM with some hundred messages a second does not mind) and
writes a line for each force, when it begins: the witness.

It is undone by SIGTERM: strace detaches and the calls go through again. A tracer that is killed has the same effect,
so whoever finds it by its marker (``undo.end_processes``) can undo it. It ends with the process that it is attached to.

Limits. Linux; needs strace and the right to trace (root, or the same user where nothing forbids it). A process has one
tracer: under a debugger it is refused. All files of the process are hit, its metadata, too: msync names an address and
no file. Write-back by the kernel goes on and may bring to the disk, after some 30 s, what no force did.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from select import select
from time import monotonic

from faults.errors import InjectionFailed
from faults.mechanisms import pidfd
from faults.mechanisms.command import find_tool

FORCES = "fsync,fdatasync,msync"
FAILS = "error=EIO"
HELD_US = 10**12
"""Eleven days: longer than any run."""
_BEGUN = re.compile(rb"(?:fsync|fdatasync|msync)\(")
ATTACH_TIMEOUT_S = 30.0
DETACH_TIMEOUT_S = 30.0
_POLL_S = 0.005


def lack() -> str:
    """Why nothing can be traced here, and how to get it; empty if it can."""
    if find_tool("strace") is None:
        return "needs strace: apt-get install strace"
    return ""


def late(delay_ms: int) -> str:
    """What to inject so that each force begins so much later; 0: not before the tracer lets go."""
    return f"delay_enter={delay_ms * 1000 if delay_ms else HELD_US}"


def trace_forces(
    process: pidfd.ProcessId, output: Path, environment: dict[str, str], inject: str = FAILS
) -> pidfd.ProcessId:
    """Attach to every thread of *process*; what is injected happens to its forces when this returns.

    *output* takes a line for each force; *environment* carries the marker by which the tracer is found when we are
    gone. ``InjectionFailed`` with strace's complaint if it cannot be.
    """
    argv = [find_tool("strace") or "strace", "-f", "-qq", "-e", f"trace={FORCES}", "-e", f"inject={FORCES}:{inject}"]
    argv += ["-e", "signal=none", "-o", str(output), "-p", str(process.pid)]
    output.unlink(missing_ok=True)
    child = subprocess.Popen(
        argv,
        cwd="/",
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,  # a Ctrl-C in the terminal is the harness's alone
    )
    is_in_time = _wait(lambda: child.poll() is not None or is_traced(process.pid, child.pid), ATTACH_TIMEOUT_S)
    if not is_in_time:
        _kill_with_children(child)  # it is not dead yet when this returns: a look at it would find it well
    if not is_in_time or child.poll() is not None:
        _, complaint = child.communicate(timeout=DETACH_TIMEOUT_S)
        raise InjectionFailed(
            f"strace did not attach: {complaint.decode(errors='replace').strip() or 'it took too long'}"
        )
    tracer = pidfd.identify(child.pid)
    _REAPED_LATER.append(child)
    return tracer


def _kill_with_children(child: subprocess.Popen[bytes]) -> None:
    """strace tries what the kernel can do on children that it stops; if it is killed meanwhile, they stand still for
    ever and hold its standard error open. It leads the group of them (``start_new_session``)."""
    os.killpg(child.pid, signal.SIGKILL)


_REAPED_LATER: list[subprocess.Popen[bytes]] = []
"""Tracers of ours: a child that nobody waits for stays a zombie, and ``Popen`` complains about a forgotten one."""


def let_go(tracer: pidfd.ProcessId) -> None:
    """Let go of the process; silent if the tracer is gone. ``InjectionFailed`` if it does not go."""
    if pidfd.send_signal(tracer, signal.SIGTERM) and not pidfd.wait_dead(tracer, DETACH_TIMEOUT_S):
        raise InjectionFailed(f"strace did not detach within {DETACH_TIMEOUT_S:g} s of SIGTERM")
    _REAPED_LATER[:] = [child for child in _REAPED_LATER if child.poll() is None]


def is_traced(pid: int, by: int) -> bool:
    """Whether every thread of *pid* has the tracer *by*."""
    try:
        threads = sorted(os.listdir(f"/proc/{pid}/task"))
        return bool(threads) and all(_tracer_of(pid, thread) == by for thread in threads)
    except (FileNotFoundError, ProcessLookupError):
        return False  # a thread, or all of them, ended while we looked


def count_forces(output: Path, patience_s: float = 0.0) -> int:
    """How many forces it has had hold of; waits so long for the first one."""
    _wait(lambda: _count(output) > 0, patience_s)
    return _count(output)


def _count(output: Path) -> int:
    try:
        return len(_BEGUN.findall(output.read_bytes()))
    except FileNotFoundError:
        return 0


def _tracer_of(pid: int, thread: str) -> int:
    lines = Path(f"/proc/{pid}/task/{thread}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("TracerPid:")).split()[1])


def _wait(done: Callable[[], bool], timeout_s: float) -> bool:
    """Nobody tells when a tracer has attached, or has written a line: asked every few milliseconds."""
    deadline = monotonic() + timeout_s
    while not done():
        if monotonic() >= deadline:
            return False
        select([], [], [], _POLL_S)
    return True
