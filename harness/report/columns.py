"""Operations as packed columns: what the page's timeline reads, without a limit on how many there are.

Question: how does a browser get a million operations, each to be drawn to the microsecond and read as a sentence?

Model. One column after the other, little endian, each beginning at a multiple of eight bytes; a header names them with
type, place and unit. Texts are numbered, and the header has the lists. Lanes are the sends to a queue and the reads of
it; with more than :data:`QUEUES_MAX` queues, those of a broker. The page unpacks the columns into typed arrays and
draws what is in view; so nothing is left out, however far one zooms.

Limits. Times are 32 bits: microseconds for runs up to an hour, milliseconds beyond.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from checkers.history.columns import Ints, Text
from checkers.history.history import History

OUTCOMES: Final = ("ok", "weak", "fail", "info")
READS: Final = ("pull", "drain")
QUEUES_MAX: Final = 24
OPEN: Final = 2**32 - 1
"""The end of an operation that was never answered."""

NO_LANE: Final = 2**16 - 1
"""Operations that are about no queue are in the table, not in the lanes."""

_US, _MS = 1_000, 1_000_000


def packed(history: History, marked: Iterable[int]) -> tuple[dict[str, Any], bytes]:
    """(header, columns) of all operations; *marked* are those that prove something."""
    ops = history.ops
    unit = _US if end_of(history) // _US < OPEN else _MS
    lane, names = lanes(history)
    columns = {
        "op": ops.op.astype("<i4"),
        "begin": (ops.invoke_ns // unit).astype("<u4"),
        "end": np.where(ops.complete_ns >= 0, ops.complete_ns // unit, OPEN).astype("<u4"),
        "message": ops.message.astype("<i4"),
        "offset": np.clip(ops.offset, -1, 2**31 - 1).astype("<i4"),
        "lane": lane.astype("<u2"),
        "queue": np.clip(ops.queue, -1, 2**15 - 1).astype("<i2"),
        "f": _numbers(ops.f, ops.f.values).astype("<u2"),
        "status": _numbers(ops.status, ops.status.values).astype("<u2"),
        "node": _numbers(ops.node, ops.node.values).astype("<u2"),
        "outcome": _numbers(ops.outcome, OUTCOMES).astype("u1"),
        "marked": np.isin(ops.op, np.array(sorted(marked), dtype=np.int64)).astype("u1"),
    }
    places, blob = joined(columns)
    header = {
        "count": len(ops),
        "unit_ns": unit,
        "end_ns": end_of(history),
        "columns": places,
        "lanes": names,
        "queues": [history.queues.name(queue) for queue in history.queues.queue.tolist()],
        "queue_numbers": history.queues.queue.tolist(),
        "f": list(ops.f.values),
        "status": list(ops.status.values),
        "node": list(ops.node.values),
    }
    return header, blob


def end_of(history: History) -> int:
    """The last instant of a history, at least a millisecond."""
    ops, events = history.ops, history.events
    instants = (ops.invoke_ns, ops.complete_ns, events.ns)
    return max(1_000_000, *(int(column.max(initial=0)) for column in instants))


def lanes(history: History) -> tuple[Ints, list[str]]:
    """(lane of every operation, names of lanes)."""
    ops, queues = history.ops, history.queues
    labels = [queues.name(queue) for queue in queues.queue.tolist()]
    if len(labels) > QUEUES_MAX:
        labels = [queues.broker_of(queue) for queue in queues.queue.tolist()]
    places = {label: place for place, label in enumerate(dict.fromkeys(labels))}
    of_queue = np.array([places[label] for label in labels], dtype=np.int64)
    lane = np.full(len(ops), NO_LANE, dtype=np.int64)
    row = np.searchsorted(queues.queue, ops.queue)
    known = (ops.queue >= 0) & (row < len(queues))
    for side, f in enumerate((("send",), READS)):
        in_lane = known & ops.f.mask(*f)
        lane[in_lane] = of_queue[row[in_lane]] * 2 + side
    return lane, [f"{side} {label}" for label in places for side in ("sends to", "reads of")]


def _numbers(column: Text, values: Sequence[str]) -> Ints:
    numbers = np.zeros(len(column), dtype=np.int64)
    for number, value in enumerate(values):
        numbers[column.mask(value)] = number
    return numbers


def joined(columns: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    """(place and type of every column, all of them one after the other)."""
    places, parts, at = {}, [], 0
    for name, column in columns.items():
        data = column.tobytes()
        places[name] = {"type": column.dtype.str.lstrip("<|"), "at": at}
        padding = -len(data) % 8
        parts += [data, bytes(padding)]
        at += len(data) + padding
    return places, b"".join(parts)
