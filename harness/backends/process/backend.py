"""The world of real processes: one a server node, started by ourselves.

Question: with what are nodes kept apart here? As root with a network namespace and an ext4 image each; as an ordinary
user with an address of the loopback and a plain folder each. What both share is in ``world.py``.

Limits. Linux. Without root there are no power cuts, and cuts only in a user namespace (``own_users.py``); on the
loopback there are neither (``capabilities.py`` says why), and every node must listen on its own address only.
"""

from __future__ import annotations

from pathlib import Path

from faults.journal import HealJournal
from harness.backends.backend import NodeSpec, Target
from harness.backends.process.capabilities import Isolation, scan
from harness.backends.process.disks import Disks, FolderDisks, ImageDisks
from harness.backends.process.network import LoopbackNetwork, NamespaceNetwork, Network
from harness.backends.process.world import Parts, RealBackend
from harness.errors import BackendUnavailable


class ProcessBackend(RealBackend):
    """*isolation*: ``BackendUnavailable`` if ``namespaces`` are asked and not to be had."""

    name = "process"

    def __init__(
        self, run: str, folder: Path, target: Target, journal: HealJournal, *, isolation: Isolation = "auto"
    ) -> None:
        self._isolation = isolation
        if isolation == "namespaces" and (lack := scan().namespaces):
            raise BackendUnavailable("no network namespaces here", hint=lack)
        super().__init__(run, folder, target, journal)

    def _make_parts(self) -> Parts:
        return Parts(self._make_network(), self._make_disks())

    def _make_network(self) -> Network:
        if self._isolation == "loopback" or (lack := scan().namespaces):
            return LoopbackNetwork("plain loopback was asked for" if self._isolation == "loopback" else lack)
        return NamespaceNetwork(self._tag, self._undo_steps)

    def _make_disks(self) -> Disks:
        if self._isolation == "loopback" or (lack := scan().power_cut):
            why = "plain loopback was asked for" if self._isolation == "loopback" else lack
            return FolderDisks(self._scratch, why)
        return ImageDisks(self._scratch, self._undo_steps)

    def _check_room(self, spec: NodeSpec) -> None:
        """Apache's servers listen on all addresses: on one network only one of each kind has room."""
        if self.isolation != "loopback":
            return
        alike = [node.name for node in self._nodes.values() if node.spec.kind == spec.kind]
        greedy = next((name for name in (spec.name, *alike) if self._listens_everywhere(name)), None)
        if alike and greedy is not None:
            raise BackendUnavailable(
                f"{self._target.at(greedy).name} listens on all addresses, so {spec.name} finds no room beside "
                f"{alike[0]}",
                hint=f"nodes with a network of their own: {scan().namespaces or 'isolation by namespaces'}",
            )

    def _listens_everywhere(self, node: str) -> bool:
        return getattr(self._target.at(node), "listens_everywhere", False)
