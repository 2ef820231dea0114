"""The check ``delays``: is a delayed message never given early, and how late is it?

Question: a message was sent to be delivered at a time (``due_ns``). When did each group's listeners get it?

Model. ``due_ns`` is the time of the send's begin plus its delay: the broker counts from when it stores the message, so
that is the earliest lawful time. A delivery begins at the latest when it was recorded: what was recorded before it was
due, by more than :data:`ROUNDING_NS`, was early whatever the clocks say. Lateness is told by quantiles, and not judged:
RocketMQ guarantees none. A message that was acknowledged and never given is a FAIL (*never-given*), but for runs in
which a fault took data.

Limits. Only the first delivery of a message counts. RocketMQ keeps whole milliseconds, and 4.9 looks for due messages
every 100 ms at best.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checkers.history.columns import Ints
from checkers.history.facts import RunFacts
from checkers.history.history import History, seconds
from checkers.history.listeners import given_by_group
from checkers.logs.listening import first_deliveries
from checkers.verdict import Anomaly, Outcome, Verdict

ROUNDING_NS = 2_000_000
QUANTILES = (50, 90, 99, 100)
_NAMED = 10


def has_delays(history: History, facts: RunFacts) -> bool:
    """Whether listeners were given anything in a run with delayed messages."""
    return "deliver" in history.ops.f.values and bool((history.messages.due_ns >= 0).any())


def check_delays(history: History, facts: RunFacts) -> Verdict:
    """FAIL for what was given early."""
    ops, messages = history.ops, history.messages
    delayed = messages.message[messages.due_ns >= 0]
    due = messages.due_ns[messages.due_ns >= 0]
    anomalies: list[Anomaly] = []
    late = []
    for given in given_by_group(history):
        listened = given.listened(history)
        size = 1 + max(int(delayed.max(initial=-1)), int(listened.value.max(initial=-1)))
        first = first_deliveries(listened, size)[delayed]
        there = first >= 0
        row = given.row[first[there]]
        anomalies += _never_given(history, facts, given.group, delayed[~there])
        after_ns = ops.invoke_ns[row] - due[there]
        late.append(after_ns)
        early = np.flatnonzero(after_ns < -ROUNDING_NS)
        if len(early):
            named = "; ".join(
                f"m{int(delayed[there][index])} {seconds(-int(after_ns[index]))} early"
                for index in early[:_NAMED].tolist()
            )
            proof = tuple(int(ops.op[row[index]]) for index in early[:_NAMED].tolist())
            sentence = f"Group {given.group} was given {len(early)} delayed messages too early: {named}."
            anomalies.append(Anomaly("early", sentence, proof, {"group": given.group, "count": len(early)}))
    after = np.concatenate(late) if late else np.zeros(0, dtype=np.int64)
    measures = {"delayed": len(delayed), "delivered": len(after)}
    if len(after):
        measures |= {f"late_p{q}_ms": int(np.percentile(after, q, method="higher")) // 1_000_000 for q in QUANTILES}
    reasons = () if len(after) else ("no delayed message was given to anybody",)
    failed = any(not anomaly.allowed for anomaly in anomalies)
    outcome = Outcome.FAIL if failed else Outcome.UNKNOWN if reasons else Outcome.PASS
    return Verdict("delays", outcome, tuple(anomalies), measures, reasons)


def _never_given(history: History, facts: RunFacts, group: str, messages: Ints) -> Iterator[Anomaly]:
    """Those of *messages* whose sends were acknowledged."""
    ops = history.ops
    rows = np.flatnonzero(ops.f.mask("produce") & ops.outcome.mask("ok") & np.isin(ops.message, messages))
    if not len(rows):
        return
    taken = [fault for fault in facts.faults if fault.takes() and fault.effective != 0]
    named = ", ".join(f"m{int(ops.message[row])}" for row in rows[:_NAMED].tolist())
    yield Anomaly(
        "never-given",
        f"Group {group} was never given {len(rows)} delayed messages that were acknowledged: {named}"
        + (f"; {taken[0].words()} took data." if taken else "."),
        tuple(int(ops.op[row]) for row in rows[:_NAMED].tolist()),
        {"group": group, "count": len(rows)},
        allowed=bool(taken),
    )
