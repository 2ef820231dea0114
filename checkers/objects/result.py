"""What every theorem says: PASS, UNKNOWN with the reason, or FAIL with the operations that prove it, in one shape.

Question: is there one shape for the answers about logs, queues, registers, sets and locks, so that whoever reads one
reads all?

Model. A :class:`Result` has what a :class:`~checkers.verdict.Verdict` has: ``check``, ``outcome``, ``anomalies`` (each
with a sentence and the operations that prove it) and ``reasons``. Beside that, for programs: ``holds`` (true, false, or
``None`` where it is not known) and ``violations``, the anomalies as values. What a kind of violation means stands once,
in :mod:`checkers.objects.kinds`.

Limits. Sentences name values and operations by their numbers: only who numbered them can name them better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from checkers.objects.kinds import clause
from checkers.verdict import Anomaly, Outcome, Verdict


class Found(Protocol):
    """Any violation: its kind, the numbers of the operations that prove it, and how many of the kind there are."""

    @property
    def kind(self) -> str: ...
    @property
    def ops(self) -> tuple[int, ...]: ...
    @property
    def values(self) -> tuple[int, ...]: ...
    @property
    def count(self) -> int: ...

    def where(self) -> Mapping[str, int]:
        """Queue and offsets, if it has any."""
        ...


@dataclass(frozen=True, slots=True)
class Violation:
    """``values`` are concerned, ``ops`` prove it."""

    kind: str
    values: tuple[int, ...]
    ops: tuple[int, ...]
    count: int = 1

    def where(self) -> Mapping[str, int]:
        return {}


V = TypeVar("V", bound=Found, covariant=True)


@dataclass(frozen=True)
class Result(Generic[V]):
    """``violations`` and ``unknown`` empty: it holds."""

    check: str
    violations: tuple[V, ...]
    unknown: tuple[str, ...] = ()

    @property
    def holds(self) -> bool | None:
        """Whether the history is what the object may answer; ``None`` if that is not known."""
        if self.violations:
            return False
        return None if self.unknown else True

    def __bool__(self) -> bool:
        raise TypeError("a result may be unknown, so it is neither true nor false: ask for .holds or .outcome")

    @property
    def outcome(self) -> Outcome:
        return {True: Outcome.PASS, False: Outcome.FAIL, None: Outcome.UNKNOWN}[self.holds]

    @property
    def anomalies(self) -> tuple[Anomaly, ...]:
        """The violations in words."""
        return tuple(anomaly(self.check, violation) for violation in self.violations)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not known."""
        return () if self.violations else self.unknown

    def verdict(self) -> Verdict:
        """The same as a plain value."""
        return Verdict(self.check, self.outcome, self.anomalies, reasons=self.reasons)


def anomaly(check: str, violation: Found, name: Callable[[int], str] = "value {}".format) -> Anomaly:
    """*violation* of the theorem *check* in words."""
    more = f" ({violation.count} such cases)" if violation.count > 1 else ""
    known = [str(op) for op in violation.ops if op >= 0]
    proof = f": operation{'s' if len(known) > 1 else ''} {', '.join(known)}" if known else ""
    sentence = f"{violation.kind}: {clause(check, violation, name)}{more}{proof}"
    return Anomaly(violation.kind, sentence, violation.ops, {"values": violation.values, **violation.where()})
