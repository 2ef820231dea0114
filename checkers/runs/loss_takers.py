"""Which faults can have taken a lost message?

Question: a message was acknowledged, and is gone. Several faults took data from its broker since: which of them was it?

Model. Only a fault after which nobody saw the message on its master any more can have taken it. Of these, the positions
that the log gave out afterwards decide: the first of them is where the log ended when it was recovered. Where a fault
followed another before anything was stored, nobody can tell which of the two it was, and both count: a disk that was
wiped while its machine was dark, a sector that went bad before a wipe. What ended before a sector that went bad was not
taken by that, if anything else can have taken it.

Limits. Messages whose position nobody was told are decided by nothing but what was seen of them.
"""

from __future__ import annotations

import numpy as np

from checkers.history.columns import NEVER, Ints
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.groups import of_slaves
from checkers.history.history import History
from checkers.history.ledger import Ledger

LEAST_AROUND_BODY_BYTES = 91
"""No record is longer than its body by less (CommitLog#calMsgLength without topic and properties): so what follows a
record at a smaller distance follows it at once."""


def takers(
    history: History, ledger: Ledger, losses: list[FaultFact], stored: Ints, lost: Ints, seen_event: Ints
) -> list[tuple[int, ...]]:
    """By message, which of *losses* can have taken it; none where nothing took data after it was last seen.

    The first position that a log is known to give out after a loss is at or behind where it ended then. What had a
    position at or behind that was taken then at the latest; what lay before something that is still there was not.
    Between the two, or where nothing was stored before the next loss, nobody can tell.
    """
    ends = recovered_ends(history, ledger, losses, stored)
    kept = [_kept_to(history, ledger, losses, stored, number, end) for number, end in enumerate(ends)]
    spared = [_spared_to(history, ledger, losses, stored, number) for number in range(len(losses))]
    first = np.searchsorted(np.array([loss.inject_event for loss in losses], dtype=np.int64), seen_event, side="left")
    return [
        _taken_by(int(position), ends, kept, spared, range(start, len(losses)))
        for position, start in zip(ledger.position[lost].tolist(), first.tolist(), strict=True)
    ]


def _taken_by(position: int, ends: list[int], kept: list[int], spared: list[int], candidates: range) -> tuple[int, ...]:
    can: list[int] = []
    for number in candidates:
        if 0 <= position < spared[number]:
            continue
        if 0 <= ends[number] <= position or ends[number] == 0:
            return (*can, number)
        if position < 0 or ends[number] < 0 or position > kept[number]:
            can.append(number)
    return tuple(can) or tuple(candidates)


def _kept_to(history: History, ledger: Ledger, losses: list[FaultFact], stored: Ints, number: int, end: int) -> int:
    """The greatest position below *end* of a message that was there before loss *number* and is there at the end."""
    is_there = ledger.drained[stored] & (ledger.attempts[stored] == 1)
    before = stored[(epoch_of(history, ledger, losses, stored) <= number) & is_there]
    position = ledger.position[before]
    return int(position[position < end].max(initial=-1))


def _spared_to(history: History, ledger: Ledger, losses: list[FaultFact], stored: Ints, number: int) -> int:
    """What lies below this was not harmed by loss *number*: the first record that its bad sector spoilt."""
    if losses[number].takes() != "damaged":
        return 0
    stored = stored[ledger.position[stored] >= 0]
    before = stored[epoch_of(history, ledger, losses, stored) <= number]
    return min(_behind_sector(history, ledger, losses[number], before), default=0)


def recovered_ends(history: History, ledger: Ledger, losses: list[FaultFact], stored: Ints) -> list[int]:
    """Where the log ended after each loss, at the latest; −1: nobody knows. The positions given out until the next loss
    tell, and where a sector went bad: no record that holds it, and none behind it, is read again."""
    stored = stored[ledger.position[stored] >= 0]
    epoch = epoch_of(history, ledger, losses, stored)
    ends: list[int] = []
    for number, loss in enumerate(losses):
        after = ledger.position[stored[epoch == number + 1]]
        bounds = [0] if loss.takes() == "all" else after.tolist()
        bounds += _behind_sector(history, ledger, loss, stored[epoch <= number])
        ends.append(min(bounds, default=-1))
    return ends


def _behind_sector(history: History, ledger: Ledger, loss: FaultFact, before: Ints) -> list[int]:
    """Positions of those of *before* that hold the first byte of the sector which *loss* made bad, or lie behind it."""
    if not loss.position:
        return []
    before = before[np.argsort(ledger.position[before], kind="stable")]
    position = ledger.position[before]
    end = position + _size(history, before) + LEAST_AROUND_BODY_BYTES
    follows = np.append(position[1:], NEVER)
    end = np.where(follows - end < LEAST_AROUND_BODY_BYTES, follows, end)
    return [at for sector in loss.position.values() for at in position[end > sector].tolist()]


def _size(history: History, messages: Ints) -> Ints:
    """Bytes of the body of each; 0 where nobody wrote it down."""
    known = dict(zip(history.messages.message.tolist(), history.messages.size.tolist(), strict=True))
    return np.array([known.get(message, 0) for message in messages.tolist()], dtype=np.int64)


def alive_at(history: History, ledger: Ledger, losses: list[FaultFact], stored: Ints, number: int) -> Ints:
    """Those of *stored* that can have been in the log when loss *number* came: sent before it, and not cut off by an
    earlier one, as far as the positions given out since tell."""
    ends = recovered_ends(history, ledger, losses, stored)
    epoch, position = epoch_of(history, ledger, losses, stored), ledger.position[stored]
    remaining = epoch <= number
    for earlier in range(number):
        if ends[earlier] >= 0:
            remaining &= (epoch > earlier) | (position < ends[earlier])
    return stored[remaining]


def epoch_of(history: History, ledger: Ledger, cuts: list[FaultFact], messages: Ints) -> Ints:
    """How many cuts were over when each message was sent."""
    invoked = history.ops.invoke_event[ledger.row[messages]]
    return np.searchsorted(np.array([cut.inject_event for cut in cuts], dtype=np.int64), invoked, side="right")


def last_seen(history: History, facts: RunFacts, ledger: Ledger, lost: Ints) -> Ints:
    """The event at which each message was last known to be on its master: it was sent, or read there."""
    seen = history.ops.invoke_event[ledger.row[lost]].copy()
    if not ledger.seen[lost].any():
        return seen
    of_master = history.ops.f.mask("pull", "drain") & ~of_slaves(history, facts)
    on_master = of_master[history.ops.rows(history.reads.op)]
    rows = np.flatnonzero(np.isin(history.reads.message, lost) & on_master)
    place = np.searchsorted(lost, history.reads.message[rows])
    np.maximum.at(seen, place, history.ops.invoke_event[history.ops.rows(history.reads.op[rows])])
    return seen
