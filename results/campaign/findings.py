"""Failures by cause, each with the least plan that shows it.

Question: a hundred plans fail. How many bugs is that, and what is the shortest way to see each?

Model. Rows of one outcome and cause are one finding. Of a finding the plan with the fewest faults is taken, and faults
are left out one by one as long as the same cause comes back with the same seed; what remains is written as a scenario
file, beside the command that runs it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from harness.scenario_file import dump, parse
from harness.shrink import Failure, fewest


@dataclass(frozen=True)
class Finding:
    """One cause: how many plans, and the least one. ``file`` is its scenario."""

    outcome: str
    cause: str
    plans: int
    headline: str
    seed: str
    faults: str
    file: Path

    def command(self, defects: tuple[str, ...]) -> str:
        """What a person types to see it."""
        planted = "".join(f" --defect {defect}" for defect in defects)
        return f"mqchaos run {self.file} --seed {self.seed}{planted}"


def findings_of(rows: pa.Table, out: Path, defects: tuple[str, ...] = ()) -> list[Finding]:
    """Failures first, then what is unknown; the most frequent first."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows.to_pylist():
        if row["outcome"] not in ("PASS", "REFUSED"):
            groups[row["outcome"], row["cause"]].append(row)
    order = {"FAIL": 0, "ERROR": 1, "UNKNOWN": 2}
    keys = sorted(groups, key=lambda key: (order[key[0]], -len(groups[key]), key))
    return [_finding(number, key, groups[key], out, defects) for number, key in enumerate(keys, 1)]


def _finding(
    number: int, key: tuple[str, str], rows: list[dict[str, Any]], out: Path, defects: tuple[str, ...]
) -> Finding:
    outcome, cause = key
    least = min(rows, key=lambda row: (row["faults"].count(";"), row["number"]))
    scenario = parse(least["scenario"], "campaign")
    if outcome == "FAIL":
        scenario = fewest(scenario, Failure(scenario, int(least["seed"], 16), cause, defects).shows)
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"finding-{number:02}-{outcome.lower()}.yaml"
    path.write_text(dump(scenario), encoding="utf-8")
    faults = "; ".join(map(str, scenario.faults))
    return Finding(outcome, cause, len(rows), least["headline"], least["seed"], faults, path)
