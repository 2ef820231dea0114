"""The levers of real processes: what a fault can pull here.

Question: what does each verb do to a process, and how is it seen that it did? Signals go through pidfds, states are
read from ``/proc``, cuts are nftables in the nodes' namespaces, a power cut is SIGSTOP, shutdown of the ext4, SIGKILL,
unmount, mount; a disk is lost by emptying its folder. All of it blocks; the run calls it through ``Backend.perform``
while its clients go on.

Limits. Client roles live in the harness's own process: their lives are ended and held there (``hosted.py``); they have
no disk and no power.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from select import select
from time import monotonic

from faults.errors import FaultTrouble, InjectionFailed
from faults.levers import HealStep, LeverRefused, LinkSet, NodeState, PortClass
from faults.mechanisms import decay, faketime, loopfs, pidfd, sockets, undo
from harness.backends.process.contents import change, copy_forced, cut, empty, files_of, find, part_of
from harness.backends.process.disks import DEATH_TIMEOUT_S, Disks, hold_still, space_of
from harness.backends.process.forces import Forces
from harness.backends.process.hosted import HostedClient
from harness.backends.process.network import PROBE_PORT, Network, connects, reaches
from harness.backends.process.node import Node
from harness.backends.process.resources import LACKING, ResourceLevers
from harness.errors import UsageError

LOG_POLL_S = 0.1
TABLES = "store/config"
"""Where a broker keeps its tables, below its data folder (RocketMQ: BrokerPathConfigHelper)."""


class ProcessLevers:
    """``faults.levers.Levers`` for processes. *start_node* makes a process of a node; *clients* are hosted roles."""

    def __init__(
        self,
        network: Network,
        disks: Disks,
        nodes: dict[str, Node],
        clients: dict[str, HostedClient],
        start_node: Callable[[Node], None],
        forces: Forces,
        resources: Callable[[Callable[[str], pidfd.ProcessId]], ResourceLevers],
    ) -> None:
        self._network, self._disks, self._start_node, self._forces = network, disks, start_node, forces
        self._nodes, self._clients = nodes, clients
        self.resources = resources(self._living)
        """Levers, too: of what a process needs of its machine."""

    def nodes(self) -> Sequence[str]:
        return [*self._nodes, *self._clients]

    def state(self, node: str) -> NodeState:
        if (client := self._clients.get(node)) is not None:
            return client.state()
        return self._server(node).state()

    def kill(self, node: str) -> None:
        if (client := self._clients.get(node)) is not None:
            client.kill()
            return
        server, process = self._ending(node)
        if process and pidfd.send_signal(process, signal.SIGKILL):
            self._forces.abandon(node)
            self._wait_end(server, process, DEATH_TIMEOUT_S)

    def stop(self, node: str, timeout_ns: int) -> None:
        if (client := self._clients.get(node)) is not None:
            client.stop(timeout_ns)
            return
        server, process = self._ending(node)
        if process and pidfd.send_signal(process, signal.SIGTERM) and not pidfd.wait_dead(process, timeout_ns / 1e9):
            raise TimeoutError(f"{node} did not end within {timeout_ns / 1e9:g} s of SIGTERM")
        server.reap()

    def start(self, node: str) -> None:
        if (client := self._clients.get(node)) is not None:
            client.start()
            return
        server = self._server(node)
        if server.state() == "dead":
            self._start_node(server)

    def pause(self, node: str) -> None:
        if (client := self._clients.get(node)) is not None:
            client.pause()
            return
        hold_still(node, self._living(node))

    def resume(self, node: str) -> None:
        if (client := self._clients.get(node)) is not None:
            client.resume()
            return
        if process := self._server(node).process:
            pidfd.send_signal(process, signal.SIGCONT)

    def run_out_of_memory(self, node: str) -> None:
        process = self._living(node)
        server, _ = self._ending(node)
        try:
            self.resources.take_memory(node)
        except (FaultTrouble, LeverRefused):
            server.is_ending = False
            raise
        self._wait_end(server, process, DEATH_TIMEOUT_S)

    def cut_power(self, node: str) -> None:
        server, process = self._ending(node)
        running = process if server.state() != "dead" else None
        try:
            loss = self._disks.cut_power(node, running, lambda: self._forces.abandon(node))
        except LeverRefused:
            server.is_ending = False
            raise
        server.reap()
        server.last_cut_lost = len(loss.files)

    def power_cut_lost(self, node: str) -> int:
        return self._server(node).last_cut_lost

    def kill_disk(self, node: str) -> None:
        self._disks.die(self._server(node).name)

    def make_disk_read_only(self, node: str) -> None:
        self._disks.abort(self._server(node).name)

    def mend_disk(self, node: str) -> None:
        self._disks.revive(self._dead(node).name)

    def write_error(self, node: str) -> str:
        return loopfs.write_error(self._server(node).data)

    def fail_forces(self, node: str) -> None:
        self._forces.fail(self._server(node).name, self._living(node))

    def mend_forces(self, node: str) -> None:
        self._forces.mend(node)

    def delay_forces(self, node: str, by_ms: int) -> None:
        self._forces.delay(self._server(node).name, self._living(node), by_ms)

    def forces_hit(self, node: str) -> bool:
        return self._forces.are_hit(node)

    def count_forces_hit(self, node: str, patience_ns: int = 0) -> int:
        return self._forces.count_hit(node, patience_ns)

    def flip_log(self, node: str, back_bytes: int) -> int:
        return decay.flip_log(decay.log_folder(self._dead(node).data), back_bytes)

    def find_files(self, node: str, pattern: str) -> Mapping[str, tuple[int, int]]:
        return find(self._server(node).data, pattern)

    def file_part(self, node: str, file: str, offset: int, size: int) -> bytes:
        return part_of(self._server(node).data / file, offset, size)

    def change_file(self, node: str, file: str, offset: int, data: bytes) -> None:
        change(self._dead(node).data / file, offset, data)

    def cut_file(self, node: str, file: str, size: int) -> None:
        cut(self._dead(node).data / file, size)

    def disk_files(self, node: str) -> int:
        return files_of(self._server(node).data)

    def wipe(self, node: str) -> None:
        empty(self._dead(node).data)

    def keep_disk(self, node: str) -> None:
        data = self._dead(node).data
        kept = _kept(data)
        kept.mkdir(exist_ok=True)
        empty(kept)
        copy_forced(data, kept)

    def put_disk_back(self, node: str) -> None:
        data = self._dead(node).data
        empty(data)
        copy_forced(_kept(data), data)

    def log_end(self, node: str, beyond: int = -1, patience_ns: int = 0) -> int:
        data, deadline = self._server(node).data, monotonic() + patience_ns / 1e9
        while (end := decay.log_end(decay.log_folder(data))) <= beyond and monotonic() < deadline:
            select([], [], [], LOG_POLL_S)
        return end

    def copy_disk(self, source: str, target: str) -> None:
        ours, theirs = self._dead(target).data, self._dead(source).data
        empty(ours)
        copy_forced(theirs, ours)

    def remove_tables(self, node: str) -> None:
        tables = self._dead(node).data / TABLES
        if tables.is_dir():
            empty(tables)

    def properties(self, node: str) -> Mapping[str, str]:
        return self._server(node).spec.properties

    def reconfigure(self, node: str, properties: Mapping[str, str]) -> None:
        server = self._dead(node)
        server.spec = replace(server.spec, properties=dict(properties))

    def fill_disk(self, node: str, free_bytes: int) -> None:
        self._server(node)
        self._disks.fill(node, free_bytes)

    def empty_disk(self, node: str) -> None:
        self._server(node)
        self._disks.release(node)

    def disk_space(self, node: str) -> tuple[int, int]:
        return space_of(self._server(node).data)

    def step_clock(self, node: str, by_ms: int) -> None:
        server = self._server(node)
        if not server.spec.has_own_clock:
            raise LeverRefused(f"{node} was started with the clock of the machine", "it must be known before it starts")
        faketime.set_ahead(server.clock, faketime.ahead(server.clock) + by_ms)

    def clock_ahead(self, node: str) -> int:
        """What the file says, if a process with that clock sees it, and the node (if it runs) has that clock."""
        server = self._server(node)
        is_fooled = server.process is None or server.state() == "dead" or faketime.is_fooled(server.process)
        if not server.spec.has_own_clock or not is_fooled:
            return 0
        faketime.check_shown(server.clock)
        return faketime.ahead(server.clock)

    def partition(self, links: LinkSet) -> None:
        for node in (*links.left, *links.right):
            self._known(node)
        self._network.partition(links)

    def heal_partition(self, name: str) -> None:
        self._network.heal_partition(name)

    def leaked_bytes(self, name: str) -> int:
        return self._network.leaked_bytes(name)

    def reaches(self, source: str, target: str, port_class: PortClass) -> bool:
        return reaches(self._network, self._known(source), self._known(target), PROBE_PORT[port_class])

    def connects(self, source: str, target: str, port_class: PortClass) -> bool:
        return connects(self._network, self._known(source), self._known(target), PROBE_PORT[port_class])

    def connections(self, between: LinkSet) -> frozenset[str]:
        return sockets.established(*self._ends_of(between))

    def reset_connections(self, between: LinkSet) -> None:
        sockets.reset(*self._ends_of(between))

    def heal_steps(self, state: str, node_or_partition: str) -> list[HealStep]:
        """Those of processes and disks exist since these were made; left are a sleep, a tracer and a partition."""
        if node_or_partition not in self.nodes():
            return self._network.heal_partition_steps(node_or_partition)
        if state == "failing":
            return [self._forces.heal_step(node_or_partition)]
        if node_or_partition in self._clients:
            return []  # ends with us
        if state in LACKING:
            return self.resources.heal_steps(state, node_or_partition)
        process = self._server(node_or_partition).process if state == "paused" else None
        return [undo.continue_process(process)] if process else []

    # -- how -------------------------------------------------------------------------------------------------------

    def _known(self, node: str) -> str:
        if node not in self._nodes and node not in self._clients:
            raise UsageError(f"no node {node!r}", hint=f"known: {', '.join(self.nodes())}")
        return node

    def _ends_of(self, between: LinkSet) -> tuple[list[str], list[str], list[str], PortClass]:
        """Namespaces and addresses of both links."""
        left, right = ([self._known(node) for node in side] for side in (between.left, between.right))
        namespaces = list(dict.fromkeys(self._network.namespace(node) for node in (*left, *right)))
        ours, theirs = ([self._network.host(node) for node in side] for side in (left, right))
        return namespaces, ours, theirs, between.port_class

    def _server(self, node: str) -> Node:
        if node in self._clients:
            raise LeverRefused(f"{node} lives in the harness's own process", "it has no disk and no power to cut")
        return self._nodes[self._known(node)]

    def _dead(self, node: str) -> Node:
        server = self._server(node)
        if server.state() != "dead":
            raise InjectionFailed(f"{node} runs: end it first")
        return server

    def _living(self, node: str) -> pidfd.ProcessId:
        process = self._server(node).process
        if process is None or pidfd.state(process) == "dead":
            raise InjectionFailed(f"{node} is dead")
        return process

    def _ending(self, node: str) -> tuple[Node, pidfd.ProcessId | None]:
        """The node, marked as about to end by our own hand."""
        server = self._server(node)
        server.is_ending = True
        return server, server.process

    def _wait_end(self, server: Node, process: pidfd.ProcessId, timeout_s: float) -> None:
        if not pidfd.wait_dead(process, timeout_s):
            raise InjectionFailed(f"{server.name} was still there {timeout_s:g} s after SIGKILL")
        server.reap()


def _kept(data: Path) -> Path:
    """Where a copy of a node's disk is kept: beside it, on the disk of the harness."""
    return data.with_name(f"{data.name}.kept")
