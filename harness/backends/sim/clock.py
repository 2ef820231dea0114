"""A node's clocks: wall and monotonic, with error, step and drift.

Question: what time does this node believe it is?

Model. Both clocks follow true (virtual) time at a rate of ``1 + ppb / 10**9``. The wall clock can also be stepped. A
change begins a new segment; the segments are kept, so that a modification time can be told as the wall clock showed it
then. Monotonic time never goes back. Integer arithmetic only.

Limits. The offsets survive restarts and power cuts (a battery keeps the real-time clock). Timers run on the monotonic
clock, so a fast clock fires them early.
"""

from __future__ import annotations

from random import Random

from harness.backends.sim.models import EPOCH_MS, ClockModel
from reference_impl.environment import MS

BILLION = 1_000_000_000


class SimClock:
    """One node's pair of clocks. All arguments ``true_ns`` are the scheduler's time."""

    __slots__ = ("_mono_base", "_ppb", "_segments", "_since", "is_steady", "offset", "stepped_ms")

    def __init__(self, model: ClockModel, rng: Random) -> None:
        error_ms = rng.randint(-model.wall_error_max_ms, model.wall_error_max_ms)
        self._ppb = 0
        self._since = 0
        self.stepped_ms = 0
        """All steps of the wall clock so far."""
        self._mono_base = rng.randrange(model.uptime_max_ns)
        self.is_steady, self.offset = True, self._mono_base
        """Without drift: monotonic is true time plus *offset* (for the hot path)."""
        self._segments: list[tuple[int, int, int]] = [(0, (EPOCH_MS + error_ms) * MS, 0)]
        """(from true_ns, wall ns at that moment, ppb), ascending."""

    def monotonic(self, true_ns: int) -> int:
        """Nanoseconds; never goes back."""
        elapsed = true_ns - self._since
        return self._mono_base + elapsed + (elapsed * self._ppb // BILLION if self._ppb else 0)

    def wall(self, true_ns: int) -> int:
        """Milliseconds since the epoch as this node shows them, now or at an earlier moment."""
        since, base, ppb = self._segments[-1]
        if since <= true_ns and not ppb:  # nearly always
            return (base + true_ns - since) // MS
        for since, base, ppb in reversed(self._segments):
            if since <= true_ns:
                elapsed = true_ns - since
                return (base + elapsed + elapsed * ppb // BILLION) // MS
        raise ValueError(f"no wall clock before the run began ({true_ns} ns)")

    def true_delay(self, delay_ns: int) -> int:
        """How long *delay_ns* of this node's monotonic clock really takes."""
        return delay_ns * BILLION // (BILLION + self._ppb) if self._ppb else delay_ns

    def step(self, true_ns: int, by_ms: int) -> None:
        """The wall clock jumps; the monotonic clock does not."""
        self._segments.append((true_ns, self._wall_ns(true_ns) + by_ms * MS, self._ppb))
        self.stepped_ms += by_ms

    def drift(self, true_ns: int, ppb: int) -> None:
        """From now on both clocks gain *ppb* nanoseconds a second (negative: lose); 0 heals the rate, not the error."""
        if ppb <= -BILLION:
            raise ValueError(f"a clock that loses {-ppb} ns a second would stand still or go back")
        self._segments.append((true_ns, self._wall_ns(true_ns), ppb))
        self._mono_base, self._since, self._ppb = self.monotonic(true_ns), true_ns, ppb
        self.is_steady, self.offset = ppb == 0, self._mono_base - true_ns

    def _wall_ns(self, true_ns: int) -> int:
        since, base, ppb = self._segments[-1]
        return base + (true_ns - since) + (true_ns - since) * ppb // BILLION
