"""Levers of what a real process needs of its machine: processor time, files, memory.

Question: which node lacks what now, and how is it given back? Little of a processor and no memory are control groups of
ours (``faults/mechanisms/cgroup.py``, ``memory.py``), no more files is the process's own limit (``descriptors.py``).
A container's process is one of this machine, and is taken by the same means.

Limits. One thread at a time (levers run one after another). A process that ends is out of all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from select import select
from time import monotonic

from faults.errors import InjectionFailed
from faults.levers import HealStep, LeverRefused
from faults.mechanisms import cgroup, descriptors, memory, pidfd, undo

POLL_S = 0.05
LACKING = ("starved", "exhausted", "short of memory")
"""States of a node for :meth:`ResourceLevers.heal_steps`."""


class ResourceLevers:
    """*living* is the process of a node that runs, else ``InjectionFailed``; *tag* is unique to the backend."""

    def __init__(self, tag: str, living: Callable[[str], pidfd.ProcessId]) -> None:
        self._tag, self._living = tag, living
        self._limits: dict[str, tuple[pidfd.ProcessId, descriptors.Limits]] = {}
        self._homes: dict[Path, Path] = {}
        """Group of ours → where its members go back to."""
        self._kills: dict[str, int] = {}

    # -- processor ---------------------------------------------------------------------------------------------------

    def starve_cpu(self, node: str, percent: int) -> None:
        where, process, group = _tree("cpu"), self._living(node), self._group(node, "cpu")
        self._homes.setdefault(group, cgroup.home_of(process, where))
        cgroup.make(group)
        cgroup.limit_cpu(group, where, percent)
        cgroup.take(group, process)

    def feed_cpu(self, node: str) -> None:
        group = self._group(node, "cpu")
        if (home := self._homes.pop(group, None)) is not None:
            cgroup.dissolve(group, home)

    def cpu_share(self, node: str) -> int:
        group = self._group(node, "cpu")
        if group not in self._homes or not cgroup.has(group, self._living(node)):
            return 100
        return cgroup.cpu_limit(group, _tree("cpu"))

    def cpu_held_up(self, node: str, patience_ns: int = 0) -> int:
        group, deadline = self._group(node, "cpu"), monotonic() + patience_ns / 1e9
        while not (held_up := cgroup.times_throttled(group)) and monotonic() < deadline:
            select([], [], [], POLL_S)
        return held_up

    # -- files -------------------------------------------------------------------------------------------------------

    def exhaust_files(self, node: str, left: int) -> None:
        process = self._living(node)
        before, limits = self._limits.get(node, (None, (0, 0)))
        self._limits[node] = (process, limits if before == process else descriptors.limits(process))
        descriptors.exhaust(process, left)

    def free_files(self, node: str) -> None:
        if (one := self._limits.pop(node, None)) is not None:
            descriptors.set_limits(*one)

    def files_left(self, node: str) -> int:
        return descriptors.left(self._living(node))

    # -- memory ------------------------------------------------------------------------------------------------------

    def take_memory(self, node: str) -> None:
        """The kernel kills the process of *node* for memory."""
        where, process, group = _tree("memory"), self._living(node), self._group(node, "memory")
        home = cgroup.home_of(process, where)
        self._kills[node] = 0
        try:
            self._kills[node] = memory.run_out(process, group, where, {undo.MARKER: self._marker(node)})
        finally:
            cgroup.dissolve(group, home)

    def memory_kills(self, node: str) -> int:
        return self._kills.get(node, 0)

    # -- undo --------------------------------------------------------------------------------------------------------

    def give_back_all(self) -> None:
        """For the end of a run: nobody lacks anything, no group of ours is left."""
        for node in list(self._limits):
            self.free_files(node)
        for group, home in list(self._homes.items()):
            cgroup.dissolve(group, home)
            del self._homes[group]

    def heal_steps(self, state: str, node: str) -> list[HealStep]:
        """How another process gives back what *node* is about to lack; nothing for one that has ended."""
        try:
            process = self._living(node)
        except InjectionFailed:
            return []
        match state:
            case "exhausted":
                return [undo.restore_limits(process, self._limits.get(node, (process, descriptors.limits(process)))[1])]
            case "starved":
                return [self._dissolution(node, process, "cpu")]
            case "short of memory":
                return [self._dissolution(node, process, "memory"), undo.end_processes(self._marker(node))]
        return []

    def _dissolution(self, node: str, process: pidfd.ProcessId, controller: str) -> HealStep:
        group = self._group(node, controller)
        return undo.dissolve_group(group, self._homes.get(group) or cgroup.home_of(process, _tree(controller)))

    def _group(self, node: str, controller: str) -> Path:
        return _tree(controller).top / f"{undo.FOLDER_PREFIX}{self._tag}-{node}-{controller}"

    def _marker(self, node: str) -> str:
        return f"{self._tag}/{node}/memory"


def _tree(controller: str) -> cgroup.Tree:
    if lack := cgroup.lack(controller):
        raise LeverRefused(f"no process can lack what control groups for {controller} give", lack)
    found = cgroup.tree(controller)
    assert found is not None
    return found
