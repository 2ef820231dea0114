"""Numba may be there, may be missing, and may be there and not load."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from checkers.compiled.numba_loops import compiled, has_numba


@pytest.fixture(autouse=True)
def _asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    has_numba.cache_clear()


def forget() -> None:
    has_numba.cache_clear()


def test_one_that_does_not_load_is_said_once_and_as_good_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(forget)
    (tmp_path / "numba.py").write_text("raise ImportError('it needs another numpy')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.warns(UserWarning, match="does not load: it needs another numpy; large histories are judged without"):
        assert not has_numba()
    assert compiled(forget) is forget


def test_what_is_missing_is_not_mentioned(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    request.addfinalizer(forget)
    monkeypatch.setattr("checkers.compiled.numba_loops.find_spec", lambda name: None)
    assert not has_numba()
