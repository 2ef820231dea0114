"""The compiled search gives the tree's answer: the same verdict, the same operation at which it got stuck, in the same
states, after the same number of configurations, and gives up where the tree does.

Where numba is not installed the same loops run as plain Python, over fewer histories.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from itertools import product
from random import Random
from typing import Any

import pytest

import checkers.objects.search
from checkers.compiled import search as search_compiled
from checkers.compiled.search import CompiledTree, compiled_tree, is_worth_it
from checkers.objects.models import ANY, IMPOSSIBLE, IN, SAME, Model, key, mutex, register
from checkers.objects.search import Operation, search, search_parts
from checkers.objects.search_tree import Tree
from suites.unit.checkers.differential import OBJECTS, compare
from suites.unit.checkers.synthetic import unanswered_writes

FEW, MANY = 300, 10_000
REGISTER_ARGS = [
    *((kind, value) for kind in ("write", "read", "refused") for value in range(3)),
    *(("cas", old, new) for old in range(3) for new in range(3)),
    ("read", None),
]
LOCK_ARGS = [(kind, owner) for kind in ("acquire", "release", "refused") for owner in range(3)]


def op(call: int, ret: int | None, *arg: object) -> Operation:
    return Operation(call, ret, arg, call)


def by_rule(rule: tuple[int, Any, Any], state: object) -> object:
    when, wanted, then = rule
    if when != ANY and (state == wanted) is not (when == IN):
        return IMPOSSIBLE
    return state if then is SAME else then


@pytest.mark.parametrize(
    ("model", "args"), [(register(), REGISTER_ARGS), (mutex(), LOCK_ARGS)], ids=["register", "mutex"]
)
def test_rules_say_what_steps_do(model: Model, args: list[tuple[Any, ...]]) -> None:
    assert model.rule is not None
    for state, arg in product((None, 0, 1, 2), args):
        rule = model.rule(arg)
        assert rule is not None
        assert by_rule(rule, state) == model.step(state, arg)
        assert model.observes(arg) is (rule[2] is SAME)


def draw(rng: Random, args: list[tuple[Any, ...]]) -> list[Operation]:
    """Anything at all: mostly illegal, often late, with ties, operations without an answer and equal ones."""
    count, width = rng.randint(1, 14), rng.choice((1, 3, 6, 20))
    some = rng.sample(args, rng.randint(1, len(args)))
    operations = []
    for number in range(count):
        call = rng.randrange(2 * count)
        ret = None if rng.random() < 0.25 else call + rng.randrange(width)
        operations.append(Operation(call, ret, rng.choice(some), number))
    return operations


def worked(rng: Random) -> list[Operation]:
    """A register that worked but for one read."""
    shape = {"clients": rng.choice((2, 5, 10)), "values": rng.choice((1, 2, 5)), "seed": rng.randrange(10**6)}
    return unanswered_writes(rng.choice((10, 20, 40)), rng.randrange(7), **shape)


def valid(rng: Random) -> list[Operation]:
    return [operation for operation in worked(rng) if operation.arg != ("read", 5)]


DRAWN: dict[str, tuple[Model, Callable[[Random], list[Operation]]]] = {
    "register, anything": (register(), lambda rng: draw(rng, REGISTER_ARGS)),
    "register, one bad read": (register(), worked),
    "register that worked": (register(), valid),
    "mutex, anything": (mutex(), lambda rng: draw(rng, LOCK_ARGS)),
    "register, not lazy": (replace(register(), is_lazy=False), worked),
}


def same_answers(name: str, histories: int) -> None:
    model, drawn = DRAWN[name]
    answers = []
    for seed in range(histories):
        rng = Random(f"{name}/{seed}")
        operations = drawn(rng)
        plain, compiled = Tree(operations, model), compiled_tree(operations, model)
        assert compiled is not None
        for budget in (2_000, rng.randrange(30)):
            wanted = plain.run(budget)
            assert repr(compiled.run(budget)) == repr(wanted), seed
            answers.append(wanted.holds)
    assert answers.count(None) > histories // 20
    assert max(answers.count(True), answers.count(False)) > histories // 3


@pytest.mark.parametrize("name", DRAWN)
def test_the_same_configuration_by_configuration(name: str) -> None:
    same_answers(name, FEW)


@pytest.mark.parametrize("name", DRAWN)
def test_the_same_in_thousands_of_histories(name: str) -> None:
    pytest.importorskip("numba")
    same_answers(name, MANY)


@pytest.mark.parametrize("name", ["search: register", "search: register, late proofs"])
def test_beside_exhaustion(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkers.objects.search, "is_worth_it", lambda operations, limit: True)
    assert name in OBJECTS
    counts, wrong = compare(name, range(10**6, 10**6 + (FEW if find_spec("numba") is None else MANY // 2)))
    assert not wrong, f"seed {wrong[0][0]}: {wrong[0][1]}"
    assert min(counts["illegal"], counts["legal"]) > FEW // 10


def crowded(clients: int) -> list[Operation]:
    """So many writes at once, over and over, one of them unanswered, and then a value that was never there."""
    rng = Random(1)
    ops = [op(10 * step, 10 * step + 9, "write", rng.randrange(5)) for step in range(4) for _ in range(clients)]
    lost = [op(10 * step, None, "cas", rng.randrange(5), rng.randrange(5)) for step in range(4) for _ in range(6)]
    return [*ops, *lost, op(1000, 1001, "read", 99)]


def test_many_configurations_and_many_unknown_operations() -> None:
    """What is kept grows many times over."""
    plain, compiled = Tree(crowded(9), register()), compiled_tree(crowded(9), register())
    assert compiled is not None
    assert plain.run(6_000).holds is None
    for budget in (511, 512, 513, 6_000):
        assert compiled.run(budget) == plain.run(budget)


def test_as_many_at_once_as_there_are_bits() -> None:
    ops = [op(0, 9, "write", value) for value in range(61)]
    legal = [*ops, op(0, 9, "cas", 60, 70), op(10, 11, "read", 70)]
    compiled = compiled_tree(legal, register())
    assert compiled is not None
    assert compiled.run(10_000) == Tree(legal, register()).run(10_000)
    assert compiled_tree([*legal, op(9, 10, "read", 3)], register()) is None


@pytest.mark.parametrize(
    ("operations", "model"),
    [
        ([op(0, 1, "put", "a"), op(2, 3, "append", "b")], key()),
        ([op(0, 1, "write", float("nan"))], register()),
        ([Operation(0, 1 << 63, ("write", 1))], register()),
        ([Operation(0, (1 << 63) - 1, ("write", 1))], register()),
        ([Operation(0.5, 1.5, ("write", 1))], register()),  # type: ignore[arg-type]
        ([op(5, 3, "write", 1)], register()),
        ([], register()),
    ],
    ids=[
        "no rules",
        "a value unequal to itself",
        "beyond 64 bits",
        "the end of time",
        "fractions",
        "backwards",
        "none",
    ],
)
def test_what_does_not_fit_keeps_the_tree(operations: list[Operation], model: Model) -> None:
    assert compiled_tree(operations, model) is None


def test_so_many_kinds_of_unknown_operations_and_no_more() -> None:
    """Each kind may be there often."""
    ops = [op(0, None, "write", value % 64) for value in range(200)]
    ops += [op(2 * step, 2 * step + 1, "read", 63 - step // 3) for step in range(1, 190)]
    compiled = compiled_tree(ops, register())
    assert compiled is not None
    assert compiled.run(10_000) == Tree(ops, register()).run(10_000)
    assert compiled_tree([*ops, op(0, None, "write", 64)], register()) is None


def test_unknown_operations_alone() -> None:
    ops = [op(0, None, "write", 1), op(0, None, "read", 1)]
    compiled = compiled_tree(ops, register())
    assert compiled is not None
    assert compiled.run(5) == Tree(ops, register()).run(5)


def test_small_searches_never_load_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_compiled, "has_numba", lambda: True)
    monkeypatch.setattr(search_compiled, "_LOOPS", "checkers.nothing_of_that_name")
    assert not is_worth_it(1_000, 4_000)
    assert is_worth_it(search_compiled.LARGE, 4_000)
    assert is_worth_it(1_000, search_compiled.MANY)


def test_without_numba_it_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_compiled, "has_numba", lambda: False)
    assert not is_worth_it(10**7, 10**7)


def test_a_hard_part_is_handed_over_and_the_answer_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """From one round to the next; the easy violation beside it is named all the same."""
    model, easy = replace(register(), states=None), [op(0, 1, "write", 1), op(2, 3, "read", 2)]
    parts = [crowded(5), worked(Random(5)), easy]
    monkeypatch.setattr(checkers.objects.search, "is_worth_it", lambda operations, limit: False)
    wanted = [search_parts(parts, model, 20_000, first=100), search_parts(parts[:1], model, 1_500, first=100)]
    used: list[type] = []

    def tree(*args: Any) -> Any:
        found = ours(*args)
        used.append(type(found))
        return found

    ours = checkers.objects.search._tree
    monkeypatch.setattr(checkers.objects.search, "_tree", tree)
    monkeypatch.setattr(checkers.objects.search, "is_worth_it", lambda operations, limit: limit > 100)
    found = [search_parts(parts, model, 20_000, first=100), search_parts(parts[:1], model, 1_500, first=100)]
    assert repr(found) == repr(wanted)
    assert {Tree, CompiledTree} <= set(used)


def test_a_million_operations_are_searched() -> None:
    pytest.importorskip("numba")
    ops = [operation for operation in unanswered_writes(1_000_000, 50) if operation.arg != ("read", 5)]
    assert is_worth_it(len(ops), 0)
    assert search(ops, register()).holds is True
