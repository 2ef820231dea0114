"""A node: its name, host, disk and clocks, which stay, and its lives, which pass.

Question: what of a node survives a restart?

Model. The disk and the clocks survive everything; the process does not. Each life gets a new role object and a
generator of its own (``node/<name>/<life number>``), so that a restart does not depend on how much was drawn before.

Limits. A client is a node too, but its role belongs to the harness, which has to know how its next life begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from traceback import extract_tb
from typing import Any

from harness.backends.backend import NodeSpec
from harness.backends.sim.clock import SimClock
from harness.backends.sim.disk import SimDisk
from harness.backends.sim.life import Life
from harness.backends.sim.power_cut import CutReport
from reference_impl.environment import Role

Tell = Callable[["Node", str, dict[str, Any]], None]


class Node:
    """One simulated machine with one process."""

    def __init__(self, name: str, host: str, spec: NodeSpec | None, disk: SimDisk, clock: SimClock, tell: Tell) -> None:
        self.name, self.host = name, host
        self.spec = spec
        """``None``: a client, whose role is the harness's own."""
        self.again: Callable[[], Role] | None = None
        """The role of a client's next life."""
        self.disk, self.clock = disk, clock
        self.life: Life | None = None
        self.lives = 0
        self.last_cut: CutReport | None = None
        self.notes: list[tuple[int, str, dict[str, Any]]] = []
        """(true ns, event, fields) of everything told, crashes included."""
        self.tell = tell
        self.fate: Callable[[], None] = self.kill
        """What befalls the process that dies inside a change of its disk, as a lever had arranged."""

    def on_note(self, event: str, fields: dict[str, Any]) -> None:
        self.tell(self, event, fields)

    def on_crash(self, error: Exception) -> None:
        self.tell(self, "crashed", {"error": describe(error), "traceback": tell_traceback(error)})

    def on_exit(self, code: int) -> None:
        self.tell(self, "exited", {"code": code})

    def on_death(self) -> None:
        self.fate()
        self.tell(self, "died_in_step", {})

    def kill(self) -> None:
        """The process ends, now."""
        if self.life is not None:
            self.life.end()


def describe(error: BaseException) -> str:
    """``Type: message``, without memory addresses, which would differ from run to run."""
    return re.sub(r"0x[0-9a-f]+", "0x…", f"{type(error).__name__}: {error}")


def tell_traceback(error: BaseException) -> str:
    """Innermost last, one ``file:line function: source`` a frame; file names relative to the import path's package."""
    frames = extract_tb(error.__traceback__)
    return "\n".join(f"{_short(frame.filename)}:{frame.lineno} {frame.name}: {frame.line}" for frame in frames)


def _short(filename: str) -> str:
    """The last parts of a path, from the outermost folder that is a Python package: the same on every machine."""
    path = Path(filename)
    parent = path.parent
    while (parent / "__init__.py").exists():
        parent = parent.parent
    return path.relative_to(parent).as_posix() if path.is_absolute() else path.name
