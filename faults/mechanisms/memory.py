"""The kernel kills a process because memory is short: for real, and for this process alone.

Question: how does the OOM killer end one broker while the machine has plenty? A control group of little memory takes
the process and a *hog*, a child of ours that asks for more and more until the group has none left. What the hog holds
belongs to no process (an anonymous file), and the broker is marked as the first to go, so the kernel kills the broker,
and then, since the hog still asks, the hog. The witness is the group's own count of such kills.

Limits. As ``cgroup.py``. Swap, if there is any, is used up first.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from faults.errors import InjectionFailed
from faults.mechanisms import cgroup, pidfd

GROUP_BYTES: Final = 32 << 20
FIRST_TO_GO: Final = "1000"
"""The highest ``oom_score_adj``: anybody may raise it."""
TIMEOUT_S: Final = 30.0
HOG: Final = """
import os, sys
sys.stdin.read()
file = os.memfd_create("hog")
while True:
    os.write(file, bytes(1 << 16))
"""


def run_out(process: pidfd.ProcessId, group: Path, where: cgroup.Tree, environment: Mapping[str, str]) -> int:
    """Let the kernel kill *process* for memory. Returns how many of the group it has killed; *process* is dead and
    the group, which is new, is left to the caller. ``InjectionFailed`` if it does not come to that."""
    cgroup.make(group)
    cgroup.limit_memory(group, where, GROUP_BYTES)
    hog = subprocess.Popen(
        [sys.executable, "-c", HOG],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **environment},
        cwd="/",
        start_new_session=True,
    )
    try:
        cgroup.take(group, pidfd.identify(hog.pid))
        _mark(process)
        cgroup.take(group, process)
        if hog.stdin is not None:
            hog.stdin.close()  # now it begins
        if not pidfd.wait_dead(process, TIMEOUT_S):
            raise InjectionFailed(f"the kernel did not kill process {process.pid} for memory within {TIMEOUT_S:g} s")
        return cgroup.times_out_of_memory(group, where)
    finally:
        hog.kill()
        hog.wait()


def _mark(process: pidfd.ProcessId) -> None:
    cgroup.put(Path(f"/proc/{process.pid}/oom_score_adj"), FIRST_TO_GO)
