"""Expiry: acknowledged messages that their broker deleted because it was time, and not one more.

Question: an acknowledged message is not there any more, and its broker says that its queue begins behind it. May that
be?

Model (RocketMQ: CleanCommitLogService). Log files are deleted as a whole, the oldest first, the last one never: if they
have not changed for ``fileReservedTime`` hours (72), or if a disk is nearly full, whatever their age. So a lost message
has *expired* if

  begin   its master has said that its queue begins behind it (a query of the minimum, a refusal that sends forward)
  age     it had been sent so long before, or the disk of its master was filled before
  file    its broker has acknowledged a message of a later log file

Limits. What a step of the broker's clock adds to the age of its files is not counted.
"""

from __future__ import annotations

import numpy as np

from checkers.columns import NEVER, Bools, Ints
from checkers.facts import RunFacts
from checkers.groups import of_slaves
from checkers.history import History, seconds
from checkers.ledger import WEAK, Ledger
from checkers.verdict import Anomaly

DEFAULT_RESERVED_HOURS = 72
DEFAULT_FILE_BYTES = 1 << 30
_HOUR_NS = 3_600_000_000_000
_NAMED = 20


def expired(history: History, facts: RunFacts, ledger: Ledger, lost: Ints) -> Bools:
    """Which of *lost* (message numbers) their brokers had a right to delete."""
    brokers = [history.queues.broker_of(queue) for queue in ledger.queue[lost].tolist()]
    found = np.zeros(len(lost), dtype=np.bool_)
    if not len(lost):
        return found
    told_ns = _told_to_be_gone(history, ledger, lost)
    for broker in sorted(set(brokers)):
        mine = np.array([name == broker for name in brokers], dtype=np.bool_)
        properties = facts.properties(broker)
        reserved_ns = int(properties.get("fileReservedTime", DEFAULT_RESERVED_HOURS)) * _HOUR_NS
        is_old = told_ns - history.ops.invoke_ns[ledger.row[lost]] >= reserved_ns
        is_filled = told_ns > _filled_ns(facts, broker)
        file_bytes = int(properties.get("mappedFileSizeCommitLog", DEFAULT_FILE_BYTES))
        place = ledger.position[lost]
        in_last = place // file_bytes >= _last_position(history, ledger, broker) // file_bytes
        found |= mine & (told_ns < NEVER) & (is_old | is_filled) & (place >= 0) & ~in_last
    return found


def _told_to_be_gone(history: History, ledger: Ledger, lost: Ints) -> Ints:
    """By message: when its master first said that its queue begins behind it; :data:`NEVER` if it did not."""
    ops = history.ops
    answered = ops.outcome.mask("ok") & (ops.queue >= 0) & ~of_slaves(history)
    queries = np.flatnonzero(answered & ops.f.mask("query_min") & (ops.offset > 0))
    moved = np.flatnonzero(answered & ops.f.mask("drain", "pull") & ops.status.mask("PULL_OFFSET_MOVED"))
    moved = moved[ops.next_offset[moved] > ops.offset[moved]]
    rows = np.concatenate((queries, moved))
    start = np.concatenate((ops.offset[queries], ops.next_offset[moved]))
    offset = ops.offset[ledger.row[lost]]
    told_ns = np.full(len(lost), NEVER, dtype=np.int64)
    for row, begins in zip(rows.tolist(), start.tolist(), strict=True):
        gone = (ledger.queue[lost] == ops.queue[row]) & (offset >= 0) & (offset < begins)
        told_ns[gone] = np.minimum(told_ns[gone], ops.complete_ns[row])
    return told_ns


def _filled_ns(facts: RunFacts, broker: str) -> int:
    """When the disk of the master of *broker* was filled for the first time."""
    fills = [fault for fault in facts.faults if fault.kind == "fill_disk" and fault.effective != 0]
    return min((fault.begin_ns for fault in fills if fault.hits(broker)), default=int(NEVER))


def _last_position(history: History, ledger: Ledger, broker: str) -> int:
    """The greatest position that *broker* has answered with."""
    queues = [queue for queue in history.queues.queue.tolist() if history.queues.broker_of(queue) == broker]
    stored = (ledger.outcome <= WEAK) & np.isin(ledger.queue, queues)
    return int(ledger.position[stored].max(initial=-1))


def judge_expired(history: History, facts: RunFacts, ledger: Ledger, gone: Ints) -> list[Anomaly]:
    """An allowed anomaly a broker: how many of its messages have expired."""
    brokers = [history.queues.broker_of(queue) for queue in ledger.queue[gone].tolist()]
    return [
        _anomaly(history, facts, ledger, broker, gone[np.array([name == broker for name in brokers], dtype=np.bool_)])
        for broker in sorted(set(brokers))
    ]


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
