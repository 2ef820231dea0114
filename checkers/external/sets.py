"""Sets of anyone's history: adds and whole reads, into the columns of :mod:`checkers.objects.sets`.

Question: does every read show exactly what had been added by then?

Forms, by key: ``add v``; ``read`` → all values, as a list or a set.

Beside the verdict, Jepsen's set-full accounts: lost, stale, never read.

Limits. Nothing is removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from checkers.external.calls import Call, by_key, malformed, proof
from checkers.external.values import frozen, shown
from checkers.history.columns import NEVER, Ints
from checkers.logs.columns import ACKED, FAILED, UNKNOWN
from checkers.objects.kinds import clause
from checkers.objects.result import Violation
from checkers.objects.sets import SetInput, check_set, fates
from checkers.verdict import Anomaly, Outcome, Verdict

_OUTCOMES = {"ok": ACKED, "info": UNKNOWN, "fail": FAILED}


def judge_set(calls: Sequence[Call], place: str, refusals: bool) -> Verdict:
    """Sets by key; *refusals* do not matter."""
    anomalies: list[Anomaly] = []
    measures = {"operations": len(calls), "objects": 0, "lost": 0, "stale": 0, "never_read": 0}
    for part in by_key(calls).values():
        columns, names = _columns(part, place)
        fate = fates(columns)
        acked = columns.a_value[columns.a_outcome == ACKED]
        measures["objects"] += 1
        measures["lost"] += len(fate.lost)
        measures["stale"] += len(fate.stale)
        measures["never_read"] += len(np.setdiff1d(acked, columns.shown))
        anomalies += [_anomaly(calls, violation, names) for violation in check_set(columns).violations]
    if not anomalies and not any(call.f == "read" and call.type == "ok" for call in calls):
        reason = "nothing was read: nothing to compare the acknowledgements with"
        return Verdict("set", Outcome.UNKNOWN, measures=measures, reasons=(reason,))
    return Verdict("set", Outcome.FAIL if anomalies else Outcome.PASS, tuple(anomalies), measures)


def _columns(part: list[Call], place: str) -> tuple[SetInput, dict[int, Any]]:
    numbers: dict[Any, int] = {}
    adds: list[tuple[int, ...]] = []
    reads: list[tuple[int, ...]] = []
    shown: list[int] = []
    for call in part:
        ret = int(NEVER) if call.ret is None else call.ret
        if call.f == "add":
            value = numbers.setdefault(frozen(call.asked), len(numbers))
            adds.append((value, call.call, ret, _OUTCOMES[call.type], call.line))
        elif call.f != "read":
            raise malformed(place, call, "a set knows add and read")
        elif call.type == "ok":
            values = _values(call, place)
            shown += [numbers.setdefault(value, len(numbers)) for value in values]
            reads.append((call.call, ret, len(values), call.line))
    columns = (*_transposed(adds, 5), *_transposed(reads, 4), np.array(shown, dtype=np.int64))
    return SetInput(*columns), {number: value for value, number in numbers.items()}


def _values(call: Call, place: str) -> list[Any]:
    if not isinstance(call.answered, list | frozenset):
        raise malformed(place, call, "a read of a set answers a list")
    values = call.answered if isinstance(call.answered, list) else sorted(call.answered, key=repr)
    return [frozen(value) for value in values]


def _transposed(rows: list[tuple[int, ...]], width: int) -> list[Ints]:
    return [np.array([row[column] for row in rows], dtype=np.int64) for column in range(width)]


def _anomaly(calls: Sequence[Call], violation: Violation, names: dict[int, Any]) -> Anomaly:
    more = f" ({violation.count} such cases)" if violation.count > 1 else ""
    meaning = clause("set", violation, lambda value: shown(names[value]))
    sentence = f"{violation.kind}: {meaning}{more}. Proof: {proof(calls, violation.ops)}"
    return Anomaly(violation.kind, sentence, violation.ops, {"values": [shown(names[v]) for v in violation.values]})
