"""Bugs of an orderly consumer: what it makes of its locks, and of a message that failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from reference_impl.client import Client, MessageQueue, OrderlyConsumer
from reference_impl.client.locking import LockCalls
from reference_impl.client.orderly import UNLOCKED, Line
from reference_impl.defects.defect import ClientDefect, substitute
from reference_impl.environment import Environment


class WorksOn(OrderlyConsumer):
    """A lock that was granted once counts until it is refused."""

    def _may_work(self, env: Environment, line: Line) -> bool:
        return line.locked_ns != UNLOCKED


class PassesOver(OrderlyConsumer):
    """What failed goes behind what waits, and the queue does not rest."""

    def _suspend(self, env: Environment, queue: MessageQueue, line: Line) -> None:
        super()._suspend(env, queue, line)
        if len(line.waiting) > 1:
            line.waiting.rotate(-1)
            self._wake(env, queue)


class NeverGivesBack(LockCalls):
    """Queues that are let go stay locked until their locks expire."""

    def give_back(self, env: Environment, queues: Iterable[MessageQueue]) -> None:
        return None


def _in_order(plant: Callable[[OrderlyConsumer], None]) -> Callable[[Client], None]:
    """In every orderly consumer of a client."""

    def in_client(client: Client) -> None:
        for part in client.parts:
            if isinstance(part, OrderlyConsumer):
                plant(part)

    return in_client


CONSUMING_IN_ORDER: Final = {
    "works-after-its-lock": ClientDefect(
        _in_order(lambda consumer: substitute(consumer, WorksOn)),
        "an orderly consumer goes on with a queue whose lock has expired",
        "a listener that is given messages of a queue whose lock its member holds no more",
        "locks",
        ("B46",),
        "rocketmq#2621, #5465: the old holder of a queue goes on beside the new one",
    ),
    "passes-over-the-refused": ClientDefect(
        _in_order(lambda consumer: substitute(consumer, PassesOver)),
        "an orderly consumer hands out the next message of a queue although the one before it has failed",
        "a later message that is given before one that was refused has come again",
        "order",
    ),
    "keeps-its-locks": ClientDefect(
        _in_order(lambda consumer: substitute(consumer._locks, NeverGivesBack)),
        "an orderly consumer lets a queue go and keeps its lock",
        "a queue that nobody has until its lock expires",
        "owners",
        ("B46",),
        "rocketmq#2621, #5465: a lock that is never released, and a queue that is idle",
    ),
}
