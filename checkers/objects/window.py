"""The shortest part of a history that still proves that no order exists.

Question: a search failed at operation 4,711. Which few operations does one have to look at to see why?

Model. Three cuts, each of which keeps the proof:

  the end       only what was invoked before the stuck operation returned; what had not returned by then becomes unknown
                (an observer is dropped): a prefix of a legal history is legal
  the beginning the last quiescent instant (nothing open, nothing unknown before) at which only one state is possible:
                what came before is replaced by that state
  the middle    observers that are not needed: dropping one never makes a legal history illegal, so what stays illegal
                without it is a proof without it

Limits. Mutators are kept: dropping one may make a legal history illegal. Finding the possible states at a quiescent
instant is a search of its own, with its own budget; where it is spent the beginning stays as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from checkers.objects.models import IMPOSSIBLE, Model
from checkers.objects.search import Operation, search, until

STATES_MAX = 256
BUDGET = 20_000
OBSERVERS_MAX = 200


@dataclass(frozen=True)
class Window:
    """Operations that have no legal order from *initial* on; ``stuck`` is the one nothing could get past."""

    initial: Any
    operations: tuple[Operation, ...]
    stuck: Operation


def window_of(operations: Sequence[Operation], model: Model, stuck: Operation) -> Window:
    """Cut *operations*, which are known to be illegal and to get stuck at *stuck*."""
    cut = until(operations, model, stuck)
    initial, cut = _without_beginning(cut, model)
    started = replace(model, initial=initial)
    return Window(initial, tuple(_without_needless(cut, started)), stuck)


def _without_beginning(operations: list[Operation], model: Model) -> tuple[Any, list[Operation]]:
    """(state, operations) from the last quiescent instant on at which that is the only possible state."""
    ordered = sorted(operations, key=lambda operation: operation.call)
    best: tuple[Any, int] = (model.initial, 0)
    states, begin = [model.initial], 0
    for end in _quiescent(ordered):
        reached = _states_after(ordered[begin:end], model, states)
        if reached is None or not reached:
            break
        states, begin = reached, end
        if len(states) == 1:
            best = states[0], end
    return best[0], ordered[best[1] :]


def _quiescent(ordered: list[Operation]) -> list[int]:
    """Places in the order of calls before which everything has returned."""
    places, latest = [], -1
    for place, operation in enumerate(ordered):
        if place and operation.call > latest:
            places.append(place)
        if operation.ret is None:
            break
        latest = max(latest, operation.ret)
    return places


def _states_after(part: list[Operation], model: Model, before: list[Any]) -> list[Any] | None:
    """All states in which the object can be after *part*; ``None`` if there are too many to look for."""
    found: list[Any] = []
    seen = set()
    stack = [(0, state) for state in before]
    full = (1 << len(part)) - 1
    while stack:
        done, state = stack.pop()
        if (done, state) in seen:
            continue
        seen.add((done, state))
        if len(seen) > BUDGET or len(found) > STATES_MAX:
            return None
        if done == full:
            found.append(state)
            continue
        rest = [index for index in range(len(part)) if not done >> index & 1]
        horizon = min(part[index].ret or 0 for index in rest)
        for index in rest:
            if part[index].call <= horizon:
                after = model.step(state, part[index].arg)
                if after is not IMPOSSIBLE:
                    stack.append((done | 1 << index, after))
    return found


def _without_needless(operations: list[Operation], model: Model) -> list[Operation]:
    """Drop observers one by one as long as no order exists without them."""
    kept = list(operations)
    for operation in [o for o in operations if model.observes(o.arg)][:OBSERVERS_MAX]:
        fewer = [other for other in kept if other is not operation]
        if search(fewer, model, BUDGET).holds is False:
            kept = fewer
    return kept
