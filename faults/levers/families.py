"""What a world lets a fault pull: small protocols, one a family, between the fault catalogue and a world.

A lever is a small, blocking, idempotent act on named nodes, plus the question whether it really took effect. Levers
know nothing of plans or histories. A family is what a world either has or lacks as a whole, so its name is what a verb
*needs* and what a backend says that it *can* (``harness/backends/capabilities.py``): a plan that needs a family that
is not to be had is refused before anything runs, and never green.

    a new family      a protocol, here or in a file of its own, and a row in :data:`FAMILIES`
    what records it   nothing to write: acts are marked here (``acts.py``)
    who has it        backends whose capabilities name it; the others go on as they are

Nodes are named ``namesrv-1``, ``broker-a-0`` (broker name, broker id) and ``client-1``. Every act raises
:class:`LeverRefused` where it is not to be had after all.

Limits. Levers are called by position. A world's levers may be one object or several (``acts.Joined``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from faults.levers.acts import act
from faults.levers.values import HealStep, LinkSet, NodeState, PortClass


class Nodes(Protocol):
    """What every world has: who is there, what each is doing, what would have to be undone."""

    def nodes(self) -> Sequence[str]:
        """All node names, clients included, in a stable order."""

    def state(self, node: str) -> NodeState:
        """Observed now, not remembered: ``/proc`` for a process."""

    def heal_steps(self, state: str, node_or_partition: str) -> list[HealStep]:
        """What another process must do to end *state* (``paused``, ``starved``, ``exhausted``, ``short of memory``,
        ``failing``: forces, ``dead``, ``network``), known before it begins; empty in the simulator."""


class ProcessLevers(Nodes, Protocol):
    """A node's process ends and starts."""

    @act("killed")
    def kill(self, node: str) -> None:
        """End the process at once; the page cache survives."""

    @act("stopped")
    def stop(self, node: str, timeout_ns: int) -> None:
        """Ask for an orderly end and wait for it, bounded; raises ``TimeoutError``."""

    @act("started")
    def start(self, node: str) -> None:
        """Start (again), same configuration and data folder. Returns when the process runs, not when it is ready."""


class PauseLevers(Nodes, Protocol):
    """A node's process stands still."""

    @act("paused")
    def pause(self, node: str) -> None:
        """No instruction runs; sockets stay open."""

    @act("resumed")
    def resume(self, node: str) -> None:
        """Undo ``pause``."""


class CpuLevers(Nodes, Protocol):
    """A node's process gets little of a processor. Ends with the process, too."""

    @act("cpu_starved")
    def starve_cpu(self, node: str, percent: int) -> None:
        """From now on the running process gets *percent* of one processor, and stands still when it wants more."""

    @act("cpu_fed")
    def feed_cpu(self, node: str) -> None:
        """Undo it; no error if it is not starved, or has ended."""

    def cpu_share(self, node: str) -> int:
        """The percentage in force; 100: it can have what it wants."""

    def cpu_held_up(self, node: str, patience_ns: int = 0) -> int:
        """How often it stood still for that since it is starved; waits so long for the first time."""


class FileLevers(Nodes, Protocol):
    """A node's process can open no more files and connections. Ends with the process, too."""

    @act("files_exhausted")
    def exhaust_files(self, node: str, left: int) -> None:
        """From now on the running process can open *left* more, and then none; what it closes comes free again."""

    @act("files_freed")
    def free_files(self, node: str) -> None:
        """Undo it; no error if there is nothing to undo."""

    def files_left(self, node: str) -> int:
        """How many the running process can still open."""


class MemoryLevers(Nodes, Protocol):
    """A node's memory is short."""

    @act("killed")
    def run_out_of_memory(self, node: str) -> None:
        """The kernel ends the running process for want of memory; the page cache survives."""

    def memory_kills(self, node: str) -> int:
        """Witness of the last time: how many processes the kernel killed for it."""


class NetworkLevers(Nodes, Protocol):
    """Packets between nodes are dropped."""

    @act(of="links")
    def partition(self, links: LinkSet) -> None:
        """Separate the two links."""

    @act(of="name")
    def heal_partition(self, name: str) -> None:
        """Remove it; no error if it is gone."""

    def leaked_bytes(self, name: str) -> int:
        """Bytes that arrived although the partition of that name stood between, until now or until it was healed; −1 in
        a world that does not count them."""

    def reaches(self, source: str, target: str, port_class: PortClass) -> bool:
        """Send a real probe from *source* to *target* and say whether it got through (bounded, below 1 s)."""

    def connects(self, source: str, target: str, port_class: PortClass) -> bool:
        """Whether *target* answers who opens a connection from *source*: accepted, or refused (bounded, below 1 s)."""


class ConnectionLevers(Nodes, Protocol):
    """Connections between nodes are seen, and end."""

    def connections(self, between: LinkSet) -> frozenset[str]:
        """Those that are up between the two links of *between*, on its port class; no two ever have the same name."""

    @act(of="between")
    def reset_connections(self, between: LinkSet) -> None:
        """Reset all of them, so that both ends learn it at once."""


class PowerLevers(Nodes, Protocol):
    """A node's disk can lose its power."""

    @act("power_cut")
    def cut_power(self, node: str) -> None:
        """End the process and lose everything that was not forced to the disk; the disk is usable again on return."""

    def power_cut_lost(self, node: str) -> int:
        """Witness of the last power cut: bytes (simulator) or files changed (ext4) that the platter lacked; ≥ 0."""

    @act("disk_died")
    def kill_disk(self, node: str) -> None:
        """From now on every write and force of the node's disk fails with EIO; the process goes on."""

    @act("disk_read_only")
    def make_disk_read_only(self, node: str) -> None:
        """From now on every write and force of the node's disk fails with EROFS, as after an error of its file system;
        reads and the process go on."""

    @act("disk_mended")
    def mend_disk(self, node: str) -> None:
        """The node is dead: its disk works again and has what had been forced when it died, or took no more writes. No
        error if it had not."""

    def write_error(self, node: str) -> str:
        """The name of the error with which a write of our own to the node's disk fails (``EIO``); empty: it does
        not."""


class ForceLevers(Nodes, Protocol):
    """Forces (fsync, fdatasync, msync) of a running process fail, or are late. One of the two at a time."""

    @act("forces_fail")
    def fail_forces(self, node: str) -> None:
        """From now on every force of the running process fails with EIO; what it covered is not on the disk. Ends with
        the process, or with ``mend_forces``."""

    @act("forces_delayed")
    def delay_forces(self, node: str, by_ms: int) -> None:
        """From now on every force of the running process reaches the disk, and ends, *by_ms* later, each for itself; 0:
        not before ``mend_forces``. Ends with the process, too, and then what was on its way is not on the disk."""

    @act("forces_mended")
    def mend_forces(self, node: str) -> None:
        """Undo the two; what is on its way goes on at once. No error if nothing fails or is late."""

    def forces_hit(self, node: str) -> bool:
        """Whether the node's forces fail now, or are late, as far as that can be observed without one."""

    def count_forces_hit(self, node: str, patience_ns: int = 0) -> int:
        """Witness of the last of the two: how many forces it has hit; waits so long for the first one."""


class ContentLevers(Nodes, Protocol):
    """What lies on a dead node's disk becomes something else."""

    @act("log_flipped", unless=-1)
    def flip_log(self, node: str, back_bytes: int) -> int:
        """The node is dead: every bit of one sector of its commit log changes, *back_bytes* before the end of what is
        written. Returns the sector's physical offset, −1 if the log does not reach that far back (nothing is done)."""

    def find_files(self, node: str, pattern: str) -> Mapping[str, tuple[int, int]]:
        """The files of the node's disk whose whole path fits the regular expression: path → (size, where what is
        written ends: one more than the place of the last byte that is not zero)."""

    def file_part(self, node: str, file: str, offset: int, size: int) -> bytes:
        """Bytes of one of them; fewer where it is shorter, none where it is not there."""

    @act("file_changed")
    def change_file(self, node: str, file: str, offset: int, data: bytes) -> None:
        """The node is dead: these bytes of the file are *data* from now on, forced."""

    @act("file_cut")
    def cut_file(self, node: str, file: str, size: int) -> None:
        """The node is dead: the file has *size* bytes from now on, −1: it is gone; forced."""

    def disk_files(self, node: str) -> int:
        """How many files the node's disk holds."""

    @act("wiped")
    def wipe(self, node: str) -> None:
        """The node, which is dead, gets an empty disk."""

    @act("disk_kept")
    def keep_disk(self, node: str) -> None:
        """The node is dead: a copy of its disk is kept aside, in place of an earlier one."""

    @act("disk_put_back")
    def put_disk_back(self, node: str) -> None:
        """The node is dead: its disk becomes what was kept of it, forced."""

    def log_end(self, node: str, beyond: int = -1, patience_ns: int = 0) -> int:
        """Physical offset of the end of what is written in the node's log; waits so long for one above *beyond*."""

    @act("copied", of="target")
    def copy_disk(self, source: str, target: str) -> None:
        """Both are dead: the disk of *target* becomes a copy of that of *source*, forced."""

    @act("tables_removed")
    def remove_tables(self, node: str) -> None:
        """The node, which is dead, loses its tables (topics, groups, offsets: ``store/config``) and keeps its log."""


class ConfigurationLevers(Nodes, Protocol):
    """A dead node is started with other properties."""

    def properties(self, node: str) -> Mapping[str, str]:
        """RocketMQ property names and values that the node was started with, or will be."""

    @act("reconfigured")
    def reconfigure(self, node: str, properties: Mapping[str, str]) -> None:
        """The node, which is dead, will be started with *properties*, and with no others."""


class SpaceLevers(Nodes, Protocol):
    """A node's disk gets full."""

    @act("disk_filled")
    def fill_disk(self, node: str, free_bytes: int) -> None:
        """Something else occupies the node's disk but for *free_bytes*."""

    @act("disk_emptied")
    def empty_disk(self, node: str) -> None:
        """Undo ``fill_disk``; no error if it was not filled."""

    def disk_space(self, node: str) -> tuple[int, int]:
        """(free, all) bytes of the node's disk."""


class ClockLevers(Nodes, Protocol):
    """A node's wall clock jumps."""

    @act("clock_stepped")
    def step_clock(self, node: str, by_ms: int) -> None:
        """The node's wall clock jumps by *by_ms* (negative: back); its monotonic clock does not."""

    def clock_ahead(self, node: str) -> int:
        """By how many milliseconds the node's wall clock was stepped in all."""


class LinkLevers(Nodes, Protocol):
    """Connections between nodes go through proxies that shape what passes."""

    @act(of="name")
    def shape_links(self, link: LinkSet, toxic: str, attributes: Mapping[str, int | str]) -> None:
        """From now on a *toxic* of the proxy (``faults/mechanisms/frameproxy/toxics.py``) is on every connection
        between the links, in the direction that its attribute ``stream`` names, else in both. Connections that were
        there are reset, once."""

    @act(of="name")
    def unshape_links(self, name: str) -> None:
        """The toxic is gone, what it held goes on; no error if there is none."""

    def links_shaped(self, name: str, patience_ms: int = 0) -> tuple[int, int]:
        """(proxies whose toxic is in force as their server says, connections that go through them now); waits so long
        for the first connection."""

    def frames_hit(self, name: str, patience_ms: int = 0) -> tuple[int, int]:
        """(frames that the rule fits, frames that it has acted on), of a toxic that acts on frames; waits so long for
        the first one."""

    def answers_after_ms(self, source: str, target: str, patience_ms: int) -> int:
        """Real requests by RocketMQ's protocol from *source* to the client port of *target*, one after another: the
        fewest milliseconds that an answer took; −1 if not all came in time."""


FAMILIES: Final[dict[str, type]] = {
    "process": ProcessLevers,
    "pause": PauseLevers,
    "cpu": CpuLevers,
    "files": FileLevers,
    "memory": MemoryLevers,
    "network": NetworkLevers,
    "connections": ConnectionLevers,
    "power": PowerLevers,
    "forces": ForceLevers,
    "content": ContentLevers,
    "configuration": ConfigurationLevers,
    "space": SpaceLevers,
    "clock": ClockLevers,
    "links": LinkLevers,
}
"""Every family by its name: what a verb needs, what a backend can."""


class Levers(
    ProcessLevers,
    PauseLevers,
    CpuLevers,
    FileLevers,
    MemoryLevers,
    NetworkLevers,
    ConnectionLevers,
    PowerLevers,
    ForceLevers,
    ContentLevers,
    ConfigurationLevers,
    SpaceLevers,
    ClockLevers,
    Protocol,
):
    """All families above as one: for verbs that need several of them. A verb that needs only one may say which."""
