"""What was asked of append-only logs and answered, as columns; and what a checker of logs says about it.

Question: which facts about a log does a history contain, whatever broker it comes from?

Model. Logs are numbered from 0, offsets count from 0 (or from ``initial``), values are non-negative integers, one a
message. Times are numbers of one event counter or stamps of one clock. Operations with an unknown outcome: an append
stays (it may take effect at any time from its invocation on, or never), anything else is left out.

Limits. What the columns must keep to is told, and asked, by :mod:`checkers.logs.door`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np

from checkers.history.columns import Bools, Ints

ACKED: Final = 0
UNKNOWN: Final = 1
FAILED: Final = 2

UNKNOWN_VALUE: Final = -2
"""The value of a read that shows something unrecognisable: no message that anybody sent."""

OFFSETS_MAX: Final = (1 << 44) - 1
QUEUES_MAX: Final = 1 << 18
"""Offsets and values are below the one, queues up to the other: a queue and an offset fit into one number."""

Source = Literal["append", "hole", "read", "empty", "end", "refused", "none"]
"""What set a bound: its own append, an unknown append put into the hole, a read, an empty poll, an end query …"""


def no_ints() -> Ints:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Appends:
    """One entry a message: where it went, if that is known.

    ``outcome``: ACKED (offset is known), UNKNOWN (offset −1, ``ret`` never), FAILED (must never be seen). ``queue`` −1:
    an unknown append whose queue nobody knows. ``batch``: number of the atomic batch, −1 for a single message; the
    messages of a batch are consecutive entries in the order of the batch. A retry is an entry of its own.
    """

    queue: Ints = field(default_factory=no_ints)
    value: Ints = field(default_factory=no_ints)
    offset: Ints = field(default_factory=no_ints)
    invoke: Ints = field(default_factory=no_ints)
    ret: Ints = field(default_factory=no_ints)
    outcome: Ints = field(default_factory=no_ints)
    op: Ints = field(default_factory=no_ints)
    batch: Ints | None = None

    def __len__(self) -> int:
        return len(self.queue)

    def are_alone(self) -> Bools:
        """Which messages were sent by themselves, not in a batch."""
        return np.ones(len(self), dtype=np.bool_) if self.batch is None else self.batch < 0


@dataclass(frozen=True, slots=True)
class Polls:
    """Polls that returned something. Poll p read the next ``count[p]`` entries of ``offset`` and ``value``.

    ``asked``: the offset asked for (−1: not known); what comes must begin there.
    """

    queue: Ints = field(default_factory=no_ints)
    count: Ints = field(default_factory=no_ints)
    invoke: Ints = field(default_factory=no_ints)
    ret: Ints = field(default_factory=no_ints)
    op: Ints = field(default_factory=no_ints)
    asked: Ints = field(default_factory=no_ints)
    offset: Ints = field(default_factory=no_ints)
    value: Ints = field(default_factory=no_ints)

    def __len__(self) -> int:
        return len(self.queue)

    def ends(self) -> Ints:
        """Index behind the last entry of each poll."""
        return np.cumsum(self.count, dtype=np.int64)

    def firsts(self) -> Ints:
        """The first offset of each poll."""
        first: Ints = self.offset[self.ends() - self.count]
        return first

    def tops(self) -> Ints:
        """The last offset of each poll: its greatest, since what is out of order is found before anything else."""
        return self.offset[self.ends() - 1]


@dataclass(frozen=True, slots=True)
class Claims:
    """Answers about a queue's end or start: ``at`` is the offset they name."""

    queue: Ints = field(default_factory=no_ints)
    at: Ints = field(default_factory=no_ints)
    invoke: Ints = field(default_factory=no_ints)
    ret: Ints = field(default_factory=no_ints)
    op: Ints = field(default_factory=no_ints)

    def __len__(self) -> int:
        return len(self.queue)


@dataclass(frozen=True, slots=True)
class LogInput:
    """Everything that was asked of ``queue_count`` logs and answered."""

    queue_count: int
    appends: Appends = field(default_factory=Appends)
    polls: Polls = field(default_factory=Polls)
    empties: Claims = field(default_factory=Claims)
    """Empty polls: the end was ≤ ``at``."""
    ends: Claims = field(default_factory=Claims)
    """End queries: the end was exactly ``at``."""
    starts: Claims = field(default_factory=Claims)
    """Start queries: the first offset was exactly ``at``."""
    refused: Claims = field(default_factory=Claims)
    """Polls refused because the start was already > ``at``."""

    def without(self, queues: Collection[int]) -> LogInput:
        """What is said of all logs but *queues*. Appends whose queue nobody knows stay."""
        return self._of(list(queues), False) if queues else self

    def only(self, queues: Collection[int]) -> LogInput:
        """What is said of *queues*. Appends whose queue nobody knows stay."""
        return self._of(list(queues), True)

    def queues(self) -> list[int]:
        """The logs of which anything is said, in order."""
        tables = (self.appends, self.polls, self.empties, self.ends, self.starts, self.refused)
        named = np.unique(np.concatenate([table.queue for table in tables]))
        return [queue for queue in named.tolist() if queue >= 0]

    def _of(self, queues: list[int], are_kept: bool) -> LogInput:
        kept = np.full(self.queue_count + 1, not are_kept, dtype=np.bool_)
        kept[queues] = are_kept
        kept[-1] = True  # queue −1
        claims = {name: _claims_of(getattr(self, name), kept) for name in ("empties", "ends", "starts", "refused")}
        return LogInput(self.queue_count, _appends_of(self.appends, kept), _polls_of(self.polls, kept), **claims)


@dataclass(frozen=True, slots=True)
class LogViolation:
    """Why a log is not linearizable. ``ops`` are the operation numbers that prove it, two for an order violation.

    ``kind`` is a name of the catalogue. ``low`` and ``high`` are the offsets i ≤ j of the pair (equal for content);
    ``low_by`` and ``high_by`` say what set the two bounds.
    """

    kind: str
    queue: int
    low: int
    high: int
    ops: tuple[int, ...]
    values: tuple[int, ...] = ()
    low_by: Source = "none"
    high_by: Source = "none"
    count: int = 1
    """How many violations of this kind there are; this is the shortest, then the earliest."""

    def where(self) -> Mapping[str, int]:
        return {"queue": self.queue, "low": self.low, "high": self.high}


def _appends_of(appends: Appends, kept: Bools) -> Appends:
    kept_rows, batch = kept[appends.queue], appends.batch
    queue, value, offset = appends.queue[kept_rows], appends.value[kept_rows], appends.offset[kept_rows]
    invoke, ret, outcome, op = (
        appends.invoke[kept_rows],
        appends.ret[kept_rows],
        appends.outcome[kept_rows],
        appends.op[kept_rows],
    )
    return Appends(queue, value, offset, invoke, ret, outcome, op, None if batch is None else batch[kept_rows])


def _claims_of(claims: Claims, kept: Bools) -> Claims:
    kept_rows = kept[claims.queue]
    return Claims(*(getattr(claims, name)[kept_rows] for name in ("queue", "at", "invoke", "ret", "op")))


def _polls_of(polls: Polls, kept: Bools) -> Polls:
    kept_rows, names = kept[polls.queue], ("queue", "count", "invoke", "ret", "op", "asked")
    read = np.repeat(kept_rows, polls.count)
    columns = {name: getattr(polls, name)[kept_rows] for name in names}
    return Polls(**columns, offset=polls.offset[read], value=polls.value[read])
