"""The recorded observations of official clients, side by side: what is the same, what differs, and why.

Question: which cases came to the same on the reference and on Apache's brokers, and is every difference named?
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from suites import recorded as recordings

HERE: Final = Path(__file__).resolve().parent
RESULTS: Final = recordings.FOLDER / "official.jsonl"
DIFFERENCES: Final = HERE / "differences.yaml"
REFERENCE: Final = "reference"


@dataclass(frozen=True)
class Compared:
    """One case of one client on one of Apache's brokers."""

    client: str
    case: str
    target: str
    is_same: bool


def recorded() -> dict[str, dict[str, dict[str, Any]]]:
    """client → case → target → observation."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for entry in recordings.read(RESULTS):
        found.setdefault(entry["client"], {}).setdefault(entry["case"], {})[entry["target"]] = entry["seen"]
    return found


def named() -> dict[tuple[str, str, str], str]:
    """(client, case, target) → why it differs."""
    found = yaml.safe_load(DIFFERENCES.read_text(encoding="utf-8"))
    return {
        (client, case, target): why
        for client, cases in found.items()
        for case, targets in cases.items()
        for target, why in targets.items()
    }


def compared(results: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[Compared]:
    """Every observation on a broker of Apache beside that on the reference."""
    return [
        Compared(client, case, target, seen == targets[REFERENCE])
        for client, cases in results.items()
        for case, targets in cases.items()
        for target, seen in targets.items()
        if target != REFERENCE and REFERENCE in targets
    ]


def chapter() -> str:
    """Of ``docs/conformance.md``."""
    results, why = recorded(), named()
    rows = compared(results)
    parts = [
        "## Official clients",
        "Cases that Apache's own clients were put through, by the [line protocol](clients.md): the same steps, the "
        "same client, another broker. A case comes to an observation without addresses, ids and times; *same* means "
        "that it is the reference's. The observations are in `suites/recorded/official.jsonl`; to put them again:",
        "    python -m suites.conformance.official.record --target rocketmq:4.9.7 --client java:4.9.8",
        _summary(results, rows),
        *(_client(client, cases, why) for client, cases in results.items()),
    ]
    return "\n\n".join(parts)


def _summary(results: Mapping[str, Mapping[str, Any]], rows: list[Compared]) -> str:
    lines = ["| client | cases | broker | same | differ |", "|---|---|---|---|---|"]
    for client, cases in results.items():
        for target in sorted({row.target for row in rows if row.client == client}):
            own = [row for row in rows if (row.client, row.target) == (client, target)]
            same = sum(row.is_same for row in own)
            lines.append(f"| {client} | {len(cases)} | {target} | {same} | {len(own) - same} |")
    return "\n".join(lines)


def _client(client: str, cases: Mapping[str, Mapping[str, Any]], why: Mapping[tuple[str, str, str], str]) -> str:
    targets = sorted({target for seen in cases.values() for target in seen} - {REFERENCE})
    lines = [f"### {client}", "", f"| case | reference | {' | '.join(targets)} |", "|---|---|" + "---|" * len(targets)]
    for case, seen in cases.items():
        cells = [_cell(client, case, target, seen, why) for target in targets]
        lines.append(f"| {case} | {_short(seen.get(REFERENCE))} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(client: str, case: str, target: str, seen: Mapping[str, Any], why: Mapping[tuple[str, str, str], str]) -> str:
    if target not in seen:
        return "not put"
    if seen[target] == seen.get(REFERENCE):
        return "same"
    return f"{_short(seen[target])}: {why.get((client, case, target), 'not named')}"


def _short(observation: Any) -> str:
    text = json.dumps(observation, ensure_ascii=False)
    text = text if len(text) <= 60 else f"{text[:57]}…"
    return f"`{text.replace('|', '/').replace('`', '')}`"
