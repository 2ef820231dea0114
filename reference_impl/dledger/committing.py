"""What is committed: the leader counts, the followers are told.

Question: from when on does an entry stay for ever?

Model (Raft; DLedger: QuorumAckChecker). The leader commits the last entry that a quorum has *and that it wrote in its
own term*; everything before is committed with it. A follower commits what its leader tells, as far as it has it. The
committed index never goes down.

Deviation: DLedger 0.3 counts entries of older terms as well, so that a committed entry can be replaced by a leader who
never had it. Here a new leader writes an entry of its own term behind them (``Settings.marker``).
"""

from __future__ import annotations

from reference_impl.dledger.completing import complete_pending
from reference_impl.dledger.events import Committed
from reference_impl.dledger.turn import Turn


def advance(turn: Turn) -> None:
    """Count again."""
    member, tail = turn.member, turn.tail
    own = min(member.durable, tail.end) if turn.settings.is_strict else tail.end
    counts = sorted([own, *(progress.matched for progress in member.progress.values())], reverse=True)
    index = counts[turn.settings.quorum - 1]
    if index > member.committed and tail.term_of(index) == member.term:
        commit_to(turn, index)
        complete_pending(turn)


def commit_to(turn: Turn, index: int) -> None:
    """Entries up to *index*, which are in our log, are committed."""
    if index > turn.member.committed:
        turn.member.committed = index
        turn.effects.append(Committed(index))
