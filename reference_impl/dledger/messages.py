"""The bodies of DLedger's requests and answers, as JSON.

Question: which members has a request, and which does an answer carry?

Model (DLedger: protocol/*, written by fastjson). Members in alphabetical order, absent ones left out, bytes in base64,
numbers always written. ``code``, ``term`` are in everything; ``group``, ``leaderId``, ``localId``, ``remoteId`` are
``UNSET`` where Apache leaves them out, and that differs from answer to answer. A push carries getters of its Java class
as members (``batch``, ``count``, ``firstEntryIndex``, ``lastEntryIndex``); they are computed on writing, and not
believed on reading.

Tolerance. Unknown members are ignored, missing ones have defaults, null is absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from reference_impl.dledger.codes import Code, PushType, RpcCode, Vote
from reference_impl.dledger.entry import Entry
from reference_impl.wire.frame import RemoteWireError

Text = str | None | UnsetType

M = TypeVar("M", bound="Message")


class Message(msgspec.Struct, kw_only=True, rename="camel"):
    """What all have. Encoded sorted, so that the order of declaration does not matter."""

    code: int = Code.SUCCESS
    group: Text = UNSET
    leader_id: Text = UNSET
    local_id: Text = UNSET
    remote_id: Text = UNSET
    term: int = -1


class VoteRequest(Message):
    """``leaderId`` is the candidate."""

    ledger_end_index: int = -1
    ledger_end_term: int = -1


class VoteResponse(Message):
    """``term`` is the voter's."""

    vote_result: str = Vote.UNKNOWN


class HeartBeatRequest(Message):
    """A leader is alive."""


class HeartBeatResponse(Message):
    """``term`` is set only where it is newer than the leader's."""


class AppendRequest(Message):
    """Of a client; always one entry."""

    body: bytes = b""


class AppendResponse(Message):
    """Where the entry lies; −1 where it was refused."""

    index: int = -1
    pos: int = -1


class GetRequest(Message):
    """Of a client; one entry is read."""

    begin_index: int = -1
    max_size: int = 0


class GetResponse(Message):
    """None or one entry."""

    entries: list[Entry] = msgspec.field(default_factory=list)


class MetadataRequest(Message):
    """Who is there, and who leads?"""


class MetadataResponse(Message):
    """Member → address, as this member was configured."""

    peers: dict[str, str] = msgspec.field(default_factory=dict)


class PushRequest(Message):
    """Of a leader. Made by :func:`push`; read its entries by ``entries``, its first index by ``first_index``."""

    batch: bool = False
    batch_entry: list[Entry] = msgspec.field(default_factory=list)
    commit_index: int = -1
    count: int = 0
    entry: Entry | UnsetType | None = UNSET
    first_entry_index: int = -1
    last_entry_index: int = -1
    total_size: int = 0
    type: str = PushType.APPEND

    @property
    def entries(self) -> Sequence[Entry]:
        """What is pushed: one, several in a batch, none in a COMMIT."""
        if self.batch_entry:
            return self.batch_entry
        return (self.entry,) if isinstance(self.entry, Entry) else ()

    @property
    def first_index(self) -> int:
        entries = self.entries
        return entries[0].index if entries else -1


class PushResponse(Message):
    """The follower's log *after* the request; ``index`` is the request's first one."""

    begin_index: int = 0
    count: int = 0
    end_index: int = 0
    index: int | UnsetType = UNSET


class TransferRequest(Message):
    """Of an administrator to the leader, and of the leader to the one who is to take over."""

    take_leadership_ledger_index: int = -1
    transfer_id: Text = UNSET
    transferee_id: Text = UNSET


class TransferResponse(Message):
    """Nothing but the code."""


def push(kind: PushType, entries: Sequence[Entry] = (), *, is_batch: bool = False, **members: Any) -> PushRequest:
    """A push of *kind* with the members that Java computes; it counts bytes only for a batch."""
    return PushRequest(
        batch=is_batch,
        batch_entry=list(entries) if is_batch else [],
        count=len(entries),
        entry=entries[0] if entries and not is_batch else UNSET,
        first_entry_index=entries[0].index if entries else -1,
        last_entry_index=entries[-1].index if entries else -1,
        total_size=sum(entry.size for entry in entries) if is_batch else 0,
        type=kind,
        **members,
    )


REQUESTS: Final[Mapping[int, type[Message]]] = {
    RpcCode.METADATA: MetadataRequest,
    RpcCode.APPEND: AppendRequest,
    RpcCode.GET: GetRequest,
    RpcCode.VOTE: VoteRequest,
    RpcCode.HEART_BEAT: HeartBeatRequest,
    RpcCode.PUSH: PushRequest,
    RpcCode.LEADERSHIP_TRANSFER: TransferRequest,
}
ANSWERS: Final[Mapping[int, type[Message]]] = {
    RpcCode.METADATA: MetadataResponse,
    RpcCode.APPEND: AppendResponse,
    RpcCode.GET: GetResponse,
    RpcCode.VOTE: VoteResponse,
    RpcCode.HEART_BEAT: HeartBeatResponse,
    RpcCode.PUSH: PushResponse,
    RpcCode.LEADERSHIP_TRANSFER: TransferResponse,
}
CODE_OF: Final[Mapping[type[Message], int]] = {kind: code for code, kind in REQUESTS.items()}
"""The request code of a request."""


def encode(message: Message) -> bytes:
    """The body."""
    return _ENCODER.encode(message)


def decode(kind: type[M], body: bytes) -> M:
    """The message; :class:`RemoteWireError` for anything else."""
    try:
        return _decoder(kind).decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RemoteWireError(f"{kind.__name__}: {error}") from error


def text(value: Text) -> str:
    """An id that may be absent, as text."""
    return value or ""


def _decoder(kind: type[M]) -> msgspec.json.Decoder[M]:
    return _DECODERS[kind]


_ENCODER: Final = msgspec.json.Encoder(order="sorted")
_DECODERS: Final[dict[type[Message], msgspec.json.Decoder[Any]]] = {
    kind: msgspec.json.Decoder(kind) for kind in (*REQUESTS.values(), *ANSWERS.values())
}
