"""Becoming candidate, follower or leader: what each change ends and begins.

Question: what happens to timers, waiting proposals and the peers' progress when a member changes its role?

Model (DLedger: MemberState#changeTo…). Only a leader has ``progress``, ``pending`` and ``reads``: proposals that are
not decided when it stops to be one end with TERM_CHANGED (nobody knows what becomes of them), reads with NOT_LEADER.
The first actions of the new role are its timers, due at once.

A candidate may have heard of a larger term than it has (``known_max_term``); it raises its own later, in its own step.
"""

from __future__ import annotations

from reference_impl.dledger.codes import Code, Role
from reference_impl.dledger.committing import advance
from reference_impl.dledger.completing import fail_pending, fail_reads
from reference_impl.dledger.events import RoleChanged
from reference_impl.dledger.state import Progress
from reference_impl.dledger.turn import Turn

LEADING_TIMERS = ("beat", "beats", "pending", "prefer")


def become_candidate(turn: Turn, heard_term: int) -> None:
    """No leader is known any more. A candidate stays one, and keeps its timers."""
    member = turn.member
    was = member.role
    member.known_max_term = max(member.known_max_term, heard_term)
    member.leader = ""
    if was == Role.CANDIDATE:
        return
    _stop(turn, was)
    member.role = Role.CANDIDATE
    turn.set_timer("vote", turn.settings.loop_ms)
    turn.effects.append(RoleChanged(heard_term, Role.CANDIDATE, ""))


def raise_term_soon(turn: Turn) -> None:
    """A larger term was heard of: take it in the next step, without asking for votes in it yet. Who hears of it again
    and again does not put that off."""
    member = turn.member
    if member.round is None and not member.must_raise_term:
        turn.set_timer("vote", turn.settings.loop_ms)
    member.must_raise_term = True


def become_follower(turn: Turn, leader: str) -> None:
    """Of *leader*, in the present term."""
    member = turn.member
    _stop(turn, member.role)
    member.role, member.leader = Role.FOLLOWER, leader
    member.next_vote = "same term"
    turn.set_timer("follow", turn.settings.silence_ms + turn.settings.loop_ms)
    turn.effects.append(RoleChanged(member.term, Role.FOLLOWER, leader))


def become_leader(turn: Turn) -> None:
    """In the present term. What older terms left uncommitted is committed with an entry of this one."""
    member, settings = turn.member, turn.settings
    _stop(turn, member.role)
    member.role, member.leader = Role.LEADER, settings.self_id
    member.last_quorum_ns = turn.now_ns
    member.progress = {peer: Progress() for peer in settings.others}
    turn.set_timer("beat", 0)
    turn.set_timer("prefer", settings.prefer_period_ms)
    turn.effects.append(RoleChanged(member.term, Role.LEADER, member.leader))
    if settings.marker is not None and turn.tail.end > member.committed:
        turn.append(settings.marker)
    for peer in settings.others:
        turn.set_timer(f"push:{peer}", 0)
    advance(turn)


def _stop(turn: Turn, role: str) -> None:
    """End what belongs to *role*."""
    member = turn.member
    if role == Role.CANDIDATE:
        member.round = None
        for key in ("vote", "votes"):
            turn.cancel_timer(key)
    elif role == Role.FOLLOWER:
        turn.cancel_timer("follow")
    else:
        fail_pending(turn, Code.TERM_CHANGED)
        fail_reads(turn)
        member.progress, member.beat, member.transferee = {}, None, ""
        for key in (*LEADING_TIMERS, *(f"push:{peer}" for peer in turn.settings.others)):
            turn.cancel_timer(key)
