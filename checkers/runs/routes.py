"""The check ``routes``: does each NameServer list the brokers that are there, and only those?

Question: how long does a NameServer go on listing a broker that ended or fell silent, and does it ever drop one that is
well?

Model. Clients ask every NameServer again and again (op ``route``: ``node`` the NameServer, ``detail`` broker → ids).
RocketMQ's guarantee (documentation, NameServer): brokers heartbeat every 30 s; every 10 s the NameServer looks for
brokers unseen for 120 s; a closed connection or an unregistration counts at once. A broker is *out* for a NameServer
while it is down, frozen or partitioned from it, whichever faults hold it so (:mod:`checkers.history.conditions`):

    stale-route     listed although it has been down for longer than ``closed_within``, where the end of its connection
                    could be seen, or out for longer than ``silent_within``
    dropped-early   not listed any more although it was well and had been for ``relearned_within``, or out for less than
                    ``silent_after`` without having ended

The end of a connection cannot be seen across a partition, and need not be when a machine goes dark: on real processes
the kernel outlives the broker, and may close its connections all the same. A link that was slow for a while was reset
when that began and when it ended. What TCP holds during a partition arrives at most as long again after its end (the
time between two attempts doubles), be it the registration and then the end of a connection of a process that is gone:
then the NameServer forgets the broker, which had registered anew meanwhile, and hears of it when it registers next. A
NameServer that was itself down, frozen or of another time is judged again when that is over; times in which it was out
count for nobody. A group has no master from when its leader steps down until another is elected: how long that may
take is for the check ``elections``. And a leader that was frozen or partitioned while another was elected may register
once more as the master, and then as a follower: who registers last under id 0 has it, and when that one takes another
id nobody has it, until the new leader registers again (RocketMQ: RouteInfoManager#registerBroker), within
``relearned_within``.

Limits. Views are as clients see them, to the interval of their questions. Runs without ``route`` ops are not judged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.contract import RouteBounds
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History, seconds
from checkers.history.spans import NEVER_NS, Span, holds, length_ns, prolonged, union, within
from checkers.verdict import Anomaly, Outcome, Verdict

RETRANSMIT_MAX_NS = 120_000_000_000
"""Linux: TCP_RTO_MAX, the longest time between two attempts to send the same again."""
CALL_GIVEN_UP_NS = 6_000_000_000
"""RocketMQ: BrokerConfig#registerBrokerTimeoutMills, NettyClientConfig#clientCloseSocketIfTimeout."""


@dataclass(frozen=True)
class View:
    """One answer of one NameServer: the broker names in it that have a master."""

    op: int
    server: str
    invoke_ns: int
    complete_ns: int
    brokers: tuple[str, ...]


def check_routes(history: History, facts: RunFacts) -> Verdict:
    """Judge every answer; UNKNOWN where nobody asked."""
    views = views_of(history)
    contract = facts.contract()
    if not views or contract is None:
        reason = "no NameServer was asked for its routes" if not views else f"no contract for mode {facts.mode!r}"
        return Verdict("routes", Outcome.UNKNOWN, reasons=(reason,))
    judge = _Judge(facts, contract.routes)
    anomalies = [*_stale(history, judge, views), *_early(history, judge, views)]
    measures = {"answers": len(views), "left_after_ms": _left_after_ms(facts, views)}
    return Verdict("routes", Outcome.FAIL if anomalies else Outcome.PASS, tuple(anomalies), measures)


def views_of(history: History) -> list[View]:
    """All answers, in the order of op numbers; an answer that the topic does not exist lists nobody."""
    ops = history.ops
    rows = np.flatnonzero(ops.f.mask("route") & (ops.outcome.mask("ok") | ops.status.mask("TOPIC_NOT_EXIST")))
    return [
        View(
            int(ops.op[row]),
            ops.node[row],
            int(ops.invoke_ns[row]),
            int(ops.complete_ns[row]),
            _masters(ops.detail[row]),
        )
        for row in rows.tolist()
    ]


def _masters(detail: str) -> tuple[str, ...]:
    if not detail.startswith("{"):
        return ()
    return tuple(broker for broker, shown in json.loads(detail).items() if 0 in shown["ids"])


class _Judge:
    """When each broker was out for each NameServer, and what follows from that."""

    def __init__(self, facts: RunFacts, bounds: RouteBounds) -> None:
        self.facts, self.bounds = facts, bounds
        self.proven = facts.conditions.proven()
        self.brokers = facts.cluster.brokers
        self._spans: dict[tuple[str, str], list[Span]] = {}

    def is_stale(self, view: View, broker: str) -> bool:
        """Whether *broker* has to be gone from *view*: everybody who was its master is out for long enough."""
        masters = self.facts.cluster.masters(broker, view.invoke_ns, view.complete_ns)
        return all(self._must_be_gone(view, master) for master in masters)

    def is_early(self, view: View, broker: str) -> bool:
        """Whether *broker* has to be in *view*: nothing that can have removed it is recent enough."""
        if self._is_electing(view, broker) or self._is_given_up(view, broker):
            return False
        master = self.facts.cluster.master_at(broker, view.invoke_ns)
        server_ns = self._of_server(view.server)
        reset_ns = self.facts.conditions.reset(master, view.server, "namesrv")
        held_ns = self._held(master, view.server)
        away = union(self._out(master, view.server), server_ns, reset_ns, held_ns)
        chain = self._around(prolonged(away, self.bounds.relearned_within_ns + self.facts.slack_ns()), view)
        if chain is None:
            return True
        began_ns = chain[0]
        if view.complete_ns - began_ns >= self.bounds.silent_after_ns or self._was_elected(broker, began_ns, view):
            return False
        ended = any(began_ns <= begin <= view.complete_ns for begin, _ in self.facts.conditions.down(master))
        return not (ended or within(union(server_ns, reset_ns, held_ns), began_ns, view.complete_ns))

    def _is_electing(self, view: View, broker: str) -> bool:
        """Whether the members of *broker* elected another leader soon after: who has stepped down is no master."""
        contract = self.facts.contract()
        within_ns = contract.leader_within_ns if contract else 0
        elected = (election.begin_ns for election in self.facts.cluster.elections(broker))
        return any(view.invoke_ns < ns <= view.complete_ns + within_ns for ns in elected)

    def _was_elected(self, broker: str, since_ns: int, view: View) -> bool:
        """Whether *broker* got its leader since then: who was out all that time has not been listed as master yet."""
        return any(
            since_ns <= election.begin_ns <= view.complete_ns for election in self.facts.cluster.elections(broker)
        )

    def _is_given_up(self, view: View, broker: str) -> bool:
        """Whether a member that had led before came back a short time ago, and found another one leading."""
        elections = [e for e in self.facts.cluster.elections(broker) if e.begin_ns <= view.complete_ns]
        patience_ns = self.bounds.relearned_within_ns + self.facts.slack_ns()
        return any(
            elections[-1].begin_ns <= end_ns <= view.complete_ns <= end_ns + patience_ns
            for election in elections[:-1]
            if election.node != elections[-1].node
            for _, end_ns in self._out(election.node, view.server)
        )

    def is_down(self, broker: str, ns: int) -> bool:
        """Whether the master of *broker* had ended."""
        return holds(self.proven.down(self.facts.cluster.master_at(broker, ns)), ns)

    def _must_be_gone(self, view: View, master: str) -> bool:
        slack_ns = self.facts.slack_ns()
        served = self._of_server(view.server)
        for begin_ns, end_ns in self._silent(master, view.server):
            silent_ns = view.invoke_ns - begin_ns - length_ns(served, begin_ns, view.invoke_ns)
            if view.complete_ns < end_ns and silent_ns > self.bounds.silent_within_ns + slack_ns:
                return True
        return any(
            view.complete_ns < end_ns
            and view.invoke_ns > begin_ns + self.bounds.closed_within_ns + slack_ns
            and self._is_seen(view.server, master, begin_ns, view.invoke_ns)
            for begin_ns, end_ns in self.proven.closed(master)
        )

    def _is_seen(self, server: str, master: str, ended_ns: int, until_ns: int) -> bool:
        """Whether *server* had a connection to *master* that could tell it of the end."""
        since_ns = ended_ns - self.bounds.relearned_within_ns
        hindered = union(self.facts.conditions.hindered(master, server, "namesrv"), self._of_server(server))
        return not within(hindered, since_ns, until_ns)

    def _out(self, master: str, server: str) -> list[Span]:
        """When *server* may have heard nothing of *master*."""
        key = (master, server)
        if key not in self._spans:
            conditions = self.facts.conditions
            self._spans[key] = union(conditions.held_up(master), conditions.hindered(master, server, "namesrv"))
        return self._spans[key]

    def _held(self, master: str, server: str) -> list[Span]:
        """When the end of a connection of before a partition may still arrive at *server*: where the process ended
        meanwhile, or had the time to give up a call, after which RocketMQ's clients close the connection."""
        down_ns = self.facts.conditions.down(master)
        return [
            (end_ns, end_ns + min(end_ns - begin_ns, RETRANSMIT_MAX_NS))
            for begin_ns, end_ns in self.facts.conditions.hindered(master, server, "namesrv")
            if end_ns < NEVER_NS and (end_ns - begin_ns > CALL_GIVEN_UP_NS or within(down_ns, begin_ns, end_ns))
        ]

    def _silent(self, master: str, server: str) -> list[Span]:
        """When *server* certainly heard nothing of *master*."""
        return union(self.proven.still(master), self.proven.unheard(master, server, "namesrv"))

    def _of_server(self, server: str) -> list[Span]:
        """When *server* was down, frozen, starved or of another time."""
        key = ("", server)
        if key not in self._spans:
            conditions = self.facts.conditions
            self._spans[key] = union(conditions.held_up(server), conditions.of_another_time(server))
        return self._spans[key]

    @staticmethod
    def _around(spans: list[Span], view: View) -> Span | None:
        """The span that *view* fell into."""
        return next((s for s in spans if s[0] <= view.complete_ns and view.invoke_ns < s[1]), None)


def _stale(history: History, judge: _Judge, views: list[View]) -> Iterator[Anomaly]:
    for server, broker in _pairs(judge, views):
        told = [view for view in views if view.server == server and broker in view.brokers]
        late = [view for view in told if judge.is_stale(view, broker)]
        if late:
            yield _stale_route(history, judge, broker, late)


def _pairs(judge: _Judge, views: list[View]) -> list[tuple[str, str]]:
    return [(server, broker) for server in sorted({view.server for view in views}) for broker in judge.brokers]


def _stale_route(history: History, judge: _Judge, broker: str, late: list[View]) -> Anomaly:
    first, bounds = late[0], judge.bounds
    before = [f for f in judge.facts.faults if f.begin_ns < first.invoke_ns and judge.facts.hits(f, broker)]
    why = before[-1] if before else None
    is_down = judge.is_down(broker, first.invoke_ns)
    what = f"{why.words()} had {'ended' if is_down else 'silenced'} it" if why else "it was not there any more"
    within_ns = bounds.closed_within_ns if is_down else bounds.silent_within_ns
    sentence = (
        f"{first.server} still listed {broker} at {history.clock(first.invoke_ns)} ({len(late)} such answers), "
        f"although {what}: it has to be gone within {seconds(within_ns)}. Proof: {history.op_text(first.op)}."
    )
    details = {"server": first.server, "broker": broker, "fault": why.fault if why else ""}
    return Anomaly("stale-route", sentence, tuple(view.op for view in late[:3]), details)


def _early(history: History, judge: _Judge, views: list[View]) -> Iterator[Anomaly]:
    for server, broker in _pairs(judge, views):
        told = [view for view in views if view.server == server]
        known_ns = min((view.complete_ns for view in told if broker in view.brokers), default=NEVER_NS)
        later = [view for view in told if broker not in view.brokers and known_ns < view.invoke_ns]
        missing = [view for view in later if judge.is_early(view, broker)]
        if missing:
            yield _dropped(history, server, broker, missing)


def _dropped(history: History, server: str, broker: str, missing: list[View]) -> Anomaly:
    first = missing[0]
    sentence = (
        f"{server} no longer listed {broker} at {history.clock(first.complete_ns)} ({len(missing)} such answers), "
        f"although nothing had ended it and it had not been silent long enough. Proof: {history.op_text(first.op)}."
    )
    return Anomaly("dropped-early", sentence, tuple(v.op for v in missing[:3]), {"server": server, "broker": broker})


def _left_after_ms(facts: RunFacts, views: list[View]) -> dict[str, int]:
    """For each fault, broker and NameServer: how long after the fault the first answer without the broker came."""
    times: dict[str, int] = {}
    for fault in facts.faults:
        for broker in _silenced(facts, fault):
            for server in sorted({view.server for view in views}):
                gone = [
                    view.complete_ns
                    for view in views
                    if view.server == server
                    and fault.inject_ns < view.complete_ns < fault.heal_ns
                    and broker not in view.brokers
                ]
                if gone:
                    times[f"{fault.fault}/{broker}/{server}"] = (min(gone) - fault.inject_ns) // 1_000_000
    return times


def _silenced(facts: RunFacts, fault: FaultFact) -> list[str]:
    """Names of brokers whose master *fault* ended, froze or partitioned from a NameServer."""
    cluster, hit = facts.cluster, frozenset(fault.left)
    if fault.does("separates"):
        sides = ((fault.left, fault.right), (fault.right, fault.left))
        hit = frozenset(n for side, other in sides for n in side if any(cluster.is_nameserver(o) for o in other))
        hit = hit if fault.ports in ("any", "namesrv") else frozenset()
    elif not (fault.does("ends") or fault.does("freezes")):
        return []
    return [broker for broker in cluster.brokers if cluster.masters(broker, *fault.lasts) & hit]
