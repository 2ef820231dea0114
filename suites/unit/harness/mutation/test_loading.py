"""A changed module is found in its process only, and no file learns of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from harness.mutation.loading import install
from harness.mutation.operators import changed

SOURCE = "def end(a):\n    return a + 1\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "mutable_example"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "log.py").write_text(SOURCE)
    (folder / "user.py").write_text("from mutable_example.log import end\nRESULT = end(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    yield folder
    for name in [name for name in sys.modules if name.startswith("mutable_example")]:
        del sys.modules[name]


def test_who_imports_the_module_gets_the_change(package: Path) -> None:
    install("mutable_example.log", changed(SOURCE, 0))
    user = import_module("mutable_example.user")
    assert user.RESULT == 2
    assert sys.modules["mutable_example.log"].__file__ == str(package / "log.py")


def test_nothing_is_written(package: Path) -> None:
    install("mutable_example.log", changed(SOURCE, 0))
    import_module("mutable_example.log")
    assert (package / "log.py").read_text() == SOURCE
    assert list(package.rglob("log*.pyc")) == []


def test_it_is_too_late_when_the_module_is_there(package: Path) -> None:
    import_module("mutable_example.log")
    with pytest.raises(ImportError, match="there already"):
        install("mutable_example.log", changed(SOURCE, 0))
