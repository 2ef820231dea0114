"""The protocol as one function: state, log, time and chance in; effects out.

Question: what does a member do when this happens?

:func:`step` changes the :class:`~reference_impl.dledger.state.Member` it is given and returns what is to be done, in
order. It reads the log, and touches nothing else: the same arguments give the same effects. Whoever calls it carries
them out, and must keep this order: writes before the answers that rest on them, and with strict persistence the forces
that :mod:`reference_impl.dledger.settings` lists.

The rules are in the modules that the tables below name; a request that is not for this member or group is answered by
:data:`REFUSALS` before any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

from reference_impl.dledger import election, following, heart_beat, pushing, serving, transfer
from reference_impl.dledger.codes import Code, Role
from reference_impl.dledger.committing import advance
from reference_impl.dledger.completing import echoed, expire_pending
from reference_impl.dledger.events import (
    Answered,
    DiskFailed,
    Effect,
    Forced,
    Input,
    Propose,
    Request,
    Start,
    Timer,
)
from reference_impl.dledger.messages import (
    AppendRequest,
    GetRequest,
    HeartBeatRequest,
    HeartBeatResponse,
    Message,
    MetadataRequest,
    MetadataResponse,
    PushRequest,
    TransferRequest,
    TransferResponse,
    VoteRequest,
)
from reference_impl.dledger.roles import become_candidate
from reference_impl.dledger.settings import Settings
from reference_impl.dledger.state import Member
from reference_impl.dledger.turn import LogView, Turn


def step(settings: Settings, member: Member, log: LogView, now_ns: int, rng: Random, happened: Input) -> list[Effect]:
    """What follows from *happened*. *rng* is drawn from for waiting times only."""
    turn = Turn(settings, member, log, now_ns, rng)
    _INPUTS[type(happened)](turn, happened)
    transfer.after_step(turn)
    return turn.effects


def _start(turn: Turn, _: Start) -> None:
    """A member that voted for itself may have led in this term, and may have lost entries of it: it stands for the
    next."""
    member = turn.member
    member.role = Role.CANDIDATE
    if member.voted_for == turn.settings.self_id:
        member.next_vote = "next term"
    turn.set_timer("vote", turn.settings.loop_ms)


def _timer(turn: Turn, timer: Timer) -> None:
    if timer.key.startswith("push:"):
        pushing.on_push_timer(turn, timer.key.removeprefix("push:"))
    else:
        TIMERS[timer.key](turn)


def _request(turn: Turn, request: Request) -> None:
    message = request.message
    code = _misdirected(turn, message)
    if code is not None:
        REFUSALS[type(message)](turn, request.ref, message, code)
    else:
        REQUESTS[type(message)](turn, request.ref, message)


def _misdirected(turn: Turn, message: Message) -> Code | None:
    if message.remote_id != turn.settings.self_id:
        return Code.UNKNOWN_MEMBER
    return None if message.group == turn.settings.group else Code.UNKNOWN_GROUP


def _answered(turn: Turn, answered: Answered) -> None:
    request, answer = answered.request, answered.answer
    if isinstance(request, VoteRequest):
        election.on_vote_answer(turn, answered.peer, answer, answered.number)  # type: ignore[arg-type]
    else:
        ANSWERS[type(request)](turn, answered.peer, request, answer, answered.number)


def _propose(turn: Turn, proposal: Propose) -> None:
    serving.on_propose(turn, proposal.ref, proposal.bodies)


def _forced(turn: Turn, forced: Forced) -> None:
    turn.member.durable = forced.index
    if turn.member.role == Role.LEADER:
        advance(turn)


def _disk_failed(turn: Turn, failure: DiskFailed) -> None:
    """A leader that cannot write gives up; what it had accepted is not decided here. (Apache's leads on.)"""
    turn.note("disk_failed", is_full=failure.is_full)
    if turn.member.role == Role.LEADER:
        become_candidate(turn, turn.member.term)
        turn.set_timer("vote", _RECOVERY_SILENCES * turn.settings.silence_ms)


def _refuse_heart_beat(turn: Turn, ref: int, request: Message, code: Code) -> None:
    turn.reply(ref, HeartBeatResponse(code=code, **echoed(turn, request)))


def _refuse_metadata(turn: Turn, ref: int, request: Message, code: Code) -> None:
    turn.reply(ref, MetadataResponse(code=code, **echoed(turn, request)))


def _refuse_transfer(turn: Turn, ref: int, request: Message, code: Code) -> None:
    turn.reply(ref, TransferResponse(code=code, **echoed(turn, request)))


_RECOVERY_SILENCES: Final = 4
"""So many times a leader's silence, one whose disk failed leaves the election to others."""

Rule = Callable[..., None]

_INPUTS: Final[Mapping[type[Any], Callable[[Turn, Any], None]]] = {
    Start: _start,
    Timer: _timer,
    Request: _request,
    Answered: _answered,
    Propose: _propose,
    Forced: _forced,
    DiskFailed: _disk_failed,
}
REQUESTS: Final[Mapping[type[Message], Rule]] = {
    VoteRequest: election.on_vote_request,
    HeartBeatRequest: heart_beat.on_heart_beat,
    PushRequest: following.on_push,
    TransferRequest: transfer.on_transfer,
    AppendRequest: serving.on_append,
    GetRequest: serving.on_get,
    MetadataRequest: serving.on_metadata,
}
REFUSALS: Final[Mapping[type[Message], Rule]] = {
    VoteRequest: election.refuse_vote,
    HeartBeatRequest: _refuse_heart_beat,
    PushRequest: following.refuse_push,
    TransferRequest: _refuse_transfer,
    AppendRequest: serving.refuse_append,
    GetRequest: serving.refuse_get,
    MetadataRequest: _refuse_metadata,
}
ANSWERS: Final[Mapping[type[Message], Rule]] = {
    HeartBeatRequest: heart_beat.on_beat_answer,
    PushRequest: pushing.on_push_answer,
    TransferRequest: transfer.on_transfer_answer,
}
TIMERS: Final[Mapping[str, Callable[[Turn], None]]] = {
    "vote": election.on_vote_timer,
    "votes": election.on_votes_timer,
    "follow": heart_beat.on_follow_timer,
    "beat": heart_beat.on_beat_timer,
    "beats": heart_beat.on_beats_timer,
    "scan": following.on_scan_timer,
    "pending": expire_pending,
    "prefer": transfer.on_prefer_timer,
    "take": transfer.on_take_timer,
}
