"""The check ``transactions``: are committed messages visible, once, and rolled back ones never, and who is asked?

Question: a producer stores a half, runs its local transaction and says how it ended, or leaves the broker to ask. Did
every message whose transaction committed reach the group, and no other? Once? Does the asking come to an end?

Model. The operations of a transaction are

    decide            the local transaction ended, durably: COMMIT or ROLLBACK; a message without one never committed
    end_transaction   what the producer told the broker, one-way: COMMIT, ROLLBACK or UNKNOWN (in ``detail``)
    check             the broker asked, and this was the answer

and what listeners were given shows who is visible:

    rolled-back-shown    a message that was rolled back, or never decided, was given to somebody
    committed-lost       one that committed was never given, and the broker had the time to ask twice since
    shown-twice          one was given from two places of the log. A producer that tried its half again stored two, and
                         both commit (*half-twice*); a broker that ended between message and mark, or lost its mark,
                         asks again (*replayed*): allowed, and counted
    asked-too-often      more questions about one message than ``transactionCheckMax`` for each half it may have

After a fault that takes data the second one is allowed as well. RocketMQ guarantees at least once, not exactly once, as
soon as a producer tries again or a broker dies: exactly once is what holds where neither happens.

Limits. A broker that lost its master before the end was told cannot be asked about its halves by others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from checkers.history.columns import Ints
from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.history.listeners import Given, given_by_group, is_retry
from checkers.runs.excuses import excuses
from checkers.runs.owners import end_of_run
from checkers.verdict import Anomaly, Outcome, Verdict

S: Final = 1_000_000_000
CHECK_MAX: Final = 15
INTERVAL_S: Final = 60
TIME_OUT_S: Final = 6
"""RocketMQ's defaults of ``transactionCheckMax``, ``transactionCheckInterval`` and ``transactionTimeOut``."""
DELIVERED_NS: Final = 30 * S
_NAMED: Final = 10


@dataclass(frozen=True)
class Transactions:
    """Rows of ops by message; −1: none."""

    messages: Ints
    """Every message of a transaction."""
    committed: dict[int, int]
    """Message → row of its decision."""
    halves: Counter[int]
    """How many halves of it may be stored."""
    asked: Counter[int]


def has_transactions(history: History, facts: RunFacts) -> bool:
    """Whether anybody sent a half."""
    return "send_half" in history.ops.f.values


def check_transactions(history: History, facts: RunFacts) -> Verdict:
    """FAIL for what is visible and must not be, is not and must be, or is twice without a reason."""
    transactions = _transactions(history)
    anomalies: list[Anomaly] = list(_asked_too_often(history, facts, transactions))
    causes: Counter[str] = Counter()
    shown = 0
    for given in given_by_group(history):
        own = np.isin(given.message, transactions.messages)
        shown += len(np.unique(given.message[own]))
        anomalies += _never_committed(history, given, transactions, own)
        anomalies += _lost(history, facts, given, transactions)
        anomalies += _twice(history, facts, given, transactions, own, causes)
    reasons = () if transactions.committed else ("no transaction was committed",)
    measures = {
        "transactions": len(transactions.messages),
        "committed": len(transactions.committed),
        "shown": shown,
        "asked": sum(transactions.asked.values()),
        "shown_twice_by_cause": dict(sorted(causes.items())),
    }
    failed = any(not anomaly.allowed for anomaly in anomalies)
    outcome = Outcome.FAIL if failed else Outcome.UNKNOWN if reasons else Outcome.PASS
    return Verdict("transactions", outcome, tuple(anomalies), measures, reasons)


def _transactions(history: History) -> Transactions:
    ops = history.ops
    sent = np.flatnonzero(ops.f.mask("send_half") & (ops.message >= 0))
    decided = np.flatnonzero(ops.f.mask("decide") & ops.status.mask("COMMIT"))
    may_be = sent[~ops.outcome.mask("fail")[sent]]
    return Transactions(
        messages=np.unique(ops.message[sent]),
        committed={int(ops.message[row]): row for row in decided.tolist()},
        halves=Counter(ops.message[may_be].tolist()),
        asked=Counter(ops.message[ops.f.mask("check")].tolist()),
    )


def _never_committed(
    history: History, given: Given, transactions: Transactions, own: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> Iterator[Anomaly]:
    rows = [
        int(given.row[place])
        for place in np.flatnonzero(own).tolist()
        if not (row := transactions.committed.get(int(given.message[place]), -1)) >= 0
        or history.ops.complete_ns[given.row[place]] < history.ops.invoke_ns[row]
    ]
    if rows:
        first = history.op_text(int(history.ops.op[rows[0]]))
        sentence = f"Group {given.group} was given {len(rows)} messages whose transactions did not commit: {first}."
        proof = tuple(int(history.ops.op[row]) for row in rows[:_NAMED])
        yield Anomaly("rolled-back-shown", sentence, proof, {"group": given.group, "count": len(rows)})


def _lost(history: History, facts: RunFacts, given: Given, transactions: Transactions) -> Iterator[Anomaly]:
    """Committed and never given, although the broker must have asked twice by the end."""
    patience_ns = _patience_ns(facts)
    end_ns = end_of_run(history)
    got = frozenset(given.message.tolist())
    last_fault_ns = max((fault.lasts[1] for fault in facts.faults if fault.may_have_acted), default=0)
    lost = [
        row
        for message, row in sorted(transactions.committed.items())
        if message not in got and end_ns - max(int(history.ops.complete_ns[row]), last_fault_ns) > patience_ns
    ]
    if lost:
        taken = bool(excuses(facts, "committed-lost"))
        named = ", ".join(f"m{int(history.ops.message[row])}" for row in lost[:_NAMED])
        sentence = f"Group {given.group} was never given {len(lost)} messages whose transactions committed: {named}."
        proof = tuple(int(history.ops.op[row]) for row in lost[:_NAMED])
        yield Anomaly("committed-lost", sentence, proof, {"group": given.group, "count": len(lost)}, allowed=taken)


def _patience_ns(facts: RunFacts) -> int:
    """Two rounds of questions, and what a group may take to be given the message."""
    interval_s = max((_milliseconds(facts, "transactionCheckInterval", INTERVAL_S)), default=INTERVAL_S)
    time_out_s = max((_milliseconds(facts, "transactionTimeOut", TIME_OUT_S)), default=TIME_OUT_S)
    return (2 * interval_s + time_out_s) * S + DELIVERED_NS


def _milliseconds(facts: RunFacts, name: str, default_s: int) -> Iterator[int]:
    for broker in facts.cluster.brokers:
        text = facts.properties(broker).get(name, "")
        yield int(text) // 1000 + 1 if text else default_s


def _twice(
    history: History,
    facts: RunFacts,
    given: Given,
    transactions: Transactions,
    own: np.ndarray[tuple[int], np.dtype[np.bool_]],
    causes: Counter[str],
) -> Iterator[Anomaly]:
    ops = history.ops
    places: dict[int, dict[tuple[int, int], int]] = {}
    for place in np.flatnonzero(own).tolist():
        row = int(given.row[place])
        if not is_retry(history, int(ops.queue[row])):
            where = (int(ops.queue[row]), int(ops.offset[row]))
            places.setdefault(int(given.message[place]), {}).setdefault(where, row)
    for message, shown in sorted(places.items()):
        if len(shown) < 2:
            continue
        cause = (
            "half-twice"
            if transactions.halves[message] >= len(shown)
            else "replayed"
            if excuses(facts, "shown-twice")
            else "unexplained"
        )
        causes[cause] += 1
        if cause == "unexplained":
            first, second = sorted(shown.values())[:2]
            sentence = (
                f"Group {given.group} was given m{message} from {len(shown)} places, though its half was stored once "
                f"and no broker was hit. Proof: {history.op_text(int(ops.op[first]))}; "
                f"{history.op_text(int(ops.op[second]))}."
            )
            yield Anomaly("shown-twice", sentence, (int(ops.op[first]), int(ops.op[second])), {"group": given.group})


def _asked_too_often(history: History, facts: RunFacts, transactions: Transactions) -> Iterator[Anomaly]:
    lives = 1 + sum(fault.does("ends") or bool(fault.takes()) for fault in facts.faults)
    often = [
        m
        for m, asked in sorted(transactions.asked.items())
        if asked > CHECK_MAX * max(1, transactions.halves[m]) * lives
    ]
    if often:
        ops = history.ops
        row = int(np.flatnonzero(ops.f.mask("check") & (ops.message == often[0]))[-1])
        sentence = (
            f"Brokers asked about {len(often)} transactions more than {CHECK_MAX} times a half; about m{often[0]} "
            f"{transactions.asked[often[0]]} times, last: {history.op_text(int(ops.op[row]))}."
        )
        yield Anomaly("asked-too-often", sentence, (int(ops.op[row]),), {"count": len(often)})
