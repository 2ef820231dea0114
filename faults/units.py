"""Durations and sizes as people write them: ``6s``, ``500ms``, ``1.5s``; ``128B``, ``4KiB``; to int and back, exactly.

A bare number has no unit and is refused: in a file read at three in the morning ``at: 10`` must not be guessed.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

UNITS: Final = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000}

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ns|us|ms|s|m|h)")


def duration_ns(text: str) -> int:
    """``ValueError`` with a sentence for anything but NUMBER UNIT, or for a fraction of a nanosecond."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a duration: write a number and a unit, as 6s, 500ms or 2m")
    value = Decimal(match[1]) * UNITS[match[2]]
    if value != value.to_integral_value():
        raise ValueError(f"{text!r} is finer than a nanosecond")
    return int(value)


def duration_text(ns: int) -> str:
    """The shortest exact text: ``duration_ns(duration_text(ns)) == ns`` for every ns ≥ 0."""
    unit = next(unit for unit in reversed(UNITS) if ns % UNITS[unit] == 0 and (ns or unit == "s"))
    return f"{ns // UNITS[unit]}{unit}"


SIZES: Final = {"B": 1, "KiB": 1024, "MiB": 1024 * 1024}


def size_bytes(text: str) -> int:
    """``128B``, ``4KiB``, ``1MiB``."""
    match = re.fullmatch(r"(\d+)\s*(B|KiB|MiB)", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a size: write a number and B, KiB or MiB, as 128B")
    return int(match[1]) * SIZES[match[2]]


def size_text(value: int) -> str:
    """The shortest exact text: ``size_bytes(size_text(n)) == n`` for every n ≥ 0."""
    unit = next(unit for unit in reversed(SIZES) if value % SIZES[unit] == 0)
    return f"{value // SIZES[unit]}{unit}"
