"""Levers that remember what they did, so that the history can tell when a node started, died, paused.

Question: a fault says what it wanted; which acts were really carried out on which node?

Model. :class:`LeverEvents` is the backend's levers, with a list beside them. Acts may run in another thread than the
recorder's (``Backend.perform``), so they are kept here and written by the run when the act is over.

Limits. An act that raises is not an event: it may or may not have happened, and the fault's own events say so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from faults.levers import Cut, HealStep, Levers, NodeState, PortClass


def ended_by_itself(event: str, fields: Mapping[str, Any]) -> str:
    """What a backend's note says of a node that ended although nobody had asked it to; empty for any other note."""
    if event == "crashed":
        lines = fields.get("last_lines") or str(fields.get("error", "")).splitlines()
        said = str(lines[-1]) if lines else f"exit code {fields.get('exit')}"
        return f"crashed: {said}"
    if event == "exited" and fields.get("code"):
        return f"ended with exit code {fields['code']}"
    return ""


class LeverEvents:
    """``Levers`` that take notes: started, killed, stopped, paused, resumed, power_cut, wiped, copied, tables_removed,
    forces_fail, forces_mended, log_flipped, reconfigured, disk_filled, disk_emptied, clock_stepped."""

    def __init__(self, levers: Levers) -> None:
        self._levers = levers
        self._events: deque[tuple[str, str]] = deque()
        self._started: deque[str] = deque()

    def take_events(self) -> list[tuple[str, str]]:
        """(node, act) since the last call, in order."""
        return [self._events.popleft() for _ in range(len(self._events))]

    def take_started(self) -> list[str]:
        """Nodes that were started since the last call, in order."""
        return [self._started.popleft() for _ in range(len(self._started))]

    def nodes(self) -> Sequence[str]:
        return self._levers.nodes()

    def state(self, node: str) -> NodeState:
        return self._levers.state(node)

    def kill(self, node: str) -> None:
        self._levers.kill(node)
        self._events.append((node, "killed"))

    def stop(self, node: str, timeout_ns: int) -> None:
        self._levers.stop(node, timeout_ns)
        self._events.append((node, "stopped"))

    def start(self, node: str) -> None:
        self._levers.start(node)
        self._events.append((node, "started"))
        self._started.append(node)

    def pause(self, node: str) -> None:
        self._levers.pause(node)
        self._events.append((node, "paused"))

    def resume(self, node: str) -> None:
        self._levers.resume(node)
        self._events.append((node, "resumed"))

    def cut_power(self, node: str) -> None:
        self._levers.cut_power(node)
        self._events.append((node, "power_cut"))

    def power_cut_lost(self, node: str) -> int:
        return self._levers.power_cut_lost(node)

    def fail_forces(self, node: str) -> None:
        self._levers.fail_forces(node)
        self._events.append((node, "forces_fail"))

    def mend_forces(self, node: str) -> None:
        self._levers.mend_forces(node)
        self._events.append((node, "forces_mended"))

    def forces_fail(self, node: str) -> bool:
        return self._levers.forces_fail(node)

    def failed_forces(self, node: str, patience_ns: int = 0) -> int:
        return self._levers.failed_forces(node, patience_ns)

    def flip_log(self, node: str, back_bytes: int) -> int:
        position = self._levers.flip_log(node, back_bytes)
        if position >= 0:
            self._events.append((node, "log_flipped"))
        return position

    def disk_files(self, node: str) -> int:
        return self._levers.disk_files(node)

    def wipe(self, node: str) -> None:
        self._levers.wipe(node)
        self._events.append((node, "wiped"))

    def copy_disk(self, source: str, target: str) -> None:
        self._levers.copy_disk(source, target)
        self._events.append((target, "copied"))

    def remove_tables(self, node: str) -> None:
        self._levers.remove_tables(node)
        self._events.append((node, "tables_removed"))

    def properties(self, node: str) -> Mapping[str, str]:
        return self._levers.properties(node)

    def reconfigure(self, node: str, properties: Mapping[str, str]) -> None:
        self._levers.reconfigure(node, properties)
        self._events.append((node, "reconfigured"))

    def fill_disk(self, node: str, free_bytes: int) -> None:
        self._levers.fill_disk(node, free_bytes)
        self._events.append((node, "disk_filled"))

    def empty_disk(self, node: str) -> None:
        self._levers.empty_disk(node)
        self._events.append((node, "disk_emptied"))

    def disk_space(self, node: str) -> tuple[int, int]:
        return self._levers.disk_space(node)

    def step_clock(self, node: str, by_ms: int) -> None:
        self._levers.step_clock(node, by_ms)
        self._events.append((node, "clock_stepped"))

    def clock_ahead(self, node: str) -> int:
        return self._levers.clock_ahead(node)

    def cut(self, cut: Cut) -> None:
        self._levers.cut(cut)

    def uncut(self, name: str) -> None:
        self._levers.uncut(name)

    def reaches(self, source: str, target: str, port_class: PortClass) -> bool:
        return self._levers.reaches(source, target, port_class)

    def heal_steps(self, verb: str, node_or_cut: str) -> list[HealStep]:
        return self._levers.heal_steps(verb, node_or_cut)
