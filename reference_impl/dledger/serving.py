"""What clients ask: append an entry, read one, who leads?

Question: what does a client get from a leader, and from another member?

Model (DLedger: DLedgerServer#handleAppend, #handleGet, #handleMetadata). Only a leader appends and reads.

    append   NOT_LEADER, LEADER_TRANSFERRING, LEADER_PENDING_FULL, an empty batch, too large: certainly not in the log.
             Otherwise it is in the leader's log, and answered when a quorum has it (:mod:`.completing`)
    read     a committed entry at once: it never changes. That there is *no* such entry is said only after a quorum has
             confirmed this leader since, and the leader has committed an entry of its term

Deviation: DLedger's leader reads entries that are not committed, and says what is not there without asking anybody.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from reference_impl.dledger.codes import Code, Role
from reference_impl.dledger.committing import advance
from reference_impl.dledger.completing import answer_read, echoed, wait_for_quorum
from reference_impl.dledger.entry import BLANK_SIZE, HEAD_SIZE, RECORD_SIZE_MAX
from reference_impl.dledger.events import Accepted, Done
from reference_impl.dledger.messages import (
    AppendRequest,
    AppendResponse,
    GetRequest,
    GetResponse,
    Message,
    MetadataRequest,
    MetadataResponse,
)
from reference_impl.dledger.pushing import drive_all
from reference_impl.dledger.turn import Turn


def on_append(turn: Turn, ref: int, request: AppendRequest) -> None:
    """One entry of a client."""
    code = _refusal(turn, (request.body,))
    if code is not None:
        refuse_append(turn, ref, request, code)
        return
    entry = turn.append(request.body)
    wait_for_quorum(turn, ref, entry.index, entry.pos, is_local=False)
    _go_on(turn)


def refuse_append(turn: Turn, ref: int, request: Message, code: Code) -> None:
    """Certainly not in the log."""
    turn.reply(ref, AppendResponse(code=code, **echoed(turn, request)))


def on_propose(turn: Turn, ref: int, bodies: tuple[bytes, ...]) -> None:
    """One entry or several of this process."""
    code = _refusal(turn, bodies)
    if code is not None:
        turn.effects.append(Done(ref, code))
        return
    entries = [turn.append(body) for body in bodies]
    turn.effects.append(Accepted(ref, entries[-1]))
    wait_for_quorum(turn, ref, entries[-1].index, entries[-1].pos, is_local=True)
    _go_on(turn)


def _refusal(turn: Turn, bodies: Sequence[bytes]) -> Code | None:
    member = turn.member
    if member.role != Role.LEADER:
        return Code.NOT_LEADER
    if member.transferee:
        return Code.LEADER_TRANSFERRING
    if len(member.pending) > turn.settings.max_pending:
        return Code.LEADER_PENDING_FULL
    if not bodies:
        return Code.REQUEST_WITH_EMPTY_BODYS
    most = min(RECORD_SIZE_MAX, turn.tail.file_size - BLANK_SIZE)
    return Code.UNEXPECTED_ARGUMENT if max(map(len, bodies)) + HEAD_SIZE > most else None


def _go_on(turn: Turn) -> None:
    """A group of one commits at once."""
    drive_all(turn)
    advance(turn)


def on_get(turn: Turn, ref: int, request: GetRequest) -> None:
    """Read one entry."""
    member = turn.member
    if member.role != Role.LEADER:
        refuse_get(turn, ref, request, Code.NOT_LEADER)
    elif 0 <= request.begin_index <= member.committed:
        answer_read(turn, ref, request)
    else:
        member.reads.append((ref, request, member.beats + 1))
        turn.set_timer("beat", 0)


def refuse_get(turn: Turn, ref: int, request: Message, code: Code) -> None:
    """Nothing is read."""
    turn.reply(ref, GetResponse(code=code, **echoed(turn, request)))


def on_metadata(turn: Turn, ref: int, _request: MetadataRequest) -> None:
    """Who is there, who leads, as far as we know."""
    settings = turn.settings
    leader = turn.member.leader or UNSET
    turn.reply(ref, MetadataResponse(group=settings.group, leader_id=leader, peers=settings.peers))
