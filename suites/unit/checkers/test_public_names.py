"""What ``from checkers import …`` offers, and that asking for one name does not load everything."""

from __future__ import annotations

import subprocess
import sys

import pytest

import checkers


def test_every_public_name_is_there() -> None:
    for name in checkers.__all__:
        assert getattr(checkers, name) is not None
    assert sorted(checkers._HOME_OF) == sorted(checkers.__all__)


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        checkers.nothing  # noqa: B018


def test_a_verdict_does_not_load_numpy() -> None:
    code = "import sys; from checkers import Verdict; print('numpy' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240)
    assert shown.stdout.strip() == "False"
