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
                     for so long loses it, and does not know it). What explains an overlap explains a disorder that is
                     nothing more: the earlier message was given first and still being worked on
    passed-over      an orderly member was given a later message of a queue although it had refused an earlier one,
                     which nobody had handled since and which was to come again: FAIL; allowed after a fault that takes
                     data, which may take the message itself

A listener of a member that died was at work until then. A key *stalled* while its sends failed: the longest time
between two acknowledgements.

Limits. Keys are judged that have messages of kind ``ordered``. Redelivery in order is no disorder. Of the messages that
should have come before one, the one that was worked on longest stands for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from checkers.history.columns import Ints
from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.history.ledger import FAIL as NOT_STORED
from checkers.history.ledger import Ledger, ledger_of
from checkers.history.listeners import CONSUMED, LATER, Given, given_by_group, orderly_limit
from checkers.logs.listening import Listened, Pair, Sends, disorders, first_deliveries, overlaps
from checkers.runs.excuses import excuses
from checkers.verdict import Anomaly, Outcome, Verdict

_NAMED = 10
SETTLES_NS = 90_000_000_000
"""A lock lasts 60 s and a rebalance comes every 20 s: an overlap longer after the end of a fault has another cause."""
_HOLDS_UP = ("ends", "freezes", "starves", "separates", "resets")


def has_keys(history: History, facts: RunFacts) -> bool:
    """Whether listeners were given messages that had to come in order."""
    return "deliver" in history.ops.f.values and "ordered" in history.messages.kind.values


def check_order(history: History, facts: RunFacts) -> Verdict:
    """FAIL for a disorder in one queue and for an overlap that no fault explains."""
    ledger = ledger_of(history)
    sends = _sends(history, ledger)
    anomalies: list[Anomaly] = []
    for given in given_by_group(history):
        listened = _listened(history, facts, given)
        anomalies += _disorders(history, facts, sends, given, listened)
        anomalies += _overlaps(history, facts, given, listened)
        anomalies += _passed_over(history, facts, given)
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


def _listened(history: History, facts: RunFacts, given: Given) -> Listened:
    """For the theorems; who died in the middle of a message was at work until then."""
    ops, listened = history.ops, given.listened(history)
    end = listened.end.copy()
    for place in np.flatnonzero(end < 0).tolist():
        row = int(given.row[place])
        deaths = [ns for ns, _ in facts.conditions.down(ops.node[row]) if ns >= ops.invoke_ns[row]]
        events = history.events.event[history.events.ns >= min(deaths)] if deaths else history.events.event[:0]
        end[place] = max(int(events.min()), int(listened.begin[place])) if len(events) else -1
    return replace(listened, end=end)


def _disorders(history: History, facts: RunFacts, sends: Sends, given: Given, listened: Listened) -> Iterator[Anomaly]:
    pairs = disorders(sends, listened)
    if not pairs:
        return
    size = 1 + max(int(sends.value.max(initial=-1)), int(listened.value.max(initial=-1)))
    place = np.maximum(first_deliveries(listened, size), 0)
    row = given.row[place]
    queue = history.ops.queue[row]

    def sort_of(pair: Pair) -> tuple[str, bool]:
        first, second = int(place[sends.value[pair.first]]), int(place[sends.value[pair.second]])
        if queue[sends.value[pair.first]] != queue[sends.value[pair.second]]:
            return "moved-disorder", True
        is_overlap = listened.begin[first] < listened.begin[second]
        return "disorder", is_overlap and bool(_cause(history, facts, given, Pair(first, second)))

    sorts = [sort_of(pair) for pair in pairs]
    for sort in sorted(set(sorts)):
        chosen = [pair for pair, own in zip(pairs, sorts, strict=True) if own == sort]
        yield _disorder(history, sends, given, row, sort, chosen)


def _disorder(
    history: History, sends: Sends, given: Given, row: Ints, sort: tuple[str, bool], pairs: list[Pair]
) -> Anomaly:
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
    kind, is_allowed = sort
    return Anomaly(kind, sentence, proof, details, is_allowed)


def _passed_over(history: History, facts: RunFacts, given: Given) -> Iterator[Anomaly]:
    """Messages that were given although the same member had refused an earlier one that was still to come again."""
    limit = orderly_limit(history, given.group)
    found = [] if limit is None else list(_given_past(history, given, limit))
    if not found:
        return
    ops = history.ops
    before, row = found[0]
    sentence = (
        f"Group {given.group} was given {len(found)} messages past one that it had refused and that was to come again "
        f"before; the first: {history.op_text(int(ops.op[before]))}; {history.op_text(int(ops.op[row]))}."
    )
    proof = tuple(int(ops.op[row]) for pair in found[:_NAMED] for row in pair)
    details = {"group": given.group, "count": len(found)}
    yield Anomaly("passed-over", sentence, proof, details, allowed=bool(excuses(facts, "passed-over")))


def _given_past(history: History, given: Given, limit: int) -> Iterator[tuple[int, int]]:
    """Rows of a refusal that was to be followed by the same message, and of a later message that came instead."""
    ops, times = history.ops, given.times(history).tolist()
    refused: dict[tuple[int, str], int] = {}
    done: set[tuple[int, int]] = set()
    for place, row in enumerate(given.row.tolist()):
        queue, member, offset = int(ops.queue[row]), ops.node[row], int(ops.offset[row])
        before = refused.get((queue, member), -1)
        if before >= 0 and ops.offset[before] < offset and (queue, int(ops.offset[before])) not in done:
            yield before, row
        if ops.status[row] == CONSUMED:
            done.add((queue, offset))
        elif ops.status[row] == LATER and times[place] < limit:
            refused[queue, member] = row
        elif before >= 0 and ops.offset[before] == offset:
            del refused[queue, member]


def _overlaps(history: History, facts: RunFacts, given: Given, listened: Listened) -> Iterator[Anomaly]:
    ops = history.ops
    pairs = overlaps(listened)
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
    """The last fault before the second listener, and not long before it, that makes a broker forget a lock, or a member
    outlive it."""
    ops = history.ops
    first, second = int(given.row[pair.first]), int(given.row[pair.second])
    broker = history.queues.broker_of(int(ops.queue[second]))
    ns = int(ops.invoke_ns[second])
    for fault in reversed(facts.faults):
        hit = {*fault.left, *fault.right}
        touches = ops.node[first] in hit or facts.cluster.hits(fault, broker)
        holds_up = any(fault.does(effect) for effect in _HOLDS_UP)
        in_time = fault.begin_ns <= ns <= fault.lasts[1] + SETTLES_NS
        if touches and holds_up and in_time and fault.may_have_acted:
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
        **{kind: _count(anomalies, kind) for kind in ("disorder", "moved-disorder", "overlap", "passed-over")},
    }


def _longest_silence(history: History, values: Ints, ledger: Ledger) -> int:
    ns = np.sort(history.ops.complete_ns[ledger.row[values]])
    return int(np.diff(ns).max(initial=0))


def _count(anomalies: list[Anomaly], kind: str) -> int:
    return sum(int(anomaly.details["count"]) for anomaly in anomalies if anomaly.kind == kind)
