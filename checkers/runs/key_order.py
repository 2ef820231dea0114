"""The check ``order``: are messages of one key given to listeners in the order in which they were sent?

Question: each message of a key was sent when the one before it had been acknowledged. Did an orderly group get them in
that order, with one listener at a time in a queue? Which keys stalled, which moved to another queue, and where did the
order break?

Model. :mod:`checkers.logs.listening` finds disorders and overlaps. RocketMQ guarantees order *within a queue*, while
one member holds its lock:

    disorder         two messages of one key in the same queue, given in the wrong order: FAIL
    moved-disorder   the same over two queues: the key's queue had changed (another number of queues in the route, a
                     master away). RocketMQ's documents say that order is lost then: allowed, and counted
    overlap          two listeners at work in one queue: FAIL, unless a fault explains it. A lock is kept in the
                     broker's memory (its end forgets it) and expires after 60 s (a member that is frozen or partitioned
                     for so long loses it, and does not know it)

A key *stalled* while its sends failed: the longest time between two acknowledgements.

Limits. Keys are judged that have messages of kind ``ordered``. Redelivery in order is no disorder.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checkers.history.columns import Ints
from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.history.ledger import FAIL as NOT_STORED
from checkers.history.ledger import Ledger, ledger_of
from checkers.history.listeners import Given, given_by_group
from checkers.logs.listening import Pair, Sends, disorders, first_deliveries, overlaps
from checkers.verdict import Anomaly, Outcome, Verdict

_NAMED = 10
_HOLDS_UP = ("ends", "freezes", "separates", "resets")


def has_keys(history: History, facts: RunFacts) -> bool:
    """Whether listeners were given messages that had to come in order."""
    return "deliver" in history.ops.f.values and "ordered" in history.messages.kind.values


def check_order(history: History, facts: RunFacts) -> Verdict:
    """FAIL for a disorder in one queue and for an overlap that no fault explains."""
    ledger = ledger_of(history)
    sends = _sends(history, ledger)
    anomalies: list[Anomaly] = []
    for given in given_by_group(history):
        anomalies += _disorders(history, sends, given)
        anomalies += _overlaps(history, facts, given)
    reasons = () if len(sends.value) else ("no message with a key may have been stored",)
    failed = any(not anomaly.allowed for anomaly in anomalies)
    outcome = Outcome.FAIL if failed else Outcome.UNKNOWN if reasons else Outcome.PASS
    return Verdict("order", outcome, tuple(anomalies), _measures(history, ledger, sends, anomalies), reasons)


def _sends(history: History, ledger: Ledger) -> Sends:
    """Sends as the application saw them, of messages with a key that may be stored."""
    ops, messages = history.ops, history.messages
    key = np.full(len(ledger), -1, dtype=np.int64)
    ordered = messages.kind.mask("ordered") & (messages.message < len(ledger))
    key[messages.message[ordered]] = messages.sharding_key.codes[ordered]
    rows = np.flatnonzero(ops.f.mask("produce") & (ops.message >= 0))
    rows = rows if len(rows) else np.flatnonzero(ops.f.mask("send") & (ops.message >= 0))
    rows = rows[(ops.message[rows] < len(key))]
    rows = rows[(key[ops.message[rows]] >= 0) & (ledger.outcome[ops.message[rows]] != NOT_STORED)]
    acknowledged = ops.outcome.mask("ok")[rows]
    end = np.where(acknowledged, ops.complete_event[rows], -1)
    return Sends(key[ops.message[rows]], ops.message[rows], ops.invoke_event[rows], end)


def _disorders(history: History, sends: Sends, given: Given) -> Iterator[Anomaly]:
    listened = given.listened(history)
    pairs = disorders(sends, listened)
    if not pairs:
        return
    size = 1 + max(int(sends.value.max(initial=-1)), int(listened.value.max(initial=-1)))
    row = given.row[np.maximum(first_deliveries(listened, size), 0)]
    queue = history.ops.queue[row]
    for kind, moved in (("disorder", False), ("moved-disorder", True)):
        chosen = [
            pair for pair in pairs if (queue[sends.value[pair.first]] != queue[sends.value[pair.second]]) == moved
        ]
        if chosen:
            yield _disorder(history, sends, given, row, kind, chosen)


def _disorder(history: History, sends: Sends, given: Given, row: Ints, kind: str, pairs: list[Pair]) -> Anomaly:
    keys = sorted({history.messages.sharding_key.values[int(sends.key[pair.second])] for pair in pairs})
    first = pairs[0]
    earlier, later = (int(row[sends.value[number]]) for number in (first.first, first.second))
    ops = history.ops
    sentence = (
        f"Group {given.group} got {len(pairs)} messages of {len(keys)} keys before one that had been acknowledged "
        f"before they were sent; the first: m{int(sends.value[first.second])} was given at "
        f"{history.clock(int(ops.invoke_ns[later]))} ({history.queues.name(int(ops.queue[later]))}), "
        f"m{int(sends.value[first.first])} at {history.clock(int(ops.invoke_ns[earlier]))} "
        f"({history.queues.name(int(ops.queue[earlier]))})."
    )
    proof = (int(ops.op[earlier]), int(ops.op[later]))
    details = {"group": given.group, "count": len(pairs), "keys": keys[:_NAMED]}
    return Anomaly(kind, sentence, proof, details, allowed=kind == "moved-disorder")


def _overlaps(history: History, facts: RunFacts, given: Given) -> Iterator[Anomaly]:
    ops = history.ops
    pairs = overlaps(given.listened(history))
    for is_explained in (False, True):
        chosen = [pair for pair in pairs if bool(_cause(history, facts, given, pair)) == is_explained]
        if not chosen:
            continue
        first, second = int(given.row[chosen[0].first]), int(given.row[chosen[0].second])
        cause = _cause(history, facts, given, chosen[0])
        yield Anomaly(
            "overlap",
            f"Two listeners of group {given.group} were at work in {history.queues.name(int(ops.queue[second]))} at "
            f"once, {len(chosen)} times; the first: {ops.node[first]} since "
            f"{history.clock(int(ops.invoke_ns[first]))}, "
            f"{ops.node[second]} since {history.clock(int(ops.invoke_ns[second]))}"
            + (f", after {cause}." if cause else "."),
            (int(ops.op[first]), int(ops.op[second])),
            {"group": given.group, "count": len(chosen)},
            allowed=is_explained,
        )


def _cause(history: History, facts: RunFacts, given: Given, pair: Pair) -> str:
    """A fault before the second listener that makes a broker forget a lock, or a member outlive it."""
    ops = history.ops
    first, second = int(given.row[pair.first]), int(given.row[pair.second])
    broker = history.queues.broker_of(int(ops.queue[second]))
    for fault in facts.faults:
        hit = {*fault.left, *fault.right}
        touches = ops.node[first] in hit or facts.cluster.hits(fault, broker)
        holds_up = any(fault.does(effect) for effect in _HOLDS_UP)
        if touches and holds_up and fault.effective != 0 and fault.begin_ns <= int(ops.invoke_ns[second]):
            return fault.words()
    return ""


def _measures(history: History, ledger: Ledger, sends: Sends, anomalies: list[Anomaly]) -> dict[str, object]:
    """Keys: how many, how many used more than one queue, and the longest silence of one."""
    moved, stall_ns = 0, 0
    for key in np.unique(sends.key).tolist():
        rows = np.flatnonzero((sends.key == key) & (sends.end >= 0))
        queues = ledger.queue[sends.value[rows]]
        moved += len(np.unique(queues[queues >= 0])) > 1
        stall_ns = max(stall_ns, _longest_silence(history, sends.value[rows], ledger))
    return {
        "keys": len(np.unique(sends.key)),
        "messages": len(sends.value),
        "keys_moved": moved,
        "longest_stall_ms": stall_ns // 1_000_000,
        **{kind: _count(anomalies, kind) for kind in ("disorder", "moved-disorder", "overlap")},
    }


def _longest_silence(history: History, values: Ints, ledger: Ledger) -> int:
    ns = np.sort(history.ops.complete_ns[ledger.row[values]])
    return int(np.diff(ns).max(initial=0))


def _count(anomalies: list[Anomaly], kind: str) -> int:
    return sum(int(anomaly.details["count"]) for anomaly in anomalies if anomaly.kind == kind)
