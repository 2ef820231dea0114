"""The loops of the compiled search: the tree of :mod:`checkers.objects.search_tree`, on numbers alone.

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

Limits. At most :data:`OPEN_MAX` operations are open at once (the mask is one number), and at most :data:`GROUPS_MAX`
different mutators have no answer (each row of ``counts`` is so long).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from checkers.compiled.numba_loops import compiled, inlined
from checkers.compiled.search import UNKNOWN
from checkers.history.columns import Bools, Ints
from checkers.objects.models import IN

Small = npt.NDArray[np.int32]

OPEN_MAX, GROUPS_MAX = 62, 64
SPENT, LEGAL, ILLEGAL, MORE = -1, 1, 0, 2


@compiled
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
    opened, lost = place[by_call], by_call[place[by_call] < 0]
    opened, observes, table = opened[opened >= 0], rules[:, 2] < 0, np.zeros((5, count + 1), dtype=np.int64)
    table[0, :count], table[1, :count] = ret[known], kind[known]
    total = _total(call[known], opened, table) if len(lost) == unknown else -1
    members = np.empty(max(total, 0), dtype=np.int32)
    if total >= 0:
        _candidates(call[known], opened, observes[kind[known]], table, members)
    groups, calls = _groups(call, kind, lost[~observes[kind[lost]]], len(observes))
    return total >= 0 and groups.shape[1] <= GROUPS_MAX + 1, known, table, members, groups, calls


@compiled
def _total(call: Ints, by_call: Ints, table: Ints) -> int:
    """How many may come before the return of each R, in all; −1 if these are too many at once, or one returned before
    it was called."""
    opened = total = 0
    for index in range(len(call)):
        while opened < len(call) and call[by_call[opened]] <= table[0, index]:
            opened += 1
        if opened - index > OPEN_MAX or call[index] > table[0, index]:
            return -1
        total += opened - index
    return total


@compiled
def _candidates(call: Ints, by_call: Ints, observes: Bools, table: Ints, members: Small) -> None:
    """Fill ``members``, and of *table* the bits of operations and where their members begin and are split."""
    active, free = np.empty(OPEN_MAX, dtype=np.int64), np.empty(OPEN_MAX, dtype=np.int64)
    for width in range(OPEN_MAX):
        free[width] = 1 << width
    opened = width = number = 0
    for index in range(len(call)):
        while opened < len(call) and call[by_call[opened]] <= table[0, index]:
            new, place = by_call[opened], width
            table[2, new] = free[width]
            while place > 0 and active[place - 1] > new:
                active[place] = active[place - 1]
                place -= 1
            active[place] = new
            width += 1
            opened += 1
        for place in range(width):
            if observes[active[place]]:
                members[number] = active[place]
                number += 1
        table[4, index] = number
        for place in range(width):
            if not observes[active[place]]:
                members[number] = active[place]
                number += 1
        table[3, index + 1] = number
        width -= 1
        free[width] = table[2, index]
        for place in range(width):  # R is the first of those that are open
            active[place] = active[place + 1]


@compiled
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


@compiled
def _is_within(fewer: int, more: int, counts: Small) -> bool:
    """Whether all unknown operations used in *fewer* are used in *more*."""
    if fewer == more:
        return True
    for group in range(counts.shape[1]):  # noqa: SIM110 (numba compiles no generator here)
        if counts[fewer, group] > counts[more, group]:
            return False
    return True


@compiled
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


@compiled
def _place_of_row(counts: Small, row: int, size: int) -> int:
    mixed = 0
    for number in range(counts.shape[1]):
        mixed = (mixed * 31 + int(counts[row, number])) % 2147483647
    return mixed * 40503 % size


@compiled
def _place(at: int, mask: int, state: int, size: int) -> int:
    """Where in a table of *size* (a power of two) to begin to look; without overflow, so that Python gets it right."""
    mixed = (at * 73856093) ^ ((mask & 0x7FFFFFFF) * 19349669) ^ ((mask >> 31) * 83492791) ^ (state * 50331653)
    mixed ^= mixed >> 29
    return (mixed ^ (mixed >> 15)) & (size - 1)


@compiled
def _larger_used(counts: Small, kept: int) -> tuple[Small, Small]:
    """Room for twice the rows, and a table that finds those that are kept."""
    larger = np.zeros((2 * len(counts), counts.shape[1]), dtype=np.int32)
    larger[:kept] = counts[:kept]
    table = np.full(8 * len(counts), -1, dtype=np.int32)
    for row in range(kept):
        place = _place_of_row(counts, row, len(table))
        while table[place] >= 0:
            place = (place + 1) % len(table)
        table[place] = row
    return larger, table


@inlined
def _is_legal(arg: int, state: int, rules: Ints) -> bool:
    """0 is legal in any state; 1 is IN and only legal in its own; 2 is NOT_IN and legal in all but that."""
    return bool(rules[arg, 0] != IN + (rules[arg, 1] == state))


@inlined
def _meet(state: int, marks: Ints) -> None:
    """*state* gets the next number, if it was not met before."""
    if marks[1, state] == 0:
        marks[1, -1] += 1
        marks[1, state] = marks[1, -1]


@inlined
def _with_observers(at: int, mask: int, state: int, by_ret: Ints, members: Small, rules: Ints) -> tuple[int, int]:
    """(R, mask) with every observer that is legal now put in, behind the operations that are in."""
    end = by_ret.shape[1] - 1
    while at < end:
        for number in range(by_ret[3, at], by_ret[4, at]):
            if _is_legal(by_ret[1, members[number]], state, rules):
                mask |= by_ret[2, members[number]]
        if not mask & by_ret[2, at]:
            break
        while at < end and mask & by_ret[2, at]:
            mask ^= by_ret[2, at]
            at += 1
    return at, mask


@inlined
def _find(at: int, mask: int, state: int, table: Small, sets: Small, masks: Ints) -> int:
    """Where in the table (R, mask, state) is, or goes."""
    place = _place(at, mask, state, len(table))
    row = table[place]
    while row >= 0 and (masks[row] != mask or sets[row, 0] != at or sets[row, 1] != state):
        place = (place + 1) & (len(table) - 1)
        row = table[place]
    return place


@inlined
def _was_seen(place: int, used: int, table: Small, sets: Small, counts: Small) -> bool:
    """Whether the configuration was seen with no more unknown ones used."""
    row = table[place]
    while row >= 0 and not _is_within(sets[row, 2], used, counts):
        row = sets[row, 3]
    return bool(row >= 0)


@inlined
def _remember(
    at: int, mask: int, state: int, used: int, place: int, count: int, table: Small, sets: Small, masks: Ints,
    counts: Small,
) -> None:  # fmt: skip
    """Chain it before those of its kind; those that used no fewer unknown ones can do no more, and are forgotten."""
    chain, row = -1, table[place]
    while row >= 0:
        after = sets[row, 3]
        if not _is_within(used, sets[row, 2], counts):
            sets[row, 3] = chain
            chain = row
        row = after
    sets[count, 0], sets[count, 1], sets[count, 2], sets[count, 3] = at, state, used, chain
    table[place], masks[count] = count, mask


@inlined
def _wait_for_mutators(
    at: int, mask: int, state: int, by_ret: Ints, members: Small, rules: Ints, marks: Ints, waiting: Ints
) -> int:
    """How many mutators are impossible now and wait for another state; what the others lead to has been met."""
    idle = 0
    for number in range(by_ret[4, at], by_ret[3, at + 1]):
        arg = by_ret[1, members[number]]
        if mask & by_ret[2, members[number]]:
            continue
        if _is_legal(arg, state, rules):
            _meet(rules[arg, 2], marks)
        else:
            waiting[idle] = arg
            idle += 1
    return idle


@inlined
def _ready_groups(at: int, used: int, by_ret: Ints, groups: Ints, calls: Ints, counts: Small, ready: Ints) -> int:
    """Of each group of unknown ones the next is ready, if it was invoked by now: how many groups are."""
    some = 0
    for group in range(groups.shape[1] - 1):
        after = groups[1, group] + counts[used, group]
        if after < groups[1, group + 1] and calls[after] <= by_ret[0, at]:
            ready[some] = group
            some += 1
    return some


@inlined
def _wait_for_the_rest(
    at: int, mask: int, state: int, idle: int, some: int, by_ret: Ints, members: Small, groups: Ints, rules: Ints,
    marks: Ints, waiting: Ints, ready: Ints,
) -> int:  # fmt: skip
    """Lazily, observers and unknown ones that are impossible now wait, too: how many wait then."""
    for number in range(by_ret[3, at], by_ret[4, at]):
        if not mask & by_ret[2, members[number]]:
            waiting[idle] = by_ret[1, members[number]]
            idle += 1
    for number in range(some):
        arg = groups[0, ready[number]]
        if _is_legal(arg, state, rules):
            _meet(rules[arg, 2], marks)
        else:
            waiting[idle] = arg
            idle += 1
    return idle


@inlined
def _is_worth_it(
    group: int, state: int, is_lazy: bool, idle: int, groups: Ints, rules: Ints, marks: Ints, waiting: Ints
) -> bool:
    """Whether the next of *group* is legal and changes the state, lazily to one in which something that waits is
    legal."""
    arg = groups[0, group]
    after = rules[arg, 2]
    is_wanted = False
    if _is_legal(arg, state, rules):
        _meet(after, marks)
        is_wanted = after != state and not is_lazy
        if after != state and is_lazy:
            for number in range(idle):
                other = waiting[number]
                if _is_legal(other, after, rules):
                    is_wanted = True
                    if rules[other, 2] >= 0:
                        _meet(rules[other, 2], marks)
                    break
    return is_wanted


@inlined
def _push_mutators(
    at: int, mask: int, state: int, used: int, top: int, by_ret: Ints, members: Small, rules: Ints, stack: Small,
    open_: Ints,
) -> int:  # fmt: skip
    """Push every mutator that is legal; the one with the earliest return is on top."""
    for number in range(by_ret[3, at + 1] - 1, by_ret[4, at] - 1, -1):
        arg = by_ret[1, members[number]]
        if not mask & by_ret[2, members[number]] and _is_legal(arg, state, rules):
            stack[top, 0], stack[top, 1], stack[top, 2] = at, rules[arg, 2], used
            open_[top] = mask | by_ret[2, members[number]]
            top += 1
    return top


@compiled
def run(
    by_ret: Ints, members: Small, groups: Ints, calls: Ints, rules: Ints, is_lazy: bool, budget: int, marks: Ints
) -> tuple[int, int, int]:
    """(answer, configurations, the greatest R that one of them had). State 0 is the initial one.

    ``marks``, by state: R plus one of the last configurations that stood in it; below, in which order they were met.
    """
    lost = groups.shape[1] - 1
    counts, rows = np.zeros((16 + lost, lost), dtype=np.int32), np.full(64 + 4 * lost, -1, dtype=np.int32)
    rows[_place_of_row(counts, 0, len(rows))] = 0
    table, sets, masks = np.full(1024, -1, np.int32), np.empty((512, 4), np.int32), np.empty(512, np.int64)
    stack, open_ = np.empty((512 + lost, 3), dtype=np.int32), np.empty(512 + lost, dtype=np.int64)
    waiting, ready = np.empty(OPEN_MAX + lost, dtype=np.int64), np.empty(lost, dtype=np.int64)
    stack[0], open_[0] = 0, 0
    marks[1, 0] = marks[1, -1] = 1
    where = np.array([1, 0, -1, 1])
    answer = MORE
    while answer == MORE:
        answer = _walk(
            by_ret, members, groups, calls, rules, is_lazy, budget, marks, counts, rows, table, sets, masks, stack,
            open_, waiting, ready, where,
        )  # fmt: skip
        if where[1] == len(masks):
            sets, masks = _twice(sets, masks)
            table = _larger_table(table, sets, masks)
        if where[0] + OPEN_MAX + lost > len(open_):
            stack, open_ = _twice(stack, open_)
        if where[3] + lost > len(counts):
            counts, rows = _larger_used(counts, where[3])
    return answer, int(where[1]), int(where[2])


@compiled
def _walk(
    by_ret: Ints, members: Small, groups: Ints, calls: Ints, rules: Ints, is_lazy: bool, budget: int, marks: Ints,
    counts: Small, rows: Small, table: Small, sets: Small, masks: Ints, stack: Small, open_: Ints, waiting: Ints,
    ready: Ints, where: Ints,
) -> int:  # fmt: skip
    """As :func:`run`, until there might be no room. ``where``: the top of the stack, configurations, the deepest, rows
    of ``counts``.

    Its parts are put in where they are called (:func:`inlined`), and no part of an array has a name: to hand an array
    to another function is to count references to it, which took four fifths of the time.
    """
    end, lost = by_ret.shape[1] - 1, groups.shape[1] - 1
    top, count, deepest, kept = int(where[0]), int(where[1]), int(where[2]), int(where[3])
    answer = ILLEGAL
    while top:
        if count == len(masks) or top + OPEN_MAX + lost > len(open_) or kept + lost > len(counts):
            answer = MORE
            break
        top -= 1
        at, mask, state, used = int(stack[top, 0]), int(open_[top]), int(stack[top, 1]), int(stack[top, 2])
        at, mask = _with_observers(at, mask, state, by_ret, members, rules)
        if at == end:
            answer = LEGAL
            break
        place = _find(at, mask, state, table, sets, masks)
        if _was_seen(place, used, table, sets, counts):
            continue
        _remember(at, mask, state, used, place, count, table, sets, masks, counts)
        count += 1
        if count > budget:
            answer = SPENT
            break
        deepest = max(deepest, at)
        if at == deepest:
            marks[0, state] = at + 1
        idle = _wait_for_mutators(at, mask, state, by_ret, members, rules, marks, waiting)
        some = _ready_groups(at, used, by_ret, groups, calls, counts, ready)
        if some and is_lazy:
            idle = _wait_for_the_rest(
                at, mask, state, idle, some, by_ret, members, groups, rules, marks, waiting, ready
            )
        for number in range(some - 1, -1, -1):
            if _is_worth_it(ready[number], state, is_lazy, idle, groups, rules, marks, waiting):
                row = _with_one_more(used, ready[number], counts, rows, kept)
                kept = max(kept, row + 1)
                stack[top, 0], stack[top, 1], stack[top, 2] = at, rules[groups[0, ready[number]], 2], row
                open_[top] = mask
                top += 1
        top = _push_mutators(at, mask, state, used, top, by_ret, members, rules, stack, open_)
    where[0], where[1], where[2], where[3] = top, count, deepest, kept
    return answer


@compiled
def _larger_table(table: Small, sets: Small, masks: Ints) -> Small:
    larger = np.full(2 * len(table), -1, dtype=np.int32)
    for row in table:
        if row >= 0:
            place = _place(int(sets[row, 0]), int(masks[row]), int(sets[row, 1]), len(larger))
            while larger[place] >= 0:
                place = (place + 1) & (len(larger) - 1)
            larger[place] = row
    return larger


@compiled
def _twice(rows: Small, masks: Ints) -> tuple[Small, Ints]:
    more_rows = np.empty((2 * len(rows), rows.shape[1]), dtype=np.int32)
    more_masks = np.empty(2 * len(masks), dtype=np.int64)
    more_rows[: len(rows)] = rows
    more_masks[: len(masks)] = masks
    return more_rows, more_masks
