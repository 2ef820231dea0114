"""``mqchaos shrink``: the least plan that fails as a run did, as a scenario file.

Question: what of all that happened in this run is needed for its failure?
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from faults.units import duration_text
from harness.scenario import Scenario
from harness.terminal import Terminal

EPILOG = """\
examples:
  mqchaos shrink runs/latest
  mqchaos shrink runs/r-20240131-142501-1f2e3d4c --out least.yaml

exit codes:
  0 the least scenario was written    3 an error    64 usage, or a run that passes
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``shrink``."""
    parser.epilog = EPILOG
    parser.add_argument(
        "run", metavar="RUN", help="the folder of a simulated run that failed, its name, or runs/latest"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="the scenario file (default: shrunk.yaml in the folder)"
    )


def execute(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Shrink and write; the command that shows it comes last."""
    from harness import runfolder
    from harness.errors import EXIT_PASS
    from harness.scenario_file import dump
    from harness.shrink import failure_of, shrunk

    folder = runfolder.find(arguments.run)
    failure = failure_of(folder)
    terminal.say(f"{folder.name}: {failure.cause}, {_size(failure.scenario)}")

    def shows(scenario: Scenario) -> bool:
        is_shown = failure.shows(scenario)
        terminal.say(f"  {'still' if is_shown else 'not'} with {_size(scenario)}")
        return is_shown

    least = replace(shrunk(failure.scenario, shows), seed=failure.seed)
    path = arguments.out or folder / "shrunk.yaml"
    path.write_text(dump(least), encoding="utf-8")
    planted = "".join(f" --defect {defect}" for defect in failure.defects)
    terminal.result(f"{failure.cause} with {_size(least)}")
    for fault in least.faults:
        terminal.result(f"  {fault}")
    terminal.result(f"mqchaos run {path}{planted}")
    return EXIT_PASS


def _size(scenario: Scenario) -> str:
    count = len(scenario.faults)
    return f"{count} {'fault' if count == 1 else 'faults'}, {duration_text(scenario.workload.duration_ns)} of load"
