"""A life that gets a part of a processor only.

Model. As the kernel does it with a process that always has something to do: in each period it runs until its share is
used up, and then stands still until the next one. A step takes no time here, so a share cannot be used up by steps;
what comes while it stands still waits, which is what others see of it.

Limits. The end of the life is the end of it.
"""

from __future__ import annotations

from typing import Any, Final

from harness.backends.sim.life import Life
from harness.backends.sim.scheduler import Scheduler
from reference_impl.environment import MS

PERIOD_NS: Final = 100 * MS


class Starving:
    """From now until :meth:`end`, *life* runs *percent* of the time."""

    def __init__(self, scheduler: Scheduler, life: Life, percent: int) -> None:
        self._scheduler, self._life, self.percent = scheduler, life, percent
        self._is_over = False
        self.held_up = 0
        """In how many periods something had to wait."""
        self._stall()

    def end(self) -> None:
        self._is_over = True
        self._life.stall(stalled=False)

    @property
    def is_in_force(self) -> bool:
        return not self._is_over and self._life.state != "dead"

    def _stall(self, _: Any = None, __: Any = None) -> None:
        if self.is_in_force:
            self._life.stall(stalled=True)
            self._after(100 - self.percent, self._run)

    def _run(self, _: Any = None, __: Any = None) -> None:
        if self.is_in_force:
            self.held_up += self._life.has_waiting
            self._life.stall(stalled=False)
            self._after(self.percent, self._stall)

    def _after(self, percent: int, call: Any) -> None:
        self._scheduler.at(self._scheduler.now + PERIOD_NS * percent // 100, call)
