"""What a member remembers, as plain data: it can be printed, compared, encoded and copied.

Question: on what does the next step depend, besides the log, the clock and chance?

Model. One :class:`Member`. Parts that only one role needs are empty in the others. References (``ref``) stand for
requests and proposals that have no answer yet; whoever runs the member knows what they mean.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from reference_impl.dledger.codes import Role
from reference_impl.dledger.messages import GetRequest, PushRequest, TransferRequest

NextVote = Literal["same term", "next term"]
Mode = Literal["COMPARE", "TRUNCATE", "APPEND"]


class VoteRound(msgspec.Struct):
    """One round of votes asked for. ``answers``: member → (vote, its term)."""

    number: int
    term: int
    answers: dict[str, tuple[str, int]] = msgspec.field(default_factory=dict)


class BeatRound(msgspec.Struct):
    """One round of heart beats. ``answers``: member → code."""

    number: int
    sent_ns: int
    answers: dict[str, int] = msgspec.field(default_factory=dict)


class Progress(msgspec.Struct):
    """How far the leader is with one follower.

    COMPARE asks whether the follower has entry ``at``; TRUNCATE makes it the follower's last one; APPEND pushes from
    ``next`` on. ``matched``: up to there the follower has the leader's entries. ``in_flight``: first index of a push →
    (time, number of entries).
    """

    mode: Mode = "COMPARE"
    at: int = -1
    number: int = 0
    is_asking: bool = False
    is_pausing: bool = False
    next: int = 0
    matched: int = -1
    in_flight: dict[int, tuple[int, int]] = msgspec.field(default_factory=dict)
    sent_ns: int = 0
    is_alive: bool = False
    quota_second: int = 0
    quota_bytes: int = 0


class Pending(msgspec.Struct):
    """A proposal in the leader's log that is not committed. ``is_local``: made by this process, not by a request."""

    ref: int
    pos: int
    deadline_ns: int
    is_local: bool


class Parked(msgspec.Struct):
    """A push of entries that do not follow yet."""

    ref: int
    request: PushRequest
    since_ns: int


class Taking(msgspec.Struct):
    """A transfer of leadership to us that waits: first for the log, then for the election."""

    ref: int
    request: TransferRequest
    term: int = -1


class Member(msgspec.Struct):
    """One member of a group."""

    role: str = Role.CANDIDATE
    term: int = 0
    voted_for: str = ""
    leader: str = ""
    known_max_term: int = -1
    committed: int = -1
    durable: int = -1
    """Only with strict persistence: up to there this member's own entries are on the disk."""

    # candidate
    next_vote: NextVote = "same term"
    must_raise_term: bool = False
    round: VoteRound | None = None
    rounds: int = 0
    taking: Taking | None = None

    # follower
    parked: dict[int, Parked] = msgspec.field(default_factory=dict)

    # leader
    beat: BeatRound | None = None
    beats: int = 0
    last_quorum_ns: int = 0
    progress: dict[str, Progress] = msgspec.field(default_factory=dict)
    pending: dict[int, Pending] = msgspec.field(default_factory=dict)
    reads: list[tuple[int, GetRequest, int]] = msgspec.field(default_factory=list)
    """(ref, request, number of the first round of heart beats that confirms it)."""
    transferee: str = ""
