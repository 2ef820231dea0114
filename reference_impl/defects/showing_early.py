"""Bugs of what members of a group show: messages that no majority has yet.

Model. A member builds its queues from entry to entry, as far as its log is committed; a bug is another limit in that
one's place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_impl.broker import Broker
from reference_impl.defects.defect import BrokerDefect, substitute
from reference_impl.defects.electing import engine_of
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


class WakesDispatch(LogFlush):
    """Not only what is committed is news to it."""

    _dispatcher: Dispatcher

    def wrote(self, env: Environment) -> None:
        super().wrote(env)
        self._dispatcher.wake(env)


def follower_shows_everything(broker: Broker) -> None:
    """Its queues go to the end of its log."""
    engine = engine_of(broker)
    dispatcher = broker.state.store._dispatcher
    substitute(dispatcher, AsFarAsWritten, _written=lambda: engine.log.end_position)
    substitute(engine.flush, WakesDispatch, _dispatcher=dispatcher)


SHOWING_EARLY: Final = {
    "group-follower-shows-all": BrokerDefect(
        follower_shows_everything,
        "a follower shows what is in its log, whether a majority has it or not",
        "a follower showed messages of a leader that was deposed, where others stand now",
        "freshness",
        ("A14",),
        "dledger#278: a follower applies entries up to an index that its leader told, not as far as it can know them",
    ),
}
"""All of this file."""
