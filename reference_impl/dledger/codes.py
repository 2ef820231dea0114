"""The numbers and names of DLedger's protocol, as data.

Question: which number has a request, an answer code, and what does a code say to a client about its append?

Model (DLedger: DLedgerRequestCode, DLedgerResponseCode, PushEntryRequest.Type, VoteResponse.RESULT). The remoting code
of an answer is always 200; the result is the ``code`` member of its body. What a code means to the history of a client
is :data:`DEFINITE_FAILURES`: only these say that the entry is certainly not in the log, and never will be.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Final


class RpcCode(IntEnum):
    """Request codes. 51003 and the two above 51005 are declared by Apache and served by no broker."""

    METADATA = 50000
    APPEND = 50001
    GET = 50002
    VOTE = 51001
    HEART_BEAT = 51002
    PULL = 51003
    PUSH = 51004
    LEADERSHIP_TRANSFER = 51005


class Code(IntEnum):
    """The ``code`` member of an answer."""

    UNKNOWN = -1
    SUCCESS = 200
    TIMEOUT = 300
    METADATA_ERROR = 301
    NETWORK_ERROR = 302
    UNSUPPORTED = 303
    UNKNOWN_GROUP = 400
    UNKNOWN_MEMBER = 401
    UNEXPECTED_MEMBER = 402
    EXPIRED_TERM = 403
    NOT_LEADER = 404
    NOT_FOLLOWER = 405
    INCONSISTENT_STATE = 406
    INCONSISTENT_TERM = 407
    INCONSISTENT_INDEX = 408
    INCONSISTENT_LEADER = 409
    INDEX_OUT_OF_RANGE = 410
    UNEXPECTED_ARGUMENT = 411
    REPEATED_REQUEST = 412
    REPEATED_PUSH = 413
    DISK_ERROR = 414
    DISK_FULL = 415
    TERM_NOT_READY = 416
    FALL_BEHIND_TOO_MUCH = 417
    TAKE_LEADERSHIP_FAILED = 418
    INDEX_LESS_THAN_LOCAL_BEGIN = 419
    REQUEST_WITH_EMPTY_BODYS = 420
    PUSH_REQUEST_IS_FULL = 421
    INTERNAL_ERROR = 500
    TERM_CHANGED = 501
    WAIT_QUORUM_ACK_TIMEOUT = 502
    LEADER_PENDING_FULL = 503
    ILLEGAL_MEMBER_STATE = 504
    LEADER_NOT_READY = 505
    LEADER_TRANSFERRING = 506


DEFINITE_FAILURES: Final = frozenset(
    {
        Code.UNKNOWN_GROUP,
        Code.UNKNOWN_MEMBER,
        Code.NOT_LEADER,
        Code.UNEXPECTED_ARGUMENT,
        Code.DISK_FULL,
        Code.REQUEST_WITH_EMPTY_BODYS,
        Code.LEADER_PENDING_FULL,
        Code.LEADER_TRANSFERRING,
    }
)
"""Of a *single* append. Of a batch, a prefix may be in the log whatever the answer says."""


class PushType(StrEnum):
    """What a leader wants of a follower."""

    APPEND = "APPEND"
    COMMIT = "COMMIT"
    COMPARE = "COMPARE"
    TRUNCATE = "TRUNCATE"


class Vote(StrEnum):
    """What a voter says."""

    UNKNOWN = "UNKNOWN"
    ACCEPT = "ACCEPT"
    REJECT_UNKNOWN_LEADER = "REJECT_UNKNOWN_LEADER"
    REJECT_UNEXPECTED_LEADER = "REJECT_UNEXPECTED_LEADER"
    REJECT_EXPIRED_VOTE_TERM = "REJECT_EXPIRED_VOTE_TERM"
    REJECT_ALREADY_VOTED = "REJECT_ALREADY_VOTED"
    REJECT_ALREADY_HAS_LEADER = "REJECT_ALREADY_HAS_LEADER"
    REJECT_TERM_NOT_READY = "REJECT_TERM_NOT_READY"
    REJECT_TERM_SMALL_THAN_LEDGER = "REJECT_TERM_SMALL_THAN_LEDGER"
    REJECT_EXPIRED_LEDGER_TERM = "REJECT_EXPIRED_LEDGER_TERM"
    REJECT_SMALL_LEDGER_END_INDEX = "REJECT_SMALL_LEDGER_END_INDEX"
    REJECT_TAKING_LEADERSHIP = "REJECT_TAKING_LEADERSHIP"


class Role(StrEnum):
    """What a member is."""

    CANDIDATE = "CANDIDATE"
    FOLLOWER = "FOLLOWER"
    LEADER = "LEADER"
