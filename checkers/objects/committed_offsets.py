"""Committed offsets of consumer groups: do they go back, do they invent, do they run ahead of what was delivered?

Question: a group commits how far it has got in a queue, and asks for it later. Is what it is told right?

Grades, the weakest first, by (group, queue):

    monotonic       a fetch answers at least what every fetch answered that had returned before it was invoked
    not ahead       every known offset below a committed one had been delivered to the group before the commit began
    greatest wins   linearizable as a register that keeps the greatest commit (:mod:`checkers.objects.max_register`)
    last wins       linearizable as a register that keeps the last commit (:mod:`checkers.objects.register`, or the
                    search where an offset was committed twice)

RocketMQ: the last commit wins, also a smaller one (ConsumerOffsetManager#commitOffset); progress may fall back by what
was not yet persisted when a broker ends.

Limits. A commit that nobody answers (one-way) is an unknown one: it only raises what may be seen.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from checkers.history.columns import NEVER, Ints
from checkers.objects.door import admitted
from checkers.objects.max_register import WRITES_AND_READS, MaxRegisterInput, WritesAndReads, check_max_register
from checkers.objects.models import register
from checkers.objects.register import RegisterInput, check_register
from checkers.objects.result import Result, Violation
from checkers.objects.search import Operation, search


class OffsetInput(WritesAndReads):
    """One (group, queue): commits are its writes, fetches its reads (−1: none known yet)."""

    __slots__ = ()


CHECK = "committed-offset"


def check_monotonic(offsets: OffsetInput) -> Result[Violation]:
    """Fetches do not go back: running maximum over returned fetches against each later one."""
    return Result(CHECK, _went_backwards(admitted(offsets, WRITES_AND_READS)))


def _went_backwards(offsets: OffsetInput) -> tuple[Violation, ...]:
    by_return = np.argsort(offsets.r_ret, kind="stable")
    returns = offsets.r_ret[by_return]
    greatest = np.maximum.accumulate(offsets.r_value[by_return]) if len(by_return) else returns
    before = np.searchsorted(returns, offsets.r_invoke)
    rows = np.flatnonzero(before > 0)
    bad = rows[greatest[before[rows] - 1] > offsets.r_value[rows]]
    if not len(bad):
        return ()
    row = int(bad[0])
    known = int(greatest[before[row] - 1])
    earlier = by_return[: before[row]]
    witness = int(earlier[offsets.r_value[earlier] == known][0])
    ops = (int(offsets.r_op[witness]), int(offsets.r_op[row]))
    return (Violation("went-backwards", (known, int(offsets.r_value[row])), ops, len(bad)),)


def check_greatest_wins(offsets: OffsetInput) -> Result[Violation]:
    """As a register that keeps the greatest commit; nothing known yet is the value −1."""
    return check_max_register(
        MaxRegisterInput(
            offsets.w_value,
            offsets.w_invoke,
            offsets.w_ret,
            offsets.w_op,
            offsets.r_value,
            offsets.r_invoke,
            offsets.r_ret,
            offsets.r_op,
            initial=-1,
        )
    )


def check_last_wins(offsets: OffsetInput, budget: int = 200_000) -> Result[Violation]:
    """As a register that keeps the last commit."""
    result = check_register(
        RegisterInput(
            w_value=offsets.w_value,
            w_invoke=offsets.w_invoke,
            w_ret=offsets.w_ret,
            w_op=offsets.w_op,
            r_value=offsets.r_value,
            r_invoke=offsets.r_invoke,
            r_ret=offsets.r_ret,
            r_op=offsets.r_op,
        )
    )
    if result.holds is not None:
        return result
    found = search(_operations(offsets), register(-1), budget)
    if found.holds is None:
        return Result(CHECK, (), (found.reason,))
    stuck = found.stuck.op if found.stuck else -1
    return Result(CHECK, () if found.holds else (Violation("no-order", (), (stuck,)),))


def _operations(offsets: OffsetInput) -> list[Operation]:
    commits = np.stack((offsets.w_value, offsets.w_invoke, offsets.w_ret, offsets.w_op), axis=1).tolist()
    fetches = np.stack((offsets.r_value, offsets.r_invoke, offsets.r_ret, offsets.r_op), axis=1).tolist()
    writes = [
        Operation(invoke, ret if ret < NEVER else None, ("write", value), op) for value, invoke, ret, op in commits
    ]
    return writes + [Operation(invoke, ret, ("read", value), op) for value, invoke, ret, op in fetches]


def check_not_ahead(offsets: OffsetInput, delivered: Ints, delivered_at: Ints, known: Ints) -> Result[Violation]:
    """Every *known* offset (ascending) below a commit was *delivered* (at *delivered_at*) before the commit began."""
    return Result(CHECK, _ahead(admitted(offsets, WRITES_AND_READS), delivered, delivered_at, known))


def _ahead(offsets: OffsetInput, delivered: Ints, delivered_at: Ints, known: Ints) -> tuple[Violation, ...]:
    first: Mapping[int, int] = _first_delivery(delivered, delivered_at)
    at = np.array([first.get(offset, int(NEVER)) for offset in known.tolist()], dtype=np.int64)
    latest = np.maximum.accumulate(at) if len(at) else at
    below = np.searchsorted(known, offsets.w_value)
    rows = np.flatnonzero(below > 0)
    bad = rows[latest[below[rows] - 1] > offsets.w_invoke[rows]]
    if not len(bad):
        return ()
    row = int(bad[0])
    missing = int(known[np.flatnonzero(at[: below[row]] > offsets.w_invoke[row])[0]])
    return (Violation("commit-ahead", (missing, int(offsets.w_value[row])), (int(offsets.w_op[row]),), len(bad)),)


def _first_delivery(delivered: Ints, at: Ints) -> dict[int, int]:
    first: dict[int, int] = {}
    for offset, when in zip(delivered.tolist(), at.tolist(), strict=True):
        first[offset] = min(first.get(offset, when), when)
    return first
