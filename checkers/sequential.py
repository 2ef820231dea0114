"""Sequential consistency of logs: one order of all operations that keeps each process's own order, whatever the clock
says.

Question: is there any legal order at all, if only program order must be kept?

Model. Unlike linearizability this is not local: queues that are fine each may be impossible together. But offsets
are known, so every edge of the order is forced:

    append o − 1 → append o               by queue
    earlier → later                       by process
    append h → whoever saw h              a read up to h, an end query that answered h + 1
    whoever saw the end at o → append o   an empty poll at o, an end query that answered o

A legal order exists iff this graph has no circle: a topological order is one. At most four edges an operation.

Holes take unknown appends that nobody saw. An unknown append is the last of its process, so it comes after everything
that the process knew: it fits offset o of its own queue iff o is not below that (thresholds again).

Limits. With several queues and holes the choice of the fillers may matter for a circle: then the answer is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.columns import Ints
from checkers.log_content import EMPTY, Content, content_of
from checkers.log_input import ACKED, FAILED, LogInput, LogViolation
from checkers.sessions import NO_CLAIM, claims_of

CIRCLE_UNKNOWN = "a circle goes through unknown sends that fill holes, and other fillings were not tried"


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
        return SequentialResult(content.violations)
    had_holes = _fill(log, content, process_of)
    if isinstance(had_holes, LogViolation):
        return SequentialResult((had_holes,))
    graph = _graph(log, content, process_of)
    circle = graph.circle()
    if not circle:
        return SequentialResult(())
    certain = not had_holes or log.queue_count == 1
    return SequentialResult((), circle, () if certain else (CIRCLE_UNKNOWN,))


def _fill(log: LogInput, content: Content, process_of: Ints) -> bool | LogViolation:
    """Assign unknown appends to holes: the k-th lowest hole gets the k-th least demanding one."""
    holes = np.flatnonzero(content.value == EMPTY)
    if not len(holes):
        return False
    appends = content.appends
    knows = _knowledge(log, process_of)
    for queue in range(log.queue_count):
        mine = holes[(holes >= content.slots.base[queue]) & (holes < content.slots.base[queue + 1])]
        rows = content.spare[appends.queue[content.spare] == queue]
        needs = np.array([knows.get((int(process_of[appends.op[row]]), queue), 0) for row in rows], dtype=np.int64)
        order = np.argsort(needs, kind="stable")[: len(mine)]
        offsets = mine - content.slots.base[queue]
        if len(order) < len(mine) or (needs[order] > offsets).any():
            return LogViolation("hole-without-writer", queue, int(offsets[0]), int(offsets[-1]), ())
        content.append[mine] = rows[order]
    return True


def _knowledge(log: LogInput, process_of: Ints) -> dict[tuple[int, int], int]:
    """(process, queue) → the greatest end it knew of; an unknown append of it comes after that."""
    claims = claims_of(log, process_of)
    known: dict[tuple[int, int], int] = {}
    for process, queue, lower in zip(
        claims.process.tolist(), claims.queue.tolist(), claims.lower.tolist(), strict=True
    ):
        known[process, queue] = max(known.get((process, queue), 0), lower)
    return known


@dataclass(slots=True)
class _Graph:
    """Edges between operation numbers."""

    source: Ints
    target: Ints
    nodes: int

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
        return () if done == self.nodes else _find_circle(self, left)


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
    saw = [(log.polls.queue, log.polls.tops() + 1, log.polls.op), (log.ends.queue, log.ends.at, log.ends.op)]
    for queue, end, by in saw:
        below = slots.below(queue, end)
        edges.append((op[below[below >= 0]], by[below >= 0]))
    for claims in (log.empties, log.ends):
        above = slots.at_or_above(claims.queue, claims.at)
        edges.append((claims.op[above >= 0], op[above[above >= 0]]))
    source, target = (np.concatenate([edge[side] for edge in edges]) for side in (0, 1))
    different = source != target  # messages of one batch are one operation
    return _Graph(source[different], target[different], len(process_of))


def _program_order(log: LogInput, content: Content, process_of: Ints) -> tuple[Ints, Ints]:
    """Consecutive operations of each process that took place (unknown appends only if they were seen or fill a
    hole)."""
    appends = content.appends
    happened = np.zeros(len(appends), dtype=np.bool_)
    happened[appends.outcome == ACKED] = True
    happened[content.append[content.append >= 0]] = True
    happened[appends.outcome == FAILED] = False
    ops = np.concatenate((appends.op[happened], log.polls.op, log.empties.op, log.ends.op))
    invoke = np.concatenate((appends.invoke[happened], log.polls.invoke, log.empties.invoke, log.ends.invoke))
    ops, first = np.unique(ops, return_index=True)
    invoke = invoke[first]
    order = np.lexsort((invoke, process_of[ops]))
    ops = ops[order]
    same = np.flatnonzero(process_of[ops][1:] == process_of[ops][:-1])
    return ops[same], ops[same + 1]


assert NO_CLAIM < 0, "a process that claimed nothing knows of the end 0"
