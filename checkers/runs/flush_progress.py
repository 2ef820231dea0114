"""How far must an asynchronous flush have come?

Question: a power cut took the end of a log from some position on. Is there so much that had been written so long before
that the flush thread must have brought more of it to the disk?

Model (RocketMQ: FlushRealTimeService, MappedFileQueue#flush). Every ``flushIntervalCommitLog`` the thread forces one
file, the one that holds the position up to which it has come: what is written of it, if ``flushCommitLogLeastPages``
pages are dirty or the file is full. So the last turn that can be relied upon began one interval and the slack before
the cut, and what is lost cannot begin more than leastPages behind what had been written then. But a turn ends at the
end of its file: where nothing is left of the file that the loss begins in, the last turn may have ended there, however
much stood behind it. Then the one before ended where the log itself ended at that time, or at a file's end, too:

    | file n-1 ........ | file n ......... |          lost: all of file n
      turn 1  ──────►|    turn 2 (the last)           turn 2 ended at the border, turn 1 where the log ended then

A slow disk makes every turn longer by as much as it makes a force late.

Limits. The slack is given once, not for each turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from checkers.history.facts import RunFacts
from checkers.runs.expiry import DEFAULT_FILE_BYTES

PAGE_BYTES: Final = 4096
MATTERS_NS: Final = 60_000_000_000
"""Nanoseconds; a force that was late so long before a cut is over."""


@dataclass(frozen=True)
class FlushRule:
    """How long a byte may stay unflushed in ASYNC_FLUSH; nanoseconds, pages, bytes."""

    interval_ns: int
    thorough_ns: int
    least_pages: int
    slack_ns: int
    file_bytes: int = DEFAULT_FILE_BYTES

    @staticmethod
    def of(facts: RunFacts, broker: str, loss_ns: int) -> FlushRule:
        """From the node's own properties, with RocketMQ's defaults; before the cut at *cut_ns*."""
        properties = facts.properties(broker)
        late_ns = _late_ns(facts, broker, loss_ns)
        return FlushRule(
            interval_ns=int(properties.get("flushIntervalCommitLog", "500")) * 1_000_000 + late_ns,
            thorough_ns=int(properties.get("flushCommitLogThoroughInterval", "10000")) * 1_000_000,
            least_pages=int(properties.get("flushCommitLogLeastPages", "4")),
            slack_ns=facts.slack_ns() + late_ns,
            file_bytes=int(properties.get("mappedFileSizeCommitLog", DEFAULT_FILE_BYTES)),
        )


def _late_ns(facts: RunFacts, broker: str, loss_ns: int) -> int:
    nodes = facts.cluster.nodes_of(broker)
    return max((facts.conditions.forces_late_ns(node, loss_ns - MATTERS_NS, loss_ns) for node in nodes), default=0)


@dataclass(frozen=True)
class Overdue:
    """*dirty* bytes, lost in the end, had been written *before_ns* before the cut."""

    before_ns: int
    dirty: int


def overdue(rule: FlushRule, first: int, kept_to: int, written_by: Callable[[int], int]) -> Overdue | None:
    """What must have been flushed of a loss that begins at position *first*; ``None``: nothing.

    *kept_to*: the greatest position that was not lost (−1: none); ``written_by(ns)``: the greatest one that was written
    *ns* before the cut.
    """
    limit = (rule.least_pages + 1) * PAGE_BYTES
    found = None
    for before_ns, place in _turns(rule, first, kept_to):
        dirty = written_by(before_ns) - place
        if dirty < limit:
            return None
        found = found or Overdue(before_ns, dirty)
    return found


def _turns(rule: FlushRule, first: int, kept_to: int) -> Iterator[tuple[int, int]]:
    """(how long before the cut it began at the earliest, where it ended at the earliest), the last turn first; the
    first of them that did not end at the end of a file decides."""
    before_ns = rule.interval_ns + rule.slack_ns
    yield before_ns, first
    begin = first - first % rule.file_bytes
    if kept_to < begin:
        for place in range(begin, -1, -rule.file_bytes):
            before_ns += rule.interval_ns
            yield before_ns, place
