"""What listeners of consumer groups were given, as columns.

Question: which messages were handed to which member of a group, from where, when, and for which time?

Model. An op ``deliver`` is one message that a listener has from its invocation to its completion: ``node`` is the
member, ``queue`` and ``offset`` where it was read, ``group`` the group, ``status`` what the listener said. ``times`` in
``detail`` is how often the message had been given back before. The message is in the op's read, since only the listener
knew it.

Limits. A delivery that never completed has no read: its message is unknown (−1).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from checkers.history.columns import Ints
from checkers.history.history import History
from checkers.logs.listening import Listened

RETRY_PREFIX = "%RETRY%"
CONSUMED, LATER = "CONSUMED", "LATER"
"""What a listener says: done with it, or give it again."""


@dataclass(frozen=True, slots=True)
class Given:
    """One group's deliveries, in the order of their begins. ``row``: rows of ops."""

    group: str
    row: Ints
    message: Ints

    def listened(self, history: History) -> Listened:
        """For the theorems; a lane is a queue."""
        ops = history.ops
        return Listened(ops.queue[self.row], self.message, ops.invoke_event[self.row], ops.complete_event[self.row])

    def times(self, history: History) -> Ints:
        """How often each had been given back before; 0 where nobody said."""
        said = [history.ops.detail[row] for row in self.row.tolist()]
        return np.array([int(json.loads(text).get("times", 0)) if text else 0 for text in said], dtype=np.int64)


def has_listeners(history: History) -> bool:
    """Whether any listener was given anything."""
    return "deliver" in history.ops.f.values


def given_by_group(history: History) -> list[Given]:
    """Every group that has listeners."""
    ops, reads = history.ops, history.reads
    rows = np.flatnonzero(ops.f.mask("deliver"))
    rows = rows[np.argsort(ops.invoke_event[rows], kind="stable")]
    place = np.searchsorted(reads.op, ops.op[rows])
    there = np.minimum(place, max(len(reads) - 1, 0))
    known = (place < len(reads)) & (reads.op[there] == ops.op[rows]) if len(reads) else np.zeros(len(rows), np.bool_)
    message = np.where(known, reads.message[there], -1) if len(reads) else np.full(len(rows), -1, dtype=np.int64)
    names = [ops.group[row] for row in rows.tolist()]
    return [_of_group(name, names, rows, message) for name in sorted(set(names))]


def _of_group(name: str, names: list[str], rows: Ints, message: Ints) -> Given:
    of_listener = np.array([listener == name for listener in names], dtype=np.bool_)
    return Given(name, rows[of_listener], message[of_listener])


def is_retry(history: History, queue: int) -> bool:
    """Whether that queue is one of a retry topic."""
    return history.queues.name(queue).startswith(RETRY_PREFIX)


def is_broadcast(history: History, group: str) -> bool:
    """Whether every member of *group* reads everything for itself, and what its listener refuses is gone."""
    return bool((history.ops.f.mask("broadcast") & history.ops.group.mask(group)).any())


def wanted_tags(history: History, group: str) -> frozenset[str] | None:
    """The tags that *group* subscribed to; ``None``: it did not say, and gets everything."""
    said = [told["tags"] for told in _subscriptions(history, group) if "tags" in told]
    return frozenset(tag for tags in said for tag in tags) if said else None


def orderly_limit(history: History, group: str) -> int | None:
    """How often *group*, whose listeners are orderly, is given a message again; ``None``: it did not say that they
    are."""
    said = [int(told["times_max"]) for told in _subscriptions(history, group) if told.get("orderly")]
    return max(said) if said else None


def _subscriptions(history: History, group: str) -> list[dict[str, Any]]:
    rows = np.flatnonzero(history.ops.f.mask("subscribe") & history.ops.group.mask(group)).tolist()
    return [json.loads(history.ops.detail[row] or "{}") for row in rows]
