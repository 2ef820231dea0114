"""Bugs of a member that is a node of its own: what it reads to a client, and when it says that an entry is stored.

Model. The protocol is one function of a member's engine (:mod:`.electing`); a request of a client is answered by
another one in its place. The first two are how DLedger's own leader reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import ClassVar, Final

from reference_impl.defects.defect import Defect, Kind
from reference_impl.dledger import completing
from reference_impl.dledger.codes import Role
from reference_impl.dledger.events import Effect, Input, Reply, Request
from reference_impl.dledger.messages import AppendResponse, GetRequest, GetResponse
from reference_impl.dledger.node import DLedgerNode
from reference_impl.dledger.settings import Settings
from reference_impl.dledger.state import Member
from reference_impl.dledger.turn import LogView, Turn


@dataclass(frozen=True)
class MemberDefect(Defect):
    """One that is planted in a member that is a node of its own."""

    node: ClassVar[Kind] = "dledger"

    plant: Callable[[DLedgerNode], None]


def leader_reads(read: Callable[[Turn, int, GetRequest], None]) -> Callable[[DLedgerNode], None]:
    """A leader answers a get by *read*."""

    def plant(node: DLedgerNode) -> None:
        true = node.engine.step

        def wrong(settings: Settings, member: Member, log: LogView, now: int, rng: Random, it: Input) -> list[Effect]:
            is_asked = isinstance(it, Request) and isinstance(it.message, GetRequest)
            if not (is_asked and member.role == Role.LEADER):
                return true(settings, member, log, now, rng, it)
            turn = Turn(settings, member, log, now, rng)
            read(turn, it.ref, it.message)  # type: ignore[union-attr, arg-type]
            return turn.effects

        node.engine.step = wrong

    return plant


def reads_everything(turn: Turn, ref: int, request: GetRequest) -> None:
    """Whether it is committed is not asked."""
    entry = turn.tail.entry(request.begin_index)
    if entry is not None:
        turn.reply(ref, GetResponse(entries=[entry], group=turn.settings.group))
    else:
        turn.member.reads.append((ref, request, turn.member.beats + 1))
        turn.set_timer("beat", 0)


def acknowledges_at_once(node: DLedgerNode) -> None:
    """What waits for others is answered."""
    true = node.engine.step

    def wrong(settings: Settings, member: Member, log: LogView, now: int, rng: Random, it: Input) -> list[Effect]:
        effects = true(settings, member, log, now, rng, it)
        pending, member.pending = member.pending, {}
        for index, one in pending.items():
            stored = AppendResponse(index=index, pos=one.pos, term=member.term)
            stored.group, stored.leader_id = settings.group, settings.self_id
            effects.append(Reply(one.ref, stored))
        return effects

    node.engine.step = wrong


READING_ENTRIES: Final = {
    "entries-unconfirmed": MemberDefect(
        leader_reads(completing.answer_read),
        "a leader says that there is no such entry without asking a majority whether it still leads",
        "an entry that was acknowledged, or read, and is later said not to be there",
        "entries",
        ("A25",),
        "dledger, DLedgerServer#handleGet: a leader that was deposed and does not know it reads what it has",
    ),
    "entries-uncommitted": MemberDefect(
        leader_reads(reads_everything),
        "a leader reads entries that are not committed",
        "two entries at one index",
        "entries",
        ("A25",),
        "dledger, DLedgerServer#handleGet: what is in the leader's own log is read, whoever else has it",
    ),
    "entries-at-once": MemberDefect(
        acknowledges_at_once,
        "a leader acknowledges an entry before a majority has it",
        "two entries at one index",
        "entries",
        ("A13",),
        "dledger#142, #134: acknowledged before a quorum has it",
    ),
}
