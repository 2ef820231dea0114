"""A register that keeps the greatest value written to it, as a broker keeps a committed offset: exact, O(n log n).

Question: does every fetch agree with one order of the commits?

Model. T(x) is the instant at which the register first is ≥ x; it never decreases with x. Over the levels (values
fetched or acknowledged, ascending)

    lo(x) = max( least invocation of commits of exactly x if x was fetched, else of commits ≥ x;
                 every invocation of a fetch that answered less than x )
    hi(x) = min( returns of fetches ≥ x, returns of acknowledged commits ≥ x )

and the history is linearizable iff every fetched value was committed and the running maximum of lo stays ≤ hi: the log
theorem again. The three obvious rules (a fetch is at least what was acknowledged before it, at most what was begun
before it, fetches do not go back) are not enough: commit(5) acknowledged, then commit(1) begins, and a fetch that
overlaps both answers 1.

Limits. Values below the initial one do not exist.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from checkers.history.columns import NEVER, Ints
from checkers.logs.columns import no_ints
from checkers.objects.door import Table, admitted
from checkers.objects.result import Result, Violation

LEAST = -(1 << 62)
"""Of values; the initial one is mostly 0 or −1."""


@dataclass(frozen=True, slots=True)
class WritesAndReads:
    """``w_*`` writes (``w_ret`` never: unknown), ``r_*`` answered reads."""

    w_value: Ints = field(default_factory=no_ints)
    w_invoke: Ints = field(default_factory=no_ints)
    w_ret: Ints = field(default_factory=no_ints)
    w_op: Ints = field(default_factory=no_ints)
    r_value: Ints = field(default_factory=no_ints)
    r_invoke: Ints = field(default_factory=no_ints)
    r_ret: Ints = field(default_factory=no_ints)
    r_op: Ints = field(default_factory=no_ints)


@dataclass(frozen=True, slots=True)
class MaxRegisterInput(WritesAndReads):
    """Commits are its writes, fetches its reads. ``initial``: the value before any commit."""

    initial: int = 0


def check_max_register(register: MaxRegisterInput) -> Result[Violation]:
    """Decide *register*."""
    return Result("max-register", _violations(admitted(register, WRITES_AND_READS)))


WRITES_AND_READS = (
    Table("writes", ("w_value", "w_invoke", "w_ret", "w_op"), "w_invoke", "w_ret", ("w_value",), LEAST),
    Table("reads", ("r_value", "r_invoke", "r_ret", "r_op"), "r_invoke", "r_ret", ("r_value",), LEAST),
)


def _violations(register: MaxRegisterInput) -> tuple[Violation, ...]:
    committed, first = _first_commits(register)
    fetched = register.r_value[register.r_value != register.initial]
    stray = fetched[~np.isin(fetched, committed)]
    if len(stray):
        op = int(register.r_op[(register.r_value == stray[0]).argmax()])
        return (Violation("phantom", (int(stray[0]),), (op,), len(stray)),)
    acked = register.w_value[register.w_ret < NEVER]
    levels = np.unique(np.concatenate((fetched, acked[acked > register.initial])))
    if not len(levels):
        return ()
    lo, hi = _bounds(register, levels, fetched, committed, first)
    bad = np.flatnonzero(np.maximum.accumulate(lo) > hi)
    return (_explain(register, levels, lo, hi, int(bad[0]), len(bad)),) if len(bad) else ()


def _first_commits(register: MaxRegisterInput) -> tuple[Ints, Ints]:
    """(committed values ascending, least invocation of each)."""
    order = np.lexsort((register.w_invoke, register.w_value))
    values, index = np.unique(register.w_value[order], return_index=True)
    return values, register.w_invoke[order][index]


def _bounds(register: MaxRegisterInput, levels: Ints, fetched: Ints, committed: Ints, first: Ints) -> tuple[Ints, Ints]:
    place = np.searchsorted(committed, levels)
    any_above = np.minimum.accumulate(first[::-1])[::-1]
    exact = np.isin(levels, fetched)
    lo = np.where(exact, first[np.minimum(place, len(first) - 1)], any_above[np.minimum(place, len(first) - 1)])
    above = np.searchsorted(levels, register.r_value, side="right")
    inside = above < len(levels)
    np.maximum.at(lo, above[inside], register.r_invoke[inside])
    hi = np.full(len(levels), NEVER, dtype=np.int64)
    answered = register.r_value != register.initial
    np.minimum.at(hi, np.searchsorted(levels, register.r_value[answered]), register.r_ret[answered])
    acked = (register.w_ret < NEVER) & (register.w_value > register.initial)
    np.minimum.at(hi, np.searchsorted(levels, register.w_value[acked]), register.w_ret[acked])
    return lo, hi


def _explain(register: MaxRegisterInput, levels: Ints, lo: Ints, hi: Ints, high: int, count: int) -> Violation:
    """The nearest level at or below *high* whose lower bound exceeds hi(high), and who set both."""
    low = int(np.flatnonzero(lo[: high + 1] > hi[high])[-1])
    fetches = np.flatnonzero((register.r_invoke == lo[low]) & (register.r_value < levels[low]))
    commits = np.flatnonzero((register.w_invoke == lo[low]) & (register.w_value >= levels[low]))
    low_op = int(register.r_op[fetches[0]]) if len(fetches) else int(register.w_op[commits[0]])
    read = np.flatnonzero((register.r_ret == hi[high]) & (register.r_value == levels[high]))
    acked = np.flatnonzero((register.w_ret == hi[high]) & (register.w_value == levels[high]))
    high_op = int(register.r_op[read[0]]) if len(read) else int(register.w_op[acked[0]])
    names = {(True, True): "went-backwards", (True, False): "stale", (False, True): "read-from-future"}
    kind = names.get((bool(len(fetches)), bool(len(read))), "real-time-order")
    return Violation(kind, (int(levels[low]), int(levels[high])), (low_op, high_op), count)
