"""``mqchaos doctor``: what this machine can run, and how to get what it lacks."""

from __future__ import annotations

import argparse
from typing import Final

from harness.errors import EXIT_ERROR, EXIT_PASS
from harness.terminal import Terminal

COLOURS: Final = {"ok": "green", "missing": "yellow", "trouble": "red"}
EPILOG = """\
examples:
  mqchaos doctor
  mqchaos doctor --json

exit codes:
  0 what is missing is optional    3 the harness cannot run, or a dead run left something behind
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``doctor``."""
    parser.epilog = EPILOG
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")


def execute(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Look and say."""
    from harness.doctor import examine, is_well

    findings = examine()
    if arguments.json:
        terminal.document({"well": is_well(findings), "findings": [finding.to_json() for finding in findings]})
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        state = terminal.style(f"{finding.state:<8}", COLOURS[finding.state])
        terminal.result(f"{state} {finding.name:<{width}}  {finding.found}".rstrip())
        if finding.fix:
            terminal.result(f"{'':<9}{'':<{width}}  {terminal.style('fix:', 'yellow')} {finding.fix}")
    return EXIT_PASS if is_well(findings) else EXIT_ERROR
