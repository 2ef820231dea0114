"""Queue locks of ordered consumption: who may consume a queue alone, and until when.

Question: may this client of this group hold this queue now?

Model (RocketMQ: RebalanceLockManager). A lock belongs to (group, queue) and is held by a client id since its last
lock call. It is granted if it is free, if the same client asks again, or if the holder has been silent for more than
60 s of the broker's *wall* clock. Whether the caller is alive or subscribed is not looked at.

Limits. Memory of one broker: a restart forgets every lock, and a wall clock that jumps forward frees them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeVar

LOCK_LIFE_MS: Final = 60_000
"""RocketMQ: rocketmq.broker.rebalance.lockMaxLiveTime."""

Queue = TypeVar("Queue")


@dataclass(frozen=True)
class _Holder:
    client_id: str
    locked_ms: int


class QueueLocks:
    """The locks of one broker; queues are any hashable value (the decoded ``MessageQueue``)."""

    def __init__(self) -> None:
        self._holders: dict[tuple[str, object], _Holder] = {}

    def lock(self, now_ms: int, group: str, client_id: str, queues: Iterable[Queue]) -> list[Queue]:
        """Lock or renew what can be had; returns the queues that *client_id* now holds, in the order asked."""
        granted = [queue for queue in queues if self._may_hold(now_ms, group, client_id, queue)]
        for queue in granted:
            self._holders[group, queue] = _Holder(client_id, now_ms)
        return granted

    def unlock(self, group: str, client_id: str, queues: Iterable[object]) -> None:
        """Free what *client_id* holds; locks of others are left alone."""
        for queue in queues:
            holder = self._holders.get((group, queue))
            if holder is not None and holder.client_id == client_id:
                del self._holders[group, queue]

    def _may_hold(self, now_ms: int, group: str, client_id: str, queue: object) -> bool:
        holder = self._holders.get((group, queue))
        return holder is None or holder.client_id == client_id or now_ms - holder.locked_ms > LOCK_LIFE_MS
