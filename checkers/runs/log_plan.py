"""All epochs of a run's logs together: the explanation of every answer, or the proof that there is none.

Question: the epochs one by one may leave open which send filled an offset that nobody saw, or find a contradiction
where there is none. Is there a choice of truncations and sends that all epochs agree with?

Model. What each epoch's own answers say of each queue goes to :mod:`checkers.logs.epochs`. Its lives come back as one
input an epoch in which every append has its offset: what was inherited, as appends before everything else; what began
there, acknowledged or not. The theorem of :mod:`checkers.logs.linear` must accept each of them, which is a proof by
itself.

Limits. Those of :mod:`checkers.logs.epochs`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from checkers.history.columns import NEVER, Ints
from checkers.history.history import History
from checkers.logs.columns import ACKED, UNKNOWN, Appends, LogInput, LogViolation
from checkers.logs.content import Content, told_by
from checkers.logs.contradictions import look_at_each
from checkers.logs.epochs import Lives, Shortage, Told, Tries, explain
from checkers.logs.linear import bound_above
from checkers.logs.trimming import there_at_the_latest
from checkers.runs.log_operations import BEFORE_ALL, Rows, appends_of, input_of

TOO_MANY_CHOICES = (
    "which of the unanswered sends stood where before which power cut has too many possibilities to try them all"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """``logs``: one input an epoch, complete, of the queues that are explained. ``violations``: why nothing explains
    the others; ``open``: of these it is not known, the budget was spent."""

    logs: tuple[LogInput, ...]
    violations: tuple[LogViolation, ...] = ()
    open: tuple[int, ...] = ()


def plan_of(history: History, rows: Rows, queues: Iterable[int]) -> Plan:
    """Explain all epochs of *queues*; all *rows* are theirs."""
    rows, epochs, violations = _agreed(history, rows)
    sends = appends_of(history, rows, rows.sends)
    tries = _tries(sends, epochs[0].log.queue_count)
    lives: dict[int, Lives] = {}
    open_ = []
    for queue in sorted(set(queues) - violations.keys()):
        found = _explained(epochs, rows, queue, tries[queue])
        if isinstance(found, Lives):
            lives[queue] = found
        elif isinstance(found, LogViolation):
            violations[queue] = found
        else:
            open_.append(queue)
    left_out = {*open_, *violations}
    logs = [replace(part.log, appends=_planned(sends, rows, lives, epoch)) for epoch, part in enumerate(epochs)]
    return Plan(tuple(log.without(left_out) for log in logs), tuple(violations.values()), tuple(open_))


@dataclass(frozen=True, slots=True)
class _Epoch:
    """What one epoch says, the content that shows, and the places of its sends among all of the run."""

    log: LogInput
    content: Content
    sends: Ints


def _agreed(history: History, rows: Rows) -> tuple[Rows, list[_Epoch], dict[int, LogViolation]]:
    """What each epoch says itself: the queues in which no answer of it contradicts another, and why the rest do."""
    logs = [input_of(history, rows, epoch) for epoch in range(rows.epochs)]
    looked = [look_at_each(log, lambda part: told_by(part, len(rows.sends))) for log in logs]
    told = [part.said for part in looked]
    violations = {queue: found[0] for part in reversed(looked) for queue, found in part.contradicted.items()}
    if violations:
        rows = rows.only(~np.isin(history.ops.queue, list(violations)))
        logs = [input_of(history, rows, epoch) for epoch in range(rows.epochs)]
        told = [told_by(log, len(rows.sends)) for log in logs]
    for log, content in zip(logs, told, strict=True):
        bound_above(log, content)
        content.hi = there_at_the_latest(log, content)
    sends = [np.flatnonzero(rows.epoch[rows.sends] == epoch) for epoch in range(rows.epochs)]
    return rows, [_Epoch(*part) for part in zip(logs, told, sends, strict=True)], violations


def _explained(epochs: list[_Epoch], rows: Rows, queue: int, tries: Tries) -> Lives | LogViolation | None:
    """What stood at the offsets of one queue; or why nothing can have; or neither, if the budget was spent."""
    told = [_told(part, queue, rows.cut_event.get((queue, epoch + 1), int(NEVER))) for epoch, part in enumerate(epochs)]
    for epoch, part in zip(epochs, told, strict=True):
        if (violation := _out_of_order(epoch.content, queue, part)) is not None:
            return violation
    found = explain(told, tries)
    if isinstance(found, Shortage):
        short = epochs[found.epoch]
        return _violation(short.log, short.content, queue, found)
    return found


def _tries(sends: Appends, queue_count: int) -> list[Tries]:
    """The sends that nobody answered, by queue."""
    unknown = np.flatnonzero(sends.outcome == UNKNOWN)
    unknown = unknown[np.lexsort((sends.invoke[unknown], sends.queue[unknown]))]
    places = np.searchsorted(sends.queue[unknown], np.arange(queue_count + 1))
    parts = [unknown[places[queue] : places[queue + 1]] for queue in range(queue_count)]
    return [Tries(sends.value[part], sends.invoke[part], part) for part in parts]


def _told(epoch: _Epoch, queue: int, end: int) -> Told:
    """What *epoch*, which ended at *end*, says of one queue; appends are named by their place among all of the run."""
    content = epoch.content
    slots = slice(int(content.slots.base[queue]), int(content.slots.base[queue + 1]))
    latest = np.minimum.accumulate(content.hi[slots][::-1])[::-1]
    acked = content.append[slots].copy()
    acked[acked >= 0] = epoch.sends[acked[acked >= 0]]
    return Told(content.value[slots], acked, np.minimum(latest, end))


def _out_of_order(content: Content, queue: int, told: Told) -> LogViolation | None:
    """An acknowledged append that began when a later offset was there already."""
    base = int(content.slots.base[queue])
    late = np.flatnonzero((told.acked >= 0) & (content.lo[base : base + len(told.due)] > told.due))
    if not len(late):
        return None
    low = int(late[0])
    high = low + int(content.hi[base + low : base + len(told.due)].argmin())
    values = (int(told.value[low]), int(told.value[high]))
    op = int(content.appends.op[content.append[base + low]])
    return LogViolation("real-time-order", queue, low, high, (op,), values, "append", "none", len(late))


def _violation(log: LogInput, content: Content, queue: int, shortage: Shortage) -> LogViolation:
    """The shortage, with an operation that shows that the offset exists."""
    offset = shortage.offset
    reads = np.flatnonzero(log.polls.queue == queue)
    reads = reads[log.polls.tops()[reads] >= offset]
    acked = np.flatnonzero((content.appends.queue == queue) & (content.appends.offset >= offset))
    ends = np.flatnonzero((log.ends.queue == queue) & (log.ends.at > offset))
    proof = [*log.polls.op[reads].tolist(), *content.appends.op[acked].tolist(), *log.ends.op[ends].tolist()]
    if not shortage.needed:
        return LogViolation("two-values-one-offset", queue, offset, offset, tuple(proof[:1]))
    values = (shortage.needed, shortage.available)
    return LogViolation("hole-without-writer", queue, offset, offset, tuple(proof[:1]), values, "hole", "read")


def _planned(sends: Appends, rows: Rows, lives: dict[int, Lives], epoch: int) -> Appends:
    """The appends of all lives that *epoch* saw."""
    parts = []
    for queue, life in lives.items():
        here = np.flatnonzero((life.begin <= epoch) & (life.last >= epoch))
        parts.append(_of_queue(sends, life, here, queue, epoch, rows.cut_event.get((queue, epoch), int(NEVER))))
    return Appends(*(np.concatenate(column) for column in zip(*parts, strict=True))) if parts else Appends()


def _of_queue(
    sends: Appends, lives: Lives, here: Ints, queue: int, epoch: int, begun: int
) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints]:
    row, inherited = lives.row[here], lives.begin[here] < epoch
    return (
        np.full(len(here), queue, dtype=np.int64),
        lives.value[here],
        lives.offset[here],
        np.where(inherited, BEFORE_ALL, sends.invoke[row]),
        np.where(inherited, begun, sends.ret[row]),
        np.full(len(here), ACKED, dtype=np.int64),
        sends.op[row],
    )
