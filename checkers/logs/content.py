"""What stood at each offset of each log, by acknowledgements and reads, and whether all of them agree.

Question: is there one content of every log that no acknowledgement and no read contradicts?

Model. All offsets of all queues are *slots* of one array. Acknowledged appends are entered first, then reads fill what
nobody acknowledged ("learned") and are compared with the rest. Conditions, each named by its violation:

    two-values-one-offset    one value per offset, over acknowledgements and reads
    value-at-two-offsets     one offset per append
    phantom                  a value that nobody sent, or that is none of ours
    failed-append-visible    a value whose append certainly failed
    wrong-queue              a value of an append to another queue
    skipped-in-read          a poll that left out an offset in its middle, or did not begin where it was asked to

Limits. Reads are compared in pieces of about a quarter of a million, so that temporary arrays stay small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from checkers.history.columns import NEVER, Bools, Ints
from checkers.logs.batches import with_seen_batches
from checkers.logs.columns import ACKED, FAILED, UNKNOWN, UNKNOWN_VALUE, Appends, LogInput, LogViolation, Polls

EMPTY: Final = -1
UNSET: Final = -2
"""``lo`` of a slot that no append has claimed; less than any time."""

_PIECE: Final = 1 << 18
_SPARE_SLOTS: Final = 1 << 20
_KEY: Final = 1 << 44


@dataclass(frozen=True, slots=True)
class Slots:
    """All offsets below the known end of every queue in one array.

    Dense: slot = base[queue] + offset. Sparse (``keys`` set, where offsets may have gaps): the k-th smallest known
    (queue, offset) pair is slot k.
    """

    base: Ints
    keys: Ints | None = None

    def __len__(self) -> int:
        return int(self.base[-1])

    def of(self, queue: Ints, offset: Ints) -> Ints:
        """Slots of known offsets."""
        if self.keys is None:
            return self.base[queue] + offset
        return np.searchsorted(self.keys, queue * _KEY + offset).astype(np.int64)

    def below(self, queue: Ints, offset: Ints) -> Ints:
        """Slot of the last known offset < *offset* of that queue, −1 if there is none."""
        if self.keys is None:
            place = np.minimum(self.base[queue] + offset, self.base[queue + 1]) - 1
        else:
            place = np.searchsorted(self.keys, queue * _KEY + offset).astype(np.int64) - 1
        return np.where(place >= self.base[queue], place, -1)

    def at_or_above(self, queue: Ints, offset: Ints) -> Ints:
        """Slot of the first known offset ≥ *offset* of that queue, −1 if there is none."""
        if self.keys is None:
            place = self.base[queue] + offset
        else:
            place = np.searchsorted(self.keys, queue * _KEY + offset).astype(np.int64)
        return np.where(place < self.base[queue + 1], place, -1)

    def queue_of_slot(self) -> Ints:
        return np.repeat(np.arange(len(self.base) - 1, dtype=np.int64), np.diff(self.base))

    def where(self, slot: int) -> tuple[int, int]:
        """(queue, offset) of a slot."""
        queue = int(np.searchsorted(self.base, slot, side="right")) - 1
        offset = slot - int(self.base[queue]) if self.keys is None else int(self.keys[slot]) % _KEY
        return queue, offset


@dataclass(slots=True)
class Content:
    """The logs as they must have been, and the bounds of every offset. ``lo`` and ``hi`` are filled on by the checker.

    ``value``: by slot, −1 where nobody knows. ``append``: row of ``log.appends`` by slot, −1 if unknown.
    ``spare``: rows of unknown appends whose value nobody saw. ``group``: first slot of the batch, by slot.
    ``due``: ``hi``, where trimming lets what stands there be no later than that (:mod:`checkers.logs.trimming`).

    Where batches were tried several times, other tries than those that were taken may be the ones that were seen
    (``may_differ``), or at least be left for holes (``spare_may_differ``).
    """

    appends: Appends
    slots: Slots
    value: Ints
    append: Ints
    lo: Ints
    hi: Ints
    spare: Ints
    group: Ints | None = None
    due: Ints | None = None
    violations: tuple[LogViolation, ...] = ()
    may_differ: bool = False
    spare_may_differ: bool = False

    def lo_shared(self) -> Ints:
        """``lo``, the greatest of a batch for all of its offsets."""
        return self.lo if self.group is None else _shared(np.maximum, self.lo, self.group)

    def hi_shared(self) -> Ints:
        """``hi``, the least of a batch for all of its offsets."""
        return self.hi if self.group is None else _shared(np.minimum, self.hi, self.group)

    def due_shared(self) -> Ints:
        """``due``, or ``hi`` where nothing was trimmed, the least of a batch for all of its offsets."""
        due = self.hi if self.due is None else self.due
        return due if self.group is None else _shared(np.minimum, due, self.group)


def _shared(best: np.ufunc, bound: Ints, group: Ints) -> Ints:
    first = np.flatnonzero(np.append(True, group[1:] != group[:-1])) if len(group) else group
    if not len(first):
        return bound
    sizes = np.diff(np.append(first, len(group)))
    shared: Ints = np.repeat(best.reduceat(bound, first), sizes)
    return shared


def content_of(log: LogInput, *, gaps: bool, retries: bool) -> Content:
    """Enter all acknowledgements and reads; conditions that fail are in ``violations``, the rest is still filled."""
    seen = with_seen_batches(log.appends, log.polls)
    content, found = _told(log, seen.appends, len(seen.appends), gaps)
    content.may_differ, content.spare_may_differ = seen.may_differ, seen.spare_may_differ
    found += _learn(log, content, retries)
    content.violations = tuple(_first_of_each_kind(found))
    return content


def told_by(log: LogInput, sends: int) -> Content:
    """What *log* itself says, without asking who sent what it read: that may be told elsewhere, in one of *sends* sends
    of a longer history that *log* is a part of."""
    content, found = _told(log, log.appends, sends, False)
    content.violations = tuple(_first_of_each_kind(found))
    return content


def _told(log: LogInput, appends: Appends, sends: int, gaps: bool) -> tuple[Content, list[LogViolation]]:
    slots, absurd = _slots(log, appends, sends, gaps)
    size = len(slots)
    content = Content(
        appends,
        slots,
        value=np.full(size, EMPTY, dtype=np.int64),
        append=np.full(size, -1, dtype=np.int64),
        lo=np.full(size, UNSET, dtype=np.int64),
        hi=np.full(size, NEVER, dtype=np.int64),
        spare=np.zeros(0, dtype=np.int64),
    )
    return content, [*absurd, *_enter_acks(content), *_enter_reads(log.polls, content, gaps)]


def _slots(log: LogInput, appends: Appends, sends: int, gaps: bool) -> tuple[Slots, list[LogViolation]]:
    acked = np.flatnonzero(appends.outcome == ACKED)
    if gaps:
        return _sparse(log, appends, acked), []
    # A queue is as long as the highest offset that anybody named: what lies below it stood there, or is a hole.
    size = np.zeros(log.queue_count, dtype=np.int64)
    np.maximum.at(size, appends.queue[acked], appends.offset[acked] + 1)
    np.maximum.at(size, log.polls.queue, log.polls.tops() + 1)
    for claims, more in ((log.ends, 0), (log.starts, 0), (log.refused, 1)):
        np.maximum.at(size, claims.queue, claims.at + more)
    if int(size.sum()) > 4 * sends + _SPARE_SLOTS:
        return _sparse(log, appends, acked), [_absurd(log, appends, size)]
    return Slots(np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(size)))), []


def _sparse(log: LogInput, appends: Appends, acked: Ints) -> Slots:
    """Slots for every offset that anybody named: a message there, or "one before the end was this"."""
    polls = log.polls
    named = [
        appends.queue[acked] * _KEY + appends.offset[acked],
        np.repeat(polls.queue, polls.count) * _KEY + polls.offset,
    ]
    for claims, more in ((log.ends, 0), (log.starts, 0), (log.refused, 1)):
        below = claims.at + more > 0
        named.append(claims.queue[below] * _KEY + claims.at[below] + more - 1)
    keys = np.unique(np.concatenate(named))
    base = np.searchsorted(keys, np.arange(log.queue_count + 1, dtype=np.int64) * _KEY).astype(np.int64)
    return Slots(base, keys)


def _absurd(log: LogInput, appends: Appends, size: Ints) -> LogViolation:
    """An offset so great that no history of this size can reach it: more holes than appends, without counting them."""
    own = np.bincount(appends.queue[appends.queue >= 0], minlength=log.queue_count)
    queue = int((size - own).argmax())
    end = int(size[queue])
    polls = log.polls
    proof = [
        *appends.op[(appends.queue == queue) & (appends.offset == end - 1)].tolist(),
        *polls.op[(polls.queue == queue) & (polls.tops() == end - 1)].tolist(),
    ]
    for claims, more in ((log.ends, 0), (log.starts, 0), (log.refused, 1)):
        proof += claims.op[(claims.queue == queue) & (claims.at + more == end)].tolist()
    return LogViolation("hole-without-writer", queue, 0, end - 1, tuple(proof[:1]))


def _enter_acks(content: Content) -> list[LogViolation]:
    appends = content.appends
    rows = np.flatnonzero(appends.outcome == ACKED)
    slots = content.slots.of(appends.queue[rows], appends.offset[rows])
    content.value[slots] = appends.value[rows]
    content.append[slots] = rows
    content.lo[slots] = appends.invoke[rows]
    content.hi[slots] = appends.ret[rows]
    _enter_batches(content, rows, slots)
    # Of two rows that numpy wrote to one slot the last stands there: who does not find itself was overwritten.
    clash = np.flatnonzero(content.append[slots] != rows)
    if not len(clash):
        return []
    row, winner = int(rows[clash[0]]), int(content.append[slots[clash[0]]])
    ops = (int(appends.op[row]), int(appends.op[winner]))
    values = (int(appends.value[row]), int(appends.value[winner]))
    where = content.slots.where(int(slots[clash[0]]))
    return [LogViolation("two-values-one-offset", *where, where[1], ops, values, count=len(clash))]


def _enter_batches(content: Content, rows: Ints, slots: Ints) -> None:
    batch = content.appends.batch
    if batch is None:
        return
    content.group = np.arange(len(content.slots), dtype=np.int64)
    inside = np.flatnonzero(batch[rows] >= 0)
    if len(inside):
        _, first, member = np.unique(batch[rows[inside]], return_index=True, return_inverse=True)
        content.group[slots[inside]] = slots[inside[first]][member]


def _enter_reads(polls: Polls, content: Content, gaps: bool) -> list[LogViolation]:
    """Compare reads with what is known and learn the rest, piece by piece."""
    ends = polls.ends()
    first_poll = row = 0
    while first_poll < len(polls):
        next_poll = max(int(np.searchsorted(ends, row + _PIECE)), first_poll + 1)
        found = _enter_piece(polls, content, slice(first_poll, next_poll), slice(row, int(ends[next_poll - 1])), gaps)
        if found:
            return found
        first_poll, row = next_poll, int(ends[next_poll - 1])
    return []


def _enter_piece(polls: Polls, content: Content, some: slice, rows: slice, gaps: bool) -> list[LogViolation]:
    offset, value, count = polls.offset[rows], polls.value[rows], polls.count[some]
    skipped = _skips(polls, some, rows, count, gaps)
    if skipped:
        return skipped  # before anything else: the slots of a poll that is out of order may not exist
    if content.slots.keys is None:
        slots = np.repeat(content.slots.base[polls.queue[some]], count) + offset
    else:
        slots = content.slots.of(np.repeat(polls.queue[some], count), offset)
    known = content.value[slots]
    differs = np.flatnonzero(known != value)
    if len(differs):
        # Two reads of this piece may fill one empty slot: so the slots are asked again after they were filled.
        new = differs[known[differs] == EMPTY]
        content.value[slots[new]] = value[new]
        wrong = differs[content.value[slots[differs]] != value[differs]]
        if len(wrong):
            return [_two_values(polls, content, rows.start + int(wrong[0]), int(slots[wrong[0]]), len(wrong))]
    return []


def _skips(polls: Polls, some: slice, rows: slice, count: Ints, gaps: bool) -> list[LogViolation]:
    """A poll returns consecutive offsets, from the one that was asked for; with gaps, ascending ones."""
    offset = polls.offset[rows]
    first = np.cumsum(count) - count
    step = offset[1:] - offset[:-1]
    step[first[1:] - 1] = 1  # from the end of one poll to the beginning of the next: no step of a poll
    asked = polls.asked[some]
    begins = offset[first]
    late = np.flatnonzero((asked >= 0) & ((begins < asked) if gaps else (begins != asked)))
    jumps = np.flatnonzero((step <= 0) if gaps else (step != 1))
    if len(jumps):
        poll = some.start + int(np.searchsorted(first, jumps[0], side="right")) - 1
        missing = int(offset[jumps[0]]) + 1
    elif len(late):
        poll, missing = some.start + int(late[0]), int(asked[late[0]])
    else:
        return []
    queue = int(polls.queue[poll])
    return [
        LogViolation("skipped-in-read", queue, missing, missing, (int(polls.op[poll]),), count=len(jumps) + len(late))
    ]


def _two_values(polls: Polls, content: Content, row: int, slot: int, count: int) -> LogViolation:
    queue, offset = content.slots.where(slot)
    ends = polls.ends()
    poll = int(np.searchsorted(ends, row, side="right"))
    other = int(content.value[slot])
    known_by = int(content.append[slot])
    witness = int(content.appends.op[known_by]) if known_by >= 0 else first_reader(polls, queue, offset, other)
    ops = (witness, int(polls.op[poll]))
    return LogViolation(
        "two-values-one-offset", queue, offset, offset, ops, (other, int(polls.value[row])), count=count
    )


def first_reader(polls: Polls, queue: int, offset: int, value: int) -> int:
    """The op of the poll that returned first and showed *value* at *offset*; −1 if there is none."""
    rows = np.flatnonzero((polls.offset == offset) & (polls.value == value))
    found = np.searchsorted(polls.ends(), rows, side="right")
    found = found[polls.queue[found] == queue]
    return int(polls.op[found[polls.ret[found].argmin()]]) if len(found) else -1


def _learn(log: LogInput, content: Content, retries: bool) -> list[LogViolation]:
    """Find the append of every value that only reads tell of: the k-th earliest unknown append of a value goes to its
    k-th lowest learned slot (they are thresholds, like holes)."""
    appends = content.appends
    learned = np.flatnonzero((content.lo == UNSET) & (content.value != EMPTY))
    unknown = np.flatnonzero(appends.outcome == UNKNOWN)
    if not len(learned):
        content.spare = unknown
        return []
    rows = _copied(content, learned) if retries else _sent_alone_or_torn(content, learned, unknown)
    has_append = rows >= 0
    found, rows = learned[has_append], rows[has_append]
    content.append[found] = rows
    content.lo[found] = appends.invoke[rows]
    used = np.zeros(len(appends), dtype=np.bool_)
    used[rows] = True
    content.spare = unknown[~used[unknown]]
    violations = _strays(log, content, learned[~has_append])
    return violations or _elsewhere(log, content, found, rows) or _torn(log, content, found, rows)


def _sent_alone_or_torn(content: Content, learned: Ints, unknown: Ints) -> Ints:
    """For each learned slot the row of its append, −1 if there is none: of a message that was sent alone. Batches that
    can stand where they were read have been placed (:mod:`checkers.logs.batches`), so that a message of another batch
    stands for itself only where nothing else does: it names the violation."""
    batch = content.appends.batch
    if batch is None:
        return _appends_of(content, learned, unknown)
    rows = _appends_of(content, learned, unknown[batch[unknown] < 0])
    left = np.flatnonzero(rows < 0)
    rows[left] = _appends_of(content, learned[left], unknown[batch[unknown] >= 0])
    return rows


def _appends_of(content: Content, learned: Ints, unknown: Ints) -> Ints:
    """For each learned slot the row of its append, −1 if there is none: an append of that value to that very queue
    first (a retry may have gone to another), then to one that nobody knows, then any of that value."""
    appends, base = content.appends, content.slots.base
    queue = np.searchsorted(base, learned, side="right") - 1
    # (value, queue) as one number, which compares as the pair does; queue −1, unknown, becomes 0.
    values, queue_count = content.value[learned], len(base)
    rows = _kth(values * queue_count + queue + 1, appends.value * queue_count + appends.queue + 1, appends, unknown)
    left = np.flatnonzero(rows < 0)
    if len(left):
        used = np.zeros(len(appends), dtype=np.bool_)
        used[rows[rows >= 0]] = True
        free = unknown[~used[unknown]]
        rows[left] = _kth(values[left], appends.value, appends, free[appends.queue[free] < 0])
        left = left[rows[left] < 0]
        rows[left] = _kth(values[left], appends.value, appends, free[appends.queue[free] >= 0])
    return rows


def _kth(wanted: Ints, keys: Ints, appends: Appends, unknown: Ints) -> Ints:
    """The k-th slot that wants a key gets the k-th earliest *unknown* append with that key; −1: there are less."""
    rows = np.full(len(wanted), -1, dtype=np.int64)
    if not len(unknown):
        return rows
    by_key = unknown[np.lexsort((appends.invoke[unknown], keys[unknown]))]
    order = np.argsort(wanted, kind="stable")
    ordered, sorted_keys = wanted[order], keys[by_key]
    # Where the appends of its key begin, and how many slots before it want the same key: the first takes the first.
    place = np.searchsorted(sorted_keys, ordered) + np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
    inside = np.minimum(place, len(by_key) - 1)
    has_append: Bools = (place < len(by_key)) & (sorted_keys[inside] == ordered)
    rows[order[has_append]] = by_key[place[has_append]]
    return rows


def _copied(content: Content, learned: Ints) -> Ints:
    """As :func:`_appends_of`, where any append may be stored any number of times: the earliest that may stand there."""
    appends, queue_count = content.appends, len(content.slots.base)
    queue = np.searchsorted(content.slots.base, learned, side="right") - 1
    possible = np.flatnonzero(appends.outcome != FAILED)
    possible = possible[np.argsort(appends.invoke[possible], kind="stable")]
    rows = np.full(len(learned), -1, dtype=np.int64)
    if not len(possible):
        return rows
    keys = appends.value[possible] * queue_count + appends.queue[possible] + 1
    # np.unique returns the first of equals, and rows are sorted by invocation: the earliest append of each key.
    found, first = np.unique(keys, return_index=True)
    for some in (queue + 1, 0):  # to that queue, or to one that nobody knows
        wanted = content.value[learned] * queue_count + some
        place = np.minimum(np.searchsorted(found, wanted), len(found) - 1)
        candidate = possible[first[place]]
        sooner = (rows < 0) | (appends.invoke[candidate] < appends.invoke[rows])
        rows = np.where((found[place] == wanted) & sooner, candidate, rows)
    return rows


def _torn(log: LogInput, content: Content, slots: Ints, rows: Ints) -> list[LogViolation]:
    """A message of an unknown batch that was seen where the batch as a whole cannot be (it would begin below 0)."""
    batch = content.appends.batch
    torn = np.flatnonzero(batch[rows] >= 0) if batch is not None else rows[:0]
    if not len(torn):
        return []
    slot, row = int(slots[torn[0]]), int(rows[torn[0]])
    where = content.slots.where(slot)
    value = int(content.value[slot])
    ops = (int(content.appends.op[row]), first_reader(log.polls, *where, value))
    return [LogViolation("torn-batch", *where, where[1], ops, (value,), count=len(torn))]


def _strays(log: LogInput, content: Content, slots: Ints) -> list[LogViolation]:
    """Learned slots whose value has no append left: phantom, visible failure, or a second copy."""
    violations: list[LogViolation] = []
    for slot in slots.tolist():
        value = int(content.value[slot])
        sends = (
            np.flatnonzero(content.appends.value == value) if value != UNKNOWN_VALUE else np.zeros(0, dtype=np.int64)
        )
        possible = sends[content.appends.outcome[sends] != FAILED]
        violations.append(_stray(log, content, slot, value, sends, possible))
    return _first_of_each_kind(violations)


def _stray(log: LogInput, content: Content, slot: int, value: int, sends: Ints, possible: Ints) -> LogViolation:
    queue, offset = content.slots.where(slot)
    reader = first_reader(log.polls, queue, offset, value)
    if not len(sends):
        return LogViolation("phantom", queue, offset, offset, (reader,), (value,))
    if not len(possible):
        ops = (int(content.appends.op[sends[0]]), reader)
        return LogViolation("failed-append-visible", queue, offset, offset, ops, (value,))
    ops = (int(content.appends.op[possible[0]]), reader)
    if not np.isin(content.appends.queue[possible], (queue, -1)).any():
        return LogViolation("wrong-queue", queue, offset, offset, ops, (value,))
    other = np.flatnonzero((content.value == value) & (np.arange(len(content.value)) != slot))
    elsewhere = content.slots.where(int(other[0]))[1] if len(other) else offset
    return LogViolation("value-at-two-offsets", queue, min(offset, elsewhere), max(offset, elsewhere), ops, (value,))


def _first_of_each_kind(violations: list[LogViolation]) -> list[LogViolation]:
    kinds: dict[str, list[LogViolation]] = {}
    for violation in violations:
        kinds.setdefault(violation.kind, []).append(violation)
    return [replace(same[0], count=sum(one.count for one in same)) for same in kinds.values()]


def _elsewhere(log: LogInput, content: Content, slots: Ints, rows: Ints) -> list[LogViolation]:
    """A message that was sent to one queue and read in another."""
    if len(content.slots.base) <= 2:
        return []
    queue = np.searchsorted(content.slots.base, slots, side="right") - 1
    wrong = np.flatnonzero((content.appends.queue[rows] >= 0) & (content.appends.queue[rows] != queue))
    if not len(wrong):
        return []
    slot, row = int(slots[wrong[0]]), int(rows[wrong[0]])
    where = content.slots.where(slot)
    value = int(content.value[slot])
    ops = (int(content.appends.op[row]), first_reader(log.polls, *where, value))
    return [LogViolation("wrong-queue", *where, where[1], ops, (value,), count=len(wrong))]
