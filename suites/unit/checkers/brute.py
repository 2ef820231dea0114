"""An oracle by exhaustion: is there any order of the operations that the object allows?

It shares nothing with the checkers: no theorem, no trick, only Wing and Gong's definition with a memory of the
configurations already seen. Good for about ten operations; the differential tests compare every checker with it.

An operation is (inv, ret, must, what). ``ret`` is infinite for an unknown outcome, and then ``must`` is false: it may
take effect at any time from ``inv`` on, or never. a precedes b iff ret(a) < inv(b).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

INFINITE = 1 << 40


class Op(NamedTuple):
    inv: int
    ret: int
    must: bool
    what: tuple[Any, ...]


Step = Callable[[Any, tuple[Any, ...]], Iterable[Hashable]]
"""All states in which the object may be after *what* happened in a state; empty if it cannot happen there."""


def linearizable(ops: Sequence[Op], initial: Hashable, step: Step) -> bool:
    """The definition with two liberties that change no answer: what must happen is tried before what may, and of
    operations that are equal in everything the first goes first. ``test_brute.py`` has it without."""
    ops = sorted(ops, key=lambda op: op.must)  # the last is tried first
    twins = _twins(ops)
    bits = [(1 << index, op.inv, op.ret, op.what, twins[index]) for index, op in enumerate(ops)]
    needed = sum(1 << index for index, op in enumerate(ops) if op.must)
    seen = set()
    stack = [(0, initial)]
    while stack:
        done, state = configuration = stack.pop()
        if done & needed == needed:
            return True
        if configuration in seen:
            continue
        seen.add(configuration)
        rest = [one for one in bits if not done & one[0]]
        horizon = min(one[2] for one in rest)
        for bit, inv, _, what, twin in rest:
            if inv <= horizon and done & twin == twin:
                for after in step(state, what):
                    stack.append((done | bit, after))
    return False


def _twins(ops: Sequence[Op]) -> list[int]:
    """By operation: the bit of the last one before it that is equal to it in everything, 0 if there is none."""
    latest: dict[Op, int] = {}
    twins = []
    for index, op in enumerate(ops):
        twins.append(latest.get(op, 0))
        latest[op] = 1 << index
    return twins


def sequentially_consistent(ops: Sequence[Op], processes: Sequence[int], initial: Hashable, step: Step) -> bool:
    """Any order that keeps each process's own order; an operation with unknown outcome is its process's last."""
    lanes: dict[int, list[int]] = {}
    for index in sorted(range(len(ops)), key=lambda i: ops[i].inv):
        lanes.setdefault(processes[index], []).append(index)
    order = list(lanes.values())
    seen = set()
    stack = [((0,) * len(order), initial)]
    while stack:
        at, state = stack.pop()
        if all(not any(ops[i].must for i in lane[p:]) for lane, p in zip(order, at, strict=True)):
            return True
        if (at, state) in seen:
            continue
        seen.add((at, state))
        for number, lane in enumerate(order):
            if at[number] < len(lane):
                op = ops[lane[at[number]]]
                further = (*at[:number], at[number] + 1, *at[number + 1 :])
                stack += [(further, after) for after in step(state, op.what)]
    return False


def log_step(gaps: bool = False, fresh: bool = True) -> Step:
    """Logs by queue: state = ((start, values), …); trimming happens by itself, as late as possible. A power
    cut takes any end, and may bring back all that was trimmed."""

    def step(state: Any, what: tuple[Any, ...]) -> Iterable[Hashable]:
        kind, queue = what[0], what[1]
        if queue < 0:
            for number in range(len(state)):
                yield from step(state, (kind, number, *what[2:]))
            return
        if kind == "cut":
            for end in range(len(state[queue][1]) + 1):
                yield (*state[:queue], (0, state[queue][1][:end]), *state[queue + 1 :])
            return
        if kind == "append" and gaps and what[3] is None:
            end = len(state[queue][1])
            for offset in range(end, max(end + 1, 6)):
                yield from step(state, (kind, queue, what[2], offset))
            return
        after = _log_one(state[queue], kind, what[2:], gaps, fresh)
        if after is not None:
            yield (*state[:queue], after, *state[queue + 1 :])

    return step


def _log_one(log: Any, kind: str, args: tuple[Any, ...], gaps: bool, fresh: bool) -> Any:
    start, values = log
    end = len(values)
    if kind == "append":
        new, offset = args
        if offset is not None and gaps and offset > end:
            values, end = values + (None,) * (offset - end), offset
        return (start, (*values, *new)) if offset is None or offset == end else None
    if kind == "poll":
        asked, got = args
        if start > got[0][0] or (not gaps and got[0][0] != asked):
            return None
        last = got[-1][0]
        if not gaps and (last >= end or [offset for offset, _ in got] != list(range(got[0][0], last + 1))):
            return None
        if gaps and last >= end:
            return None
        return log if all(values[offset] == value for offset, value in got) else None
    if kind == "empty":
        return log if not fresh or end <= args[0] else None
    if kind == "end":
        if gaps and args[0] > end:
            return (start, values + (None,) * (args[0] - end))
        return log if end == args[0] or (not fresh and end >= args[0]) else None
    if gaps and kind in ("refused", "start"):
        values, end = values + (None,) * (args[0] + (kind == "refused") - end), max(end, args[0] + (kind == "refused"))
    if kind == "refused":
        return (max(start, args[0] + 1), values) if args[0] < end else None
    if kind == "start":
        return (args[0], values) if start <= args[0] <= end else None
    raise ValueError(kind)


def retention_step(
    files: Mapping[int, int], sent: Mapping[int, int], last_file: int, may_go: Callable[[int, int], bool]
) -> Step:
    """One log of which whole files are deleted, the oldest first, *last_file* never: state = (the first file that is
    left at least, start, values). A message that began to be sent then *may_go* by now (sent, now).

    *files* has the messages of which it is known in which file they are, *sent* when each began to be sent. What a poll
    leaves out of what it was asked for was in files that are gone; the one that it begins with is in one that is left.
    """
    log_at = log_step(fresh=False)

    def step(state: Any, what: tuple[Any, ...]) -> Iterable[Hashable]:
        left, *log = state
        if what[0] == "append" and files.get(what[2][0], left) < left:
            return
        if what[0] == "poll" and what[3][0][0] > what[2]:
            first = what[3][0][0]
            left = _first_left(files, log[1], first, max(left, 1), last_file)
            if left is None or log[0] > first or not is_old(log[1][:first], what[4]):
                return
            log[0], what = first, ("poll", 0, first, what[3])
        for ((start, values),) in log_at((tuple(log),), what[:4]):  # type: ignore[misc]
            yield (0 if what[0] == "cut" else left, start, values)

    def is_old(gone: tuple[int, ...], told: int) -> bool:
        known = [value for value in gone if value in files]
        return (all if known else any)(may_go(sent[value], told) for value in known or gone)

    return step


def _first_left(files: Mapping[int, int], values: tuple[int, ...], first: int, least: int, most: int) -> int | None:
    """The lowest file from *least* to *most* that can be the first one left where offset *first* is the first left."""
    known = [files.get(value) for value in values]
    least = max([least, *(file + 1 for file in known[:first] if file is not None)])
    return least if least <= min([most, *(file for file in known[first:] if file is not None)]) else None


def queue_step(ordered: bool) -> Step:
    """A FIFO queue (or a bag) as a tuple of values (sorted for a bag)."""

    def step(state: Any, what: tuple[Any, ...]) -> Iterable[Hashable]:
        kind = what[0]
        if kind == "enqueue":
            yield (*state, what[1]) if ordered else tuple(sorted((*state, what[1])))
        elif kind == "empty":
            if not state:
                yield state
        else:
            wanted = what[1] if kind == "dequeue" else None
            heads = range(min(1, len(state))) if ordered else range(len(state))
            for index in heads:
                if wanted is None or state[index] == wanted:
                    yield (*state[:index], *state[index + 1 :])

    return step


def set_step(state: Any, what: tuple[Any, ...]) -> Iterable[Hashable]:
    """A set as the sorted tuple of its values: adds, and reads of everything."""
    kind, values = what
    if kind == "add":
        yield tuple(sorted({*state, *values}))
    elif state == values:
        yield state


def register_step(state: Any, what: tuple[Any, ...]) -> Iterable[Hashable]:
    """A register with write, read, cas (swapped) and refused cas."""
    kind = what[0]
    if kind == "write":
        yield what[1]
    elif kind == "cas":
        if state == what[1]:
            yield what[2]
    elif kind == "refused":
        if state != what[1]:
            yield state
    elif state == what[1]:
        yield state


def max_register_step(state: Any, what: tuple[Any, ...]) -> Iterable[Hashable]:
    """A register that keeps the greatest value."""
    if what[0] == "write":
        yield max(state, what[1])
    elif state == what[1]:
        yield state


def lock_step(permits: int) -> Step:
    """A lock with owners: the state is the sorted tuple of owners that hold it."""

    def step(state: Any, what: tuple[Any, ...]) -> Iterable[Hashable]:
        kind, owner = what
        if kind == "acquire":
            if len(state) < permits:
                yield tuple(sorted((*state, owner)))
        elif kind == "refused":
            if len(state) >= permits:
                yield state
        elif owner in state:
            yield tuple(held for held in state if held != owner)

    return step
