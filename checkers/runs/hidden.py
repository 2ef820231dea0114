"""What is hidden: the log has an acknowledged message, and its queue points past it.

Question: a message is not there at the end. Is it lost, or does nothing lead to it?

Model. The drain asks for each offset of a damaged answer by itself. A place whose last answer began no record has a
unit of the consume queue that points into the middle of a record; no consumer ever gets the message of that place.
Where records are of one length, such a unit may point at a border: who asks gets a record of another queue, and the
message whose record it is has no place of its own; or they get an earlier record of the same queue. No contract allows
that. Messages of the same queue behind such a place that have no place at all are hidden, too. What a recovery cut off
(its position was given out anew) is not hidden, whatever stands at its place.

One way is known: :mod:`checkers.runs.stale_units`. It needs a fault that took the end of the log before the message was
sent, and one more end of the process since: after the message was acknowledged, or before, when it was given a place
that such a unit holds already. What is hidden without them has no known reason.

Limits. An old unit that shows a later message of its own queue is for the check ``log``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.history.columns import Bools, Ints
from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.history.ledger import WEAK, Ledger, ack_ns
from checkers.history.strays import stray
from checkers.runs.loss_takers import recovered_ends
from checkers.runs.losses import data_losses, stored_by
from checkers.runs.mechanisms import STALE_UNITS
from checkers.runs.stale_units import DAMAGED_ANSWER, Way, ends_after, ends_later, in_words, takers_of
from checkers.verdict import Anomaly

_NAMED = 20


@dataclass(frozen=True)
class Hidden:
    """Messages of one broker. ``way``: what took the end of the log, and what ended the process then; empty: it did not
    come about in the known way."""

    broker: str
    messages: Ints
    way: Way = ()


def hidden(history: History, facts: RunFacts, ledger: Ledger, missing: Ints) -> list[Hidden]:
    """Those of *missing* (message numbers) to which nothing leads, by broker and way."""
    strays, others = _strays(history)
    damaged = _damaged_places(history) | others
    if not damaged:
        return []
    brokers = np.array([history.queues.broker_of(queue) for queue in ledger.queue[missing].tolist()])
    found: list[Hidden] = []
    for broker in sorted(set(brokers.tolist())):
        of_this = missing[brokers == broker]
        of_this = of_this[~_truncated(history, facts, ledger, broker, of_this)]
        shown = of_this[_is_at(history, ledger, of_this, damaged) | np.isin(of_this, strays)]
        found += _by_way(history, facts, ledger, broker, _with_unplaced(history, ledger, broker, of_this, shown))
    return found


def _damaged_places(history: History) -> set[tuple[int, int]]:
    """(queue, offset) whose last answer of the drain began no record: the drain went on with the next offset. An answer
    for many of which only one is damaged says nothing of the place that it was asked for."""
    ops = history.ops
    drains = np.flatnonzero(ops.f.mask("drain") & (ops.offset >= 0))
    drains = drains[np.lexsort((ops.invoke_event[drains], ops.queue[drains]))]
    queue, offset = ops.queue[drains], ops.offset[drains]
    goes_on = (np.append(queue[1:], -1) == queue) & (np.append(offset[1:], -1) == offset + 1)
    rows = np.flatnonzero(ops.status.mask(DAMAGED_ANSWER)[drains] & goes_on)
    return set(zip(queue[rows].tolist(), offset[rows].tolist(), strict=True))


def _strays(history: History) -> tuple[Ints, set[tuple[int, int]]]:
    """Messages that the drain got where it asked other queues, and (queue, offset) of the places that showed them, or
    an earlier record of their own queue. A later one may stand there because the answer left one out."""
    ops, reads = history.ops, history.reads
    rows = np.flatnonzero(np.isin(reads.op, ops.op[ops.f.mask("drain")]))
    asked = ops.rows(reads.op[rows])
    queue, place = ops.queue[asked], ops.offset[asked] + reads.position[rows]
    others = np.array([stray(detail) if detail else -1 for detail in map(reads.detail.__getitem__, rows.tolist())])
    is_stray = (reads.message[rows] < 0) & (others >= 0)
    is_earlier = (reads.message[rows] >= 0) & (reads.offset[rows] >= 0) & (reads.offset[rows] < place)
    is_other = is_stray | is_earlier
    return np.unique(others[is_stray]), set(zip(queue[is_other].tolist(), place[is_other].tolist(), strict=True))


def _truncated(history: History, facts: RunFacts, ledger: Ledger, broker: str, messages: Ints) -> Bools:
    """Which of *messages* have a position that was given out anew after a fault that took data."""
    losses = data_losses(facts, broker)
    ends = recovered_ends(history, ledger, losses, stored_by(history, ledger, broker))
    sent, position = history.ops.invoke_event[ledger.row[messages]], ledger.position[messages]
    taker = np.zeros(len(messages), dtype=np.bool_)
    for loss, end in zip(losses, ends, strict=True):
        taker |= (sent < loss.inject_event) & (position >= end) if end >= 0 else np.False_
    return taker


def _is_at(history: History, ledger: Ledger, messages: Ints, places: set[tuple[int, int]]) -> Bools:
    """Which of *messages* were the last to be stored at one of *places*."""
    stored = ledger.where(ledger.outcome <= WEAK)
    stored = stored[np.argsort(history.ops.invoke_event[ledger.row[stored]], kind="stable")]
    holder = dict(zip(_places(history, ledger, stored), stored.tolist(), strict=True))
    own = zip(_places(history, ledger, messages), messages.tolist(), strict=True)
    return np.array([place in places and holder[place] == message for place, message in own], dtype=np.bool_)


def _places(history: History, ledger: Ledger, messages: Ints) -> list[tuple[int, int]]:
    """(queue, offset) of each, as its answer said."""
    return list(zip(ledger.queue[messages].tolist(), history.ops.offset[ledger.row[messages]].tolist(), strict=True))


def _with_unplaced(history: History, ledger: Ledger, broker: str, missing: Ints, shown: Ints) -> Ints:
    """*shown*, and what follows one of them in its queue, if the log went on behind that."""
    stored = stored_by(history, ledger, broker)
    event, position = history.ops.invoke_event[ledger.row], ledger.position
    last = stored[event[stored].argmax()] if len(stored) else -1
    behind = np.zeros(len(missing), dtype=np.bool_)
    for queue in np.unique(ledger.queue[shown]).tolist():
        first_event = event[shown[ledger.queue[shown] == queue]].min()
        behind |= (ledger.queue[missing] == queue) & (event[missing] > first_event)
    behind &= (position[missing] >= 0) & (position[missing] < position[last])
    return np.union1d(shown, missing[behind])


def _by_way(history: History, facts: RunFacts, ledger: Ledger, broker: str, messages: Ints) -> Iterator[Hidden]:
    alike: dict[tuple[str, ...], tuple[Way, list[int]]] = {}
    for message in messages.tolist():
        way = _way(history, facts, ledger, broker, message)
        alike.setdefault(tuple(fault.fault for fault in way), (way, []))[1].append(message)
    for way, found in alike.values():
        yield Hidden(broker, np.array(found, dtype=np.int64), way)


def _way(history: History, facts: RunFacts, ledger: Ledger, broker: str, message: int) -> Way:
    sent_event = int(history.ops.invoke_event[ledger.row[message]])
    acked_ns = int(ack_ns(history, ledger, np.array([message], dtype=np.int64))[0])
    for taker in reversed([taker for taker in takers_of(facts, broker) if taker.inject_event < sent_event]):
        if ends := ends_after(facts, broker, taker):
            return taker, next((end for end in ends if ends_later(end, acked_ns)), ends[-1])
    return ()


def judge_hidden(history: History, ledger: Ledger, found: list[Hidden]) -> list[Anomaly]:
    """An anomaly for each; none of them is allowed."""
    return [_anomaly(history, ledger, one) for one in found]


def _anomaly(history: History, ledger: Ledger, found: Hidden) -> Anomaly:
    ops, messages = history.ops, found.messages
    first = int(ops.op[ledger.row[messages[ledger.position[messages].argmin()]]])
    many = "1 acknowledged message" if len(messages) == 1 else f"{len(messages)} acknowledged messages"
    sentence = (
        f"{many} of {found.broker} hidden, first {history.op_text(first)}: the log went on behind them, but from there "
        f"on their queue points elsewhere, and whoever asks gets bytes that are no record, or one of another queue."
    )
    details = {
        "broker": found.broker,
        "count": len(messages),
        "messages": messages[:_NAMED].tolist(),
        "mechanism": STALE_UNITS if found.way else "",
    }
    return Anomaly("hidden", sentence + in_words(found.way), (first,), details)
