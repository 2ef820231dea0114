"""What can go wrong with a fault, in the words of this room; the harness gives them exit codes.

    FaultTrouble
    ├─ PlanError          a fault that cannot be bound: unknown verb, missing or surplus key
    │  └─ SelectorError   a selector that cannot be parsed, or fits nobody
    ├─ InjectionFailed    the lever raised; the fault may be half in place, its heal is journalled
    └─ UndoFailed         what is still broken, and the command that clears it

A lever that this backend does not have is :class:`faults.levers.LeverRefused`, which is no failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches


class FaultTrouble(Exception):
    """``what`` happened and a ``hint`` what to do; both one line."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(f"{what} ({hint})" if hint else what)
        self.what, self.hint = what, hint


class PlanError(FaultTrouble):
    """``offset`` counts characters into the text that could not be read; ``key`` names the key it belongs to."""

    def __init__(
        self, what: str, *, key: str = "", offset: int = 0, known: Sequence[str] = (), word: str = "", hint: str = ""
    ) -> None:
        super().__init__(what, hint or suggestion(word, known))
        self.key, self.offset = key, offset


class SelectorError(PlanError):
    """A selector that cannot be parsed, or that fits no node of the cluster."""


class InjectionFailed(FaultTrouble):
    """A lever raised while the fault was being applied."""


class UndoFailed(FaultTrouble):
    """A heal raised or its probe says that the fault is still there."""


def suggestion(word: str, known: Sequence[str]) -> str:
    """``did you mean 'x'?`` where something is close, else the list of what is known; empty if nothing is."""
    if not known:
        return ""
    close = get_close_matches(word, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
