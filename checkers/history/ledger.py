"""The fate of every message: sent where, answered how, seen when, there at the end.

Question: what became of each message, in one array a question?

Model. Messages are numbers from 0. A message may have several sends (retries); its outcome is the best of them in the
order ok, weak, info, fail, and place and position are those of that send. *Seen*: some pull showed it. *Drained*: the
drain after the last heal showed it. A queue is drained if an answer of the drain said that nothing follows what was
read; only then is the absence of a message evidence.

Limits. Reads of messages that are not ours (−1) have no fate; they are counted by :mod:`checkers.runs.accounting`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.history.columns import NEVER, Bools, Ints
from checkers.history.history import OUTCOMES, History

RANKED = ("ok", "weak", "info", "fail")
OK, WEAK, INFO, FAIL, UNSENT = range(5)
"""Outcomes of a message, the best first."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Arrays by message number. ``row``: row in ops of the best send, −1 if it was never sent."""

    outcome: Ints
    row: Ints
    queue: Ints
    position: Ints
    """Physical position in the log of its broker, −1 if not told."""
    attempts: Ints
    """Sends that may have stored it (all but those that certainly failed)."""
    seen: Bools
    drained: Bools
    copies: Ints
    """Different places (queue, offset) at which the drain found it."""
    drained_queues: Ints
    """Queues that were read to their end, ascending."""

    def __len__(self) -> int:
        return len(self.outcome)

    def where(self, mask: Bools) -> Ints:
        """Message numbers of *mask*, ascending."""
        return np.flatnonzero(mask)


def ledger_of(history: History) -> Ledger:
    """One pass over sends and reads."""
    ops = history.ops
    count = 1 + max(int(ops.message.max(initial=-1)), int(history.reads.message.max(initial=-1)))
    sends = np.flatnonzero(ops.f.mask("send") & (ops.message >= 0))
    row = _best_send(history, sends, count)
    sent = row >= 0
    rank = _rank(history)
    of_read = ops.rows(history.reads.op)
    is_drain = ops.f.mask("drain")[of_read]
    is_pull = ~ops.f.mask("deliver")[of_read]  # what listeners were given is judged by itself
    return Ledger(
        outcome=np.where(sent, rank[row], UNSENT),
        row=row,
        queue=np.where(sent, ops.queue[row], -1),
        position=np.where(sent, ops.position[row], -1),
        attempts=np.bincount(ops.message[sends][rank[sends] != FAIL], minlength=count),
        seen=_mark(history.reads.message[is_pull], count),
        drained=_mark(history.reads.message[is_drain], count),
        copies=_copies(history, is_drain, count),
        drained_queues=_drained_queues(history, is_drain),
    )


def _rank(history: History) -> Ints:
    """By row: 0 ok, 1 weak, 2 info, 3 fail."""
    outcome = history.ops.outcome
    order = np.array([RANKED.index(value) for value in outcome.values] or [0], dtype=np.int64)
    return order[outcome.codes]


def _best_send(history: History, sends: Ints, count: int) -> Ints:
    """The row of each message's best send; the first of equals."""
    row = np.full(count, -1, dtype=np.int64)
    message = history.ops.message[sends]
    if len(sends) and int(np.bincount(message).max()) > 1:
        order = np.lexsort((history.ops.invoke_event[sends], _rank(history)[sends]))
        sends, message = sends[order[::-1]], message[order[::-1]]
    row[message] = sends
    return row


def _mark(messages: Ints, count: int) -> Bools:
    mark = np.zeros(count, dtype=np.bool_)
    mark[messages[messages >= 0]] = True
    return mark


def _copies(history: History, is_drain: Bools, count: int) -> Ints:
    reads = history.reads
    rows = np.flatnonzero(is_drain & (reads.message >= 0))
    queue = history.ops.queue[history.ops.rows(reads.op[rows])]
    places = np.stack((reads.message[rows], queue, reads.offset[rows]))
    if len(rows) and int(np.bincount(places[0]).max()) > 1:
        places = np.unique(places, axis=1)
    return np.bincount(places[0], minlength=count)


def _drained_queues(history: History, is_drain: Bools) -> Ints:
    """Queues for which an empty answer of the drain came at (or behind) the greatest offset that the drain had read."""
    ops, reads = history.ops, history.reads
    empty = np.flatnonzero(ops.f.mask("drain") & ops.status.mask("PULL_NOT_FOUND") & ops.outcome.mask("ok"))
    end: dict[int, int] = {}
    for queue, offset in zip(ops.queue[empty].tolist(), ops.offset[empty].tolist(), strict=True):
        end[queue] = max(end.get(queue, -1), offset)
    queues = np.array(sorted(end), dtype=np.int64)
    if not len(queues):
        return queues
    rows = np.flatnonzero(is_drain)
    of_read = ops.queue[ops.rows(reads.op[rows])]
    top = np.full(int(max(queues.max(), of_read.max(initial=-1))) + 1, -1, dtype=np.int64)
    np.maximum.at(top, of_read, reads.offset[rows])
    reached = np.array([end[queue] > top[queue] for queue in queues.tolist()], dtype=np.bool_)
    return queues[reached]


def ack_ns(history: History, ledger: Ledger, messages: Ints) -> Ints:
    """When each of *messages* was answered, :data:`NEVER` if it was not."""
    done = history.ops.complete_ns[ledger.row[messages]]
    return np.where(done >= 0, done, NEVER)


assert set(RANKED) == set(OUTCOMES), "the ledger ranks exactly the outcomes of a history"
