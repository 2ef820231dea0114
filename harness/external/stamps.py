"""Another process's monotonic clock, put on ours.

Question: a client says that something happened at *t* of its clock. When was that on ours, within which bounds?

Model. Both clocks run at the same speed (one machine, CLOCK_MONOTONIC or a constant apart). We ask at *a*, it stamps
*t*, we have the answer at *b*: so its clock is ahead of ours by between ``t − b`` and ``t − a``. Each exchange narrows
the bounds; their width is that of the quickest exchange, not of the mean. A stamp then lies within
``[t − ahead_max, t − ahead_min]`` of ours.

Limits. Clocks that drift apart by more than the bounds leave no common interval: the newest exchange then begins
anew, and ``steps`` counts it. Before the first exchange nothing is known.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Stamps:
    """How far a client's clock is ahead of ours, in nanoseconds."""

    ahead_min: int = 0
    ahead_max: int = 0
    exchanges: int = 0
    steps: int = 0

    def exchanged(self, asked_ns: int, theirs: int, answered_ns: int) -> None:
        """They stamped *theirs* at some time between our *asked_ns* and *answered_ns*."""
        low, high = theirs - answered_ns, theirs - asked_ns
        if self.exchanges and low <= self.ahead_max and self.ahead_min <= high:
            low, high = max(low, self.ahead_min), min(high, self.ahead_max)
        elif self.exchanges:
            self.steps += 1
        self.ahead_min, self.ahead_max = low, high
        self.exchanges += 1

    @property
    def width_ns(self) -> int:
        """Between the bounds of any stamp; −1 while nothing is known."""
        return self.ahead_max - self.ahead_min if self.exchanges else -1

    def ours(self, theirs: int) -> tuple[int, int]:
        """Earliest and latest time on our clock that their stamp can mean; ``ValueError`` before an exchange."""
        if not self.exchanges:
            raise ValueError("no exchange yet: nothing is known of their clock")
        return theirs - self.ahead_max, theirs - self.ahead_min
