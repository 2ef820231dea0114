"""Parked pulls: RocketMQ's long polling.

Question: when must a pull that found nothing be tried again?

Model (RocketMQ: PullRequestHoldService). A pull waits under its queue for its suspend time. Two things end the wait:
a dispatched message whose tag hash fits and whose offset lies behind the one asked for, at once; and the sweep every
5 s, which takes a pull whose time is over *or* whose queue has grown at all, so that a message with another tag is
answered PULL_RETRY_IMMEDIATELY by the next sweep. A woken pull is run once more and answered whatever it finds.

Limits. Times are the broker's wall clock, as in RocketMQ: a clock that jumps forward ends every wait at the next sweep.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from reference_impl.environment import SECOND, Link

SWEEP_NS: Final = 5 * SECOND

Request = TypeVar("Request")


@dataclass(frozen=True)
class Parked(Generic[Request]):
    """One waiting pull. ``codes`` are the tag hashes wanted; ``None``: any."""

    link: Link
    request: Request
    offset: int
    codes: frozenset[int] | None
    parked_ms: int
    suspend_ms: int

    def wants(self, tags_code: int) -> bool:
        return self.codes is None or tags_code in self.codes

    def is_over(self, now_ms: int) -> bool:
        return now_ms >= self.parked_ms + self.suspend_ms


class ParkedPulls(Generic[Request]):
    """All waiting pulls of one broker, by (topic, queue id)."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, int], list[Parked[Request]]] = {}

    def __len__(self) -> int:
        return sum(len(pulls) for pulls in self._waiting.values())

    def park(self, topic: str, queue_id: int, pull: Parked[Request]) -> None:
        """Let *pull* wait."""
        self._waiting.setdefault((topic, queue_id), []).append(pull)

    def arrived(self, topic: str, queue_id: int, max_offset: int, tags_code: int) -> list[Parked[Request]]:
        """A message was dispatched and the queue now ends at *max_offset*: the pulls to try again."""
        pulls = self._waiting.get((topic, queue_id))
        if pulls is None:
            return []
        return self._take((topic, queue_id), lambda pull: max_offset > pull.offset and pull.wants(tags_code))

    def sweep(self, now_ms: int, max_offset: Callable[[str, int], int]) -> list[Parked[Request]]:
        """The pulls to try again because their time is over or their queue has grown."""
        woken: list[Parked[Request]] = []
        for key in list(self._waiting):
            end = max_offset(*key)
            woken += self._take(key, lambda pull, end=end: end > pull.offset or pull.is_over(now_ms))  # type: ignore[misc]
        return woken

    def forget(self, link: Link) -> None:
        """The connection is gone: nobody is left to answer."""
        for key in list(self._waiting):
            self._take(key, lambda pull: pull.link == link)

    def _take(self, key: tuple[str, int], due: Callable[[Parked[Request]], bool]) -> list[Parked[Request]]:
        pulls = self._waiting[key]
        taken = [pull for pull in pulls if due(pull)]
        kept = [pull for pull in pulls if not due(pull)] if taken else pulls
        if kept:
            self._waiting[key] = kept
        else:
            del self._waiting[key]
        return taken
