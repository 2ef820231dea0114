"""A group of members in virtual time: no files, no sockets, links with one millisecond of delay that can be cut.

Question: what does the protocol come to when several members run it? Every member is a state, a log in memory and a
table of timers; everything that happens goes through :func:`reference_impl.dledger.core.step`.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from random import Random
from typing import Any

from reference_impl.dledger.core import step
from reference_impl.dledger.events import (
    Accepted,
    Answered,
    CancelTimer,
    Committed,
    Done,
    Effect,
    Input,
    Note,
    Propose,
    Reply,
    Request,
    RoleChanged,
    SaveTerm,
    Send,
    SetTimer,
    Start,
    Timer,
)
from reference_impl.dledger.messages import AppendRequest, GetRequest, Message, TransferRequest
from reference_impl.dledger.settings import Settings
from reference_impl.dledger.state import Member
from reference_impl.environment import MS
from suites.unit.dledger.memory_log import MemoryLog

LATENCY_NS = MS
GROUP = "g"


class Node:
    """One member, and what of it survives its process: ``log``, ``saved`` and ``checkpoint``."""

    def __init__(self, settings: Settings, log: MemoryLog | None = None) -> None:
        self.settings = settings
        self.log = log if log is not None else MemoryLog()
        self.saved = (0, "")
        self.member = Member()
        self.timers: dict[str, tuple[int, int]] = {}
        self.is_up = False
        self.life = 0


class Group:
    """*size* members ``n0``, ``n1``, …; *options* go into their settings."""

    def __init__(self, size: int = 3, seed: int = 0, **options: Any) -> None:
        self.now_ns, self.rng = 0, Random(seed)
        self.peers = {f"n{n}": f"10.0.0.{n}:1" for n in range(size)}
        self.nodes = {
            name: Node(Settings(group=GROUP, self_id=name, peers=self.peers, **options)) for name in self.peers
        }
        self.said: list[str] = []
        self.cut: set[tuple[str, str]] = set()
        self.is_tracing = False
        self.acknowledged: dict[int, bytes] = {}
        self.on_reply: dict[int, Callable[[Message], None]] = {}
        self.proposals: dict[int, bytes] = {}
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._number = 0
        self._asked: dict[int, tuple[str, str, Message, int]] = {}

    # --- what a test does -------------------------------------------------------------------------------------------

    def start(self, *names: str) -> None:
        """Processes begin with what survived."""
        for name in names or tuple(self.nodes):
            node = self.nodes[name]
            node.is_up, node.timers = True, {}
            node.life += 1
            term, vote = node.saved
            node.member = Member(term=term, voted_for=vote, committed=-1)
            self.happens(name, Start())

    def kill(self, name: str) -> None:
        """The process is gone; its files are not."""
        self.nodes[name].is_up = False

    def isolate(self, name: str) -> None:
        """Nothing goes to *name* or comes from it."""
        for other in self.nodes:
            self.cut |= {(name, other), (other, name)}

    def heal(self) -> None:
        self.cut.clear()

    def propose(self, name: str, *bodies: bytes) -> int:
        """This process appends; the outcome is said."""
        ref = self._next()
        self.proposals[ref] = bodies[-1] if bodies else b""
        self.happens(name, Propose(ref, bodies))
        return ref

    def ask(self, name: str, message: Message, then: Callable[[Message], None]) -> None:
        """A client's request; *message* is addressed here."""
        message.group, message.remote_id, message.local_id = GROUP, name, "client"
        ref = self._next()
        self.on_reply[ref] = then
        self.happens(name, Request(ref, message))

    def append(self, name: str, body: bytes) -> None:
        self.ask(name, AppendRequest(body=body), lambda answer: self._say(f"append {body.decode()}: {_shown(answer)}"))

    def get(self, name: str, index: int) -> None:
        self.ask(name, GetRequest(begin_index=index), lambda answer: self._say(f"get {index}: {_shown(answer)}"))

    def transfer(self, name: str, to: str) -> None:
        request = TransferRequest(transfer_id=name, transferee_id=to, term=self.nodes[name].member.term)
        self.ask(name, request, lambda answer: self._say(f"transfer: {_shown(answer)}"))

    def run(self, duration_ms: int) -> None:
        """Let time pass."""
        end_ns = self.now_ns + duration_ms * MS
        while self._heap and self._heap[0][0] <= end_ns:
            self.now_ns, _, act = heapq.heappop(self._heap)
            act()
        self.now_ns = end_ns

    def leaders(self) -> list[str]:
        return [name for name, node in self.nodes.items() if node.is_up and node.member.role == "LEADER"]

    # --- the world --------------------------------------------------------------------------------------------------

    def happens(self, name: str, happened: Input) -> None:
        """One step of one member."""
        node = self.nodes[name]
        if node.is_up:
            for effect in step(node.settings, node.member, node.log, self.now_ns, self.rng, happened):
                self._carry_out(name, node, effect)

    def _carry_out(self, name: str, node: Node, effect: Effect) -> None:
        node.log.carry_out(effect)
        if isinstance(effect, Send):
            self._send(name, node, effect)
        elif isinstance(effect, Reply):
            self._reply(name, effect)
        elif isinstance(effect, SetTimer):
            self._set_timer(name, node, effect)
        elif isinstance(effect, CancelTimer):
            node.timers.pop(effect.key, None)
        elif isinstance(effect, SaveTerm):
            node.saved = (effect.term, effect.voted_for)
        elif isinstance(effect, Done):
            self._done(effect)
        elif isinstance(effect, RoleChanged):
            self._say(f"{name} is {effect.role} in term {node.member.term}")
        elif isinstance(effect, Note) and effect.event != "vote_round":
            self._say(f"{name} notes {effect.event}")
        else:
            assert isinstance(effect, Accepted | Committed | Note) or type(effect).__name__ in "Write Cut Restart"

    def _set_timer(self, name: str, node: Node, effect: SetTimer) -> None:
        due = (self.now_ns + effect.delay_ns, self._next())
        node.timers[effect.key] = due
        life = node.life

        def fire() -> None:
            if node.life == life and node.timers.get(effect.key) == due:
                del node.timers[effect.key]
                self.happens(name, Timer(effect.key))

        heapq.heappush(self._heap, (*due, fire))

    def _send(self, name: str, node: Node, effect: Send) -> None:
        ref, life = self._next(), node.life
        self._asked[ref] = (name, effect.peer, effect.request, effect.number)
        self._trace(f"{name} → {effect.peer}", effect.request)
        if (name, effect.peer) not in self.cut:
            self._later(LATENCY_NS, lambda: self.happens(effect.peer, Request(ref, effect.request)))

        def time_out() -> None:
            if self._asked.pop(ref, None) is not None and node.life == life:
                self.happens(name, Answered(effect.peer, effect.request, None, effect.number))

        self._later(node.settings.rpc_timeout_ms * MS, time_out)

    def _reply(self, name: str, effect: Reply) -> None:
        if effect.ref in self.on_reply:
            self.on_reply.pop(effect.ref)(effect.answer)
            return
        asked = self._asked.get(effect.ref)
        if asked is None or (name, asked[0]) in self.cut:
            return
        asker, peer, request, number = asked
        self._trace(f"{name} ⇢ {asker}", effect.answer)

        def arrive() -> None:
            if self._asked.pop(effect.ref, None) is not None:
                self.happens(asker, Answered(peer, request, effect.answer, number))

        self._later(LATENCY_NS, arrive)

    def _done(self, effect: Done) -> None:
        body = self.proposals[effect.ref]
        if effect.code == 200:
            self.acknowledged[effect.index] = body
        self._say(f"propose {body.decode()}: {effect.code} index {effect.index}")

    def _later(self, delay_ns: int, act: Callable[[], None]) -> None:
        heapq.heappush(self._heap, (self.now_ns + delay_ns, self._next(), act))

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _say(self, text: str) -> None:
        self.said.append(f"{self.now_ns / 1e9:7.3f} {text}")

    def _trace(self, way: str, message: Message) -> None:
        if self.is_tracing:
            self._say(f"{way} {_shown(message)}")


_HIDDEN = (
    "group",
    "leader_id",
    "local_id",
    "remote_id",
    "batch",
    "batch_entry",
    "first_entry_index",
    "last_entry_index",
    "total_size",
)


def _shown(message: Message) -> str:
    """The members that are worth a line."""
    words = [type(message).__name__]
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if name in _HIDDEN or value in (None, [], {}) or repr(value) == "UNSET" or (name, value) == ("code", 200):
            continue
        if name == "entry":
            value = f"{value.index}/{value.term}"
        elif name == "entries":
            value = ",".join(entry.body.decode() for entry in value)
        words.append(f"{name}={value}")
    return " ".join(words)
