"""What the theorems about logs ask of their columns: see :mod:`checkers.objects.door`.

Question: is this input a history of logs at all?

Model. Beside the rules of every theorem: queues are those that the input says it has (−1 only for an unknown append),
an acknowledged append has an offset, a poll that returned something returned at least one message, the messages of a
batch are consecutive entries that share queue, outcome, operation and stamps. A message is a number from 0 on; only a
poll may show :data:`~checkers.logs.columns.UNKNOWN_VALUE`.

Limits. Offsets and values are below 2^44 − 1 and queues below 2^18, so that both fit into one number.
"""

from __future__ import annotations

import numpy as np

from checkers.history.columns import NEVER, HistoryFormatError, Ints
from checkers.logs.columns import (
    ACKED,
    OFFSETS_MAX,
    QUEUES_MAX,
    UNKNOWN,
    UNKNOWN_VALUE,
    Appends,
    Claims,
    LogInput,
    Polls,
)
from checkers.objects.door import Table, admitted, as_ints, require, require_one_length, require_times

_CLAIMS = ("empties", "ends", "starts", "refused")


def admitted_log(log: LogInput, gaps: bool = False) -> LogInput:
    """*log*, if it keeps the rules."""
    if not 0 <= log.queue_count <= QUEUES_MAX:
        raise HistoryFormatError("logs", -1, f"{log.queue_count} queues: from 0 to {QUEUES_MAX}")
    appends = _appends(log.appends, log.queue_count, gaps)
    polls = _polls(log.polls, log.queue_count)
    claims = {name: _claims(name, getattr(log, name), log.queue_count) for name in _CLAIMS}
    return LogInput(log.queue_count, appends, polls, **claims)


def require_processes(log: LogInput, process_of: Ints) -> None:
    """Every operation has a process."""
    for name in ("appends", "polls", *_CLAIMS):
        op = getattr(log, name).op
        require(name, (op >= 0) & (op < len(process_of)), "its operation has no process")


def _appends(appends: Appends, queue_count: int, gaps: bool) -> Appends:
    columns: tuple[str, ...] = ("queue", "value", "offset", "invoke", "ret", "outcome", "op")
    columns = columns if appends.batch is None else (*columns, "batch")
    table = Table("appends", columns, "invoke", "ret", ("value",), outcome="outcome")
    appends = admitted(appends, (table,))
    queue, offset, is_acked = appends.queue, appends.offset, appends.outcome == ACKED
    require("appends", (queue >= -1) & (queue < queue_count), f"a queue is none of the {queue_count}")
    require("appends", (queue >= 0) | (appends.outcome == UNKNOWN), "only an unknown append may have no queue")
    require("appends", appends.value < OFFSETS_MAX, "a value is not below 2^44 - 1")
    require("appends", (offset >= 0) | ~is_acked, "acknowledged at an offset below 0")
    require("appends", (offset < OFFSETS_MAX) | ~is_acked, "acknowledged at an offset that is not below 2^44 - 1")
    if appends.batch is not None:
        _require_whole_batches(appends, gaps)
    return appends


def _require_whole_batches(appends: Appends, gaps: bool) -> None:
    batch = appends.batch
    assert batch is not None
    require("appends", batch >= -1, "a batch is below -1")
    inside = np.flatnonzero(batch[1:] == batch[:-1])
    inside = inside[batch[inside] >= 0]
    first = np.flatnonzero(np.append(True, batch[1:] != batch[:-1])) if len(batch) else batch
    rows = np.unique(batch[first], return_index=True)[1]
    again = np.setdiff1d(np.arange(len(first)), rows)
    again = again[batch[first[again]] >= 0]
    if len(again):
        raise HistoryFormatError("appends", int(first[again[0]]), "messages of one batch are not consecutive")
    for name in ("queue", "outcome", "op", "invoke", "ret"):
        column = getattr(appends, name)
        same = np.ones(len(appends), dtype=np.bool_)
        same[inside + 1] = column[inside + 1] == column[inside]
        require("appends", same, f"messages of one batch differ in {name}")
    step = np.ones(len(appends), dtype=np.int64)
    step[inside + 1] = appends.offset[inside + 1] - appends.offset[inside]
    fits = (step > 0) if gaps else (step == 1)
    require("appends", fits | (appends.outcome != ACKED), "offsets of one acknowledged batch are not consecutive")


def _polls(polls: Polls, queue_count: int) -> Polls:
    polls = admitted(polls, (Table("polls", ("queue", "count", "invoke", "ret", "op", "asked"), "invoke", "ret"),))
    offset, value = (as_ints("polls", name, getattr(polls, name)) for name in ("offset", "value"))
    require_one_length("polls", {"offset": offset, "value": value})
    require("polls", (polls.queue >= 0) & (polls.queue < queue_count), f"a queue is none of the {queue_count}")
    require("polls", polls.count > 0, "it returned nothing: that is an empty poll")
    if int(polls.count.sum()) != len(offset):
        told = f"{int(polls.count.sum())} messages are counted, {len(offset)} are there"
        raise HistoryFormatError("polls", -1, told)
    require("polls", polls.ret < NEVER, "it never returned")
    require("messages read", (offset >= 0) & (offset < OFFSETS_MAX), "an offset is below 0, or not below 2^44 - 1")
    require("messages read", (value >= 0) | (value == UNKNOWN_VALUE), f"a value is below 0 and not {UNKNOWN_VALUE}")
    if offset is polls.offset and value is polls.value:
        return polls
    return Polls(polls.queue, polls.count, polls.invoke, polls.ret, polls.op, polls.asked, offset, value)


def _claims(name: str, claims: Claims, queue_count: int) -> Claims:
    claims = admitted(claims, (Table(name, ("queue", "at", "invoke", "ret", "op"), "invoke", "ret"),))
    require(name, (claims.queue >= 0) & (claims.queue < queue_count), f"a queue is none of the {queue_count}")
    require(name, (claims.at >= 0) & (claims.at < OFFSETS_MAX), "an offset is below 0, or not below 2^44 - 1")
    require(name, claims.ret < NEVER, "it never returned")
    return claims


__all__ = ["admitted_log", "require_processes", "require_times"]
