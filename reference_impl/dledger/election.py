"""Votes: who may be elected, who asks when, and what a round of votes comes to.

Question: how does a group find its leader, and how does a member that is separated not disturb it?

Model (DLedger: DLedgerLeaderElector). A candidate asks all, itself included; it goes up a term only after a round in
which a quorum of valid answers gave it no leader. So a member that nobody answers asks in the same term for ever, and
raises nothing: DLedger's way to do without a round before the round. A voter looks at the logs *before* the terms.

    judge     first match of VOTER'S RULES below gives the vote
    decide    first match of ROUND below says what comes next, and when

A larger term is taken in a step of its own, in which nobody is asked for a vote (``must_raise_term``); until then the
answer is REJECT_TERM_NOT_READY, and the candidate asks again at once.

Limits. No lease: a healthy follower, even a leader, is thrown out of its role by a candidate with a larger term and a
log that is as good.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from msgspec import UNSET

from reference_impl.dledger.codes import Code, Role, Vote
from reference_impl.dledger.messages import VoteRequest, VoteResponse, text
from reference_impl.dledger.roles import become_candidate, become_leader, raise_term_soon
from reference_impl.dledger.state import VoteRound
from reference_impl.dledger.turn import Turn

Rule = Callable[[Turn, VoteRequest], bool]


# The voter -----------------------------------------------------------------------------------------------------------


def on_vote_request(turn: Turn, ref: int, request: VoteRequest) -> None:
    """Somebody asks for our vote."""
    turn.reply(ref, _answer(turn, request, judge(turn, request)))


def refuse_vote(turn: Turn, ref: int, request: VoteRequest, code: Code) -> None:
    """The request is not for us."""
    turn.reply(
        ref,
        VoteResponse(
            code=code,
            group=request.group,
            leader_id=turn.member.leader or UNSET,
            local_id=request.local_id,
            remote_id=request.remote_id,
            term=request.term,
        ),
    )


def _answer(turn: Turn, request: VoteRequest, vote: Vote) -> VoteResponse:
    term = turn.tail.end_term if vote is Vote.REJECT_TERM_SMALL_THAN_LEDGER else turn.member.term
    return VoteResponse(
        group=request.group,
        leader_id=request.leader_id,
        local_id=request.local_id,
        remote_id=request.remote_id,
        term=term,
        vote_result=vote,
    )


def judge(turn: Turn, request: VoteRequest) -> Vote:
    """The vote; ACCEPT is kept before it is given."""
    member = turn.member
    for rule, vote in VOTERS_RULES:
        if rule(turn, request):
            if vote is Vote.REJECT_TERM_NOT_READY:
                become_candidate(turn, request.term)
                raise_term_soon(turn)
            return vote
    if member.voted_for != text(request.leader_id):
        member.voted_for = text(request.leader_id)
        turn.save_term()
    return Vote.ACCEPT


def _is_from_self(turn: Turn, request: VoteRequest) -> bool:
    return request.local_id == turn.settings.self_id


def _has_other_vote(turn: Turn, request: VoteRequest) -> bool:
    return request.term == turn.member.term and turn.member.voted_for not in ("", text(request.leader_id))


def _is_taking_leadership(turn: Turn, request: VoteRequest) -> bool:
    """We are to lead in this term, and our log is as good."""
    taking = turn.member.taking
    return (
        taking is not None
        and taking.term == request.term
        and not _is_from_self(turn, request)
        and turn.tail.end_term == request.ledger_end_term
        and turn.tail.end >= request.ledger_end_index
    )


VOTERS_RULES: Final[tuple[tuple[Rule, Vote], ...]] = (
    (lambda turn, it: it.leader_id not in turn.settings.peers, Vote.REJECT_UNKNOWN_LEADER),
    (
        lambda turn, it: not _is_from_self(turn, it) and it.leader_id == turn.settings.self_id,
        Vote.REJECT_UNEXPECTED_LEADER,
    ),
    (lambda turn, it: it.ledger_end_term < turn.tail.end_term, Vote.REJECT_EXPIRED_LEDGER_TERM),
    (
        lambda turn, it: it.ledger_end_term == turn.tail.end_term and it.ledger_end_index < turn.tail.end,
        Vote.REJECT_SMALL_LEDGER_END_INDEX,
    ),
    (lambda turn, it: it.term < turn.member.term, Vote.REJECT_EXPIRED_VOTE_TERM),
    (lambda turn, it: _has_other_vote(turn, it) and turn.member.leader != "", Vote.REJECT_ALREADY_HAS_LEADER),
    (_has_other_vote, Vote.REJECT_ALREADY_VOTED),
    (lambda turn, it: it.term > turn.member.term, Vote.REJECT_TERM_NOT_READY),
    (lambda turn, it: it.term < turn.tail.end_term, Vote.REJECT_TERM_SMALL_THAN_LEDGER),
    (_is_taking_leadership, Vote.REJECT_TAKING_LEADERSHIP),
)
"""In this order; none: ACCEPT."""


# The candidate -------------------------------------------------------------------------------------------------------


def on_vote_timer(turn: Turn) -> None:
    """A candidate's step."""
    member = turn.member
    if member.role != Role.CANDIDATE or member.round is not None:
        return
    if member.must_raise_term:
        member.must_raise_term = False
        _next_term(turn)
        turn.set_timer("vote", _back_off_ms(turn))
        return
    if member.next_vote == "next term":
        _next_term(turn)
    _ask_all(turn)


def _next_term(turn: Turn) -> None:
    member = turn.member
    member.term = member.known_max_term if member.known_max_term > member.term else member.term + 1
    member.voted_for = ""
    member.next_vote = "same term"
    turn.save_term()


def _ask_all(turn: Turn) -> None:
    member, settings, tail = turn.member, turn.settings, turn.tail
    member.rounds += 1
    member.round = VoteRound(member.rounds, member.term)
    own = VoteRequest(ledger_end_index=tail.end, ledger_end_term=tail.end_term, **turn.base(settings.self_id))
    answer = _answer(turn, own, judge(turn, own))
    member.round.answers[settings.self_id] = (answer.vote_result, answer.term)
    for peer in settings.others:
        request = VoteRequest(ledger_end_index=tail.end, ledger_end_term=tail.end_term, **turn.base(peer))
        turn.send(peer, request, member.rounds)
    turn.set_timer("votes", settings.vote_wait_min_ms + turn.rng.randrange(settings.vote_wait_spread_ms))
    _end_if_clear(turn)


def on_vote_answer(turn: Turn, peer: str, answer: VoteResponse | None, number: int) -> None:
    """Answers of an earlier round are not looked at."""
    round_ = turn.member.round
    if round_ is None or round_.number != number:
        return
    round_.answers[peer] = (answer.vote_result, answer.term) if answer is not None else (Vote.UNKNOWN, -1)
    _end_if_clear(turn)


def on_votes_timer(turn: Turn) -> None:
    """The longest wait for a round is over."""
    if turn.member.round is not None:
        _end(turn)


class Tally(NamedTuple):
    """What the answers of a round add up to."""

    term: int
    quorum: int
    accepted: int
    not_ready: int
    valid: int
    bigger_ledgers: int
    has_leader: bool
    max_term: int

    @property
    def is_clear(self) -> bool:
        """No further answer is needed."""
        return self.has_leader or self.accepted + self.not_ready >= self.quorum


_RAISING: Final = (Vote.REJECT_EXPIRED_VOTE_TERM, Vote.REJECT_TERM_SMALL_THAN_LEDGER)
_BIGGER: Final = (Vote.REJECT_EXPIRED_LEDGER_TERM, Vote.REJECT_SMALL_LEDGER_END_INDEX)


def _tally(turn: Turn, round_: VoteRound) -> Tally:
    votes = [vote for vote, _ in round_.answers.values()]
    return Tally(
        round_.term,
        turn.settings.quorum,
        votes.count(Vote.ACCEPT),
        votes.count(Vote.REJECT_TERM_NOT_READY),
        len(votes) - votes.count(Vote.UNKNOWN),
        sum(votes.count(vote) for vote in _BIGGER),
        Vote.REJECT_ALREADY_HAS_LEADER in votes,
        max([turn.member.known_max_term, *(term for vote, term in round_.answers.values() if vote in _RAISING)]),
    )


class Outcome(NamedTuple):
    """What follows a round: ``extra_ms`` beyond the back-off, or −1 for at once."""

    name: str
    raises_term: bool
    extra_ms: int


_AT_ONCE: Final = -1
_PASSED: Final = Outcome("PASSED", False, 0)
_AGAIN: Final = "WAIT_TO_REVOTE"
_NEXT: Final = "WAIT_TO_VOTE_NEXT"

ROUND: Final[tuple[tuple[Callable[[Tally], bool], Outcome], ...]] = (
    (lambda it: it.max_term > it.term, Outcome(_NEXT, True, 0)),
    (lambda it: it.has_leader, Outcome(_AGAIN, False, 6000)),
    (lambda it: it.valid < it.quorum, Outcome(_AGAIN, False, 0)),
    (lambda it: it.valid - it.bigger_ledgers < it.quorum, Outcome(_AGAIN, False, 1000)),
    (lambda it: it.accepted >= it.quorum, _PASSED),
    (lambda it: it.accepted + it.not_ready >= it.quorum, Outcome("REVOTE_IMMEDIATELY", False, _AT_ONCE)),
    (lambda it: True, Outcome(_NEXT, True, 0)),
)
"""The first that holds (6000 ms: a leader's silence)."""


def _end_if_clear(turn: Turn) -> None:
    round_ = turn.member.round
    assert round_ is not None
    if _tally(turn, round_).is_clear or len(round_.answers) == len(turn.settings.peers):
        _end(turn)


def _end(turn: Turn) -> None:
    member, round_ = turn.member, turn.member.round
    assert round_ is not None
    tally = _tally(turn, round_)
    outcome = next(outcome for holds, outcome in ROUND if holds(tally))
    member.round = None
    turn.cancel_timer("votes")
    turn.note("vote_round", term=round_.term, accepted=tally.accepted, outcome=outcome.name)
    if outcome is _PASSED and member.term == round_.term:
        become_leader(turn)
        return
    member.known_max_term = max(member.known_max_term, tally.max_term)
    member.next_vote = "next term" if outcome.raises_term else "same term"
    is_hurried = member.must_raise_term or outcome.extra_ms == _AT_ONCE
    turn.set_timer("vote", turn.settings.loop_ms if is_hurried else outcome.extra_ms + _back_off_ms(turn))


def _back_off_ms(turn: Turn) -> int:
    """Shorter for the one who is to take leadership over."""
    settings, taking = turn.settings, turn.member.taking
    if taking is not None and taking.term >= 0:
        least, most = settings.take_interval_min_ms, settings.take_interval_max_ms
    else:
        least, most = settings.vote_interval_min_ms, settings.vote_interval_max_ms
    return least + turn.rng.randrange(most - least)
