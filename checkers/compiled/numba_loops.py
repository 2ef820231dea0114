"""Numba, where it is there and works; nothing where it is not.

Question: may a loop be compiled here?

Model. Numba is optional, and one that is installed may still not load: each release wants certain releases of numpy. As
nothing depends on it but time, that is said once and is otherwise as if it were not there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar, cast

Loop = TypeVar("Loop", bound=Callable[..., Any])


@cache
def has_numba() -> bool:
    """Whether numba loads. That takes most of a second: ask whether it is worth it first."""
    if find_spec("numba") is None:
        return False
    try:
        import_module("numba")
    except ImportError as error:
        hint = "large histories are judged without it, in more time and with the same answers"
        warnings.warn(f"numba is installed and does not load: {error}; {hint}", stacklevel=2)
        return False
    return True


def inlined(part: Loop) -> Loop:
    """*part* of a loop, put into each loop that calls it: a call would count references to every array it is given."""
    return cast(Loop, import_module("numba").njit(inline="always")(part)) if has_numba() else part


def compiled(loop: Loop) -> Loop:
    """*loop* itself where there is no numba: plain Python, and slow."""
    return cast(Loop, import_module("numba").njit(cache=True)(loop)) if has_numba() else loop
