"""Lost messages by queue: how many, the first, the last, and when.

Question: which acknowledged messages did the drain not find?

Model. Counted from the operations: acknowledged (``ok``) sends whose message no read of the drain phase brought.
Whether the contract allows that is the accounting check's answer, shown beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from checkers.history.columns import Ints
from checkers.history.history import History


def by_queue(history: History) -> list[dict[str, Any]]:
    """One row a queue that lost something; message, offset and instant of the first and the last."""
    ops = history.ops
    lost = lost_rows(history)
    found = []
    for queue in np.unique(ops.queue[lost]).tolist():
        rows = lost[ops.queue[lost] == queue]
        rows = rows[np.argsort(ops.complete_event[rows], kind="stable")]
        found.append({"queue": history.queues.name(queue), "count": len(rows), **_ends(history, rows)})
    return found


def lost_rows(history: History) -> Ints:
    """Rows of the acknowledged sends that were lost."""
    ops, reads = history.ops, history.reads
    drained = ops.op[ops.f.mask("drain")]
    seen = reads.message[np.isin(reads.op, drained)]
    sent = np.flatnonzero(ops.f.mask("send") & ops.outcome.mask("ok") & (ops.message >= 0))
    return sent[~np.isin(ops.message[sent], seen)] if len(drained) else sent[:0]


def _ends(history: History, rows: Ints) -> dict[str, Any]:
    ops = history.ops
    return {
        name: {
            "op": int(ops.op[row]),
            "message": int(ops.message[row]),
            "offset": int(ops.offset[row]),
            "ns": int(ops.complete_ns[row]),
        }
        for name, row in (("first", rows[0]), ("last", rows[-1]))
    }
