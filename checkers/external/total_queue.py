"""Total-queues of anyone's history: what was put in must come out, in any order, until the queue has been drained.

Question: by counting alone, was anything lost, invented or handed out too often?

Model. Values may repeat; what counts is how often each was tried to be put in, acknowledged, and taken out:

    lost          acknowledged more often than taken out: more than unanswered dequeues may have taken
    unexpected    taken out, and nobody tried to put it in
    duplicated    taken out more often than anybody tried to put it in
    recovered     put in without an answer, and taken out (a number, no fault)

Jepsen's total-queue, with two corrections: what an unanswered dequeue may have taken is possibly lost only (UNKNOWN),
and a value that comes out too often is a fault.

Limits. The history must end with a drain: what is still in the queue counts as lost. Times do not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from checkers.external.calls import Call, by_key, proof
from checkers.external.queue import columns_of, rows_of
from checkers.external.values import frozen, shown
from checkers.objects.queue import total_queue
from checkers.verdict import Anomaly, Outcome, Verdict

POSSIBLY_LOST = "values never came out, but unanswered dequeues may have taken as many"

_MEANS = {
    "lost": "was acknowledged and never came out",
    "unexpected": "came out although nobody tried to put it in",
    "duplicated": "came out more often than it was put in",
}


def judge_total_queue(calls: Sequence[Call], place: str, refusals: bool) -> Verdict:
    """Total-queues by key; *refusals* do not matter."""
    anomalies: list[Anomaly] = []
    measures: dict[str, Any] = {"operations": len(calls)}
    for part in by_key(calls).values():
        rows = rows_of(part, place)
        totals = total_queue(columns_of(rows)[0])
        measures |= {name: measures.get(name, 0) + getattr(totals, name) for name in totals.__slots__}
        faults = _faults(rows)
        if not totals.lost_for_certain:
            del faults["lost"]
        anomalies += [_anomaly(part, kind, values) for kind, values in faults.items() if values]
    if anomalies:
        return Verdict("total-queue", Outcome.FAIL, tuple(anomalies), measures)
    if measures.get("lost"):
        reason = f"{measures['lost']} {POSSIBLY_LOST}"
        return Verdict("total-queue", Outcome.UNKNOWN, (), measures, (reason,))
    return Verdict("total-queue", Outcome.PASS, (), measures)


def _faults(rows: Sequence[tuple[str, Any, int, int | None, str, int]]) -> dict[str, Counter[Any]]:
    """How often each value is lost, unexpected, duplicated."""
    tried = Counter(value for kind, value, *_, type_, _ in rows if kind == "enqueue" and type_ != "fail")
    acked = Counter(value for kind, value, *_, type_, _ in rows if kind == "enqueue" and type_ == "ok")
    out = Counter(value for kind, value, *_ in rows if kind == "dequeue")
    surplus = out - tried
    return {
        "lost": acked - out,
        "unexpected": Counter({value: times for value, times in surplus.items() if value not in tried}),
        "duplicated": Counter({value: times for value, times in surplus.items() if value in tried}),
    }


def _anomaly(calls: Sequence[Call], kind: str, values: Counter[Any]) -> Anomaly:
    """The first of *values*, with the operations that named it."""
    value = next(iter(values))
    named = [call.line for call in calls if value in _on(call) and call.type != "fail"]
    others = f" ({len(values)} such values)" if len(values) > 1 else ""
    sentence = f"{kind}: {shown(value)} {_MEANS[kind]}{others}. Proof: {proof(calls, named)}"
    details = {"values": [shown(value) for value in list(values)[:20]], "count": values.total()}
    return Anomaly(kind, sentence, tuple(named), details)


def _on(call: Call) -> tuple[Any, ...]:
    """The values that a call put in or took out."""
    answered = frozen(call.answered)
    return frozen(call.asked), answered, *(answered if call.f == "drain" and isinstance(answered, tuple) else ())
