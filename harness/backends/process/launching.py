"""How a node becomes a process: started by ourselves, in the node's network.

Question: what is written down, told to the process, and kept of it, whoever starts it? A :class:`Launcher` starts a
node that is dead and gives it its :class:`~harness.backends.process.node.Life`; before that it has written down how to
end it.

Limits. One thread at a time (levers run one after another).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from faults.mechanisms import undo
from harness.backends.backend import Target
from harness.backends.process.client_node import ClientNode
from harness.backends.process.network import Network
from harness.backends.process.node import Node
from harness.backends.process.undo_steps import UndoSteps


class Launcher(Protocol):
    """What the world needs of whoever starts processes."""

    def start(self, node: Node) -> None:
        """A new life of a dead node: its process runs on return. ``ClusterError`` if it cannot be started."""


class ProcessLauncher:
    """``Launcher`` of plain processes."""

    def __init__(self, tag: str, undo_steps: UndoSteps, network: Network, target: Target) -> None:
        """*tag*: unique to the run on this machine; part of the marker that each process carries."""
        self._tag, self._undo_steps, self._network, self._target = tag, undo_steps, network, target
        self._entries: dict[str, int] = {}

    def start(self, node: Node) -> None:
        argv, environment = self._command(node)
        marker = f"{self._tag}/{node.name}/{node.start_count + 1}"
        if (last := self._entries.pop(node.name, None)) is not None:
            self._undo_steps.undo(last)
        self._entries[node.name] = self._undo_steps.record(f"the process of {node.name}", undo.end_processes(marker))
        own = {**node.clock_environment(), **node.spec.environment, undo.MARKER: marker}
        node.spawn(self._network.argv(node.name, argv), {**environment, **own})

    def _command(self, node: Node) -> tuple[Sequence[str], Mapping[str, str]]:
        return node.command if isinstance(node, ClientNode) else self._target.command(node.spec, node.folder)
