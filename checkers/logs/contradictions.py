"""Which of many queues are contradicted, and by what, each for itself.

Question: a look at all queues names one contradiction of each kind. Which queues are contradicted at all?

Model. Queues are objects by themselves, so a look at some of them says of these what a look at all would say. What is
named is set aside and looked at alone, which tells its own contradictions and no others, and the rest is looked at
again. After :data:`LOOKS` of these there may be thousands more: they are found by halves, in about one look at all that
is left for each doubling of their number.

Limits. Appends to queues that nobody knows stay with each part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from checkers.logs.columns import LogInput, LogViolation

LOOKS: Final = 16


class Said(Protocol):
    """What a look says."""

    @property
    def violations(self) -> tuple[LogViolation, ...]: ...


_Said = TypeVar("_Said", bound=Said)


@dataclass(frozen=True, slots=True)
class Looked(Generic[_Said]):
    """``contradicted``: queue → its contradictions. ``rest`` is all but these, and ``said`` the look at it."""

    contradicted: dict[int, list[LogViolation]]
    rest: LogInput
    said: _Said


def look_at_each(log: LogInput, look: Callable[[LogInput], _Said]) -> Looked[_Said]:
    """Look until no queue of the rest is contradicted."""
    found: dict[int, list[LogViolation]] = {}
    said = look(log)
    for _ in range(LOOKS):
        if not said.violations:
            return Looked(found, log, said)
        for queue in sorted({violation.queue for violation in said.violations}):
            found[queue] = _alone(log, queue, look, said)
        log = log.without(found)
        said = look(log)
    found |= _by_halves(log, log.queues(), look)
    log = log.without(found)
    return Looked(found, log, look(log))


def _alone(log: LogInput, queue: int, look: Callable[[LogInput], _Said], said: _Said) -> list[LogViolation]:
    """What contradicts *queue*; what was said of all, if that takes all to see."""
    violations = look(log.only([queue])).violations
    return list(violations) or [violation for violation in said.violations if violation.queue == queue]


def _by_halves(log: LogInput, queues: list[int], look: Callable[[LogInput], _Said]) -> dict[int, list[LogViolation]]:
    said = look(log)
    if len(queues) == 1 or not said.violations:
        return {queues[0]: list(said.violations)} if said.violations else {}
    half = len(queues) // 2
    parts = queues[:half], queues[half:]
    first, second = (_by_halves(log.only(part), part, look) for part in parts)
    return first | second or {violation.queue: [violation] for violation in said.violations}
