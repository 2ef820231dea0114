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

Which unknown append stood where is chosen first (:mod:`checkers.sequential_fill`).

Limits. With several queues that choice may matter for a circle: then the answer is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from checkers.columns import Ints
from checkers.log import RETRIED_BATCHES
from checkers.log_content import Content, content_of
from checkers.log_input import ACKED, FAILED, LogInput, LogViolation
from checkers.sequential_fill import fill

_KEY: Final = 1 << 44

CIRCLE_UNKNOWN = "a circle goes through several logs, and other choices of unknown sends were not tried"


@dataclass(frozen=True, slots=True)
class SequentialResult:
    """``violations`` and ``unknown`` empty: sequentially consistent. ``circle``: operation numbers in order, if any."""

    violations: tuple[LogViolation, ...]
    circle: tuple[int, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def consistent(self) -> bool | None:
        """The answer; ``None`` if it is not known."""
        if self.violations or (self.circle and not self.unknown):
            return False
        return None if self.unknown else True


def check_sequential(log: LogInput, process_of: Ints) -> SequentialResult:
    """Decide *log*; *process_of* gives the process of each operation number. Batches are single appends here."""
    content = content_of(log, gaps=False, retries=False)
    if content.violations:
        return (
            SequentialResult((), unknown=(RETRIED_BATCHES,))
            if content.may_differ
            else SequentialResult(content.violations)
        )
    filling = fill(log, content, process_of)
    chosen = content.may_differ or content.spare_may_differ
    if filling.violation is not None and not chosen:
        return SequentialResult((filling.violation,))
    if filling.violation is not None or filling.unknown:
        return SequentialResult((), unknown=filling.unknown or (RETRIED_BATCHES,))
    circle = _graph(log, content, process_of).circle()
    return SequentialResult((), circle, (CIRCLE_UNKNOWN,) if circle and (filling.had_choice or chosen) else ())


@dataclass(slots=True)
class _Graph:
    """Edges between operation numbers, and starts that were told, which are numbered behind them."""

    source: Ints
    target: Ints
    nodes: int
    operations: int

    def circle(self) -> tuple[int, ...]:
        """Operations of one circle, in order; empty if there is none (Kahn)."""
        degree = np.bincount(self.target, minlength=self.nodes)
        order = np.argsort(self.source, kind="stable")
        targets = self.target[order].tolist()
        first = np.searchsorted(self.source[order], np.arange(self.nodes + 1)).tolist()
        ready = np.flatnonzero(degree == 0).tolist()
        left = degree.tolist()
        done = 0
        while ready:
            node = ready.pop()
            done += 1
            for target in targets[first[node] : first[node + 1]]:
                left[target] -= 1
                if not left[target]:
                    ready.append(target)
        if done == self.nodes:
            return ()
        return tuple(node for node in _find_circle(self, left) if node < self.operations)


def _find_circle(graph: _Graph, left: list[int]) -> tuple[int, ...]:
    """Walk backwards among what remains until an operation comes again."""
    before: dict[int, int] = {}
    for source, target in zip(graph.source.tolist(), graph.target.tolist(), strict=True):
        if left[source] and left[target]:
            before.setdefault(target, source)
    path: list[int] = []
    node = next(iter(before))
    while node not in path:
        path.append(node)
        node = before[node]
    return tuple(reversed(path[path.index(node) :]))


def _graph(log: LogInput, content: Content, process_of: Ints) -> _Graph:
    slots, appends = content.slots, content.appends
    row = content.append
    op = appends.op[row]
    same = np.flatnonzero(slots.queue_of_slot()[1:] == slots.queue_of_slot()[:-1])
    edges = [(op[same], op[same + 1]), _program_order(log, content, process_of)]
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
    starts = _trimming(log, len(process_of))
    edges.append((starts.source, starts.target))
    source, target = (np.concatenate([edge[side] for edge in edges]) for side in (0, 1))
    different = source != target  # messages of one batch are one operation
    return _Graph(source[different], target[different], starts.nodes, len(process_of))


def _trimming(log: LogInput, operations: int) -> _Graph:
    """Whoever saw the start at or below an offset came before all who saw it above: by way of a chain of the starts
    that were told, queue by queue."""
    polls, starts, refused = log.polls, log.starts, log.refused
    above = np.concatenate((starts.queue * _KEY + starts.at, refused.queue * _KEY + refused.at + 1))
    by = np.concatenate((starts.op, refused.op))
    told = np.unique(above)
    nodes = operations + np.arange(len(told), dtype=np.int64)
    chained = np.flatnonzero(told[1:] // _KEY == told[:-1] // _KEY)
    queue = np.concatenate((polls.queue, starts.queue))
    first = polls.firsts() if len(polls) else polls.queue
    below = queue * _KEY + np.concatenate((first, starts.at))
    next_ = np.searchsorted(told, below, side="right")
    inside = np.flatnonzero(next_ < len(told))
    inside = inside[told[next_[inside]] // _KEY == queue[inside]]
    return _Graph(
        np.concatenate((nodes[chained], nodes[np.searchsorted(told, above)], np.append(polls.op, starts.op)[inside])),
        np.concatenate((nodes[chained + 1], by, nodes[next_[inside]])),
        operations + len(told),
        operations,
    )


def _program_order(log: LogInput, content: Content, process_of: Ints) -> tuple[Ints, Ints]:
    """Consecutive operations of each process that took place (unknown appends only if they were seen or fill a
    hole)."""
    appends = content.appends
    happened = np.zeros(len(appends), dtype=np.bool_)
    happened[appends.outcome == ACKED] = True
    happened[content.append[content.append >= 0]] = True
    happened[appends.outcome == FAILED] = False
    answered = (log.polls, log.empties, log.ends, log.starts, log.refused)
    ops = np.concatenate((appends.op[happened], *(its.op for its in answered)))
    invoke = np.concatenate((appends.invoke[happened], *(its.invoke for its in answered)))
    ops, first = np.unique(ops, return_index=True)
    invoke = invoke[first]
    order = np.lexsort((invoke, process_of[ops]))
    ops = ops[order]
    same = np.flatnonzero(process_of[ops][1:] == process_of[ops][:-1])
    return ops[same], ops[same + 1]
