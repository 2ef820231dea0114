"""What a checker says: PASS < UNKNOWN < FAIL, with the evidence.

A verdict is a value. The verdict of a run is the worst of its checks. Unknown is never a pass: a checker that had
nothing to look at, hit a limit, or raised an exception says UNKNOWN and why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from traceback import format_exc
from typing import Any


class Outcome(IntEnum):
    """The lattice; the greater is the worse, so ``max`` composes. It prints as its name and equals it."""

    PASS = 0
    UNKNOWN = 1
    FAIL = 2

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        return format(self.name, spec)

    def __eq__(self, other: object) -> bool:
        return self.name == other if isinstance(other, str) else int(self) == other

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True)
class Anomaly:
    """One thing that happened and, if ``allowed`` is false, should not have.

    ``kind`` is a name of the catalogue (``lost``, ``duplicated``, ``two-values-one-offset`` …), ``ops`` are op numbers
    of the history that prove it, ``sentence`` is for a person: it names message, queue, offset and the nearest fault.
    """

    kind: str
    sentence: str
    ops: tuple[int, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    allowed: bool = False


@dataclass(frozen=True)
class Verdict:
    """One check's answer. ``reasons`` says why it is UNKNOWN (empty otherwise)."""

    check: str
    outcome: Outcome
    anomalies: tuple[Anomaly, ...] = ()
    measures: Mapping[str, Any] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values, stable order, for ``verdict.json``."""
        return {
            "check": self.check,
            "outcome": self.outcome.name,
            "reasons": list(self.reasons),
            "measures": dict(self.measures),
            "anomalies": [
                {
                    "kind": a.kind,
                    "sentence": a.sentence,
                    "ops": list(a.ops),
                    "allowed": a.allowed,
                    "details": dict(a.details),
                }
                for a in self.anomalies
            ],
        }


def worst(verdicts: Iterable[Verdict]) -> Outcome:
    """The verdict of a whole run; of no checks at all: UNKNOWN."""
    return max((verdict.outcome for verdict in verdicts), default=Outcome.UNKNOWN)


def guarded(check: str, run: Callable[[], Verdict]) -> Verdict:
    """Run one checker; an exception in it is UNKNOWN with its traceback, never a pass and never a crash."""
    try:
        return run()
    except Exception:  # noqa: BLE001 - whatever a checker raises is evidence about the checker, and is reported as such
        return Verdict(check, Outcome.UNKNOWN, reasons=(f"the checker itself failed:\n{format_exc()}",))
