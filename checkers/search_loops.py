"""The loops of the compiled search: the tree of :mod:`checkers.search_tree`, on numbers alone.

Question: what does the tree do if every state, argument and operation is a small integer?

Model. The same tree in the same order, so the same answer after the same number of configurations. Where numba is
installed it is compiled when this module is loaded; where it is not, the functions are plain Python (and much slower
than the tree: only tests run them so). What differs from the tree is how things are kept:

  operations     rows in the order of returns; ``members[begin[R]:begin[R + 1]]`` are those that may come before the
                 return of R, up to ``split[R]`` the observers
  rules          by argument: in which states it is legal (0 in any, 1 only in the next number, 2 in all but that), and
                 which one it leads to (−1: the same)
  unknown ones   how many of each group were used, as a row of ``counts``; equal rows have one number
  configurations numbered in the order in which they were seen, found by open addressing; those of one (R, mask, state)
                 with different unknown ones used are chained

Limits. At most :data:`OPEN_MAX` operations are open at once (the mask is one number).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from checkers.columns import Bools, Ints
from checkers.models import ANY, IN
from checkers.search_compiled import UNKNOWN

Loop = TypeVar("Loop", bound=Callable[..., Any])
Small = npt.NDArray[np.int32]

OPEN_MAX = 62
SPENT, LEGAL, ILLEGAL = -1, 1, 0


def _compiled(loop: Loop) -> Loop:
    if find_spec("numba") is None:
        return loop
    return cast(Loop, import_module("numba").njit(cache=True)(loop))


@_compiled
def prepare(
    call: Ints, ret: Ints, by_call: Ints, by_ret: Ints, kind: Ints, rules: Ints, unknown: int
) -> tuple[bool, Ints, Ints, Small, Ints, Ints]:
    """(whether they fit, the rows with an answer in the order of their returns, and what :func:`run` wants to know).

    *by_call* and *by_ret* (of equal returns the earliest call first) are orders of all operations. *rules* are by
    argument, *kind* says which that is; *unknown* operations have no answer.
    """
    count = np.searchsorted(ret[by_ret], UNKNOWN)
    known, place = by_ret[:count], np.full(len(call), -1, dtype=np.int64)
    place[known] = np.arange(count)
    opened, lost = by_call[place[by_call] >= 0], by_call[place[by_call] < 0]
    observes = rules[:, 2] < 0
    table, members = np.zeros((5, count + 1), dtype=np.int64), np.empty(4 * count + OPEN_MAX, dtype=np.int32)
    table[0, :count], table[1, :count] = ret[known], kind[known]
    fits = len(lost) == unknown and bool((call[known] <= ret[known]).all())
    if fits:
        bit, begin, split = table[2], table[3], table[4]
        members, fits = _candidates(
            call[known], ret[known], place[opened], observes[kind[known]], members, bit, begin, split
        )
    groups, calls = _groups(call, kind, lost[~observes[kind[lost]]], len(observes))
    return fits, known, table, members, groups, calls


@_compiled
def _candidates(
    call: Ints, ret: Ints, by_call: Ints, observes: Bools, members: Small, bit: Ints, begin: Ints, split: Ints
) -> tuple[Small, bool]:
    """By R the operations that may come before its return; fills ``bit``, ``begin`` and ``split``. False if too many
    are open at once."""
    count, opened, width, number = len(call), 0, 0, 0
    active, free = np.empty(OPEN_MAX, dtype=np.int32), np.arange(OPEN_MAX)[::-1].copy()
    slot = np.empty(count, dtype=np.int8)
    for index in range(count):
        while opened < count and call[by_call[opened]] <= ret[index]:
            if width == OPEN_MAX:
                return members, False
            new = by_call[opened]
            slot[new] = free[OPEN_MAX - 1 - width]
            bit[new] = 1 << free[OPEN_MAX - 1 - width]
            _insert(active, width, new)
            width += 1
            opened += 1
        members = _room(members, number, width)
        begin[index] = number
        number = _copy(active, width, observes, True, members, number)
        split[index] = number
        number = _copy(active, width, observes, False, members, number)
        width -= 1
        free[OPEN_MAX - 1 - width] = slot[index]
        active[:width] = active[1 : width + 1].copy()  # it was the first of all to return
    begin[count] = number
    return members[:number], True


@_compiled
def _insert(active: Small, width: int, new: int) -> None:
    """Into *width* numbers in order."""
    place = width
    while place > 0 and active[place - 1] > new:
        active[place] = active[place - 1]
        place -= 1
    active[place] = new


@_compiled
def _copy(active: Small, width: int, observes: Bools, wanted: bool, members: Small, number: int) -> int:
    for place in range(width):
        if observes[active[place]] == wanted:
            members[number] = active[place]
            number += 1
    return number


@_compiled
def _groups(call: Ints, kind: Ints, rows: Ints, kinds: int) -> tuple[Ints, Ints]:
    """*rows*, by call: (arguments of the groups of equal ones, in the order in which they begin, above their first
    places; their calls by group)."""
    size, groups = np.zeros(kinds, dtype=np.int64), np.empty(len(rows), dtype=np.int64)
    some = 0
    for row in rows:
        if size[kind[row]] == 0:
            groups[some] = kind[row]
            some += 1
        size[kind[row]] += 1
    table = np.zeros((2, some + 1), dtype=np.int64)
    for group in range(some):
        table[0, group] = groups[group]
        table[1, group + 1] = table[1, group] + size[groups[group]]
        size[groups[group]] = table[1, group]
    calls = np.empty(len(rows), dtype=np.int64)
    for row in rows:
        calls[size[kind[row]]] = call[row]
        size[kind[row]] += 1
    return table, calls


@_compiled
def _room(array: Small, used: int, more: int) -> Small:
    """*array*, or twice as much with the same beginning."""
    if used + more <= len(array):
        return array
    larger = np.empty(2 * (used + more), dtype=np.int32)
    larger[:used] = array[:used]
    return larger


@_compiled
def _step(state: int, arg: int, rules: Ints, rank: Ints) -> int:
    """The state after, −1 if impossible. ``rank``: which states have been met, in which order (0: not); its last: how
    many."""
    if not _is_legal(state, arg, rules):
        return -1
    after = int(rules[arg, 2])
    if after < 0:
        return state
    if rank[after] == 0:
        rank[-1] += 1
        rank[after] = rank[-1]
    return after


@_compiled
def _is_legal(state: int, arg: int, rules: Ints) -> bool:
    when = rules[arg, 0]
    return bool(when == ANY or (when == IN) == (rules[arg, 1] == state))


@_compiled
def _is_within(fewer: int, more: int, counts: Small) -> bool:
    """Whether all unknown operations used in *fewer* are used in *more*."""
    if fewer == more:
        return True
    for group in range(counts.shape[1]):  # noqa: SIM110 (numba compiles no generator here)
        if counts[fewer, group] > counts[more, group]:
            return False
    return True


@_compiled
def _with_one_more(used: int, group: int, counts: Small, table: Small, new: int) -> int:
    """The number of the row *used* with one more of *group*: *new* if there was none."""
    counts[new] = counts[used]
    counts[new, group] += 1
    place = _place_of_row(counts, new, len(table))
    while table[place] >= 0:
        is_same = True
        for number in range(counts.shape[1]):
            if counts[table[place], number] != counts[new, number]:
                is_same = False
                break
        if is_same:
            return int(table[place])
        place = (place + 1) % len(table)
    table[place] = new
    return new


@_compiled
def _place_of_row(counts: Small, row: int, size: int) -> int:
    mixed = 0
    for number in range(counts.shape[1]):
        mixed = (mixed * 31 + int(counts[row, number])) % 2147483647
    return mixed * 40503 % size


@_compiled
def _place(at: int, mask: int, state: int, size: int) -> int:
    """Where in a table of *size* (a power of two) to begin to look; without overflow, so that Python gets it right."""
    mixed = (at * 73856093) ^ ((mask & 0x7FFFFFFF) * 19349669) ^ ((mask >> 31) * 83492791) ^ (state * 50331653)
    mixed ^= mixed >> 29
    return (mixed ^ (mixed >> 15)) & (size - 1)


@_compiled
def _find(at: int, mask: int, state: int, table: Small, sets: Small, masks: Ints) -> int:
    """The place in *table* of that key, or the free one in which to put it."""
    place = _place(at, mask, state, len(table))
    while table[place] >= 0:
        row = table[place]
        if masks[row] == mask and sets[row, 0] == at and sets[row, 1] == state:
            return place
        place = (place + 1) & (len(table) - 1)
    return place


@_compiled
def _is_new(
    at: int, mask: int, state: int, used: int, number: int, table: Small, sets: Small, masks: Ints, counts: Small
) -> bool:
    """Enter the configuration as *number*, unless one like it used no more; then drop those that used no fewer.

    ``sets``: R, state, used, the next one with the same key.
    """
    place = _find(at, mask, state, table, sets, masks)
    row = table[place]
    while row >= 0:
        if _is_within(int(sets[row, 2]), used, counts):
            return False
        row = sets[row, 3]
    kept, row = -1, table[place]
    while row >= 0:
        following = sets[row, 3]
        if not _is_within(used, int(sets[row, 2]), counts):
            sets[row, 3] = kept
            kept = row
        row = following
    sets[number, 0], sets[number, 1], sets[number, 2], sets[number, 3] = at, state, used, kept
    masks[number] = mask
    table[place] = number
    return True


@_compiled
def _larger_table(table: Small, sets: Small, masks: Ints) -> Small:
    larger = np.full(2 * len(table), -1, dtype=np.int32)
    for place in range(len(table)):
        row = table[place]
        if row >= 0:
            key = int(sets[row, 0]), int(masks[row]), int(sets[row, 1])
            larger[_find(key[0], key[1], key[2], larger, sets, masks)] = row
    return larger


@_compiled
def _larger_used(counts: Small) -> tuple[Small, Small]:
    """Twice the rows, and a table that finds them."""
    rows = len(counts)
    larger = np.zeros((2 * rows, counts.shape[1]), dtype=np.int32)
    larger[:rows] = counts
    table = np.full(8 * rows, -1, dtype=np.int32)
    for row in range(rows):
        place = _place_of_row(counts, row, len(table))
        while table[place] >= 0:
            place = (place + 1) % len(table)
        table[place] = row
    return larger, table


@_compiled
def _observe(
    at: int, mask: int, state: int, arg: Ints, bit: Ints, begin: Ints, split: Ints, members: Small, rules: Ints,
) -> tuple[int, int]:  # fmt: skip
    """Put in every observer that is legal now, and step over operations that are in."""
    end = len(bit)
    while at < end:
        for number in range(begin[at], split[at]):
            its = bit[members[number]]
            if not mask & its and _is_legal(state, arg[members[number]], rules):
                mask |= its
        if not mask & bit[at]:
            break
        while at < end and mask & bit[at]:
            mask ^= bit[at]
            at += 1
    return at, mask


@_compiled
def run(
    by_ret: Ints, members: Small, groups: Ints, calls: Ints, rules: Ints, is_lazy: bool, budget: int, marks: Ints
) -> tuple[int, int, int]:
    """(answer, configurations, the greatest R that one of them had). State 0 is the initial one.

    ``marks``, by state: R plus one of the last configurations that stood in it; below, in which order they were met.
    """
    ret, arg, bit, begin, split = by_ret[0][:-1], by_ret[1][:-1], by_ret[2][:-1], by_ret[3], by_ret[4][:-1]
    lost, first, reached, rank = groups[0][:-1], groups[1], marks[0], marks[1]
    rank[0] = rank[-1] = 1
    end, more = len(bit), OPEN_MAX + len(lost)
    counts, rows = np.zeros((16, len(lost)), dtype=np.int32), np.full(64, -1, dtype=np.int32)
    rows[_place_of_row(counts, 0, len(rows))] = 0
    table, sets, masks = np.full(1024, -1, np.int32), np.empty((512, 4), np.int32), np.empty(512, np.int64)
    stack, open_ = np.empty((512, 3), dtype=np.int32), np.empty(512, dtype=np.int64)
    after, ready = np.empty(OPEN_MAX, dtype=np.int64), np.empty(len(lost), dtype=np.int64)
    waiting, idle = np.empty(OPEN_MAX + len(lost), dtype=np.int64), 0
    stack[0], open_[0] = 0, 0
    top, count, deepest, kept = 1, 0, -1, 1
    while top:
        top -= 1
        at, state, used = int(stack[top, 0]), int(stack[top, 1]), int(stack[top, 2])
        at, mask = _observe(at, int(open_[top]), state, arg, bit, begin, split, members, rules)
        if at == end:
            return LEGAL, count, deepest
        if count == len(masks):
            sets, masks = _twice(sets, masks)
            table = _larger_table(table, sets, masks)
        if not _is_new(at, mask, state, used, count, table, sets, masks, counts):
            continue
        count += 1
        if count > budget:
            return SPENT, count, deepest
        deepest = max(deepest, at)
        if at == deepest:
            reached[state] = at + 1
        while top + more > len(open_):
            stack, open_ = _twice(stack, open_)
        known = members[split[at] : begin[at + 1]]
        idle = _try(state, mask, known, arg, bit, rules, rank, after, waiting)
        if len(lost):
            some = _ready(ret[at], used, counts, first, calls, ready)
            if some and is_lazy:
                idle = _others(
                    state,
                    mask,
                    members[begin[at] : split[at]],
                    arg,
                    bit,
                    lost,
                    ready[:some],
                    rules,
                    rank,
                    waiting,
                    idle,
                )
            while kept + some > len(counts):
                counts, rows = _larger_used(counts)
            for number in range(some - 1, -1, -1):
                its = _step(state, int(lost[ready[number]]), rules, rank)
                if its < 0 or its == state or (is_lazy and not _is_wanted(its, waiting[:idle], rules, rank)):
                    continue
                stack[top, 0], stack[top, 1], open_[top] = at, its, mask
                stack[top, 2] = _with_one_more(used, ready[number], counts, rows, kept)
                kept = max(kept, stack[top, 2] + 1)
                top += 1
        for number in range(len(known) - 1, -1, -1):
            if after[number] >= 0:
                stack[top, 0], stack[top, 1], stack[top, 2] = at, after[number], used
                open_[top] = mask | bit[known[number]]
                top += 1
    return ILLEGAL, count, deepest


@_compiled
def _try(
    state: int, mask: int, known: Small, arg: Ints, bit: Ints, rules: Ints, rank: Ints, after: Ints, waiting: Ints
) -> int:
    """The state ``after`` each mutator that is not in (−1: none); how many are *waiting* for another one."""
    idle = 0
    for number in range(len(known)):
        after[number] = -1
        if not mask & bit[known[number]]:
            after[number] = _step(state, arg[known[number]], rules, rank)
            if after[number] < 0:
                waiting[idle] = arg[known[number]]
                idle += 1
    return idle


@_compiled
def _ready(ret: int, used: int, counts: Small, first: Ints, calls: Ints, ready: Ints) -> int:
    """The groups whose next one was invoked by then; how many."""
    some = 0
    for group in range(len(ready)):
        following = first[group] + counts[used, group]
        if following < first[group + 1] and calls[following] <= ret:
            ready[some] = group
            some += 1
    return some


@_compiled
def _others(
    state: int, mask: int, observers: Small, arg: Ints, bit: Ints, groups: Ints, ready: Ints, rules: Ints, rank: Ints,
    waiting: Ints, idle: int,
) -> int:  # fmt: skip
    """Observers and unknown operations are *waiting*, too."""
    for its in observers:
        if not mask & bit[its]:
            waiting[idle] = arg[its]
            idle += 1
    for group in ready:
        if _step(state, groups[group], rules, rank) < 0:
            waiting[idle] = groups[group]
            idle += 1
    return idle


@_compiled
def _is_wanted(after: int, waiting: Ints, rules: Ints, rank: Ints) -> bool:
    for other in waiting:  # noqa: SIM110
        if _step(after, other, rules, rank) >= 0:
            return True
    return False


@_compiled
def _twice(rows: Small, masks: Ints) -> tuple[Small, Ints]:
    more_rows = np.empty((2 * len(rows), rows.shape[1]), dtype=np.int32)
    more_masks = np.empty(2 * len(masks), dtype=np.int64)
    more_rows[: len(rows)] = rows
    more_masks[: len(masks)] = masks
    return more_rows, more_masks
