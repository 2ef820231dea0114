"""Pairs of runs, their differences, and a judgement that a build may stop on.

Question: is the second worse than the first, better, the same, or can that not be told from these runs?

Model. A pair is two runs of one plan and one seed, one of each side: what differs within it is the broker (and, on real
nodes, chance). For each figure the differences of all pairs, second minus first, have a median and a 99 % interval of
it from order statistics, which needs no assumption about their distribution, and no pair can dominate. A difference
matters when it is beyond the figure's margin, a share of what the first has, with a floor.

    worse, better   the whole interval is on one side of zero, and the median is beyond the margin
    same            the whole interval is within the margin
    cannot tell     anything else, and fewer pairs than an interval needs (8)

Losses and failures are rare, so most differences are zero and a median says nothing: for them it is the mean, with the
interval of a bootstrap over the pairs (its generator is seeded: the same runs give the same answer).

Limits. 99 % for each of five figures: of a hundred comparisons of equals one or two figures will be called different by
chance, when their median is also beyond the margin.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from results.compare.figures import Measured

Judgement = Literal["worse", "same", "better", "cannot tell"]
PAIRS_MIN: Final = 8
CONFIDENCE: Final = 0.99
RESAMPLES: Final = 4_000


@dataclass(frozen=True)
class Figure:
    """What is compared. *share* and *floor* make the margin; ``of_mean``: rare events, see above."""

    name: str
    words: str
    unit: str
    less_is_better: bool
    share: float
    floor: float
    of_mean: bool = False


FIGURES: Final = (
    Figure("failed", "runs that fail", "share of runs", True, 0.0, 0.01, of_mean=True),
    Figure("lost", "acknowledged messages lost", "of 10,000", True, 0.05, 5.0, of_mean=True),
    Figure("recovery_ms", "time to recover", "ms", True, 0.1, 50.0),
    Figure("served", "sends that succeed from the fault on", "share", False, 0.0, 0.01),
    Figure("steady_ms", "99 % latency of sends before a fault", "ms", True, 0.2, 0.2),
)


@dataclass(frozen=True)
class Difference:
    """One figure over all pairs, or over those of one cell."""

    figure: Figure
    pairs: int
    first: float
    second: float
    middle: float
    low: float
    high: float
    margin: float
    judgement: Judgement


@dataclass(frozen=True)
class Comparison:
    """*whole* over all pairs; *cells* by cell. ``unpaired``: runs of one side without a partner."""

    first: str
    second: str
    pairs: int
    unpaired: int
    whole: tuple[Difference, ...]
    cells: dict[str, tuple[Difference, ...]]

    @property
    def judgement(self) -> Judgement:
        """The worst of the figures over all pairs."""
        said = {difference.judgement for difference in self.whole}
        order: tuple[Judgement, ...] = ("worse", "cannot tell", "better", "same")
        return next(judgement for judgement in order if judgement in said)


Pair = tuple[Measured, Measured]


def compare(first: Iterable[Measured], second: Iterable[Measured], names: tuple[str, str]) -> Comparison:
    """Judge *second* against *first*; of several runs of one plan and seed, the first by name is taken."""
    sides = [_by_pair(side) for side in (first, second)]
    both = sorted(sides[0].keys() & sides[1].keys())
    pairs = [(sides[0][key], sides[1][key]) for key in both]
    cells: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        cells[pair[0].cell].append(pair)
    return Comparison(
        *names, len(pairs), len(sides[0].keys() ^ sides[1].keys()), judged(pairs),
        {cell: judged(runs) for cell, runs in sorted(cells.items())},
    )  # fmt: skip


def _by_pair(side: Iterable[Measured]) -> dict[tuple[str, str], Measured]:
    return {(run.plan, run.seed): run for run in sorted(side, key=lambda run: run.run, reverse=True)}


def judged(pairs: Sequence[Pair]) -> tuple[Difference, ...]:
    """Every figure of these pairs."""
    return tuple(_judged(figure, pairs) for figure in FIGURES)


def _judged(figure: Figure, pairs: Sequence[Pair]) -> Difference:
    values = [(a.figures[figure.name], b.figures[figure.name]) for a, b in pairs]
    known = np.array([pair for pair in values if None not in pair], dtype=float).reshape(-1, 2)
    if not len(known):
        return Difference(figure, 0, np.nan, np.nan, np.nan, np.nan, np.nan, figure.floor, "cannot tell")
    summary = np.mean if figure.of_mean else np.median
    first, second = float(summary(known[:, 0])), float(summary(known[:, 1]))
    differences = known[:, 1] - known[:, 0]
    middle, low, high = _mean(differences) if figure.of_mean else _median(differences)
    margin = max(figure.floor, figure.share * abs(first))
    judgement = _judgement(middle, low, high, margin, figure.less_is_better, len(known))
    return Difference(figure, len(known), first, second, middle, low, high, margin, judgement)


def _judgement(middle: float, low: float, high: float, margin: float, less_is_better: bool, pairs: int) -> Judgement:
    if pairs < PAIRS_MIN:
        return "cannot tell"
    if (low > 0 or high < 0) and abs(middle) > margin:
        return "worse" if (middle > 0) is less_is_better else "better"
    return "same" if -margin <= low and high <= margin else "cannot tell"


def _median(differences: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float, float, float]:
    """With the interval between two order statistics that covers the median in at least 99 % of samples."""
    ordered = np.sort(differences)
    rank = _rank(len(ordered))
    if rank < 0:
        return float(np.median(ordered)), -np.inf, np.inf
    return float(np.median(ordered)), float(ordered[rank]), float(ordered[-1 - rank])


def _rank(count: int) -> int:
    """The greatest k so that fewer than k + 1 of *count* fair coins show heads in at most 0.5 % of throws; −1: none."""
    chance, total, rank = 0.5**count, 0.5**count, -1
    for k in range(count // 2):
        if total > (1 - CONFIDENCE) / 2:
            break
        rank = k
        chance *= (count - k) / (k + 1)
        total += chance
    return rank


def _mean(differences: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float, float, float]:
    generator = np.random.default_rng(1)
    sample = generator.integers(0, len(differences), (RESAMPLES, len(differences)))
    means = differences[sample].mean(axis=1)
    edge = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [edge, 1 - edge])
    return float(differences.mean()), float(low), float(high)
