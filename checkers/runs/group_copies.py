"""Which members of a group can lack an acknowledged message when another leader is elected?

Question: SEND_OK says that a majority has a message. Later a leader is elected without it. Who of those who elected it
can have been without it, and why?

Model. *n* members, of which *q* make a majority. When a message is acknowledged, q of them have it, so at most n − q
never got it. A member that *must have* a message:

    at once   all but q were certainly away from their leader while it was sent and acknowledged
    soon      from the acknowledgement on it is with its leader, and has been for long enough: within the replication
              lag; later, once it has been with a leader for ``caught_up_within``
    on disk   ``forced_within`` (and the backend's slack) later, unless its forces fail; with strict persistence at once

A power cut takes what need not be on the disk yet; a lost, replaced or damaged disk may take all. From then on the
member lacks it, until it has been with a leader for ``caught_up_within`` again. *With a leader*: both run, and nothing
cuts them off from each other. So an election can lose a message iff

    those who lost it + min(n − q, those who never had to get it)  ≥  q

With three members one power cut suffices: of the follower that had acknowledged, while the other lagged, if the leader
is lost before the first has it again. That is DLedger's design: it answers from the page cache, and counts a member
that lost its tail as if it had it.

A *foreign* disk, that of a member of another group, is no copy at all: it has a log of its own. A member that is
elected with one (:meth:`Copies.taken_over`) makes that log its group's, and everything that the group had is lost,
whoever has it; what the other group had is there in its place.

Limits. Who acknowledged is not told, so that where more than q were there each of them may have been the one that
lacks it. Leaders are known from when they serve, a moment after their election.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Final

from checkers.history.cluster import Mastership
from checkers.history.conditions import Conditions
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.spans import NEVER_NS, Span, length_ns, meet, outside, union

STRICT: Final = "dLegerStrictPersistence"
"""The property of the reference with which a member answers from its disk."""


@dataclass(frozen=True)
class Lack:
    """Why *node* can lack a message: *by* this fault, or, if that is ``None``, since it never had to get it."""

    node: str
    by: FaultFact | None


def has_foreign_log(facts: RunFacts, broker: str) -> bool:
    """Whether *broker* is a group that took over the log of another."""
    is_possible = facts.waits_for_majority() and any(fault.takes() == "foreign" for fault in facts.faults)
    return is_possible and Copies(facts, broker).takeover is not None


class Copies:
    """The members of one broker name over time."""

    def __init__(self, facts: RunFacts, broker: str) -> None:
        self._facts, self.broker = facts, broker
        self.nodes = facts.cluster.nodes_of(broker)
        self.quorum = len(self.nodes) // 2 + 1
        contract = facts.contract()
        assert contract is not None
        self._lag_ns = contract.replication_lag_ns + facts.slack_ns()
        self._forced_ns = contract.forced_within_ns + facts.slack_ns()
        self._caught_up_ns = contract.caught_up_within_ns
        self._tenures = facts.cluster.tenures(broker)
        self._together = cache(self._together_now)
        self._losses = {node: [f for f in facts.faults if f.takes() and f.took_effect_on(node)] for node in self.nodes}

    @cached_property
    def elections(self) -> list[Mastership]:
        """Those after the first that can have lost anything at all."""
        return [
            each for each in self._facts.cluster.elections(self.broker)[1:] if self._can_lose_anything(each.begin_ns)
        ]

    @cached_property
    def takeover(self) -> Mastership | None:
        """The first election of a member with a foreign disk."""
        return next((each for each in self.elections if self.taken_over(each.begin_ns) is not None), None)

    def taken_over(self, at_ns: int) -> FaultFact | None:
        """By which fault who was elected then had the disk of somebody else, where that is not refused."""
        for fault in self._foreign:
            node = fault.left[0]
            is_elected = self._facts.cluster.master_at(self.broker, at_ns) == node and fault.begin_ns < at_ns
            if is_elected and self._has_again_ns(node, fault.inject_ns) > at_ns:
                return fault
        return None

    @cached_property
    def _foreign(self) -> list[FaultFact]:
        """Faults that gave a member a foreign disk with which it may start."""
        faults = [f for f in self._facts.faults if f.takes() == "foreign" and f.left and f.left[0] in self.nodes]
        promised = [(f, self._facts.guarantee(f)) for f in faults if f.effective != 0]
        return [fault for fault, guarantee in promised if guarantee is None or guarantee.loss == "all"]

    def _can_lose_anything(self, at_ns: int) -> bool:
        if self.taken_over(at_ns) is not None:
            return True
        lost = [node for node in self.nodes if self._lacks_since_a_loss(node, at_ns)]
        return len(lost) >= 2 * self.quorum - len(self.nodes)

    def _lacks_since_a_loss(self, node: str, at_ns: int) -> bool:
        before = [fault.inject_ns for fault in self._losses[node] if fault.begin_ns < at_ns]
        return bool(before) and self._has_again_ns(node, max(before)) > at_ns

    def explain(self, begun_ns: int, acked_ns: int, at_ns: int) -> list[Lack] | None:
        """Why the election at *at_ns* can have lost a message that was sent and acknowledged then; ``None``: it must be
        there still."""
        if (foreign := self.taken_over(at_ns)) is not None:
            return [Lack(foreign.left[0], foreign)]
        lacks = [lack for node in self.nodes if (lack := self._lack(node, begun_ns, acked_ns, at_ns)) is not None]
        lost = [lack for lack in lacks if lack.by is not None]
        never = [lack for lack in lacks if lack.by is None][: len(self.nodes) - self.quorum]
        return [*lost, *never] if len(lost) + len(never) >= self.quorum else None

    def _lack(self, node: str, begun_ns: int, acked_ns: int, at_ns: int) -> Lack | None:
        is_needed = node in self._had_it(begun_ns, acked_ns)
        has_ns, taken_by = acked_ns if is_needed else self._must_have_ns(node, acked_ns), None
        for fault in self._losses[node]:
            if begun_ns < fault.inject_ns and fault.begin_ns < at_ns and self._takes(fault, node, has_ns):
                has_ns, taken_by = self._has_again_ns(node, fault.inject_ns), fault
        return Lack(node, taken_by) if has_ns > at_ns else None

    def _takes(self, fault: FaultFact, node: str, has_ns: int) -> bool:
        """Whether what *node* need not have had before *has_ns* can have gone with *fault*."""
        if fault.takes() != "unforced":
            return True
        if self._facts.cluster.properties(node, fault.begin_ns).get(STRICT) == "true":
            return False
        idle = self._facts.conditions.flushes_nothing(node)
        return fault.inject_ns - has_ns - length_ns(idle, has_ns, fault.begin_ns) <= self._forced_ns

    def _had_it(self, begun_ns: int, acked_ns: int) -> list[str]:
        """Members without any of whom it would not have been acknowledged."""
        leader = self._facts.cluster.master_at(self.broker, acked_ns)
        there = [node for node in self.nodes if not self._was_away(node, leader, begun_ns, acked_ns)]
        return there if len(there) == self.quorum else []

    def _was_away(self, node: str, leader: str, begun_ns: int, acked_ns: int) -> bool:
        """Certainly, so that only what was proved counts, from the end of the act on."""
        proved = tuple(replace(f, begin_ns=f.inject_ns) for f in self._facts.faults if f.effective == 1)
        held = Conditions(proved, self._facts.starts)
        spans = union(held.still(node), held.apart(node, leader))
        return any(begin <= begun_ns and acked_ns <= end for begin, end in spans)

    def _must_have_ns(self, node: str, acked_ns: int) -> int:
        """When it must have got what is acknowledged then; never, if it is not with a leader for long enough."""
        for begin_ns, end_ns in self._together(node):
            due_ns = max(acked_ns + self._lag_ns, begin_ns + self._caught_up_ns)
            if acked_ns < end_ns and due_ns <= end_ns:
                return due_ns
        return NEVER_NS

    def _has_again_ns(self, node: str, lost_ns: int) -> int:
        spans = [(max(begin_ns, lost_ns), end_ns) for begin_ns, end_ns in self._together(node) if end_ns > lost_ns]
        return next((b + self._caught_up_ns for b, end_ns in spans if b + self._caught_up_ns <= end_ns), NEVER_NS)

    def _together_now(self, node: str) -> list[Span]:
        """When it was with a leader, or led itself."""
        return sorted(
            span
            for leader, tenure in self._tenures.items()
            for one in tenure
            for span in meet([one], self._can_talk(node, leader))
        )

    def _can_talk(self, node: str, leader: str) -> list[Span]:
        conditions = self._facts.conditions
        hindered = union(conditions.held_up(node), conditions.held_up(leader), conditions.hindered(node, leader))
        return outside(hindered, 0, NEVER_NS)
