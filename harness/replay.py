"""Run a run again from its folder, and say whether it came out the same.

Question: is what this folder says reproducible?

Model. Scenario, seed, defects, backend and target are read from the folder; nothing else is needed. In the simulator
the new run must have the same journal byte for byte (SHA-256) and the same unseed; the first line that differs is
shown if it has not. A run that was killed has no digest: its journal must be the beginning of the new one. On real
processes only plan and seed are the same; there the verdicts are compared.

Limits. Another commit, or files that differ from theirs, may change a history honestly; then that is said, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness import runfolder
from harness.errors import HistoryError
from harness.run import Interrupt, Progress, RunResult, run_scenario
from harness.scenario_file import load

LINE_SHOWN = 300


@dataclass(frozen=True)
class Replay:
    """``differences`` is empty where the run came out the same; ``remarks`` are worth knowing either way."""

    original: Path
    result: RunResult
    differences: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        return not self.differences

    @property
    def sentence(self) -> str:
        """For people: what was compared, and what came out."""
        if self.differences:
            return f"it came out differently: {'; '.join(self.differences)}"
        if self.result.backend == "sim":
            short = self.result.history_sha256[:16]
            return f"the same history byte for byte (SHA-256 {short}…) and the same unseed {self.result.unseed:#x}"
        return f"the same verdict, {self.result.outcome.name} (a real run is never the same twice)"


def replay(
    folder: Path,
    *,
    out: Path | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    interrupt: Interrupt | None = None,
) -> Replay:
    """Run the run of *folder* again and compare.

    The new run is kept below *out*. Without one a simulated run leaves nothing, one on processes lies beside the old.
    """
    folder = folder.resolve()
    run = runfolder.read_run(folder)
    if out is None and run["backend"] == "sim":
        with TemporaryDirectory(prefix="mqchaos-replay-") as scratch:
            again = _again(folder, run, Path(scratch), on_progress, interrupt)
            return replace(again, result=replace(again.result, folder=None))
    return _again(folder, run, out or folder.parent, on_progress, interrupt)


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
    return Replay(folder, result, tuple(_differences(folder, run, result)), tuple(_remarks(run)))


def _differences(folder: Path, run: dict[str, Any], result: RunResult) -> list[str]:
    if result.folder is None:
        raise HistoryError("the new run left no folder to compare")
    if result.backend != "sim":
        before = runfolder.read_outcome(folder)
        same = before is None or before == result.outcome
        return [] if same else [f"the verdict was {before.name if before else 'none'}, now {result.outcome.name}"]
    if "history_sha256" not in run:
        return _not_a_beginning(folder / runfolder.JOURNAL, result.folder / runfolder.JOURNAL)
    differences = []
    if run["history_sha256"] != result.history_sha256:
        differences.append(_first_difference(folder / runfolder.JOURNAL, result.folder / runfolder.JOURNAL))
    if run["unseed"] != f"{result.unseed:#x}":
        differences.append(f"the unseed was {run['unseed']}, now {result.unseed:#x}")
    return differences


def _not_a_beginning(before: Path, now: Path) -> list[str]:
    """A killed run's journal may end anywhere, but it must be where the new one began."""
    if now.read_bytes().startswith(before.read_bytes()):
        return []
    return [_first_difference(before, now)]


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
