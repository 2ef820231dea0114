"""The tree of the general search: Wing and Gong's, with Lowe's memory of configurations, made narrow by exact steps.

Question: which operation can come next, and has this configuration been seen?

Model. The steps 1 to 8 of :mod:`checkers.objects.search`, for one history of one object.

Limits. :meth:`Tree.run` stops at its budget and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from checkers.objects.models import IMPOSSIBLE, Arg, Model
from checkers.verdict import Anomaly, Outcome

_NEVER = 1 << 62


class Operation(NamedTuple):
    """``ret`` ``None``: unknown outcome, it may take effect at any time from ``call`` on, or never."""

    call: int
    ret: int | None
    arg: Arg
    op: int = -1


@dataclass(frozen=True)
class SearchResult:
    """``linearizable`` ``None``: the budget was spent. ``stuck``: the operation whose return nothing could reach past,
    and ``states``: the states in which the deepest attempts stood before it."""

    holds: bool | None
    configurations: int
    stuck: Operation | None = None
    states: tuple[Any, ...] = ()
    reason: str = ""
    proof: tuple[Operation, ...] = ()
    """If not empty: operations that have no legal order whatever the state is before them."""

    check = "search"

    @property
    def outcome(self) -> Outcome:
        return {True: Outcome.PASS, False: Outcome.FAIL, None: Outcome.UNKNOWN}[self.holds]

    @property
    def anomalies(self) -> tuple[Anomaly, ...]:
        """Where it came to nothing, in words; :mod:`checkers.objects.window` cuts out why."""
        if self.holds is not False:
            return ()
        ops = tuple(operation.op for operation in self.proof) or ((self.stuck.op,) if self.stuck else ())
        states = " or ".join(repr(state) for state in self.states[:4])
        where = f", and before it the object was {states}" if states else ""
        culprit = f"operation {self.stuck.op} {self.stuck.arg}" if self.stuck else "the operations"
        return (Anomaly("no-order", f"no-order: no order agrees with {culprit}{where}", ops),)

    @property
    def reasons(self) -> tuple[str, ...]:
        return (self.reason,) if self.holds is None else ()


class Tree:
    """One history of one object, prepared once: operations by return, candidates by R, interned states."""

    def __init__(self, operations: Sequence[Operation], model: Model) -> None:
        self.model = model
        self._args: dict[Arg, int] = {}
        self._arg_values: list[Arg] = []
        self._states: dict[Any, int] = {model.initial: 0}
        self._state_values: list[Any] = [model.initial]
        self._table: list[dict[int, int]] = []
        done = [operation for operation in operations if operation.ret is not None]
        self.done = sorted(done, key=lambda operation: (operation.ret, operation.call))
        self._prepare_done()
        self._prepare_unknown([operation for operation in operations if operation.ret is None])
        self._prepare_resets([operation for operation in operations if operation.ret is None])

    def _arg(self, arg: Arg) -> int:
        number = self._args.get(arg)
        if number is None:
            number = self._args[arg] = len(self._arg_values)
            self._arg_values.append(arg)
            self._table.append({})
        return number

    def _prepare_done(self) -> None:
        """For each R: its own bit, and the observers and mutators that may come before its return."""
        count = len(self.done)
        by_call = sorted(range(count), key=lambda index: self.done[index].call)
        self.bit = [0] * count
        self.observers: list[list[tuple[int, int]]] = []
        self.waiters: list[list[tuple[int, int, int]]] = []
        self.mutators: list[list[tuple[int, int]]] = []
        args = [self._arg(operation.arg) for operation in self.done]
        observes = [self.model.observes(arg) for arg in self._arg_values]
        active: list[int] = []
        free: list[int] = []
        width = next_call = 0
        for index, operation in enumerate(self.done):
            assert operation.ret is not None
            while next_call < count and self.done[by_call[next_call]].call <= operation.ret:
                opened = by_call[next_call]
                slot = free.pop() if free else width
                width = max(width, slot + 1)
                self.bit[opened] = 1 << slot
                active.append(opened)
                next_call += 1
            active.sort()
            self.observers.append([(self.bit[i], args[i]) for i in active if observes[args[i]]])
            if self.model.resets is not None:
                self.waiters.append([(self.bit[i], args[i], self._ret(i)) for i in active if observes[args[i]]])
            self.mutators.append([(self.bit[i], args[i]) for i in active if not observes[args[i]]])
            active.remove(index)
            free.append(self.bit[index].bit_length() - 1)

    def _ret(self, index: int) -> int:
        ret = self.done[index].ret
        assert ret is not None
        return ret

    def _prepare_resets(self, unknown: list[Operation]) -> None:
        """By R: the earliest invocation of an operation that resets the state and may still come."""
        self.next_reset: list[int] = []
        self._reachable: dict[tuple[int, int], bool] = {}
        resets = self.model.resets
        if resets is None:
            return
        soonest = min((operation.call for operation in unknown if resets(operation.arg)), default=_NEVER)
        for operation in reversed(self.done):
            if resets(operation.arg):
                soonest = min(soonest, operation.call)
            self.next_reset.append(soonest)
        self.next_reset.reverse()

    def _is_hopeless(self, at: int, mask: int, state: int) -> bool:
        """Whether an open observer can never be legal again (step 7)."""
        reaches, reset = self.model.reaches, self.next_reset[at]
        assert reaches is not None
        for bit, arg, ret in self.waiters[at]:
            if not mask & bit and ret < reset:
                possible = self._reachable.get((state, arg))
                if possible is None:
                    possible = reaches(self._state_values[state], self._arg_values[arg])
                    self._reachable[state, arg] = possible
                if not possible:
                    return True
        return False

    def _prepare_unknown(self, unknown: list[Operation]) -> None:
        """Equal unknown operations form a group, used in the order of invocation; observers have no effect at all."""
        groups: dict[int, list[int]] = {}
        for operation in sorted(unknown, key=lambda operation: operation.call):
            if not self.model.observes(operation.arg):
                groups.setdefault(self._arg(operation.arg), []).append(operation.call)
        self.unknown: list[tuple[int, list[tuple[int, int]]]] = []
        place = 0
        for arg, calls in groups.items():
            self.unknown.append((arg, [(call, 1 << (place + index)) for index, call in enumerate(calls)]))
            place += len(calls)

    def _step(self, state: int, arg: int) -> int:
        """The state after *arg*, −1 if impossible; computed once."""
        known = self._table[arg].get(state)
        if known is None:
            after = self.model.step(self._state_values[state], self._arg_values[arg])
            known = -1 if after is IMPOSSIBLE else self._intern(after)
            self._table[arg][state] = known
        return known

    def _intern(self, state: Any) -> int:
        number = self._states.get(state)
        if number is None:
            number = self._states[state] = len(self._state_values)
            self._state_values.append(state)
        return number

    def run(self, budget: int) -> SearchResult:
        """Depth first from the beginning; memory is that of the configurations seen."""
        end = len(self.done)
        seen: dict[tuple[int, int, int], list[int]] = {}
        deepest, states = -1, set[int]()
        stack: list[tuple[int, int, int, int]] = [(0, 0, 0, 0)]
        count = 0
        while stack:
            at, mask, state, used = stack.pop()
            at, mask = self._observe(at, mask, state)
            if at == end:
                return SearchResult(True, count)
            key = (at, mask, state)
            before = seen.get(key)
            if before is None:
                seen[key] = [used]
            elif any(earlier & ~used == 0 for earlier in before):
                continue
            else:
                before[:] = [earlier for earlier in before if used & ~earlier]
                before.append(used)
            count += 1
            if count > budget:
                reason = f"more than {budget} configurations"
                return replace(self._failed(deepest, states, count), holds=None, reason=reason)
            if at > deepest:
                deepest, states = at, set()
            if at == deepest:
                states.add(state)
            if self.next_reset and self._is_hopeless(at, mask, state):
                continue
            self._push(stack, at, mask, state, used)
        return self._failed(deepest, states, count)

    def _observe(self, at: int, mask: int, state: int) -> tuple[int, int]:
        """Put in every observer that is legal now, and step over operations that are in."""
        table, bits, end = self._table, self.bit, len(self.done)
        while at < end:
            for bit, arg in self.observers[at]:
                if not mask & bit:
                    after = table[arg].get(state)
                    if (self._step(state, arg) if after is None else after) >= 0:
                        mask |= bit
            if not mask & bits[at]:
                break
            while at < end and mask & bits[at]:
                mask ^= bits[at]
                at += 1
        return at, mask

    def _push(self, stack: list[tuple[int, int, int, int]], at: int, mask: int, state: int, used: int) -> None:
        """Children, so that the mutator with the earliest return is tried first and unknown ones last."""
        table = self._table
        children = []
        waiting = []
        for bit, arg in self.mutators[at]:
            if not mask & bit:
                after = table[arg].get(state)
                if after is None:
                    after = self._step(state, arg)
                if after >= 0:
                    children.append((at, mask | bit, after, used))
                else:
                    waiting.append(arg)
        if self.unknown:
            self._push_unknown(stack, at, mask, state, used, waiting)
        children.reverse()
        stack += children

    def _push_unknown(
        self, stack: list[tuple[int, int, int, int]], at: int, mask: int, state: int, used: int, waiting: list[int]
    ) -> None:
        ret = self.done[at].ret
        assert ret is not None
        ready = []
        for arg, members in self.unknown:
            for call, bit in members:
                if not used & bit:
                    if call <= ret:
                        ready.append((arg, bit))
                    break
        if self.model.is_lazy:
            waiting += [arg for bit, arg in self.observers[at] if not mask & bit]
            waiting += [arg for arg, _ in ready if self._step(state, arg) < 0]
        for arg, bit in reversed(ready):
            after = self._step(state, arg)
            if after < 0 or after == state:
                continue
            if self.model.is_lazy and not any(self._step(after, other) >= 0 for other in waiting):
                continue
            stack.append((at, mask, after, used | bit))

    def _failed(self, deepest: int, states: set[int], count: int) -> SearchResult:
        stuck = self.done[deepest] if 0 <= deepest < len(self.done) else None
        shown = tuple(self._state_values[state] for state in sorted(states))
        return SearchResult(False, count, stuck, shown)
