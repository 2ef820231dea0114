"""Bugs of what members of a group show: messages that no majority has yet.

Model. A member builds its queues from entry to entry, as far as its log is committed; a bug is another limit in that
one's place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_impl.broker import Broker
from reference_impl.defects.defect import BrokerDefect, substitute
from reference_impl.defects.protocol import engine_of
from reference_impl.dledger.log_flush import LogFlush
from reference_impl.dledger.message_log import CommittedDispatcher
from reference_impl.environment import Environment
from reference_impl.store.dispatch import Dispatcher


class AsFarAsWritten(CommittedDispatcher):
    """Of a follower: what it was sent is good enough."""

    _written: Callable[[], int]

    @property
    def end(self) -> int:
        return self._written() if self.is_slave else super().end


class AsFarAsTaken(CommittedDispatcher):
    """Of a leader: what it has taken is good enough."""

    _written: Callable[[], int]

    @property
    def end(self) -> int:
        return super().end if self.is_slave else self._written()


class WakesDispatch(LogFlush):
    """Not only what is committed is news to it."""

    _dispatcher: Dispatcher

    def wrote(self, env: Environment) -> None:
        super().wrote(env)
        self._dispatcher.wake(env)


def shows_everything(wrong: type[CommittedDispatcher]) -> Callable[[Broker], None]:
    """Queues go to the end of the log where *wrong* says so."""

    def plant(broker: Broker) -> None:
        engine = engine_of(broker)
        dispatcher = broker.state.store._dispatcher
        substitute(dispatcher, wrong, _written=lambda: engine.log.end_position)
        substitute(engine.flush, WakesDispatch, _dispatcher=dispatcher)

    return plant


SHOWING_EARLY: Final = {
    "group-follower-shows-all": BrokerDefect(
        shows_everything(AsFarAsWritten),
        "a follower shows what is in its log, whether a majority has it or not",
        "a follower showed messages of a leader that was deposed, where others stand now",
        "freshness",
        ("A14",),
        "dledger#278: a follower applies entries up to an index that its leader told, not as far as it can know them",
    ),
    "group-leader-shows-all": BrokerDefect(
        shows_everything(AsFarAsTaken),
        "a leader shows what it has taken, whether a majority has it or not",
        "two messages at one offset: one that a deposed leader showed, and one that the group acknowledged",
        "log",
    ),
}
"""All of this file."""
