"""``mqchaos run``: one scenario, one or many seeds, judged.

Question: what does a person watch while it runs, and what does a program get from it?

Model. Seeds are said at the start and at the end. Progress goes to standard error; the summary, or with ``--json`` one
document, to standard output. The exit code is that of the worst run. The first Ctrl-C ends the load of the run that is
going on, heals, drains what can be and judges; the second heals and leaves with 130.
"""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from harness.terminal import Terminal, Ticker

if TYPE_CHECKING:
    from harness.run import Interrupt, Keep, Progress, RunResult
    from harness.scenario import Scenario

EPILOG = """\
examples:
  mqchaos run single-master-async-power-cut                    a scenario of the project, simulated
  mqchaos run my.yaml --backend process --target rocketmq:4.9.7
  mqchaos run single-master-sync-power-cut --defect ack-before-fsync --seeds 5
  mqchaos run museum-kills --defect offset-table-ignores-tail --seed 1      an exhibit of docs/museum.md

exit codes:
  0 PASS    1 FAIL    2 UNKNOWN    3 backend or harness error    64 usage    130 interrupted
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``run``."""
    parser.epilog = EPILOG
    parser.add_argument("scenario", metavar="SCENARIO", help="a file, or a name of: mqchaos list scenarios")
    add_world(parser)
    parser.add_argument("--seed", metavar="N", help="seed, as 7 or 0x1f (default: the scenario's, else a fresh one)")
    parser.add_argument("--seeds", metavar="N|A..B", help="run N consecutive seeds, or those of a range")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="worker processes for many seeds (default: 1)")
    parser.add_argument("--defect", action="append", default=[], metavar="NAME", help="plant a bug (repeatable)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of run folders (default: runs)")
    parser.add_argument(
        "--keep",
        choices=("all", "failures", "none"),
        help="which run folders stay (default: all of one seed, failures of many; runs on processes stay)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit XML")


def add_world(parser: argparse.ArgumentParser) -> None:
    """``--backend`` and ``--target``."""
    from harness.backends.table import BACKENDS, DEFAULT

    known = " or ".join(BACKENDS)
    parser.add_argument("--backend", default=DEFAULT, metavar="NAME", help=f"{known} (default: {DEFAULT})")
    parser.add_argument(
        "--target",
        default="reference",
        metavar="NAME",
        help="reference, rocketmq:VERSION, or a mix as reference,slaves=rocketmq:VERSION (default: reference)",
    )


def execute(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Run, show, and say how it went."""
    from harness import junit
    from harness.commands.fetch import make_ready
    from harness.errors import EXIT_INTERRUPTED
    from harness.pool import check_jobs
    from harness.preflight import check_fit
    from harness.scenario import find
    from harness.scenario_file import load
    from harness.seeds import chosen
    from harness.summary import EXIT_CODES

    if arguments.junit:
        junit.check(arguments.junit)
    check_jobs(arguments.jobs)
    scenario = load(find(arguments.scenario))
    check_defects(arguments.defect)
    check_fit(arguments.backend, arguments.target)
    make_ready(arguments.target, terminal)
    seeds = chosen(arguments.seed, arguments.seeds, scenario.seed)
    keep: Keep = arguments.keep or _default_keep(arguments.backend, len(seeds))
    call = Call(scenario, arguments.backend, arguments.target, tuple(arguments.defect), arguments.out, keep)
    results = run_seeds(call, seeds, terminal, arguments.jobs)
    if not results:
        return EXIT_INTERRUPTED
    _write_results(results, arguments, terminal)
    if len(results) < len(seeds):
        terminal.say(f"interrupted after {len(results)} of {len(seeds)} runs")
    return EXIT_CODES[max(result.outcome for result in results)]


def _default_keep(backend: str, seeds: int) -> Keep:
    from harness.backends.table import backend_named

    return "all" if seeds == 1 or backend_named(backend).needs_folder else "failures"


def check_defects(names: Sequence[str]) -> None:
    """``UsageError`` for a defect that does not exist."""
    from harness.errors import UsageError
    from reference_impl.defects import checked_defects

    try:
        checked_defects(names)
    except ValueError as error:
        raise UsageError(str(error), hint="mqchaos list defects") from None


@dataclass(frozen=True)
class Call:
    """What is the same for all seeds."""

    scenario: Scenario
    backend: str
    target: str
    defects: tuple[str, ...]
    out: Path | None
    keep: Keep

    def run(self, seed: int, interrupt: Interrupt, on_progress: Callable[[Progress], None] | None) -> RunResult:
        """One run."""
        from harness.run import run_scenario

        return run_scenario(
            self.scenario,
            backend=self.backend,
            target=self.target,
            seed=seed,
            out=self.out,
            defects=self.defects,
            keep=self.keep,
            on_progress=on_progress,
            interrupt=interrupt,
        )


def run_seeds(call: Call, seeds: Sequence[int], terminal: Terminal, jobs: int = 1) -> list[RunResult]:
    """All seeds, one after another or *jobs* at once; fewer if interrupted. One is summed up, many get a line each."""
    from harness.backends.table import backend_named
    from harness.seeds import text

    what = f"seed {text(seeds[0])}" if len(seeds) == 1 else f"{len(seeds)} seeds from {text(seeds[0])}"
    terminal.say(f"{call.scenario.name} on {call.backend}, {call.target}: {what}")
    if jobs > 1 and len(seeds) > 1 and backend_named(call.backend).runs_at_once:
        return _run_at_once(call, seeds, terminal, jobs)
    results: list[RunResult] = []
    with interruptible(terminal) as interrupt:
        for seed in seeds:
            with Ticker(terminal) as ticker:
                result = call.run(seed, interrupt, _shown(ticker))
            results.append(result)
            if len(seeds) > 1:
                _show_line(result, terminal)
            if interrupt.presses:
                break
    return results


def _run_at_once(call: Call, seeds: Sequence[int], terminal: Terminal, jobs: int) -> list[RunResult]:
    from harness.pool import run_at_once

    results: list[RunResult] = []
    with interruptible(terminal, ENDING_MANY) as interrupt:
        running = run_at_once(run_one, ((call, seed) for seed in seeds), jobs, lambda result: result.seed)
        for result in running:
            results.append(result)
            _show_line(result, terminal)
            if interrupt.presses:
                running.close()  # type: ignore[attr-defined]  # a generator
                break
    return sorted(results, key=lambda result: seeds.index(result.seed))


def run_one(call: Call, seed: int) -> RunResult:
    """One run, in a worker."""
    from harness.run import Interrupt

    return call.run(seed, Interrupt(), None)


def _shown(ticker: Ticker) -> Callable[[Progress], None]:
    return lambda progress: ticker.tick(lambda: progress_line(progress))


def progress_line(progress: Progress) -> str:
    """``faults     6.0 s  sent 1200, acknowledged 1190  kill broker-a-0``."""
    counts = ", ".join(f"{name} {count}" for name, count in progress.measures.items() if count)
    faults = f"  [{'; '.join(progress.faults)}]" if progress.faults else ""
    return f"{progress.phase:<9} {progress.now_ns / 1e9:6.1f} s  {counts}{faults}"


def _show_line(result: RunResult, terminal: Terminal) -> None:
    from harness.seeds import text
    from harness.summary import headline

    name = terminal.outcome(result.outcome.name)
    terminal.result(f"{name}{' ' * (8 - len(result.outcome.name))}{text(result.seed):<12} {headline(result)}".rstrip())
    if result.folder:
        terminal.result(f"        report: {result.folder / 'report.html'}")


def _write_results(results: Sequence[RunResult], arguments: argparse.Namespace, terminal: Terminal) -> None:
    from harness import junit

    if arguments.json:
        documents = [document(result) for result in results]
        terminal.document(documents[0] if arguments.seeds is None else documents)
    if arguments.seeds is None:
        show(results[0], terminal)
    else:
        _show_totals(results, terminal)
    if arguments.junit:  # last: a file that cannot be written must not take the verdict with it
        junit.write(arguments.junit, results)


def show(result: RunResult, terminal: Terminal, replay: str = "") -> None:
    """The summary of one run; *replay*: how to see it again, where its own folder is not the way."""
    from harness.summary import lines_of

    report = str(result.folder / "report.html") if result.folder else ""
    for line in lines_of(result, report=report, replay=replay or result.replay_command, style=terminal.outcome):
        terminal.result(line)


def _show_totals(results: Sequence[RunResult], terminal: Terminal) -> None:
    from harness.seeds import text

    counts: dict[str, int] = {}
    for result in results:
        counts[result.outcome.name] = counts.get(result.outcome.name, 0) + 1
    worst = max(results, key=lambda result: result.outcome)
    said = ", ".join(f"{count} {terminal.outcome(name)}" for name, count in sorted(counts.items()))
    terminal.result(f"{len(results)} runs: {said}")
    terminal.result(
        f"seeds {text(results[0].seed)}..{text(results[-1].seed)}; the worst (or first): {text(worst.seed)}"
    )
    if worst.folder:
        terminal.result(f"report: {worst.folder / 'report.html'}")
    terminal.result(f"replay: {worst.replay_command}")


def document(result: RunResult, replay: str = "") -> dict[str, Any]:
    """One run for ``--json``; *replay* as in :func:`show`."""
    from harness.summary import to_json

    return {
        "run": result.run,
        **to_json(result),
        "history_sha256": result.history_sha256,
        "final_draw": f"{result.final_draw:#x}",
        "interrupted": result.interrupted,
        "measures": dict(result.measures),
        "folder": str(result.folder) if result.folder else None,
        "replay": replay or result.replay_command,
    }


STOPPING: Final = (
    "stopping: healing, draining and judging what there is; again to leave without a verdict",
    "healing and leaving",
)
"""What is said of a first and of any further request to end."""

ENDING_MANY: Final = ("no more runs begin; those under way go on to their ends", "already ending")


ENDING_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interruptible(terminal: Terminal, said: tuple[str, str] = STOPPING) -> Iterator[Interrupt]:
    """Ctrl-C, SIGTERM and a terminal that is closed press the button of an :class:`Interrupt` instead of raising
    somewhere in the middle."""
    from harness.run import Interrupt

    interrupt = Interrupt()

    def press(number: int, frame: FrameType | None) -> None:
        interrupt.press()
        name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
        terminal.interject(f"\n{name}: {said[interrupt.presses > 1]}")

    wanted = [number for number in ENDING_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]  # nohup
    before = {number: signal.signal(number, press) for number in wanted}
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
