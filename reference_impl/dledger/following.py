"""The follower's side of replication: take the leader's entries, in their order.

Question: which entry comes into the log, and what is the leader told?

Model (DLedger: DLedgerEntryPusher.EntryHandler). A push of entries waits, by its first index, until it follows the last
entry. What does not follow is answered like this:

    at or before the end    SUCCESS if the entries are the same, else INCONSISTENT_STATE
    behind a gap            INCONSISTENT_STATE after one to two seconds, for the first of them; the others wait on

COMPARE and TRUNCATE end the waiting of all without an answer: the leader does not look at what it pushed before them.
One who is no follower answers NOT_FOLLOWER to them, and nothing to a push of entries. An entry is taken if term and
leader are those that we follow, and index, position and term follow the log.

Deviations. What is at or before the end is answered at once: DLedger looks once a second, and its leader sends one such
entry a second, so that a follower whose answers were lost catches up that slowly. An entry with a smaller term than the
last one is refused (such a log would be cut at a restart). A TRUNCATE that takes committed entries takes the committed
index back as well (in DLedger 0.3 it stays beyond the end, and such a member never becomes master); with strict
persistence it is refused. A wrong position leaves no traces. What was refused behind a gap may come again (DLedger 0.3
answers REPEATED_PUSH to it for ever).
"""

from __future__ import annotations

from msgspec import UNSET

from reference_impl.dledger.codes import Code, PushType, Role
from reference_impl.dledger.committing import commit_to
from reference_impl.dledger.completing import echoed
from reference_impl.dledger.entry import HEAD_SIZE, MAGIC, Entry
from reference_impl.dledger.messages import PushRequest, PushResponse, text
from reference_impl.dledger.roles import become_follower
from reference_impl.dledger.state import Parked
from reference_impl.dledger.transfer import log_has_grown
from reference_impl.dledger.turn import Turn
from reference_impl.environment import MS

SCAN_MS = 1000


def on_push(turn: Turn, ref: int, request: PushRequest) -> None:
    """The leader, or one who was it, pushes."""
    member = turn.member
    if request.type == PushType.APPEND:
        _park(turn, ref, request)
    elif member.role != Role.FOLLOWER:
        answer(turn, ref, request, Code.NOT_FOLLOWER)
    elif request.type == PushType.COMMIT:
        _commit(turn, request, turn.tail.end)
        answer(turn, ref, request, Code.SUCCESS)
    else:
        member.parked.clear()
        is_right = _is_ours(turn, request) if request.type == PushType.COMPARE else _truncate(turn, request)
        answer(turn, ref, request, Code.SUCCESS if is_right else Code.INCONSISTENT_STATE)


def answer(turn: Turn, ref: int, request: PushRequest, code: Code) -> None:
    """*code*, and the log as it is now."""
    tail, count = turn.tail, len(request.entries)
    turn.reply(
        ref,
        PushResponse(
            code=code,
            group=request.group,
            term=request.term,
            begin_index=tail.begin,
            count=count,
            end_index=tail.end,
            index=request.first_index if count else UNSET,
        ),
    )


def refuse_push(turn: Turn, ref: int, request: PushRequest, code: Code) -> None:
    """The request is not for us."""
    turn.reply(ref, PushResponse(code=code, **echoed(turn, request)))


def _is_from_leader(turn: Turn, request: PushRequest) -> bool:
    member = turn.member
    return member.role == Role.FOLLOWER and request.term == member.term and text(request.leader_id) == member.leader


def _is_ours(turn: Turn, request: PushRequest) -> bool:
    """Whether our entries are the same."""
    return all(turn.tail.entry(entry.index) == entry for entry in request.entries)


def _commit(turn: Turn, request: PushRequest, known: int) -> None:
    """As far as *known*, up to which our log is the leader's."""
    if _is_from_leader(turn, request):
        commit_to(turn, min(request.commit_index, known))


# APPEND --------------------------------------------------------------------------------------------------------------


def _park(turn: Turn, ref: int, request: PushRequest) -> None:
    parked, first = turn.member.parked, request.first_index
    if turn.member.role == Role.FOLLOWER and request.entries[-1].index <= turn.tail.end:
        answer(turn, ref, request, _of_what_is_there(turn, request))
        return
    if first in parked:
        answer(turn, ref, request, Code.REPEATED_PUSH)
        return
    if not parked:
        turn.set_timer("scan", SCAN_MS)
    parked[first] = Parked(ref, request, turn.now_ns)
    take_parked(turn)


def take_parked(turn: Turn) -> None:
    """Everything that follows."""
    member, tail = turn.member, turn.tail
    while member.role == Role.FOLLOWER and (one := member.parked.pop(tail.end + 1, None)) is not None:
        is_taken = _take(turn, one.request)
        if is_taken:
            _commit(turn, one.request, tail.end)
        answer(turn, one.ref, one.request, Code.SUCCESS if is_taken else Code.INCONSISTENT_STATE)
    if not member.parked:
        turn.cancel_timer("scan")
    log_has_grown(turn)


def _take(turn: Turn, request: PushRequest) -> bool:
    """Entry by entry: of a batch, those before the first that does not follow stay."""
    for entry in request.entries:
        if not (_is_from_leader(turn, request) and _follows(turn, entry)):
            return False
        turn.tail.write(entry)
    return True


def _follows(turn: Turn, entry: Entry) -> bool:
    tail = turn.tail
    return (
        entry.index == tail.end + 1
        and entry.pos == tail.place(entry.size)
        and tail.end_term <= entry.term <= turn.member.term
        and _is_whole(entry)
    )


def _is_whole(entry: Entry) -> bool:
    return entry.magic == MAGIC and entry.size == HEAD_SIZE + len(entry.body)


def on_scan_timer(turn: Turn) -> None:
    """What waits, and does not follow?"""
    member, tail = turn.member, turn.tail
    if member.role == Role.FOLLOWER:
        for index in sorted(member.parked):
            one = member.parked[index]
            if one.request.entries[-1].index <= tail.end:
                _end(turn, index, _of_what_is_there(turn, one.request))
            elif turn.now_ns - one.since_ns > SCAN_MS * MS:
                _end(turn, index, Code.INCONSISTENT_STATE)
                break
    if member.parked:
        turn.set_timer("scan", SCAN_MS)


def _of_what_is_there(turn: Turn, request: PushRequest) -> Code:
    is_right = _is_from_leader(turn, request) and _is_ours(turn, request)
    return Code.SUCCESS if is_right else Code.INCONSISTENT_STATE


def _end(turn: Turn, index: int, code: Code) -> None:
    one = turn.member.parked.pop(index)
    answer(turn, one.ref, one.request, code)


# TRUNCATE ------------------------------------------------------------------------------------------------------------


def _truncate(turn: Turn, request: PushRequest) -> bool:
    """The entry becomes our last one."""
    tail, entry = turn.tail, request.entries[0]
    if not (_is_from_leader(turn, request) and entry.term <= turn.member.term and _is_whole(entry)):
        return False
    is_same = tail.entry(entry.index) == entry
    if entry.index + is_same <= turn.member.committed and not _gives_up_committed(turn, request, entry.index + is_same):
        return False
    if not _make_last(turn, entry, is_same=is_same):
        return False
    _commit(turn, request, tail.end)
    log_has_grown(turn)
    return True


def _gives_up_committed(turn: Turn, request: PushRequest, kept: int) -> bool:
    """A majority has elected a leader without entries that were committed. With strict persistence that cannot be; else
    power cuts can have taken them from a majority, and who still has them follows."""
    member = turn.member
    note = "truncation_refused" if turn.settings.is_strict else "committed_truncated"
    turn.note(note, index=kept, committed=member.committed, leader=request.leader_id)
    if turn.settings.is_strict:
        return False
    member.committed = kept - 1
    return True


def _make_last(turn: Turn, entry: Entry, *, is_same: bool) -> bool:
    tail = turn.tail
    if is_same:
        if entry.index < tail.end:
            tail.cut(entry.index + 1)
        return True
    if 0 <= tail.begin <= entry.index <= tail.end:
        tail.cut(entry.index)
    if _follows(turn, entry) and tail.begin >= 0:
        tail.write(entry)
        return True
    if entry.pos % tail.file_size:
        return False
    tail.restart(entry)
    return True


def follow(turn: Turn, leader: str) -> None:
    """Become a follower of *leader*; what was pushed before may follow now."""
    become_follower(turn, leader)
    take_parked(turn)
