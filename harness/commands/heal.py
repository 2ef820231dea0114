"""``mqchaos heal``: undo what a dead run left behind.

Question: the harness was killed in mid-fault; is this machine clean again?

Model. Every heal journal on the disk is looked at. One whose run is alive is left alone. The others are undone, newest
entry first; what is done is said, and the journal goes. What could not be undone stays in its journal, is named, and
makes the exit code 3; so does a file that cannot be read.

Limits. Only what a heal journal lists is touched; nothing is searched for and nothing is guessed.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from harness.errors import EXIT_PASS, UndoError
from harness.terminal import Terminal

if TYPE_CHECKING:
    from faults.journal import Leftover


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``heal``."""
    parser.epilog = "examples:\n  mqchaos heal --dry-run    only say what would be undone\n  mqchaos heal\n"
    parser.add_argument("--dry-run", action="store_true", help="only say what would be undone")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")


def execute(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Heal every dead run."""
    from faults.journal import open_journals, state_folder

    leftovers = open_journals()
    said = [_entry_of(leftover, is_dry=arguments.dry_run) for leftover in leftovers]
    if arguments.json:
        terminal.document(said)
    if not leftovers:
        terminal.result(f"nothing to heal: no journal in {state_folder()}")
    for line in (line for entry in said for line in _lines(entry)):
        terminal.result(line)
    failed = [entry["failed"] for entry in said if entry["failed"]]
    if failed:
        raise UndoError("; ".join(failed), hint="see to it, then type again: mqchaos heal")
    return EXIT_PASS


def _entry_of(leftover: Leftover, *, is_dry: bool) -> dict[str, Any]:
    if leftover.damage:
        return _entry(leftover, failed=leftover.damage)
    return _dry(leftover) if is_dry or leftover.is_owned else _heal(leftover)


def _dry(leftover: Leftover) -> dict[str, Any]:
    outstanding = [entry.what for entry in leftover.outstanding]
    return _entry(leftover, outstanding=outstanding)


def _heal(leftover: Leftover) -> dict[str, Any]:
    from faults.errors import FaultTrouble
    from faults.journal import heal
    from faults.mechanisms.undo import carry_out

    try:
        return _entry(leftover, undone=heal(leftover, carry_out))
    except FaultTrouble as error:
        return _entry(leftover, failed=error.what)


def _entry(leftover: Leftover, **found: Any) -> dict[str, Any]:
    entry = {"run": leftover.run, "pid": leftover.pid, "alive": leftover.is_owned, "path": str(leftover.path)}
    return entry | {"outstanding": [], "undone": [], "failed": ""} | found


def _lines(entry: dict[str, Any]) -> list[str]:
    if entry["alive"]:
        return [f"{entry['run']}: alive (pid {entry['pid']}), left alone"]
    lines = [f"{entry['run']}: would undo {what}" for what in entry["outstanding"]]
    lines += [f"{entry['run']}: undid {what}" for what in entry["undone"]]
    return lines if lines or entry["failed"] else [f"{entry['run']}: nothing was outstanding"]
