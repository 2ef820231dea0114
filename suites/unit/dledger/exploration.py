"""Every order of messages, timers, losses and crashes, up to a bound: the whole small state space of three members.

    python -m suites.unit.dledger.exploration [--states 1000000] [--record]

Question: is there any order of events in which an invariant breaks?

Model. A state is three members (as bytes), their logs, what each has saved, its armed timers, the messages on their
way, and what was seen before (leaders, votes, committed entries), without any time. From a state each of these leads to
the next: one message arrives, in any order; one timer that is armed fires, at any moment (whoever asks how much time
has passed is told: enough; a timer without a delay fires at once); a proposal at a leader; a message is lost, and its
sender notices; a member restarts. Two ways to one state are one state. Two searches from each of five starts (nothing
has happened; a leader is elected; it has an entry that one other has; that other leads, and a tail is left behind; the
third, without any entry, stands for election):

    wide   breadth first: every order of so many events
    deep   to the end of all runs: the oldest message arrives first, and timers wait until there is none, but for a
           number of *deviations*, each of which is any other event

Bounds: two terms, two proposals, three rounds of votes and of heart beats in a member's life, five comparisons with a
follower, one loss, one restart.

Limits. Identical messages on their way at once are one. No transfer, no batches, no reads; files are never damaged.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

import msgspec

from harness import runfolder
from reference_impl.dledger.core import step
from reference_impl.dledger.entry import Entry
from reference_impl.dledger.events import (
    Answered,
    CancelTimer,
    Effect,
    Input,
    Propose,
    Reply,
    Request,
    SaveTerm,
    Send,
    SetTimer,
    Start,
    Timer,
)
from reference_impl.dledger.messages import ANSWERS, CODE_OF, REQUESTS, decode, encode
from reference_impl.dledger.settings import Settings
from reference_impl.dledger.state import Member
from reference_impl.environment import SECOND
from suites import recorded
from suites.unit.dledger.invariants import Witness, logs_match
from suites.unit.dledger.memory_log import MemoryLog

NAMES = ("n0", "n1", "n2")
TERMS_MAX = 2
ROUNDS_MAX = 3
COMPARISONS_MAX = 5
PROPOSALS_MAX = 2
LOSSES_MAX = 1
RESTARTS_MAX = 1
LATE_NS = 60 * SECOND
PROPOSAL_REF = -2
TIMERS = ("vote", "beat", "push:n0", "push:n1", "push:n2", "scan", "votes", "beats", "follow")
"""In the order in which they fire where nothing else happens."""

_PEERS = {name: f"10.0.0.{at}:1" for at, name in enumerate(NAMES)}
_SETTINGS = {name: Settings(group="g", self_id=name, peers=_PEERS) for name in NAMES}
_encode_member = msgspec.msgpack.Encoder().encode
_decode_member = msgspec.msgpack.Decoder(Member).decode


class Ask(NamedTuple):
    """A request as its sender knows it."""

    asker: str
    life: int
    peer: str
    code: int
    body: bytes
    number: int


class Node(NamedTuple):
    """One member of a state."""

    member: bytes
    log: tuple[Entry, ...]
    saved: tuple[int, str]
    timers: tuple[str, ...]
    life: int


class State(NamedTuple):
    """One state. ``flights``: (number of the request, ``None`` or the answer's bytes)."""

    nodes: tuple[Node, ...]
    flights: tuple[tuple[int, bytes | None], ...]
    proposals: int
    losses: int
    restarts: int
    seen: tuple[Any, ...]


class Explorer:
    """One search. ``states``: how many were looked at; ``depths``: from each start, every state up to so
    many events was; ``deviations``: every run with at most so many."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.states = self.transitions = 0
        self.depths: list[int] = []
        self.deviations: list[int] = []
        self.committed = self.leaders = 0
        self._numbers: dict[Ask, int] = {}
        self._asks: list[Ask] = []

    def wide(self, start: State) -> None:
        """``AssertionError`` from the invariants."""
        known, layer = {start}, [start]
        self.depths.append(0)
        while layer and len(known) < self.budget:
            following = list[State]()
            for state in layer:
                following += self._new(state, known)
                if len(known) >= self.budget:
                    break
            else:
                self.depths[-1] += 1
            layer = following
        self.states += len(known)

    def _new(self, state: State, known: set[State]) -> list[State]:
        found = []
        for after in self.after(state):
            self.transitions += 1
            if after not in known:
                known.add(after)
                found.append(after)
        return found

    def deep(self, start: State) -> None:
        """All runs with no deviation, then all with one more, until the budget is used up."""
        known, now = {start}, [start]
        self.deviations.append(-1)
        while now and len(known) < self.budget:
            later = list[State]()
            while now and len(known) < self.budget:
                state = now.pop()
                events = self.after(state)
                usual = next(events, None)
                if usual is not None and usual not in known:
                    known.add(usual)
                    now.append(usual)
                later.append(state)
            if not now:
                self.deviations[-1] += 1
            for state in later:
                if len(known) >= self.budget:
                    break
                now += self._new(state, known)
        self.states += len(known)

    # --- the events of a state --------------------------------------------------------------------------------------

    def after(self, state: State) -> Iterator[State]:
        """Every state that one event leads to; the first is the usual one."""
        for flight in state.flights:
            yield self._arrives(state, flight)
        for key in TIMERS:
            for at, node in enumerate(state.nodes):
                if key in node.timers and (next_ := self._fires(state, at, key)) is not None:
                    yield next_
        for at in range(len(NAMES)):
            if state.proposals < PROPOSALS_MAX and _role(state, at) == "LEADER":
                proposal = Propose(PROPOSAL_REF, (b"p%d" % state.proposals,))
                yield self.step(state._replace(proposals=state.proposals + 1), at, proposal)
            if state.restarts < RESTARTS_MAX:
                yield self._restarts(state, at)
        for flight in state.flights if state.losses < LOSSES_MAX else ():
            yield self._is_lost(state, flight)

    def _arrives(self, state: State, flight: tuple[int, bytes | None]) -> State:
        number, answer = flight
        ask = self._asks[number]
        without = state._replace(flights=tuple(it for it in state.flights if it != flight))
        request = decode(REQUESTS[ask.code], ask.body)
        if answer is None:
            return self.step(without, NAMES.index(ask.peer), Request(number, request))
        got = decode(ANSWERS[ask.code], answer)
        return self._answers(without, ask, Answered(ask.peer, request, got, ask.number))

    def _is_lost(self, state: State, flight: tuple[int, bytes | None]) -> State:
        ask = self._asks[flight[0]]
        without = state._replace(flights=tuple(it for it in state.flights if it != flight), losses=state.losses + 1)
        request = decode(REQUESTS[ask.code], ask.body)
        return self._answers(without, ask, Answered(ask.peer, request, None, ask.number))

    def _answers(self, state: State, ask: Ask, answered: Answered) -> State:
        at = NAMES.index(ask.asker)
        return self.step(state, at, answered) if state.nodes[at].life == ask.life else state

    def _fires(self, state: State, at: int, key: str) -> State | None:
        node = state.nodes[at]
        member = _decode_member(node.member)
        raises = member.must_raise_term or member.next_vote == "next term"
        if key == "vote" and (member.rounds >= ROUNDS_MAX or (raises and member.term >= TERMS_MAX)):
            return None
        if key == "beat" and member.beats >= ROUNDS_MAX:
            return None
        progress = member.progress.get(key.removeprefix("push:"))
        if progress is not None and progress.number >= COMPARISONS_MAX:
            return None
        timers = tuple(it for it in node.timers if it != key)
        return self.step(_with(state, at, node._replace(timers=timers)), at, Timer(key), LATE_NS)

    def _restarts(self, state: State, at: int) -> State:
        node = state.nodes[at]
        term, vote = node.saved
        fresh = Node(_encode_member(Member(term=term, voted_for=vote)), node.log, node.saved, (), node.life + 1)
        return self.step(_with(state, at, fresh)._replace(restarts=state.restarts + 1), at, Start())

    # --- one event --------------------------------------------------------------------------------------------------

    def step(self, state: State, at: int, happened: Input, now_ns: int = 0) -> State:
        """What one member does, and what the invariants say to it."""
        name, node = NAMES[at], state.nodes[at]
        member, log = _decode_member(node.member), MemoryLog(list(node.log))
        flights, timers, saved = dict.fromkeys(state.flights), dict.fromkeys(node.timers), node.saved
        at_once: list[Input] = [happened]
        while at_once:
            for effect in step(_SETTINGS[name], member, log, now_ns, _NO_CHANCE, at_once.pop(0)):
                log.carry_out(effect)
                if isinstance(effect, SaveTerm):
                    saved = (effect.term, effect.voted_for)
                elif isinstance(effect, SetTimer) and effect.delay_ns == 0:
                    at_once.append(Timer(effect.key))
                elif isinstance(effect, SetTimer | CancelTimer):
                    _set(timers, effect)
                elif isinstance(effect, Send | Reply):
                    self._send(flights, name, node.life, effect)
        _forget_times(member)
        nodes = Node(_encode_member(member), tuple(log.entries), saved, tuple(sorted(timers)), node.life)
        after = _with(state, at, nodes)._replace(flights=tuple(sorted(flights, key=_order)))
        return self._checked(after, name, node.life, member, log)

    def _send(self, flights: dict[tuple[int, bytes | None], None], name: str, life: int, effect: Effect) -> None:
        if isinstance(effect, Send):
            ask = Ask(name, life, effect.peer, CODE_OF[type(effect.request)], encode(effect.request), effect.number)
            number = self._numbers.setdefault(ask, len(self._asks))
            if number == len(self._asks):
                self._asks.append(ask)
            flights[number, None] = None
        elif isinstance(effect, Reply):
            flights[effect.ref, encode(effect.answer)] = None

    def _checked(self, state: State, name: str, life: int, member: Member, log: MemoryLog) -> State:
        witness = _witness(state.seen)
        witness.saw(name, life, member, log)
        logs_match({NAMES[at]: MemoryLog(list(node.log)) for at, node in enumerate(state.nodes)})
        self.committed = max(self.committed, len(witness.committed))
        self.leaders = max(self.leaders, len(witness.leaders))
        return state._replace(seen=_seen(witness))

    # --- starts -----------------------------------------------------------------------------------------------------

    def cold(self) -> State:
        """Three members, none has run."""
        node = Node(_encode_member(Member()), (), (0, ""), (), 0)
        state = State((node, node, node), (), 0, 0, 0, _seen(Witness()))
        for at in range(len(NAMES)):
            state = self.step(state, at, Start())
        return state

    def led(self) -> State:
        """n0 leads by the vote of n1."""
        return self._until(self.cold(), lambda it: _role(it, 0) == "LEADER", "n0", "n1")

    def written(self) -> State:
        """n0 has an entry; n1 has it as well, and nobody knows of it; nothing of all that has reached n2."""
        state = self._until(self.led(), lambda it: _role(it, 1) == "FOLLOWER", "n0", "n1")
        state = self.step(state._replace(proposals=1), 0, Propose(PROPOSAL_REF, (b"p0",)))
        return self._until(state, lambda it: len(it.nodes[1].log) == 1, "n0", "n1")

    def followed(self) -> State:
        """n0 has one more entry, that no other has; n1 leads the next term by the vote of n2."""
        state = self.written()
        state = self.step(state._replace(proposals=2), 0, Propose(PROPOSAL_REF, (b"p1",)))
        return self._until(state, lambda it: _role(it, 1) == "LEADER", "n1", "n2")

    def contested(self) -> State:
        """n0 and n1 have an entry; n2, without any, asks for votes in the next term."""
        state = self._until(self.written(), lambda it: _role(it, 1) == "CANDIDATE", "n1")
        for term in (1, 2):
            state = self._until(state, lambda it, term=term: _member(it, 2).term == term, "n2", "n1")  # type: ignore[misc]
        return state

    def _until(self, state: State, holds: Callable[[State], bool], *names: str) -> State:
        """The first state found in which *holds*, if only *names* do anything and no message is lost."""
        known, layer = {state}, [state]
        for _ in range(30):
            for one in layer:
                if holds(one):
                    return one
            found = dict.fromkeys(it for one in layer for it in self._among(one, names))
            layer = [it for it in found if it not in known]
            known.update(layer)
        raise AssertionError("not found")

    def _among(self, state: State, names: tuple[str, ...]) -> Iterator[State]:
        for flight in state.flights:
            if {self._asks[flight[0]].asker, self._asks[flight[0]].peer} <= set(names):
                yield self._arrives(state, flight)
        for name in names:
            at = NAMES.index(name)
            for key in state.nodes[at].timers:
                if (after := self._fires(state, at, key)) is not None:
                    yield after


class _NoChance(Random):
    """Waiting times do not matter here."""

    def randrange(self, *_arguments: Any, **_options: Any) -> int:
        return 0


_NO_CHANCE = _NoChance()


def _member(state: State, at: int) -> Member:
    return _decode_member(state.nodes[at].member)


def _role(state: State, at: int) -> str:
    return _member(state, at).role


def _with(state: State, at: int, node: Node) -> State:
    return state._replace(nodes=(*state.nodes[:at], node, *state.nodes[at + 1 :]))


def _set(timers: dict[str, None], effect: SetTimer | CancelTimer) -> None:
    if isinstance(effect, CancelTimer):
        timers.pop(effect.key, None)
    elif effect.key in TIMERS:
        timers[effect.key] = None


def _order(flight: tuple[int, bytes | None]) -> tuple[int, bytes]:
    return flight[0], flight[1] or b""


def _forget_times(member: Member) -> None:
    """Two states that differ in times only are one."""
    member.last_quorum_ns = 0
    if member.beat is not None:
        member.beat.sent_ns = 0
    for progress in member.progress.values():
        progress.sent_ns = progress.quota_second = progress.quota_bytes = 0
        progress.in_flight = {first: (0, count) for first, (_, count) in progress.in_flight.items()}
    for parked in member.parked.values():
        parked.since_ns = 0
    for pending in member.pending.values():
        pending.deadline_ns = 2 * LATE_NS


def _seen(witness: Witness) -> tuple[Any, ...]:
    parts = (witness.leaders, witness.votes, witness.terms, witness.committed_to, witness.committed)
    return tuple(tuple(sorted(part.items())) for part in parts)  # type: ignore[attr-defined]


def _witness(seen: tuple[Any, ...]) -> Witness:
    witness = Witness()
    leaders, votes, terms, committed_to, committed = seen
    witness.leaders, witness.votes, witness.terms = dict(leaders), dict(votes), dict(terms)
    witness.committed_to, witness.committed = dict(committed_to), dict(committed)
    return witness


def explore(budget: int) -> Explorer:
    """*budget* states, a tenth for each search from each start."""
    explorer = Explorer(budget // 10)
    for make in (explorer.cold, explorer.led, explorer.written, explorer.followed, explorer.contested):
        start = make()
        explorer.wide(start)
        explorer.deep(start)
    return explorer


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--states", type=int, default=1_000_000)
    parser.add_argument("--record", action="store_true", help="for docs/explored.md")
    arguments = parser.parse_args()
    began = time.monotonic()
    done = explore(arguments.states)
    seconds = time.monotonic() - began
    sys.stdout.write(
        f"{done.states} states, {done.transitions} transitions in {seconds:.0f} s: all invariants hold\n"
        f"every order of {done.depths} events, every run with up to {done.deviations} deviations, from each start\n"
        f"at most {done.leaders} terms led and {done.committed} entries committed\n"
    )
    if arguments.record:
        _record(arguments.states, done, seconds)
    return 0


def _record(budget: int, done: Explorer, seconds: float) -> None:
    found = {
        "budget": budget,
        "commit": runfolder.commit(),
        "states": done.states,
        "transitions": done.transitions,
        "seconds": round(seconds),
        "wide": list(done.depths),
        "deep": list(done.deviations),
        "leaders": done.leaders,
        "committed": done.committed,
    }
    recorded.write(recorded.FOLDER / "explored.jsonl", [found], lambda entry: (f"{entry['budget']:012}",))


if __name__ == "__main__":
    sys.exit(main())
