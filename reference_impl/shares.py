"""What connections make a node keep, and which of them has had more than its part.

Question: a node keeps what its peers began and did not end (frames that are not whole, pulls that wait). All of it
together has a bound. Whose is given up when the bound is met?

Model. Each link has a *holding* in bytes. Over the bound the link to give up is, of those that hold at least the mean,
the one whose holding began first. One holds at least the mean always, so something is freed; who holds little is never
hit, however many hold much; and of those that hold much the quick ones are spared, since their holdings are young.

Limits. Holdings are what their owner says they weigh; what Python keeps beside them is not counted.
"""

from __future__ import annotations

from reference_impl.environment import Link


class Shares:
    """Holdings of links, and their sum."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._held: dict[Link, int] = {}
        self.total = 0

    def hold(self, link: Link, size: int) -> None:
        """*link* holds *size* bytes now; 0: nothing any more, and what it holds next is young."""
        self.total += size - self._held.get(link, 0)
        if size:
            self._held[link] = size
        else:
            self._held.pop(link, None)

    def add(self, link: Link, size: int) -> None:
        """*size* bytes more, or fewer."""
        self.hold(link, self._held.get(link, 0) + size)

    def to_give_up(self) -> Link | None:
        """``None`` while all of it is within the bound."""
        if self.total <= self._bytes_max:
            return None
        count = len(self._held)
        return next(link for link, size in self._held.items() if size * count >= self.total)
