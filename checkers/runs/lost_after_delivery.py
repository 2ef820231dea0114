"""Lost messages that somebody had already got: delivered to a group, whose offset then went back below them.

Question: an acknowledged message is gone. Had a consumer group got it before, and was it sent back afterwards, so
that it reads that part of the queue again, without the message?

Model. A lost message is looked for in what was delivered to each group of its queue. Going back is an answer after
that: PULL_OFFSET_MOVED, or a committed offset, at or below the message's offset. The words are added to those of
:mod:`checkers.runs.forensics`.

Limits. Whatever else the group did with it is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from checkers.history.columns import Ints
from checkers.history.groups import Lane, delivering, lanes_of
from checkers.history.history import History
from checkers.history.ledger import Ledger
from checkers.runs.forensics import Death


def with_deliveries(history: History, ledger: Ledger, deaths: Sequence[Death]) -> list[Death]:
    """*deaths*, each with the delivery before it and the way back after that, where there were such."""
    words: dict[int, str] = {}
    lost = np.array([death.message for death in deaths], dtype=np.int64)
    for lane in lanes_of(history) if len(lost) else []:
        words |= _delivered_and_back(history, lane, lost[ledger.queue[lost] == lane.queue])
    return [replace(d, sentence=d.sentence + words[d.message]) if d.message in words else d for d in deaths]


def _delivered_and_back(history: History, lane: Lane, lost: Ints) -> dict[int, str]:
    ops, reads = history.ops, history.reads
    moved = lane.pulls[ops.status.mask("PULL_OFFSET_MOVED")[lane.pulls]]
    sent = np.concatenate((lane.fetches, moved))
    to = np.concatenate((ops.offset[lane.fetches], ops.next_offset[moved]))
    given = np.isin(reads.op, ops.op[delivering(history, lane.pulls)]) & np.isin(reads.message, lost)
    words: dict[int, str] = {}
    for row in np.flatnonzero(given).tolist():
        at = int(ops.complete_event[ops.rows(reads.op[row : row + 1])[0]])
        back = np.flatnonzero((to <= reads.offset[row]) & (ops.invoke_event[sent] > at))
        if len(back):
            words[int(reads.message[row])] = (
                f"; delivered to group {lane.group} (op {int(reads.op[row])}), whose offset went back to "
                f"@{max(int(to[back[0]]), 0)} afterwards ({history.op_text(int(ops.op[sent[back[0]]]))})"
            )
    return words
