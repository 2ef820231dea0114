"""Virtual time: one heap of events, and nothing else that orders.

Question: what happens next?

Model. An event is the tuple ``(time_ns, sequence, call, a, b)``; running it is ``call(a, b)``. The sequence number
breaks ties, so that two events of one instant run in the order they were made. Time jumps to the next event; between
events nothing happens. There is no cancelling: whoever made an event that no longer matters recognises it when it is
due (a timer by its generation, a process by its life).

Limits. Events and virtual time are bounded; reaching a bound raises ``BudgetExceeded``. The hot paths of network, disk
and timers push onto ``heap`` themselves, with ``next(sequence)``, to save a call.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

from harness.backends.sim.models import Budgets
from harness.errors import BudgetExceeded
from reference_impl.environment import SECOND

Event = tuple[int, int, Callable[[Any, Any], object], Any, Any]
Trace = Callable[[int, int, str], None]
"""Told of every event before it runs: (time_ns, sequence, name of the call)."""


class Scheduler:
    """The heap and the clock that follows it."""

    __slots__ = ("_budgets", "events", "heap", "now", "sequence", "trace")

    def __init__(self, budgets: Budgets, trace: Trace | None = None) -> None:
        self.heap: list[Event] = []
        self.sequence = count(1)
        self.now = 0
        self.events = 0
        """How many have run."""
        self.trace = trace
        self._budgets = budgets

    def at(self, time_ns: int, call: Callable[[Any, Any], object], a: Any = None, b: Any = None) -> None:
        """Run ``call(a, b)`` at *time_ns*, which must not lie in the past."""
        heappush(self.heap, (time_ns, next(self.sequence), call, a, b))

    def run_until(self, done: Callable[[], bool], deadline_ns: int) -> bool:
        """Run events until *done* (→ True; asked after every event) or until ``now`` is *deadline_ns* (→ False).

        Events of the deadline's own instant are left for the next call. May be entered again from within an event.
        """
        if done():
            return True
        heap, limit, trace, pop = self.heap, self._budgets.events, self.trace, heappop
        last_ns = min(deadline_ns, self._budgets.virtual_ns)
        while heap and heap[0][0] < last_ns:
            time_ns, sequence, call, a, b = pop(heap)
            self.now = time_ns
            self.events = events = self.events + 1
            if events > limit:
                raise BudgetExceeded(f"the run needed more than {limit} events", place=f"{time_ns / SECOND:.3f} s")
            if trace is not None:
                trace(time_ns, sequence, getattr(call, "__qualname__", repr(call)))
            call(a, b)
            if done():
                return True
        if deadline_ns > self._budgets.virtual_ns:
            raise BudgetExceeded(f"the run needed more than {self._budgets.virtual_ns / SECOND:.0f} simulated seconds")
        self.now = max(self.now, deadline_ns)
        return False
