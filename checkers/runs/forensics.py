"""Where each lost message died: from the history, and from what the nodes left on their disks.

Question: an acknowledged message is gone. Was it never stored, stored on one node only, cut off by a recovery, left in
the log but not in its queue, or written over?

Model. Two kinds of evidence. The history tells who saw it last, and what stands at its place now. A :class:`NodeDump`
tells of one node: which messages are in its commit log (and where that ends), which slots its consume queues have, and
which messages can still be recognised in the bytes *behind* the end of the log (recovery leaves them there). The fates,
the first that fits:

    in-queue        log and consume queue have it: it was there, and yet nobody could read it
    not-in-queue    the log has it, its queue does not: it was not dispatched
    elsewhere       another node of the same broker has it: it was replicated, and lost on this one
    truncated       it can be recognised behind the end of the log: recovery cut it off
    overwritten     its offset holds another message now
    never-on-disk   no dump of its broker knows it: the page cache was all it ever reached
    behind-the-end  without dumps: its queue ends before it
    unexplained     without dumps: later offsets of its queue are there

The *shape* of the loss in its queue (prefix, middle, suffix, all) says which mechanism to look for.

Limits. A dump is taken at the end of the run: what was on a disk in between is not known. Bodies are recognised by the
harness; this module only compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from checkers.history.columns import NEVER, Ints
from checkers.history.dumps import NodeDump
from checkers.history.history import History
from checkers.history.ledger import Ledger


@dataclass(frozen=True)
class Death:
    """One lost message: its fate, in words, and who saw it last (−1: nobody)."""

    message: int
    fate: str
    sentence: str
    last_reader: int = -1

    def to_json(self) -> dict[str, Any]:
        return {"message": self.message, "fate": self.fate, "sentence": self.sentence, "last_reader": self.last_reader}


def deaths_of(history: History, ledger: Ledger, lost: Ints, dumps: tuple[NodeDump, ...] = ()) -> list[Death]:
    """The fate of each of *lost* (message numbers), in their order."""
    now = _places_now(history, lost, ledger)
    readers = _last_readers(history, lost)
    return [_death(history, ledger, int(message), dumps, now, readers) for message in lost.tolist()]


def shape_of(history: History, ledger: Ledger, lost: Ints) -> dict[str, str]:
    """By queue name: ``prefix``, ``middle``, ``suffix`` or ``all`` of what it held before the loss."""
    shapes: dict[str, str] = {}
    offsets = history.ops.offset[ledger.row]
    invoked = np.where(ledger.row >= 0, history.ops.invoke_event[ledger.row], NEVER)
    for queue in np.unique(ledger.queue[lost]).tolist():
        gone = offsets[lost[ledger.queue[lost] == queue]]
        kept = np.flatnonzero((ledger.queue == queue) & ledger.drained & (ledger.row >= 0))
        # Whoever holds a lost message's place came after the loss, and so did everything sent later.
        successors = kept[np.isin(offsets[kept], gone)]
        kept = offsets[kept[invoked[kept] < invoked[successors].min(initial=NEVER)]]
        shapes[history.queues.name(queue)] = _shape(gone, kept[kept >= 0])
    return shapes


def _shape(gone: Ints, kept: Ints) -> str:
    if not len(kept):
        return "all"
    if int(gone.min()) > int(kept.max()):
        return "suffix"
    return "prefix" if int(gone.max()) < int(kept.min()) else "middle"


def _places_now(history: History, lost: Ints, ledger: Ledger) -> dict[tuple[int, int], int]:
    """(queue, offset) → message that the drain found there, for the places of *lost*; and the last place of a queue."""
    reads, ops = history.reads, history.ops
    rows = np.flatnonzero(ops.f.mask("drain")[ops.rows(reads.op)] & (reads.message >= 0))
    queue = ops.queue[ops.rows(reads.op[rows])]
    in_queues = np.isin(queue, ledger.queue[lost])
    pairs = zip(queue[in_queues].tolist(), reads.offset[rows[in_queues]].tolist(), strict=True)
    return dict(zip(pairs, reads.message[rows[in_queues]].tolist(), strict=True))


def _last_readers(history: History, lost: Ints) -> dict[int, int]:
    reads = history.reads
    rows = np.flatnonzero(np.isin(reads.message, lost))
    return dict(zip(reads.message[rows].tolist(), reads.op[rows].tolist(), strict=True))


def _death(
    history: History,
    ledger: Ledger,
    message: int,
    dumps: tuple[NodeDump, ...],
    now: Mapping[tuple[int, int], int],
    readers: Mapping[int, int],
) -> Death:
    queue, offset = int(ledger.queue[message]), int(history.ops.offset[ledger.row[message]])
    broker = history.queues.broker_of(queue)
    of_broker = [dump for dump in dumps if dump.broker == broker]
    fate, words = _fate(history, message, queue, offset, of_broker, now)
    reader = readers.get(message, -1)
    seen = f"; last seen by {history.op_text(reader)}" if reader >= 0 else "; nobody ever read it"
    sentence = f"m{message} ({history.queues.name(queue)} @{offset}): {words}{seen}"
    return Death(message, fate, sentence, reader)


def _fate(
    history: History,
    message: int,
    queue: int,
    offset: int,
    dumps: list[NodeDump],
    now: Mapping[tuple[int, int], int],
) -> tuple[str, str]:
    master = next((dump for dump in dumps if dump.is_first_master), None)
    if master is not None and message in master.log:
        return _in_log(history, master, message, queue, offset)
    other = next((dump for dump in dumps if dump is not master and message in dump.log), None)
    if other is not None:
        return "elsewhere", f"only {other.node} has it, at position {other.log[message]}"
    behind = next((dump for dump in dumps if message in dump.behind), None)
    if behind is not None:
        words = f"at position {behind.behind[message]}, behind the end of the log of {behind.node} at {behind.log_end}"
        return "truncated", f"cut off: its bytes are still there {words}"
    holder = now.get((queue, offset))
    if holder is not None:
        return "overwritten", f"its place holds m{holder} now"
    if dumps:
        return "never-on-disk", f"no trace on the disk of {', '.join(dump.node for dump in dumps)}"
    return _by_history_alone(queue, offset, now)


def _in_log(history: History, dump: NodeDump, message: int, queue: int, offset: int) -> tuple[str, str]:
    row = int(np.searchsorted(history.queues.queue, queue))
    slots = dump.queued.get((history.queues.topic[row], int(history.queues.queue_id[row])), {})
    where = f"the log of {dump.node} has it at position {dump.log[message]}"
    slot = slots.get(offset)
    if slot == dump.log[message]:
        return "in-queue", f"{where}, and so has its queue: it was not read"
    if slot is None:
        return "not-in-queue", f"{where}, but its queue has no slot for it (the last is @{max(slots, default=-1)})"
    return "not-in-queue", f"{where}, but its slot points to position {slot}"


def _by_history_alone(queue: int, offset: int, now: Mapping[tuple[int, int], int]) -> tuple[str, str]:
    end = max((place for of, place in now if of == queue), default=-1)
    if end < offset:
        return "behind-the-end", f"its queue ends at @{end} now" if end >= 0 else "its queue is empty now"
    return "unexplained", f"its place is empty, and its queue goes on to @{end}"
