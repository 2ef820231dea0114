"""Bugs of a member that does not know who it is, whom it speaks to, or where its log begins."""

from __future__ import annotations

from random import Random
from typing import Final

import msgspec

from reference_impl.broker import Broker
from reference_impl.defects.defect import BrokerDefect, substitute
from reference_impl.defects.protocol import engine_of, hears
from reference_impl.dledger.codes import PushType
from reference_impl.dledger.engine import Engine
from reference_impl.dledger.events import Effect, Input, Request
from reference_impl.dledger.identity import Identity
from reference_impl.dledger.messages import PushRequest
from reference_impl.dledger.settings import Settings
from reference_impl.dledger.state import Member
from reference_impl.dledger.turn import LogView
from reference_impl.environment import Environment


class BelievesEveryDisk(Identity):
    """Whatever the file says."""

    def check(self, env: Environment) -> None:
        """Nothing."""


class BeginsAtZero(Engine):
    """A start takes the first record for entry 0."""

    def load(self, env: Environment) -> None:
        super().load(env)
        self.log.begin_index = min(self.log.begin_index, 0)


def _believes_every_disk(broker: Broker) -> None:
    substitute(engine_of(broker).identity, BelievesEveryDisk)


def _answers_strangers(broker: Broker) -> None:
    """Whatever group a request names, it is ours."""
    engine = engine_of(broker)
    true = engine.step

    def wrong(settings: Settings, member: Member, log: LogView, now: int, rng: Random, it: Input) -> list[Effect]:
        if isinstance(it, Request):
            it = Request(it.ref, msgspec.structs.replace(it.message, group=settings.group))
        return true(settings, member, log, now, rng, it)

    engine.step = wrong


def _obeys_old_leaders(member: Member, it: Input) -> Input:
    """A TRUNCATE is one, whoever led when it was sent."""
    if not isinstance(it, Request) or not isinstance(it.message, PushRequest) or it.message.type != PushType.TRUNCATE:
        return it
    return Request(it.ref, msgspec.structs.replace(it.message, term=member.term, leader_id=member.leader))


GROUP_IDENTITY: Final = {
    "group-believes-every-disk": BrokerDefect(
        _believes_every_disk,
        "a member whose disk has to name its group starts with the disk of another group",
        "acknowledged messages of a group lost, which has the log of another in place of its own",
        "accounting",
        (),
        "our own: what Apache's does, since no file of DLedger's names its group",
    ),
    "group-answers-strangers": BrokerDefect(
        _answers_strangers,
        "a member serves requests that name another group",
        "an answer where UNKNOWN_GROUP had to come",
        "answers",
    ),
    "group-obeys-old-leaders": BrokerDefect(
        hears(_obeys_old_leaders),
        "a follower truncates its log for one who led in an older term",
        "SUCCESS, where a follower had to refuse",
        "answers",
        ("A22",),
        "dledger 0.4: TRUNCATE looks at neither term nor leader, only at whether this is a follower",
    ),
    "group-recovers-from-zero": BrokerDefect(
        lambda broker: substitute(engine_of(broker), BeginsAtZero),
        "a start takes the first record of the log for entry 0, although older ones were deleted before it",
        "a follower with an empty disk that never gets an entry, although its leader reaches it",
        "replicas",
        ("A21",),
        "dledger#245, PR #246: recovery did not know that the beginning of the log had moved",
    ),
}
