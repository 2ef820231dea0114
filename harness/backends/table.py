"""The table of backends: the one place that knows their names. Everybody else asks for properties.

    to add a backend    a module with ``capabilities()`` and ``open_world(order)``, and a row here

Question: what must be known of a world before it is opened: does the same seed give the same history, do its nodes
write files, what can run on them, what can be done to them?

Limits. Rows name modules, which are imported when they are asked: the simulator must not load asyncio, and ``--help``
loads neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Final, Protocol, cast

from faults.errors import suggestion
from harness.backends.capabilities import Capabilities
from harness.backends.opening import Order, World
from harness.errors import UsageError


class Offer(Protocol):
    """What the module of a backend offers."""

    def capabilities(self) -> Capabilities:
        """Of this backend on this machine, looked up now; changes nothing."""

    def open_world(self, order: Order) -> World:
        """A world with no node in it; ``BackendUnavailable`` with what is missing."""

    def enter(self) -> None:
        """Of those that need it, before anything else: get what this user may have here. May start the command again,
        and not return."""

    def gains(self) -> frozenset[str]:
        """The families of levers that a command gets by that."""


@dataclass(frozen=True)
class Row:
    """One backend: its name, a line for people, where its code is, and what follows for a run in it."""

    name: str
    summary: str
    module: str
    is_deterministic: bool = False
    """The same scenario, seed and code give the same history, byte for byte. Else a run cannot be had again: its
    journal is forced to the disk, and a replay compares verdicts."""
    needs_folder: bool = True
    """Its nodes write files: a run has a folder from the beginning, and it stays."""
    runs_roles: bool = False
    """Nodes are role objects in the harness's own process; else they are commands."""
    needs_entering: bool = False
    """It may have more as another user of the kernel, and starts a command anew for that."""
    runs_at_once: bool = False
    """Runs are small and independent: many are made, on all cores, and a cell of the matrix owes its control."""

    def capabilities(self) -> Capabilities:
        """Looked up now."""
        return self._offer().capabilities()

    def open_world(self, order: Order) -> World:
        """A world with no node in it."""
        if order.folder is None and self.needs_folder:
            raise UsageError(
                f"runs on the backend {self.name!r} need a folder", hint="keep them: their nodes write files"
            )
        return self._offer().open_world(order)

    def enter(self) -> None:
        """What a backend that ``needs_entering`` does before its command begins."""
        self._offer().enter()

    def gains(self) -> frozenset[str]:
        """The families of levers that a command gets by entering."""
        return self._offer().gains() if self.needs_entering else frozenset()

    def _offer(self) -> Offer:
        return cast(Offer, import_module(self.module))


BACKENDS: Final[dict[str, Row]] = {
    row.name: row
    for row in (
        Row(
            "sim",
            "deterministic simulator: one seed, one history, byte for byte",
            f"{__package__}.sim.offer",
            is_deterministic=True,
            needs_folder=False,
            runs_roles=True,
            runs_at_once=True,
        ),
        Row("process", "real processes", f"{__package__}.process.offer", needs_entering=True),
        Row("docker", "containers in an engine of this machine", f"{__package__}.docker.offer"),
    )
}
DEFAULT: Final = next(iter(BACKENDS))


def backend_named(name: str) -> Row:
    """The row; ``UsageError`` for a backend that does not exist."""
    if name not in BACKENDS:
        raise UsageError(f"unknown backend {name!r}", hint=suggestion(name, tuple(BACKENDS)))
    return BACKENDS[name]
