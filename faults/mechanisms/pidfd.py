"""Signals that can only hit the process they are meant for, and what the kernel says about it.

Question: how is a process killed, stopped and continued without ever hitting another that got its number? A process is
named by its pid *and its start time* (field 22 of ``/proc/PID/stat``, clock ticks since boot). A signal goes through a
pidfd: opened first, then the start time is compared, then sent. From the opening on the descriptor refers to that
process alone, so a number that is reused in between can lead to no harm.

Limits. Linux ≥ 5.3. A process of another user gives ``PermissionError``. ``state`` is an observation: it may be old
when it is read, but for ``dead``, which stays.
"""

from __future__ import annotations

import os
import select
import signal
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from faults.levers import NodeState

STILL_WHEN_TRACED = 20
"""How often in a row, a millisecond apart, a traced process must be seen to stand still."""


@dataclass(frozen=True)
class ProcessId:
    """One process for ever: ``start_ticks`` tells it from a later one with the same number."""

    pid: int
    start_ticks: int


def identify(pid: int) -> ProcessId:
    """Name the process that has this number now; ``ProcessLookupError`` if there is none."""
    return ProcessId(pid, int(_stat_fields(pid)[19]))


def send_signal(process: ProcessId, number: signal.Signals) -> bool:
    """Send it; False if the process is gone (or only a zombie's number is left), which is no error."""
    descriptor = open_pidfd(process)
    if descriptor is None:
        return False
    try:
        signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)
    return True


def open_pidfd(process: ProcessId) -> int | None:
    """A descriptor that becomes readable when the process ends; ``None`` if it has. The caller closes it."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return None
    if state(process) == "dead":
        os.close(descriptor)
        return None
    return descriptor


def state(process: ProcessId) -> NodeState:
    """``dead``: no thread is left (a zombie); ``paused``: every thread has stopped, or will when its fsync (D) is over.

    A first thread that is a zombie alone does not make it dead: after a SIGKILL the others may still be on their way
    out, with files open and memory mapped.
    """
    try:
        fields = _stat_fields(process.pid)
    except ProcessLookupError:
        return "dead"
    living = [letter for letter in _thread_states(process.pid) if letter not in "ZXx"]
    if int(fields[19]) != process.start_ticks or not living:
        return "dead"
    is_still = all(letter in "TtD" for letter in living) and set(living) != {"D"}
    return "paused" if is_still else "running"


def wait_dead(process: ProcessId, timeout_s: float) -> bool:
    """Wait until it has ended, bounded; whether it has."""
    descriptor = open_pidfd(process)
    if descriptor is None:
        return True
    try:
        return bool(select.select([descriptor], [], [], timeout_s)[0])
    finally:
        os.close(descriptor)


def wait_still(process: ProcessId, timeout_s: float) -> bool:
    """Wait until no thread of a process that was sent SIGSTOP can run a further instruction, bounded; whether it is so.

    A thread in an uninterruptible system call (letter D: an fsync under way) counts: the stop is delivered before it
    returns to its own code. So does one that a tracer holds (t), if it is seen so again and again: a tracer that is to
    let it go on does that within microseconds. Polled every millisecond, since the kernel tells nobody but the parent.
    """
    deadline, seen = monotonic() + timeout_s, 0
    while monotonic() < deadline:
        letters = _thread_states(process.pid)
        seen = seen + 1 if all(letter in "TtDZX" for letter in letters) else 0
        if seen and (seen == STILL_WHEN_TRACED or "t" not in letters):
            return True
        select.select([], [], [], 0.001)
    return False


def holders_of_marker(name: str, value: str) -> list[ProcessId]:
    """Processes that were started with the environment variable *name* = *value*, as far as we may look.

    Finds what was started just before its starter died and could note no number. Own processes only.
    """
    wanted = f"{name}={value}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and wanted in _environment(entry):
            try:
                found.append(identify(int(entry.name)))
            except ProcessLookupError:
                continue
    return sorted(found, key=lambda process: process.pid)


def markers(name: str) -> set[str]:
    """Values of the environment variable *name* in all processes, as far as we may look."""
    words = (word for entry in Path("/proc").iterdir() if entry.name.isdigit() for word in _environment(entry))
    return {word.partition(b"=")[2].decode(errors="replace") for word in words if word.startswith(f"{name}=".encode())}


def _environment(entry: Path) -> list[bytes]:
    try:
        return (entry / "environ").read_bytes().split(b"\0")
    except (PermissionError, FileNotFoundError, ProcessLookupError):
        return []  # another user's, or gone: in either case not ours to end


def _stat_fields(pid: int) -> list[str]:
    """Fields from the third on (state = 0, start time = 19); the second holds the name, which may contain anything."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        raise ProcessLookupError(f"no process {pid}") from None
    return text[text.rindex(")") + 2 :].split()


def _thread_states(pid: int) -> list[str]:
    letters = []
    try:
        threads = sorted(os.listdir(f"/proc/{pid}/task"))
    except (FileNotFoundError, ProcessLookupError):
        return []
    for thread in threads:
        try:
            letters.append(_stat_fields(int(thread))[0])
        except ProcessLookupError:
            continue
    return letters
