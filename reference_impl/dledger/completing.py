"""Proposals and reads that wait, and what they are told.

Question: when does a client of the leader get its answer, and which?

    committed                          SUCCESS, with index and position
    not within 2500 ms                 WAIT_QUORUM_ACK_TIMEOUT: it may be committed yet
    the leader is one no more          TERM_CHANGED: the same
    a read, and the leader is one no more   NOT_LEADER

A proposal that has timed out leaves the table, so that it does not count towards the limit (in DLedger 0.3 it stays).
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from reference_impl.dledger.codes import Code
from reference_impl.dledger.events import Done
from reference_impl.dledger.messages import AppendResponse, GetRequest, GetResponse, Message
from reference_impl.dledger.state import Pending
from reference_impl.dledger.turn import Turn
from reference_impl.environment import MS


def echoed(turn: Turn, request: Message) -> dict[str, Any]:
    """What an answer that refuses copies from its request; the leader is whom we believe in."""
    return {
        "group": request.group,
        "leader_id": turn.member.leader or UNSET,
        "local_id": request.local_id,
        "remote_id": request.remote_id,
        "term": request.term,
    }


def wait_for_quorum(turn: Turn, ref: int, index: int, pos: int, *, is_local: bool) -> None:
    """The entry *index* is in our log; its proposal waits for the others."""
    member, wait_ms = turn.member, turn.settings.ack_wait_ms
    if not member.pending:
        turn.set_timer("pending", wait_ms)
    member.pending[index] = Pending(ref, pos, turn.now_ns + wait_ms * MS, is_local)


def complete_pending(turn: Turn) -> None:
    """Everything up to the committed index is decided."""
    member = turn.member
    while member.pending and (index := next(iter(member.pending))) <= member.committed:
        _end(turn, index, member.pending.pop(index), Code.SUCCESS)


def expire_pending(turn: Turn) -> None:
    """The timer ``pending``: whose time is over?"""
    pending = turn.member.pending
    while pending and pending[index := next(iter(pending))].deadline_ns <= turn.now_ns:
        _end(turn, index, pending.pop(index), Code.WAIT_QUORUM_ACK_TIMEOUT)
    if pending:
        turn.set_timer_at("pending", next(iter(pending.values())).deadline_ns)


def fail_pending(turn: Turn, code: Code) -> None:
    """None of them is decided here any more."""
    pending, turn.member.pending = turn.member.pending, {}
    for index, one in pending.items():
        _end(turn, index, one, code)


def _end(turn: Turn, index: int, one: Pending, code: Code) -> None:
    if one.is_local:
        turn.effects.append(Done(one.ref, code, index, one.pos))
        return
    member, settings = turn.member, turn.settings
    turn.reply(
        one.ref,
        AppendResponse(
            code=code, group=settings.group, index=index, leader_id=settings.self_id, pos=one.pos, term=member.term
        ),
    )


def fail_reads(turn: Turn) -> None:
    """Reads that waited for a confirmation do not get it."""
    reads, turn.member.reads = turn.member.reads, []
    for ref, request, _ in reads:
        turn.reply(ref, GetResponse(code=Code.NOT_LEADER, **echoed(turn, request)))


def answer_reads(turn: Turn, number: int) -> None:
    """The round of heart beats *number* had a quorum: what was asked before it is as old as it says."""
    member = turn.member
    ready = [read for read in member.reads if read[2] <= number]
    member.reads = [read for read in member.reads if read[2] > number]
    for ref, request, _ in ready:
        answer_read(turn, ref, request)


def answer_read(turn: Turn, ref: int, request: GetRequest) -> None:
    """The entry, if it is committed."""
    is_there = 0 <= request.begin_index <= turn.member.committed
    entry = turn.tail.entry(request.begin_index) if is_there else None
    if entry is not None:
        turn.reply(ref, GetResponse(entries=[entry], group=turn.settings.group))
    else:
        turn.reply(ref, GetResponse(code=Code.INDEX_OUT_OF_RANGE, **echoed(turn, request)))
