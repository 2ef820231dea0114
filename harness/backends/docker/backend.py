"""The world of containers: one a server node, in an engine of this machine.

Question: what is different from plain processes? Who starts them (an engine) and who keeps their networks (containers
that sleep). Everything else is shared with the process backend (``harness/backends/process/world.py``): a container is
a process of the same kernel, so signals, states, partitions, disks that lose their power, failing forces and clocks are the
same mechanisms with the same probes.

Limits. Linux, root, a local engine (``faults/mechanisms/engine.py`` says which).
"""

from __future__ import annotations

from faults.mechanisms import engine
from harness.backends.docker import images
from harness.backends.docker.launching import ContainerLauncher
from harness.backends.docker.network import ContainerNetwork
from harness.backends.process.capabilities import scan
from harness.backends.process.disks import ImageDisks
from harness.backends.process.world import Parts, RealBackend
from harness.errors import BackendUnavailable


class DockerBackend(RealBackend):
    """``harness.backends.backend.Backend`` over containers."""

    name = "docker"

    def _make_parts(self) -> Parts:
        if lack := scan().namespaces or scan().power_cut:
            raise BackendUnavailable("faults of containers reach in from this machine", hint=lack)
        url = engine.address()
        try:
            client = engine.connect(url)
        except engine.EngineUnavailable as error:
            raise BackendUnavailable(error.what, hint=error.hint) from error
        network = ContainerNetwork(self._tag, self._undo_steps, client, url, images.image(client, "reference"))
        launcher = ContainerLauncher(self._tag, self._undo_steps, network, self._target, client, url)
        return Parts(network, ImageDisks(self._scratch, self._undo_steps), launcher)
