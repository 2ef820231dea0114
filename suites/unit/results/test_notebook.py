"""The example notebook is in step with what it imports; ``make cluster`` executes it."""

from __future__ import annotations

import pytest

from suites.cluster import notebook


@pytest.mark.parametrize(("module", "name"), list(notebook.names()))
def test_what_the_notebook_imports_is_there(module: str, name: str) -> None:
    assert notebook.is_there(module, name)


@pytest.mark.parametrize("cell", notebook.cells())
def test_every_cell_is_python(cell: str) -> None:
    assert compile(cell, "cell", "exec")
