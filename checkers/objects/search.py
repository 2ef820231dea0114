"""The general search: any object with a sequential model, exactly, within a budget.

Question: is there an order? Where no theorem answers that in linear time (repeated values, refused swaps, objects of
others), one is looked for.

Model. Depth first over Wing and Gong's tree with Lowe's memory of configurations, made narrow by exact steps:

  1  key     everything that returned before R (the first operation, by return, not yet in the order) is in, so the set
             is (R, mask over the operations open at R's return); operations get slots by interval colouring
  2  observers first      an operation that never changes a state and is legal now goes in now, for good
  3  earliest return first among the others
  4  dominance            a configuration that used fewer unknown operations makes one that used more superfluous
  5  equal unknown ones   are used in the order of their invocation
  6  lazy unknown ones    (``Model.is_lazy``) only if an open or unknown operation is impossible now and possible after
  7  no way back          (``Model.reaches``) where an open observer can never become legal any more, turn round
  8  interning            states and arguments are small integers, transitions are computed once
  9  escalating budgets   over the parts of a history (:func:`search_parts`), so that one hard key does not hide an
                          easy violation of another
 10  late proofs          where the first budget is spent: are the last operations before the one that nothing has got
                          past illegal by themselves, from every state (``Model.states``)? What returned before them is
                          left out, what was open when they began may have happened or not

The steps 1 to 8 are in :mod:`checkers.objects.search_tree`. Why 2 is exact: in any completion the observer can be moved
to now. Why 6 is: an unknown operation that is not followed by one that needs it can be moved behind that, or left out.
Why 10 is: an order of the whole, cut where the last operations begin, is an order of these from the state that it has
then.

Limits. The problem is NP-complete: with k open operations the tree may have 2^k branches at each return. A spent budget
answers ``None``, with the reason; it is never a pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from checkers.compiled.search import CompiledTree, compiled_tree, is_worth_it
from checkers.objects.models import Model
from checkers.objects.search_tree import Operation, SearchResult, Tree

__all__ = ["Operation", "SearchResult", "search", "search_parts", "until"]

FIRST_BUDGET = 2_000
BUDGET_FACTOR = 4
BUDGET_MAX = 4_000_000
LATE = (2, 16, 64, 256)
"""So many of the last operations are tried by themselves."""

STATES_MAX = 64


def search(operations: Sequence[Operation], model: Model, budget: int = BUDGET_MAX) -> SearchResult:
    """Look for an order of *operations*, at most *budget* configurations long; a legal one takes about one each."""
    return search_parts([operations], model, budget, max(FIRST_BUDGET, len(operations)))[0]


def search_parts(
    parts: Sequence[Sequence[Operation]], model: Model, budget: int = BUDGET_MAX, first: int = FIRST_BUDGET
) -> tuple[SearchResult, int]:
    """(result, index of the part that settles it). All parts must be linearizable; budgets grow in rounds from *first*
    on."""
    open_ = list(range(len(parts)))
    spent, limit = 0, first
    trees: dict[int, Tree | CompiledTree] = {}
    while open_:
        still = []
        for index in open_:
            trees[index] = _tree(parts[index], model, limit, trees.get(index))
            result = _round(parts[index], trees[index], min(limit, budget))
            spent += result.configurations
            if result.holds is False:
                return replace(result, configurations=spent), index
            if result.holds is None:
                still.append(index)
        if still and limit >= budget:
            return SearchResult(None, spent, reason=f"more than {budget} configurations"), still[0]
        open_, limit = still, limit * BUDGET_FACTOR
    return SearchResult(True, spent), -1


def _tree(
    operations: Sequence[Operation], model: Model, limit: int, before: Tree | CompiledTree | None = None
) -> Tree | CompiledTree:
    """The tree that was used *before*, or a new one; compiled as soon as that is worth it, the answers are the same."""
    if isinstance(before, CompiledTree):
        return before
    compiled = compiled_tree(operations, model) if is_worth_it(len(operations), limit) else None
    return compiled or before or Tree(operations, model)


def _round(operations: Sequence[Operation], tree: Tree | CompiledTree, limit: int) -> SearchResult:
    """One part within *limit*; then a late proof, at the price of as much again for each length that is tried."""
    result = tree.run(limit)
    return result if result.holds is not None else late_proof(operations, tree.model, result, limit) or result


def late_proof(operations: Sequence[Operation], model: Model, spent: SearchResult, limit: int) -> SearchResult | None:
    """A proof from the middle of the history on that *operations* are illegal; ``None`` if none was found.

    *spent*: how far the search came before its budget was spent. *limit*: configurations to look at, for each length.
    """
    if model.states is None or spent.stuck is None:
        return None
    upto = until(operations, model, spent.stuck)
    states = model.states(operation.arg for operation in upto)
    if len(states) > STATES_MAX:
        return None
    returns = sorted(operation.ret for operation in upto if operation.ret is not None)
    for count in LATE:
        last = _from(upto, model, returns[-min(count, len(returns))])
        if _is_illegal(last, model, states, limit):
            return replace(spent, holds=False, reason="", proof=tuple(last))
        if count >= len(returns):
            break
    return None


def until(operations: Sequence[Operation], model: Model, stuck: Operation) -> list[Operation]:
    """What was invoked before *stuck* returned; what had not returned by then becomes unknown."""
    assert stuck.ret is not None
    kept = []
    for operation in operations:
        if operation.call > stuck.ret:
            continue
        if operation.ret is None or operation.ret > stuck.ret:
            if not model.observes(operation.arg):
                kept.append(operation._replace(ret=None))
        else:
            kept.append(operation)
    return kept


def _from(operations: Sequence[Operation], model: Model, begin: int) -> list[Operation]:
    """Without what returned before *begin*; what was open then may have happened already: unknown."""
    kept = []
    for operation in operations:
        if operation.ret is None or operation.call >= begin:
            kept.append(operation)
        elif operation.ret >= begin and not model.observes(operation.arg):
            kept.append(operation._replace(ret=None))
    return kept


def _is_illegal(operations: Sequence[Operation], model: Model, states: Sequence[Any], limit: int) -> bool:
    """Whether *operations* have no order from any of *states* on, as far as *limit* configurations tell."""
    for state in states:
        result = _tree(operations, replace(model, initial=state), limit).run(limit)
        limit -= result.configurations
        if result.holds is not False:
            return False
    return True
