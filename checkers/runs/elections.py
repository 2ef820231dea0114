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
    gave-up-early       a leader stepped down in its own term before it had been without a majority for
                        ``leader_patience``
    kept-leading        a leader was without a majority for longer than ``gives_up_within``, and did not step down
    not-preferred       another led for long, although one that is to lead before all others was well
    vote-stalled        a candidate had the votes that it needed, and did not end its round

A leader that ends or steps down leads no more, a frozen one not while it is frozen, one whose disk takes nothing not
until that is over; and a member whose disk takes nothing is not one of a connected majority. A larger term may come
from a member that was started and has followed nobody since, and from one that is to lead before all others
(``preferredLeaderId``). An operator who has a leader hand over (note ``hands_over``) disturbs a group for as long as an
election may last.

The measures tell who led in which term from when to when, and the longest time without a leader although a majority was
connected.

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

from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History, seconds
from checkers.history.spans import NEVER_NS, Span, length_ns, meet, outside, prolonged, union
from checkers.runs.group_copies import STRICT, Copies
from checkers.verdict import Anomaly, Outcome, Verdict

STORM_WINDOW_NS: Final = 60_000_000_000
STORM_ELECTIONS: Final = 2
SETTLED_NS: Final = 5_000_000_000
"""So long a leader has led when everybody who stood with it has heard of it."""
CALM_NS: Final = 10_000_000_000
SELF_ID: Final = "dLegerSelfId"
PREFERRED: Final = "preferredLeaderId"
TIMERS: Final = ("heartBeatTimeIntervalMs", "maxHeartBeatLeak")
"""Properties of the reference that make a leader more or less patient."""
HANDED_OVER_NS: Final = 15_000_000_000
"""A leader looks once a second for one that is to lead before it; some attempts may fail."""
HANDS_OVER: Final = "hands_over"
AGAIN_AT_ONCE: Final = "REVOTE_IMMEDIATELY"
WON: Final = "PASSED"
VOTES_WITHIN_NS: Final = 1_500_000_000
"""An answer that was not long in coming; rounds that wait for the last answer end after two seconds at the earliest."""


@dataclass(frozen=True)
class Role:
    """*node* took *role* in *term*, having heard of term *heard*; −1: nobody told."""

    ns: int
    node: str
    role: str
    term: int
    heard: int = -1


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
            *group.thrown_out(),
            *group.given_up(),
            *group.gave_up_early(),
            *group.kept_leading(),
            *group.not_preferred(),
            *group.stalled_votes(),
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
        self._patience_ns = contract.leader_patience_ns if contract else 0
        self._gives_up_ns = contract.gives_up_within_ns + facts.slack_ns() if contract else NEVER_NS
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
                    f"leader was due within {seconds(self._within_ns)}.{self._who_could_not(begin_ns, end_ns)}",
                    self.broker,
                    begin_ns=begin_ns,
                    end_ns=end_ns,
                )

    def longest_without_ns(self) -> int:
        return max((end - begin for begin, end in self._without()), default=0)

    def _who_could_not(self, begin_ns: int, end_ns: int) -> str:
        """Who called itself leader then."""
        unwritten = self._facts.conditions.unwritten
        named = [r.node for r, span in self._led() if meet([span], meet(unwritten(r.node), [(begin_ns, end_ns)]))]
        return f" {named[0]} went on leading with a disk that took nothing." if named else ""

    def _without(self) -> list[Span]:
        led = union(*(outside(self._cannot_lead(role.node), *span) for role, span in self._led()))
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

    def _cannot_lead(self, node: str) -> list[Span]:
        conditions = self._facts.conditions
        return union(conditions.frozen(node), conditions.unwritten(node))

    def _first_ns(self) -> int:
        return min((ns for node in self._nodes for ns in self._facts.starts.get(node, ())), default=0)

    def _connected(self) -> list[Span]:
        """When some majority ran and nothing separated any two of it."""
        conditions = self._facts.conditions
        started = {node: min(self._facts.starts.get(node, (0,)), default=0) for node in self._nodes}
        ills = {n: [(0, started[n]), *conditions.held_up(n), *conditions.unwritten(n)] for n in self._nodes}
        runs = {n: outside(ills[n], 0, self._end_ns) for n in self._nodes}
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
                                *conditions.held_up(node),
                                *conditions.held_up(leader.node),
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
        """When it was neither leader nor follower, as far as it told: it begins anew as neither."""
        told = [(role.ns, role.role) for role in self._roles if role.node == node]
        began = [(ns, "CANDIDATE") for ns in self._facts.starts.get(node, ()) if told and ns > told[0][0]]
        of_this = sorted([*began, *told])
        ends = [*(ns for ns, _ in of_this[1:]), self._end_ns]
        return [(ns, end) for (ns, role), end in zip(of_this, ends, strict=False) if role == "CANDIDATE"]

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
            ((ns, ns + self._within_ns) for ns in (*starts, *self._handed_over())),
        )

    def _handed_over(self) -> list[int]:
        """When an operator was about to have a leader hand over."""
        events = self._history.events
        rows = (events.kind.mask("note") & events.step.mask(HANDS_OVER) & events.node.mask(*self._nodes)).nonzero()[0]
        return [int(events.ns[row]) for row in rows.tolist()]

    def thrown_out(self) -> Iterator[Anomaly]:
        """Told by what the leader itself said when it gave up."""
        gave_up = {(role.ns, role.node): role for role in self._roles if role.role == "CANDIDATE"}
        for leader, (begin_ns, end_ns) in self._led():
            heard = gave_up[end_ns, leader.node].heard if (end_ns, leader.node) in gave_up else -1
            is_told = heard > leader.term >= 0 and end_ns - begin_ns >= SETTLED_NS
            if is_told and self._was_calm(leader.node, end_ns) and not self._may_throw_out(leader.node, end_ns, heard):
                yield _anomaly(
                    "leader-thrown-out",
                    f"{leader.node} led {self.broker} in term {leader.term} from {self._clock(begin_ns)} on, and gave "
                    f"up at {self._clock(end_ns)} for term {heard}, although it and a majority ran and all connections "
                    f"were well: somebody stood for election who had no reason to.",
                    self.broker,
                    node=leader.node,
                    term=leader.term,
                )

    def _was_calm(self, leader: str, ns: int) -> bool:
        """Nothing was the matter with *leader* and a majority, and who was apart was it from all of these: it cannot
        have heard of an election."""
        conditions, lately = self._facts.conditions, [(ns - CALM_NS, ns + 1)]
        if any(f.effective != 0 and leader in f.left and meet([f.lasts], lately) for f in self._facts.faults):
            return False
        if any(ns - self._within_ns <= asked <= ns for asked in self._handed_over()):
            return False
        apart = {pair: meet(conditions.hindered(*pair), lately) for pair in combinations(self._nodes, 2)}
        absent = [node for node in self._nodes if meet(conditions.held_up(node), lately)]
        absent += [node for node in self._nodes if _between(apart, node, leader)]
        there = [node for node in self._nodes if node not in absent]
        return (
            len(there) >= self._quorum
            and not any(apart[pair] for pair in combinations(there, 2))
            and all(_between(apart, node, leader) == _between(apart, node, other) for node in absent for other in there)
        )

    def _may_throw_out(self, leader: str, ns: int, term: int) -> bool:
        """Whether somebody was started and had followed nobody since, or is to lead before all others and stood for
        *term*."""
        for node in self._nodes:
            started = max((at for at in self._facts.starts.get(node, ()) if at <= ns), default=0)
            followed = (r.role == "FOLLOWER" and started <= r.ns < ns for r in self._roles if r.node == node)
            if node != leader and not any(followed):
                return True
        cluster = self._facts.cluster
        preferred = cluster.properties(leader, ns).get(PREFERRED, "").split(";")
        stood = {r.node for r in self._roles if r.heard == term and r.role == "CANDIDATE" and r.ns <= ns}
        return any(cluster.properties(node, ns).get(SELF_ID) in preferred for node in stood)

    def gave_up_early(self) -> Iterator[Anomaly]:
        """In its own term, so that nobody with a larger one was the cause."""
        gave_up = {(role.ns, role.node): role for role in self._roles if role.role == "CANDIDATE"}
        for leader, (begin_ns, end_ns) in self._led():
            last = gave_up.get((end_ns, leader.node))
            if last is None or last.heard != leader.term or self._has_own_timers(leader.node, end_ns):
                continue
            since_ns = self._uneasy_since_ns(end_ns)
            if end_ns - since_ns < self._patience_ns - self._facts.slack_ns() and not self._cannot_write(
                leader.node, end_ns
            ):
                yield _anomaly(
                    "gave-up-early",
                    f"{leader.node} led {self.broker} in term {leader.term} from {self._clock(begin_ns)} on and "
                    f"stepped down at {self._clock(end_ns)}, {seconds(end_ns - since_ns)} after the first sign of "
                    f"trouble: a leader has patience for {seconds(self._patience_ns)}.",
                    self.broker,
                    node=leader.node,
                    term=leader.term,
                )

    def _has_own_timers(self, node: str, ns: int) -> bool:
        return any(name in self._facts.cluster.properties(node, ns) for name in TIMERS)

    def _uneasy_since_ns(self, ns: int) -> int:
        """When what troubles the members at that instant began; *ns* itself where nothing does."""
        members = set(self._nodes)
        faults = [f.lasts for f in self._facts.faults if f.effective != 0 and members & {*f.left, *f.right}]
        down = [span for node in self._nodes for span in self._facts.conditions.down(node)]
        uneasy = prolonged([*faults, *down], CALM_NS)
        return next((begin for begin, end in uneasy if begin <= ns <= end), ns)

    def _cannot_write(self, node: str, ns: int) -> bool:
        """A leader whose disk takes nothing gives up at once."""
        conditions = self._facts.conditions
        return bool(meet(union(conditions.unwritten(node), conditions.full(node)), [(ns - self._patience_ns, ns + 1)]))

    def kept_leading(self) -> Iterator[Anomaly]:
        """Of members that tell of their roles."""
        for leader, tenure in self._led():
            if leader.term < 0 or self._has_own_timers(leader.node, tenure[0]):
                continue
            held_up = self._facts.conditions.held_up(leader.node)
            for begin_ns, end_ns in self._alone(leader.node):
                for begin, end in meet([tenure], outside(held_up, begin_ns, end_ns)):
                    if end - begin > self._gives_up_ns:
                        yield _anomaly(
                            "kept-leading",
                            f"{leader.node} led {self.broker} on from {self._clock(begin)} to {self._clock(end)}, "
                            f"although it reached no majority of its {len(self._nodes)} members: it has to step down "
                            f"within {seconds(self._gives_up_ns)}.",
                            self.broker,
                            node=leader.node,
                        )

    def _alone(self, leader: str) -> list[Span]:
        """When *leader* certainly reached no majority."""
        proven, others = self._facts.conditions.proven(), [node for node in self._nodes if node != leader]
        away = {node: union(proven.still(node), proven.apart(node, leader)) for node in others}
        too_many = len(self._nodes) - self._quorum + 1
        return union(*(reduce(meet, [away[n] for n in some]) for some in combinations(others, too_many)))

    def not_preferred(self) -> Iterator[Anomaly]:
        """While nothing was the matter, nor had been for so long that whoever is to lead has caught up."""
        calm = outside(self._disturbed(), 0, self._end_ns)
        ids = {node: self._facts.cluster.member(node).properties.get(SELF_ID, "") for node in self._nodes}
        for leader, tenure in self._led():
            wanted = self._facts.cluster.properties(leader.node, tenure[0]).get(PREFERRED, "").split(";")
            fit = [node for node in self._nodes if ids[node] and ids[node] in wanted]
            if leader.term < 0 or not fit or leader.node in fit:
                continue
            for begin_ns, end_ns in meet(calm, [tenure]):
                if end_ns - begin_ns > HANDED_OVER_NS:
                    yield _anomaly(
                        "not-preferred",
                        f"{leader.node} led {self.broker} from {self._clock(begin_ns)} to {self._clock(end_ns)}, "
                        f"although {fit[0]}, which is to lead before all others, ran and reached everybody.",
                        self.broker,
                        node=leader.node,
                    )

    def stalled_votes(self) -> Iterator[Anomaly]:
        """A candidate that asks again at once, since those that it lacks are about to take its term, has their votes
        with the next answers."""
        slow = [fault.lasts for fault in self._facts.faults if fault.effective != 0 and self._slows(fault)]
        for before, after in self._rounds():
            is_same = before["term"] == after["term"] and before["outcome"] == AGAIN_AT_ONCE
            span = (before["ns"], after["ns"])
            if is_same and after["outcome"] in (AGAIN_AT_ONCE, WON) and span[1] - span[0] > VOTES_WITHIN_NS:
                if meet(union(slow, self._facts.conditions.held_up(after["node"])), [span]):
                    continue
                yield _anomaly(
                    "vote-stalled",
                    f"{after['node']} asked for votes in term {after['term']} again at {self._clock(span[0])}, and "
                    f"ended that round at {self._clock(span[1])} only, with the votes of those who answered at once.",
                    self.broker,
                    node=after["node"],
                    term=after["term"],
                )

    def _slows(self, fault: FaultFact) -> bool:
        return any(fault.does(what) for what in ("slows", "starves", "freezes"))

    def _rounds(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Rounds of votes of one member that follow each other in one life."""
        events = self._history.events
        last: dict[str, dict[str, Any]] = {}
        for row in (events.kind.mask("role") & events.step.mask("vote_round")).nonzero()[0].tolist():
            node = events.node[row]
            if node not in self._nodes:
                continue
            told = {**json.loads(events.detail[row]), "ns": int(events.ns[row]), "node": node}
            before = last.get(node)
            began_anew = before and any(
                before["ns"] < ns for ns in self._facts.starts.get(node, ()) if ns <= told["ns"]
            )
            if before and not began_anew:
                yield before, told
            last[node] = told

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


def _between(spans: dict[tuple[str, str], list[Span]], one: str, other: str) -> list[Span]:
    return spans.get((one, other)) or spans.get((other, one)) or []


def _roles_of(history: History, nodes: list[str]) -> list[Role]:
    events = history.events
    rows = (events.kind.mask("role") & events.step.mask("role_changed")).nonzero()[0].tolist()
    told = ((row, json.loads(events.detail[row])) for row in rows if events.node[row] in nodes)
    return [
        Role(int(events.ns[row]), events.node[row], said["role"], int(said["term"]), int(said.get("heard", -1)))
        for row, said in told
    ]


def _anomaly(kind: str, sentence: str, broker: str, *, allowed: bool = False, **details: Any) -> Anomaly:
    return Anomaly(kind, sentence, (), {"broker": broker, **details}, allowed)
