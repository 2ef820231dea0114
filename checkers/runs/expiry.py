"""Expiry: acknowledged messages that their broker deleted because it was time, and not one more.

Question: an acknowledged message is not there any more, and its broker says that its queue begins behind it. May that
be?

Model (RocketMQ: CleanCommitLogService). Log files are deleted as a whole, the oldest first, the last one never: if they
have not changed for ``fileReservedTime`` hours (72), or if a disk is nearly full, whatever their age. So a lost message
has *expired* if

  begin   its master has said that its queue begins behind it, in a later file: a query of the minimum, a refusal that
          sends forward, or an answer that begins behind what was asked for (files go before the minimum is corrected,
          in 5.3 up to ten seconds)
  age     it had been sent so long before, or the disk of its master was filled before and not free again when it was
          sent
  file    its broker has acknowledged a message of a later log file, and of those that had been sent to the same file
          when the queue was last said to begin behind it, none was read afterwards

An answer that begins behind what was asked for is *explained* if some log file can have been the first one left: what
is known to lie before its beginning is in files before that one, and old enough; what is known to lie from there on is
in none of these; and it is neither the first file nor behind the last one. Known is what was acknowledged, and must
still have been there after the power cuts before (:func:`begins_later`).

Limits. What a step of the broker's clock adds to the age of its files is not counted. Each message is as old as its own
send, not as the last one in its file; and the later file may have been begun after the word of the broker. Answers that
begin later are looked at one by one. Messages that nobody acknowledged may be of any age if one that is known lies
before them, and if none does, one of them has to be old enough. What was acknowledged before a power cut counts unless
there are as many sends without a known place as it takes to replace it, even if these are seen elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from checkers.history.columns import NEVER, Bools, Ints
from checkers.history.facts import RunFacts
from checkers.history.groups import of_slaves
from checkers.history.history import History
from checkers.history.ledger import Ledger
from checkers.verdict import Anomaly

DEFAULT_RESERVED_HOURS = 72
DEFAULT_FILE_BYTES = 1 << 30
_HOUR_NS = 3_600_000_000_000
_NAMED = 20


@dataclass(frozen=True)
class Retention:
    """What one broker may delete: bytes, nanoseconds, numbers of log files."""

    reserved_ns: int
    fills: tuple[tuple[int, int], ...]
    """When the disk of its master began to be filled, and from when on nothing sent can go for it."""
    file_bytes: int
    last_file: int
    """The file of the last message that it acknowledged."""

    @staticmethod
    def of(history: History, facts: RunFacts, broker: str) -> Retention:
        ops, properties = history.ops, facts.properties(broker)
        fills = [fault for fault in facts.faults if fault.does("fills-disk") and fault.effective != 0]
        sends = ops.f.mask("send") & ops.outcome.mask("ok", "weak") & ops.node.mask(broker)
        file_bytes = int(properties.get("mappedFileSizeCommitLog", DEFAULT_FILE_BYTES))
        return Retention(
            reserved_ns=int(properties.get("fileReservedTime", DEFAULT_RESERVED_HOURS)) * _HOUR_NS,
            fills=tuple(
                (fault.begin_ns, fault.heal_ns + facts.slack_ns()) for fault in fills if facts.hits(fault, broker)
            ),
            file_bytes=file_bytes,
            last_file=int(ops.position[sends].max(initial=-1)) // file_bytes,
        )

    def lets_go(self, sent_ns: Ints, position: Ints, told_ns: Ints) -> Bools:
        """Whether messages sent and stored there may have been gone when that was told."""
        # A message is stored after it is sent: by the age of its send alone it may go earlier than RocketMQ lets it,
        # never later, so nothing that may be gone is called a loss.
        in_time: Bools = told_ns - sent_ns >= self.reserved_ns
        for begin_ns, end_ns in self.fills:
            in_time |= (told_ns > begin_ns) & (sent_ns < end_ns)
        # Whole files go, the oldest first, and never the last: what lies in the file of the last message stays.
        gone: Bools = in_time & (told_ns < NEVER) & (position >= 0) & (position // self.file_bytes < self.last_file)
        return gone


def expired(history: History, facts: RunFacts, ledger: Ledger, lost: Ints) -> Bools:
    """Which of *lost* (message numbers) their brokers had a right to delete."""
    found = np.zeros(len(lost), dtype=np.bool_)
    for broker, of_broker in _by_broker(history, ledger, lost):
        found[of_broker] = _expired_of(
            history, facts, ledger, broker, Retention.of(history, facts, broker), lost[of_broker]
        )
    return found


def _expired_of(
    history: History, facts: RunFacts, ledger: Ledger, broker: str, retention: Retention, lost: Ints
) -> Bools:
    sent_ns, position = history.ops.invoke_ns[ledger.row[lost]], ledger.position[lost]
    files = position // retention.file_bytes
    told_ns, last_ns = _told_to_be_gone(history, facts, ledger, lost, files, retention.file_bytes)
    gone = retention.lets_go(sent_ns, position, told_ns)
    # Files go oldest first and do not come back: who reads a message of the file afterwards proves that it was there.
    if gone.any():
        gone[gone] = ~_is_read_later(history, facts, ledger, broker, retention.file_bytes, files[gone], last_ns[gone])
    return gone


def begins_later(history: History, facts: RunFacts, within: Ints | None = None) -> Ints:
    """Rows of answers that begin behind the offset asked for, where all that is known to lie before that beginning may
    be gone, and what is known to lie behind it is in a later file. If nothing is known to lie before it, some send of
    which nobody knows where it went must be old enough.

    *within*: by row of ``ops``, the epoch between power cuts in which it was asked and answered, −1 if these differ
    (``None``: nobody cut power). What was acknowledged in an epoch before the one that an answer shows is known to be
    there if there are not sends enough to have taken its place, and all that is behind it.
    """
    ops = history.ops
    within = np.zeros(len(ops), dtype=np.int64) if within is None else within
    rows, first = _skipping(history, facts)
    kept = [np.empty(0, dtype=np.int64)]
    for queue in np.unique(ops.queue[rows]).tolist():
        in_queue = ops.queue[rows] == queue
        kept.append(_kept(history, facts, queue, rows[in_queue], first[in_queue], within))
    return np.sort(np.concatenate(kept))


def _kept(history: History, facts: RunFacts, queue: int, rows: Ints, first: Ints, within: Ints) -> Ints:
    """Those of *rows*, which ask one queue and begin at *first*, that retention explains."""
    ops = history.ops
    retention = Retention.of(history, facts, history.queues.broker_of(queue))
    if retention.last_file <= 0:
        return rows[:0]  # the last file never goes, and there is no other
    tried = np.flatnonzero(ops.f.mask("send") & (ops.queue == queue) & ~ops.outcome.mask("fail"))
    stored = _stored(history, facts)
    stored = stored[(ops.queue[stored] == queue) & (ops.position[stored] >= 0)]
    stored = stored[np.argsort(ops.offset[stored], kind="stable")]
    # A send that no epoch holds whole (−1) may have been stored before or after the power cut: it is sure nowhere.
    sure = stored[within[stored] >= 0]
    shown = _epoch_shown(history, rows, stored, within)
    found = np.zeros(len(rows), dtype=np.bool_)
    for epoch in np.unique(shown).tolist():
        in_epoch = np.flatnonzero(shown == epoch)
        here = sure[within[sure] == epoch]
        latest_ns, highest = np.full(len(in_epoch), -1, dtype=np.int64), np.zeros(len(in_epoch), dtype=np.int64)
        for known, count in _known_before(ops.offset, sure, within, epoch, first[in_epoch], len(tried) - len(sure)):
            # The youngest and the highest of all that must have gone decide: the rest is older, and in older files.
            latest_ns = np.maximum(latest_ns, _most(ops.invoke_ns[known])[count])
            highest = np.maximum(highest, _most(ops.position[known])[count])
        others_ns = ops.invoke_ns[np.setdiff1d(tried, here, assume_unique=True)]
        # Nothing known lies before: then the oldest send that can have is the best excuse there is.
        latest_ns = np.where(latest_ns < 0, others_ns.min(initial=NEVER), latest_ns)
        lowest = _least_behind(ops.offset, ops.position, here, first[in_epoch])
        gone = retention.lets_go(latest_ns, highest, ops.complete_ns[rows[in_epoch]])
        found[in_epoch] = gone & (highest // retention.file_bytes < lowest // retention.file_bytes)
    return rows[found]


def _known_before(
    offset: Ints, stored: Ints, within: Ints, epoch: int, first: Ints, unsure: int
) -> Iterator[tuple[Ints, Ints]]:
    """(rows of *stored*, by offset; how many of them are known to lie before each of *first* in *epoch*), epoch by
    epoch: *unsure* sends may each have taken an offset that a power cut had freed."""
    later = np.empty(0, dtype=np.int64)
    for number in range(epoch, -1, -1):
        known = stored[within[stored] == number]
        # Of an earlier epoch only so much is known to stand below *first* as the places that later epochs, and sends
        # that nobody is sure of, cannot have taken; and nothing at or behind the first place that was given out again.
        stays = first - np.searchsorted(later, first) - unsure if number < epoch else first
        yield known, np.searchsorted(offset[known], np.minimum(stays, later[0]) if len(later) else stays)
        later = np.union1d(later, offset[known])


def _most(values: Ints) -> Ints:
    """The greatest of the first of *values*, by how many; −1 of none."""
    return np.maximum.accumulate(np.concatenate(([-1], values)))


def _least_behind(offset: Ints, position: Ints, known: Ints, first: Ints) -> Ints:
    """The lowest position of those *known*, by offset, that stand at each of *first* or behind it."""
    lowest = np.minimum.accumulate(np.concatenate((position[known], [NEVER]))[::-1])[::-1]
    return lowest[np.searchsorted(offset[known], first)]


def _epoch_shown(history: History, rows: Ints, stored: Ints, within: Ints) -> Ints:
    """By answer: the epoch of the first message it shows that was acknowledged where it was read (one of *stored*), so
    that nothing before that has been lost since; its own, if there is none."""
    ops, reads = history.ops, history.reads
    shown = within[rows]
    if not within[stored].any() and not shown.any():
        return shown
    begins, ends = (np.searchsorted(reads.op, ops.op[rows], side=side).tolist() for side in ("left", "right"))
    cells = zip(ops.offset[stored].tolist(), ops.message[stored].tolist(), strict=True)
    where = dict(zip(cells, stored.tolist(), strict=True))
    for index, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        read = zip(reads.offset[begin:end].tolist(), reads.message[begin:end].tolist(), strict=True)
        known = next((where[cell] for cell in read if cell in where), -1)
        shown[index] = within[known] if known >= 0 else shown[index]
    return shown


def _by_broker(history: History, ledger: Ledger, messages: Ints) -> list[tuple[str, Bools]]:
    names = [history.queues.broker_of(queue) for queue in ledger.queue[messages].tolist()]
    return [(broker, np.array([name == broker for name in names], dtype=np.bool_)) for broker in sorted(set(names))]


def _told_to_be_gone(
    history: History, facts: RunFacts, ledger: Ledger, lost: Ints, files: Ints, file_bytes: int
) -> tuple[Ints, Ints]:
    """By message, with *files* their log files: when its master first said, and last, that its queue begins behind it,
    and not in the same file; :data:`NEVER`, and −1, if it did not. What it said before the message was sent was about
    another one."""
    ops = history.ops
    offset, sent_ns = ops.offset[ledger.row[lost]], ops.invoke_ns[ledger.row[lost]]
    stored = _stored(history, facts)
    told_ns, last_ns = np.full(len(lost), NEVER, dtype=np.int64), np.full(len(lost), -1, dtype=np.int64)
    for queue, start, said_ns in _beginnings(history, facts):
        first = ops.position[stored[(ops.queue[stored] == queue) & (ops.offset[stored] == start)]]
        is_before = (ledger.queue[lost] == queue) & (offset >= 0) & (offset < start) & (sent_ns <= said_ns[-1])
        known = np.flatnonzero(is_before & (files < _first_file(first, file_bytes)))
        # The first time that it was said after the send: said before, it was about another message at that offset.
        told_ns[known] = np.minimum(told_ns[known], said_ns[np.searchsorted(said_ns, sent_ns[known])])
        last_ns[known] = np.maximum(last_ns[known], said_ns[-1])
    return told_ns, last_ns


def _stored(history: History, facts: RunFacts) -> Ints:
    """Rows of the sends that were answered with an offset."""
    ops = history.ops
    return np.flatnonzero(ops.f.mask("send") & ops.outcome.mask("ok", "weak") & (ops.offset >= 0))


def _first_file(first: Ints, file_bytes: int) -> int:
    """Where a queue begins with a message at the position *first*, only files before this one are gone; any, if nobody
    knows where it stands, or offsets were used again."""
    return int(first[0]) // file_bytes if len(first) == 1 and first[0] >= 0 else int(NEVER)


def _beginnings(history: History, facts: RunFacts) -> Iterator[tuple[int, int, Ints]]:
    """(queue, where its master said that it begins, when, in order), each once: who asks on and on is told the same."""
    ops = history.ops
    claims = (_minima(history, facts), _refusals(history, facts), _skipping(history, facts))
    row, start = (np.concatenate([claim[side] for claim in claims]) for side in (0, 1))
    # Sorted by queue, then by beginning, then by time, equal claims are runs: a border is where one of the two changes.
    order = np.lexsort((ops.complete_ns[row], start, ops.queue[row]))
    row, start = row[order], start[order]
    is_new = (np.diff(ops.queue[row], prepend=-1) != 0) | (np.diff(start, prepend=-1) != 0)
    begins = np.flatnonzero(is_new).tolist()
    for begin, end in pairwise([*begins, len(row)]):
        yield int(ops.queue[row[begin]]), int(start[begin]), ops.complete_ns[row[begin:end]]


def _is_read_later(
    history: History, facts: RunFacts, ledger: Ledger, broker: str, file_bytes: int, files: Ints, at_ns: Ints
) -> Bools:
    """Whether a message that was sent to one of *files* of *broker* by then was read by somebody who asked later."""
    ops = history.ops
    row, asked_ns = _reads_of(history, facts, ledger, broker)
    file = ops.position[row] // file_bytes
    found = np.zeros(len(files), dtype=np.bool_)
    for number in np.unique(files).tolist():
        in_file, sends_in_file = files == number, file == number
        # More reads of messages sent by then than reads asked by then: one of them at least was asked later.
        sent = np.searchsorted(np.sort(ops.invoke_ns[row[sends_in_file]]), at_ns[in_file], side="right")
        over = np.searchsorted(np.sort(asked_ns[sends_in_file]), at_ns[in_file], side="right")
        found[in_file] = sent > over
    return found


def _reads_of(history: History, facts: RunFacts, ledger: Ledger, broker: str) -> tuple[Ints, Ints]:
    """(row of the send of each message that the master of *broker* showed where it was acknowledged, when it was asked
    for)."""
    ops, reads = history.ops, history.reads
    queues = [queue for queue in history.queues.queue.tolist() if history.queues.broker_of(queue) == broker]
    asked = _of_masters(history, facts) & ops.f.mask("drain", "pull") & np.isin(ops.queue, queues)
    of_op = ops.rows(reads.op)
    known = np.flatnonzero(asked[of_op] & (reads.message >= 0))
    row = ledger.row[reads.message[known]]
    is_there = (row >= 0) & (ops.queue[row] == ops.queue[of_op[known]]) & (ops.offset[row] == reads.offset[known])
    is_there &= ops.position[row] >= 0
    return row[is_there], ops.invoke_ns[of_op[known[is_there]]]


def _of_masters(history: History, facts: RunFacts) -> Bools:
    return history.ops.outcome.mask("ok") & (history.ops.queue >= 0) & ~of_slaves(history, facts)


def _minima(history: History, facts: RunFacts) -> tuple[Ints, Ints]:
    """(rows, where the queue begins), as with the other two."""
    rows = np.flatnonzero(_of_masters(history, facts) & history.ops.f.mask("query_min") & (history.ops.offset > 0))
    return rows, history.ops.offset[rows]


def _refusals(history: History, facts: RunFacts) -> tuple[Ints, Ints]:
    ops = history.ops
    rows = np.flatnonzero(
        _of_masters(history, facts) & ops.f.mask("drain", "pull") & ops.status.mask("PULL_OFFSET_MOVED")
    )
    rows = rows[ops.next_offset[rows] > ops.offset[rows]]
    return rows, ops.next_offset[rows]


def _skipping(history: History, facts: RunFacts) -> tuple[Ints, Ints]:
    ops = history.ops
    found = _of_masters(history, facts) & ops.f.mask("drain", "pull") & ops.status.mask("FOUND")
    rows = np.flatnonzero(found & (ops.count > 0) & (ops.offset >= 0))
    first = _first_read(history, rows)
    is_later = first > ops.offset[rows]
    return rows[is_later], first[is_later]


def _first_read(history: History, rows: Ints) -> Ints:
    """The offset of the first message that each of *rows* read; −1 where none was kept."""
    ops, reads = history.ops, history.reads
    if not len(reads):
        return np.full(len(rows), -1, dtype=np.int64)
    place = np.minimum(np.searchsorted(reads.op, ops.op[rows]), len(reads) - 1)
    return np.where(reads.op[place] == ops.op[rows], reads.offset[place], -1)


def judge_expired(history: History, facts: RunFacts, ledger: Ledger, gone: Ints) -> list[Anomaly]:
    """An allowed anomaly a broker: how many of its messages have expired."""
    return [
        _anomaly(history, facts, ledger, broker, gone[messages])
        for broker, messages in _by_broker(history, ledger, gone)
    ]


def _anomaly(history: History, facts: RunFacts, ledger: Ledger, broker: str, messages: Ints) -> Anomaly:
    first = messages[np.argsort(ledger.position[messages], kind="stable")][:_NAMED]
    hours = facts.properties(broker).get("fileReservedTime", str(DEFAULT_RESERVED_HOURS))
    last_ns = int(history.ops.invoke_ns[ledger.row[messages]].max())
    sentence = (
        f"{len(messages)} acknowledged messages of {broker} deleted with whole log files, the last of them sent at "
        f"{facts.clock(last_ns)}: its queues begin behind them. Files are kept for {hours} hours, and less "
        f"where a disk is nearly full."
    )
    details = {"broker": broker, "count": len(messages), "messages": first.tolist()}
    return Anomaly("expired", sentence, tuple(history.ops.op[ledger.row[first]].tolist()), details, allowed=True)
