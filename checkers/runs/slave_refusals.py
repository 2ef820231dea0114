"""The check ``slaves``: does a slave refuse what only a master may take?

Question: messages were sent to slaves. Did any of them take one?

Model. Each such send is an operation ``stray_send`` whose node is the slave. RocketMQ refuses it (4.9:
SERVICE_NOT_AVAILABLE, and TOPIC_NOT_EXIST while the slave has not heard of the topic; 5.3: SYSTEM_BUSY). One that was
answered as stored, or whose message was read anywhere, is a failure:

    slave-stored      a slave said that it had stored a message
    stray-visible     a message that was sent to a slave only was read

Limits. One that nobody answered proves nothing by itself.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.verdict import Anomaly, Outcome, Verdict


def check_slaves(history: History, _facts: RunFacts) -> Verdict:
    """Judge every message that was sent to a slave."""
    ops, reads = history.ops, history.reads
    rows = np.flatnonzero(ops.f.mask("stray_send"))
    stored = rows[ops.outcome.mask("ok", "weak")[rows]]
    seen = np.flatnonzero(np.isin(reads.message, ops.message[rows]) & (reads.message >= 0))
    anomalies = []
    if len(stored):
        op = int(ops.op[stored[0]])
        sentence = f"{ops.node[stored[0]]}, a slave, took {len(stored)} messages, the first: {history.op_text(op)}."
        anomalies.append(Anomaly("slave-stored", sentence, (op,), {"count": len(stored)}))
    if len(seen):
        message, reader = int(reads.message[seen[0]]), int(reads.op[seen[0]])
        send = int(ops.op[rows[ops.message[rows] == message][0]])
        sentence = (
            f"m{message} was sent to a slave only ({history.op_text(send)}), and was read by {history.op_text(reader)}."
        )
        anomalies.append(Anomaly("stray-visible", sentence, (send, reader), {"count": len(seen)}))
    refused = rows[ops.outcome.mask("fail")[rows]]
    reasons = () if len(refused) or anomalies else ("no slave answered a message that was sent to it",)
    outcome = Outcome.FAIL if anomalies else Outcome.UNKNOWN if reasons else Outcome.PASS
    answers = Counter(ops.status[row] for row in rows.tolist())
    measures = {"sent": len(rows), "refused": len(refused), "answers": dict(sorted(answers.items()))}
    return Verdict("slaves", outcome, tuple(anomalies), measures, reasons)
