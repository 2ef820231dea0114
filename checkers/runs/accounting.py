"""Accounting: lost, duplicated, phantom, recovered, unreachable; by broker and queue.

Question: is every acknowledged message there at the end, once, and nothing that was never sent?

Model. The drain after the last heal is the truth about the end. Then

    lost         acknowledged (``ok``), its queue drained, and not there; allowed where :mod:`checkers.runs.loss_rules`
                 says so
    expired      the same, but it was time for its broker to delete it (:mod:`checkers.runs.expiry`): always allowed
    hidden       acknowledged, and its place in the queue shows what is no record (:mod:`checkers.runs.hidden`)
    duplicated   at more places than there were sends that may have stored it
    phantom      read, but never sent, or none of ours, or damaged
    visible      read, although its send certainly failed (``failed-append-visible``)
    resurrected  cut off by a recovery, and there again at the end (:mod:`checkers.runs.resurrection`)
    recovered    not promised (``weak``, ``info``), but there
    unreachable  a broker answered that the topic does not exist, until it was created again; allowed after a power cut

Limits. A queue that was not drained proves nothing: if acknowledged messages of it were not read, the verdict is
UNKNOWN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from checkers.history.columns import Ints
from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.history.ledger import FAIL, INFO, OK, UNSENT, WEAK, Ledger, ledger_of
from checkers.history.strays import stray
from checkers.runs.expiry import expired, judge_expired
from checkers.runs.forensics import Death, deaths_of, shape_of
from checkers.runs.group_copies import has_foreign_log
from checkers.runs.hidden import hidden, judge_hidden
from checkers.runs.loss_rules import judge_loss, judge_return
from checkers.runs.lost_after_delivery import with_deliveries
from checkers.runs.mechanisms import STALE_UNITS
from checkers.runs.stale_units import in_words, way_to
from checkers.verdict import Anomaly, Outcome, Verdict

_NAMED = 20


def check_accounting(history: History, facts: RunFacts) -> Verdict:
    """Account for every message of *history* under the contract of *facts*."""
    ledger = ledger_of(history)
    missing = ledger.where((ledger.outcome == OK) & ~ledger.drained)
    unseen = hidden(history, facts, ledger, missing)
    missing = np.setdiff1d(missing, np.concatenate([missing[:0], *(one.messages for one in unseen)]))
    is_judged = np.isin(ledger.queue[missing], ledger.drained_queues)
    missed = missing[is_judged]
    is_expired = expired(history, facts, ledger, missed)
    lost = missed[~is_expired]
    anomalies = [
        *judge_loss(history, facts, ledger, lost),
        *judge_hidden(history, ledger, unseen),
        *judge_expired(history, facts, ledger, missed[is_expired]),
        *judge_return(history, facts, ledger),
        *_duplicated(history, facts, ledger),
        *_phantoms(history, facts, ledger),
        *_unreachable(history, facts),
    ]
    reasons = _reasons(history, ledger, missing[~is_judged])
    return Verdict(
        "accounting",
        _outcome(anomalies, reasons),
        tuple(anomalies),
        _measures(history, facts, ledger, lost, anomalies),
        tuple(reasons),
    )


def _outcome(anomalies: list[Anomaly], reasons: list[str]) -> Outcome:
    if any(not anomaly.allowed for anomaly in anomalies):
        return Outcome.FAIL
    return Outcome.UNKNOWN if reasons else Outcome.PASS


def _reasons(history: History, ledger: Ledger, unjudged: Ints) -> list[str]:
    reasons = []
    if not (ledger.outcome == OK).any():
        reasons.append("no message was acknowledged: there is nothing to account for")
    if len(unjudged):
        queues = [history.queues.name(queue) for queue in np.unique(ledger.queue[unjudged]).tolist()]
        reasons.append(
            f"{len(unjudged)} acknowledged messages were not read, but their queues were not drained to the end: "
            f"{', '.join(queues[:5])}{' …' if len(queues) > 5 else ''}"
        )
    return reasons


def _duplicated(history: History, facts: RunFacts, ledger: Ledger) -> list[Anomaly]:
    """Where a group took over the log of another, it has all messages of that one as well."""
    twice = ledger.where((ledger.copies > 1) & (ledger.copies > ledger.attempts) & (ledger.outcome < FAIL))
    taken = {broker for broker in facts.cluster.brokers if len(twice) and has_foreign_log(facts, broker)}
    return [_duplicate(history, ledger, message, taken) for message in twice[:_NAMED].tolist()]


def _duplicate(history: History, ledger: Ledger, message: int, taken: set[str]) -> Anomaly:
    reads, ops = history.reads, history.ops
    rows = np.flatnonzero(reads.message == message)
    of_op = ops.rows(reads.op[rows])
    drains = ops.f.mask("drain")[of_op]
    places = sorted(set(zip(ops.queue[of_op[drains]].tolist(), reads.offset[rows[drains]].tolist(), strict=True)))
    named = ", ".join(f"{history.queues.name(queue)} @{offset}" for queue, offset in places)
    send = int(ops.op[ledger.row[message]])
    sentence = (
        f"Message m{message} was sent {_times(int(ledger.attempts[message]))} ({history.op_text(send)}), but is there "
        f"{_times(len(places))}: {named}."
    )
    proof = (send, *dict.fromkeys(reads.op[rows[drains]].tolist()))
    own = [queue for queue, _ in places if history.queues.broker_of(queue) not in taken]
    is_allowed = len(own) <= int(ledger.attempts[message])
    return Anomaly("duplicated", sentence, proof[:4], {"message": message, "places": places}, is_allowed)


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _phantoms(history: History, facts: RunFacts, ledger: Ledger) -> list[Anomaly]:
    reads = history.reads
    unrecognised = np.flatnonzero(reads.message < 0)
    places = _first_places(history, unrecognised)[:_NAMED]
    anomalies = [_unrecognised(history, facts, int(row)) for row in places.tolist()]
    seen = ledger.where(ledger.seen & (ledger.outcome >= FAIL))
    return anomalies + [_never_stored(history, ledger, message) for message in seen[:_NAMED].tolist()]


def _first_places(history: History, rows: Ints) -> Ints:
    """One row for each (queue, offset) among *rows*."""
    queue = history.ops.queue[history.ops.rows(history.reads.op[rows])]
    _, first = np.unique(np.stack((queue, history.reads.offset[rows])), axis=1, return_index=True)
    return rows[np.sort(first)]


def _unrecognised(history: History, facts: RunFacts, row: int) -> Anomaly:
    reads = history.reads
    op = int(reads.op[row])
    queue = int(history.ops.queue[history.ops.rows(reads.op[row : row + 1])[0]])
    offset = int(reads.offset[row])
    where, what = f"{history.queues.name(queue)} @{offset}", reads.detail[row]
    sentence = f"{where} holds something that nobody sent ({what or 'no digest'}), read by {history.op_text(op)}."
    details = {"queue": queue, "offset": offset, "digest": what}
    if stray(what) >= 0:
        way = way_to(history, facts, queue, offset, op)
        sentence = (
            f"Who asked {where.split(' @')[0]} got {what} by {history.op_text(op)}: it is of another queue."
            f"{in_words(way)}"
        )
        details |= {"mechanism": STALE_UNITS} if way else {}
    return Anomaly("phantom", sentence, (op,), details)


def _never_stored(history: History, ledger: Ledger, message: int) -> Anomaly:
    reader = int(history.reads.op[(history.reads.message == message).argmax()])
    if ledger.outcome[message] == UNSENT:
        sentence = f"Message m{message} was read by {history.op_text(reader)}, but there is no send of it."
        return Anomaly("phantom", sentence, (reader,), {"message": message})
    send = int(history.ops.op[ledger.row[message]])
    sentence = f"{history.op_text(send)} certainly failed, and yet m{message} was read by {history.op_text(reader)}."
    return Anomaly("failed-append-visible", sentence, (send, reader), {"message": message})


def _unreachable(history: History, facts: RunFacts) -> list[Anomaly]:
    """Notes of the operator: a broker that came back answered that the topic does not exist."""
    events = history.events
    rows = np.flatnonzero(events.kind.mask("note") & events.step.mask("unreachable"))
    by_node: dict[str, list[int]] = {}
    for row in rows.tolist():
        by_node.setdefault(events.node[row], []).append(int(events.ns[row]))
    return [_lost_topic(history, facts, node, instants) for node, instants in by_node.items()]


def _lost_topic(history: History, facts: RunFacts, node: str, instants: list[int]) -> Anomaly:
    broker = facts.cluster.broker_of(node)
    before = [f for f in facts.faults if f.inject_ns <= instants[0] and f.effective != 0]
    hits = [f for f in before if facts.hits(f, broker)]
    guarantees = [facts.guarantee(fault) for fault in hits]
    allowed = any(guarantee is not None and guarantee.unreachable for guarantee in guarantees)
    cause = f"after {hits[-1].words()}" if hits else "although no fault had hit it"
    elected = [each.begin_ns for each in facts.cluster.elections(broker)[1:] if each.begin_ns <= instants[0]]
    if elected and not allowed:  # tables are no part of a group's log
        allowed, cause = (
            True,
            f"after an election at {facts.clock(elected[-1])}, not having copied it from its leader before",
        )
    sentence = (
        f"{node} answered at {facts.clock(instants[0])} that the topic does not exist, {cause}: its messages were "
        f"unreachable until the topic was created again."
    )
    asked = history.ops.status.mask("TOPIC_NOT_EXIST") & history.ops.node.mask(node, broker)
    details = {"node": node, "first_ns": instants[0], "times": len(instants)}
    return Anomaly("unreachable", sentence, tuple(history.ops.op[asked][:3].tolist()), details, allowed)


def _measures(
    history: History, facts: RunFacts, ledger: Ledger, lost: Ints, anomalies: list[Anomaly]
) -> dict[str, Any]:
    allowed = sum(a.details["count"] for a in anomalies if a.kind == "lost" and a.allowed)
    ages = [a.details["oldest_age_ns"] for a in anomalies if a.kind == "lost" and a.details["oldest_age_ns"] >= 0]
    kinds = [a.kind for a in anomalies]
    totals = _counts(ledger, np.arange(len(ledger), dtype=np.int64))
    return {
        **totals,
        "lost": len(lost),
        "hidden": sum(a.details["count"] for a in anomalies if a.kind == "hidden"),
        "expired": sum(a.details["count"] for a in anomalies if a.kind == "expired"),
        "lost_allowed": allowed,
        "lost_seen": int(ledger.seen[lost].sum()),
        "oldest_lost_age_ms": max(ages) // 1_000_000 if ages else 0,
        "duplicated": kinds.count("duplicated"),
        "phantom": kinds.count("phantom") + kinds.count("failed-append-visible"),
        "unreachable": kinds.count("unreachable"),
        "duplicated_by_retry": int(((ledger.copies > 1) & (ledger.copies <= ledger.attempts)).sum()),
        "shape": shape_of(history, ledger, lost),
        "deaths": [death.to_json() for death in _deaths(history, facts, ledger, lost)],
        "by_queue": _by_queue(history, ledger, lost),
    }


def _deaths(history: History, facts: RunFacts, ledger: Ledger, lost: Ints) -> list[Death]:
    return with_deliveries(history, ledger, deaths_of(history, ledger, lost[:_NAMED], facts.dumps))


def _counts(ledger: Ledger, messages: Ints) -> dict[str, int]:
    outcome = ledger.outcome[messages]
    drained = ledger.drained[messages]
    return {
        "sent": int((outcome != UNSENT).sum()),
        "ok": int((outcome == OK).sum()),
        "weak": int((outcome == WEAK).sum()),
        "info": int((outcome == INFO).sum()),
        "fail": int((outcome == FAIL).sum()),
        "drained": int(drained.sum()),
        "recovered": int((drained & ((outcome == WEAK) | (outcome == INFO))).sum()),
    }


def _by_queue(history: History, ledger: Ledger, lost: Ints) -> dict[str, dict[str, int]]:
    """Counts by queue: one bincount over (queue, outcome) instead of a pass a queue."""
    queues = history.queues.queue
    place = np.searchsorted(queues, ledger.queue)
    known = (ledger.queue >= 0) & (place < len(queues))
    width = UNSENT + 1
    table = np.bincount((place * width + ledger.outcome)[known], minlength=len(queues) * width).reshape(-1, width)
    drained = np.bincount(place[known & ledger.drained], minlength=len(queues))
    gone = np.bincount(np.searchsorted(queues, ledger.queue[lost]), minlength=len(queues))
    return {
        history.queues.name(int(queue)): {
            "ok": int(table[row, OK]),
            "weak": int(table[row, WEAK]),
            "info": int(table[row, INFO]),
            "fail": int(table[row, FAIL]),
            "drained": int(drained[row]),
            "lost": int(gone[row]),
        }
        for row, queue in enumerate(queues.tolist())
    }
