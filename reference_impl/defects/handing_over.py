"""Bugs of a leadership that is handed over, and of what a member remembers of an election."""

from __future__ import annotations

from random import Random
from typing import Final

from reference_impl.broker import Broker
from reference_impl.defects.defect import BrokerDefect
from reference_impl.defects.protocol import GoOn, around, engine_of
from reference_impl.dledger.codes import Role
from reference_impl.dledger.events import Answered, Effect, Input, Note
from reference_impl.dledger.messages import TransferRequest
from reference_impl.dledger.settings import Settings
from reference_impl.dledger.state import Member, NextVote
from reference_impl.dledger.turn import LogView


def _keeps_its_transferee(member: Member, _: LogView, it: Input, go_on: GoOn) -> list[Effect]:
    term, transferee = member.term, member.transferee
    effects = go_on()
    is_of_transfer = isinstance(it, Answered) and isinstance(it.request, TransferRequest)
    if is_of_transfer and member.role == Role.LEADER and member.term == term:
        member.transferee = transferee
    return effects


def keeps_its_last_round(broker: Broker) -> None:
    """What its last vote round came to outlives the candidacy."""
    engine = engine_of(broker)
    next_vote: NextVote = "same term"
    true = engine.step

    def wrong(settings: Settings, member: Member, log: LogView, now: int, rng: Random, it: Input) -> list[Effect]:
        nonlocal next_vote
        role = member.role
        effects = true(settings, member, log, now, rng, it)
        if any(isinstance(effect, Note) and effect.event == "vote_round" for effect in effects):
            next_vote = member.next_vote
        if role == Role.CANDIDATE and member.role == Role.FOLLOWER:
            member.next_vote = next_vote
        return effects

    engine.step = wrong


HANDING_OVER: Final = {
    "group-keeps-its-transferee": BrokerDefect(
        around(_keeps_its_transferee),
        "a leader whose transfer has failed goes on refusing messages, as if it were under way",
        "a group that takes no message although its leader and all members are well",
        "availability",
        ("A09",),
        "dledger, commit 8ac0960: the transferee was set before the request and not cleared when it failed",
    ),
    "group-keeps-its-last-round": BrokerDefect(
        keeps_its_last_round,
        "a member that follows a leader remembers that its last vote round was to be followed by a larger term",
        "a leader that is thrown out by a member that was only paused",
        "elections",
        ("A08",),
        "dledger, PR #37: the last result of a vote outlived the candidacy, and the next one raised the term at once",
    ),
}
