"""Where acknowledged appends stand whose offsets nobody told.

Question: some acknowledgements of a log tell no offset. Is there a place for each of them with which everything else
agrees, and which?

Model. One that a read shows stands where it is shown. Any other one is a job for an offset below the known end that
nobody acknowledged or read (a *hole*), or behind that end. With L(o) the greatest lower bound at or below o and D(o)
the least upper bound at or above it (:mod:`checkers.logs.linear`), it can take o iff inv ≤ D(o) and ret ≥ L(o). Both
grow with o, so hole by hole, from the lowest on, that one of the possible ones is taken which returned first, an
unanswered append only where there is none; the rest goes behind the end in the order of returns. If that does not fit,
nothing does: exchange two neighbours of any arrangement that differs from it, and it still fits.

Limits. A value that was appended twice is not told apart: it does not fit if one of them has no offset.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from checkers.history.columns import Ints
from checkers.logs.columns import LogInput
from checkers.logs.content import EMPTY, Content, content_of
from checkers.logs.linear import bound_above


class Job(NamedTuple):
    """An append by its row: of a value to a log, from *call* to *ret*."""

    row: int
    queue: int
    call: int
    ret: int


class Placing(NamedTuple):
    """The offset by row of each job, and whether another one might have done as well."""

    offset: dict[int, int]
    had_choice: bool


def places(log: LogInput, jobs: list[Job]) -> Placing:
    """Offsets for *jobs*, whose rows are unknown appends of *log*. If nothing fits, the log is not linearizable with
    these offsets or any others."""
    content = content_of(log, gaps=False, retries=False)
    bound_above(log, content)
    found = _shown(content, jobs)
    left: dict[int, list[Job]] = {}
    for job in sorted(jobs, key=lambda job: job.call):
        if job.row not in found:
            left.setdefault(job.queue, []).append(job)
    had_choice = False
    for queue, jobs_of_it in left.items():
        begin, end = content.slots.base[queue : queue + 2].tolist()
        holes = np.flatnonzero(content.value[begin:end] == EMPTY).tolist()
        found |= _arranged(jobs_of_it, holes, content.hi[begin:end])
        had_choice = had_choice or len(jobs_of_it) > 1 or bool(holes)
    return Placing(found, had_choice)


def _shown(content: Content, jobs: list[Job]) -> dict[int, int]:
    """The offset by row of those that reads show; they were there when they returned."""
    returned = np.full(len(content.appends), -1, dtype=np.int64)
    returned[[job.row for job in jobs]] = [job.ret for job in jobs]
    slots = np.flatnonzero(content.append >= 0)
    slots = slots[returned[content.append[slots]] >= 0]
    rows = content.append[slots]
    content.hi[slots] = np.minimum(content.hi[slots], returned[rows])
    offsets = slots - content.slots.base[content.slots.queue_of_slot()[slots]]
    return dict(zip(rows.tolist(), offsets.tolist(), strict=True))


def _arranged(jobs: list[Job], holes: list[int], hi: Ints) -> dict[int, int]:
    """Offsets of one log for *jobs*, by call, in *holes* and behind the end; *hi* by offset."""
    latest = np.minimum.accumulate(hi[::-1])[::-1].tolist()
    possible: list[tuple[int, int]] = []
    found: dict[int, int] = {}
    waiting = 0
    for hole in holes:
        while waiting < len(jobs) and jobs[waiting].call <= latest[hole]:
            heappush(possible, (jobs[waiting].ret, jobs[waiting].row))
            waiting += 1
        if possible:
            found[heappop(possible)[1]] = hole
    rest = sorted([*possible, *((job.ret, job.row) for job in jobs[waiting:])])
    return found | {row: len(hi) + index for index, (_, row) in enumerate(rest)}
