"""Jepsen's Kafka workload: what each consumer was given, beside what the logs are.

Question: did every consumer get its logs in order and whole, as far as anybody knows what was there?

Model. A consumer is a process. Its polls go on where the last one ended, until an ``assign`` leaves a log out: then it
may begin anywhere. Where several processes subscribe to a log, their group decides who has it, and may decide anew
between any two polls: order is judged within each poll. Logs may have gaps, so only offsets that an acknowledgement
or a read tells of count.

    out-of-order    a consumer got an offset below, or equal to, one that it had got before
    skipped         it got offsets on both sides of one that is known, and not that one
    never-read      acknowledged, below an offset that somebody read, and nobody ever read it (Jepsen: lost write)
    sends-swapped   two sends of one call went to one log in the wrong order

Limits. Polls without an answer count for nothing. Sends of one call are sends of their own: whether a transaction is
atomic is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from checkers.external.calls import Call, proof
from checkers.external.values import frozen, shown
from checkers.history.columns import Ints
from checkers.logs.deliveries import Deliveries, delivery_order
from checkers.verdict import Anomaly

ASSIGNS = ("assign", "subscribe")
SAYS_NOTHING = ("crash", "debug-topic-partitions")
"""Operations of the workload that tell nothing about a log."""

_KINDS = {"inversion": "out-of-order", "repeat": "out-of-order", "skip": "skipped"}


def is_kafka(call: Call) -> bool:
    """Whether this is an operation of the workload."""
    steps = call.asked
    if call.f in ASSIGNS or call.f in SAYS_NOTHING:
        return True
    return (
        isinstance(steps, list) and bool(steps) and isinstance(steps[0], list) and steps[0][:1] in (["send"], ["poll"])
    )


@dataclass
class _Told:
    """By log: offsets of acknowledged sends with their value and line, and what was read."""

    sent: dict[Any, list[tuple[int, Any, int]]] = field(default_factory=dict)
    read: dict[Any, list[tuple[int, Any]]] = field(default_factory=dict)


def consumer_anomalies(calls: Sequence[Call]) -> list[Anomaly]:
    """What the consumers of well-formed *calls* cannot have been given, and what nobody was."""
    told = _Told()
    for call in calls:
        if call.type == "ok":
            for key, offset, value in _sends(call):
                told.sent.setdefault(key, []).append((offset, value, call.line))
            for key, offset, value in _polls(call):
                told.read.setdefault(key, []).append((offset, value))
    return [*_order(calls, told), *_never_read(calls, told), *_swapped(calls)]


def _steps(call: Call, kind: str) -> Iterator[list[Any]]:
    steps = call.answered if call.answered is not None else call.asked
    if isinstance(steps, list):
        yield from (step for step in steps if isinstance(step, list) and step[:1] == [kind])


def _sends(call: Call) -> Iterator[tuple[Any, int, Any]]:
    """(log, offset, value) of sends whose offset was told."""
    for _, key, told in (step for step in _steps(call, "send") if len(step) == 3):
        if isinstance(told, list) and len(told) == 2:
            yield frozen(key), told[0], frozen(told[1])


def _polls(call: Call) -> Iterator[tuple[Any, int, Any]]:
    for step in _steps(call, "poll"):
        for key, pairs in step[1].items() if len(step) > 1 else ():
            yield from ((frozen(key), offset, frozen(value)) for offset, value in pairs)


def _order(calls: Sequence[Call], told: _Told) -> list[Anomaly]:
    keys = {key: number for number, key in enumerate(told.read)}
    rows = list(_delivered(calls, keys))
    if not rows:
        return []
    assignment, queue, offset, op = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    zeros = np.zeros(len(rows), dtype=np.int64)
    known = {number: _known(told, key) for key, number in keys.items()}
    found = delivery_order(Deliveries(zeros, assignment, queue, offset, zeros, op), known).violations
    names = list(keys)
    return [
        Anomaly(
            _KINDS[violation.kind],
            f"{_KINDS[violation.kind]} in log {shown(names[violation.queue])}: one consumer got offset "
            f"{violation.offsets[0]}, then {violation.offsets[1]}"
            + (f", although {violation.offsets[2]} is there" if violation.kind == "skip" else "")
            + f". Proof: {proof(calls, violation.ops)}",
            tuple(dict.fromkeys(violation.ops)),
            {"offsets": list(violation.offsets), "count": violation.count},
        )
        for violation in found
    ]


def _delivered(calls: Sequence[Call], keys: dict[Any, int]) -> Iterator[tuple[int, int, int, int]]:
    """(assignment, log, offset, line); an assignment is the time in which a process keeps a log. Who shares a log with
    other subscribers keeps it as long as the group lets it: each poll is by itself."""
    current: dict[tuple[Any, Any], int] = {}
    shared = _shared(calls)
    subscribed = set[Any]()
    begun = 0
    for call in calls:
        if call.process in subscribed:
            current = {
                (process, key): number
                for (process, key), number in current.items()
                if process != call.process or key not in shared
            }
        if call.f in ASSIGNS and call.type != "fail":
            (subscribed.add if call.f == "subscribe" else subscribed.discard)(call.process)
            kept = {frozen(key) for key in call.asked} if isinstance(call.asked, list) else set()
            current = {
                whose: number for whose, number in current.items() if whose[0] != call.process or whose[1] in kept
            }
        elif call.type == "ok":
            for key, offset, _ in _polls(call):
                if (call.process, key) not in current:
                    current[call.process, key], begun = begun, begun + 1
                yield current[call.process, key], keys[key], offset, call.line


def _shared(calls: Sequence[Call]) -> set[Any]:
    """Logs that several processes subscribe to."""
    by: dict[Any, set[Any]] = {}
    for call in calls:
        if call.f == "subscribe" and isinstance(call.asked, list):
            for key in call.asked:
                by.setdefault(frozen(key), set()).add(call.process)
    return {key for key, processes in by.items() if len(processes) > 1}


def _known(told: _Told, key: Any) -> Ints:
    offsets = {offset for offset, *_ in (*told.sent.get(key, ()), *told.read.get(key, ()))}
    return np.array(sorted(offsets), dtype=np.int64)


def _never_read(calls: Sequence[Call], told: _Told) -> Iterator[Anomaly]:
    for key, read in told.read.items():
        last, values = max(offset for offset, _ in read), {value for _, value in read}
        lost = sorted(row for row in told.sent.get(key, ()) if row[0] < last and row[1] not in values)
        if lost:
            offset, value, line = lost[0]
            sentence = (
                f"never-read in log {shown(key)}: {shown(value)} was acknowledged at offset {offset}, "
                f"somebody read {last}, and nobody ever read it ({len(lost)} such). Proof: {proof(calls, (line,))}"
            )
            yield Anomaly("never-read", sentence, (line,), {"offset": offset, "count": len(lost)})


def _swapped(calls: Sequence[Call]) -> Iterator[Anomaly]:
    for call in calls:
        by_log: dict[Any, list[int]] = {}
        for key, offset, _ in _sends(call) if call.type == "ok" else ():
            by_log.setdefault(key, []).append(offset)
        for key, offsets in by_log.items():
            if any(after <= before for before, after in pairwise(offsets)):
                sentence = f"sends-swapped in log {shown(key)}: offsets {shown(offsets)}. Proof: {call.words()}"
                yield Anomaly("sends-swapped", sentence, (call.line,), {"offsets": offsets})
                return
