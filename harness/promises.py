"""``docs/promises.md``: what is promised, which scenario shows it, and what came out on which broker.

Question: which promises of RocketMQ does the project show, and do they hold on the reference and on Apache's broker?

Model. Three sources, one page. ``suites/chaos/claims.yaml`` has the claims; the scenarios that come with the project
name the claims they show; ``docs/promises-results.json`` has recorded outcomes, one entry a scenario, backend and
target. The contracts of the checkers give the second half: every promise by mode, fault and flush type.

    python -m harness.promises                          write the page again
    python -m harness.promises --check                  exit 1 if it is not up to date
    python -m harness.promises --record sim --seeds 20  run every claim scenario and record what came out
    python -m harness.promises --record process --target rocketmq:4.9.7 [--only NAME]

Limits. Outcomes are what was recorded, at the commit that is written beside them; a page never runs anything.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from checkers.contract import Contract, Promise, contract_of, known_modes
from harness import runfolder
from harness.scenario import Scenario, shipped
from harness.scenario_file import load

ROOT: Final = Path(__file__).resolve().parent.parent
CLAIMS: Final = ROOT / "suites" / "chaos" / "claims.yaml"
RESULTS: Final = ROOT / "docs" / "promises-results.json"
PAGE: Final = ROOT / "docs" / "promises.md"
COLUMNS: Final = (
    ("sim", "reference", "reference, simulated"),
    ("process", "reference", "reference, real processes"),
    ("process", "rocketmq:4.9.7", "Apache 4.9.7"),
    ("process", "rocketmq:5.3.3", "Apache 5.3.3"),
)


@dataclass(frozen=True)
class Result:
    """What came of one scenario on one backend and target: how many runs ended how, and the greatest figures."""

    scenario: str
    backend: str
    target: str
    outcomes: Mapping[str, int]
    figures: Mapping[str, int]
    commit: str
    note: str = ""

    @property
    def cell(self) -> str:
        """``PASS``, or ``PASS 19 · UNKNOWN 1`` of several runs; then figures and the note."""
        total = sum(self.outcomes.values())
        if len(self.outcomes) == 1:
            words = f"{next(iter(self.outcomes))}{f' ×{total}' if total > 1 else ''}"
        else:
            words = " · ".join(f"{name} {count}" for name, count in sorted(self.outcomes.items()))
        figures = ", ".join(f"{name} ≤ {value:,}" for name, value in self.figures.items())
        return "<br>".join(part for part in (f"**{words}**", figures, self.note) if part)


def read_results(path: Path = RESULTS) -> list[Result]:
    """Recorded results; none if nothing was ever recorded."""
    if not path.is_file():
        return []
    return [Result(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]


def write_results(results: Iterable[Result], path: Path = RESULTS) -> None:
    """Sorted, one entry an object, so that a change is a small diff."""
    ordered = sorted(results, key=lambda r: (r.scenario, r.backend, r.target))
    entries = [{name: getattr(result, name) for name in Result.__dataclass_fields__} for result in ordered]
    path.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def merged(old: Sequence[Result], new: Sequence[Result]) -> list[Result]:
    """*new* replaces what *old* has of the same scenario, backend and target; a note is kept."""
    notes = {_key(result): result.note for result in old}
    fresh = {_key(result): _noted(result, notes.get(_key(result), "")) for result in new}
    return [result for result in old if _key(result) not in fresh] + list(fresh.values())


def _key(result: Result) -> tuple[str, str, str]:
    return result.scenario, result.backend, result.target


def _noted(result: Result, note: str) -> Result:
    return Result(
        **{**{name: getattr(result, name) for name in Result.__dataclass_fields__}, "note": result.note or note}
    )


def claim_scenarios() -> list[Scenario]:
    """Scenarios that come with the project and name a claim, by name."""
    return [scenario for scenario in map(load, shipped()) if scenario.claims]


def record(backend: str, target: str, seeds: Sequence[int], only: str = "") -> list[Result]:
    """Run every claim scenario (or the one named *only*) with every seed; nothing is kept but what came out."""
    return [
        _record(scenario, backend, target, seeds) for scenario in claim_scenarios() if not only or scenario.name == only
    ]


def _record(scenario: Scenario, backend: str, target: str, seeds: Sequence[int]) -> Result:
    from harness.run import run_scenario

    outcomes: Counter[str] = Counter()
    figures: dict[str, int] = {}
    for seed in seeds:
        keep = "failures" if backend == "sim" else "all"
        result = run_scenario(scenario, backend=backend, target=target, seed=seed, keep=keep)  # type: ignore[arg-type]
        outcomes[result.outcome.name] += 1
        for name, value in headline(result.verdicts).items():
            figures[name] = max(figures.get(name, 0), value)
    return Result(scenario.name, backend, target, dict(outcomes), figures, runfolder.commit())


def headline(verdicts: Iterable[Any]) -> dict[str, int]:
    """The few figures of a run that say most: lost and duplicated messages, time to the first success."""
    wanted = {("accounting", "lost"), ("accounting", "duplicated"), ("availability", "rto_max_ms")}
    return {
        name: int(value)
        for verdict in verdicts
        for name, value in verdict.measures.items()
        if (verdict.check, name) in wanted
    }


# The page -------------------------------------------------------------------------------------------------------------


def page(results: Sequence[Result]) -> str:
    """The whole document."""
    claims: dict[str, str] = yaml.safe_load(CLAIMS.read_text(encoding="utf-8"))
    scenarios = claim_scenarios()
    parts = [
        "# Promises",
        "This page is made by `python -m harness.promises`; do not edit it.",
        "## Claims, and what shows them",
        "A verdict is PASS, UNKNOWN or FAIL; *lost* counts acknowledged messages, and where the mode allows a loss a "
        "PASS has shown it. Times are those until the first successful send after a fault, in milliseconds.",
        *(_claim(claim, text, scenarios, results) for claim, text in claims.items()),
        "## Contracts",
        "What the checkers judge by. *Loss* is what acknowledged messages of the node that was hit may be gone "
        "afterwards: `unflushed` is a suffix of its log, no older than its flush rules allow.",
        *(_contract(contract) for contract in map(contract_of, known_modes()) if contract is not None),
    ]
    return "\n\n".join(parts) + "\n"


def _claim(claim: str, text: str, scenarios: Sequence[Scenario], results: Sequence[Result]) -> str:
    mine = [scenario for scenario in scenarios if claim in scenario.claims]
    if not mine:
        return f"### {claim}\n\n{text}\n\nNo scenario shows it yet."
    head = ["scenario", *(title for _, _, title in COLUMNS)]
    rows = [[_scenario(scenario), *_cells(scenario.name, results)] for scenario in mine]
    return f"### {claim}\n\n{text}\n\n{_table(head, rows)}"


def _scenario(scenario: Scenario) -> str:
    return f"`{scenario.name}`<br>{scenario.description}"


def _cells(name: str, results: Sequence[Result]) -> list[str]:
    found = {(result.backend, result.target): result.cell for result in results if result.scenario == name}
    return [found.get((backend, target), "not run") for backend, target, _ in COLUMNS]


def _contract(contract: Contract) -> str:
    cells: dict[tuple[str, str], list[Promise]] = {}
    for promise in contract.promises.values():
        cells.setdefault((promise.words, promise.source), []).append(promise)
    rows = [_promise(promises) for promises in cells.values()]
    table = _table(["fault", "flush", "promise", "loss", "back within", "source"], rows)
    return f"### {contract.mode}\n\n{contract.statement.strip()}\n\n{table}"


def _promise(promises: Sequence[Promise]) -> list[str]:
    one = promises[0]
    faults = ", ".join(dict.fromkeys(promise.fault for promise in promises))
    flushes = ", ".join(dict.fromkeys(promise.flush for promise in promises))
    within = f"{one.recover_within_ns // 1_000_000_000} s" if one.recover_within_ns else "–"
    return [faults, flushes, one.words.strip(), one.loss, within, one.source.strip()]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line above."""
    parser = argparse.ArgumentParser(prog="python -m harness.promises", description="Make docs/promises.md.")
    parser.add_argument("--check", action="store_true", help="exit 1 if the page is not up to date")
    parser.add_argument("--record", metavar="BACKEND", help="run the claim scenarios there first")
    parser.add_argument("--target", default="reference", help="what to run (default: reference)")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds, from 1 (default: 1)")
    parser.add_argument("--only", default="", metavar="SCENARIO", help="record this one only")
    options = parser.parse_args(arguments)
    results = read_results()
    if options.record:
        seeds = range(1, options.seeds + 1)
        results = merged(results, record(options.record, options.target, seeds, options.only))
        write_results(results)
    text = page(results)
    if options.check:
        return 0 if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
