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
    given-unlocked   an orderly listener was given a message of a queue whose lock its member did not hold as far as it
                     knew: never asked in this life, last refused, given back, or granted over 30 s before (RocketMQ:
                     ProcessQueue#isLockExpired). No fault excuses it: the member looks before each message

A run of lockers alone must have refused somebody, else nothing shows that the lock excludes anybody.

Limits. A lock whose answer never came may be held by the one who asked: it makes nobody's refusal wrong.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

import numpy as np

from checkers.history.columns import Ints
from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.history.listeners import Given, given_by_group, orderly_limit
from checkers.history.spans import NEVER_NS, Span, meet, union, within
from checkers.objects.ownership import Owned, together
from checkers.verdict import Anomaly, Outcome, Verdict

EXPIRES_NS: Final = 60_000_000_000
EXPIRES_AT_CLIENT_NS: Final = 30_000_000_000
_NAMED: Final = 10
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
    orderly = [given for given in given_by_group(history) if orderly_limit(history, given.group) is not None]
    anomalies = [*_two(history, facts, held, owned), *_never_free(history, facts, rows)]
    anomalies += [anomaly for given in orderly for anomaly in _given_unlocked(history, facts, given)]
    granted, refused = int(ops.status.mask("OK")[rows].sum()), int(ops.status.mask("REFUSED")[rows].sum())
    shown = granted and (refused or orderly)
    reasons = () if shown else ("nobody was refused: nothing shows that the lock excludes anybody",)
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


def _given_unlocked(history: History, facts: RunFacts, given: Given) -> Iterator[Anomaly]:
    """Deliveries of messages whose queue's lock the member did not hold as far as it knew."""
    ops = history.ops
    said = _said_of_locks(history, given.group)
    wrong = [row for row in given.row.tolist() if not _believes(history, facts, said, row)]
    if not wrong:
        return
    row = wrong[0]
    last = _last_said(history, said, row)
    sentence = (
        f"{ops.node[row]} was given {len(wrong)} messages of queues whose lock it did not hold; the first: "
        f"{history.op_text(int(ops.op[row]))}. "
        + (
            f"Said last of that lock: {history.op_text(int(ops.op[last]))}."
            if last >= 0
            else "It had never asked for it."
        )
    )
    proof = (*([int(ops.op[last])] if last >= 0 else []), *(int(ops.op[row]) for row in wrong[:_NAMED]))
    yield Anomaly("given-unlocked", sentence, proof, {"group": given.group, "count": len(wrong)})


_Said = dict[tuple[str, int], tuple[list[int], list[int]]]
"""By member and queue: event numbers, and rows of ops."""


def _said_of_locks(history: History, group: str) -> _Said:
    """What members knew since when: a call that was answered OK or REFUSED, at its answer; one that gives the lock
    back, at its beginning."""
    ops = history.ops
    of_group = ops.group.mask(group)
    answered = ops.f.mask("lock") & of_group & ops.status.mask("OK", "REFUSED")
    back = ops.f.mask("unlock") & of_group
    found = [(int(ops.complete_event[row]), row) for row in np.flatnonzero(answered).tolist()]
    found += [(int(ops.invoke_event[row]), row) for row in np.flatnonzero(back).tolist()]
    said: _Said = {}
    for event, row in sorted(found):
        events, rows = said.setdefault((ops.node[row], int(ops.queue[row])), ([], []))
        events.append(event)
        rows.append(row)
    return said


def _last_said(history: History, said: _Said, delivery: int) -> int:
    """The row of what was said last of its lock before *delivery*; −1: nothing."""
    ops = history.ops
    events, rows = said.get((ops.node[delivery], int(ops.queue[delivery])), ([], []))
    place = bisect_left(events, int(ops.invoke_event[delivery]))
    return rows[place - 1] if place else -1


def _believes(history: History, facts: RunFacts, said: _Said, delivery: int) -> bool:
    """Whether the member held the lock as far as it knew in this life."""
    ops, last = history.ops, _last_said(history, said, delivery)
    if last < 0 or ops.f[last] != "lock" or ops.status[last] != "OK":
        return False
    granted_ns, ns = int(ops.complete_ns[last]), int(ops.invoke_ns[delivery])
    died = any(granted_ns < down <= ns for down, _ in facts.conditions.down(ops.node[delivery]))
    return not died and ns - granted_ns <= EXPIRES_AT_CLIENT_NS + ROUNDING_NS


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
