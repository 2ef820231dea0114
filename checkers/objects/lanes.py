"""The greatest so far, lane by lane, of any numbers: the one piece of arithmetic that many theorems share.

Question: how is one running maximum taken over many queues, blocks or processes at once, without mixing them?

Model. Lanes lie one behind the other in one array. Each is lifted above all before it by more than any two numbers
differ, so that one running maximum over the whole never carries anything over; then each is lowered again. Where the
greatest lift would not fit into 62 bits, the numbers are replaced by their ranks, which are as many as there are
numbers, and put back afterwards. The answer is exact for all int64.
"""

from __future__ import annotations

import numpy as np

from checkers.history.columns import Ints

_ROOM = 1 << 62


def running_maximum(values: Ints, lane: Ints) -> Ints:
    """max{values[j] : j ≤ i, same lane} for each i; *lane* ascends from 0."""
    if not len(values) or lane[-1] == 0:
        return np.maximum.accumulate(values)
    least, lanes = int(values.min()), int(lane[-1]) + 1
    step = int(values.max()) - least + 1
    if step * lanes >= _ROOM:
        names, ranks = np.unique(values, return_inverse=True)
        running: Ints = names[running_maximum(ranks.astype(np.int64), lane)]
        return running
    lift = lane * step - least
    lifted = values + lift
    np.maximum.accumulate(lifted, out=lifted)
    lifted -= lift
    return lifted


def running_maximum_before(values: Ints, lane: Ints, nothing: int) -> Ints:
    """As :func:`running_maximum`, of what comes strictly before each; *nothing* where a lane begins."""
    before = np.full(len(values), nothing, dtype=np.int64)
    if len(values) > 1:
        running = running_maximum(values, lane)
        before[1:] = np.where(lane[1:] == lane[:-1], running[:-1], nothing)
    return before
