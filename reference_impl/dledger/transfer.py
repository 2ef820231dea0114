"""Leadership transfer: a leader hands over to a member that has its log.

Question: how does another member become leader without a time-out?

Model (DLedger: DLedgerLeaderElector#handleLeadershipTransfer, #handleTakeLeadership). The leader refuses appends from
the moment that it names a *transferee*, and sends the request on. The transferee waits, at most a second, until it has
the entry that the request names, then stands for the next term. Ordinary votes decide. The leader that has to answer an
administrator does so with the transferee's answer; when that is not SUCCESS, it goes on as leader.

A leader that is not among the preferred ones looks every second for one that is: alive, the least behind of them, less
than 1000 entries behind.

Limits. A follower that is asked to hand over answers UNEXPECTED_ARGUMENT, whoever it believes in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_impl.dledger.codes import Code, Role
from reference_impl.dledger.completing import echoed
from reference_impl.dledger.messages import TransferRequest, TransferResponse, text
from reference_impl.dledger.roles import become_candidate, raise_term_soon
from reference_impl.dledger.state import Taking
from reference_impl.dledger.turn import Turn

BY_ITSELF: Final = -1
"""The reference of a transfer that nobody asked for."""


def on_transfer(turn: Turn, ref: int, request: TransferRequest) -> None:
    """Asked to hand over, or to take over."""
    self_id = turn.settings.self_id
    if text(request.transfer_id) == self_id:
        _hand_over(turn, ref, request)
    elif text(request.transferee_id) == self_id:
        _take_over(turn, ref, request)
    else:
        turn.reply(ref, TransferResponse(code=Code.UNEXPECTED_ARGUMENT, term=turn.member.term))


# The leader ----------------------------------------------------------------------------------------------------------


def _lag(turn: Turn, peer: str) -> int:
    return turn.tail.end - turn.member.progress[peer].matched


REFUSALS: Final[tuple[tuple[Callable[[Turn, TransferRequest], bool], Code], ...]] = (
    (lambda turn, it: it.transferee_id not in turn.settings.others, Code.UNKNOWN_MEMBER),
    (lambda turn, it: it.term != turn.member.term, Code.INCONSISTENT_TERM),
    (lambda turn, it: turn.member.role != Role.LEADER, Code.NOT_LEADER),
    (lambda turn, it: _lag(turn, text(it.transferee_id)) >= turn.settings.transfer_lag_max, Code.FALL_BEHIND_TOO_MUCH),
    (lambda turn, it: turn.member.transferee != "", Code.LEADER_TRANSFERRING),
)
"""Of the leader, the first that holds."""


def _hand_over(turn: Turn, ref: int, request: TransferRequest) -> None:
    for holds, code in REFUSALS:
        if holds(turn, request):
            turn.reply(ref, TransferResponse(code=code, **echoed(turn, request)))
            return
    _send_on(turn, ref, text(request.transferee_id))


def _send_on(turn: Turn, ref: int, peer: str) -> None:
    settings = turn.settings
    turn.member.transferee = peer
    request = TransferRequest(
        take_leadership_ledger_index=turn.tail.end,
        transfer_id=settings.self_id,
        transferee_id=peer,
        **turn.base(peer),
    )
    turn.send(peer, request, ref)


def on_transfer_answer(
    turn: Turn, peer: str, request: TransferRequest, answer: TransferResponse | None, ref: int
) -> None:
    """The transferee has answered, or not."""
    member = turn.member
    if member.role == Role.LEADER and member.term == request.term and member.transferee == peer:
        member.transferee = ""
    if ref == BY_ITSELF:
        return
    if answer is None:
        answer = TransferResponse(
            code=Code.NETWORK_ERROR,
            group=request.group,
            leader_id=request.leader_id,
            local_id=request.local_id,
            remote_id=request.remote_id,
            term=request.term,
        )
    turn.reply(ref, answer)


def on_prefer_timer(turn: Turn) -> None:
    """Is there one that should lead instead?"""
    member, settings = turn.member, turn.settings
    if member.role != Role.LEADER or not settings.preferred or settings.self_id in settings.preferred:
        return
    turn.set_timer("prefer", settings.prefer_period_ms)
    fit = [peer for peer in settings.preferred if peer in member.progress and member.progress[peer].is_alive]
    best = min(fit, key=lambda peer: _lag(turn, peer), default="")
    if best and not member.transferee and _lag(turn, best) < settings.transfer_lag_max:
        _send_on(turn, BY_ITSELF, best)


# The transferee ------------------------------------------------------------------------------------------------------


def _take_over(turn: Turn, ref: int, request: TransferRequest) -> None:
    member = turn.member
    if text(request.transfer_id) != member.leader or member.taking is not None:
        turn.reply(ref, TransferResponse(code=Code.INCONSISTENT_LEADER, **echoed(turn, request)))
        return
    member.taking = Taking(ref, request)
    turn.set_timer("take", turn.settings.transfer_wait_ms)
    log_has_grown(turn)


def log_has_grown(turn: Turn) -> None:
    """One who is to take over may have the entry that it waits for."""
    member, taking = turn.member, turn.member.taking
    if taking is None or taking.term >= 0 or turn.tail.end < taking.request.take_leadership_ledger_index:
        return
    turn.cancel_timer("take")
    if member.term != taking.request.term:
        _end(turn, Code.INCONSISTENT_TERM)
        return
    taking.term = member.term + 1
    become_candidate(turn, taking.term)
    raise_term_soon(turn)


def on_take_timer(turn: Turn) -> None:
    """The entry did not come."""
    if turn.member.taking is not None and turn.member.taking.term < 0:
        _end(turn, Code.TAKE_LEADERSHIP_FAILED)


def after_step(turn: Turn) -> None:
    """Has the election decided whether we lead?"""
    member, taking = turn.member, turn.member.taking
    if taking is None or taking.term < 0:
        return
    if member.role == Role.LEADER and member.term == taking.term:
        _end(turn, Code.SUCCESS)
    elif member.term > taking.term or member.known_max_term > taking.term:
        _end(turn, Code.EXPIRED_TERM)
    elif member.role == Role.FOLLOWER:
        _end(turn, Code.TAKE_LEADERSHIP_FAILED)


def _end(turn: Turn, code: Code) -> None:
    taking, turn.member.taking = turn.member.taking, None
    assert taking is not None
    turn.reply(taking.ref, TransferResponse(code=code, term=turn.member.term))
