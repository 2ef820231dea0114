"""Heart beats: a leader is alive, its followers follow it.

Question: when does a follower stand for election, and when does a leader give up?

Model (DLedger: DLedgerLeaderElector#handleHeartBeat, #maintainAsLeader, #maintainAsFollower). The leader asks all every
2 s, and waits for a quorum at most that long; a follower that hears nothing for 6 s is a candidate. What a leader does
after a round, first match:

    a quorum says SUCCESS                              its term is confirmed
    with those who say TERM_NOT_READY it is a quorum   ask again at once
    one says INCONSISTENT_LEADER                       candidate: two lead in one term
    no quorum for more than 6 s                        candidate, in the same term

Deviation: an answer with a larger term makes the leader a candidate whatever the others say. In DLedger 0.3 a quorum of
SUCCESS hides it, so that a member with a larger term stays outside for ever.
"""

from __future__ import annotations

from reference_impl.dledger.codes import Code, Role
from reference_impl.dledger.completing import answer_reads
from reference_impl.dledger.following import follow
from reference_impl.dledger.messages import HeartBeatRequest, HeartBeatResponse, text
from reference_impl.dledger.roles import become_candidate, raise_term_soon
from reference_impl.dledger.state import BeatRound
from reference_impl.dledger.turn import Turn
from reference_impl.environment import MS

# The follower --------------------------------------------------------------------------------------------------------


def on_heart_beat(turn: Turn, ref: int, request: HeartBeatRequest) -> None:
    """Somebody says that it leads."""
    code = _receive(turn, request)
    ours = turn.member.term if code in (Code.EXPIRED_TERM, Code.UNKNOWN_MEMBER, Code.UNEXPECTED_MEMBER) else -1
    turn.reply(ref, HeartBeatResponse(code=code, term=ours))


def _receive(turn: Turn, request: HeartBeatRequest) -> Code:
    member, leader = turn.member, text(request.leader_id)
    if leader not in turn.settings.peers:
        return Code.UNKNOWN_MEMBER
    if leader == turn.settings.self_id:
        return Code.UNEXPECTED_MEMBER
    if request.term < member.term:
        return Code.EXPIRED_TERM
    if request.term > member.term:
        become_candidate(turn, request.term)
        raise_term_soon(turn)
        return Code.TERM_NOT_READY
    if member.leader == leader:
        turn.set_timer("follow", turn.settings.silence_ms + turn.settings.loop_ms)
        return Code.SUCCESS
    if member.leader:
        turn.note("two_leaders", term=member.term, known=member.leader, other=leader)
        return Code.INCONSISTENT_LEADER
    follow(turn, leader)
    return Code.SUCCESS


def on_follow_timer(turn: Turn) -> None:
    """Silence: stand for election, at first in the same term."""
    if turn.member.role == Role.FOLLOWER:
        become_candidate(turn, turn.member.term)


# The leader ----------------------------------------------------------------------------------------------------------


def on_beat_timer(turn: Turn) -> None:
    """Ask everybody."""
    member = turn.member
    if member.role != Role.LEADER or member.beat is not None:
        return
    member.beats += 1
    member.beat = BeatRound(member.beats, turn.now_ns)
    for peer in turn.settings.others:
        turn.send(peer, HeartBeatRequest(**turn.base(peer)), member.beats)
    turn.set_timer("beats", turn.settings.heart_beat_ms)
    _end_if_clear(turn)


def on_beat_answer(
    turn: Turn, peer: str, request: HeartBeatRequest, answer: HeartBeatResponse | None, number: int
) -> None:
    """One answer; late ones count only for the term that they tell."""
    member = turn.member
    if member.role != Role.LEADER or request.term != member.term:
        return
    code = answer.code if answer is not None else Code.NETWORK_ERROR
    member.progress[peer].is_alive = code == Code.SUCCESS
    if answer is not None and code == Code.EXPIRED_TERM and answer.term > member.term:
        become_candidate(turn, answer.term)
        raise_term_soon(turn)
    elif member.beat is not None and member.beat.number == number:
        member.beat.answers[peer] = code
        _end_if_clear(turn)


def on_beats_timer(turn: Turn) -> None:
    """The longest wait for a round is over."""
    if turn.member.beat is not None:
        _end(turn, turn.member.beat)


def _end_if_clear(turn: Turn) -> None:
    beat, quorum = turn.member.beat, turn.settings.quorum
    assert beat is not None
    if sum(_counts(beat)) >= quorum or len(beat.answers) == len(turn.settings.others):
        _end(turn, beat)


def _counts(beat: BeatRound) -> tuple[int, int]:
    """(SUCCESS, our own included; TERM_NOT_READY)."""
    codes = list(beat.answers.values())
    return 1 + codes.count(Code.SUCCESS), codes.count(Code.TERM_NOT_READY)


def _end(turn: Turn, beat: BeatRound) -> None:
    member, quorum, silence_ns = turn.member, turn.settings.quorum, turn.settings.silence_ms * MS
    member.beat = None
    turn.cancel_timer("beats")
    good, not_ready = _counts(beat)
    if good >= quorum:
        member.last_quorum_ns = turn.now_ns
        answer_reads(turn, beat.number)
    elif good + not_ready >= quorum:
        turn.set_timer("beat", turn.settings.loop_ms)
        return
    elif Code.INCONSISTENT_LEADER in beat.answers.values() or turn.now_ns - member.last_quorum_ns > silence_ns:
        become_candidate(turn, member.term)
        return
    next_ns = turn.now_ns if member.reads else beat.sent_ns + turn.settings.heart_beat_ms * MS
    turn.set_timer_at("beat", next_ns)
