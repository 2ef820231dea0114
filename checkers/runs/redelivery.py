"""The check ``redelivery``: how far back does a group go when a member or a broker dies?

Question: a message came to a group again from the place at which it had come before. How long before?

Model. Offsets are told every five seconds: what was done longer ago than that must not come again. Two deliveries of
one message from one place (queue and offset), the later one not counted as a retry: what lies between the end of the
first and the beginning of the second is its *age*; of that only calm counts (:mod:`checkers.runs.calm`). A member
tells its offsets every 5 s and when it lets a queue go, its broker writes them every 5 s, and a change of owners takes
up to 30 s: older than :data:`WITHIN_NS` is

    redelivered-late    FAIL; allowed after a fault that takes data, which may take all offsets

A message that could not be given back to its broker holds its queue's offset where it is: that takes a fault.

Limits. Bounded in time, not in messages: how many that is, is measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from checkers.history.columns import Ints
from checkers.history.facts import RunFacts
from checkers.history.history import History, seconds
from checkers.history.listeners import Given, given_by_group, is_retry
from checkers.runs.calm import calm_ns
from checkers.runs.excuses import excuses
from checkers.verdict import Anomaly, Outcome, Verdict

WITHIN_NS: Final = 45_000_000_000
_NAMED: Final = 10


def check_redelivery(history: History, facts: RunFacts) -> Verdict:
    """FAIL for what came again although its offset must have been written long before."""
    anomalies: list[Anomaly] = []
    again = oldest_ns = 0
    for given in given_by_group(history):
        pairs = list(_again(history, given))
        ages = [_age_ns(history, *pair) for pair in pairs]
        again, oldest_ns = again + len(pairs), max([oldest_ns, *ages])
        late = [pair for pair, age in zip(pairs, ages, strict=True) if age > WITHIN_NS and _calm(history, facts, *pair)]
        anomalies += _late(history, facts, given.group, late)
    failed = any(not anomaly.allowed for anomaly in anomalies)
    measures = {"again_from_the_same_place": again, "oldest_ms": oldest_ns // 1_000_000}
    return Verdict("redelivery", Outcome.FAIL if failed else Outcome.PASS, tuple(anomalies), measures)


def _again(history: History, given: Given) -> Iterator[tuple[int, int]]:
    """Rows of two deliveries in a row of one message from one place."""
    ops, times = history.ops, given.times(history)
    order = np.lexsort((np.arange(len(given.row)), ops.offset[given.row], ops.queue[given.row], given.message))
    for before, now in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
        earlier, later = int(given.row[before]), int(given.row[now])
        is_same = given.message[before] == given.message[now] >= 0 and times[before] == times[now]
        same_place = (ops.queue[earlier], ops.offset[earlier]) == (ops.queue[later], ops.offset[later])
        if is_same and same_place and not is_retry(history, int(ops.queue[later])):
            yield earlier, later


def _age_ns(history: History, earlier: int, later: int) -> int:
    ops = history.ops
    done_ns = int(ops.complete_ns[earlier])
    return int(ops.invoke_ns[later]) - done_ns if done_ns >= 0 else 0


def _calm(history: History, facts: RunFacts, earlier: int, later: int) -> bool:
    ops = history.ops
    begin, end = int(ops.complete_ns[earlier]), int(ops.invoke_ns[later])
    return calm_ns(facts, begin, end) > WITHIN_NS + facts.slack_ns()


def _late(history: History, facts: RunFacts, group: str, pairs: list[tuple[int, int]]) -> Iterator[Anomaly]:
    if not pairs:
        return
    ops: Ints = history.ops.op
    earlier, later = pairs[0]
    proof = tuple(int(ops[row]) for pair in pairs[:_NAMED] for row in pair)
    taken = bool(excuses(facts, "redelivered-late"))
    sentence = (
        f"Group {group} was given {len(pairs)} messages again that it had been given long before; the first at "
        f"{history.clock(int(history.ops.invoke_ns[later]))}, {seconds(_age_ns(history, earlier, later))} after. "
        f"Proof: {history.op_text(int(ops[earlier]))}; {history.op_text(int(ops[later]))}."
    )
    yield Anomaly("redelivered-late", sentence, proof, {"group": group, "count": len(pairs)}, allowed=taken)
