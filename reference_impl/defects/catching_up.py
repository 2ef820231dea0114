"""Bugs of a member that lacks entries, or has too many: it is not looked at, not told, or told in the wrong way."""

from __future__ import annotations

from random import Random
from typing import Final

import msgspec

from reference_impl.broker import Broker
from reference_impl.defects.defect import BrokerDefect, substitute
from reference_impl.defects.protocol import GoOn, around, engine_of, hears
from reference_impl.dledger.codes import PushType, Role
from reference_impl.dledger.entry import Entry
from reference_impl.dledger.events import Answered, Effect, Input, Request
from reference_impl.dledger.log import FileLog
from reference_impl.dledger.messages import PushRequest
from reference_impl.dledger.settings import Settings
from reference_impl.dledger.state import Member
from reference_impl.dledger.turn import LogView

SLOTS: Final = 2
"""Of the queue that only a follower empties: DLedger's has 1024."""


def _commit_stays(member: Member, _: LogView, __: Input, go_on: GoOn) -> list[Effect]:
    committed = member.committed
    effects = go_on()
    member.committed = max(member.committed, committed)
    return effects


def _is_commit(it: Input) -> bool:
    return isinstance(it, Answered) and isinstance(it.request, PushRequest) and it.request.type == PushType.COMMIT


def _does_not_read_commit_answers(_: Member, it: Input) -> Input:
    return msgspec.structs.replace(it, answer=None) if _is_commit(it) else it


def blocks_on_full_queue(broker: Broker) -> None:
    """What asks to compare or truncate waits for the queue, and what comes later for a thread."""
    engine, waiting = engine_of(broker), 0
    true = engine.step

    def wrong(settings: Settings, member: Member, log: LogView, now: int, rng: Random, it: Input) -> list[Effect]:
        nonlocal waiting
        waiting = 0 if member.role == Role.FOLLOWER else waiting
        if isinstance(it, Request):
            if waiting > SLOTS:
                return []
            waiting += isinstance(it.message, PushRequest) and it.message.type != PushType.APPEND
        return true(settings, member, log, now, rng, it)

    engine.step = wrong


def _pushes_what_is_gone(member: Member, log: LogView, _: Input, go_on: GoOn) -> list[Effect]:
    """Nothing is done about a follower that needs an entry before the first, in whatever step it comes up."""
    gone = [
        progress
        for progress in member.progress.values()
        if progress.mode == "APPEND" and min(progress.next, progress.matched + 1) < log.begin_index
    ]
    for progress in gone:
        progress.mode, progress.is_asking = "COMPARE", True
    effects = go_on()
    for progress in gone:
        progress.mode, progress.is_asking = "APPEND", False
    return effects


class RebuildsTheOtherRow(FileLog):
    """A log that begins anew has new data files, and its old index."""

    def restart(self, entry: Entry) -> None:
        env = self._opened
        self.data.destroy(env)
        self.begin_index = self.end_index = self.end_term = -1
        self.data.file_to_append(env, entry.pos)
        self.data.flushed_to = entry.pos
        self.append(entry)


CATCHING_UP: Final = {
    "group-truncates-not-its-commit": BrokerDefect(
        around(_commit_stays),
        "a member whose committed entries are truncated goes on taking their indexes as committed",
        "a group whose leader never becomes master",
        "availability",
        ("A03",),
        "dledger#316: the committed index stays beyond the end, and the broker waits for both to be equal",
    ),
    "group-pushes-what-is-gone": BrokerDefect(
        around(_pushes_what_is_gone),
        "a leader that has deleted the entry that a follower needs next goes on trying to push it",
        "a follower that never gets another entry, although its leader reaches it",
        "replicas",
        ("A10",),
        "dledger#87, fixed by d51c2d8: the dispatcher failed at the missing entry in every round",
    ),
    "group-rebuilds-the-other-row": BrokerDefect(
        lambda broker: substitute(engine_of(broker).log, RebuildsTheOtherRow),
        "a member whose log begins anew makes new data files and keeps the old index",
        "a member whose index leads to no record",
        "member-logs",
        ("A20",),
        "dledger PR #333: where the index had to be rebuilt, the data files were",
    ),
    "group-overlooks-an-empty-member": BrokerDefect(
        hears(_does_not_read_commit_answers),
        "a leader does not look at the end that a member tells with its answer to COMMIT",
        "acknowledged messages gone after a second disk was lost, although the first had been replaced long before",
        "accounting",
        ("A11",),
        "dledger#61: a member restarted with an empty disk was never given the log again",
    ),
    "group-blocks-on-its-queue": BrokerDefect(
        blocks_on_full_queue,
        "requests to compare wait in a queue that only a follower empties; when it is full every request waits",
        "a member that runs, answers nobody and follows nobody",
        "elections",
        ("A12",),
        "dledger#282, fixed by #283: server threads blocked on the full queue, votes and heart beats with them",
    ),
}
