"""``mqchaos replay``: run a run folder again, and say whether it was the same.

Question: is this run reproducible, and does it still come out like this?

Model. Scenario, seed, backend, target and defects come from the folder. In the simulator the journal must be the same
byte for byte (SHA-256) and the unseed the same number; if not, the code has changed, or it is not deterministic, and
that is an error. On real processes the plan and the load are the same and the world is not: only the outcome is told.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.commands.run import Call, document, interruptible, progress_line, show
from harness.errors import HarnessError
from harness.terminal import Terminal, Ticker

if TYPE_CHECKING:
    from harness.run import Keep, RunResult

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
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the new run (default: beside the old one)")
    parser.add_argument(
        "--keep",
        choices=("all", "none"),
        help="keep the new run's folder (default: none in the simulator, all on processes)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")


def execute(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Run again, compare, show."""
    from harness import runfolder
    from harness.scenario_file import load
    from harness.summary import EXIT_CODES

    folder = runfolder.find(arguments.run)
    run = runfolder.read_run(folder)
    is_simulated = run["backend"] == "sim"
    keep: Keep = "all" if not is_simulated else arguments.keep or "none"
    out = arguments.out or folder.parent
    call = Call(load(folder / "scenario.yaml"), run["backend"], run["target"], tuple(run["defects"]), out, keep)
    terminal.say(f"replaying {folder.name}: {run['scenario']} on {run['backend']}, {run['target']}, seed {run['seed']}")
    result = _run(call, int(run["seed"], 16), terminal)
    same = compare(run, result) if is_simulated else {}
    if arguments.json:
        terminal.document({**document(result), "of": folder.name, "same": same})
    show(result, terminal)
    if is_simulated:
        _insist(run, same, terminal)
    else:
        terminal.result(f"it was {run.get('verdict', 'not judged')}; real processes need not repeat themselves")
    return EXIT_CODES[result.outcome]


def _run(call: Call, seed: int, terminal: Terminal) -> RunResult:
    ticker = Ticker(terminal)
    with interruptible(terminal) as interrupt:
        result = call.run(seed, interrupt, lambda progress: ticker.tick(lambda: progress_line(progress)))
    ticker.clear()
    return result


def compare(run: dict[str, Any], result: RunResult) -> dict[str, bool]:
    """What is the same: journal and unseed."""
    return {
        "journal": run.get("history_sha256") == result.history_sha256,
        "unseed": run.get("unseed") == f"{result.unseed:#x}",
    }


def _insist(run: dict[str, Any], same: dict[str, bool], terminal: Terminal) -> None:
    from harness.runfolder import commit

    if not run.get("history_sha256"):
        terminal.result("the old run was killed before its end: there is nothing to compare with")
        return
    if all(same.values()):
        terminal.result(f"identical: journal SHA-256 {run['history_sha256'][:16]}…, unseed {run['unseed']}")
        return
    different = " and ".join(name for name, is_same in same.items() if not is_same)
    then, now = run.get("commit", ""), commit()
    if "+" in then + now or then != now:
        hint = f"the code is another: it ran at commit {then or 'unknown'}, this is {now or 'unknown'}"
    else:
        hint = "same commit, same seed: something in the simulator is not deterministic"
    raise HarnessError(f"the replay differs in {different}", hint=hint)
