"""One run, from a scenario to a verdict: the door for the command line, for pytest and for campaigns.

Question: in which order do load, faults, healing and judgement happen, who bounds each of them, and what is kept?

    prepare  start  steady  faults  heal  converge  drain  dump  check  report
    `------------------- harness/lifecycle.py -------------' `-- here --'

Model. The life cycle writes one journal. When it is over the journal is closed and hashed, folded into columns and
judged (``harness/judge.py``). What is kept is decided then: always, only if the outcome is not PASS, or never. Runs on
real processes are always kept. With thousands of simulated runs nothing touches the disk unless it is kept.

Limits. The folder's name is the only thing that knows the time of day; the journal of a simulated run is a function of
scenario, seed, defects and code.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Final, Literal
from zlib import crc32

from checkers.history.columns import HistoryFormatError
from checkers.history.history import History
from checkers.verdict import Outcome, Verdict, worst
from harness import runfolder
from harness.backends.backend import Target
from harness.backends.opening import World
from harness.backends.sim.seeds import derive
from harness.backends.table import DEFAULT, backend_named
from harness.cluster import Cluster, build
from harness.errors import HistoryError, UsageError
from harness.judge import judge
from harness.lifecycle import Interrupt, Life, Progress
from harness.preflight import check_load, check_mode, check_plan, check_plantable, check_properties
from harness.recorder import Columns, Recorder, write_tables
from harness.scenario import Scenario, find, server_names
from harness.worlds import open_target, open_world

__all__ = ["Interrupt", "Keep", "Progress", "RunResult", "run_scenario"]

Keep = Literal["all", "failures", "none"]

LEAST_FREE_BYTES: Final = 64 * 1024 * 1024
"""Where a run folder is to be kept whose nodes write files."""


@dataclass(frozen=True)
class RunResult:
    """What a run came to. ``folder`` is ``None`` for a run that was not kept."""

    run: str
    scenario: str
    backend: str
    target: str
    seed: int
    outcome: Outcome
    verdicts: tuple[Verdict, ...]
    history_sha256: str
    """Of ``journal.jsonl``; in the simulator a function of scenario, seed, defects and code."""
    final_draw: int
    """One more draw of every generator after the run; 0 where the world is not deterministic."""
    folder: Path | None
    measures: Mapping[str, int] = field(default_factory=dict)
    interrupted: bool = False
    source: str = ""
    """The scenario's file, where it has one."""
    defects: tuple[str, ...] = ()

    @property
    def replay_command(self) -> str:
        """What a person types to see it again."""
        if self.folder is not None:
            return f"mqchaos replay {self.folder}"
        words = ["mqchaos", "run", self.source or self.scenario, "--backend", self.backend, "--target", self.target]
        words += ["--seed", f"{self.seed:#x}", *(word for defect in self.defects for word in ("--defect", defect))]
        return shlex.join(words)


@dataclass
class _Attempt:
    """What is fixed before anything runs."""

    scenario: Scenario
    backend: str
    target: Target
    seed: int
    defects: tuple[str, ...]
    keep: Keep
    runs: Path
    started: datetime
    folder: Path | None = None

    @property
    def name(self) -> str:
        """Of the run; one that is not kept is named by its seed."""
        return self.folder.name if self.folder else f"r-unkept-{self.seed:x}"

    def child(self, name: str) -> Random:
        """The harness's own generators, beside those of the simulator."""
        return Random(derive(self.seed, f"harness/{name}"))

    def make_folder(self) -> Path:
        """The run's folder, made when it is first needed."""
        if self.folder is None:
            self.folder = runfolder.create(self.runs, self.seed, self.started)
        return self.folder


def run_scenario(
    scenario: Scenario | str | Path,
    *,
    backend: str = DEFAULT,
    target: str = "reference",
    seed: int,
    out: Path | None = None,
    defects: Sequence[str] = (),
    keep: Keep = "all",
    on_progress: Callable[[Progress], None] | None = None,
    interrupt: Interrupt | None = None,
) -> RunResult:
    """Run *scenario* (a value, the name of a scenario that comes with the project, or a file) and judge it.

    *out* is the folder of runs (``runs/`` by default), below which the run gets a folder of its own; with ``keep`` =
    ``failures`` that is written only if the outcome is not PASS, with ``none`` never (not where nodes write files).
    Raises ``HarnessError`` and its kinds for what is no verdict, ``KeyboardInterrupt`` after a second press.
    """
    attempt = _attempt(scenario, backend, target, seed, out, defects, keep)
    if keep == "all" or backend_named(backend).needs_folder:
        attempt.make_folder()
    try:
        world = open_world(backend, attempt.target, seed, attempt.name, attempt.folder)
    except BaseException:
        if attempt.folder is not None and not any(attempt.folder.iterdir()):
            attempt.folder.rmdir()
        raise
    try:
        return _run_in(world, attempt, on_progress, interrupt or Interrupt())
    finally:
        world.close()


def _attempt(
    scenario: Scenario | str | Path,
    backend: str,
    target: str,
    seed: int,
    out: Path | None,
    defects: Sequence[str],
    keep: Keep,
) -> _Attempt:
    if backend_named(backend).needs_folder and keep == "none":
        raise UsageError(f"runs on the backend {backend} leave a folder", hint="keep failures, or all")
    the_scenario = _scenario(scenario)
    servers = server_names(the_scenario)
    the_target = open_target(target, servers)
    check_plan(the_scenario, backend, target)
    check_mode(the_scenario, the_target, servers)
    check_properties(the_scenario, the_target, servers)
    check_load(the_scenario)
    check_plantable(defects, the_target, servers)
    runs = out or runfolder.RUNS
    if keep != "none":
        runfolder.check_place(runs)
    if backend_named(backend).needs_folder:
        runfolder.check_space(runs, LEAST_FREE_BYTES, "run folders")
    the_target.prepare()
    return _Attempt(
        the_scenario,
        backend,
        the_target,
        seed,
        tuple(defects),
        keep,
        runs,
        datetime.now(UTC),
    )


def _scenario(scenario: Scenario | str | Path) -> Scenario:
    if isinstance(scenario, Scenario):
        return scenario
    from harness.scenario_file import load

    return load(find(str(scenario)))


def _run_in(
    world: World, attempt: _Attempt, on_progress: Callable[[Progress], None] | None, interrupt: Interrupt
) -> RunResult:
    backend = world.backend
    cluster = build(attempt.scenario, backend.host, attempt.defects)
    recorder = _recorder(attempt, backend.now)
    life = Life(attempt.scenario, cluster, backend, recorder, attempt.child, world.heal_journal, interrupt, on_progress)
    if attempt.folder:
        _begin_folder(attempt, attempt.folder, cluster)
    try:
        life.live()
    finally:
        digest = recorder.close()
        if attempt.folder:
            _collect(world, cluster, attempt.folder)
    columns = recorder.columns()
    run = _run_document(attempt, cluster) | {
        "history_sha256": digest,
        "final_draw": f"{backend.entropy():#x}",
        "phases": [list(phase) for phase in life.phases],
        "interrupted": interrupt.presses > 0,
    }
    verdicts = tuple(judge(_history(columns), run, attempt.folder))
    run["verdict"] = worst(verdicts).name
    if attempt.keep == "all" or attempt.folder or (attempt.keep == "failures" and worst(verdicts) > Outcome.PASS):
        _keep(world, attempt, cluster, recorder, columns, run, verdicts)
    return _result(attempt, run, verdicts, life)


def _recorder(attempt: _Attempt, clock: Callable[[], int]) -> Recorder:
    path = attempt.folder / runfolder.JOURNAL if attempt.folder else None
    run_id = crc32(f"{attempt.scenario.name}/{attempt.seed}".encode())
    return Recorder(clock, run_id, path, durable=not backend_named(attempt.backend).is_deterministic)


def _history(columns: Columns) -> History:
    try:
        return History.from_columns(columns)
    except HistoryFormatError as error:
        raise HistoryError(f"the recorder wrote what cannot be: {error}") from error


def _run_document(attempt: _Attempt, cluster: Cluster) -> dict[str, Any]:
    scenario = attempt.scenario
    return {
        "run": attempt.name,
        "scenario": scenario.name,
        "claims": list(scenario.claims),
        "mode": scenario.mode,
        "flush": scenario.topology.flush,
        "backend": attempt.backend,
        "target": attempt.target.name,
        "targets": {spec.name: attempt.target.at(spec.name).name for spec in cluster.nodes},
        "seed": f"{attempt.seed:#x}",
        "commit": runfolder.commit() if attempt.folder else "",
        "started_epoch_ms": int(attempt.started.timestamp() * 1000),
        "faults": [_fault_document(fault) for fault in scenario.faults],
        "nodes": {spec.name: dict(spec.properties) for spec in cluster.nodes},
        "defects": list(attempt.defects),
        "expect": scenario.expect.narrowed(),
    }


def _fault_document(fault: Any) -> dict[str, Any]:
    hold = str(fault.hold) if fault.hold else ""
    return {
        "id": fault.id,
        "do": fault.do,
        "on": str(fault.on),
        "at": str(fault.at),
        "for": hold,
        "with": dict(fault.options),
    }


def _begin_folder(attempt: _Attempt, folder: Path, cluster: Cluster) -> None:
    """What makes a run readable that is killed from now on."""
    from harness.scenario_file import dump

    (folder / "scenario.yaml").write_text(dump(attempt.scenario), encoding="utf-8")
    runfolder.write_run(folder, _run_document(attempt, cluster))
    runfolder.point_latest(folder)


def _collect(world: World, cluster: Cluster, folder: Path) -> None:
    for spec in cluster.nodes:
        node_folder = folder / "nodes" / spec.name
        node_folder.mkdir(parents=True, exist_ok=True)
        world.backend.collect(spec.name, node_folder)


def _keep(
    world: World,
    attempt: _Attempt,
    cluster: Cluster,
    recorder: Recorder,
    columns: Columns,
    run: dict[str, Any],
    verdicts: tuple[Verdict, ...],
) -> None:
    from harness.report import write_report

    if attempt.folder is None:
        folder = attempt.make_folder()
        _begin_folder(attempt, folder, cluster)
        (folder / runfolder.JOURNAL).write_bytes(recorder.journal())
        _collect(world, cluster, folder)
    folder = attempt.make_folder()
    run |= {"run": folder.name, "commit": runfolder.commit()}
    write_tables(columns, folder)
    columns.clear()  # the page is made from the folder: a long history is not in memory twice
    runfolder.write_run(folder, run)
    runfolder.write_verdict(folder, verdicts)
    write_report(folder)


def _result(attempt: _Attempt, run: Mapping[str, Any], verdicts: tuple[Verdict, ...], life: Life) -> RunResult:
    return RunResult(
        run=attempt.name,
        scenario=attempt.scenario.name,
        backend=attempt.backend,
        target=attempt.target.name,
        seed=attempt.seed,
        outcome=worst(verdicts),
        verdicts=verdicts,
        history_sha256=run["history_sha256"],
        final_draw=int(run["final_draw"], 16),
        folder=attempt.folder,
        measures=life.measures,
        interrupted=run["interrupted"],
        source=attempt.scenario.source if Path(attempt.scenario.source).is_file() else "",
        defects=attempt.defects,
    )
