"""Append-only logs with offsets given by the server: exactly linearizable or not, in time linear in the input.

Question: is there an instant inside each operation's interval such that the log, seen at these instants, answers every
operation as it was answered?

Theorem. Let T(o) be the instant at which offset o comes into being; T never decreases. Every operation bounds T:

    append of o      inv ≤ T(o) ≤ ret        (ret = never for an unknown outcome)
    read up to o     T(o) ≤ ret
    "end ≤ o"        inv ≤ T(o)              (empty poll at o, end query that answers o)
    "end ≥ o + 1"    T(o) ≤ ret              (end query that answers o + 1)

With lo and hi the greatest lower and the least upper bound of each offset, and no offset with two values, no value
without its append and no hole, the history is linearizable **iff max{lo(i) : i ≤ j} ≤ hi(j) for every j**. Necessary:
lo(i) ≤ T(i) ≤ T(j) ≤ hi(j). Sufficient: put T(j) at that maximum; it lies inside every interval that it must lie in.

A hole below the end takes an unknown append that nobody saw (:mod:`checkers.logs.holes`). Batches share one T. Trimming
has an instant of its own (:mod:`checkers.logs.trimming`). Queues are independent. A violation is always a pair i ≤ j,
each bound set by one operation: two operations explain it (:mod:`checkers.logs.witness`).

Times are numbers of one event counter, or stamps of one clock from 0 on and below 2^62 (nanoseconds since 1970 are):
equal numbers count as concurrent. An input that breaks its own rules is refused (:mod:`checkers.logs.door`).

Limits. An unknown batch of several messages that nobody saw, where there are holes that it may have to fill, is bin
packing: ``unknown`` says so, unless singles alone fill the holes, or nothing does even with sizes ignored. It also says
so where a message was read that was tried several times, once to a queue that nobody knows, and a hole stays open; and
of batches that were tried several times if :mod:`checkers.logs.batches` may have chosen wrongly.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from checkers.compiled.logs import is_worth_it, legal_content
from checkers.history.columns import Ints
from checkers.logs.columns import (
    ACKED,
    FAILED,
    UNKNOWN,
    UNKNOWN_VALUE,
    Appends,
    Claims,
    LogInput,
    LogViolation,
    Polls,
)
from checkers.logs.content import Content, content_of
from checkers.logs.door import admitted_log
from checkers.logs.holes import fill_holes, fill_with_copies, settle_tries
from checkers.logs.trimming import there_at_the_latest, trim_violations
from checkers.logs.witness import order_violation
from checkers.objects import lanes
from checkers.objects.result import Result

__all__ = [
    "ACKED",
    "FAILED",
    "UNKNOWN",
    "UNKNOWN_VALUE",
    "Appends",
    "Claims",
    "Content",
    "LogInput",
    "LogResult",
    "LogViolation",
    "Polls",
    "check_log",
]


RETRIED_BATCHES = (
    "which of several unanswered sends of the same messages was read, in a batch, alone, or to a queue that nobody "
    "knows, has more possibilities than were tried"
)


@dataclass(frozen=True)
class LogResult(Result[LogViolation]):
    """``content`` is the log as it must have been, with bounds."""

    content: Content = field(kw_only=True)


def check_log(log: LogInput, *, fresh: bool = True, gaps: bool = False, retries: bool = False) -> LogResult:
    """Decide *log*.

    ``fresh=False`` drops the claims "the end is at most": a reader may lag, but nothing may come too early, change or
    run backwards. ``gaps``: offsets without a known message are allowed (other writers, compaction). ``retries``: a
    producer that retries unseen may append a value any number of times (single messages, not batches).
    """
    log = admitted_log(log, gaps)
    if not gaps and not retries and is_worth_it(log) and (legal := legal_content(log, fresh)) is not None:
        return LogResult("log", (), content=legal)
    content = content_of(log, gaps=gaps, retries=retries)
    if content.violations:
        return _result(content, content.violations)
    bound_above(log, content)
    if len(log.refused) or len(log.starts):
        content.due = there_at_the_latest(log, content)
    had_choice = not retries and (settle_tries(content) or content.spare_may_differ)
    bound_below(log, content, fresh)
    unknown, hall = (
        ((), None)
        if gaps
        else ((), fill_with_copies(log, content))
        if retries
        else fill_holes(log, content, had_choice)
    )
    if hall is not None:
        return _result(content, (hall,), unknown)
    earliest = running_maximum(content)
    violations = [*_order(log, content, earliest, fresh), *_torn_batches(log, content, fresh)]
    if len(log.refused) or len(log.starts):
        violations += trim_violations(log, content, earliest)
    return _result(content, tuple(violations), unknown)


def _result(content: Content, violations: tuple[LogViolation, ...], unknown: tuple[str, ...] = ()) -> LogResult:
    """What was found is no violation where *content* may be another one."""
    if violations and content.may_differ:
        return LogResult("log", (), (*unknown, RETRIED_BATCHES), content=content)
    return LogResult("log", violations, unknown, content=content)


def bound_above(log: LogInput, content: Content) -> None:
    """Enter what was seen to be there, by reads and queries, into ``content.hi``."""
    polls, slots, hi = log.polls, content.slots, content.hi
    np.minimum.at(hi, slots.of(polls.queue, polls.tops()), polls.ret)
    for claims, more in ((log.ends, 0), (log.starts, 0), (log.refused, 1)):
        below = slots.below(claims.queue, claims.at + more)
        np.minimum.at(hi, below[below >= 0], claims.ret[below >= 0])


def bound_below(log: LogInput, content: Content, fresh: bool) -> None:
    """Enter what was not there yet, by empty polls and queries, into ``content.lo``."""
    for claims in (log.empties, log.ends) if fresh else ():
        above = content.slots.at_or_above(claims.queue, claims.at)
        np.maximum.at(content.lo, above[above >= 0], claims.invoke[above >= 0])


def running_maximum(content: Content) -> Ints:
    """max{lo(i) : i ≤ j} inside each queue, by slot; offsets of one batch share their bounds."""
    lo = content.lo_shared()
    if len(content.slots.base) <= 2:
        return np.maximum.accumulate(lo)
    return lanes.running_maximum(lo, content.slots.queue_of_slot())


def _order(log: LogInput, content: Content, earliest: Ints, fresh: bool) -> list[LogViolation]:
    """The theorem."""
    bad = np.flatnonzero(earliest > content.hi_shared())
    return [order_violation(log, content, bad, fresh)] if len(bad) else []


def _torn_batches(log: LogInput, content: Content, fresh: bool) -> list[LogViolation]:
    """An end query that answers an offset inside an atomic batch saw half of it."""
    group = content.group
    if group is None or not len(log.ends) or not fresh:
        return []
    above = content.slots.at_or_above(log.ends.queue, log.ends.at)
    inner = np.flatnonzero((log.ends.at > 0) & (above > 0))
    torn = inner[group[above[inner]] == group[above[inner] - 1]]
    if not len(torn):
        return []
    row = int(torn[0])
    slot, offset = int(above[row]), int(log.ends.at[row])
    ops = (int(content.appends.op[content.append[slot]]), int(log.ends.op[row]))
    values = (int(content.value[slot]),)
    return [LogViolation("torn-batch", int(log.ends.queue[row]), offset, offset, ops, values, count=len(torn))]
