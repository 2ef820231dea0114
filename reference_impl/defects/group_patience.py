"""Bugs of a member that waits for less than it says, or writes down less than it knows."""

from __future__ import annotations

from random import Random
from typing import Final

import msgspec

from reference_impl.broker import Broker
from reference_impl.defects.defect import BrokerDefect, substitute
from reference_impl.defects.protocol import engine_of
from reference_impl.dledger.codes import Role
from reference_impl.dledger.engine import Engine
from reference_impl.dledger.events import Effect, Input
from reference_impl.dledger.settings import Settings
from reference_impl.dledger.state import Member
from reference_impl.dledger.turn import LogView
from reference_impl.environment import Environment
from reference_impl.store import mapped_files


class NotesNothing(Engine):
    """The checkpoint is as it was at the start."""

    def _save_checkpoint(self, env: Environment, done: mapped_files.Done) -> None:
        done(env)


def has_no_patience(broker: Broker) -> None:
    """As leader it takes the first round of heart beats without a majority for the loss of it."""
    engine = engine_of(broker)
    true = engine.step

    def wrong(settings: Settings, member: Member, log: LogView, now: int, rng: Random, it: Input) -> list[Effect]:
        least = msgspec.structs.replace(settings, heart_beat_leak=0)
        return true(least if member.role == Role.LEADER else settings, member, log, now, rng, it)

    engine.step = wrong


def waits_for_a_second(broker: Broker) -> None:
    """Proposals end unconfirmed after a second."""
    engine = engine_of(broker)
    true = engine.step

    def wrong(settings: Settings, member: Member, log: LogView, now: int, rng: Random, it: Input) -> list[Effect]:
        return true(msgspec.structs.replace(settings, ack_wait_ms=1000), member, log, now, rng, it)

    engine.step = wrong


GROUP_PATIENCE: Final = {
    "group-has-no-patience": BrokerDefect(
        has_no_patience,
        "a leader steps down after one round of heart beats without a majority",
        "an election for every hiccup of the network",
        "elections",
    ),
    "group-waits-for-a-second": BrokerDefect(
        waits_for_a_second,
        "a message that no majority has confirmed within a second counts as not confirmed in time",
        "producers that are turned away while their leader could still have kept them waiting",
        "quorum-waits",
    ),
    "group-notes-nothing": BrokerDefect(
        lambda broker: substitute(engine_of(broker), NotesNothing),
        "a member never writes down what is committed",
        "a member whose checkpoint is from another time",
        "member-logs",
    ),
}
