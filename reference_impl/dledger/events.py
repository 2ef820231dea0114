"""What goes into a step, and what comes out of it.

Question: how does the protocol talk to the world without touching it?

Inputs: a :class:`Start`, requests, answers (or that there was none), timers, proposals, what the disk did. Effects come
back as a list and are carried out in its order. Writes come before the answers that rest on them; where a write fails,
the rest of the list is dropped and :class:`DiskFailed` goes in.
"""

from __future__ import annotations

from typing import Any

import msgspec

from reference_impl.dledger.entry import Entry
from reference_impl.dledger.messages import Message

# Inputs --------------------------------------------------------------------------------------------------------------


class Start(msgspec.Struct, frozen=True):
    """The log is recovered, term, vote and committed index are in the state."""


class Timer(msgspec.Struct, frozen=True):
    """A timer is due."""

    key: str


class Request(msgspec.Struct, frozen=True):
    """A member or a client asks; ``Reply`` with the same *ref* answers, perhaps later, perhaps never."""

    ref: int
    message: Message


class Answered(msgspec.Struct, frozen=True):
    """What became of a ``Send``: *answer* is ``None`` where none came in time."""

    peer: str
    request: Message
    answer: Message | None
    number: int


class Propose(msgspec.Struct, frozen=True):
    """This process appends; ``Done`` with the same *ref* follows, perhaps within the step."""

    ref: int
    bodies: tuple[bytes, ...]


class Forced(msgspec.Struct, frozen=True):
    """This member's entries up to *index* are durable (strict persistence)."""

    index: int


class DiskFailed(msgspec.Struct, frozen=True):
    """A write failed; the log is as it was before it. *is_full*: for want of space."""

    is_full: bool


Input = Start | Timer | Request | Answered | Propose | Forced | DiskFailed


# Effects -------------------------------------------------------------------------------------------------------------


class Write(msgspec.Struct, frozen=True):
    """Append *entry* to the log."""

    entry: Entry


class Cut(msgspec.Struct, frozen=True):
    """Entries from *index* on go."""

    index: int


class Restart(msgspec.Struct, frozen=True):
    """The log is *entry* alone."""

    entry: Entry


class SaveTerm(msgspec.Struct, frozen=True):
    """Keep term and vote."""

    term: int
    voted_for: str


class Send(msgspec.Struct, frozen=True):
    """Ask *peer*; ``Answered`` follows with the same *number*."""

    peer: str
    request: Message
    number: int = 0


class Reply(msgspec.Struct, frozen=True):
    """Answer a ``Request``."""

    ref: int
    answer: Message


class SetTimer(msgspec.Struct, frozen=True):
    """``Timer(key)`` after *delay_ns*; replaces one of the same key."""

    key: str
    delay_ns: int


class CancelTimer(msgspec.Struct, frozen=True):
    """No ``Timer(key)``."""

    key: str


class Accepted(msgspec.Struct, frozen=True):
    """A ``Propose`` is in the leader's log, its last entry as *entry*; nothing is promised yet."""

    ref: int
    entry: Entry


class Done(msgspec.Struct, frozen=True):
    """The end of a ``Propose``: *code* says which."""

    ref: int
    code: int
    index: int = -1
    pos: int = -1


class RoleChanged(msgspec.Struct, frozen=True):
    """This member is *role* now. *term* is the one heard of, which a candidate may not have reached yet."""

    term: int
    role: str
    leader: str


class Committed(msgspec.Struct, frozen=True):
    """Entries up to *index* are there for ever."""

    index: int


class Note(msgspec.Struct, frozen=True):
    """A decision worth a line in the trace."""

    event: str
    fields: dict[str, Any]


Effect = (
    Write | Cut | Restart | SaveTerm | Send | Reply | SetTimer | CancelTimer | Accepted | Done | RoleChanged | Committed
) | Note
