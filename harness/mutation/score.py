"""Shares: how many mutants were noticed, by room, operator and check.

Question: two figures stand for a measurement. Of what are they the shares?

Model. ``of executed`` asks the checkers: of the mutants that some unit executes and that change something, how many
were noticed? ``of all`` asks the units as well: what nothing executes counts as not noticed.

    drawn = equivalent + unexecuted + executed          executed = killed + noticed + survived
    of executed = (killed + noticed) / executed         of all = (killed + noticed) / (executed + unexecuted)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from harness.mutation.population import Mutant
from harness.mutation.result import Result
from harness.mutation.reviewed import Review

Judged = tuple[Mutant, Result]


@dataclass(frozen=True)
class Score:
    """Of some mutants."""

    equivalent: int = 0
    unexecuted: int = 0
    killed: int = 0
    noticed: int = 0
    survived: int = 0

    @property
    def drawn(self) -> int:
        return self.equivalent + self.unexecuted + self.executed

    @property
    def executed(self) -> int:
        return self.killed + self.noticed + self.survived

    @property
    def of_executed(self) -> float:
        """From 0 to 1; 0 where nothing was executed."""
        return (self.killed + self.noticed) / self.executed if self.executed else 0.0

    @property
    def of_all(self) -> float:
        counted = self.executed + self.unexecuted
        return (self.killed + self.noticed) / counted if counted else 0.0


def score_of(judged: Iterable[Judged], reviews: Mapping[str, Review]) -> Score:
    """*reviews* say which are equivalent."""
    kinds = Counter(_kind(result, reviews) for _, result in judged)
    return Score(**{kind: kinds[kind] for kind in Score.__dataclass_fields__})


def scores_by(
    key: Callable[[Mutant], str], judged: Iterable[Judged], reviews: Mapping[str, Review]
) -> dict[str, Score]:
    """One for each value of *key*, in the order in which they come."""
    groups: dict[str, list[Judged]] = {}
    for one in judged:
        groups.setdefault(key(one[0]), []).append(one)
    return {name: score_of(group, reviews) for name, group in groups.items()}


def checks(judged: Iterable[Judged]) -> Counter[str]:
    """How many mutants each check noticed first; what was no verdict under its own name."""
    return Counter(result.cause.partition("/")[0] or result.outcome for _, result in judged if result.outcome)


def _kind(result: Result, reviews: Mapping[str, Review]) -> str:
    review = reviews.get(result.mutant)
    is_equivalent = result.kind == "survived" and review is not None and review.what == "equivalent"
    return "equivalent" if is_equivalent else result.kind
