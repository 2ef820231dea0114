"""Positions instead of stamps: every invocation and every return gets its place in one order of events.

Question: how do algorithms that want an event log take histories that have only time stamps?

Model. All end points are sorted by time, calls before returns where times are equal (equal stamps are concurrent, so a
call must never seem to come after a return of the same instant). The place of an end point in that order is its
position, 0 … count − 1; "never" becomes the position *count*. Precedence is kept exactly: ret(a) < inv(b) in stamps iff
the same holds for positions.

Limits. Columns that already are numbers of one event counter need no sorting, only compaction, and are treated alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from checkers.history.columns import NEVER, Ints


def positions(calls: Sequence[Ints], returns: Sequence[Ints]) -> tuple[list[Ints], list[Ints], int]:
    """(positions of *calls*, positions of *returns*, number of events); NEVER among returns becomes that number."""
    times = np.concatenate([*calls, *returns]) if calls or returns else np.zeros(0, dtype=np.int64)
    split = sum(len(column) for column in calls)
    place = np.full(len(times), -1, dtype=np.int64)
    finite = np.flatnonzero(times < NEVER)
    # One key with the kind in its lowest bit: calls first.
    order = _order(times[finite] * 2 + (finite >= split))
    place[finite[order]] = np.arange(len(finite), dtype=np.int64)
    place[place < 0] = len(finite)
    parts = np.split(place, np.cumsum([len(column) for column in [*calls, *returns]])[:-1]) if len(place) else []
    if not len(place):
        parts = [np.zeros(0, dtype=np.int64) for _ in [*calls, *returns]]
    return list(parts[: len(calls)]), list(parts[len(calls) :]), len(finite)


def _order(keys: Ints) -> Ints:
    """Stable order of *keys*; where key and index fit into one number together, a plain sort of these, which is faster
    than sorting indexes."""
    if not len(keys):
        return keys
    bits, least = len(keys).bit_length(), int(keys.min())
    if (int(keys.max()) - least).bit_length() + bits > 62:
        return np.argsort(keys, kind="stable").astype(np.int64)
    packed: Ints = (keys - least) << bits
    packed |= np.arange(len(keys), dtype=np.int64)
    packed.sort()
    packed &= (1 << bits) - 1
    return packed
