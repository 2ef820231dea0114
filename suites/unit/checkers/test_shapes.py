"""Small histories against a second oracle: a slice of each shape here, all of it by ``scripts/enumerate_shapes.py``."""

from __future__ import annotations

import pytest

from suites.unit.checkers import brute, second
from suites.unit.checkers.second import Did, explains
from suites.unit.checkers.shapes import SHAPES, Letter, Shape, compare


@pytest.mark.parametrize("name", SHAPES)
def test_no_small_history_is_judged_wrongly(name: str) -> None:
    counts, wrong = compare(SHAPES[name], SHAPES[name].every)
    assert wrong == []
    assert counts["legal"] > 0
    assert counts["illegal"] > 0


@pytest.mark.parametrize(("operations", "ways"), [(1, 1), (2, 2), (3, 5), (4, 15)])
def test_every_way_to_overlap_is_listed_once(operations: int, ways: int) -> None:
    """Equal operations overlap in as many ways as there are interval orders without names: the Fishburn numbers."""
    same: tuple[Letter, ...] = (("read", "ok", 0),)
    shape = Shape(operations, same, lambda history: True, lambda history: True)
    assert len(list(shape.histories())) == ways


def test_the_two_oracles_differ_in_nothing_but_how_they_are_written() -> None:
    """A write that nobody answered, and reads on both sides of it."""
    for order, is_legal in (((-1, 5), True), ((5, -1), False)):
        reads = [(2 * index + 1, 2 * index + 2, value) for index, value in enumerate(order)]
        first = [brute.Op(0, brute.INFINITE, False, ("write", 5))]
        first += [brute.Op(call, ret, True, ("read", value)) for call, ret, value in reads]
        other = [Did(0, None, True, "write", (5,))]
        other += [Did(call, ret, False, "read", (value,)) for call, ret, value in reads]
        assert brute.linearizable(first, -1, brute.register_step) is is_legal
        assert explains(second.Cell, other) is is_legal
