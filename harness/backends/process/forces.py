"""Forces that fail on a node: who traces it, and where the witness is written.

Question: which nodes cannot force anything to their disks now, and how often did they try? A tracer
(``faults/mechanisms/strace.py``) a node at most; it ends with the process that it is attached to, by ``mend``, or by
whoever finds the marker that it carries.

Limits. One thread at a time (levers run one after another).
"""

from __future__ import annotations

from pathlib import Path

from faults.errors import InjectionFailed
from faults.levers import HealStep, LeverRefused
from faults.mechanisms import pidfd, strace, undo
from harness.backends.process.capabilities import scan


class Forces:
    """The tracers of one backend. *tag* is unique to it, *folder* takes the witnesses."""

    def __init__(self, tag: str, folder: Path) -> None:
        self._tag, self._folder = tag, folder
        self._tracers: dict[str, pidfd.ProcessId] = {}

    def fail(self, node: str, process: pidfd.ProcessId) -> None:
        if lack := scan().forces:
            raise LeverRefused("forces cannot be made to fail here", lack)
        if self.are_failing(node):
            raise InjectionFailed(f"the forces of {node} fail already")
        marker = {undo.MARKER: self._marker(node)}
        self._tracers[node] = strace.fail_forces(process, self._witness(node), marker)

    def mend(self, node: str) -> None:
        if tracer := self._tracers.pop(node, None):
            strace.mend_forces(tracer)

    def mend_all(self) -> None:
        for node in list(self._tracers):
            self.mend(node)

    def are_failing(self, node: str) -> bool:
        tracer = self._tracers.get(node)
        return tracer is not None and pidfd.state(tracer) != "dead"

    def failed(self, node: str, patience_ns: int) -> int:
        return strace.count_failed(self._witness(node), patience_ns / 1e9)

    def heal_step(self, node: str) -> HealStep:
        """Ends the tracer of *node*, also for somebody who knows no number of it."""
        return undo.end_processes(self._marker(node))

    def _marker(self, node: str) -> str:
        return f"{self._tag}/{node}/forces"

    def _witness(self, node: str) -> Path:
        return self._folder / f"{node}.forces"
