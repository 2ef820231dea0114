"""Every mode in containers, broken in five ways, each with the reference and Apache's. Makes docs/container-grid.md.

    python -m suites.chaos.container_grid                          run all that was not recorded yet (root, an engine)
    python -m suites.chaos.container_grid --target rocketmq:4.9.7  only this one, again (repeatable); likewise --mode
    python -m suites.chaos.container_grid --keep-runs DIR          and keep the run folders
    python -m suites.chaos.container_grid --page                   write the page from what was measured last

Question: does a cluster of containers keep what its mode guarantees when its master is killed, its slave partitioned,
its power cut, its disk full, its link slow? And how long does it take to know?

Model. One run a mode and target has the five faults one after another: ``pytest suites/chaos/test_containers.py`` does
the same runs as tests. A cell is made of the answers of the fault's probes, a row's verdict is the run's, its times are
those of the clock on the wall from the command to the verdict.

Limits. One seed. What a machine does at the same time is in the times.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from checkers.verdict import Verdict
from faults.catalogue import VERBS
from harness.modes import MODES
from harness.run import RunResult, run_scenario
from harness.scenario_file import load
from scripts.markdown import wrapped
from suites import recorded

ROOT: Final = Path(__file__).resolve().parents[2]
MEASURED: Final = recorded.FOLDER / "container_grid.jsonl"
PAGE: Final = ROOT / "docs" / "container-grid.md"
SEED: Final = 1
LOAD_S: Final = 24
FIVE: Final = ("kill", "partition", "cut_power", "fill_disk", "slow_link")
TARGETS: Final = ("reference", "rocketmq:4.9.7", "rocketmq:5.3.3")
WORDS: Final = {1: "yes", 0: "NO", -1: "cannot be told", None: "not asked"}

EXPLAINED: Final = {
    ("dledger", "rocketmq:5.3.3"): "[finding 32](findings.md#which-release-shows-what)",
    ("controller", "rocketmq:5.3.3"): "[finding 34](findings.md#which-release-shows-what): the power cut takes the "
    "identity of the only replica in sync",
}
"""Rows that are not green because of something that is known of RocketMQ."""

FIVE_WAYS: Final = """\
name: five-ways
mode: {mode}
topology: {{nameservers: {nameservers}, flush: sync}}
workload: {{producers: 2, consumers: 1, queues: 2, rate: 60/s, for: {load_s}s}}
faults:
  - {{at: 1s, do: kill, on: {serving}, for: 1s}}
  - {{at: 6s, do: partition, on: "{cut_off} | rest", for: 2s}}
  - {{at: 11s, do: cut_power, on: {serving}, for: 1s}}
  - {{at: 15s, do: fill_disk, on: {serving}, for: 1s}}
  - {{at: 18s, do: slow_link, on: "link(clients, {serving}, broker)", for: 2s, with: {{delay: 400ms}}}}
"""


def five_ways(mode: str) -> str:
    """The scenario of a mode. Controllers agree among three NameServers."""
    row = MODES[mode]
    serving, other = (f"{role}(broker-a)" for role in row.role_words)
    return FIVE_WAYS.format(
        mode=mode,
        nameservers=3 if row.nameserver else 1,
        load_s=LOAD_S,
        serving=serving,
        cut_off=("one of followers" if row.roles_move else other) if row.has_slaves else "clients",
    )


def has_mode(mode: str, target: str) -> bool:
    """Whether there is such a cluster: the reference and old releases have no controllers."""
    since, (_, _, release) = MODES[mode].since, target.partition(":")
    return not since or (release != "" and _numbers(release) >= _numbers(since))


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


def measure(mode: str, target: str, folder: Path) -> dict[str, Any]:
    """One run, as an entry of the recording."""
    path = folder / "five-ways.yaml"
    path.write_text(five_ways(mode))
    begin_s = time.monotonic()
    result = run_scenario(load(path), backend="docker", target=target, seed=SEED, out=folder)
    judged = next(verdict for verdict in result.verdicts if verdict.check == "accounting")
    return {
        "mode": mode,
        "target": target,
        "outcome": str(result.outcome),
        "reasons": [reason for verdict in result.verdicts for reason in _why(verdict)],
        "acknowledged": judged.measures["ok"],
        "lost": judged.measures["lost"],
        "seconds": round(time.monotonic() - begin_s, 1),
        "faults_a_minute": round(_faults_a_minute(rows := _rows(result)), 1),
        "cells": dict(_cells(rows)),
    }


def _why(verdict: Verdict) -> Iterator[str]:
    """Why it is not PASS."""
    yield from verdict.reasons
    yield from (anomaly.sentence for anomaly in verdict.anomalies if not anomaly.allowed)


def _rows(result: RunResult) -> list[dict[str, Any]]:
    assert result.folder is not None
    return [row for row in pq.read_table(result.folder / "events.parquet").to_pylist() if row["kind"] == "fault"]


def _faults_a_minute(rows: list[dict[str, Any]]) -> float:
    """Those that were proved to have taken effect, over the time from the first of them to the last one's heal."""
    proved = {row["fault"] for row in rows if row["step"] == "probe" and row["effective"] == 1}
    moments_ns = [int(row["ns"]) for row in rows]
    return len(proved) * 60e9 / (max(moments_ns) - min(moments_ns))


def _cells(rows: list[dict[str, Any]]) -> Iterator[tuple[str, list[int | None]]]:
    """Verb → the answers of the probe after the act, and of that after the heal."""
    verbs = {row["fault"]: json.loads(row["detail"])["do"] for row in rows if row["step"] == "resolve"}
    for fault, verb in verbs.items():
        steps = [(row["step"], row["effective"]) for row in rows if row["fault"] == fault]
        yield (
            verb,
            [min((bit for step, bit in steps if step == asked), default=None) for asked in ("probe", "heal_probe")],
        )


def page(entries: list[dict[str, Any]]) -> str:
    """The table, and what was not green."""
    head = "| mode | target | verdict | " + " | ".join(f"`{verb}`" for verb in FIVE)
    lines = [
        f"{head} | acknowledged / lost | command to verdict | faults a minute |",
        "|---" * (len(FIVE) + 6) + "|",
        *(_line(entry) for entry in entries),
        *(
            f"| {mode} | {target} | not run | {' | '.join('–' for _ in range(len(FIVE) + 3))} |"
            for mode, target in missing(entries)
        ),
    ]
    untold = [
        f"* {entry['mode']}, {entry['target']}, {entry['outcome']}: {reason.removesuffix('.')}."
        for entry in entries
        if entry["outcome"] != "PASS"
        for reason in [*_explained(entry), *(entry["reasons"] or ["the run did not record why, its folder is gone"])]
    ] or ["Nothing of what was run."]
    return wrapped(
        "# Modes in containers, broken in five ways\n\nGenerated by `python -m suites.chaos.container_grid`: one run a "
        "mode and target, five faults one after another, seed 1. A cell is what the fault's own probes said: *took "
        "effect / healed*. `pytest suites/chaos/test_containers.py --backend docker --target rocketmq:4.9.7` does "
        "these runs as tests; single cells with many seeds are `mqchaos matrix --backend docker`.\n\n"
        + "\n".join(lines)
        + "\n\n## What was not green, and why\n\n"
        + "\n".join(untold)
        + "\n"
    )


def _explained(entry: dict[str, Any]) -> list[str]:
    known = EXPLAINED.get((entry["mode"], entry["target"]))
    return [known] if known else []


def missing(entries: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Which rows nobody has run yet."""
    run = {(entry["mode"], entry["target"]) for entry in entries}
    return [(m, target) for m in MODES for target in TARGETS if has_mode(m, target) and (m, target) not in run]


def _line(entry: dict[str, Any]) -> str:
    cells = " | ".join(_text(entry["cells"].get(verb)) for verb in FIVE)
    return (
        f"| {entry['mode']} | {entry['target']} | {entry['outcome']} | {cells} | {entry['acknowledged']:,} / "
        f"{entry['lost']:,} | {entry['seconds']:g} s | {entry['faults_a_minute']:g} |"
    )


def _text(cell: list[int | None] | None) -> str:
    return "–" if cell is None else " / ".join(WORDS[answer] for answer in cell)


def read() -> list[dict[str, Any]]:
    return recorded.read(MEASURED)


def _about(entry: dict[str, Any]) -> tuple[str, ...]:
    return (f"{list(MODES).index(entry['mode'])}", entry["target"])


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--page", action="store_true", help="only write the page again")
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this one, again")
    parser.add_argument("--mode", action="append", choices=list(MODES), help="only this one, again")
    parser.add_argument("--keep-runs", type=Path, metavar="DIR", help="keep the run folders below DIR")
    arguments = parser.parse_args()
    known = {(entry["mode"], entry["target"]): entry for entry in read()}
    asked_again = bool(arguments.target or arguments.mode)
    for target in arguments.target or TARGETS:
        for mode in arguments.mode or MODES:
            if arguments.page or not has_mode(mode, target) or ((mode, target) in known and not asked_again):
                continue
            with tempfile.TemporaryDirectory(prefix="grid-") as temporary:
                folder = Path(temporary) if arguments.keep_runs is None else arguments.keep_runs
                folder.mkdir(parents=True, exist_ok=True)
                known[mode, target] = measure(mode, target, folder)
            recorded.write(MEASURED, known.values(), _about)
    PAGE.write_text(page(read()))


if __name__ == "__main__":
    assert set(FIVE) <= set(VERBS)
    main()
