"""SEND_OK that was said without what it stands for: two ways that are known, named where a message is lost by them.

Question: an acknowledged message is gone that no fault may take. Had the broker any reason to acknowledge it?

    unforced-ok        SYNC_FLUSH, and every force failed when it was acknowledged. RocketMQ catches what a force throws
                       and counts it as a flush (RocketMQ: MappedFile#flush); the next power cut shows it
    unreplicated-ok    a synchronous master that had lost the end of its log, while its slave had not. The slave reports
                       where *its* log ends, the master takes that for copies of whatever it stores up to there
                       (RocketMQ: HAConnection, HAService#notifyTransferSome); the loss of its disk shows it, and so
                       does a look at both (:mod:`checkers.runs.replicas`)

Limits. The way is concluded from the faults of the run and the times of the acknowledgements, not seen in the broker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from checkers.history.columns import Ints
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History
from checkers.history.ledger import Ledger, ack_ns
from checkers.runs.mechanisms import FAILED_FORCE, SLAVE_AHEAD
from checkers.runs.slave_ahead import end_before


@dataclass(frozen=True)
class FalseAcks:
    """Messages that were acknowledged falsely, the anomaly's kind, and how it came to that: in words, and by its name
    (:mod:`checkers.runs.mechanisms`)."""

    kind: str
    messages: Ints
    opening: str
    words: str
    mechanism: str


def false_acks(
    history: History,
    facts: RunFacts,
    ledger: Ledger,
    broker: str,
    by: FaultFact,
    lost: Ints,
    losses: Sequence[FaultFact],
) -> FalseAcks | None:
    """Those of *lost*, which *by* took; *cuts* are all faults that took data from *broker*. ``None``: none of them."""
    found = None
    if by.takes() == "unforced" and facts.flush == "sync":
        found = _unforced(history, facts, ledger, broker, by, lost)
    elif _is_replaced(by) and facts.waits_for_slave():
        found = _uncopied(history, ledger, by, lost, losses)
    return found if found is not None and len(found.messages) else None


def _is_replaced(fault: FaultFact) -> bool:
    """Whether a slave's data took the place of its master's, without the slave becoming master."""
    return fault.takes() == "replaced" and not fault.does("promotes")


def _unforced(
    history: History, facts: RunFacts, ledger: Ledger, broker: str, by: FaultFact, lost: Ints
) -> FalseAcks | None:
    failing = [f for f in facts.faults if f.does("fails-forces") and f.effective == 1 and facts.hits(f, broker)]
    before = [fault for fault in failing if fault.begin_ns < by.inject_ns]
    if not before:
        return None
    acked, own = ack_ns(history, ledger, lost), np.zeros(len(lost), dtype=np.bool_)
    for fault in before:
        own |= (acked > fault.begin_ns) & (acked < fault.heal_ns)
    if own.any():  # a recovery ends before the first record that is not whole, and takes what was forced behind it
        own |= ledger.position[lost] > ledger.position[lost[own]].min()
    of_them = f" ({before[-1].failed} of them)" if before[-1].failed else ""
    words = (
        f"From {before[-1].words()} on every force failed{of_them}: the broker takes a force that failed for a flush."
    )
    return FalseAcks("unforced-ok", lost[own], "SEND_OK although fsync failed", words, FAILED_FORCE)


def never_copied(
    history: History, ledger: Ledger, broker: str, by: FaultFact, lost: Ints, losses: Sequence[FaultFact]
) -> tuple[Ints, str]:
    """Those of *lost* that lay where the slave whose data took the place by *by* had kept what its master had lost: it
    was sent what follows its own end only; and how it came to that, in words."""
    earlier = [loss for loss in losses if loss.inject_ns < by.inject_ns and not _is_replaced(loss)]
    if not _is_replaced(by) or not earlier:
        return lost[:0], ""
    loss = earlier[-1]
    is_new = history.ops.invoke_event[ledger.row[lost]] > loss.inject_event
    kept = ledger.position[lost] < end_before(history, ledger, broker, loss)
    words = (
        f" After {loss.words()} the slave was ahead of its restarted master, and was sent only what follows its own "
        f"end."
    )
    return lost[is_new & kept], words


def _uncopied(
    history: History, ledger: Ledger, by: FaultFact, lost: Ints, losses: Sequence[FaultFact]
) -> FalseAcks | None:
    """What an adopted slave does not have, stored after its master had lost the end of its log."""
    earlier = [loss for loss in losses if loss.inject_ns < by.inject_ns and not _is_replaced(loss)]
    if not earlier:
        return None
    own = lost[history.ops.invoke_event[ledger.row[lost]] > earlier[-1].inject_event]
    at = int(ledger.position[own].min(initial=2**62))
    words = (
        f"After {earlier[-1].words()} the slave was ahead of its restarted master, which took the slave's longer log "
        f"for copies."
    )
    opening = f"SEND_OK although the slave's log differs at {at}"
    return FalseAcks("unreplicated-ok", own, opening, words, SLAVE_AHEAD)
