"""What a theorem about one object says: the operations that prove a violation, or why it cannot tell.

Question: is there one shape for the answers about queues, registers and locks, so that whoever reads one reads all?

Model. ``violations`` and ``unknown`` empty: linearizable. A violation has the catalogue's name for its kind, the
values it concerns and the numbers of the operations that prove it; ``count`` says how many of the kind there are.

Limits. Logs have offsets to tell and a shape of their own (:class:`checkers.logs.columns.LogViolation`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """``values`` are concerned, ``ops`` prove it."""

    kind: str
    values: tuple[int, ...]
    ops: tuple[int, ...]
    count: int = 1


@dataclass(frozen=True, slots=True)
class Result:
    """``violations`` and ``unknown`` empty: linearizable."""

    violations: tuple[Violation, ...]
    unknown: tuple[str, ...] = ()

    @property
    def linearizable(self) -> bool | None:
        """The answer; ``None`` if it is not known."""
        if self.violations:
            return False
        return None if self.unknown else True
