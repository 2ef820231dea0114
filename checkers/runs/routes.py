"""The check ``routes``: does each NameServer list the brokers that are there, and only those?

Question: how long does a NameServer go on listing a broker that ended or fell silent, and does it ever drop one that is
well?

Model. Clients ask every NameServer again and again (op ``route``: ``node`` the NameServer, ``detail`` broker → ids).
RocketMQ's promise (documentation, NameServer): brokers heartbeat every 30 s; every 10 s the NameServer looks for
brokers unseen for 120 s; a closed connection or an unregistration counts at once. So, for a broker that is the only
node of its name hit:

    stale-route     listed although it ended longer ago than ``closed_within``, or has been silent for longer than
                    ``silent_within``
    dropped-early   not listed any more although it was well, or silent for less than ``silent_after``

A NameServer that was itself hit, or cut from the broker, is judged again ``relearned_within`` after the heal.

Limits. Views are as clients see them, to the interval of their questions. Runs without ``route`` ops are not judged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.contract import RouteBounds
from checkers.history.facts import FaultFact, RunFacts, broker_name
from checkers.history.history import History, seconds
from checkers.verdict import Anomaly, Outcome, Verdict

ENDED = ("kill", "stop", "restart", "reconfigure")
"""Its connections are closed: the NameServer knows at once. A machine that lost its power closes nothing."""

SILENT = ("pause", "cut_power", "partition", "isolate")


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
    anomalies = [*_stale(history, facts, contract.routes, views), *_early(history, facts, contract.routes, views)]
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
    return tuple(broker for broker, its in json.loads(detail).items() if 0 in its["ids"])


def _stale(history: History, facts: RunFacts, bounds: RouteBounds, views: list[View]) -> Iterator[Anomaly]:
    for fault in facts.faults:
        within_ns = bounds.closed_within_ns if fault.kind in ENDED else bounds.silent_within_ns
        for broker in _brokers(facts, fault):
            deadline_ns = fault.inject_ns + within_ns + facts.slack_ns()
            late = [
                view
                for view in views
                if broker in view.brokers
                and _between(fault, view.server)
                and view.invoke_ns > deadline_ns
                and view.complete_ns < fault.heal_ns
                and not _came_back(facts, broker, fault, view.complete_ns)
            ]
            if late and fault.effective != 0:
                yield _stale_route(history, fault, broker, late, within_ns)


def _brokers(facts: RunFacts, fault: FaultFact) -> list[str]:
    """Names whose only master the fault ended or silenced towards the NameServers."""
    if fault.kind not in ENDED + SILENT:
        return []
    nodes = fault.left if not fault.right else _cut_from_nameservers(fault)
    return sorted({broker_name(node) for node in nodes if node in facts.nodes and node.endswith("-0")})


def _cut_from_nameservers(fault: FaultFact) -> tuple[str, ...]:
    if fault.ports not in ("any", "namesrv"):
        return ()
    sides = ((fault.left, fault.right), (fault.right, fault.left))
    return tuple(node for side, other in sides for node in side if any(peer.startswith("namesrv-") for peer in other))


def _between(fault: FaultFact, server: str) -> bool:
    """Whether the fault stands between its broker and *server*: NameServers do not talk to each other, so a broker that
    is cut from one of them stays known to the others."""
    return not fault.right or server in fault.left + fault.right


def _came_back(facts: RunFacts, broker: str, fault: FaultFact, ns: int) -> bool:
    """Whether a node of *broker* was started again between the fault and *ns*."""
    starts = [start for node, its in facts.starts.items() if broker_name(node) == broker for start in its]
    return any(fault.begin_ns < start <= ns for start in starts)


def _stale_route(history: History, fault: FaultFact, broker: str, late: list[View], within_ns: int) -> Anomaly:
    first = late[0]
    sentence = (
        f"{first.server} still listed {broker} at {seconds(first.invoke_ns)} ({len(late)} such answers), although "
        f"{fault.words()} had {'ended' if fault.kind in ENDED else 'silenced'} it: it has to be gone within "
        f"{seconds(within_ns)}. Proof: {history.op_text(first.op)}."
    )
    ops = tuple(view.op for view in late[:3])
    return Anomaly("stale-route", sentence, ops, {"server": first.server, "broker": broker, "fault": fault.fault})


def _early(history: History, facts: RunFacts, bounds: RouteBounds, views: list[View]) -> Iterator[Anomaly]:
    known = sorted({broker_name(node) for node in facts.nodes if node.endswith("-0") and _is_broker(node)})
    for server in sorted({view.server for view in views}):
        mine = [view for view in views if view.server == server]
        for broker in known:
            listed = [view.complete_ns for view in mine if broker in view.brokers]
            missing = [
                view
                for view in mine
                if broker not in view.brokers
                and any(ns < view.invoke_ns for ns in listed[:1])
                and not _excused(facts, bounds, server, broker, view)
            ]
            if missing:
                yield _dropped(history, server, broker, missing)


def _is_broker(node: str) -> bool:
    return not node.startswith(("namesrv-", "client-", "operator"))


def _excused(facts: RunFacts, bounds: RouteBounds, server: str, broker: str, view: View) -> bool:
    """Whether a fault is reason enough that *broker* is missing in *view*."""
    for fault in facts.faults:
        if fault.begin_ns > view.complete_ns:
            continue
        healed_ns = fault.heal_ns + bounds.relearned_within_ns + facts.slack_ns()
        concerns_server = server in fault.left + fault.right
        if concerns_server and view.invoke_ns < healed_ns:
            return True
        if broker in _brokers(facts, fault) and _between(fault, server) and view.invoke_ns < healed_ns:
            silent_ns = view.complete_ns - fault.begin_ns
            if fault.kind not in ("pause", "partition", "isolate") or silent_ns >= bounds.silent_after_ns:
                return True
    return False


def _dropped(history: History, server: str, broker: str, missing: list[View]) -> Anomaly:
    first = missing[0]
    sentence = (
        f"{server} no longer listed {broker} at {seconds(first.complete_ns)} ({len(missing)} such answers), although "
        f"nothing had ended it and it had not been silent long enough. Proof: {history.op_text(first.op)}."
    )
    return Anomaly("dropped-early", sentence, tuple(v.op for v in missing[:3]), {"server": server, "broker": broker})


def _left_after_ms(facts: RunFacts, views: list[View]) -> dict[str, int]:
    """For each fault, broker and NameServer: how long after the fault the first answer without the broker came."""
    times: dict[str, int] = {}
    for fault in facts.faults:
        for broker in _brokers(facts, fault):
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
