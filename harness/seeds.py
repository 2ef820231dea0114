"""Seeds as people type and read them.

Question: which seeds does ``--seed 7 --seeds 20`` mean, and how is one written so that it can be pasted back?

Model. A seed is an unsigned 64-bit number, written in hexadecimal (``0x1f2e3d4c``). ``--seeds N`` are N consecutive
ones from ``--seed`` (or from a fresh one), ``--seeds A..B`` those of the range, both ends included. A fresh seed comes
from the operating system and is small, since it will be typed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from secrets import randbits

from harness.errors import UsageError

FRESH_BITS = 32
SEEDS_MAX = 1_000_000


def parse_seed(text: str) -> int:
    """``7`` or ``0x1f``; ``UsageError`` for what is no seed."""
    try:
        seed = int(text, 0)
    except ValueError:
        raise UsageError(f"{text!r} is no seed", hint="a whole number, as 7 or 0x1f2e3d4c") from None
    if not 0 <= seed < 2**64:
        raise UsageError(f"seed {text} is not within 0 and 2^64", hint="a seed has 64 bits")
    return seed


def chosen(seed: str | None, seeds: str | None, own: int | None) -> Sequence[int]:
    """The seeds of a call, never empty: from the flags, else the scenario's *own*, else fresh."""
    if seeds is not None and ".." in seeds:
        if seed is not None:
            raise UsageError(
                "--seed and a range of --seeds contradict each other", hint="--seed 7 --seeds 20, or 7..26"
            )
        return _range(seeds)
    first = parse_seed(seed) if seed is not None else own if own is not None else fresh()
    return [(first + index) % 2**64 for index in range(_count(seeds))]


def _count(seeds: str | None) -> int:
    if seeds is None:
        return 1
    if not seeds.isdecimal() or not 1 <= int(seeds) <= SEEDS_MAX:
        raise UsageError(f"--seeds {seeds!r} is neither a count nor a range", hint="--seeds 20, or --seeds 5..24")
    return int(seeds)


def _range(seeds: str) -> Sequence[int]:
    low, _, high = seeds.partition("..")
    first, last = parse_seed(low), parse_seed(high)
    if not first <= last < first + SEEDS_MAX:
        raise UsageError(f"--seeds {seeds} is no range of 1 to {SEEDS_MAX:,} seeds", hint="the smaller end comes first")
    return range(first, last + 1)


def fresh() -> int:
    """A seed nobody asked for."""
    return randbits(FRESH_BITS)


def text(seed: int) -> str:
    return f"{seed:#x}"
