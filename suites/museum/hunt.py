"""The hunt: within how many seeds is each planted bug found, and is the twin without the bug silent on all of them?

    python -m suites.museum.hunt [--only NAME …] [--seeds 50] [--twins 200]
    python -m suites.museum.hunt --words

Every exhibit is run with seeds 1 to ``--seeds``, on to 200 where none of them has found it; every scenario without any
bug with seeds 1 to ``--twins``. What came out goes to ``suites/recorded/museum.jsonl`` after each exhibit, entries of
the others stay; ``python -m suites.museum.page`` makes the page of it. Ends with 1 if a bug was not found or a twin did
not pass. With ``--words`` only the first seed of each is run again, for the sentence that the checks say today.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from reference_impl.defects import DEFECTS
from suites import recorded
from suites.museum.exhibits import EXHIBITS, proof, run

RESULTS: Final = recorded.FOLDER / "museum.jsonl"
SEEDS_MAX: Final = 200
KNOWN_MAX: Final = 3


@dataclass(frozen=True)
class Finding:
    """One bug: *found* in so many of *seeds* runs, *first* with these (at most three); *sentence*: what was said with
    the first of them, *others*: how many anomalies of other kinds and checks there were beside it."""

    seeds: int
    found: int
    first: Sequence[int]
    sentence: str
    others: Mapping[str, int]


@dataclass(frozen=True)
class Twin:
    """One scenario without bugs: how many of *seeds* runs ended how."""

    seeds: int
    outcomes: Mapping[str, int]


def hunt(name: str, seeds: int) -> Finding:
    """Run the exhibit with seeds 1 to *seeds*, and on until it is found or 200 are used up."""
    found = seed = 0
    first: list[int] = []
    sentence = ""
    others: Counter[str] = Counter()
    while seed < seeds or (not found and seed < SEEDS_MAX):
        seed += 1
        result = run(name, seed)
        seen = proof(name, result)
        if seen is not None:
            found += 1
            first, sentence = [*first, seed][:KNOWN_MAX], sentence or seen.sentence
        own = (DEFECTS[name].check, EXHIBITS[name].kinds)
        others.update({f"{c} {k}" for c, k in _failures(result.verdicts) if c != own[0] or k not in own[1]})
    return Finding(seed, found, first, sentence, dict(sorted(others.items())))


def retold(name: str, known: Finding) -> Finding:
    """*known* with the sentence that is said today; the bug must still be found with its first seed."""
    seen = proof(name, run(name, known.first[0]))
    assert seen is not None, f"{name} is not found with seed {known.first[0]} any more: hunt for it again"
    return replace(known, sentence=seen.sentence)


def _failures(verdicts: Sequence[Any]) -> list[tuple[str, str]]:
    return [(v.check, anomaly.kind) for v in verdicts for anomaly in v.anomalies if not anomaly.allowed]


def silence(name: str, seeds: int) -> Twin:
    """The twin without the bug of the exhibit *name*."""
    outcomes = Counter(run(name, seed, clean=True).outcome.name for seed in range(1, seeds + 1))
    return Twin(seeds, dict(sorted(outcomes.items())))


def read_findings() -> dict[str, Finding]:
    """Recorded findings by bug."""
    return {name: Finding(**entry) for name, entry in _read("bug").items()}


def read_twins() -> dict[str, Twin]:
    """Recorded silence by scenario (without its ``museum-``)."""
    return {name: Twin(**entry) for name, entry in _read("twin").items()}


def _read(kind: str) -> dict[str, dict[str, Any]]:
    """Name → entry of the bugs, or of the twins."""
    entries = [dict(entry) for entry in recorded.read(RESULTS) if kind in entry]
    return {entry.pop(kind): entry for entry in entries}


def _record(kind: str, name: str, entry: Finding | Twin, known: Sequence[str]) -> None:
    """Put one entry in; entries that are no exhibits any more go."""
    kept = {key: value for key, value in _read(kind).items() if key in known} | {name: asdict(entry)}
    others = [entry for entry in recorded.read(RESULTS) if kind not in entry]
    entries = [*others, *({kind: key, **value} for key, value in kept.items())]
    recorded.write(RESULTS, entries, _about)


def _about(entry: recorded.Entry) -> tuple[str, ...]:
    kind = "bug" if "bug" in entry else "twin"
    return kind, entry[kind]


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=tuple(EXHIBITS), metavar="NAME", help="these bugs (default: all)")
    parser.add_argument("--seeds", type=int, default=50, help="runs of each bug (default: 50)")
    parser.add_argument("--twins", type=int, default=SEEDS_MAX, help="runs of each scenario without bugs; 0: none")
    parser.add_argument("--words", action="store_true", help="only what is said with the first seed of each")
    arguments = parser.parse_args()
    names = arguments.only or list(EXHIBITS)
    if arguments.words:
        for name, known in read_findings().items():
            if name in names:
                _record("bug", name, retold(name, known), list(EXHIBITS))
        return 0
    scenarios = {EXHIBITS[name].scenario: name for name in names}
    bad = 0
    for name in names:
        finding = hunt(name, arguments.seeds)
        bad += not finding.found
        _record("bug", name, finding, list(EXHIBITS))
        _say(f"{name:<28} found in {finding.found} of {finding.seeds}, first with {list(finding.first)}")
    for scenario, name in scenarios.items() if arguments.twins else ():
        twin = silence(name, arguments.twins)
        bad += twin.outcomes != {"PASS": twin.seeds}
        _record("twin", scenario, twin, list(dict.fromkeys(exhibit.scenario for exhibit in EXHIBITS.values())))
        _say(f"{scenario:<28} {dict(twin.outcomes)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
