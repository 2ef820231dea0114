"""Session guarantees on logs: what one process may expect of its own past. Weaker than linearizability, O(n log n).

Question: did a process ever see less of a queue than it had seen, or written, before?

Model. By (process, queue) in program order, each operation claims that the end was *at least* something (a read up to
h, or a refusal of h: h + 1; an own append at o: o + 1; a start at s: s) or *at most* something (an empty poll at o: o;
an own append at o: o, before it). With m the greatest lower claim so far, each later upper claim must be ≥ m. The pair
names the guarantee:

    earlier claim by    later claim by    guarantee
    read                read              monotonic-reads
    append              read              read-your-writes
    append              append            monotonic-writes
    read                append            writes-follow-reads

All four together, with the content conditions and holes that unknown appends can fill, are sequential consistency of
one log of single messages that is not trimmed (:mod:`checkers.logs.sequential`).

Limits. A process does one thing at a time; an operation with unknown outcome is its last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from checkers.history.columns import Ints
from checkers.logs.columns import ACKED, LogInput
from checkers.logs.content import Content
from checkers.logs.door import admitted_log, require_processes
from checkers.objects.lanes import running_maximum_before
from checkers.objects.result import Result

READ, APPEND = 0, 1
NO_CLAIM = -1
NAMES = {
    (READ, READ): "monotonic-reads",
    (APPEND, READ): "read-your-writes",
    (APPEND, APPEND): "monotonic-writes",
    (READ, APPEND): "writes-follow-reads",
}


@dataclass(frozen=True, slots=True)
class SessionClaims:
    """One entry an operation (a message of a batch), sorted by (process, queue, invocation).

    ``lower``: the end was at least this, afterwards; ``upper``: at most this, before (−1: no claim).
    """

    process: Ints
    queue: Ints
    kind: Ints
    lower: Ints
    upper: Ints
    op: Ints
    invoke: Ints


@dataclass(frozen=True, slots=True)
class SessionViolation:
    """``ops``: the earlier and the later operation of one process. ``lower`` was known, then ``upper`` was claimed."""

    kind: str
    queue: int
    lower: int
    upper: int
    ops: tuple[int, int]
    count: int = 1

    @property
    def values(self) -> tuple[int, ...]:
        """No message is concerned, but where the log ends."""
        return ()

    def where(self) -> Mapping[str, int]:
        return {"queue": self.queue, "low": self.lower, "high": self.upper}


def claims_of(log: LogInput, process_of: Ints, content: Content | None = None) -> SessionClaims:
    """Claims of *log*; *process_of* gives the process of each operation number.

    With *content* (of :func:`checkers.logs.linear.check_log`) unknown appends that somebody saw claim their place, too.
    """
    log = admitted_log(log, gaps=True)
    require_processes(log, process_of)
    appends = log.appends
    rows = np.flatnonzero(appends.outcome == ACKED)
    queue_of, offset = appends.queue[rows], appends.offset[rows]
    if content is not None:
        slots = np.flatnonzero((content.append >= 0) & (content.value >= 0))
        appends, rows = content.appends, content.append[slots]
        queue_of = content.slots.queue_of_slot()[slots]
        offset = slots - content.slots.base[queue_of]
    tops = log.polls.tops() + 1
    parts = (
        (queue_of, APPEND, offset + 1, offset, appends.op[rows], appends.invoke[rows]),
        (log.polls.queue, READ, tops, np.full(len(tops), NO_CLAIM), log.polls.op, log.polls.invoke),
        (
            log.empties.queue,
            READ,
            np.full(len(log.empties), NO_CLAIM),
            log.empties.at,
            log.empties.op,
            log.empties.invoke,
        ),
        (log.ends.queue, READ, log.ends.at, log.ends.at, log.ends.op, log.ends.invoke),
        (
            log.starts.queue,
            READ,
            log.starts.at,
            np.full(len(log.starts), NO_CLAIM),
            log.starts.op,
            log.starts.invoke,
        ),
        (
            log.refused.queue,
            READ,
            log.refused.at + 1,
            np.full(len(log.refused), NO_CLAIM),
            log.refused.op,
            log.refused.invoke,
        ),
    )
    queue, lower, upper, op, invoke = (
        np.concatenate([part[place] for part in parts]).astype(np.int64) for place in (0, 2, 3, 4, 5)
    )
    kind = np.repeat(np.array([part[1] for part in parts], dtype=np.int64), [len(part[0]) for part in parts])
    process = process_of[op]
    order = np.lexsort((lower, invoke, queue, process))
    return SessionClaims(*(column[order] for column in (process, queue, kind, lower, upper, op, invoke)))


def check_sessions(claims: SessionClaims) -> Result[SessionViolation]:
    """The first violation of each guarantee; all four hold if there is none."""
    return Result("sessions", _violations(claims) if len(claims.op) else ())


def _violations(claims: SessionClaims) -> tuple[SessionViolation, ...]:
    known = _known_before(claims)
    bad = np.flatnonzero((claims.upper != NO_CLAIM) & (claims.upper < known))
    found: dict[str, list[SessionViolation]] = {}
    for row in bad.tolist():
        violation = _violation(claims, row, int(known[row]))
        found.setdefault(violation.kind, []).append(violation)
    return tuple(
        SessionViolation(v[0].kind, v[0].queue, v[0].lower, v[0].upper, v[0].ops, len(v)) for v in found.values()
    )


def _known_before(claims: SessionClaims) -> Ints:
    """The greatest lower claim of the same process and queue strictly before each entry, −1 without any."""
    first = np.append(True, (np.diff(claims.process) != 0) | (np.diff(claims.queue) != 0))
    lane = np.cumsum(first) - 1
    return running_maximum_before(claims.lower, lane, NO_CLAIM)


def _violation(claims: SessionClaims, row: int, known: int) -> SessionViolation:
    lane = (claims.process == claims.process[row]) & (claims.queue == claims.queue[row])
    earlier = np.flatnonzero(lane[:row] & (claims.lower[:row] == known))
    witness = int(earlier[0])
    kind = NAMES[int(claims.kind[witness]), int(claims.kind[row])]
    ops = (int(claims.op[witness]), int(claims.op[row]))
    return SessionViolation(kind, int(claims.queue[row]), known, int(claims.upper[row]), ops)
