"""The oracle is the definition: its liberties with the order in which it tries operations change no answer."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from random import Random

import pytest

from suites.unit.checkers import brute, differential, draw_cuts, draw_retention
from suites.unit.checkers.brute import INFINITE, Op, Step
from suites.unit.checkers.differential import OBJECTS

HISTORIES = 150


def literally(ops: Sequence[Op], initial: Hashable, step: Step) -> bool:
    """Wing and Gong's definition, as it is written."""
    needed = sum(1 << index for index, op in enumerate(ops) if op.must)
    seen = set()
    stack = [(0, initial)]
    while stack:
        done, state = stack.pop()
        if done & needed == needed:
            return True
        if (done, state) in seen:
            continue
        seen.add((done, state))
        rest = [index for index in range(len(ops)) if not done >> index & 1]
        horizon = min(ops[index].ret for index in rest)
        for index in rest:
            if ops[index].inv <= horizon:
                for after in step(state, ops[index].what):
                    stack.append((done | 1 << index, after))
    return False


@pytest.mark.parametrize("name", [name for name in OBJECTS if "sequential" not in name and name != "log, sessions"])
def test_the_definition_says_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def both(ops: Sequence[Op], initial: Hashable, step: Step) -> bool:
        answer = brute.linearizable(ops, initial, step)
        asked.append(answer)
        assert answer is literally(ops, initial, step), ops
        return answer

    for asker in (differential, draw_cuts, draw_retention):
        monkeypatch.setattr(asker, "linearizable", both)
    for seed in range(30 if "unseen" in name or "power" in name else HISTORIES):
        OBJECTS[name](Random(f"oracle/{name}/{seed}"))
    assert {True, False} == set(asked)


def test_equal_operations_are_each_there() -> None:
    """Three sends of one message that nobody answered: a log may hold it three times, and not four times."""
    sends = [Op(0, INFINITE, False, ("append", 0, (5,), None))] * 3
    for end in range(5):
        asked = Op(1, 2, True, ("end", 0, end))
        assert brute.linearizable([*sends, asked], ((0, ()),), brute.log_step()) is (end <= 3)
