"""The check ``promised``: was everything that was taken also promised?

Question: a scenario expects that sends end with SEND_OK whatever happens (``expect: {sends: ok}``). Did any end with a
status that says "stored, but not as promised" (FLUSH_DISK_TIMEOUT, FLUSH_SLAVE_TIMEOUT, SLAVE_NOT_AVAILABLE)?

Limits. Only the load counts, not what an operator sent to see the cluster get ready. Sends that were refused or got no
answer are for the other checks. Runs that expect nothing are not judged.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.verdict import Anomaly, Outcome, Verdict


def check_promised(history: History, facts: RunFacts) -> Verdict:
    """FAIL with the first send of each such status; UNKNOWN if no send was promised at all."""
    ops = history.ops
    begin_ns = history.events.load_ns
    sends = ops.f.mask("send") & (ops.invoke_ns >= begin_ns)
    weak = np.flatnonzero(sends & ops.outcome.mask("weak")).tolist()
    statuses = Counter(ops.status[row] for row in weak)
    first = {ops.status[row]: row for row in reversed(weak)}
    anomalies = tuple(
        Anomaly(
            "not-promised",
            f"{count} sends ended with {status}, the first at {history.clock(int(ops.complete_ns[first[status]]))}: "
            f"{history.op_text(int(ops.op[first[status]]))}.",
            (int(ops.op[first[status]]),),
            {"status": status, "count": count},
        )
        for status, count in sorted(statuses.items())
    )
    promised = int((sends & ops.outcome.mask("ok")).sum())
    reasons = () if promised else ("no send was promised",)
    outcome = Outcome.FAIL if anomalies else Outcome.UNKNOWN if reasons else Outcome.PASS
    return Verdict("promised", outcome, anomalies, {"promised": promised, "not_promised": len(weak)}, reasons)
