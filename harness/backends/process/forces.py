"""Forces of a node that fail or come late: who traces it, and where the witness is written.

Question: which nodes cannot force anything to their disks now, or only late, and how often did they try? A tracer
(``faults/mechanisms/strace.py``) a node at most; it ends with the process that it is attached to, by ``mend``, or by
whoever finds the marker that it carries.

Limits. One thread at a time (levers run one after another).
"""

from __future__ import annotations

import signal
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
        self._trace(node, process, strace.FAILS)

    def delay(self, node: str, process: pidfd.ProcessId, by_ms: int) -> None:
        """0 ms: until they are mended."""
        self._trace(node, process, strace.late(by_ms))

    def _trace(self, node: str, process: pidfd.ProcessId, inject: str) -> None:
        if lack := scan().forces:
            raise LeverRefused("nothing can be done to forces here", lack)
        if self.are_hit(node):
            raise InjectionFailed(f"the forces of {node} fail already, or are late")
        marker = {undo.MARKER: self._marker(node)}
        self._tracers[node] = strace.trace_forces(process, self._witness(node), marker, inject)

    def mend(self, node: str) -> None:
        if tracer := self._tracers.pop(node, None):
            strace.let_go(tracer)

    def abandon(self, node: str) -> None:
        """*node* was sent SIGKILL: a tracer that holds one of its forces would keep it from going (strace 6.1)."""
        if tracer := self._tracers.get(node):
            pidfd.send_signal(tracer, signal.SIGKILL)

    def mend_all(self) -> None:
        for node in list(self._tracers):
            self.mend(node)

    def are_hit(self, node: str) -> bool:
        tracer = self._tracers.get(node)
        return tracer is not None and pidfd.state(tracer) != "dead"

    def count_hit(self, node: str, patience_ns: int) -> int:
        return strace.count_forces(self._witness(node), patience_ns / 1e9)

    def heal_step(self, node: str) -> HealStep:
        """Ends the tracer of *node*, also for somebody who knows no number of it."""
        return undo.end_processes(self._marker(node))

    def _marker(self, node: str) -> str:
        return f"{self._tag}/{node}/forces"

    def _witness(self, node: str) -> Path:
        return self._folder / f"{node}.forces"
