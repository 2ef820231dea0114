"""A client of a DLedger group: finds the leader, appends, reads.

Question: whom does a client ask, and when does it ask again?

Model (DLedger: DLedgerClient). At first it takes the first peer for the leader. After NOT_LEADER it asks a member for
the metadata, and, once it knows a leader, repeats the request *once*: that answer means that nothing was appended. Any
other failure is the caller's business. Metadata is asked for in turn, every 300 ms while no leader is known, for at
most 1.5 s; then the answer is METADATA_ERROR.

A time-out or a connection that ends is told as NETWORK_ERROR: the entry may be in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final, TypeVar

from reference_impl.dledger.codes import Code
from reference_impl.dledger.messages import (
    ANSWERS,
    CODE_OF,
    AppendRequest,
    AppendResponse,
    GetRequest,
    GetResponse,
    Message,
    MetadataRequest,
    decode,
    encode,
    text,
)
from reference_impl.environment import MS, SECOND, Environment
from reference_impl.wire.frame import Command, RemoteWireError
from reference_impl.wire.remoting import Answer, CallFailed, Remoting

M = TypeVar("M", bound=Message)
CALL_TIMEOUT_NS: Final = 3 * SECOND
METADATA_EVERY_NS: Final = 300 * MS
METADATA_TRIES: Final = 5
_KEY: Final = "dledger-metadata"


class DLedgerClient:
    """Of one group. Whoever owns it forwards ``on_timer``, and its *remoting*'s events."""

    def __init__(self, group: str, peers: Mapping[str, str], remoting: Remoting, name: str = "client") -> None:
        self.group, self.peers, self.name = group, dict(peers), name
        self.leader = next(iter(peers), "")
        self._remoting = remoting
        self._waiting: list[Callable[[Environment, bool], None]] = []
        self._tries = 0

    def append(self, env: Environment, body: bytes, then: Callable[[Environment, AppendResponse], None]) -> None:
        """Append one entry at the leader."""
        self._ask_leader(env, AppendRequest(body=body), AppendResponse, then, repeats=True)

    def get(self, env: Environment, index: int, then: Callable[[Environment, GetResponse], None]) -> None:
        """Read one entry from the leader."""
        self._ask_leader(env, GetRequest(begin_index=index), GetResponse, then, repeats=True)

    def ask(self, env: Environment, member: str, request: Message, then: Callable[[Environment, Any], None]) -> None:
        """One request to one member, whoever leads."""
        kind = ANSWERS[CODE_OF[type(request)]]
        self._call(env, member, request, lambda env, answer: then(env, _read(kind, answer)))

    def _ask_leader(
        self,
        env: Environment,
        request: Message,
        kind: type[M],
        then: Callable[[Environment, M], None],
        *,
        repeats: bool,
    ) -> None:
        def answered(env: Environment, answer: Answer) -> None:
            got = _read(kind, answer)
            if got.code == Code.NETWORK_ERROR:
                self.leader = ""
            if got.code == Code.NOT_LEADER and repeats:
                self.leader = ""
                self._ask_leader(env, request, kind, then, repeats=False)
            else:
                then(env, got)

        def found(env: Environment, is_known: bool) -> None:
            if is_known:
                self._call(env, self.leader, request, answered)
            else:
                then(env, kind(code=Code.METADATA_ERROR))

        self._with_leader(env, found)

    def _call(
        self, env: Environment, member: str, request: Message, then: Callable[[Environment, Answer], None]
    ) -> None:
        request.group, request.remote_id, request.local_id = self.group, member, self.name
        command = Command(CODE_OF[type(request)], body=encode(request))
        self._remoting.call(env, self.peers[member], command, CALL_TIMEOUT_NS, then, close_on_timeout=True)

    # --- who leads --------------------------------------------------------------------------------------------------

    def _with_leader(self, env: Environment, then: Callable[[Environment, bool], None]) -> None:
        if self.leader:
            then(env, True)
            return
        self._waiting.append(then)
        if len(self._waiting) == 1:
            self._tries = 0
            self._ask_for_leader(env)

    def _ask_for_leader(self, env: Environment) -> None:
        members = list(self.peers)
        member = members[self._tries % len(members)]
        self._tries += 1
        self.ask(env, member, MetadataRequest(), self._learned)
        env.set_timer(_KEY, METADATA_EVERY_NS)

    def _learned(self, env: Environment, answer: Message) -> None:
        leader = text(answer.leader_id)
        if answer.code == Code.SUCCESS and leader in self.peers and self._waiting:
            self.leader = leader
            self._tell(env, True)

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Whether the timer was ours."""
        if key != _KEY:
            return False
        if self._tries < METADATA_TRIES:
            self._ask_for_leader(env)
        else:
            self._tell(env, False)
        return True

    def _tell(self, env: Environment, is_known: bool) -> None:
        env.cancel_timer(_KEY)
        waiting, self._waiting = self._waiting, []
        for then in waiting:
            then(env, is_known)


def _read(kind: type[M], answer: Answer) -> M:
    """The message; one with a code of our own where there is none."""
    if isinstance(answer, CallFailed):
        return kind(code=Code.NETWORK_ERROR)
    if answer.code != Code.SUCCESS:
        return kind(code=Code.INTERNAL_ERROR)
    try:
        return decode(kind, answer.body)
    except RemoteWireError:
        return kind(code=Code.INTERNAL_ERROR)
