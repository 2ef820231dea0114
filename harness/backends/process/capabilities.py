"""What this user can do on this machine, and what is missing for the rest.

Question: may we make network namespaces and disks that lose their power, and trace a process so that its forces fail?
The first two need root (really: two capabilities of the kernel) and tools, the third a tool. What is
missing is a sentence for a person, with the way to get it; empty means "can do".

Limits. Capabilities are read from ``/proc/self/status`` and tools are looked up; a security module may still refuse.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from faults.mechanisms import cgroup, faketime, strace
from faults.mechanisms.command import find_tool

Isolation = Literal["auto", "namespaces", "loopback"]
"""``auto``: namespaces where they are to be had, else plain loopback."""

CAP_NET_ADMIN, CAP_SYS_PTRACE, CAP_SYS_ADMIN = 12, 19, 21
NETWORK_TOOLS = {"ip": "iproute2", "nft": "nftables", "nsenter": "util-linux", "ss": "iproute2"}
DISK_TOOLS = {"mkfs.ext4": "e2fsprogs", "mount": "mount", "umount": "mount", "losetup": "mount"}
"""Tool → the Debian package that has it."""
ALL_USERS = 2**32 - 1
"""That many the machine's own table of users maps."""


@dataclass(frozen=True)
class Machine:
    """``""`` where a thing can be done, else why not and how to get it."""

    namespaces: str
    power_cut: str
    forces: str = ""
    """Whether forces of a process can be made to fail."""
    clocks: str = ""
    """Whether a process can have a wall clock of its own."""
    processors: str = ""
    """Whether a process can be given a share of a processor only."""
    memory: str = ""
    """Whether a process can have a part of the memory only."""


def scan() -> Machine:
    """Look at this process's capabilities and the installed tools; changes nothing."""
    return Machine(
        namespaces=_lack((CAP_NET_ADMIN, CAP_SYS_ADMIN), NETWORK_TOOLS) or _lack_of_file("/proc/self/ns/net"),
        power_cut=_lack((CAP_SYS_ADMIN,), DISK_TOOLS) or _lack_of_file("/dev/loop-control") or _lack_of_images(),
        forces=strace.lack() or _lack_of_tracing(),
        clocks=faketime.lack(),
        processors=cgroup.lack("cpu"),
        memory=cgroup.lack("memory"),
    )


def _lack(capabilities: Sequence[int], tools: dict[str, str]) -> str:
    effective = _effective_capabilities()
    if not all(effective >> number & 1 for number in capabilities):
        return (
            "needs root: run it with sudo, or in a privileged container"
            if os.geteuid()
            else ("root without the needed capabilities: the container must be privileged")
        )
    missing = {name: package for name, package in tools.items() if find_tool(name) is None}
    if missing:
        packages = " ".join(dict.fromkeys(missing.values()))
        return f"needs {', '.join(missing)}: apt-get install {packages}"
    return ""


def _lack_of_images() -> str:
    """A user namespace mounts none."""
    return "needs root of the machine, not only of a user namespace: run it with sudo" if is_in_user_namespace() else ""


def is_in_user_namespace() -> bool:
    """Whether root is only that of a user namespace: not everybody of the machine is known in it."""
    try:
        rows = Path("/proc/self/uid_map").read_text().splitlines()
    except FileNotFoundError:
        return False  # not Linux
    return [row.split() for row in rows] != [["0", "0", str(ALL_USERS)]]


def _lack_of_tracing() -> str:
    """Our nodes are no children of a tracer: where Yama forbids that, it takes a capability."""
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    is_free = not scope.exists() or scope.read_text().strip() == "0"
    return "" if is_free else _lack((CAP_SYS_PTRACE,), {})


def _lack_of_file(path: str) -> str:
    return "" if Path(path).exists() else f"the kernel has no {path}"


def _effective_capabilities() -> int:
    try:
        status = Path("/proc/self/status").read_text()
    except FileNotFoundError:
        return 0  # not Linux
    return int(next(line for line in status.splitlines() if line.startswith("CapEff:")).split()[1], 16)
