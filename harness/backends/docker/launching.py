"""How a node becomes a container: made once, started again after each death, on its own disk and network.

Question: what does a container of ours need beyond its image? The node's folder (configuration, logs) and its disk at
the very paths that they have outside, so that configurations are those of processes; the network of its keeper
(``network.py``); no privilege at all: what breaks it reaches in from outside, by its process id, its namespaces and
its disk. Output goes to the node's files, not to the engine's log, so it is there when the engine is not.

A death is known to the kernel before it is known to the engine, which would answer a start in between with "runs
already" and do nothing. So a start waits until the engine has seen the end.

Limits. A process of the image's own user (not root), whatever the owner of the run's folder. Process ids are read as
the host's: the engine must run on this kernel, in our pid namespace; it is checked.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import docker
import docker.errors
import docker.types
import requests.exceptions

from faults.mechanisms import engine, faketime, pidfd, undo
from harness.backends.backend import Target
from harness.backends.docker.images import image
from harness.backends.docker.network import ContainerNetwork
from harness.backends.process.node import Node
from harness.backends.process.undo_steps import UndoSteps
from harness.errors import BackendUnavailable, ClusterError

USER: Final = 10001
"""Of every node image (``docker/*.Dockerfile``)."""
END_TIMEOUT_S: Final = 30
WITH_OUTPUT: Final = 'out=$0 err=$1; shift; exec "$@" >>"$out" 2>>"$err"'
"""The program in place of the shell, under its process id, with its output in files."""
SIGNALLED: Final = 128


class ContainerLife:
    """The process of one start of a container."""

    def __init__(self, client: docker.DockerClient, name: str) -> None:
        self._client, self._name = client, name
        self.process: pidfd.ProcessId | None = None
        pid = int(self._state()["Pid"])
        if pid:
            try:
                self.process = pidfd.identify(pid)
            except ProcessLookupError:
                self.process = None  # it has ended meanwhile

    def exit_code(self) -> int | None:
        """The engine's, which learns of an end a moment after the kernel."""
        if self.process is not None and pidfd.state(self.process) != "dead":
            return None
        try:
            self._client.api.wait(self._name, timeout=END_TIMEOUT_S)
            code = int(self._state()["ExitCode"])
        except (docker.errors.NotFound, requests.exceptions.RequestException):
            return None  # removed already, or the engine is gone: nobody knows
        return SIGNALLED - code if code > SIGNALLED else code

    def _state(self) -> dict[str, Any]:
        return dict(self._client.api.inspect_container(self._name)["State"])


class ContainerLauncher:
    """``harness.backends.process.launching.Launcher`` in one engine."""

    def __init__(
        self,
        tag: str,
        undo_steps: UndoSteps,
        network: ContainerNetwork,
        target: Target,
        client: docker.DockerClient,
        url: str,
    ) -> None:
        self._tag, self._undo_steps, self._network, self._target = tag, undo_steps, network, target
        self._client, self._url = client, url
        self._made: dict[str, tuple[list[str], dict[str, str]]] = {}
        """Node → what its container was made to run."""

    def start(self, node: Node) -> None:
        words, environment = self._target.arguments(node.spec, node.folder)
        _give_to_node(node)
        wanted = (words, {**environment, **node.clock_environment(), **node.spec.environment})
        name = f"{undo.FOLDER_PREFIX}{self._tag}-{node.name}"
        try:
            if (ran := self._made.get(node.name)) is not None:
                self._client.api.wait(name, timeout=END_TIMEOUT_S)
            if ran != wanted:
                self._make(node, name, *wanted)
                self._made[node.name] = wanted
            self._client.api.start(name)
            node.begin(ContainerLife(self._client, name))
        except (docker.errors.APIError, requests.exceptions.RequestException) as error:
            raise ClusterError(f"{node.name} cannot be started: {error}") from error
        self._check_is_here(node, str(self._client.api.inspect_container(name)["Id"]))

    def _make(self, node: Node, name: str, words: list[str], environment: dict[str, str]) -> None:
        picture = image(self._client, self._target.at(node.name).image)
        program = self._client.images.get(picture).attrs["Config"]["Entrypoint"]
        out, err = node.output
        api = self._client.api
        if node.name in self._made:
            api.remove_container(name)  # it is told something else from now on
        else:
            self._undo_steps.record(f"the container of {node.name}", undo.remove_container(self._url, name, self._tag))
        api.create_container(
            picture,
            name=name,
            entrypoint=["/bin/sh", "-c", WITH_OUTPUT, str(out), str(err), *program],
            command=words,
            environment={**environment, undo.MARKER: f"{self._tag}/{node.name}"},
            working_dir=str(node.folder),
            labels=engine.labels(self._tag, node.name),
            healthcheck={"test": ["NONE"]},
            host_config=api.create_host_config(
                network_mode=f"container:{self._network.keeper(node.name)}",
                binds=[f"{path}:{path}:{access}" for path, access in _paths(node)],
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
                restart_policy={"Name": "no"},
                log_config=docker.types.LogConfig(type="none"),
            ),
        )

    def _check_is_here(self, node: Node, identity: str) -> None:
        """A process of that number that is another one would be struck instead of the node; the kernel knows the
        container of each process as its control group."""
        if node.process is None:
            return
        try:
            groups = Path(f"/proc/{node.process.pid}/cgroup").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return  # it has ended; its exit is told
        if identity not in groups and pidfd.state(node.process) != "dead":
            raise BackendUnavailable(
                f"the engine at {self._url} does not run in this process namespace",
                hint="use an engine of this machine",
            )


def _paths(node: Node) -> list[tuple[Path, str]]:
    """What a container sees of this machine, at the same paths."""
    paths = [(node.folder, "rw"), (node.data, "rw")]
    if node.spec.has_own_clock and (library := faketime.library()) is not None:
        paths.append((library.parent, "ro"))
    return paths


def _give_to_node(node: Node) -> None:
    """Files that were made or copied from outside are the node's own."""
    for top in (node.folder / "log", node.folder / "config", node.data):
        for path, _, files in os.walk(top):
            os.chown(path, USER, USER)
            for name in files:
                os.chown(os.path.join(path, name), USER, USER, follow_symlinks=False)
