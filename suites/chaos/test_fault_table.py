"""The page of faults on backends is what was measured, is whole, and has no green cell that no probe stands behind."""

from __future__ import annotations

from faults.catalogue import VERBS
from harness.backends.table import BACKENDS
from suites.chaos.fault_table import PAGE, Cell, page, read


def test_the_page_is_what_was_measured() -> None:
    assert PAGE.read_text() == page(read())


def test_every_fault_has_a_cell_on_every_backend() -> None:
    rows = {cell.name: cell.verb for cell in read()}
    assert set(rows.values()) == set(VERBS)
    assert {(cell.name, cell.backend) for cell in read()} == {(row, backend) for row in rows for backend in BACKENDS}


def test_every_fault_took_effect_and_was_healed_wherever_there_are_levers() -> None:
    bad = [cell for cell in read() if not cell.lack and (cell.took_effect, cell.healed) != (1, 1)]
    assert bad == []


def test_a_cell_without_an_answer_is_not_green() -> None:
    cells = [Cell(verb, backend, None, None, {}) for verb in VERBS for backend in BACKENDS]
    assert "took effect: yes" not in page(cells)
    assert page(cells).count("took effect: not asked; healed: not asked") == len(cells)
