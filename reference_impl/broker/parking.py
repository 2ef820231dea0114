"""Parked pulls: RocketMQ's long polling.

Question: when must a pull that found nothing be tried again?

Model (RocketMQ: PullRequestHoldService). A pull waits under its queue for its suspend time. Two things end the wait:
a dispatched message whose tag hash fits and whose offset lies behind the one asked for, at once; and the sweep every
5 s, which takes a pull whose time is over *or* whose queue has grown at all, so that a message with another tag is
answered PULL_RETRY_IMMEDIATELY by the next sweep. A woken pull is run once more and answered whatever it finds.

Memory. All waiting pulls together have a bound; the connection that is given up for it
(:mod:`reference_impl.shares`) loses its waiting pulls, which its broker must refuse. RocketMQ has no bound here.

Limits. Times are the broker's wall clock, as in RocketMQ: a clock that jumps forward ends every wait at the next sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeVar

import msgspec

from reference_impl.environment import SECOND, Link
from reference_impl.shares import Shares

SWEEP_NS: Final = 5 * SECOND

PARKED_BYTES_MAX: Final = 64 << 20

Request = TypeVar("Request")
_Queue = tuple[str, int]


class Parked(msgspec.Struct, Generic[Request], eq=False):
    """One waiting pull. ``codes`` are the tag hashes wanted; ``None``: any. ``size`` is what it weighs, in bytes."""

    link: Link
    request: Request
    offset: int
    codes: frozenset[int] | None
    parked_ms: int
    suspend_ms: int
    size: int = 1

    def wants(self, tags_code: int) -> bool:
        return self.codes is None or tags_code in self.codes

    def is_over(self, now_ms: int) -> bool:
        return now_ms >= self.parked_ms + self.suspend_ms


class ParkedPulls(Generic[Request]):
    """All waiting pulls of one broker, by (topic, queue id) and by link, each with its number."""

    def __init__(self, bytes_max: int = PARKED_BYTES_MAX) -> None:
        self._by_queue: dict[_Queue, dict[int, Parked[Request]]] = {}
        self._by_link: dict[Link, dict[int, _Queue]] = {}
        self._shares = Shares(bytes_max)
        self._last = 0

    def __len__(self) -> int:
        return sum(len(pulls) for pulls in self._by_link.values())

    def park(self, topic: str, queue_id: int, pull: Parked[Request]) -> list[Parked[Request]]:
        """Let *pull* wait. The pulls that may wait no longer for its sake; it may be among them."""
        self._last += 1
        queue = (topic, queue_id)
        self._by_queue.setdefault(queue, {})[self._last] = pull
        self._by_link.setdefault(pull.link, {})[self._last] = queue
        self._shares.add(pull.link, pull.size)
        given_up = []
        while (link := self._shares.to_give_up()) is not None:
            given_up += self.forget(link)
        return given_up

    def arrived(self, topic: str, queue_id: int, max_offset: int, tags_code: int) -> list[Parked[Request]]:
        """A message was dispatched and the queue now ends at *max_offset*: the pulls to try again."""
        queue = (topic, queue_id)
        pulls = self._by_queue.get(queue)
        if pulls is None:
            return []
        return self._take(
            queue, [key for key, pull in pulls.items() if max_offset > pull.offset and pull.wants(tags_code)]
        )

    def sweep(self, now_ms: int, max_offset: Callable[[str, int], int]) -> list[Parked[Request]]:
        """The pulls to try again because their time is over or their queue has grown."""
        woken: list[Parked[Request]] = []
        for queue, pulls in list(self._by_queue.items()):
            end = max_offset(*queue)
            woken += self._take(
                queue, [key for key, pull in pulls.items() if end > pull.offset or pull.is_over(now_ms)]
            )
        return woken

    def forget(self, link: Link) -> list[Parked[Request]]:
        """Its pulls, which wait no longer: the connection is gone and nobody is left to answer, or it had too many."""
        taken = []
        for key, queue in list(self._by_link.get(link, {}).items()):
            taken += self._take(queue, [key])
        return taken

    def _take(self, queue: _Queue, keys: Iterable[int]) -> list[Parked[Request]]:
        pulls = self._by_queue[queue]
        taken = []
        for key in keys:
            pull = pulls.pop(key)
            self._leave(pull, key)
            taken.append(pull)
        if not pulls:
            del self._by_queue[queue]
        return taken

    def _leave(self, pull: Parked[Request], key: int) -> None:
        parked = self._by_link[pull.link]
        del parked[key]
        if not parked:
            del self._by_link[pull.link]
        self._shares.add(pull.link, -pull.size)
