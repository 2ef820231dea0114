"""The check ``freshness``: what did slaves not show, and was that allowed?

Question: a slave said "there is nothing at this offset". How much was known to be there by then, since when, and may a
slave of this mode lack it?

Model. A slave says so with PULL_NOT_FOUND, and to a reader who is ahead of it with PULL_RETRY_IMMEDIATELY and the
offset that was asked for: of each node, queue and offset the last such answer counts. A message is *known* at the first
instant at which its send was acknowledged or a master showed it. An answer that a queue ends at o is behind by the
known messages from o on, and late by the age of the oldest of them (the least bound that :mod:`checkers.logs.staleness`
gives, on the clock of the run). It is a failure if it lacks a message that the mode's slaves must show:

    slave-lacks      synchronous replication: acknowledged with SEND_OK, longer ago than dispatching may take
                     asynchronous: the same, later than a slave may lag, and nothing stood between it and its master

What stands between: a fault on either of them, or a cut between them, from its beginning (and what was sent shortly
before) until the slave has had time to catch up. After a fault that lets replicas differ a broker's slaves are only
measured, and so are those of a synchronous master with several slaves, since one of them is enough for SEND_OK. A slave
that lost something itself (power cut, disk) is excused until it has caught up. What slaves did show is compared by
:mod:`checkers.runs.slave_content`.

Limits. Only pulls of the load; what slaves hold at the end is for :mod:`checkers.runs.replicas`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from checkers.contract import Contract
from checkers.history.columns import NEVER, Bools, Ints
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.groups import of_slaves
from checkers.history.history import History
from checkers.history.spans import NEVER_NS
from checkers.logs.staleness import Freshness
from checkers.runs.slave_content import wrong_content
from checkers.verdict import Anomaly, Outcome, Verdict

CATCH_UP_NS = 15_000_000_000
"""A slave connects again every 5 s and registers every 10 s (RocketMQ: HAClient, SlaveSynchronize)."""


@dataclass(frozen=True)
class _Queue:
    """What was known of one queue: by offset (ascending), since when, the send (−1: read only), and whether SEND_OK."""

    offset: Ints
    since: Ints
    row: Ints
    promised: Ints

    @property
    def latest(self) -> Ints:
        """Since when something at or behind each offset was known: the earliest of those instants."""
        return np.minimum.accumulate(self.since[::-1])[::-1]


def has_slave_reads(history: History, facts: RunFacts) -> bool:
    """Whether a slave answered any pull of the load."""
    return bool((of_slaves(history, facts) & history.ops.f.mask("pull") & history.ops.outcome.mask("ok")).any())


def check_freshness(history: History, facts: RunFacts) -> Verdict:
    """Measure every empty answer of a slave; judge those that lack what they must not."""
    contract = facts.contract()
    ops = history.ops
    answered = of_slaves(history, facts) & ops.f.mask("pull") & ops.outcome.mask("ok")
    nothing = ops.status.mask("PULL_NOT_FOUND") | (
        ops.status.mask("PULL_RETRY_IMMEDIATELY") & (ops.next_offset == ops.offset)
    )
    every = np.flatnonzero(answered & nothing & (ops.queue >= 0))
    claims = _latest(history, every)
    known = {queue: _known(history, facts, queue) for queue in np.unique(ops.queue[claims]).tolist()}
    late = _freshness(history, claims, known)
    anomalies = list(_lacking(history, facts, contract, claims, known)) if contract else []
    anomalies += wrong_content(history, facts)
    reasons = () if contract else (f"no contract for mode {facts.mode!r}",)
    outcome = Outcome.FAIL if anomalies else Outcome.UNKNOWN if reasons else Outcome.PASS
    measures = _measures(history, answered, every, late)
    measures |= {
        "promised_behind_max": max((_promised_behind(history, row, known) for row in claims.tolist()), default=0)
    }
    return Verdict("freshness", outcome, tuple(anomalies), measures, reasons)


def _latest(history: History, claims: Ints) -> Ints:
    """The last of *claims* for each node, queue and offset: a reader who is ahead of a slave asks on and on."""
    ops = history.ops
    _, last = np.unique(
        np.stack((ops.node.codes[claims], ops.queue[claims], ops.offset[claims]))[:, ::-1], axis=1, return_index=True
    )
    return np.sort(claims[::-1][last])


def _promised_behind(history: History, row: int, known: Mapping[int, _Queue]) -> int:
    """How many messages with SEND_OK the answer lacked."""
    ops = history.ops
    held = known[int(ops.queue[row])]
    first = int(np.searchsorted(held.offset, ops.offset[row]))
    return int((held.promised[first:] & (held.since[first:] < ops.invoke_ns[row])).sum())


def _measures(history: History, answered: Bools, claims: Ints, late: Freshness) -> dict[str, object]:
    ops = history.ops
    by_node = {
        node: int((answered & ops.node.mask(node) & ops.status.mask("FOUND")).sum()) for node in sorted(ops.node.values)
    }
    return {
        "answers": int(answered.sum()),
        "ends": len(claims),
        "behind_max": int(late.behind.max(initial=0)),
        "late_max_ms": int(late.late.max(initial=0)) // 1_000_000,
        "late_p50_ms": late.percentile(50)[0] // 1_000_000,
        "found_by_node": {node: count for node, count in by_node.items() if count},
    }


def _known(history: History, facts: RunFacts, queue: int) -> _Queue:
    ops = history.ops
    acked = np.flatnonzero(
        ops.f.mask("send") & (ops.queue == queue) & ops.outcome.mask("ok", "weak") & (ops.offset >= 0)
    )
    offsets, since = [ops.offset[acked]], [ops.complete_ns[acked]]
    rows, promised = [acked], [ops.outcome.mask("ok")[acked].astype(np.int64)]
    read_offset, read_ns = _shown_by_masters(history, facts, queue)
    offsets.append(read_offset)
    since.append(read_ns)
    rows.append(np.full(len(read_ns), -1, dtype=np.int64))
    promised.append(np.zeros(len(read_ns), dtype=np.int64))
    offset, when = np.concatenate(offsets), np.concatenate(since)
    row, told = np.concatenate(rows), np.concatenate(promised)
    order = np.lexsort((when, offset))
    return _Queue(offset[order], when[order], row[order], told[order])


def _shown_by_masters(history: History, facts: RunFacts, queue: int) -> tuple[Ints, Ints]:
    ops, reads = history.ops, history.reads
    of_read = ops.rows(reads.op)
    pulls = (ops.queue == queue) & ops.f.mask("pull") & ~of_slaves(history, facts)
    index = np.flatnonzero(pulls[of_read])
    return reads.offset[index], ops.complete_ns[of_read[index]]


def _freshness(history: History, claims: Ints, known: Mapping[int, _Queue]) -> Freshness:
    ops = history.ops
    late = np.zeros(len(claims), dtype=np.int64)
    behind = np.zeros(len(claims), dtype=np.int64)
    for index, row in enumerate(claims.tolist()):
        held = known[int(ops.queue[row])]
        first = int(np.searchsorted(held.offset, ops.offset[row]))
        there = held.since[first:] < ops.invoke_ns[row]
        behind[index] = len(np.unique(held.offset[first:][there]))
        if first < len(held.offset):
            late[index] = max(0, int(ops.invoke_ns[row]) - int(held.latest[first]))
    return Freshness(late, behind)


# What must not be lacking -------------------------------------------------------------------------------------------


def _lacking(
    history: History, facts: RunFacts, contract: Contract, claims: Ints, known: Mapping[int, _Queue]
) -> Iterator[Anomaly]:
    ops = history.ops
    told: set[tuple[str, int]] = set()
    for row in claims.tolist():
        node, queue = ops.node[row], int(ops.queue[row])
        if (node, queue) in told or _may_differ(facts, facts.cluster.broker_of(node), int(ops.invoke_ns[row])):
            continue
        held = known[queue]
        first = int(np.searchsorted(held.offset, ops.offset[row]))
        lacking = first + np.flatnonzero(held.promised[first:] & (held.since[first:] < ops.invoke_ns[row]))
        for index in lacking.tolist():
            if not _is_excused(facts, contract, node, int(held.since[index]), int(ops.invoke_ns[row])):
                told.add((node, queue))
                yield _lacks(history, facts, row, int(held.row[index]), len(lacking))
                break


def _may_differ(facts: RunFacts, broker: str, ns: int) -> bool:
    """Whether a fault on the master has let its slaves differ for ever."""
    for fault in facts.faults:
        guarantee = facts.guarantee(fault)
        may = guarantee is not None and guarantee.replicas == "may-differ" and fault.effective != 0
        if may and fault.begin_ns <= ns and facts.cluster.masters(broker, *fault.lasts) & {*fault.left}:
            return True
    return False


def _is_excused(facts: RunFacts, contract: Contract, node: str, since_ns: int, asked_ns: int) -> bool:
    """Whether *node* need not have shown at *asked_ns* what was known since *since_ns*."""
    slack_ns = facts.slack_ns()
    complete = (
        contract.reading is not None
        and contract.reading.slave_is_complete
        and len(facts.cluster.slaves(facts.cluster.broker_of(node))) == 1
    )
    lag_ns = 0 if complete else contract.replication_lag_ns
    if asked_ns - since_ns <= contract.visible_within_ns + lag_ns + slack_ns:
        return True
    its_own = any(node in fault.left for fault in facts.faults)
    return any(
        begin_ns <= asked_ns < end_ns and (complete or its_own or since_ns >= begin_ns - lag_ns - slack_ns)
        for begin_ns, end_ns in _apart(facts, node, whole=not complete)
    )


def _apart(facts: RunFacts, node: str, *, whole: bool) -> list[tuple[int, int]]:
    """Spans in which the slave was away or had not caught up yet. Each begins with a fault on the slave itself, with
    *whole* also with one on its master or between the two; any of these makes longer a span that it falls into, since
    nobody catches up with a master that is away."""
    spans: list[tuple[int, int]] = []
    for fault in sorted(_concerning(facts, node), key=lambda fault: fault.begin_ns):
        healed_ns = fault.heal_ns + CATCH_UP_NS + facts.slack_ns() if fault.heal_ns < NEVER_NS else NEVER_NS
        if spans and fault.begin_ns <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], healed_ns))
        elif whole or (node in fault.left and not fault.right):
            spans.append((fault.begin_ns, healed_ns))
    return spans


def _concerning(facts: RunFacts, node: str) -> Iterable[FaultFact]:
    """Faults on the slave, on its master, or between either and others."""
    pair = {node, facts.cluster.first_master(facts.cluster.broker_of(node))}
    return (fault for fault in facts.faults if fault.may_have_acted and pair & {*fault.left, *fault.right})


def _lacks(history: History, facts: RunFacts, row: int, send_row: int, count: int) -> Anomaly:
    ops = history.ops
    ask, send = int(ops.op[row]), int(ops.op[send_row])
    fault = facts.nearest_fault(int(ops.invoke_ns[row]))
    sentence = (
        f"{ops.node[row]} said at {history.clock(int(ops.complete_ns[row]))} that "
        f"{history.queues.name(int(ops.queue[row]))} ends at @{int(ops.offset[row])}, "
        f"and lacks m{int(ops.message[send_row])} @{int(ops.offset[send_row])}, "
        f"acknowledged at {history.clock(int(ops.complete_ns[send_row]))} ({count} messages in all)."
        f"{f' Nearest: {fault.words()}.' if fault else ''} Proof: {history.op_text(send)}; {history.op_text(ask)}."
    )
    details = {"node": ops.node[row], "queue": int(ops.queue[row]), "count": count}
    return Anomaly("slave-lacks", sentence, (send, ask), details)


assert NEVER >= NEVER_NS, "an instant that never comes is never before one that does"
