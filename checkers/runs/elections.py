"""The check ``elections``: was there a leader when there could be one, one at a time, and never one too many?

Question: members of a group elect who leads them. Did they find a leader in time, did they keep one that was well, and
did two of them lead in one term?

Model. Members that tell of themselves say their role and term with every change (events ``role_changed``); of others it
is known when they began to serve. A majority is *connected* while q members run and nothing separates any two of them.

    two-leaders         two members led in one term
    term-went-back      a member took a smaller term than it had had. Terms and votes are on disks: a power cut may take
                        them where nobody forces them, a lost disk may, nothing else
    no-leader           a majority was connected for ``leader_within``, and nobody led
    left-out            a member ran and reached the leader for ``leader_within``, and followed nobody
    election-storm      more than two elections in a minute in which nothing was the matter, nor had been shortly before
    committed-given-up  a member dropped entries that it knew to be committed, and no fault can have taken them from a
                        majority (:mod:`checkers.runs.group_copies`)

A leader that ends or steps down leads no more, a frozen one not while it is frozen. The measures tell who led in
which term from when to when, and the longest time without a leader although a majority was connected.

Limits. Without ``role_changed`` terms are unknown, a leader that stepped down by itself is known to have done so when
another serves, and that nobody leads is known where clients send and none of them gets SEND_OK. What a group does at
the end, in the drain, counts as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import Any, Final

import numpy as np

from checkers.history.facts import RunFacts
from checkers.history.history import History, seconds
from checkers.history.spans import NEVER_NS, Span, length_ns, meet, outside, union
from checkers.runs.group_copies import STRICT, Copies
from checkers.verdict import Anomaly, Outcome, Verdict

STORM_WINDOW_NS: Final = 60_000_000_000
STORM_ELECTIONS: Final = 2


@dataclass(frozen=True)
class Role:
    """*node* took *role* in *term*; −1: nobody told the term."""

    ns: int
    node: str
    role: str
    term: int


def has_elections(_: History, facts: RunFacts) -> bool:
    is_group = facts.waits_for_majority()
    return is_group and any(facts.cluster.elections(broker) for broker in facts.cluster.brokers)


def check_elections(history: History, facts: RunFacts) -> Verdict:
    """All groups of *history*."""
    anomalies: list[Anomaly] = []
    led: list[dict[str, Any]] = []
    longest_ns = 0
    for broker in facts.cluster.brokers:
        group = _Group(history, facts, broker)
        anomalies += [
            *group.two_leaders(),
            *group.terms_back(),
            *group.without_leader(),
            *group.left_out(),
            *group.storms(),
            *group.given_up(),
        ]
        led += group.timeline()
        longest_ns = max(longest_ns, group.longest_without_ns())
    measures = {
        "elections": len(led),
        "leaders": led,
        "terms": len({(one["broker"], one["term"]) for one in led if one["term"] >= 0}),
        "without_leader_ms": longest_ns // 1_000_000,
    }
    outcome = Outcome.FAIL if any(not anomaly.allowed for anomaly in anomalies) else Outcome.PASS
    return Verdict("elections", outcome, tuple(anomalies), measures)


class _Group:
    """The members of one broker name."""

    def __init__(self, history: History, facts: RunFacts, broker: str) -> None:
        self._history, self._facts, self.broker = history, facts, broker
        self._clock = facts.clock
        self._nodes = facts.cluster.nodes_of(broker)
        self._quorum = len(self._nodes) // 2 + 1
        self._roles = _roles_of(history, self._nodes)
        contract = facts.contract()
        self._within_ns = contract.leader_within_ns if contract else NEVER_NS
        self._end_ns = int(history.events.ns.max(initial=0))

    def two_leaders(self) -> Iterator[Anomaly]:
        first: dict[int, Role] = {}
        for role in self._roles:
            if role.role != "LEADER" or first.setdefault(role.term, role).node == role.node:
                continue
            other = first[role.term]
            causes = [self._took_term(node, 0, role.ns) for node in self._nodes]
            cause = next(filter(None, causes), "")
            yield _anomaly(
                "two-leaders",
                f"{other.node} led {self.broker} in term {role.term} from {self._clock(other.ns)} on, and so did "
                f"{role.node} from {self._clock(role.ns)} on: somebody voted twice. "
                f"{cause or 'Nothing took a vote from any disk.'}",
                self.broker,
                allowed=bool(cause),
                nodes=[other.node, role.node],
                term=role.term,
            )

    def terms_back(self) -> Iterator[Anomaly]:
        last: dict[str, Role] = {}
        for role in self._roles:
            before = last.get(role.node)
            if before is not None and role.term < before.term:
                cause = self._took_term(role.node, before.ns, role.ns)
                yield _anomaly(
                    "term-went-back",
                    f"{role.node} was in term {before.term} at {self._clock(before.ns)} and in term {role.term} at "
                    f"{self._clock(role.ns)}: it may vote twice. {cause or 'Nothing took its disk in between.'}",
                    self.broker,
                    allowed=bool(cause),
                    node=role.node,
                )
            last[role.node] = role

    def _took_term(self, node: str, begin_ns: int, end_ns: int) -> str:
        for fault in self._facts.faults:
            if not (fault.takes() and fault.took_effect_on(node) and begin_ns <= fault.inject_ns <= end_ns):
                continue
            is_strict = self._facts.cluster.properties(node, begin_ns).get(STRICT) == "true"
            if fault.takes() != "unforced" or not is_strict:
                return f"{fault.words()} took vote and term of {node}, which nobody had forced."
        return ""

    def without_leader(self) -> Iterator[Anomaly]:
        for begin_ns, end_ns in self._without():
            if end_ns - begin_ns > self._within_ns:
                yield _anomaly(
                    "no-leader",
                    f"Nobody led {self.broker} from {self._clock(begin_ns)} to {self._clock(end_ns)}, although "
                    f"{self._quorum} of its {len(self._nodes)} members ran and reached each other all the time; a "
                    f"leader was due within {seconds(self._within_ns)}.",
                    self.broker,
                    begin_ns=begin_ns,
                    end_ns=end_ns,
                )

    def longest_without_ns(self) -> int:
        return max((end - begin for begin, end in self._without()), default=0)

    def _without(self) -> list[Span]:
        frozen = self._facts.conditions.frozen
        led = union(*(outside(frozen(role.node), *span) for role, span in self._led()))
        without = meet(outside(led, self._first_ns(), self._end_ns), self._connected())
        return without if self._roles else self._refused(without)

    def _refused(self, spans: list[Span]) -> list[Span]:
        """The parts of *spans* in which clients sent, and got no SEND_OK: who leads again without a word is known by
        its answers, and of a time in which nobody asks nothing is known."""
        ops, queues = self._history.ops, self._history.queues
        own = [queue for queue in queues.queue.tolist() if queues.broker_of(queue) == self.broker]
        sends = ops.f.mask("send") & np.isin(ops.queue, own) & (ops.complete_ns >= 0)
        is_ok = sends & ops.outcome.mask("ok", "weak")
        served = union(zip(ops.invoke_ns[is_ok].tolist(), ops.complete_ns[is_ok].tolist(), strict=True))
        refused = sends & ~is_ok
        begins, ends = ops.invoke_ns[refused], ops.complete_ns[refused]
        found = []
        for begin_ns, end_ns in (piece for span in spans for piece in outside(served, *span)):
            within = (begins >= begin_ns) & (ends <= end_ns)
            if within.any():
                found.append((int(begins[within].min()), int(ends[within].max())))
        return found

    def _first_ns(self) -> int:
        return min((ns for node in self._nodes for ns in self._facts.starts.get(node, ())), default=0)

    def _connected(self) -> list[Span]:
        """When some majority ran and nothing separated any two of it."""
        conditions = self._facts.conditions
        started = {node: min(self._facts.starts.get(node, (0,)), default=0) for node in self._nodes}
        runs = {n: outside([(0, started[n]), *conditions.still(n)], 0, self._end_ns) for n in self._nodes}
        reach = {pair: outside(conditions.hindered(*pair), 0, self._end_ns) for pair in combinations(self._nodes, 2)}
        return union(
            *(
                reduce(meet, [*(runs[n] for n in some), *(reach[pair] for pair in combinations(some, 2))])
                for some in combinations(self._nodes, self._quorum)
            )
        )

    def _led(self) -> list[tuple[Role, Span]]:
        """Who led, from when until it was replaced, stepped down, stopped running or lost the majority."""
        found = []
        for election in self._facts.cluster.elections(self.broker):
            node, begin_ns = election.node, election.begin_ns
            stepped = [r.ns for r in self._roles if r.node == node and r.ns > begin_ns and r.role != "LEADER"]
            ended = [begin for begin, _ in self._facts.conditions.down(node) if begin > begin_ns]
            end_ns = min([election.end_ns, self._end_ns, *stepped, *ended])
            terms = [r.term for r in self._roles if r.node == node and r.ns <= begin_ns]
            found.append((Role(begin_ns, node, "LEADER", terms[-1] if terms else -1), (begin_ns, end_ns)))
        return found

    def timeline(self) -> list[dict[str, Any]]:
        return [
            {"broker": self.broker, "node": role.node, "term": role.term, "begin_ns": begin, "end_ns": end}
            for role, (begin, end) in self._led()
        ]

    def left_out(self) -> Iterator[Anomaly]:
        conditions = self._facts.conditions
        for node in self._nodes:
            for begin_ns, end_ns in self._as_candidate(node):
                near = [
                    span
                    for leader, tenure in self._led()
                    for span in meet(
                        [tenure],
                        outside(
                            [
                                *conditions.still(node),
                                *conditions.still(leader.node),
                                *conditions.hindered(node, leader.node),
                            ],
                            begin_ns,
                            end_ns,
                        ),
                    )
                ]
                for begin, end in union(near):
                    if end - begin > self._within_ns:
                        yield _anomaly(
                            "left-out",
                            f"{node} stood for election from {self._clock(begin)} to {self._clock(end)} and "
                            f"followed nobody, "
                            f"although it ran and reached the leader of {self.broker} all the time.",
                            self.broker,
                            node=node,
                        )

    def _as_candidate(self, node: str) -> list[Span]:
        """When it was neither leader nor follower, as far as it told."""
        of_this = [role for role in self._roles if role.node == node]
        ends = [*(role.ns for role in of_this[1:]), self._end_ns]
        return [(role.ns, end) for role, end in zip(of_this, ends, strict=False) if role.role == "CANDIDATE"]

    def storms(self) -> Iterator[Anomaly]:
        """By the end of a minute without any disturbance."""
        calm = outside(self._disturbed(), 0, self._end_ns)
        elected = [role.ns for role, _ in self._led()]
        for number, ns in enumerate(elected):
            window = [other for other in elected[number:] if other < ns + STORM_WINDOW_NS]
            last = window[-1]
            if len(window) > STORM_ELECTIONS and length_ns(calm, ns, last) == last - ns:
                yield _anomaly(
                    "election-storm",
                    f"{self.broker} elected {len(window)} leaders from {self._clock(ns)} to "
                    f"{self._clock(last)}, with nothing "
                    f"the matter then or shortly before.",
                    self.broker,
                    begin_ns=ns,
                    end_ns=last,
                )
                return

    def _disturbed(self) -> list[Span]:
        starts = [ns for node in self._nodes for ns in self._facts.starts.get(node, ())]
        faults = [fault.lasts for fault in self._facts.faults if fault.effective != 0]
        return union(
            ((begin, min(NEVER_NS, end + self._within_ns)) for begin, end in faults),
            ((ns, ns + self._within_ns) for ns in starts),
        )

    def given_up(self) -> Iterator[Anomaly]:
        """Committed entries that a member dropped."""
        events, lossy = self._history.events, [each.begin_ns for each in Copies(self._facts, self.broker).elections]
        rows = events.kind.mask("role") & events.step.mask("committed_truncated", "truncation_refused")
        for row in rows.nonzero()[0].tolist():
            if events.node[row] not in self._nodes:
                continue
            ns, said = int(events.ns[row]), json.loads(events.detail[row])
            is_explained = any(begin_ns <= ns for begin_ns in lossy) or any(
                fault.takes() and fault.effective != 0 and fault.begin_ns < ns for fault in self._facts.faults
            )
            yield _anomaly(
                "committed-given-up",
                f"{events.node[row]} was told at {self._clock(ns)} by {said.get('leader')} to drop entries from "
                f"{said.get('index')} on, and knew them to be committed up to {said.get('committed')}. "
                + ("A fault had taken data before." if is_explained else "No fault had taken data from anybody."),
                self.broker,
                allowed=is_explained,
                node=events.node[row],
            )


def _roles_of(history: History, nodes: list[str]) -> list[Role]:
    events = history.events
    rows = (events.kind.mask("role") & events.step.mask("role_changed")).nonzero()[0].tolist()
    told = ((row, json.loads(events.detail[row])) for row in rows if events.node[row] in nodes)
    return [Role(int(events.ns[row]), events.node[row], said["role"], int(said["term"])) for row, said in told]


def _anomaly(kind: str, sentence: str, broker: str, *, allowed: bool = False, **details: Any) -> Anomaly:
    return Anomaly(kind, sentence, (), {"broker": broker, **details}, allowed)
