"""A world of real processes, however they are started: servers on this machine's kernel, clients in our own loop.

Question: what is a node here, what is a client, and what tells the run of them? A server is a process with a network
and a disk of its own (``network.py``, ``disks.py``, ``node.py``), a client is a role in our loop (``turning.py``) with
an address of its own. Notes and crashes of both become events. Who makes networks and processes is a matter of
:class:`Parts`: the host itself, or a container engine on the same kernel.

The clock is CLOCK_MONOTONIC since the backend was made; notes of server processes carry the same clock and are put on
it (field ``at_ns``), since they are read up to 50 ms after they were written.

Nothing is left behind: how to undo what would outlive the harness is in the heal journal first (``undo_steps.py``),
``close`` undoes it (also at interpreter exit), and ``mqchaos heal`` does after a ``kill -9``.

Limits. Linux. Without root there are no power cuts, and cuts only in a user namespace (``own_users.py``); on the
loopback there are neither (``capabilities.py`` says why), and every node must listen on its own address only.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from faults.errors import FaultTrouble
from faults.journal import HealJournal
from faults.levers.acts import Joined
from faults.mechanisms import pidfd, run_tags, undo
from faults.mechanisms.command import call
from harness.backends.backend import ClientPeer, NodeSpec, Target
from harness.backends.process.client_node import ClientNode
from harness.backends.process.disks import Disks
from harness.backends.process.folder_store import FolderStore
from harness.backends.process.forces import Forces
from harness.backends.process.hosted import HostedClient
from harness.backends.process.launching import Launcher, ProcessLauncher
from harness.backends.process.levers import TABLES, ProcessLevers
from harness.backends.process.links import Links, NoLinks
from harness.backends.process.network import NamespaceNetwork, Network
from harness.backends.process.node import Node
from harness.backends.process.resources import ResourceLevers
from harness.backends.process.turning import TurningLoop
from harness.backends.process.undo_steps import UndoSteps
from harness.errors import ClusterError
from reference_impl.environment import Environment, Role
from reference_impl.runtime import AsyncioEnvironment, Disk

T = TypeVar("T")


@dataclass(frozen=True)
class Parts:
    """What a world is made of."""

    network: Network
    disks: Disks
    launcher: Launcher | None = None
    """Of servers; ``None``: they are plain processes, as clients of another implementation are in any case."""


class RealBackend:
    """``harness.backends.backend.Backend`` over processes of this machine's kernel.

    *folder*: the run's folder; every node gets ``nodes/<node>/{log,config,dump}`` below it. *journal*: the open heal
    journal of the run.
    """

    name: str

    def __init__(self, run: str, folder: Path, target: Target, journal: HealJournal) -> None:
        self._started_ns = time.monotonic_ns()
        self._folder, self._target = folder.resolve(), target
        self.on_event: Callable[[str, str, dict[str, Any]], None] = lambda node, event, fields: None
        self._undo_steps = UndoSteps(journal)
        self._tag = run_tags.make_tag(run)
        self._scratch = Path(tempfile.gettempdir()) / f"{undo.FOLDER_PREFIX}{self._tag}"
        self._nodes: dict[str, Node] = {}
        self._clients: dict[str, HostedClient] = {}
        self._is_closed = False
        self._sign_of_life = run_tags.hold(self._tag)
        self._undo_steps.record("the temporary folder", undo.remove_folder(self._scratch))
        self._scratch.mkdir(mode=0o755)
        try:
            parts = self._make_parts()
        except BaseException:
            self._undo_steps.undo_all()
            self._sign_of_life.close()
            raise
        self._network, self._disks = parts.network, parts.disks
        self._processes = ProcessLauncher(self._tag, self._undo_steps, self._network, target)
        self._launcher = parts.launcher or self._processes
        self._turning = TurningLoop(self._read_all_notes)
        self._loop = self._turning.loop
        self._forces = Forces(self._tag, self._scratch)
        levers = ProcessLevers(
            self._network,
            self._disks,
            self._nodes,
            self._clients,
            self._start,
            self._forces,
            partial(ResourceLevers, self._tag),
        )
        self._resources = levers.resources
        self.levers: Any = Joined(levers, levers.resources, self._make_links())
        atexit.register(self.close)

    def _make_links(self) -> Links | NoLinks:
        if isinstance(self._network, NamespaceNetwork):
            return Links(self._tag, self._scratch, self._undo_steps, self._network, self._kind_of)
        return NoLinks("all nodes are on the loopback")

    def _kind_of(self, node: str) -> str:
        """``broker`` or ``namesrv``; empty for clients, which serve nobody."""
        found = self._nodes.get(node)
        return found.spec.kind if found is not None and found.spec.kind in ("broker", "namesrv") else ""

    def _make_parts(self) -> Parts:
        """Networks, disks and processes of this world; ``BackendUnavailable`` with what is missing."""
        raise NotImplementedError

    @property
    def isolation(self) -> str:
        """``namespaces`` or ``loopback``: what ``auto`` came to."""
        return self._network.isolation

    @property
    def can_cut_power(self) -> bool:
        """Whether the nodes' disks can lose their power."""
        return self._disks.can_cut_power

    def now(self) -> int:
        return time.monotonic_ns() - self._started_ns

    def host(self, node: str) -> str:
        return self._network.host(node)

    def entropy(self) -> int:
        return 0

    # -- nodes -----------------------------------------------------------------------------------------------------

    def add_node(self, spec: NodeSpec) -> None:
        self._check_room(spec)
        folder = self._folder / "nodes" / spec.name
        try:
            self._network.add_server(spec.name)
            data = self._disks.make(spec.name)
        except FaultTrouble as error:
            raise ClusterError(f"cannot make a home for {spec.name}: {error.what}", hint=error.hint) from error
        node = Node(spec, folder, data)
        link = folder / "data"
        self._undo_steps.record(f"the link to the disk of {spec.name}", undo.remove_link(link))
        link.symlink_to(data)
        self._nodes[spec.name] = node

    def _check_room(self, spec: NodeSpec) -> None:
        """``BackendUnavailable`` if the node finds no room beside those that are there."""

    def _start(self, node: Node) -> None:
        """Runs in the lever's thread."""
        self._check_ports(node)
        launcher = self._processes if isinstance(node, ClientNode) else self._launcher
        launcher.start(node)
        self._loop.call_soon_threadsafe(self._watch, node)

    def _check_ports(self, node: Node) -> None:
        """A taken port is found here, in one sentence, and not in the depth of a log."""
        for port in _ports(node.spec):
            with self._network.open_socket(node.name) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind((self.host(node.name), port))
                except OSError as error:
                    raise ClusterError(
                        f"port {self.host(node.name)}:{port} of {node.name} is not to be had: {error.strerror}",
                        hint=f"who has it: ss -ltnp 'sport = :{port}'",
                    ) from error

    def _watch(self, node: Node) -> None:
        if isinstance(node, ClientNode):
            node.attach(self._loop, self._turning.changed)
        if node.process is None or (descriptor := pidfd.open_pidfd(node.process)) is None:
            self._ended(node)
            return
        process = node.process

        def on_end() -> None:
            self._loop.remove_reader(descriptor)
            os.close(descriptor)
            if node.process == process:
                self._ended(node)

        self._loop.add_reader(descriptor, on_end)

    def _ended(self, node: Node) -> None:
        code = node.reap()
        if isinstance(node, ClientNode):
            node.detach()
        self._read_notes(node)
        if not node.is_ending:
            self.on_event(node.name, "crashed", {"exit": code, "last_lines": node.last_words()})
        self._turning.changed()

    def _read_all_notes(self) -> None:
        for node in self._nodes.values():
            self._read_notes(node)

    def _read_notes(self, node: Node) -> None:
        for ns, event, fields in node.new_notes():
            self.on_event(node.name, event, {**fields, "at_ns": ns - self._started_ns})

    def read_table(self, node: str, name: str) -> bytes | None:
        try:
            return (self._nodes[node].data / TABLES / name).read_bytes()
        except OSError:  # replaced at this moment, or its disk has no power
            return None

    def store(self, node: str) -> FolderStore:
        return FolderStore(self._nodes[node].data)

    def collect(self, node: str, into: Path) -> None:
        if (found := self._nodes.get(node)) is None:
            return  # the run ended before it got a home
        for name in ("log", "config"):
            if (into / name).resolve() != (found.folder / name).resolve():
                shutil.copytree(found.folder / name, into / name, dirs_exist_ok=True)
        copy_store(found.data, into / "dump")

    # -- clients ---------------------------------------------------------------------------------------------------

    def add_client(self, name: str, role: Role, again: Callable[[], Role] | None = None) -> None:
        self._network.add_client(name)
        client = self._clients[name] = HostedClient(name, self._loop, partial(self._client_life, name), again)
        client.begin(role)

    def _client_life(self, name: str, role: Role, exited: Callable[[int], None]) -> AsyncioEnvironment:
        return AsyncioEnvironment(
            role,
            self._loop,
            Disk(self._scratch / "clients" / name, self._loop.call_soon_threadsafe, sync_threads=1),
            note=lambda ns, event, fields: self.on_event(name, event, fields),
            crashed=lambda error: self._client_crashed(name, error),
            exited=exited,
            open_socket=lambda: self._network.open_socket(name),
            source_host=self.host(name),
            stepped=self._turning.changed,
        )

    def add_client_process(
        self, name: str, argv: Sequence[str], environment: Mapping[str, str], peer: ClientPeer
    ) -> None:
        try:
            self._network.add_server(name)
        except FaultTrouble as error:
            raise ClusterError(f"cannot make a home for {name}: {error.what}", hint=error.hint) from error
        node = ClientNode(NodeSpec(name, "client", {}), self._folder / "nodes" / name, (argv, environment), peer)
        self._nodes[name] = node
        self._start(node)

    def beside(self, client: str, argv: Sequence[str]) -> list[str]:
        """The command that runs *argv* in the network of that client."""
        return self._network.argv(client, argv)

    def step(self, client: str, action: Callable[[Environment], None]) -> None:
        self._clients[client].environment.step(action)

    def _client_crashed(self, name: str, error: Exception) -> None:
        lines = "".join(traceback.format_exception(error)).splitlines()
        self.on_event(name, "crashed", {"exit": None, "last_lines": lines})

    # -- letting the world run -------------------------------------------------------------------------------------

    def after(self, delay_ns: int, action: Callable[[], None]) -> None:
        self._turning.after(delay_ns, action)

    def run_until(self, done: Callable[[], bool], deadline_ns: int) -> bool:
        self._disks.check_room()
        is_done = self._turning.run_until(done, self._started_ns + deadline_ns)
        self._disks.check_room()
        return is_done

    def perform(self, work: Callable[[], T]) -> T:
        return self._turning.perform(work)

    # -- beginning and end -----------------------------------------------------------------------------------------

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        atexit.unregister(self.close)
        for environment in [life for client in self._clients.values() for life in client.environments]:
            environment.abandon()
            self._loop.run_until_complete(environment.shut_down())
        for node in self._nodes.values():
            node.is_ending = True
        self._turning.close()
        self._forces.mend_all()
        self._resources.give_back_all()
        try:
            self._undo_steps.undo_all()
        finally:
            for node in self._nodes.values():
                node.reap()
            self._sign_of_life.close()


def copy_store(source: Path, into: Path) -> None:
    """Copy a store; zeros become holes, so that a commit log costs what is in it."""
    into.mkdir(parents=True, exist_ok=True)
    call(["cp", "--recursive", "--preserve=timestamps", "--sparse=always", f"{source}/.", str(into)], timeout_s=60)
    shutil.rmtree(into / "lost+found", ignore_errors=True)


def _ports(spec: NodeSpec) -> list[int]:
    if spec.kind in ("client", "controller"):  # a controller listens in a network of its own only
        return []
    if spec.kind == "namesrv":
        return [int(spec.properties.get("listenPort", "9876"))]
    port = int(spec.properties.get("listenPort", "10911"))
    return [port, port - 2, int(spec.properties.get("haListenPort", str(port + 1)))]
