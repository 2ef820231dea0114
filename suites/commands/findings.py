"""``mqchaos findings``: which findings does a broker show?

Question: the releases that people run today: which of the project's findings are there, gone, or changed?

Model. ``suites/findings`` asks; every answer is shown when it is there. ``--record`` keeps what was decided, for the
page (``scripts/findings_page.py``). What is recorded of a release is what a later asking of it is compared with.

Limits. Real processes, one after the other: all of them take half an hour.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.errors import UsageError
from harness.terminal import Terminal

if TYPE_CHECKING:
    from suites.findings.table import Finding

EPILOG: Final = """\
examples:
  mqchaos findings --target rocketmq:5.5.0                     all of them (half an hour)
  mqchaos findings --target rocketmq:5.5.0 --only 12 --only 16
  mqchaos findings --list

exit codes:
  0 all decided, and as recorded    1 some differ from the record    2 some undecided    3 backend or harness error
  64 usage    130 interrupted
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``findings``."""
    parser.epilog = EPILOG
    parser.add_argument("--target", default="", metavar="NAME", help="rocketmq:VERSION, or reference")
    parser.add_argument("--only", type=int, action="append", default=[], metavar="N", help="one finding (repeatable)")
    parser.add_argument("--list", action="store_true", help="what there is, and by what it is decided")
    parser.add_argument("--record", action="store_true", help="keep what is decided, for the page")
    parser.add_argument("--out", type=Path, default=Path("runs"), metavar="DIR", help="folder of run folders")
    parser.add_argument("--resume", action="store_true", help="use the runs of this commit that ended in --out DIR")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit XML")


def execute(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Ask, show, record."""
    from harness import junit
    from harness.commands.fetch import make_ready
    from harness.entering import enter
    from harness.preflight import check_fit
    from harness.runfolder import commit
    from suites.findings import record, report
    from suites.findings.asking import ask_all
    from suites.findings.scenarios import BACKEND

    chosen = _chosen(arguments.only)
    if arguments.list:
        return _listed(chosen, terminal)
    if not arguments.target:
        raise UsageError("which broker?", hint="--target rocketmq:VERSION")
    if arguments.junit:
        junit.check(arguments.junit)
    check_fit(BACKEND, arguments.target)
    make_ready(arguments.target, terminal)
    enter(BACKEND, arguments.target, terminal)
    recorded, at = record.states(arguments.target), commit()
    answers = []
    for answer in ask_all(arguments.target, chosen, arguments.out, resume=arguments.resume):
        answers.append(answer)
        state, text = report.line(answer, recorded)
        terminal.result(f"{terminal.style(f'{state:<15}', report.COLOURS[state])}{text}")
        if arguments.record:
            record.keep(answer, at)
    if arguments.json:
        terminal.document(report.document(arguments.target, answers, recorded))
    terminal.result(f"{arguments.target}: {report.summary(answers)}")
    if arguments.junit:
        report.write_junit(arguments.junit, arguments.target, answers, recorded)
    return report.exit_code(answers, recorded)


def _chosen(only: list[int]) -> list[Finding]:
    from suites.findings.table import findings

    known = {finding.number: finding for finding in findings()}
    if strange := [number for number in only if number not in known]:
        raise UsageError(f"there is no finding {strange[0]}", hint="mqchaos findings --list")
    return [finding for number, finding in known.items() if not only or number in only]


def _listed(chosen: list[Finding], terminal: Terminal) -> int:
    for finding in chosen:
        shown = ", ".join(f"{name} {value}".strip() for name, value in finding.shows.items())
        how = f"run {finding.run}: {shown}" if finding.run else f"ask {finding.ask}"
        terminal.result(f"{finding.number:>3}  {finding.title}\n     {how}")
    return 0
