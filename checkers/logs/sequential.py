"""Sequential consistency of logs: one order of all operations that keeps each process's own order, whatever the clock
says.

Question: is there any legal order at all, if only program order must be kept?

Model. Unlike linearizability this is not local: queues that are fine each may be impossible together. But offsets
are known, so every edge of the order is forced:

    append o − 1 → append o               by queue
    earlier → later                       by process
    append h → whoever saw h              a read up to h, an end query that answered h + 1
    whoever saw the end at o → append o   an empty poll at o, an end query that answered o
    who saw the start ≤ o → who saw it > o    a read from o, a start query; a refused poll of o, a start query

A legal order exists iff this graph has no circle: a topological order is one. At most five edges an operation (the last
kind goes by way of a node for each start that was told).

Which unknown append stood where is chosen first (:mod:`checkers.logs.sequential_fill`).

Limits. With several queues that choice may matter for a circle: then the answer is unknown.
"""

from __future__ import annotations

import numpy as np

from checkers.history.columns import Ints
from checkers.logs.columns import ACKED, FAILED, LogInput, LogViolation
from checkers.logs.content import Content, content_of
from checkers.logs.door import admitted_log, require_processes
from checkers.logs.linear import RETRIED_BATCHES
from checkers.logs.sequential_fill import fill
from checkers.logs.sequential_order import Graph, program_order, trimming
from checkers.objects.result import Result

CIRCLE_UNKNOWN = "a circle goes through several logs, and other choices of unknown sends were not tried"


CHECK = "sequential"


def check_sequential(log: LogInput, process_of: Ints) -> Result[LogViolation]:
    """Decide *log*; *process_of* gives the process of each operation number. Batches are single appends here."""
    log = admitted_log(log)
    require_processes(log, process_of)
    content = content_of(log, gaps=False, retries=False)
    if content.violations:
        return Result(CHECK, (), (RETRIED_BATCHES,)) if content.may_differ else Result(CHECK, content.violations)
    filling = fill(log, content, process_of)
    chosen = content.may_differ or content.spare_may_differ
    if filling.violation is not None and not chosen:
        return Result(CHECK, (filling.violation,))
    if filling.violation is not None or filling.unknown:
        return Result(CHECK, (), filling.unknown or (RETRIED_BATCHES,))
    circle = _graph(log, content, process_of).circle()
    if circle and (filling.had_choice or chosen):
        return Result(CHECK, (), (CIRCLE_UNKNOWN,))
    return Result(CHECK, (LogViolation("circle", -1, -1, -1, circle),) if circle else ())


def _graph(log: LogInput, content: Content, process_of: Ints) -> Graph:
    slots, appends = content.slots, content.appends
    row = content.append
    op = appends.op[row]
    same = np.flatnonzero(slots.queue_of_slot()[1:] == slots.queue_of_slot()[:-1])
    edges = [(op[same], op[same + 1]), program_order(log, appends, _happened(content), process_of)]
    saw = [
        (log.polls.queue, log.polls.tops() + 1, log.polls.op),
        (log.ends.queue, log.ends.at, log.ends.op),
        (log.starts.queue, log.starts.at, log.starts.op),
        (log.refused.queue, log.refused.at + 1, log.refused.op),
    ]
    for queue, end, by in saw:
        below = slots.below(queue, end)
        edges.append((op[below[below >= 0]], by[below >= 0]))
    for claims in (log.empties, log.ends):
        above = slots.at_or_above(claims.queue, claims.at)
        edges.append((claims.op[above >= 0], op[above[above >= 0]]))
    starts = trimming(log, len(process_of))
    edges.append((starts.source, starts.target))
    source, target = (np.concatenate([edge[side] for edge in edges]) for side in (0, 1))
    different = source != target  # messages of one batch are one operation
    return Graph(source[different], target[different], starts.nodes, len(process_of))


def _happened(content: Content) -> Ints:
    """Rows of the appends that took place: unknown ones only if they were seen or fill a hole."""
    appends = content.appends
    happened = appends.outcome == ACKED
    happened[content.append[content.append >= 0]] = True
    happened[appends.outcome == FAILED] = False
    return np.flatnonzero(happened)
