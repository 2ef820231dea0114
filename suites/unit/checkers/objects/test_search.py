"""The general search: budgets, parts, where it got stuck, and that a spent budget is never a pass."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

import checkers.objects.search
from checkers.objects.models import IMPOSSIBLE, bag, fifo, key, mutex, register, stream
from checkers.objects.search import Operation, search, search_parts
from suites.unit.checkers.synthetic import unanswered_writes

ANY_STATE = replace(register(), states=None)
"""A register whose states nobody lists: no late proofs."""


def op(call: int, ret: int | None, *arg: object) -> Operation:
    return Operation(call, ret, arg, call)


def stale(clients: int) -> list[Operation]:
    """That many writes at once, over and over, and at the end a value that was never there: all orders must be
    tried."""
    rng = Random(1)
    ops = [op(10 * step, 10 * step + 9, "write", rng.randrange(5)) for step in range(20) for _ in range(clients)]
    return [*ops, op(1000, 1001, "read", 99)]


@pytest.mark.parametrize(
    ("model", "legal", "illegal"),
    [
        (register(), [("write", 1), ("cas", 1, 2), ("refused", 1), ("read", 2)], [("write", 1), ("refused", 1)]),
        (key(), [("put", "a"), ("append", "b"), ("get", "ab")], [("put", "a"), ("get", "b")]),
        (fifo(), [("enqueue", 1), ("enqueue", 2), ("dequeue", 1), ("take",), ("empty",)], [("enqueue", 1), ("empty",)]),
        (bag(), [("enqueue", 1), ("enqueue", 2), ("dequeue", 2), ("dequeue", 1), ("empty",)], [("dequeue", 1)]),
        (
            stream(),
            [("append", (1, 2), 0), ("poll", 1, (2,)), ("end", 2), ("empty", 2)],
            [("append", (1,), 0), ("end", 0)],
        ),
        (mutex(), [("acquire", 1), ("refused", 2), ("release", 1), ("acquire", 2)], [("acquire", 1), ("acquire", 2)]),
    ],
    ids=["register", "key", "fifo", "bag", "stream", "mutex"],
)
def test_models_one_operation_after_the_other(model: object, legal: list[tuple], illegal: list[tuple]) -> None:
    for steps, wanted in ((legal, True), (illegal, False)):
        ops = [Operation(2 * index, 2 * index + 1, arg, index) for index, arg in enumerate(steps)]
        assert search(ops, model).holds is wanted  # type: ignore[arg-type]


def test_a_spent_budget_is_unknown_with_its_reason() -> None:
    result = search(stale(10), ANY_STATE, budget=50)
    assert result.holds is None
    assert result.reason == "more than 50 configurations"


def test_the_same_within_the_budget_is_illegal() -> None:
    result = search(stale(3), register())
    assert result.holds is False
    assert result.stuck is not None
    assert result.stuck.arg == ("read", 99)
    assert set(result.states) <= {0, 1, 2, 3, 4}


def test_an_easy_violation_of_one_part_is_found_beside_a_hard_part() -> None:
    hard, easy = stale(40), [op(0, 1, "write", 1), op(2, 3, "read", 2)]
    result, index = search_parts([hard, easy], ANY_STATE, budget=100_000)
    assert (result.holds, index) == (False, 1)


def test_a_hard_part_alone_is_unknown() -> None:
    result, index = search_parts([stale(60)], ANY_STATE, budget=3_000)
    assert (result.holds, index) == (None, 0)


def test_the_last_operations_may_prove_it_alone() -> None:
    """From every state on: what comes before them, and however much of it, does not matter."""
    result = search(stale(60), register())
    assert result.holds is False
    assert result.stuck is not None
    assert result.stuck in result.proof
    assert len(result.proof) < len(stale(60)) / 2
    for state in range(5):
        assert search(result.proof, replace(ANY_STATE, initial=state)).holds is False


def late_reads(after: int) -> list[Operation]:
    """0 and 1 are written at once, over and over, with reads of 7 (from a write that is never answered) twice in
    between; *after* operations later 7 is read again, though 3 was written before."""
    ops = [op(0, None, "write", 7)]
    ops += [op(10 * step, 10 * step + 9, "write", value) for step in range(1, 30) for value in range(6)]
    ops += [op(500, 501, "read", 7), op(510, 511, "write", 3)]
    ops += [op(600 + 2 * step, 601 + 2 * step, "read", 3) for step in range(after)]
    return [*ops, op(900, 901, "read", 7)]


@pytest.mark.parametrize("after", [0, 5, 40, 100])
def test_a_late_proof_is_only_given_where_there_is_one(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """The one write of 7 may still come for all that the last operations tell, unless they hold both reads."""
    monkeypatch.setattr(checkers.objects.search, "FIRST_BUDGET", 50)
    ops = late_reads(after)
    assert search(ops, register()).holds is search(ops, ANY_STATE).holds is False
    assert search([o for o in ops if o.arg != ("read", 7) or o.call > 500], register()).holds is True


def test_equal_stamps_are_concurrent() -> None:
    assert search([op(0, 5, "write", 1), op(5, 6, "read", None)], register()).holds is True
    assert search([op(0, 5, "write", 1), op(6, 7, "read", None)], register()).holds is False


def test_twenty_unknown_writes_are_no_burden() -> None:
    """Lazy: an unknown write is tried only where somebody waits for its value."""
    unknown = [op(index, None, "write", 100 + index) for index in range(20)]
    known = [op(1000 + 2 * index, 1001 + 2 * index, "write", index % 3) for index in range(500)]
    reads = [op(3000, 3001, "read", 499 % 3), op(3002, 3003, "read", 119), op(3004, 3005, "read", 499 % 3)]
    result = search([*unknown, *known, *reads], register())
    assert result.holds is False
    assert result.configurations < 5_000


@pytest.mark.parametrize("unanswered", [15, 20, 25])
def test_a_bad_read_behind_many_unanswered_writes_is_found_soon(unanswered: int) -> None:
    ops = unanswered_writes(2_000, unanswered)
    result = search(ops, register())
    assert result.holds is False
    assert result.configurations < 10_000
    valid = [operation for operation in ops if operation.arg != ("read", 5)]
    assert search(valid, register()).holds is True


def test_nothing_happened_is_legal() -> None:
    assert search([], register()).holds is True
    assert search_parts([], register())[0].holds is True


def test_an_unknown_observer_has_no_effect() -> None:
    assert search([op(0, None, "read", 7)], register()).holds is True


def test_impossible_is_no_state() -> None:
    assert register().step(1, ("read", 2)) is IMPOSSIBLE
