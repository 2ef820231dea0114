"""How a bug gets into a group's protocol.

Model. The protocol is one function of a member's engine; a bug is another one in its place, which changes what happens
(:func:`hears`) or what comes of it (:func:`around`), and leaves the rest to the true one.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from reference_impl.broker import Broker
from reference_impl.broker.group_broker import GroupBroker
from reference_impl.dledger.engine import Engine
from reference_impl.dledger.events import Effect, Input
from reference_impl.dledger.settings import Settings
from reference_impl.dledger.state import Member
from reference_impl.dledger.turn import LogView

Plant = Callable[[Broker], None]
GoOn = Callable[[], list[Effect]]
"""What the true protocol makes of it."""


def engine_of(broker: Broker) -> Engine:
    """The member of a broker of a group; ``ValueError`` for any other broker."""
    if not isinstance(broker, GroupBroker):
        raise ValueError("this bug is one of a group: enableDLegerCommitLog=true")
    return broker.store.engine


def hears(change: Callable[[Member, Input], Input]) -> Plant:
    """The protocol sees what *change* makes of what happens."""

    def plant(broker: Broker) -> None:
        engine = engine_of(broker)
        true = engine.step

        def wrong(settings: Settings, member: Member, log: LogView, now: int, rng: Random, it: Input) -> list[Effect]:
            return true(settings, member, log, now, rng, change(member, it))

        engine.step = wrong

    return plant


def around(wrap: Callable[[Member, LogView, Input, GoOn], list[Effect]]) -> Plant:
    """*wrap* says what comes of what happens; it may let the true protocol go on, before or after it does its harm."""

    def plant(broker: Broker) -> None:
        engine = engine_of(broker)
        true = engine.step

        def wrong(settings: Settings, member: Member, log: LogView, now: int, rng: Random, it: Input) -> list[Effect]:
            return wrap(member, log, it, lambda: true(settings, member, log, now, rng, it))

        engine.step = wrong

    return plant
