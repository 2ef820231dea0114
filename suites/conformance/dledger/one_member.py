"""One real member of a group of three, and two that are ours: what does it answer, and what does it write?

Question: the captured frames are of one release of DLedger; does a member of today's answer the same questions in the
same way, and are its own frames what this code reads and writes?

Model. ``n0`` is a broker of the target in a namespace of its own; ``n1`` and ``n2`` are client roles that listen where
its peers are to be. They keep every frame that it sends, and answer as :class:`Follower` does once they are told to:
until then they say nothing, as members that hang. Questions of the capture are asked over one connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from harness.backends.backend import Backend, NodeSpec
from reference_impl.dledger.codes import Code as MemberCode
from reference_impl.dledger.codes import PushType, RpcCode, Vote
from reference_impl.dledger.entry import Entry
from reference_impl.dledger.messages import (
    REQUESTS,
    HeartBeatResponse,
    Message,
    PushRequest,
    PushResponse,
    VoteRequest,
    VoteResponse,
    decode,
    encode,
)
from reference_impl.environment import MS, SECOND, Environment, Link
from reference_impl.wire.codes import RequestCode
from reference_impl.wire.frame import ANSWER, Command, FrameDecoder, decode_frame, encode_frame
from suites.conformance.broker.backend_peer import START_TIMEOUT_NS, Talker
from suites.conformance.dledger.brokers import MEMBER_PORT
from suites.conformance.replication.pair import SMALL_FILES
from suites.quiet_role import QuietRole

GROUP: Final = "b"
"""The capture's."""
SELF: Final = "n0"
BEAT_NS: Final = 500 * MS


@dataclass
class Follower:
    """What it stores of what a leader pushes, and how it answers: as a member that is never in doubt."""

    entries: list[Entry] = field(default_factory=list)
    is_silent: bool = True

    def answer(self, code: int, body: bytes) -> Message | None:
        """To a request of the real member; ``None``: nothing."""
        if self.is_silent:
            return None
        request = decode(REQUESTS[code], body)
        if isinstance(request, VoteRequest):
            ids = {"group": request.group, "leader_id": request.leader_id}
            ids |= {"local_id": request.local_id, "remote_id": request.remote_id}
            return VoteResponse(term=request.term, vote_result=Vote.ACCEPT, **ids)
        return self._stored(request) if isinstance(request, PushRequest) else HeartBeatResponse()

    def _stored(self, request: PushRequest) -> PushResponse:
        code = self._take(request)
        told: dict[str, Any] = {"index": request.first_index} if request.entries else {}
        ends = {"begin_index": 0 if self.entries else -1, "end_index": len(self.entries) - 1}
        return PushResponse(code=code, group=request.group, term=request.term, count=request.count, **ends, **told)

    def _take(self, request: PushRequest) -> MemberCode:
        first = request.first_index
        if request.type == PushType.COMPARE:
            is_same = 0 <= first < len(self.entries) and self.entries[first] == request.entries[0]
            return MemberCode.SUCCESS if is_same else MemberCode.INCONSISTENT_STATE
        if request.type == PushType.TRUNCATE:
            del self.entries[first:]
        if request.entries and first > len(self.entries):
            return MemberCode.INCONSISTENT_STATE
        for entry in request.entries:
            self.entries[entry.index :] = [entry]
        return MemberCode.SUCCESS


class FakeMember(QuietRole):
    """Listens as a member; ``streams`` has every byte that came."""

    def __init__(self, address: str) -> None:
        self.address, self.follower = address, Follower()
        self.streams: dict[Link, bytearray] = {}
        self._decoders: dict[Link, FrameDecoder] = {}

    def on_start(self, env: Environment) -> None:
        env.listen(self.address)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        self.streams.setdefault(link, bytearray()).extend(data)
        for command in self._decoders.setdefault(link, FrameDecoder()).feed(data):
            answer = self.follower.answer(command.code, command.body)
            if answer is not None:
                reply = Command(MemberCode.SUCCESS, body=encode(answer), flag=ANSWER, opaque=command.opaque)
                env.send(link, encode_frame(reply))


class OneMember:
    """Started, with two peers that say nothing."""

    def __init__(self, backend: Backend, release: str) -> None:
        self.backend, self.release = backend, release
        backend.on_event = self._event
        server, host = backend.host("namesrv-1"), backend.host(SELF)
        self.fakes = {f"n{n}": FakeMember(f"{backend.host(f'client-{n + 1}')}:{MEMBER_PORT}") for n in (1, 2)}
        addresses = {SELF: f"{host}:{MEMBER_PORT}"} | {name: fake.address for name, fake in self.fakes.items()}
        own = {"brokerName": GROUP, "brokerIP1": host, "namesrvAddr": f"{server}:9876", "release": release}
        own |= {"enableDLegerCommitLog": "true", "dLegerGroup": GROUP, "dLegerSelfId": SELF}
        own |= {"dLegerPeers": ";".join(f"{name}-{address}" for name, address in addresses.items()), **SMALL_FILES}
        backend.add_node(NodeSpec("namesrv-1", "namesrv", {"bindAddress": server, "listenPort": "9876"}))
        backend.add_node(NodeSpec(SELF, "broker", own))
        self.talker = Talker({"member": addresses[SELF], "namesrv": f"{server}:9876"})
        self._asked: list[int] = []
        """Request codes; an opaque counts them."""
        self._earlier = bytearray()
        """What it answered in earlier lives."""
        backend.add_client("client-1", self.talker)
        for number, fake in enumerate(self.fakes.values(), start=2):
            backend.add_client(f"client-{number}", fake)
        self.start("namesrv-1")
        self.start(SELF)

    def _event(self, node: str, event: str, fields: dict[str, Any]) -> None:
        assert event not in ("crashed", "handler_failed"), (node, event, fields)

    def start(self, node: str) -> None:
        """Until it answers."""
        self.backend.perform(lambda: self.backend.levers.start(node))
        begun_ns = self.backend.now()
        while self.answer_of(self.tell(*self._hello(node)), SECOND) is None:
            assert self.backend.now() < begun_ns + START_TIMEOUT_NS, f"{node} does not answer"

    def _hello(self, node: str) -> tuple[Command, str]:
        metadata = Command(RpcCode.METADATA, body=b'{"group":"b","remoteId":"n0"}')
        return (metadata, "member:") if node == SELF else (Command(RequestCode.GET_BROKER_CLUSTER_INFO), "namesrv:")

    def kill(self) -> None:
        self._earlier += self.talker.channels["member:"].data
        self.backend.perform(lambda: self.backend.levers.kill(SELF))

    def tell(self, request: Command, channel: str = "member:") -> tuple[str, int]:
        """Where the answer will be."""
        self._asked.append(request.code)
        request.opaque = len(self._asked)
        data = encode_frame(request)
        self.backend.step("client-1", lambda env: env.send(self.talker.channel(env, channel).link, data))
        return channel, request.opaque

    def asked_code(self, opaque: int) -> int:
        """Of the request that an answer is to."""
        return self._asked[opaque - 1]

    def answer_of(self, asked: tuple[str, int], timeout_ns: int) -> Command | None:
        """The frame, or ``None``."""
        talk = self.talker.channels.get(asked[0])
        self.backend.run_until(lambda: talk is not None and asked[1] in talk.answers, self.backend.now() + timeout_ns)
        return talk.answers.get(asked[1]) if talk else None

    def written(self) -> list[bytes]:
        """Every whole frame of the real member: its answers, then its requests."""
        answers = self._earlier, self.talker.channels["member:"].data
        requests = [stream for fake in self.fakes.values() for stream in fake.streams.values()]
        return [frame for stream in (*answers, *requests) for frame in frames_in(bytes(stream))]

    def sleep(self, duration_ns: int) -> None:
        self.backend.run_until(lambda: False, self.backend.now() + duration_ns)

    def until(self, holds: Callable[[], bool], timeout_ns: int) -> None:
        """*holds* may ask."""
        end_ns = self.backend.now() + timeout_ns
        while not holds():
            assert self.backend.now() < end_ns, f"not within {timeout_ns / SECOND:g} s"
            self.sleep(100 * MS)


def request_of(line: Mapping[str, Any]) -> Command:
    """The question of a line of the capture."""
    return decode_frame(bytes.fromhex(line["request_hex"]))


def frames_in(stream: bytes) -> Iterator[bytes]:
    """As their length words say; what is not whole at the end is not there yet."""
    at = 0
    while (end := at + 4 + int.from_bytes(stream[at : at + 4], "big")) <= len(stream) and at < len(stream):
        yield stream[at:end]
        at = end
