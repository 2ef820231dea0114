"""Bugs of a group's protocol: who is elected, who counts, and what is answered before it is so.

How they get there: :mod:`~reference_impl.defects.protocol`.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

import msgspec

from reference_impl.broker import Broker
from reference_impl.defects.defect import BrokerDefect, substitute
from reference_impl.defects.protocol import engine_of, hears
from reference_impl.dledger import committing
from reference_impl.dledger.codes import Code, Role
from reference_impl.dledger.events import Answered, Effect, Input, Request, SaveTerm, Timer
from reference_impl.dledger.group_store import GroupStore
from reference_impl.dledger.log_flush import LogFlush
from reference_impl.dledger.messages import (
    HeartBeatResponse,
    VoteRequest,
)
from reference_impl.dledger.settings import Settings
from reference_impl.dledger.state import Member
from reference_impl.dledger.turn import LogView, Turn
from reference_impl.environment import Environment

INT64_MAX: Final = 2**63 - 1


def _every_log_is_as_good(_: Member, it: Input) -> Input:
    if isinstance(it, Request) and isinstance(it.message, VoteRequest):
        better = msgspec.structs.replace(it.message, ledger_end_index=INT64_MAX, ledger_end_term=INT64_MAX)
        return msgspec.structs.replace(it, message=better)
    return it


def _votes_again(member: Member, it: Input) -> Input:
    is_asked = isinstance(it, Request) and isinstance(it.message, VoteRequest)
    if is_asked or it == Timer("vote"):
        member.voted_for = ""
    return it


def _larger_terms_are_not_heard(_: Member, it: Input) -> Input:
    if not (isinstance(it, Answered) and isinstance(it.answer, HeartBeatResponse)):
        return it
    return msgspec.structs.replace(it, answer=None) if it.answer.code == Code.EXPIRED_TERM else it


def counts_sent(broker: Broker) -> None:
    """What was pushed to a follower counts as being there."""
    engine = engine_of(broker)
    true = engine.step

    def wrong(settings: Settings, member: Member, log: LogView, now: int, rng: Random, it: Input) -> list[Effect]:
        effects = true(settings, member, log, now, rng, it)
        for progress in member.progress.values():
            if progress.mode == "APPEND":
                progress.matched = max(progress.matched, progress.next - 1)
        return effects

    engine.step = wrong


def counts_itself_twice(broker: Broker) -> None:
    """One follower fewer makes a quorum for what is committed."""
    engine = engine_of(broker)
    true = engine.step

    def wrong(settings: Settings, member: Member, log: LogView, now: int, rng: Random, it: Input) -> list[Effect]:
        effects = true(settings, member, log, now, rng, it)
        if member.role == Role.LEADER and log.end_index > member.committed:
            turn = Turn(_Easily(settings), member, log, now, rng)  # type: ignore[arg-type]
            committing.advance(turn)
            effects += turn.effects
        return effects

    engine.step = wrong


class _Easily:
    """Settings with a quorum that lacks one."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.quorum = settings.quorum - 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._settings, name)


def keeps_no_vote(broker: Broker) -> None:
    """Nobody is told to write them down."""
    engine = engine_of(broker)
    true = engine.step

    def wrong(settings: Settings, member: Member, log: LogView, now: int, rng: Random, it: Input) -> list[Effect]:
        return [e for e in true(settings, member, log, now, rng, it) if not isinstance(e, SaveTerm)]

    engine.step = wrong


class AnswersFirst(LogFlush):
    """What was written counts as forced; forces come when they come."""

    def wrote(self, env: Environment) -> None:
        if self.on_forced is not None:
            self.on_forced(env, self._log.writes, self._log.end_index)
        super().wrote(env)


class TooEarly(GroupStore):
    """Whoever leads is caught up."""

    @property
    def is_caught_up(self) -> bool:
        return True


def master_too_early(broker: Broker) -> None:
    """Its numbers are those of what is dispatched."""
    engine_of(broker)
    substitute(broker.state.store, TooEarly)


ELECTING: Final = {
    "group-ignores-logs": BrokerDefect(
        hears(_every_log_is_as_good),
        "a member votes for whoever asks, however short the candidate's log is",
        "acknowledged messages gone after an election, although a majority had them",
        "accounting",
        ("A01",),
        "dledger#52, fixed by #53: a follower's last log term was its current term, so that short logs won elections",
    ),
    "group-votes-again": BrokerDefect(
        hears(_votes_again),
        "a member forgets whom it has voted for in this term",
        "two leaders in one term",
        "elections",
        ("A23",),
        "dledger, MemberState: a vote that is not kept lets two members win the same term",
    ),
    "group-keeps-no-vote": BrokerDefect(
        keeps_no_vote,
        "term and vote are not written to the disk",
        "a member that was killed comes back in a smaller term than it had",
        "elections",
        ("A23",),
        "dledger, MemberState: the file of term and vote is deleted before the new one is there, and errors are "
        "swallowed",
    ),
    "group-counts-sent": BrokerDefect(
        counts_sent,
        "a leader takes what it has pushed to a follower as being there",
        "acknowledged messages gone after a leader was partitioned from its followers",
        "accounting",
        ("A13", "C13"),
        "dledger#142, #134: pushes booked at the wrong index are acknowledged before a quorum has them",
    ),
    "group-quorum-lacks-one": BrokerDefect(
        counts_itself_twice,
        "a leader commits with one member fewer than a majority",
        "acknowledged messages gone after a leader was partitioned from its followers",
        "accounting",
        ("A02",),
        "dledger#4, #305: entries count as committed that a later leader need not have",
    ),
    "group-answers-before-force": BrokerDefect(
        lambda broker: substitute(engine_of(broker).flush, AnswersFirst, _is_strict=False),
        "with strict persistence a member answers before its log is forced",
        "acknowledged messages lost when a majority loses its power, although members answer from their disks",
        "accounting",
        ("A26",),
        "dledger, by design: acknowledged from the page cache",
    ),
    "group-hears-no-larger-term": BrokerDefect(
        hears(_larger_terms_are_not_heard),
        "a leader with a quorum of heart beats does not look at a larger term that a member tells",
        "a member that is well and connected follows nobody",
        "elections",
        ("A05",),
        "dledger#325, #247, fixed in 0.3.2: a rejoining member with a larger term and a shorter log stays a candidate",
    ),
    "group-master-too-early": BrokerDefect(
        master_too_early,
        "a new leader becomes master before what is in its log is committed and dispatched",
        "queue offsets given out twice",
        "log",
        (),
        "rocketmq, DLedgerRoleChangeHandler: numbers of queues are taken from what is dispatched so far",
    ),
}
