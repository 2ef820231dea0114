"""Expiry: acknowledged messages that their broker deleted because it was time, and not one more.

Question: an acknowledged message is not there any more, and its broker says that its queue begins behind it. May that
be?

Model (RocketMQ: CleanCommitLogService). Log files are deleted as a whole, the oldest first, the last one never: if they
have not changed for ``fileReservedTime`` hours (72), or if a disk is nearly full, whatever their age. So a lost message
has *expired* if

  begin   its master has said that its queue begins behind it: a query of the minimum, a refusal that sends forward, or
          an answer that begins behind what was asked for (for up to a second files go before the minimum is corrected)
  age     it had been sent so long before, or the disk of its master was filled before
  file    its broker has acknowledged a message of a later log file

Limits. What a step of the broker's clock adds to the age of its files is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.columns import NEVER, Bools, Ints
from checkers.facts import RunFacts
from checkers.groups import of_slaves
from checkers.history import History, seconds
from checkers.ledger import Ledger
from checkers.verdict import Anomaly

DEFAULT_RESERVED_HOURS = 72
DEFAULT_FILE_BYTES = 1 << 30
_HOUR_NS = 3_600_000_000_000
_NAMED = 20


@dataclass(frozen=True)
class Retention:
    """What one broker may delete: bytes, nanoseconds, numbers of log files."""

    reserved_ns: int
    filled_ns: int
    """When the disk of its master was filled for the first time; :data:`NEVER` if it was not."""
    file_bytes: int
    last_file: int
    """The file of the last message that it acknowledged."""

    @staticmethod
    def of(history: History, facts: RunFacts, broker: str) -> Retention:
        ops, properties = history.ops, facts.properties(broker)
        fills = [fault for fault in facts.faults if fault.kind == "fill_disk" and fault.effective != 0]
        sends = ops.f.mask("send") & ops.outcome.mask("ok", "weak") & ops.node.mask(broker)
        file_bytes = int(properties.get("mappedFileSizeCommitLog", DEFAULT_FILE_BYTES))
        return Retention(
            reserved_ns=int(properties.get("fileReservedTime", DEFAULT_RESERVED_HOURS)) * _HOUR_NS,
            filled_ns=min((fault.begin_ns for fault in fills if fault.hits(broker)), default=int(NEVER)),
            file_bytes=file_bytes,
            last_file=int(ops.position[sends].max(initial=-1)) // file_bytes,
        )

    def lets_go(self, sent_ns: Ints, position: Ints, told_ns: Ints) -> Bools:
        """Whether messages sent and stored there may have been gone when that was told."""
        in_time = (told_ns - sent_ns >= self.reserved_ns) | (told_ns > self.filled_ns)
        gone: Bools = in_time & (told_ns < NEVER) & (position >= 0) & (position // self.file_bytes < self.last_file)
        return gone


def expired(history: History, facts: RunFacts, ledger: Ledger, lost: Ints) -> Bools:
    """Which of *lost* (message numbers) their brokers had a right to delete."""
    found = np.zeros(len(lost), dtype=np.bool_)
    if not len(lost):
        return found
    told_ns = _told_to_be_gone(history, ledger, lost)
    for broker, mine in _by_broker(history, ledger, lost):
        sent_ns = history.ops.invoke_ns[ledger.row[lost]]
        found |= mine & Retention.of(history, facts, broker).lets_go(sent_ns, ledger.position[lost], told_ns)
    return found


def begins_later(history: History, facts: RunFacts) -> Ints:
    """Rows of answers that begin behind the offset asked for, where all that is known to lie in between may be gone."""
    ops = history.ops
    rows, _ = _skipping(history)
    if not len(rows):
        return rows
    first = _first_read(history, rows)
    sends = np.flatnonzero(ops.f.mask("send") & ops.outcome.mask("ok", "weak") & (ops.offset >= 0))
    names = [history.queues.broker_of(queue) for queue in ops.queue[rows].tolist()]
    retentions = {name: Retention.of(history, facts, name) for name in sorted(set(names))}
    kept = []
    for row, begin, name in zip(rows.tolist(), first.tolist(), names, strict=True):
        if not retentions[name].last_file:
            continue  # the last file never goes, and there is no other
        between = sends[(ops.queue[sends] == ops.queue[row]) & (ops.offset[sends] >= ops.offset[row])]
        between = between[ops.offset[between] < begin]
        told_ns = np.full(len(between), ops.complete_ns[row], dtype=np.int64)
        if retentions[name].lets_go(ops.invoke_ns[between], ops.position[between], told_ns).all():
            kept.append(row)
    return np.array(kept, dtype=np.int64)


def _by_broker(history: History, ledger: Ledger, messages: Ints) -> list[tuple[str, Bools]]:
    names = [history.queues.broker_of(queue) for queue in ledger.queue[messages].tolist()]
    return [(broker, np.array([name == broker for name in names], dtype=np.bool_)) for broker in sorted(set(names))]


def _told_to_be_gone(history: History, ledger: Ledger, lost: Ints) -> Ints:
    """By message: when its master first said that its queue begins behind it; :data:`NEVER` if it did not."""
    ops = history.ops
    offset = ops.offset[ledger.row[lost]]
    told_ns = np.full(len(lost), NEVER, dtype=np.int64)
    claims = (_minima(history), _refusals(history), _skipping(history))
    for row, start in (claim for rows, starts in claims for claim in zip(rows.tolist(), starts.tolist(), strict=True)):
        gone = (ledger.queue[lost] == ops.queue[row]) & (offset >= 0) & (offset < start)
        told_ns[gone] = np.minimum(told_ns[gone], ops.complete_ns[row])
    return told_ns


def _of_masters(history: History) -> Bools:
    return history.ops.outcome.mask("ok") & (history.ops.queue >= 0) & ~of_slaves(history)


def _minima(history: History) -> tuple[Ints, Ints]:
    """(rows, where the queue begins), as with the other two."""
    rows = np.flatnonzero(_of_masters(history) & history.ops.f.mask("query_min") & (history.ops.offset > 0))
    return rows, history.ops.offset[rows]


def _refusals(history: History) -> tuple[Ints, Ints]:
    ops = history.ops
    rows = np.flatnonzero(_of_masters(history) & ops.f.mask("drain", "pull") & ops.status.mask("PULL_OFFSET_MOVED"))
    rows = rows[ops.next_offset[rows] > ops.offset[rows]]
    return rows, ops.next_offset[rows]


def _skipping(history: History) -> tuple[Ints, Ints]:
    ops = history.ops
    found = _of_masters(history) & ops.f.mask("drain", "pull") & ops.status.mask("FOUND")
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
    return [_anomaly(history, facts, ledger, broker, gone[mine]) for broker, mine in _by_broker(history, ledger, gone)]


def _anomaly(history: History, facts: RunFacts, ledger: Ledger, broker: str, mine: Ints) -> Anomaly:
    first = mine[np.argsort(ledger.position[mine], kind="stable")][:_NAMED]
    hours = facts.properties(broker).get("fileReservedTime", str(DEFAULT_RESERVED_HOURS))
    last_ns = int(history.ops.invoke_ns[ledger.row[mine]].max())
    sentence = (
        f"{len(mine)} acknowledged messages of {broker} deleted with whole log files, the last of them sent at "
        f"{seconds(last_ns)}: its queues begin behind them. Files are kept for {hours} hours, and less where a disk is "
        f"nearly full."
    )
    details = {"broker": broker, "count": len(mine), "messages": first.tolist()}
    return Anomaly("expired", sentence, tuple(history.ops.op[ledger.row[first]].tolist()), details, allowed=True)
