"""The figures in ``docs/releases.md``: releases of Apache's broker beside one another, pair by pair of runs.

Question: we run release X; what becomes better or worse with Y, when something breaks?

Model. ``suites/recorded/releases.jsonl`` has a line a run on real processes: its cell, plan, seed, release and five
figures (``results/compare/figures.py``). Two releases are compared over the pairs of runs of one plan and one seed,
with the judgements of ``mqchaos compare``. The tables stand between two marks of the page, the rest is written by
people.

    python scripts/releases_page.py --record DIR    measure the run folders in DIR, of all releases known, once more
    python scripts/releases_page.py                 write the tables again
    python scripts/releases_page.py --html DIR      the pages that a person explores, one a pair of releases
    python scripts/releases_page.py --check         exit 1 if the tables are not up to date

Limits. One pair a cell cannot tell releases apart in that cell; the judgement is over all cells.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Final

from harness.targets.releases import known
from results.compare import compare
from results.compare.figures import Measured, measure
from results.compare.page import write_page
from results.compare.pairs import FIGURES, Comparison, Difference, Figure
from scripts.markdown import wrapped
from suites import recorded

ROOT: Final = Path(__file__).resolve().parent.parent
RUNS: Final = recorded.FOLDER / "releases.jsonl"
PAGE: Final = ROOT / "docs" / "releases.md"
BEGIN: Final = "<!-- figures: made by scripts/releases_page.py -->"
END: Final = "<!-- end of figures -->"
MAKE: Final = "rocketmq:"
SHOWN: Final = ("recovery_ms", "lost", "served")
"""Figures that have a table by cell."""


def record(folder: Path) -> int:
    """Measure every run folder in *folder*; how many."""
    runs = [measure(path.parent) for path in sorted(folder.glob("*/verdict.json")) if not path.parent.is_symlink()]
    recorded.write(RUNS, [asdict(run) for run in runs if run.target.startswith(MAKE)], _about)
    return len(runs)


def _about(entry: recorded.Entry) -> tuple[str, ...]:
    return (entry["cell"], entry["seed"], entry["target"])


def measured() -> list[Measured]:
    """All runs on record."""
    return [Measured(**entry) for entry in recorded.read(RUNS)]


def releases_of(runs: Iterable[Measured]) -> list[str]:
    """Those that have a run, the oldest first."""
    there = {run.target for run in runs}
    return [release for release in known() if f"{MAKE}{release}" in there]


def comparisons(runs: Sequence[Measured]) -> list[Comparison]:
    """Each release beside each older one."""
    pairs = combinations([f"{MAKE}{release}" for release in releases_of(runs)], 2)
    return [compare(_of(runs, a), _of(runs, b), (a, b)) for a, b in pairs]


def _of(runs: Iterable[Measured], target: str) -> list[Measured]:
    return [run for run in runs if run.target == target]


def page() -> str:
    """The page as it should be."""
    runs = measured()
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, mark, after = rest.partition(END)
    assert mark, f"{PAGE.name} has no marks for the tables"
    parts = [_whole(comparison) for comparison in comparisons(runs)]
    parts += [_by_cell(figure, runs) for figure in FIGURES if figure.name in SHOWN]
    return wrapped("\n\n".join([f"{before}{BEGIN}", *parts, f"{END}{after}"]))


def _whole(comparison: Comparison) -> str:
    first, second = (side.removeprefix(MAKE) for side in (comparison.first, comparison.second))
    head = [
        f"### {second} beside {first}",
        "",
        f"{comparison.pairs} pairs in {len(comparison.cells)} cells.",
        "",
        f"| figure | judgement | {first} | {second} | difference, 99 % interval | margin |",
        "|---|---|---:|---:|---:|---:|",
    ]
    return "\n".join([*head, *map(_row, comparison.whole)])


def _row(found: Difference) -> str:
    interval = f"{_number(found.low)} to {_number(found.high)}" if found.pairs else "not measured"
    cells = (
        f"{found.figure.words} ({found.figure.unit})", found.judgement, _number(found.first), _number(found.second),
        interval, f"± {_number(found.margin)}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _by_cell(figure: Figure, runs: Sequence[Measured]) -> str:
    releases = releases_of(runs)
    cells: dict[str, dict[str, list[float]]] = {}
    for run in runs:
        value = run.figures[figure.name]
        cells.setdefault(run.cell, {}).setdefault(run.target, []).extend([] if value is None else [value])
    head = [
        f"### {figure.words[0].upper()}{figure.words[1:]} ({figure.unit}), by cell",
        "",
        f"| cell | {' | '.join(releases)} |",
        f"|---|{'---:|' * len(releases)}",
    ]
    rows = [f"| {cell} | {' | '.join(_values(values, releases))} |" for cell, values in sorted(cells.items())]
    return "\n".join([*head, *rows])


def _values(values: Mapping[str, list[float]], releases: Sequence[str]) -> Iterable[str]:
    for release in releases:
        yield ", ".join(map(_number, values.get(f"{MAKE}{release}", []))) or "–"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", type=Path, metavar="DIR")
    parser.add_argument("--html", type=Path, metavar="DIR")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(words)
    if options.record:
        print(f"{record(options.record)} runs measured")
    if options.html:
        return _explored(options.html)
    made = page()
    if options.check:
        return int(made != PAGE.read_text("utf-8"))
    PAGE.write_text(made, encoding="utf-8")
    return 0


def _explored(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for comparison in comparisons(measured()):
        first, second = (side.removeprefix(MAKE) for side in (comparison.first, comparison.second))
        print(write_page(comparison, folder / f"{first}-{second}.html"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
