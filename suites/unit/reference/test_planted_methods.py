"""A planted bug replaces a method that is there: one whose method was renamed would be planted, and change nothing."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

import pytest

from reference_impl import defects

WRONG = [
    wrong
    for module in pkgutil.iter_modules(defects.__path__)
    for wrong in vars(import_module(f"{defects.__name__}.{module.name}")).values()
    if inspect.isclass(wrong) and wrong.__module__.endswith(f".{module.name}") and wrong.__bases__ != (object,)
]


def stray(wrong: type) -> list[str]:
    """Methods of *wrong* that replace none of its bases', and that none of its own, or of its children, calls."""
    own = {name for name, value in vars(wrong).items() if inspect.isfunction(value)}
    new = {name for name in own if not any(hasattr(base, name) for base in wrong.__bases__)}
    source = inspect.getsource(inspect.getmodule(wrong) or wrong)
    return sorted(name for name in new if f"self.{name}" not in source and f"().{name}" not in source)


@pytest.mark.parametrize("wrong", WRONG, ids=[wrong.__name__ for wrong in WRONG])
def test_it_replaces_what_the_reference_has(wrong: type) -> None:
    assert stray(wrong) == []


def test_a_method_that_was_renamed_below_it_is_noticed() -> None:
    class Right:
        def is_due(self) -> bool:
            return False

    class Wrong(Right):
        def is_expired(self) -> bool:
            return True

    assert stray(Wrong) == ["is_expired"]
    assert len(WRONG) > 40
