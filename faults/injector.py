"""The life cycle of faults: resolve → journal → inject → probe → hold → heal → heal probe.

Question: how does a plan become acts on a living cluster, so that every act is written down, is known to have bitten,
and is undone whatever happens?

Model. The injector never waits and owns no clock. The run asks when it is needed next and calls it then:

    injector.begin()
    while (due := injector.next_ns()) is not None:
        backend.run_until(stopped, due)
        injector.act()
    injector.heal_all()

Each step is an event, told by ``emit(fault, step, node, effective, detail)``; times are those of the recorder:

    step        node           effective   detail
    resolve     each node hit  1           do, at_ns and for_ns as drawn, left and right of a cut; comes *before* the act
                (none)         0           reason: the selector fits nobody now; the fault did not bite
    journal     (none)         1           what is promised
    inject      each node hit  −1          comes after the act, so the act lies between resolve and inject
                (none)         0           refused or error, with the reason
    probe       node or none   1, 0, −1    did it bite? with what was seen
    heal        each node hit  −1          after the undo
    heal_probe  node or none   1, 0, −1    is it gone?

For a cut ``node`` is each node of the left side; the right side is in ``detail`` of ``resolve``.

Faults may overlap. A node that two faults keep dead (or paused) comes back with the last of them. A fault without
``for`` lasts until ``heal_all``. Draws come from one generator a fault, so that a change of one moves no other.

Limits. One thread. Levers run inside ``perform``, while the world goes on; a slow lever makes later faults late, and
their ``resolve`` says so (``late_ns``).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol, TypeVar

from faults.catalogue.network import others
from faults.errors import FaultTrouble, InjectionFailed, SelectorError, UndoFailed
from faults.journal import HEAL_COMMAND, HealJournal
from faults.levers import LeverRefused, Levers
from faults.plan import Fault
from faults.selectors import CutSelector, Topology, resolve, resolve_cut
from faults.verb import NO, UNTOLD, YES, Facts, Probed, Strike, Verb

T = TypeVar("T")


class Emit(Protocol):
    """One event of a fault, for the history."""

    def __call__(self, fault: str, step: str, node: str, effective: int, detail: dict[str, Any]) -> None: ...


class Perform(Protocol):
    """Carry out a blocking act while the world goes on (``Backend.perform``)."""

    def __call__(self, work: Callable[[], T], /) -> T: ...


@dataclass
class _Active:
    """A fault that has been injected and not been healed."""

    fault: Fault
    strike: Strike
    facts: Facts
    entry: int | None = None
    heal_at_ns: int | None = None
    held: dict[str, str] = field(default_factory=dict)


class Injector:
    """Carries out one plan. ``journal`` may be ``None`` where nothing outlives the harness (the simulator)."""

    def __init__(
        self,
        plan: Sequence[Fault],
        levers: Levers,
        *,
        rng: Random,
        emit: Emit,
        now: Callable[[], int],
        perform: Perform,
        journal: HealJournal | None = None,
        topology: Callable[[], Topology] | None = None,
    ) -> None:
        """*now* is the run's clock (``Backend.now``); *topology* says who is what at this moment (default: by names)."""
        raise NotImplementedError

    def begin(self) -> None:
        """The load begins now: draw every ``at`` and ``for``, and count from here."""
        raise NotImplementedError

    def next_ns(self) -> int | None:
        """When (on the run's clock) there is something to do; ``None``: nothing is left but ``heal_all``."""
        raise NotImplementedError

    def act(self) -> None:
        """Do everything that is due now, heals before strikes of the same time.

        :class:`LeverRefused` if the backend cannot do it, :class:`InjectionFailed` if the lever raised (what was
        begun is healed first), :class:`UndoFailed` if a heal failed. Each is an event before it is raised.
        """
        raise NotImplementedError

    def heal_all(self) -> None:
        """Heal everything active, newest first, and drop what has not struck yet.

        Everything is tried; :class:`UndoFailed` at the end names what is left. Idempotent.
        """
        raise NotImplementedError

    @property
    def active(self) -> tuple[str, ...]:
        """Faults in force, as sentences for a display."""
        raise NotImplementedError
