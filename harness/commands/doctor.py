"""``mqchaos doctor``: what this machine can run, and how to get what it lacks; what dead runs left on it.

``--clean`` removes what is left of runs that live no more (``harness/cleaning.py``): first what their heal journals
list, as ``mqchaos heal`` does, then what carries their tags.
"""

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
  mqchaos doctor --clean --dry-run    what of dead runs would be removed
  mqchaos doctor --clean

exit codes:
  0 what is missing is optional    3 the harness cannot run, or a dead run left something behind
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``doctor``."""
    parser.epilog = EPILOG
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    parser.add_argument("--clean", action="store_true", help="remove what runs have left that live no more")
    parser.add_argument("--dry-run", action="store_true", help="with --clean: only say what would be removed")


def execute(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Look and say, or clean."""
    if arguments.clean:
        return _clean(terminal, is_dry=arguments.dry_run)
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


def _clean(terminal: Terminal, *, is_dry: bool) -> int:
    from harness import cleaning
    from harness.commands import heal

    heal.execute(argparse.Namespace(dry_run=is_dry, json=False), terminal)
    found = cleaning.strays()
    if not found:
        terminal.result("nothing to clean: nothing here carries the tag of a run that lives no more")
    if is_dry:
        for stray in found:
            terminal.result(f"{stray.tag}: would remove {stray.what}")
        return EXIT_PASS
    failed = []
    for stray, why in cleaning.remove(found):
        terminal.result(f"{stray.tag}: {f'could not remove {stray.what}: {why}' if why else f'removed {stray.what}'}")
        failed += [stray] if why else []
    return EXIT_ERROR if failed else EXIT_PASS
