"""All mutants of some rooms of the reference, and those that are drawn.

Question: which mutants are measured, so that another machine, another day and a larger sample measure the same ones?

Model. A mutant's *id* is a digest of its module, function, operator, texts and occurrence. Its place in a draw is a
digest of seed and id; each room gives its first ones, the same number of each. So a sample of 400 contains the sample
of 80, and a change of the source replaces those mutants whose functions were changed, and no others.

Limits. Two mutants of equal text in one function are told apart by their order only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from harness.errors import UsageError
from harness.mutation.operators import Change, changes

SUBJECT: Final = "reference_impl"
ROOT: Final = Path(__file__).resolve().parents[2]
"""What the rooms are below, here and in a wheel."""
ROOMS: Final = ("store", "replication", "broker", "namesrv", "client")
MORE_ROOMS: Final = ("dledger", "wire")
ID_LENGTH: Final = 10


@dataclass(frozen=True)
class Mutant:
    """One change of one module; *path* is below the folder of the rooms."""

    room: str
    path: str
    change: Change

    @property
    def id(self) -> str:
        told = (self.path, self.change.function, self.change.operator, self.change.before, self.change.after)
        return _digest("|".join((*told, str(self.change.occurrence))))[:ID_LENGTH]

    @property
    def module(self) -> str:
        """Its name without what all rooms are below."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def __str__(self) -> str:
        change = self.change
        return f"{self.path}:{change.line} {change.function}: {change.before} → {change.after}"


def population(rooms: Sequence[str] = ROOMS, root: Path = ROOT) -> list[Mutant]:
    """Every mutant of these rooms."""
    return [
        Mutant(room, str(path.relative_to(root)), change)
        for room in rooms
        for path in sorted((root / SUBJECT / room).rglob("*.py"))
        for change in changes(path.read_text(encoding="utf-8"))
    ]


def draw(mutants: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """*count* of them, the same number of each room (the first rooms give one more if it does not come out even)."""
    rooms = list(dict.fromkeys(mutant.room for mutant in mutants))
    ranked = {room: sorted(_of(mutants, room), key=lambda mutant: _rank(seed, mutant)) for room in rooms}
    rounds = (
        ranked[room][place]
        for place in range(max(map(len, ranked.values()), default=0))
        for room in rooms
        if place < len(ranked[room])
    )
    return [mutant for _, mutant in zip(range(count), rounds, strict=False)]


def by_id(mutants: Sequence[Mutant], wanted: Sequence[str]) -> list[Mutant]:
    """Those of these ids (beginnings suffice); ``UsageError`` for one that nobody has."""
    found = []
    for start in wanted:
        matching = [mutant for mutant in mutants if mutant.id.startswith(start)]
        if not matching:
            raise UsageError(f"no mutant's id begins with {start!r}", hint="mqchaos mutate --list")
        found += matching
    return found


def _of(mutants: Sequence[Mutant], room: str) -> list[Mutant]:
    return [mutant for mutant in mutants if mutant.room == room]


def _rank(seed: int, mutant: Mutant) -> str:
    return _digest(f"{seed}/{mutant.id}")


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
