"""What a backend lets a fault pull: the protocols between the fault catalogue and a world.

A lever is a small, blocking, idempotent act on named nodes, plus the question whether it really took effect. Levers
know nothing of plans or histories. A backend that lacks one *refuses* with a reason and a hint; the cell is then
skipped with that reason, it is never green.

Nodes are named ``namesrv-1``, ``broker-a-0`` (broker name, broker id) and ``client-1``. A *port class* narrows a
network cut: ``any``, ``broker`` (client port and the fast port), ``namesrv``, ``ha``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

PortClass = Literal["any", "broker", "namesrv", "ha"]
NodeState = Literal["running", "paused", "dead"]


class LeverRefused(Exception):
    """The backend cannot do this here. ``reason`` and ``hint`` are shown to the user."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(f"{reason} ({hint})" if hint else reason)
        self.reason, self.hint = reason, hint


@dataclass(frozen=True)
class Cut:
    """Packets between every node of *left* and every node of *right* are dropped, both ways, on one port class.

    ``one_way`` drops only left → right. ``name`` is unique in the run; healing goes by it.
    """

    name: str
    left: tuple[str, ...]
    right: tuple[str, ...]
    port_class: PortClass = "any"
    one_way: bool = False


@dataclass(frozen=True)
class HealStep:
    """One undo as data, so that another process can carry it out after ours has died.

    ``action`` is a key of the table in ``faults/mechanisms/undo.py``; ``arguments`` are JSON strings and numbers.
    """

    action: str
    arguments: dict[str, str | int]


class Levers(Protocol):
    """All levers of a backend. Every act raises :class:`LeverRefused` where it is not to be had."""

    def nodes(self) -> Sequence[str]:
        """All node names, clients included, in a stable order."""

    def state(self, node: str) -> NodeState:
        """Observed now, not remembered: ``/proc`` for a process."""

    def kill(self, node: str) -> None:
        """End the process at once; the page cache survives."""

    def stop(self, node: str, timeout_ns: int) -> None:
        """Ask for an orderly end and wait for it, bounded; raises ``TimeoutError``."""

    def start(self, node: str) -> None:
        """Start (again), same configuration and data folder. Returns when the process runs, not when it is ready."""

    def pause(self, node: str) -> None:
        """No instruction runs; sockets stay open."""

    def resume(self, node: str) -> None:
        """Undo ``pause``."""

    def cut_power(self, node: str) -> None:
        """End the process and lose everything that was not forced to the disk; the disk is usable again on return."""

    def power_cut_lost(self, node: str) -> int:
        """Witness of the last power cut: bytes (simulator) or files changed (ext4) that the platter lacked; ≥ 0."""

    def fail_forces(self, node: str) -> None:
        """From now on every force (fsync, fdatasync, msync) of the running process fails with EIO; what it covered is
        not on the disk. Ends with the process, or with ``mend_forces``."""

    def mend_forces(self, node: str) -> None:
        """Undo ``fail_forces``; no error if nothing fails."""

    def forces_fail(self, node: str) -> bool:
        """Whether the node's forces fail now, as far as that can be observed without one."""

    def failed_forces(self, node: str, patience_ns: int = 0) -> int:
        """Witness of the last ``fail_forces``: how many forces it has failed; waits so long for the first one."""

    def flip_log(self, node: str, back_bytes: int) -> int:
        """The node is dead: every bit of one sector of its commit log changes, *back_bytes* before the end of what is
        written. Returns the sector's physical offset, −1 if the log does not reach that far back (nothing is done)."""

    def disk_files(self, node: str) -> int:
        """How many files the node's disk holds."""

    def wipe(self, node: str) -> None:
        """The node, which is dead, gets an empty disk."""

    def copy_disk(self, source: str, target: str) -> None:
        """Both are dead: the disk of *target* becomes a copy of that of *source*, forced."""

    def remove_tables(self, node: str) -> None:
        """The node, which is dead, loses its tables (topics, groups, offsets: ``store/config``) and keeps its log."""

    def properties(self, node: str) -> Mapping[str, str]:
        """RocketMQ property names and values that the node was started with, or will be."""

    def reconfigure(self, node: str, properties: Mapping[str, str]) -> None:
        """The node, which is dead, will be started with *properties*, and with no others."""

    def fill_disk(self, node: str, free_bytes: int) -> None:
        """Something else occupies the node's disk but for *free_bytes*."""

    def empty_disk(self, node: str) -> None:
        """Undo ``fill_disk``; no error if it was not filled."""

    def disk_space(self, node: str) -> tuple[int, int]:
        """(free, all) bytes of the node's disk."""

    def step_clock(self, node: str, by_ms: int) -> None:
        """The node's wall clock jumps by *by_ms* (negative: back); its monotonic clock does not."""

    def clock_ahead(self, node: str) -> int:
        """By how many milliseconds the node's wall clock was stepped in all."""

    def cut(self, cut: Cut) -> None:
        """Install a network cut."""

    def uncut(self, name: str) -> None:
        """Remove it; no error if it is gone."""

    def reaches(self, source: str, target: str, port_class: PortClass) -> bool:
        """Send a real probe from *source* to *target* and say whether it got through (bounded, below 1 s)."""

    def heal_steps(self, verb: str, node_or_cut: str) -> list[HealStep]:
        """What another process must do to undo *verb*, known before it is done; empty in the simulator."""
