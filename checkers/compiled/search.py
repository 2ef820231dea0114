"""The tree of the general search on numbers, compiled: the same answer after the same number of configurations.

Question: a million operations, or ten million configurations: need they take minutes?

Model. Where numba is installed and a model says by rules what its operations need and do (``Model.rule``: registers
with swaps, locks), states and arguments become small integers and :mod:`checkers.compiled.search_loops` walks the tree
of :mod:`checkers.objects.search_tree` step by step: same order, same memory, same budget, so a search that is given up
is given up at the same place, and what a failure shows is the same. Which of the two runs is a matter of time alone.

Limits. Objects without rules (texts that grow, queues, streams) keep the plain tree, and so do histories with more than
62 operations open at once or more than 64 different ones without an answer. Loading numba takes most of a second (the
first time ever, a quarter of a minute to compile): a search is handed over once it has :data:`LARGE` operations or may
see :data:`MANY` configurations, or once the loops are loaded.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from itertools import count
from operator import eq, itemgetter
from typing import Any

import numpy as np

from checkers.compiled.numba_loops import has_numba
from checkers.history.columns import Ints
from checkers.objects.models import SAME, Arg, Model
from checkers.objects.search_tree import Operation, SearchResult

LARGE = 100_000
MANY = 100_000
SMALL = 16
"""Fewer operations than these are not worth converting even where the loops are loaded."""

_LOOPS = f"{__package__}.search_loops"
_CALL, _RET, _ARG = itemgetter(0), itemgetter(1), itemgetter(2)
UNKNOWN = (1 << 63) - 1
"""As a return."""


def is_worth_it(operations: int, limit: int) -> bool:
    """Whether a search of so many operations within *limit* configurations is to be handed over."""
    if operations < SMALL or not (_LOOPS in sys.modules or operations >= LARGE or limit >= MANY):
        return False
    return has_numba()


class CompiledTree:
    """As :class:`checkers.objects.search_tree.Tree`."""

    def __init__(
        self, operations: Sequence[Operation], model: Model, states: list[Any], columns: tuple[Any, ...]
    ) -> None:
        """*columns*: what :func:`checkers.compiled.search_loops.prepare` gave, and the rules; *states* by number."""
        self.model = model
        self._operations, self._states = operations, states
        self._rows: Ints = columns[0]
        self._columns = columns[1:]

    def run(self, budget: int) -> SearchResult:
        """Depth first from the beginning."""
        loops, marks = _loops(), np.zeros((2, len(self._states) + 1), dtype=np.int64)
        answer, count, deepest = loops.run(*self._columns, self.model.is_lazy, budget, marks)
        if answer == loops.LEGAL:
            return SearchResult(True, count)
        is_spent = answer == loops.SPENT
        stuck, shown = (
            (self._operations[self._rows[deepest]], self._shown(marks, deepest)) if deepest >= 0 else (None, ())
        )
        reason = f"more than {budget} configurations" if is_spent else ""
        return SearchResult(None if is_spent else False, count, stuck, shown, reason)

    def _shown(self, marks: Ints, deepest: int) -> tuple[Any, ...]:
        """The states in which the deepest stood, in the order in which they were met."""
        reached, rank = marks.tolist()
        stood = [state for state in range(len(self._states)) if reached[state] == deepest + 1]
        return tuple(self._states[state] for state in sorted(stood, key=rank.__getitem__))


@cache
def _loops() -> Any:
    return import_module(_LOOPS)


def compiled_tree(operations: Sequence[Operation], model: Model) -> CompiledTree | None:
    """The tree of *operations*; ``None`` if it does not fit."""
    if model.rule is None or not operations:
        return None
    numbers: defaultdict[Arg, int] = defaultdict(count().__next__)
    kind = np.fromiter(map(numbers.__getitem__, map(_ARG, operations)), dtype=np.int64, count=len(operations))
    rets = list(map(_RET, operations))
    unknown = rets.count(None)
    call = np.array(list(map(_CALL, operations)))
    ret = np.array([UNKNOWN if ret is None else ret for ret in rets] if unknown else rets)
    states, rules = _rules(model, numbers)
    if rules is None or call.dtype != np.int64 or ret.dtype != np.int64:
        return None
    orders = call.argsort(kind="stable"), np.lexsort((call, ret))
    fits, *columns = _loops().prepare(call, ret, *orders, kind, rules, unknown)
    return CompiledTree(operations, model, states, (*columns, rules)) if fits else None


def _rules(model: Model, args: Iterable[Arg]) -> tuple[list[Any], Ints | None]:
    """(states by number, when and needed and then of each argument). A value that does not equal itself does not
    fit."""
    assert model.rule is not None
    numbers: defaultdict[Any, int] = defaultdict(count().__next__)
    numbers[model.initial]
    cells: list[int] = []
    for arg in args:
        rule = model.rule(arg)
        if rule is None:
            return [], None
        when, state, then = rule
        cells += (when, numbers[state], -1 if then is SAME else numbers[then])
    states = list(numbers)
    return states, np.array(cells).reshape(-1, 3) if all(map(eq, states, states)) else None
