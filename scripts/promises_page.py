"""``docs/promises.md``: what is promised, which scenario shows it, and what came out on which broker.

Question: which guarantees of RocketMQ does the project show, and do they hold on the reference and on Apache's broker?

Model. Three sources, one page. ``suites/chaos/claims.yaml`` has the claims; the scenarios that come with the project
name the claims they show; ``suites/recorded/promises.jsonl`` has recorded outcomes, one entry a scenario, backend and
target, the cells of the matrix among them. The contracts of the checkers give the last part: every guarantee by mode,
fault and flush type.

    python scripts/promises_page.py                          write the page again
    python scripts/promises_page.py --check                  exit 1 if it is not up to date
    python scripts/promises_page.py --record sim --seeds 20  run every claim scenario and record what came out
    python scripts/promises_page.py --record process --target rocketmq:4.9.7 [--only NAME]
    python scripts/promises_page.py --from DIR               record what the run folders below DIR came to: claims,
    and
                                                        cells of ``mqchaos matrix --keep all --out DIR``

Limits. Outcomes are what was recorded, at the commit that is written beside them; a page never runs anything.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

import yaml

from checkers.contract import Contract, Guarantee, ReadingGuarantee, contract_of, known_modes
from checkers.verdict import worst
from harness import runfolder
from harness.backends.table import backend_named
from harness.errors import ClusterError
from harness.harms import verbs_of
from harness.judge import judge
from harness.matrix import COLUMNS as COLUMNS_OF_THE_MATRIX
from harness.matrix import ROWS, exists, scenario_of
from harness.scenario import Scenario, shipped
from harness.scenario_file import load
from scripts.markdown import wrapped
from suites import recorded

NOT_READY: Final = "NOT READY"
"""The outcome of a seed whose cluster did not get ready."""
ROOT: Final = Path(__file__).resolve().parent.parent
CLAIMS: Final = ROOT / "suites" / "chaos" / "claims.yaml"
RESULTS: Final = recorded.FOLDER / "promises.jsonl"
PAGE: Final = ROOT / "docs" / "promises.md"
COLUMNS: Final = (
    ("sim", "reference", "reference, simulated"),
    ("process", "reference", "reference, real processes"),
    ("process", "rocketmq:4.9.7", "Apache 4.9.7"),
    ("process", "rocketmq:5.3.3", "Apache 5.3.3"),
    ("process", "rocketmq:5.5.0", "Apache 5.5.0"),
)


@dataclass(frozen=True)
class Result:
    """What came of one scenario on one backend and target: how many runs ended how, and [least, greatest] figures."""

    scenario: str
    backend: str
    target: str
    outcomes: Mapping[str, int]
    figures: Mapping[str, Sequence[int]]
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
        figures = ", ".join(f"{name} {_range(*ends)}" for name, ends in self.figures.items())
        return "<br>".join(part for part in (f"**{words}**", figures, self.note) if part)


def _range(least: int, greatest: int) -> str:
    return f"{least:,}" if least == greatest else f"{least:,} to {greatest:,}"


def read_results(path: Path = RESULTS) -> list[Result]:
    """Recorded results; none if nothing was ever recorded."""
    return [_unfolded(entry) for entry in recorded.read(path)]


def write_results(results: Iterable[Result], path: Path = RESULTS) -> None:
    """One line each; a figure that was the same in every run is one number, and there is no note without words."""
    recorded.write(path, map(_folded, results), lambda entry: (entry["scenario"], entry["backend"], entry["target"]))


def _folded(result: Result) -> recorded.Entry:
    figures = {name: ends[0] if ends[0] == ends[1] else list(ends) for name, ends in result.figures.items()}
    entry = asdict(result) | {"figures": figures}
    return entry if result.note else {name: value for name, value in entry.items() if name != "note"}


def _unfolded(entry: recorded.Entry) -> Result:
    figures = {name: [ends, ends] if isinstance(ends, int) else ends for name, ends in entry["figures"].items()}
    return Result(**entry | {"figures": figures})


def merged(old: Sequence[Result], new: Sequence[Result]) -> list[Result]:
    """*new* replaces what *old* has of the same scenario, backend and target; a note is kept, but for the one that says
    why a cluster did not get ready."""
    notes = {_key(result): result.note for result in old if NOT_READY not in result.outcomes}
    fresh = {_key(result): replace(result, note=result.note or notes.get(_key(result), "")) for result in new}
    return [result for result in old if _key(result) not in fresh] + list(fresh.values())


def _key(result: Result) -> tuple[str, str, str]:
    return result.scenario, result.backend, result.target


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

    keep: Literal["all", "failures"] = "all" if backend_named(backend).needs_folder else "failures"
    came_out: list[tuple[str, Mapping[str, int]]] = []
    note = ""
    for seed in seeds:
        try:
            run = run_scenario(scenario, backend=backend, target=target, seed=seed, keep=keep)
        except ClusterError as error:  # what keeps a cluster from getting ready is what came out
            came_out.append((NOT_READY, {}))
            note = error.what
        else:
            came_out.append((run.outcome.name, headline((v.check, v.measures) for v in run.verdicts)))
    return replace(_result(scenario.name, backend, target, came_out, runfolder.commit()), note=note)


def _result(
    scenario: str, backend: str, target: str, came_out: Sequence[tuple[str, Mapping[str, int]]], commit: str
) -> Result:
    """Fold (outcome, figures) of several runs."""
    figures: dict[str, list[int]] = {}
    for _, run in came_out:
        for name, value in run.items():
            figures.setdefault(name, []).append(value)
    ends = {name: [min(values), max(values)] for name, values in figures.items()}
    return Result(scenario, backend, target, dict(Counter(outcome for outcome, _ in came_out)), ends, commit)


HEADLINES: Final = {
    ("accounting", "lost"): "lost",
    ("accounting", "duplicated"): "duplicated",
    ("availability", "rto_max_ms"): "rto_max_ms",
    ("availability", "send_p50_us"): "send_p50_us",
    ("routes", "left_after_ms"): "left_after_ms",
    ("deliveries", "again"): "delivered_again",
    ("deliveries", "from_slaves"): "from_slaves",
    ("freshness", "promised_behind_max"): "slave_behind",
    ("propagation", "shown_after_ms"): "shown_after_ms",
    ("propagation", "forgotten_age_ms"): "forgotten_age_ms",
    ("slave-lag", "behind_max_ms"): "behind_max_ms",
    ("masters", "without_ms"): "without_master_ms",
    ("masters", "changes"): "master_changes",
    ("order", "keys_moved"): "keys_moved",
    ("order", "longest_stall_ms"): "longest_stall_ms",
    ("order", "moved-disorder"): "out_of_order_over_two_queues",
    ("order", "disorder"): "out_of_order_in_a_queue",
}


def headline(checks: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, int]:
    """The few figures of a run that say most, from (check, measures): lost and duplicated messages, time to the first
    success, and the longest time until a NameServer no longer listed a broker."""
    found = {
        name: measures[key]
        for check, measures in checks
        for (wanted, key), name in HEADLINES.items()
        if check == wanted and key in measures
    }
    return {
        name: max(value.values(), default=0) if isinstance(value, dict) else int(value) for name, value in found.items()
    }


def recorded_in(folder: Path) -> list[Result]:
    """What the finished runs of claims and cells that lie below *folder*, at any depth, come to, judged anew."""
    known = {scenario.name for scenario in claim_scenarios()} | {scenario_of(*cell).name for cell in grid()}
    came_out: dict[tuple[str, str, str], list[tuple[str, Mapping[str, int]]]] = {}
    commits: dict[tuple[str, str, str], str] = {}
    for path in sorted(folder.rglob("verdict.json")):
        run = runfolder.read_run(path.parent)
        key = run["scenario"], run["backend"], run["target"]
        if key[0] in known and not run["defects"]:
            verdicts = judge(runfolder.load_history(path.parent), run)
            came_out.setdefault(key, []).append(
                (worst(verdicts).name, headline((v.check, v.measures) for v in verdicts))
            )
            commits[key] = run["commit"]
    return [_result(*key, runs, commits[key]) for key, runs in came_out.items()]


# The page -------------------------------------------------------------------------------------------------------------


def page(results: Sequence[Result]) -> str:
    """The whole document."""
    claims: dict[str, str] = yaml.safe_load(CLAIMS.read_text(encoding="utf-8"))
    scenarios = claim_scenarios()
    parts = [
        "# Guarantees",
        "This page is made by `python scripts/promises_page.py`; do not edit it.",
        "## Claims, and what shows them",
        "A verdict is PASS, UNKNOWN or FAIL; *lost* counts acknowledged messages, and where the mode allows a loss a "
        "PASS has shown it. *rto_max_ms*: until the first successful send to a broker that was hit; *send_p50_us*: the "
        "median of successful sends; *left_after_ms*: until a NameServer no longer listed a broker; *shown_after_ms*: "
        "until an act of an operator was seen everywhere; *forgotten_age_ms*: the oldest change of a table that a lost "
        "master took along; *behind_max_ms*: how far a slave was behind; *without_master_ms*: how long a name had no "
        "master; *keys_moved*: keys whose queue changed, *longest_stall_ms* of one; *delivered_again*, *from_slaves*: "
        "messages that groups got more than once, and from slaves; "
        "*slave_behind*: acknowledged messages that a slave did not show, at its worst. Of several runs the least and "
        "the greatest figure. What real brokers were seen to do: [findings](findings.md).",
        *(_claim(claim, text, scenarios, results) for claim, text in claims.items()),
        "## Modes and faults",
        "The cells of `mqchaos matrix`: four producers and two consumers, one fault of a master (*slave-*: of a slave; "
        "*pair-power*: of both), one line a fault. UNKNOWN: the fault took nothing, so whether it took effect cannot "
        "be told. "
        "*clock-*: on real nodes by libfaketime; the dates of files stay those of the machine.",
        *(_grid_row(row.name, results) for row in ROWS),
        "## Contracts",
        "What the checkers judge by. *Loss* is what acknowledged messages of the node that was hit may be gone "
        "afterwards: `unflushed` is a suffix of its log, no older than its flush rules allow.",
        *(_contract(contract) for contract in map(contract_of, known_modes()) if contract is not None),
    ]
    return wrapped("\n\n".join(parts) + "\n")


def _claim(claim: str, text: str, scenarios: Sequence[Scenario], results: Sequence[Result]) -> str:
    showing = [scenario for scenario in scenarios if claim in scenario.claims]
    if not showing:
        return f"### {claim}\n\n{text}\n\nNo scenario shows it yet."
    head = ["scenario", *(title for _, _, title in COLUMNS)]
    rows = [[_scenario(scenario), *_cells(scenario.name, results)] for scenario in showing]
    return f"### {claim}\n\n{text}\n\n{_table(head, rows)}"


def _scenario(scenario: Scenario) -> str:
    return f"`{scenario.name}`<br>{scenario.description}"


def _cells(name: str, results: Sequence[Result]) -> list[str]:
    found = {(result.backend, result.target): result.cell for result in results if result.scenario == name}
    return [found.get((backend, target), "not run") for backend, target, _ in COLUMNS]


def grid() -> list[tuple[str, str]]:
    """Every (row, column) of the matrix that there is."""
    return [(row.name, column) for row in ROWS for column in COLUMNS_OF_THE_MATRIX if exists(row.name, column)]


def _grid_row(row: str, results: Sequence[Result]) -> str:
    lines = [[fault, *_cells(scenario_of(row, fault).name, results)] for name, fault in grid() if name == row]
    return f"### {row}\n\n{_table(['fault', *(title for _, _, title in COLUMNS)], lines)}"


def _contract(contract: Contract) -> str:
    cells: dict[tuple[str, str], list[Guarantee]] = {}
    for guarantee in contract.guarantees.values():
        cells.setdefault((guarantee.words, guarantee.source), []).append(guarantee)
    guarantees = "\n".join(_guarantee(guarantees) for guarantees in cells.values())
    parts = [f"### {contract.mode}", contract.statement.strip(), guarantees, *_reading(contract.reading)]
    return "\n\n".join(parts)


def _reading(reading: ReadingGuarantee | None) -> Iterable[str]:
    """What groups may rely on, whatever the fault."""
    if reading is None:
        return
    rows = (
        ("Committed offsets", reading.commits, "offsets; any older one after a fault that takes data"),
        ("Deliveries", reading.deliveries, "deliveries; skipped after a fault that takes data"),
        ("Reads from slaves", reading.slave_reads, "freshness, suggestions"),
    )
    yield "What readers are promised:"
    yield "\n".join(f"* **{what}**: {_sentence(words)} Judged by: {checks}." for what, words, checks in rows)
    yield f"Source: {reading.source}"


def _guarantee(guarantees: Sequence[Guarantee]) -> str:
    one = guarantees[0]
    faults = ", ".join(dict.fromkeys(_with_verbs(guarantee.harm) for guarantee in guarantees))
    flushes = ", ".join(dict.fromkeys(guarantee.flush for guarantee in guarantees))
    within = f"{one.recover_within_ns // 1_000_000_000} s" if one.recover_within_ns else "–"
    loss = f"{one.loss}; of several slaves: {one.loss_of_several}" if one.loss_of_several else one.loss
    head = f"* **{faults}**, {flushes} flush; loss: {loss}; back within: {within}."
    return f"{head} {_sentence(one.words)} *Source:* {_sentence(one.source)}"


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text.endswith((".", ")")) else f"{text}."


def _with_verbs(harm: str) -> str:
    """``killed (kill)``: what happens, and the faults that do it."""
    verbs = verbs_of(harm)
    return f"{harm} ({', '.join(verbs)})" if verbs else harm


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _check(text: str) -> int:
    if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write(f"{PAGE.name} is not what contracts and records make: run python scripts/promises_page.py\n")
    return 1


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line above."""
    parser = argparse.ArgumentParser(prog="python scripts/promises_page.py", description="Make docs/promises.md.")
    parser.add_argument("--check", action="store_true", help="exit 1 if the page is not up to date")
    parser.add_argument("--record", metavar="BACKEND", help="run the claim scenarios there first")
    parser.add_argument("--from", dest="folder", type=Path, metavar="DIR", help="record the runs below DIR")
    parser.add_argument("--target", default="reference", help="what to run (default: reference)")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds, from 1 (default: 1)")
    parser.add_argument("--only", default="", metavar="SCENARIO", help="record this one only")
    options = parser.parse_args(arguments)
    new: list[Result] = []
    if options.record:
        new += record(options.record, options.target, range(1, options.seeds + 1), options.only)
    if options.folder:
        new += recorded_in(options.folder)
    if new:
        write_results(merged(read_results(), new))  # read now: recording takes long, and somebody else may have written
    text = page(read_results())
    if options.check:
        return _check(text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
