"""``mqchaos check``: judge a run folder again, finished or killed; or anyone's history, with ``--model``.

Question: what do today's checkers say about that history?

Model. The journal is the evidence: it is checked against the hash in ``run.json``, judged, and everything that follows
from it (the tables, ``verdict.json``, ``run.json``, ``report.html``) is written again. A table that was damaged, or
that a killed run never had, is there afterwards and can land in the lake. A history of another tool (EDN, text log,
JSON) is only read: it is judged against one model of :mod:`checkers.external.check`, within a time and a memory
(:mod:`harness.commands.bounded_check`), and nothing is written but its page (``--report``).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import HistoryError, UsageError
from harness.terminal import Terminal

if TYPE_CHECKING:
    from checkers.verdict import Outcome, Verdict

EPILOG = """\
examples:
  mqchaos check runs/latest
  mqchaos check runs/r-20240131-142501-1f2e3d4c --json
  mqchaos check history.edn --model queue --report history.html

exit codes:
  0 PASS    1 FAIL    2 UNKNOWN    3 no such history, or a damaged one    64 usage
"""


MODELS = ("register", "kv", "queue", "bag", "total-queue", "set", "log", "mutex")
"""The models of ``checkers.external.check``, named here so that ``--help`` loads nothing."""


@dataclass(frozen=True)
class Judged:
    """A run folder with its fresh verdicts, for the summary."""

    scenario: str
    backend: str
    target: str
    seed: int
    outcome: Outcome
    verdicts: tuple[Verdict, ...]


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``check``."""
    parser.epilog = EPILOG
    parser.add_argument("run", metavar="RUN", help="a run folder, its name, or runs/latest; with --model a file")
    parser.add_argument(
        "--model", choices=MODELS, help="judge a history that another tool wrote as this object, see docs/checkers"
    )
    parser.add_argument(
        "--seconds", type=float, default=300, help="with --model: give up after so long, UNKNOWN (default: 300)"
    )
    parser.add_argument(
        "--memory", type=int, default=4096, metavar="MB", help="with --model: … with more memory (default: 4096 MB)"
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="with --model: write its page as FILE")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")


def execute(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Judge and show."""
    if not arguments.model and Path(arguments.run).is_file():
        hint = f"a history that another tool wrote needs --model {'|'.join(MODELS)}"
        raise UsageError(f"{arguments.run} is a file, and a run is a folder", hint=hint)
    if arguments.report and not arguments.model:
        raise UsageError("--report is for a history of another tool; a run has its report.html", hint="--model")
    if arguments.model:
        return _judge_file(arguments, terminal)
    from harness import runfolder
    from harness.report import write_report
    from harness.summary import EXIT_CODES, lines_of, to_json

    folder = runfolder.find(arguments.run)
    run = runfolder.read_run(folder)
    before = runfolder.read_outcome(folder)
    _check_hash(folder, run)
    judged = _judge(folder, run)
    runfolder.write_verdict(folder, judged.verdicts)
    runfolder.write_run(folder, run | {"verdict": judged.outcome.name})
    write_report(folder)
    if arguments.json:
        terminal.document(
            {"run": folder.name, **to_json(judged), "before": before.name if before is not None else None}
        )
    for line in lines_of(
        judged, report=str(folder / "report.html"), replay=f"mqchaos replay {folder}", style=terminal.outcome
    ):
        terminal.result(line)
    if before is not None and before is not judged.outcome:
        terminal.result(f"it was {before.name} when it was judged last")
    return EXIT_CODES[judged.outcome]


def _judge_file(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """A history of another tool: its verdict, in a few lines."""
    from checkers.history.columns import HistoryFormatError
    from harness.commands.bounded_check import check_within
    from harness.summary import EXIT_CODES

    path, model = Path(arguments.run), arguments.model
    _make_room(arguments.report, path)
    try:
        verdict = check_within(path, model, arguments.seconds, arguments.memory, arguments.report)
    except HistoryFormatError as error:
        raise HistoryError(error.reason, place=error.place) from error
    if arguments.json:
        terminal.document({"file": str(path), "model": model, **verdict.to_json()})
    terminal.result(f"{terminal.outcome(verdict.outcome.name)}  {path}  (as {model})")
    for line in [*(anomaly.sentence for anomaly in verdict.anomalies), *verdict.reasons]:
        terminal.result(f"  {line}")
    if verdict.measures:
        terminal.result("  " + ", ".join(f"{value} {name}" for name, value in verdict.measures.items()))
    if arguments.report and arguments.report.is_file():
        terminal.result(f"report: {arguments.report}")
    return EXIT_CODES[verdict.outcome]


def _make_room(report: Path | None, history: Path) -> None:
    """A page of an earlier check must not pass for that of one that met a bound."""
    if report is None:
        return
    if not report.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {report.parent}", hint="--report FILE")
    if report.exists() and (report.is_dir() or report.samefile(history)):
        raise UsageError(f"{report} is not a place for a page", hint="--report FILE")
    if report.is_file():  # a device is written to, and stays
        report.unlink()


def _check_hash(folder: Path, run: dict[str, Any]) -> None:
    """A journal that is not the recorded one proves nothing about the run."""
    from harness.runfolder import JOURNAL

    recorded = run.get("history_sha256")
    if not recorded:
        return  # a killed run: nobody had the time to write it down
    journal = folder / JOURNAL
    if not journal.is_file():
        raise HistoryError("the journal is missing", place=str(journal))
    found = sha256(journal.read_bytes()).hexdigest()
    if found != recorded:
        raise HistoryError(
            f"the journal was changed after the run: its SHA-256 is {found[:16]}…, run.json says {recorded[:16]}…",
            place=str(journal),
        )


def _judge(folder: Path, run: dict[str, Any]) -> Judged:
    from checkers.verdict import worst
    from harness.judge import judge
    from harness.recorder import read_journal, write_tables
    from harness.runfolder import JOURNAL, load_history

    write_tables(read_journal(folder / JOURNAL), folder)
    verdicts = tuple(judge(load_history(folder), run, folder))
    return Judged(run["scenario"], run["backend"], run["target"], int(run["seed"], 16), worst(verdicts), verdicts)
