"""A running process may open no more files: its limit of descriptors is set to what it has.

Question: what does a broker do when it can accept no connection and make no file? ``prlimit`` changes the soft limit of
a process that runs. A new descriptor gets the lowest free number, and must be below the limit: so the limit is the
number of the first free one, or of a later one if some are to be left.

The limits of a process belong to its user: the kernel lets nobody else change them but who may change all, which root
of a container may not. Then the change is made as that user.

Limits. Linux. A descriptor that the process closes comes free again, for a file or a connection.
"""

from __future__ import annotations

import os
import resource
import subprocess
from itertools import count, islice
from pathlib import Path

from faults.errors import InjectionFailed
from faults.mechanisms import pidfd
from faults.mechanisms.command import find_tool

Limits = tuple[int, int]
"""(soft, hard)"""


def limits(process: pidfd.ProcessId) -> Limits:
    """``InjectionFailed`` if it has ended."""
    return _call(process, None)


def set_limits(process: pidfd.ProcessId, wanted: Limits) -> bool:
    """False if it has ended."""
    try:
        _call(process, wanted)
    except InjectionFailed:
        if pidfd.state(process) == "dead":
            return False
        raise
    return True


def exhaust(process: pidfd.ProcessId, left: int) -> None:
    """*left* more descriptors, and then none."""
    _, hard = limits(process)
    held = _held(process)
    free = (number for number in count() if number not in held)
    set_limits(process, (next(islice(free, left, None)), hard))


def left(process: pidfd.ProcessId) -> int:
    """How many more it can open now; ``InjectionFailed`` if it has ended."""
    soft, _ = limits(process)
    return max(0, soft - sum(number < soft for number in _held(process)))


def _held(process: pidfd.ProcessId) -> set[int]:
    try:
        return {int(name) for name in os.listdir(f"/proc/{process.pid}/fd")}
    except (FileNotFoundError, ProcessLookupError):
        raise InjectionFailed(f"process {process.pid} has ended") from None


def _call(process: pidfd.ProcessId, wanted: Limits | None) -> Limits:
    if pidfd.state(process) == "dead":
        raise InjectionFailed(f"process {process.pid} has ended")
    try:
        return resource.prlimit(process.pid, resource.RLIMIT_NOFILE, *([wanted] if wanted else []))
    except ProcessLookupError:
        raise InjectionFailed(f"process {process.pid} has ended") from None
    except PermissionError:
        return _call_as_its_user(process, wanted)


def _call_as_its_user(process: pidfd.ProcessId, wanted: Limits | None) -> Limits:
    """With util-linux's tool: our own interpreter need not be there for others."""
    tool = find_tool("prlimit") or "prlimit"
    setting = f"--nofile={_word(wanted[0])}:{_word(wanted[1])}" if wanted else "--nofile"
    argv = [tool, "--raw", "--noheadings", "--output=SOFT,HARD", f"--pid={process.pid}", setting]
    try:
        user, group = _owner(process)
        done = subprocess.run(
            argv, user=user, group=group, extra_groups=[], cwd="/", capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InjectionFailed(f"the limit of files of process {process.pid} cannot be looked at: {error}") from error
    if done.returncode:
        raise InjectionFailed(f"the limit of files of process {process.pid}: {done.stderr.strip()}")
    if wanted:
        return wanted
    soft, hard = map(_number, done.stdout.split())
    return soft, hard


def _word(limit: int) -> str:
    return "unlimited" if limit == resource.RLIM_INFINITY else str(limit)


def _number(word: str) -> int:
    return resource.RLIM_INFINITY if word == "unlimited" else int(word)


def _owner(process: pidfd.ProcessId) -> tuple[int, int]:
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    words = {line.split(":")[0]: line.split() for line in lines}
    return int(words["Uid"][1]), int(words["Gid"][1])
