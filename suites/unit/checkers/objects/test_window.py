"""A window proves what the whole history proves, with fewer operations."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from checkers.external.files import read_calls
from checkers.external.register import register_part
from checkers.objects.models import register
from checkers.objects.search import Operation, search
from checkers.objects.window import window_of
from suites.unit.checkers.differential import OBJECTS

PUBLIC = Path(__file__).resolve().parents[3] / "public" / "porcupine"


def op(call: int, ret: int | None, *arg: object) -> Operation:
    return Operation(call, ret, arg, call)


def window(ops: list[Operation]) -> tuple[object, list[int]]:
    result = search(ops, register())
    assert result.stuck is not None
    found = window_of(ops, register(), result.stuck)
    assert search(found.operations, replace(register(), initial=found.initial)).holds is False
    return found.initial, [operation.op for operation in found.operations]


def test_what_came_before_a_quiet_moment_becomes_a_state() -> None:
    ops = [op(0, 1, "write", 1), op(2, 3, "write", 2), op(4, 5, "read", 2), op(6, 7, "read", 1)]
    assert window(ops) == (2, [6])


def test_what_came_later_is_left_out() -> None:
    ops = [op(0, 1, "read", 7), op(10, 11, "write", 7), op(12, 13, "read", 7)]
    assert window(ops) == (None, [0])


def test_reads_that_prove_nothing_are_left_out() -> None:
    """Two writes at once: one read of each, then the first value again."""
    ops = [
        op(0, 30, "write", 1),
        op(1, 31, "write", 2),
        op(2, 3, "read", None),
        op(4, 5, "read", 1),
        op(6, 7, "read", 2),
        op(8, 9, "read", 2),
        op(10, 11, "read", 1),
    ]
    initial, kept = window(ops)
    assert initial is None
    assert kept == [0, 1, 4, 8, 10] or kept == [0, 1, 4, 6, 10]


def test_two_possible_states_are_not_cut() -> None:
    ops = [op(0, 9, "write", 1), op(1, 8, "write", 2), op(20, 21, "read", 3)]
    assert window(ops) == (None, [0, 1, 20])


@pytest.mark.parametrize("seed", range(40))
def test_random_windows_prove_what_they_were_cut_from(seed: int) -> None:
    from random import Random

    _, wanted, ops = OBJECTS["search: register"](Random(f"window/{seed}"))
    if not wanted:
        operations = [Operation(o.inv, o.ret if o.must else None, o.what, index) for index, o in enumerate(ops)]
        result = search(operations, register(-1))
        if result.stuck is not None:
            found = window_of(operations, register(-1), result.stuck)
            assert search(found.operations, replace(register(), initial=found.initial)).holds is False


def test_windows_of_the_published_logs_are_small() -> None:
    verdicts = json.loads((PUBLIC / "verdicts.json").read_text(encoding="utf-8"))
    sizes = []
    for name in [name for name, verdict in verdicts.items() if "etcd" in name and not verdict]:
        ops = register_part(read_calls(PUBLIC / name), name, True)
        result = search(ops, register())
        assert result.stuck is not None
        sizes.append(len(window_of(ops, register(), result.stuck).operations))
    assert len(sizes) == 79
    assert sorted(sizes)[len(sizes) // 2] <= 8
