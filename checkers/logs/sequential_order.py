"""What must come before what in a log, whoever appended what: the order of each process, and the order of the trimming.

Question: which operations precede which, if only the order of each process counts and no append is known by more than
its place?

Model. Nodes are operation numbers and, behind them, the starts that were told. Edges go from earlier to later.

Limits. The order of the appends among each other and of those who saw them is the business of whoever knows the places
(:mod:`checkers.logs.sequential`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from checkers.history.columns import Ints
from checkers.logs.columns import Appends, LogInput

_KEY: Final = 1 << 44


@dataclass(slots=True)
class Graph:
    """Edges between operation numbers, and starts that were told, which are numbered behind them."""

    source: Ints
    target: Ints
    nodes: int
    operations: int

    def circle(self) -> tuple[int, ...]:
        """Operations of one circle, in order; empty if there is none."""
        left = [0] * self.nodes
        if sum(1 for _ in self._sorted(left)) == self.nodes:
            return ()
        return tuple(node for node in _find_circle(self, left) if node < self.operations)

    def greatest_before(self, own: Ints) -> list[int]:
        """By node: the greatest *own* of it and of all that must come before it, as far as there is no circle."""
        greatest: list[int] = own.tolist()
        for node, targets in self._sorted([0] * self.nodes):
            for target in targets:
                greatest[target] = max(greatest[target], greatest[node])
        return greatest

    def _sorted(self, left: list[int]) -> Iterator[tuple[int, list[int]]]:
        """Nodes in an order that fits, and who comes after each (Kahn); *left* then tells how many edges to a node are
        in a circle, or behind one."""
        left[:] = np.bincount(self.target, minlength=self.nodes).tolist()
        order = np.argsort(self.source, kind="stable")
        targets = self.target[order].tolist()
        first = np.searchsorted(self.source[order], np.arange(self.nodes + 1)).tolist()
        ready = [node for node in range(self.nodes) if not left[node]]
        while ready:
            node = ready.pop()
            part = targets[first[node] : first[node + 1]]
            yield node, part
            for target in part:
                left[target] -= 1
                if not left[target]:
                    ready.append(target)


def _find_circle(graph: Graph, left: list[int]) -> tuple[int, ...]:
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


def trimming(log: LogInput, operations: int) -> Graph:
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
    return Graph(
        np.concatenate((nodes[chained], nodes[np.searchsorted(told, above)], np.append(polls.op, starts.op)[inside])),
        np.concatenate((nodes[chained + 1], by, nodes[next_[inside]])),
        operations + len(told),
        operations,
    )


def program_order(log: LogInput, appends: Appends, rows: Ints, process_of: Ints) -> tuple[Ints, Ints]:
    """Consecutive operations of each process: what was answered, and the appends *rows*."""
    answered = (log.polls, log.empties, log.ends, log.starts, log.refused)
    ops = np.concatenate((appends.op[rows], *(part.op for part in answered)))
    invoke = np.concatenate((appends.invoke[rows], *(part.invoke for part in answered)))
    ops, first = np.unique(ops, return_index=True)
    invoke = invoke[first]
    order = np.lexsort((invoke, process_of[ops]))
    ops = ops[order]
    same = np.flatnonzero(process_of[ops][1:] == process_of[ops][:-1])
    return ops[same], ops[same + 1]
