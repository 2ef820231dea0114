"""Control groups of our own: one process gets little of a processor, or little memory, while all others have plenty.

Question: how does a node lack what the machine has? The kernel counts and limits by group. A group of ours, named like
everything of a run, takes the process and goes when the process leaves it:

    /sys/fs/cgroup/<controller>/mqc-TAG-NODE-…      version 1, one tree a controller
    /sys/fs/cgroup/mqc-TAG-NODE-…                   version 2, one tree

A process goes back to the group that it came from, so that nobody else's limit is lost. Members of containers are taken
out of the container's group for that time and nothing else of it changes.

Limits. Needs root and a tree that can be written. What a process had been charged for in its old group stays there.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from select import select
from time import monotonic
from typing import Final

from faults.errors import InjectionFailed
from faults.mechanisms import pidfd

CONTROLLERS: Final = ("cpu", "memory")
"""Those that groups of ours are made for."""
MOUNTS: Final = Path("/proc/self/mounts")
QUOTA_US: Final = 1_000
"""The least that the kernel gives. A process that has used it up stands still until the next period, which is as long
as the share wants it: so a node that works little, on a fast machine, is held up as soon as it works at all."""
LEAVE_TIMEOUT_S: Final = 10.0
_POLL_S: Final = 0.01


@dataclass(frozen=True)
class Tree:
    """Where groups of a controller are made; ``version`` 1 or 2."""

    top: Path
    controller: str
    version: int


def tree(controller: str, mounts: Path = MOUNTS) -> Tree | None:
    """The tree of *controller*; ``None`` if this machine has none."""
    rows = [line.split() for line in mounts.read_text().splitlines()] if mounts.exists() else []
    for _, place, kind, options, *_ in rows:
        if kind == "cgroup" and controller in options.split(","):
            return Tree(Path(place), controller, 1)
    for _, place, kind, *_ in rows:
        if kind == "cgroup2" and controller in _words(Path(place) / "cgroup.subtree_control"):
            return Tree(Path(place), controller, 2)
    return None


def lack(controller: str, mounts: Path = MOUNTS) -> str:
    """Why no process can be put into a group of *controller* here; empty if it can."""
    if (found := tree(controller, mounts)) is None:
        return f"the kernel has no control groups for {controller}, or they are not mounted"
    if not os.access(found.top, os.W_OK):
        return f"needs root, and {found.top} that can be written: a container must be privileged"
    return ""


def home_of(process: pidfd.ProcessId, where: Tree) -> Path:
    """The group that the process is in; ``InjectionFailed`` if it has ended."""
    try:
        lines = Path(f"/proc/{process.pid}/cgroup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        raise InjectionFailed(f"process {process.pid} has ended") from None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if where.controller in controllers.split(",") or (where.version == 2 and not controllers):
            return where.top / path.lstrip("/")
    return where.top


def make(group: Path) -> None:
    """``InjectionFailed`` with the kernel's word if it cannot be made."""
    try:
        group.mkdir(exist_ok=True)
    except OSError as error:
        raise InjectionFailed(f"cannot make the control group {group}: {error.strerror}") from error


def take(group: Path, process: pidfd.ProcessId) -> None:
    """All threads of the process are in the group from now on."""
    put(group / "cgroup.procs", str(process.pid))


def has(group: Path, process: pidfd.ProcessId) -> bool:
    """Whether the process is in it."""
    return str(process.pid) in _words(group / "cgroup.procs") and pidfd.state(process) != "dead"


def dissolve(group: Path, back: Path) -> bool:
    """Send everybody in it to *back* and remove it; False if it is gone already. A process on its way out keeps a group
    for some milliseconds."""
    if not group.is_dir():
        return False
    deadline = monotonic() + LEAVE_TIMEOUT_S
    while True:
        for pid in _words(group / "cgroup.procs"):
            _send_back(back, pid)
        try:
            group.rmdir()
        except OSError as error:
            if monotonic() >= deadline:
                raise InjectionFailed(f"cannot remove the control group {group}: {error.strerror}") from error
            select([], [], [], _POLL_S)
        else:
            return True


def _send_back(back: Path, pid: str) -> None:
    try:
        (back / "cgroup.procs").write_text(pid)
    except ProcessLookupError:
        return  # it has ended
    except FileNotFoundError:
        put(back.parent / "cgroup.procs", pid)  # the group of its container went with the container


# -- what a group limits -----------------------------------------------------------------------------------------------


def limit_cpu(group: Path, where: Tree, percent: int) -> None:
    """All of the group together get *percent* of one processor from now on."""
    period_us = QUOTA_US * 100 // percent
    if where.version == 2:
        put(group / "cpu.max", f"{QUOTA_US} {period_us}")
        return
    put(group / "cpu.cfs_period_us", str(period_us))
    put(group / "cpu.cfs_quota_us", str(QUOTA_US))


def cpu_limit(group: Path, where: Tree) -> int:
    """Percent of one processor; 100 where there is no limit, or no such group."""
    if where.version == 2:
        quota, period = (*_words(group / "cpu.max"), "max", "0")[:2]
    else:
        quota = "".join(_words(group / "cpu.cfs_quota_us")) or "-1"
        period = "".join(_words(group / "cpu.cfs_period_us")) or "0"
    return 100 * int(quota) // int(period) if quota.isdecimal() else 100  # max, -1


def times_throttled(group: Path) -> int:
    """In how many periods the group had used up its share and stood still."""
    return _counted(group / "cpu.stat", "nr_throttled")


def limit_memory(group: Path, where: Tree, size_bytes: int) -> None:
    """All of the group together may have so much more memory than they have now."""
    put(group / ("memory.max" if where.version == 2 else "memory.limit_in_bytes"), str(size_bytes))


def times_out_of_memory(group: Path, where: Tree) -> int:
    """How many processes of the group the kernel has killed for memory."""
    return _counted(group / ("memory.events" if where.version == 2 else "memory.oom_control"), "oom_kill")


def put(file: Path, text: str) -> None:
    """Write a file of the kernel's; ``InjectionFailed`` with its word if it does not take it."""
    try:
        file.write_text(text)
    except OSError as error:
        raise InjectionFailed(f"{file} does not take {text!r}: {error.strerror}") from error


def _counted(file: Path, name: str) -> int:
    words = _words(file)
    return int(words[words.index(name) + 1]) if name in words else 0


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []  # no such group (any more)
