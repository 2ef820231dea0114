"""The check ``locks``: does one client of a group at most hold the lock of a queue?

Question: orderly consumers lock their queues at the broker. Did two of them ever hold one lock at the same time, and
was anybody refused for ever?

Model (RocketMQ: RebalanceLockManager). An op ``lock`` is one call for one queue: OK or REFUSED; ``unlock`` gives it
back. A client *certainly holds* a lock from the answer to its call until it calls again to give it back, dies, or 60 s
have passed since it called last, whichever comes first (the broker counts from later on, by its wall clock).

    two-holders      two clients certainly held one lock at once (:mod:`checkers.objects.ownership`). Allowed where its
                     broker had ended meanwhile, which forgets all locks, or its clock had been set forward
    never-free       a client was refused although nobody can have held the lock: everybody had given it back, or had
                     been silent for 60 s

Limits. A lock whose answer never came may be held by the one who asked: it makes nobody's refusal wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from checkers.history.columns import Ints
from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.history.spans import NEVER_NS, Span, meet, union, within
from checkers.objects.ownership import Owned, together
from checkers.verdict import Anomaly, Outcome, Verdict

EXPIRES_NS: Final = 60_000_000_000
ROUNDING_NS: Final = 2_000_000
"""Brokers count in milliseconds."""


def has_locks(history: History, facts: RunFacts) -> bool:
    """Whether anybody asked for a lock."""
    return "lock" in history.ops.f.values


def check_locks(history: History, facts: RunFacts) -> Verdict:
    """FAIL for two holders, and for a refusal that nobody can explain."""
    ops = history.ops
    rows = np.flatnonzero(ops.f.mask("lock"))
    held, owned = _holds(history, facts)
    anomalies = [*_two(history, facts, held, owned), *_never_free(history, facts, rows)]
    granted, refused = int(ops.status.mask("OK")[rows].sum()), int(ops.status.mask("REFUSED")[rows].sum())
    reasons = () if granted and refused else ("nobody was refused: nothing shows that the lock excludes anybody",)
    failed = any(not anomaly.allowed for anomaly in anomalies)
    outcome = Outcome.FAIL if failed else Outcome.UNKNOWN if reasons else Outcome.PASS
    measures = {"granted": granted, "refused": refused, "holds": len(held)}
    return Verdict("locks", outcome, tuple(anomalies), measures, reasons)


def _holds(history: History, facts: RunFacts) -> tuple[Ints, Owned]:
    """One span a granted call: rows of ops, and for how long it certainly gave the lock."""
    ops = history.ops
    rows = np.flatnonzero(ops.f.mask("lock") & ops.status.mask("OK"))
    given_back = np.flatnonzero(ops.f.mask("unlock"))
    begin, end = ops.complete_ns[rows], ops.invoke_ns[rows] + EXPIRES_NS
    for place, row in enumerate(rows.tolist()):
        own = given_back[ops.node.mask(ops.node[row])[given_back] & (ops.queue[given_back] == ops.queue[row])]
        after = own[ops.invoke_event[own] > ops.complete_event[row]]
        ends = [int(ns) for ns in ops.invoke_ns[after][:1]]
        deaths = [down for down, _ in facts.conditions.down(ops.node[row]) if down >= begin[place]]
        end[place] = min([int(end[place]), *ends, *deaths])
    return rows, Owned(ops.queue[rows], ops.node.codes[rows].astype(np.int64), begin, np.maximum(begin, end))


def _two(history: History, facts: RunFacts, rows: Ints, owned: Owned) -> Iterator[Anomaly]:
    ops = history.ops
    for pair in together(owned):
        first, second = int(rows[pair.first]), int(rows[pair.second])
        if pair.end - pair.begin <= ROUNDING_NS:
            continue
        queue = int(ops.queue[first])
        span = (int(ops.invoke_ns[first]), int(ops.complete_ns[second]))
        forgot = _forgot(facts, history.queues.broker_of(queue), span)
        sentence = (
            f"{ops.node[first]} and {ops.node[second]} both held the lock of {history.queues.name(queue)} from "
            f"{history.clock(pair.begin)} to {history.clock(pair.end)}"
            f"{', after its broker had forgotten it' if forgot else ''}. "
            f"Proof: {history.op_text(int(ops.op[first]))}; {history.op_text(int(ops.op[second]))}."
        )
        proof = (int(ops.op[first]), int(ops.op[second]))
        yield Anomaly("two-holders", sentence, proof, {"queue": queue}, allowed=forgot)


def _forgot(facts: RunFacts, broker: str, span: Span) -> bool:
    """Whether a node of *broker* ended, another began to serve, or its clock was another's in *span*."""
    conditions, cluster = facts.conditions, facts.cluster
    nodes = cluster.nodes_of(broker)
    ended = any(meet(conditions.down(node), [span]) for node in nodes)
    jumped = any(meet(conditions.of_another_time(node), [span]) for node in nodes)
    moved = len({node for node, spans in cluster.tenures(broker).items() if meet(spans, [span])}) > 1
    return ended or jumped or moved


def _never_free(history: History, facts: RunFacts, rows: Ints) -> Iterator[Anomaly]:
    """Refusals for whose whole time nobody can have held the lock."""
    ops = history.ops
    refused = rows[ops.status.mask("REFUSED")[rows]]
    for row in refused.tolist():
        span = (int(ops.invoke_ns[row]), int(ops.complete_ns[row]))
        queue = int(ops.queue[row])
        nodes = facts.cluster.nodes_of(history.queues.broker_of(queue))
        if any(meet(facts.conditions.of_another_time(node), [(0, span[1])]) for node in nodes):
            continue  # what a clock set back has held longer
        if not within(_may_be_held(history, rows, row), *span):
            sentence = (
                f"{ops.node[row]} was refused the lock of {history.queues.name(queue)} at {history.clock(span[1])}, "
                f"although nobody can have held it: {history.op_text(int(ops.op[row]))}."
            )
            yield Anomaly("never-free", sentence, (int(ops.op[row]),), {"queue": queue})
            return


def _may_be_held(history: History, rows: Ints, refused: int) -> list[Span]:
    """When somebody else may have held the lock: from a call that was not refused to the answer of the next that gives
    it back, or 60 s after the last answer that can have been."""
    ops = history.ops
    own = ops.queue == ops.queue[refused]
    spans: list[Span] = []
    for row in rows[own[rows] & (ops.node.codes[rows] != ops.node.codes[refused])].tolist():
        if ops.status[row] == "REFUSED":
            continue
        back = np.flatnonzero(own & ops.f.mask("unlock") & ops.node.mask(ops.node[row]) & ops.outcome.mask("ok"))
        back = back[ops.invoke_event[back] > ops.complete_event[row]] if ops.complete_event[row] >= 0 else back[:0]
        done_ns = int(ops.complete_ns[row]) if ops.complete_ns[row] >= 0 else NEVER_NS - EXPIRES_NS
        ends = [done_ns + EXPIRES_NS + ROUNDING_NS, *(int(ns) for ns in ops.complete_ns[back][:1])]
        spans.append((int(ops.invoke_ns[row]), min(ends)))
    return union(spans)
