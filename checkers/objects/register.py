"""Registers with reads, writes and compare-and-set whose written values are distinct: exact, by zones, O(n log n).

Question: is there one order of writes, successful swaps and reads that every answer agrees with?

Model (zones: Gibbons and Korach 1997; blocks: own). A successful cas(u → v) reads u and writes v at once, so nothing
comes between the reads of u and it. Values are linked into *blocks*

    w(u1) r(u1)* c(u1,u2) r(u2)* c(u2,u3) …

that nothing may interrupt. With f the least return and s the greatest invocation of a block, its zone is [f, s] if f
< s (forward: the block fills it), else it fits at any one instant of [s, f] (backward). The history is linearizable iff

    phantom             every value read or swapped away was written
    two-cas-one-value   no value is swapped away twice
    order-in-block      inside a block no operation returns before one of an earlier group was invoked
    zones-overlap       forward zones are disjoint (a common end point is allowed)
    zone-inside-zone    no backward zone lies strictly inside a forward one
    swaps-in-a-circle   some swap is the first

An unknown write or swap counts as happened iff its value was seen, or a swap that happened swapped it away.

A refused cas(u → …) says that the value was not u at some instant. It is tried against the order that the proof
constructs; where it fits, all is well. Where it does not, the answer is unknown here (:mod:`checkers.objects.search`
decides).

Limits. Written values are distinct and differ from the initial one; where they are not, ``unknown`` says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from checkers.history.columns import NEVER, Bools, Ints
from checkers.logs.columns import no_ints
from checkers.objects.door import Table, admitted, renumbered
from checkers.objects.lanes import running_maximum, running_maximum_before
from checkers.objects.refutations import refuted_register
from checkers.objects.result import Result, Violation

INITIAL = -1
"""The value that a register has before anything is written."""

REPEATED = "a value is written more than once"
REFUSED = "a refused compare-and-set does not fit the order that everything else allows"


@dataclass(frozen=True, slots=True)
class RegisterInput:
    """Columns of one register; values are non-negative, or :data:`INITIAL`. An unknown outcome has ``ret`` never.

    ``w_*`` writes, ``c_*`` swaps (``c_old`` → ``c_new``), ``r_*`` reads, ``n_*`` refused swaps (``n_old``). Operations
    that certainly failed are left out.
    """

    w_value: Ints = field(default_factory=no_ints)
    w_invoke: Ints = field(default_factory=no_ints)
    w_ret: Ints = field(default_factory=no_ints)
    w_op: Ints = field(default_factory=no_ints)
    c_old: Ints = field(default_factory=no_ints)
    c_new: Ints = field(default_factory=no_ints)
    c_invoke: Ints = field(default_factory=no_ints)
    c_ret: Ints = field(default_factory=no_ints)
    c_op: Ints = field(default_factory=no_ints)
    r_value: Ints = field(default_factory=no_ints)
    r_invoke: Ints = field(default_factory=no_ints)
    r_ret: Ints = field(default_factory=no_ints)
    r_op: Ints = field(default_factory=no_ints)
    n_old: Ints = field(default_factory=no_ints)
    n_invoke: Ints = field(default_factory=no_ints)
    n_ret: Ints = field(default_factory=no_ints)
    n_op: Ints = field(default_factory=no_ints)


@dataclass(slots=True)
class _Values:
    """By value + 1 (place 0 is the initial value): its writer, its block, and the reads of it.

    ``old``: place of the value that its writer swapped away, −1 for a plain write. ``is_written``: it was really
    written.
    """

    invoke: Ints
    ret: Ints
    op: Ints
    old: Ints
    is_written: Bools
    reads_invoke: Ints
    """Greatest invocation of its reads, −1 without any."""
    reads_ret: Ints
    """Least return of its reads, never without any."""
    root: Ints
    depth: Ints


def check_register(register: RegisterInput) -> Result[Violation]:
    """Decide *register*; where a value is written more than once, what needs no search only."""
    register, names = renumbered(admitted(register, _TABLES), _VALUES)
    violations, unknown = _decided(register)
    return Result("register", names.of(violations), unknown)


_TABLES = (
    Table("writes", ("w_value", "w_invoke", "w_ret", "w_op"), "w_invoke", "w_ret", ("w_value",), INITIAL),
    Table("swaps", ("c_old", "c_new", "c_invoke", "c_ret", "c_op"), "c_invoke", "c_ret", ("c_old", "c_new"), INITIAL),
    Table("reads", ("r_value", "r_invoke", "r_ret", "r_op"), "r_invoke", "r_ret", ("r_value",), INITIAL),
    Table("refused swaps", ("n_old", "n_invoke", "n_ret", "n_op"), "n_invoke", "n_ret", ("n_old",), INITIAL),
)
_VALUES = tuple(name for table in _TABLES for name in table.values)


def _decided(register: RegisterInput) -> tuple[tuple[Violation, ...], tuple[str, ...]]:
    """(violations, why it is not known)."""
    if _repeats(register):
        return refuted_register(register), (REPEATED,)
    values = _values(register)
    found = _existence(register, values) or _swapped_twice(register, values)
    if found:
        return found, ()
    if not _link(values):
        return (_circle(register, values),), ()
    found = _order_in_blocks(register, values)
    if found:
        return found, ()
    blocks = _Blocks.of(values)
    found = blocks.violations(register, values)
    if found or not len(register.n_old):
        return found, ()
    return (), () if _refusals_fit(register, values, blocks) else (REFUSED,)


def _repeats(register: RegisterInput) -> bool:
    written = np.concatenate((register.w_value, register.c_new))
    return bool((written < 0).any()) or (len(written) > 0 and int(np.bincount(written).max()) > 1)


def _values(register: RegisterInput) -> _Values:
    columns = (register.w_value, register.c_new, register.c_old, register.r_value)
    size = 2 + max(int(column.max(initial=-1)) for column in columns)
    invoke, ret, op = (np.full(size, -1, dtype=np.int64) for _ in range(3))
    old, exists = np.full(size, -1, dtype=np.int64), np.zeros(size, dtype=np.bool_)
    for value, cells in (
        (register.w_value, (register.w_invoke, register.w_ret, register.w_op)),
        (register.c_new, (register.c_invoke, register.c_ret, register.c_op)),
    ):
        for column, source in zip((invoke, ret, op), cells, strict=True):
            column[value + 1] = source
        exists[value + 1] = True
    old[register.c_new + 1] = register.c_old + 1
    exists[0] = True
    reads_invoke, reads_ret = np.full(size, -1, dtype=np.int64), np.full(size, NEVER, dtype=np.int64)
    np.maximum.at(reads_invoke, register.r_value + 1, register.r_invoke)
    np.minimum.at(reads_ret, register.r_value + 1, register.r_ret)
    is_written = exists & ((ret < NEVER) | (reads_ret < NEVER))
    _close(is_written, exists, old)
    root, depth = np.arange(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    return _Values(invoke, ret, op, old, is_written, reads_invoke, reads_ret, root, depth)


def _close(is_written: Bools, exists: Bools, old: Ints) -> None:
    """What was swapped away by a swap that happened had been written: transitively."""
    edge = np.flatnonzero(is_written & (old >= 0))
    while len(edge):
        before = old[edge]
        new = np.unique(before[exists[before] & ~is_written[before]])
        is_written[new] = True
        edge = new[old[new] >= 0]


def _existence(register: RegisterInput, values: _Values) -> tuple[Violation, ...]:
    """Reads and happened swaps of values that nobody wrote."""
    stray = np.flatnonzero(~values.is_written[register.r_value + 1])
    if len(stray):
        row = int(stray[0])
        return (Violation("phantom", (int(register.r_value[row]),), (int(register.r_op[row]),), len(stray)),)
    swaps = np.flatnonzero(values.is_written[register.c_new + 1] & ~values.is_written[register.c_old + 1])
    if len(swaps):
        row = int(swaps[0])
        return (Violation("phantom", (int(register.c_old[row]),), (int(register.c_op[row]),), len(swaps)),)
    return ()


def _swapped_twice(register: RegisterInput, values: _Values) -> tuple[Violation, ...]:
    happened = np.flatnonzero(values.is_written[register.c_new + 1])
    times = np.bincount(register.c_old[happened] + 1, minlength=1)
    twice = np.flatnonzero(times > 1)
    if not len(twice):
        return ()
    rows = happened[register.c_old[happened] + 1 == twice[0]][:2].tolist()
    ops = [op for row in rows for op in _evidence(register, row)]
    return (Violation("two-cas-one-value", (int(twice[0]) - 1,), tuple(ops), len(twice)),)


def _evidence(register: RegisterInput, row: int) -> list[int]:
    """The swap *row* and, where nobody answered it, what shows that it happened: a read of its value, or the swap that
    swapped that away, and so on."""
    ops = [int(register.c_op[row])]
    while register.c_ret[row] == NEVER:
        new = register.c_new[row]
        reads = np.flatnonzero(register.r_value == new)
        if len(reads):
            return [*ops, int(register.r_op[reads[0]])]
        swaps = np.flatnonzero(register.c_old == new)
        certain = swaps[register.c_ret[swaps] < NEVER]
        following = certain if len(certain) else swaps
        if not len(following) or len(ops) > len(register.c_op):
            break
        row = int(following[0])
        ops.append(int(register.c_op[row]))
    return ops


def _link(values: _Values) -> bool:
    """Fill ``root`` and ``depth`` by pointer doubling; false if swaps go round in a circle (a value before itself)."""
    chained = np.flatnonzero(values.is_written & (values.old >= 0))
    if not len(chained):
        return True
    root, depth = values.root, values.depth
    root[chained], depth[chained] = values.old[chained], 1
    for _ in range(len(chained).bit_length() + 1):
        above = root[chained]
        if not (root[above] != above).any():
            return not (values.old[above] >= 0).any()
        depth[chained] += depth[above]
        root[chained] = root[above]
    return False


def _circle(register: RegisterInput, values: _Values) -> Violation:
    """Follow swaps backwards from a value without a root until one comes again."""
    place = int(np.flatnonzero(values.is_written & (values.old >= 0) & (values.old[values.root] >= 0))[0])
    path: list[int] = []
    while place not in path:
        path.append(place)
        place = int(values.old[place])
    circle = path[path.index(place) :]
    ops = tuple(int(values.op[member]) for member in circle)
    return Violation("swaps-in-a-circle", tuple(member - 1 for member in circle), ops)


def _order_in_blocks(register: RegisterInput, values: _Values) -> tuple[Violation, ...]:
    """The greatest invocation of all earlier groups of the block must not exceed the least return of a group.

    Groups of a block in order: writer of u1, reads of u1, swap to u2, reads of u2, …
    """
    places = np.flatnonzero(values.is_written)
    if (values.old >= 0).any():
        places = places[np.lexsort((values.depth[places], values.root[places]))]
    count = len(places)
    invoke, ret = np.empty(2 * count, dtype=np.int64), np.empty(2 * count, dtype=np.int64)
    invoke[0::2], invoke[1::2] = values.invoke[places], values.reads_invoke[places]
    ret[0::2], ret[1::2] = values.ret[places], values.reads_ret[places]
    ret[0::2][places == 0] = NEVER  # the initial value was there before everything
    block = np.cumsum(np.append(True, values.root[places][1:] != values.root[places][:-1])) - 1
    before = running_maximum_before(invoke, np.repeat(block, 2), -1)
    bad = np.flatnonzero(before > ret)
    if not len(bad):
        return ()
    group = int(bad[ret[bad].argmin()])
    later = int(places[group // 2])
    late_op = _op_of_group(register, values, later, group % 2 == 1, by_ret=int(ret[group]))
    holder = _holder(invoke, before, group)
    earlier = int(places[holder // 2])
    early_op = _op_of_group(register, values, earlier, holder % 2 == 1, by_invoke=int(invoke[holder]))
    kind = "read-from-future" if holder % 2 == 0 and group == holder + 1 else "order-in-block"
    return (Violation(kind, (earlier - 1, later - 1), (early_op, late_op), len(bad)),)


def _holder(invoke: Ints, before: Ints, group: int) -> int:
    """The group before *group* that was invoked last of all."""
    candidates = np.flatnonzero(invoke[:group] == before[group])
    return int(candidates[-1])


def _op_of_group(
    register: RegisterInput, values: _Values, place: int, is_reads: bool, by_ret: int = -1, by_invoke: int = -1
) -> int:
    if not is_reads:
        return int(values.op[place])
    mask = register.r_value + 1 == place
    mask &= register.r_ret == by_ret if by_ret >= 0 else register.r_invoke == by_invoke
    return int(register.r_op[mask.argmax()])


@dataclass(slots=True)
class _Blocks:
    """One entry a block: f (least return), s (greatest invocation), its root (a place)."""

    root: Ints
    f: Ints
    s: Ints

    @staticmethod
    def of(values: _Values) -> _Blocks:
        places = np.flatnonzero(values.is_written)
        ret = np.minimum(values.ret[places], values.reads_ret[places])
        invoke = np.maximum(values.invoke[places], values.reads_invoke[places])
        if not (values.old[places] >= 0).any():
            return _Blocks(places, ret, invoke)
        roots, member = np.unique(values.root[places], return_inverse=True)
        f, s = np.full(len(roots), NEVER, dtype=np.int64), np.full(len(roots), -1, dtype=np.int64)
        np.minimum.at(f, member, ret)
        np.maximum.at(s, member, invoke)
        return _Blocks(roots, f, s)

    def violations(self, register: RegisterInput, values: _Values) -> tuple[Violation, ...]:
        """Overlapping forward zones, backward zones inside forward ones."""
        forward = np.flatnonzero(self.f < self.s)
        forward = forward[np.argsort(self.f[forward], kind="stable")]
        clash = np.flatnonzero(self.s[forward[:-1]] > self.f[forward[1:]])
        if len(clash):
            pair = (int(forward[clash[0]]), int(forward[clash[0] + 1]))
            return (self._explain(register, values, "zones-overlap", pair, len(clash)),)
        backward = np.flatnonzero(self.f >= self.s)
        place = np.searchsorted(self.f[forward], self.s[backward]) - 1
        inside = np.flatnonzero(place >= 0)
        inside = inside[self.f[backward[inside]] < self.s[forward[place[inside]]]]
        if not len(inside):
            return ()
        pair = (int(forward[place[inside[0]]]), int(backward[inside[0]]))
        return (self._explain(register, values, "zone-inside-zone", pair, len(inside)),)

    def _explain(
        self, register: RegisterInput, values: _Values, kind: str, pair: tuple[int, int], count: int
    ) -> Violation:
        """Four operations: of each block the one that returned first and the one that was invoked last."""
        ops: list[int] = []
        for block in pair:
            for op in (_first_return(register, values, self, block), _last_call(register, values, self, block)):
                if op >= 0 and op not in ops:
                    ops.append(op)
        return Violation(kind, tuple(int(self.root[block]) - 1 for block in pair), tuple(ops), count)


def _first_return(register: RegisterInput, values: _Values, blocks: _Blocks, block: int) -> int:
    members = np.flatnonzero(values.is_written & (values.root == blocks.root[block]))
    writer = members[values.ret[members] == blocks.f[block]]
    if len(writer):
        return int(values.op[writer[0]])
    rows = np.flatnonzero(np.isin(register.r_value + 1, members) & (register.r_ret == blocks.f[block]))
    return int(register.r_op[rows[0]])


def _last_call(register: RegisterInput, values: _Values, blocks: _Blocks, block: int) -> int:
    members = np.flatnonzero(values.is_written & (values.root == blocks.root[block]))
    writer = members[values.invoke[members] == blocks.s[block]]
    if len(writer):
        return int(values.op[writer[0]])
    rows = np.flatnonzero(np.isin(register.r_value + 1, members) & (register.r_invoke == blocks.s[block]))
    return int(register.r_op[rows[0]])


def _refusals_fit(register: RegisterInput, values: _Values, blocks: _Blocks) -> bool:
    """Whether each refused swap has an instant with another value in the order of the proof.

    A value holds from its writer's instant to the next writer's: a refusal fits unless it lies strictly inside.
    """
    places, begin, end = _schedule(values, blocks)
    starts, ends = np.full(len(values.op), -1, dtype=np.int64), np.full(len(values.op), -1, dtype=np.int64)
    starts[places], ends[places] = begin, end
    known = register.n_old + 1 < len(values.op)
    old = register.n_old[known] + 1
    stuck = (starts[old] < register.n_invoke[known]) & (register.n_ret[known] < ends[old]) & values.is_written[old]
    return not bool(stuck.any())


def _schedule(values: _Values, blocks: _Blocks) -> tuple[Ints, Ints, Ints]:
    """(place, from, to) of every value in the order that the proof constructs."""
    instant = np.where(blocks.f < blocks.s, blocks.f, blocks.s)
    is_forward = blocks.f < blocks.s
    # A backward block takes the earliest of its instants that no forward zone contains.
    forward = np.flatnonzero(is_forward)
    forward = forward[np.argsort(blocks.f[forward], kind="stable")]
    backward = np.flatnonzero(~is_forward)
    place = np.searchsorted(blocks.f[forward], blocks.s[backward]) - 1
    inside = (
        (place >= 0) & (blocks.s[backward] < blocks.s[forward][np.maximum(place, 0)]) if len(forward) else place < -1
    )
    instant[backward[inside]] = blocks.s[forward[place[inside]]]
    is_written = np.flatnonzero(values.is_written)
    block = np.searchsorted(blocks.root, values.root[is_written])
    order = np.lexsort((values.depth[is_written], values.root[is_written], is_forward[block], instant[block]))
    is_written, block = is_written[order], block[order]
    # A value begins when its writer and everything before it in the block, reads included, has been invoked.
    floor = np.empty(2 * len(is_written), dtype=np.int64)
    floor[0::2] = np.maximum(values.invoke[is_written], instant[block])
    floor[1::2] = values.reads_invoke[is_written]
    number = np.cumsum(np.append(True, block[1:] != block[:-1])) if len(block) else block
    begin = running_maximum(floor, np.repeat(number, 2))[0::2]
    begin[is_written == 0] = -1
    end = np.append(begin[1:], NEVER)
    return is_written, begin, end
