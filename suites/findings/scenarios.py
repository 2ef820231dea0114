"""A finding that a scenario shows: is it there?

Question: a scenario of a finding FAILs *as expected* where the broker does it, and is UNKNOWN (*none was seen*) where
it does not, because a run that shows nothing proves nothing about a harness. For somebody who asks about a release the
second is the news. When does it mean *gone*?

Model. When the run was whole: every fault took effect, its deadlines were kept, and no check complains of anything but
that the finding, or the loss that the mode allows, was not seen; and, where the table names a *chance*, it could have
been seen. A failure of another kind is *changed*.

Limits. Seeds are run until one shows it; each run is made once, whichever findings it is about. To *resume* an asking
that was interrupted, runs of the same commit that have ended are judged again instead of made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from checkers.history.history import History
from checkers.verdict import Anomaly, Outcome, worst
from harness import runfolder
from harness.errors import HarnessError
from harness.judge import judge
from harness.run import RunResult, run_scenario
from suites.findings.histories import CHANCES, DECIDERS
from suites.findings.seen import Seen, there_if
from suites.findings.table import Finding

BACKEND: Final = "process"
SILENT: Final = re.compile(r"and none was seen$")
"""What a scenario that is there to fail says when it did not; a cut that had nothing to take is a doubt like others."""

Run = RunResult | HarnessError


class Runs:
    """Runs against one target, each made once."""

    def __init__(self, target: str, out: Path, *, resume: bool = False) -> None:
        self._target, self._out = target, out
        self._made: dict[tuple[str, int], Run] = dict(ended_runs(out, target)) if resume else {}

    def of(self, scenario: str, seed: int) -> Run:
        """A run that could not be made is an answer, too."""
        if (scenario, seed) not in self._made:
            self._made[scenario, seed] = self._run(scenario, seed)
        return self._made[scenario, seed]

    def _run(self, scenario: str, seed: int) -> Run:
        try:
            return run_scenario(scenario, backend=BACKEND, target=self._target, seed=seed, out=self._out)
        except HarnessError as error:
            return error


def ended_runs(out: Path, target: str) -> Iterator[tuple[tuple[str, int], RunResult]]:
    """(scenario, seed) and what today's checkers say, of each run below *out* that this commit has made and judged."""
    for path in sorted(out.glob("*/verdict.json")):
        run = runfolder.read_run(path.parent)
        made = run["backend"], run["target"], run["defects"], run.get("interrupted"), run.get("commit")
        if not path.parent.is_symlink() and made == (BACKEND, target, [], False, runfolder.commit()):
            yield (run["scenario"], int(run["seed"], 16)), _judged_again(path.parent, run)


def _judged_again(folder: Path, run: Mapping[str, Any]) -> RunResult:
    verdicts = tuple(judge(runfolder.load_history(folder), run, folder))
    told = run["scenario"], run["backend"], run["target"], int(run["seed"], 16)
    return RunResult(run["run"], *told, worst(verdicts), verdicts, run["history_sha256"], 0, folder)


def ask_runs(finding: Finding, runs: Callable[[str, int], Run]) -> Seen:
    """The first seed that shows it; else the worst of what was seen."""
    seen = Seen("undecided", "it was not run")
    for count, seed in enumerate(finding.seeds, start=1):
        now = decide(finding, runs(finding.run, seed))
        if now.state == "there":
            return Seen("there", f"seed {seed}: {now.sentence}")
        seen = now if count == 1 or now.state != "gone" else seen
    return Seen(seen.state, f"{len(finding.seeds)} runs: {seen.sentence}" if len(finding.seeds) > 1 else seen.sentence)


def decide(finding: Finding, run: Run) -> Seen:
    """What one run says."""
    if isinstance(run, HarnessError):
        said = str(run)
        expected = finding.shows.get("error")
        return Seen("there" if expected and expected in said else "undecided", said)
    shown = _shown(finding, run)
    if shown.state == "there":
        return shown
    if others := [anomaly for anomaly in _anomalies(run) if not anomaly.allowed]:
        return Seen("changed", others[0].sentence)
    if doubts := list(_doubts(run)):
        return Seen("undecided", doubts[0])
    if finding.chance and shown.state == "gone":
        return CHANCES[finding.chance](_history(run), _folder(run))
    return shown


def _shown(finding: Finding, run: RunResult) -> Seen:
    shows = finding.shows
    if "history" in shows:
        return DECIDERS[shows["history"]](_history(run), _folder(run))
    if "measure" in shows:
        name = shows["measure"]
        figure = max((_figure(v.measures[name]) for v in run.verdicts if name in v.measures), default=None)
        return (
            Seen("undecided", f"no check says {name}") if figure is None else there_if(figure > 0, f"{name} {figure}")
        )
    if "anomaly" in shows:
        found = [a for a in _anomalies(run) if _is_of(a, shows["anomaly"], shows.get("words", ""))]
        return there_if(bool(found), found[0].sentence.splitlines()[0] if found else "it was not seen")
    return Seen("gone", f"it got ready, and is {run.outcome.name}")


def _figure(measure: Any) -> int:
    """A measure that tells of several is as much as the greatest of them; 0 if there was none to tell of."""
    return max(map(int, measure.values()), default=0) if isinstance(measure, dict) else int(measure)


def _folder(run: RunResult) -> Path:
    assert run.folder is not None
    return run.folder


def _history(run: RunResult) -> History:
    return runfolder.load_history(_folder(run))


def _is_of(anomaly: Anomaly, kind: str, words: str) -> bool:
    return (not kind or anomaly.kind == kind) and words in anomaly.sentence


def _anomalies(run: RunResult) -> list[Anomaly]:
    return [anomaly for verdict in run.verdicts for anomaly in verdict.anomalies]


def _doubts(run: RunResult) -> Iterable[str]:
    for verdict in run.verdicts:
        if verdict.outcome is Outcome.UNKNOWN:
            yield from (reason for reason in verdict.reasons if not SILENT.search(reason))
