"""``mqchaos replay``: run a run folder again, and say whether it was the same.

Question: is this run reproducible, and does it still come out like this?

Model. Scenario, seed, backend, target and defects come from the folder. In the simulator the journal must be the same
byte for byte (SHA-256) and the final draw the same number; if not, the code has changed, or it is not deterministic,
and that is an error. On real processes the plan and the load are the same and the world is not: only the outcome is
told.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.commands.run import document, interruptible, progress_line, show
from harness.errors import HarnessError
from harness.terminal import Terminal, Ticker

if TYPE_CHECKING:
    from harness.replay import Replay

EPILOG = """\
examples:
  mqchaos replay runs/latest
  mqchaos replay runs/r-20240131-142501-1f2e3d4c --keep all

exit codes:
  0 PASS    1 FAIL    2 UNKNOWN    3 a simulated run came out differently, or an error    64 usage
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``replay``."""
    parser.epilog = EPILOG
    parser.add_argument("run", metavar="RUN", help="a run folder, its name, or runs/latest")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="keep the new run below DIR (default: beside the old one)"
    )
    parser.add_argument(
        "--keep",
        choices=("all", "none"),
        help="keep the new run's folder (default: all on processes or with --out, else none)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")


def execute(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Run again, compare, show."""
    from harness import runfolder
    from harness.backends.table import backend_named
    from harness.entering import enter
    from harness.summary import EXIT_CODES

    folder = runfolder.find(arguments.run)
    run = runfolder.read_run(folder)
    enter(run["backend"], run["target"], terminal)
    is_deterministic = backend_named(run["backend"]).is_deterministic
    keep = arguments.keep or ("none" if is_deterministic and not arguments.out else "all")
    terminal.say(f"replaying {folder.name}: {run['scenario']} on {run['backend']}, {run['target']}, seed {run['seed']}")
    again = _run(folder, None if keep == "none" else arguments.out or folder.parent, terminal)
    result, command = again.result, "" if again.result.folder else f"mqchaos replay {folder}"
    if arguments.json:
        same = {name: name not in again.differences for name in ("journal", "final_draw")} if is_deterministic else {}
        terminal.document({**document(result, command), "of": folder.name, "same": same})
    show(result, terminal, command)
    if is_deterministic:
        _insist(run, again, terminal)
    else:
        terminal.result(f"it was {run.get('verdict', 'not judged')}; real processes need not repeat themselves")
    return EXIT_CODES[result.outcome]


def _run(folder: Path, out: Path | None, terminal: Terminal) -> Replay:
    from harness.replay import replay

    ticker = Ticker(terminal)
    with interruptible(terminal) as interrupt:
        again = replay(
            folder,
            out=out,
            on_progress=lambda progress: ticker.tick(lambda: progress_line(progress)),
            interrupt=interrupt,
        )
    ticker.clear()
    return again


def _insist(run: dict[str, Any], again: Replay, terminal: Terminal) -> None:
    from harness.runfolder import commit

    if again.is_same:
        terminal.result(again.sentence)
        return
    for difference in again.differences.values():
        terminal.say(difference)
    then, now = run.get("commit", ""), commit()
    if "+" in then + now or then != now:
        hint = f"the code is another: it ran at commit {then or 'unknown'}, this is {now or 'unknown'}"
    else:
        hint = "same commit, same seed: something in the simulator is not deterministic"
    raise HarnessError(f"the replay differs in {' and '.join(again.differences)}", hint=hint)
