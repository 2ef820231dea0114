"""Run a run again from its folder, and say whether it came out the same.

Question: is what this folder says reproducible?

Model. Scenario, seed, defects, backend and target are read from the folder; nothing else is needed. In the simulator
the new run must have the same journal byte for byte (SHA-256) and the same final draw; the first line that differs is
shown if it has not. A run that was killed has no digest: its journal must be the beginning of the new one. On real
processes only plan and seed are the same; there the verdicts are compared.

Limits. Another commit, or files that differ from theirs, may change a history rightly; then that is said, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

from faults.journal import process_started
from harness import runfolder
from harness.backends.table import backend_named
from harness.errors import HistoryError
from harness.run import Interrupt, Progress, RunResult, run_scenario
from harness.scenario_file import load

LINE_SHOWN = 300
PREFIX = "mqchaos-replay-"
"""Of folders for runs that are not kept, before the process's number and the time it was started."""


@dataclass(frozen=True)
class Replay:
    """*differences*: ``journal``, ``final_draw`` or (real processes) ``verdict`` → what differs, in words; empty: none.

    *remarks* are worth knowing either way. *was_killed*: the old run had no end; only its beginning could be compared.
    """

    original: Path
    result: RunResult
    differences: Mapping[str, str]
    remarks: tuple[str, ...]
    was_killed: bool = False

    @property
    def is_same(self) -> bool:
        return not self.differences

    @property
    def sentence(self) -> str:
        """For people: what was compared, and what came out."""
        if self.differences:
            return f"it came out differently: {'; '.join(self.differences.values())}"
        if not _is_deterministic(self.result):
            return f"the same verdict, {self.result.outcome.name} (a real run is never the same twice)"
        if self.was_killed:
            return "the journal of the killed run is the beginning of this one"
        return f"identical: journal SHA-256 {self.result.history_sha256[:16]}…, final draw {self.result.final_draw:#x}"


def replay(
    folder: Path,
    *,
    out: Path | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    interrupt: Interrupt | None = None,
) -> Replay:
    """Run the run of *folder* again and compare.

    The new run is kept below *out*; without one it leaves nothing, and what an earlier one left that was killed goes,
    too.
    """
    folder = folder.resolve()
    run = runfolder.read_run(folder)
    if out is not None:
        return _again(folder, run, out, on_progress, interrupt)
    _sweep()
    prefix = f"{PREFIX}{os.getpid()}-{process_started(os.getpid())}-"
    with TemporaryDirectory(prefix=prefix) as scratch:
        again = _again(folder, run, Path(scratch), on_progress, interrupt)
        return replace(again, result=replace(again.result, folder=None))


def _sweep() -> None:
    """Remove what replays that were killed have left: their names say whose they are."""
    for left in sorted(Path(gettempdir()).glob(f"{PREFIX}*-*-*")):
        pid, started = left.name.removeprefix(PREFIX).split("-")[:2]
        if pid.isdecimal() and started.isdecimal() and process_started(int(pid)) != int(started):
            rmtree(left, ignore_errors=True)  # another replay may be sweeping, too


def _again(
    folder: Path,
    run: dict[str, Any],
    out: Path,
    on_progress: Callable[[Progress], None] | None,
    interrupt: Interrupt | None,
) -> Replay:
    result = run_scenario(
        load(folder / "scenario.yaml"),
        backend=run["backend"],
        target=run["target"],
        seed=int(run["seed"], 16),
        out=out,
        defects=run["defects"],
        on_progress=on_progress,
        interrupt=interrupt,
    )
    was_killed = _is_deterministic(result) and "history_sha256" not in run
    return Replay(folder, result, _differences(folder, run, result), tuple(_remarks(run)), was_killed)


def _differences(folder: Path, run: dict[str, Any], result: RunResult) -> dict[str, str]:
    if result.folder is None:
        raise HistoryError("the new run left no folder to compare")
    if not _is_deterministic(result):
        return _other_verdict(folder, result)
    before, now = folder / runfolder.JOURNAL, result.folder / runfolder.JOURNAL
    if "history_sha256" not in run:
        is_beginning = now.read_bytes().startswith(before.read_bytes())
        return {} if is_beginning else {"journal": _first_difference(before, now)}
    differences = {}
    if run["history_sha256"] != result.history_sha256:
        differences["journal"] = _first_difference(before, now)
    if run["final_draw"] != f"{result.final_draw:#x}":
        differences["final_draw"] = f"the final draw was {run['final_draw']}, now {result.final_draw:#x}"
    return differences


def _is_deterministic(result: RunResult) -> bool:
    return backend_named(result.backend).is_deterministic


def _other_verdict(folder: Path, result: RunResult) -> dict[str, str]:
    before = runfolder.read_outcome(folder)
    if before is None or before is result.outcome:
        return {}
    return {"verdict": f"the verdict was {before.name}, now {result.outcome.name}"}


def _first_difference(before: Path, now: Path) -> str:
    pairs = zip_longest(before.read_bytes().split(b"\n"), now.read_bytes().split(b"\n"), fillvalue=b"(the end)")
    for number, (old, new) in enumerate(pairs, 1):
        if old != new:
            return f"line {number} of the journal was\n    {_shown(old)}\n  now\n    {_shown(new)}"
    return "the journal's digest in run.json is not that of its journal"


def _shown(line: bytes) -> str:
    text = line.decode(errors="replace")
    return text if len(text) <= LINE_SHOWN else f"{text[:LINE_SHOWN]}…"


def _remarks(run: dict[str, Any]) -> list[str]:
    here = runfolder.commit()
    if run.get("commit") and run["commit"] != here:
        return [f"the run is of commit {run['commit']}, this is {here}"]
    return []
