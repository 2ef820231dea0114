"""The draw: the same on every machine, even over rooms, and stable under edits elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.mutation.population import Mutant, by_id, draw, population

STORE = "def append(a, b):\n    if a < b:\n        b.write(a)\n    return a + 1\n"
BROKER = "def send(a):\n    return a > 3\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for room, source in (("store", STORE), ("broker", BROKER)):
        folder = tmp_path / "reference_impl" / room
        folder.mkdir(parents=True)
        (folder / "main.py").write_text(source)
    return tmp_path


def names(mutants: list[Mutant]) -> list[str]:
    return [mutant.id for mutant in mutants]


def test_a_larger_sample_contains_the_smaller(root: Path) -> None:
    everything = population(("store", "broker"), root)
    assert set(names(draw(everything, 3, 1))) < set(names(draw(everything, 5, 1)))
    assert len(draw(everything, 100, 1)) == len(everything)


def test_rooms_take_turns(root: Path) -> None:
    drawn = draw(population(("store", "broker"), root), 4, 1)
    assert [mutant.room for mutant in drawn] == ["store", "broker", "store", "broker"]


def test_the_seed_decides(root: Path) -> None:
    everything = population(("store",), root)
    orders = {tuple(names(draw(everything, len(everything), seed))) for seed in range(20)}
    assert len(orders) > 10
    assert names(draw(everything, 3, 1)) == names(draw(list(reversed(everything)), 3, 1))


def test_an_edit_elsewhere_leaves_names_as_they_are(root: Path) -> None:
    before = {mutant.id: mutant.change.line for mutant in population(("store",), root)}
    (root / "reference_impl" / "store" / "main.py").write_text("def new(a):\n    a.b()\n\n\n" + STORE)
    after = {mutant.id: mutant.change.line for mutant in population(("store",), root)}
    assert {name: line + 4 for name, line in before.items()}.items() < after.items()


def test_mutants_are_found_by_the_beginning_of_their_id(root: Path) -> None:
    everything = population(("store",), root)
    assert by_id(everything, [everything[2].id[:8]]) == [everything[2]]
    with pytest.raises(UsageError, match="no mutant's id begins with 'zz'"):
        by_id(everything, ["zz"])


def test_no_two_mutants_of_the_reference_have_one_name() -> None:
    everything = population()
    assert len(set(names(everything))) == len(everything) > 4000
