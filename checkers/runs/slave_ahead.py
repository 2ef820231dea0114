"""A slave that was ahead of its restarted master: which differences between the two does that explain?

Question: master and slave hold different messages. Is that the known hazard of classic replication, or anything else?

Model (RocketMQ: HAConnection, HAClient, HAService; they know no epochs). A fault took the end of the master's log,
which its slave kept. The master went on at M, the slave reported its own end S and was sent what follows that:

    master    … M │ new  new  new  S │ new …       M to S differs for ever, and a synchronous master says SEND_OK there
    slave     … M │ old  old  old  S │ new …       without any copy; from S on both are the same again, unless S is no
                                                   border of a record: then the slave shows nothing of what follows

So a difference is explained by a fault only if all of this holds:

    proof      the slave shows a message of before the fault that the master has lost: it *was* ahead
    new        what only the master has was answered after the fault began
    between    and its place in the log lies before S, or behind a place from which on the slave shows nothing at all;
               or its place in the queue is taken by an old one, for which the slave leaves it out
    old        what only the slave has was sent before the fault

S is not told. It is at most the end of what the master may have stored before the fault.

Limits. A message whose place in the log nobody was told, or that was sent more than once, counts as lying between. What
is not of this run proves nothing and needs no explanation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from checkers.history.columns import NEVER
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History
from checkers.history.ledger import Ledger

AROUND_BODY_BYTES = 512
"""A record is its body and less than this: head, topic, properties."""


@dataclass(frozen=True)
class Overtaken:
    """Why one slave and its master may differ: faults with a bound of S each, and where the slave's log went blind."""

    history: History
    ledger: Ledger
    faults: tuple[tuple[FaultFact, int], ...] = ()
    taken_by: Mapping[int, int] = field(default_factory=dict)
    """Message of the master → what the slave shows in its place."""
    blind_from: int = int(NEVER)

    def explains_lack(self, message: int) -> FaultFact | None:
        """The fault that explains why the slave has not got *message*, which its master has."""
        if message < 0:
            return self._any()
        return next((fault for fault, end in self.faults if self._is_lacked(message, fault, end)), None)

    def _is_lacked(self, message: int, fault: FaultFact, end: int) -> bool:
        if not _is_new(self.history, self.ledger, message, fault):
            return False
        position, other = _position(self.ledger, message), self.taken_by.get(message, -1)
        is_displaced = other >= 0 and _is_old(self.history, self.ledger, other, fault)
        return position < end or position >= self.blind_from or is_displaced

    def explains_surplus(self, message: int) -> FaultFact | None:
        """The fault that explains why the slave has *message*, which its master has not got."""
        if message < 0:
            return self._any()
        return next((fault for fault, _ in self.faults if _is_old(self.history, self.ledger, message, fault)), None)

    def _any(self) -> FaultFact | None:
        return self.faults[0][0] if self.faults else None


Place = tuple[int, int]
"""Queue and offset."""


def overtaken(
    history: History,
    facts: RunFacts,
    ledger: Ledger,
    broker: str,
    on_master: Mapping[Place, int],
    on_slave: Mapping[Place, int],
) -> Overtaken:
    """Judge one slave of *broker* by the messages that it and its master show, by place."""
    master, slave = frozenset(on_master.values()), frozenset(on_slave.values())
    surplus = [message for message in slave - master if message >= 0]
    faults = tuple(
        (fault, end_before(history, ledger, broker, fault))
        for fault in let_differ(facts, broker)
        if any(_is_old(history, ledger, message, fault) for message in surplus)
    )
    taken_by = {message: on_slave[place] for place, message in on_master.items() if place in on_slave}
    seeing = Overtaken(history, ledger, faults, taken_by)
    lacking = [message for message in master - slave if message >= 0 and seeing.explains_lack(message) is None]
    return replace(seeing, blind_from=_blind_from(ledger, lacking, slave))


def let_differ(facts: RunFacts, broker: str) -> list[FaultFact]:
    """Faults of the master of *broker* after which the contract lets replicas differ."""
    contract = facts.contract()
    if contract is None:
        return []
    guarantees = [(fault, facts.guarantee(fault)) for fault in facts.faults if fault.effective != 0]
    differing = [
        fault for fault, guarantee in guarantees if guarantee is not None and guarantee.replicas == "may-differ"
    ]
    return [fault for fault in differing if facts.hits(fault, broker)]


def end_before(history: History, ledger: Ledger, broker: str, fault: FaultFact) -> int:
    """No byte that the master of *broker* stored before *fault* lies at or behind this position."""
    ops = history.ops
    of_broker = np.array([queue >= 0 and history.queues.broker_of(queue) == broker for queue in ops.queue.tolist()])
    before = ops.f.mask("send") & of_broker & (ops.invoke_event < fault.inject_event)
    in_flight = before & ((ops.complete_event < 0) | (ops.complete_event > fault.begin_event))
    return int(ops.position[before].max(initial=0)) + longest_record_bytes(history) * (1 + int(in_flight.sum()))


def longest_record_bytes(history: History) -> int:
    """No record of the run is longer."""
    return int(history.messages.size.max(initial=0)) + AROUND_BODY_BYTES


def _blind_from(ledger: Ledger, lacking: list[int], slave: Iterable[int]) -> int:
    """The first of *lacking* by position if the slave shows nothing behind it, as one that reads no borders. Of what
    was sent more than once nobody knows which of its places the slave shows."""
    first = min((place for message in lacking if (place := _position(ledger, message)) >= 0), default=int(NEVER))
    last = max((_position(ledger, message) for message in slave if message >= 0), default=-1)
    return first if last < first else int(NEVER)


def _is_new(history: History, ledger: Ledger, message: int, fault: FaultFact) -> bool:
    row = int(ledger.row[message])
    return row >= 0 and not 0 <= int(history.ops.complete_event[row]) < fault.begin_event


def _is_old(history: History, ledger: Ledger, message: int, fault: FaultFact) -> bool:
    """Whether it can have been stored before *fault*: by any of its sends."""
    if ledger.attempts[message] <= 1:
        row = int(ledger.row[message])
        return row >= 0 and int(history.ops.invoke_event[row]) < fault.inject_event
    sends = history.ops.f.mask("send") & (history.ops.message == message)
    return bool((history.ops.invoke_event[sends] < fault.inject_event).any())


def _position(ledger: Ledger, message: int) -> int:
    return int(ledger.position[message]) if ledger.attempts[message] <= 1 else -1
