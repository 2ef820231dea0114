"""``mqchaos campaign``: thousands of drawn plans on the simulator, over Spark; each failure once, with its seed.

Question: what breaks that nobody thought of?
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Final

from harness.errors import EXIT_ERROR, EXIT_FAIL, EXIT_PASS, EXIT_UNKNOWN, BackendUnavailable, UsageError
from harness.terminal import Terminal, Ticker

EPILOG: Final = """\
examples:
  mqchaos campaign --plans 10000
  mqchaos campaign --plans 10000 --seed 0x2a         goes on where it was broken off: same seed, same --out
  MQCHAOS_SPARK_MASTER=spark://host:7077 mqchaos campaign --plans 100000

exit codes:
  0 every plan PASS    1 some FAIL    2 some UNKNOWN    3 an error in the harness    64 usage    130 interrupted
"""
FINDINGS_SHOWN: Final = 8


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``campaign``."""
    parser.epilog = EPILOG
    parser.add_argument("--plans", type=int, default=1000, metavar="N", help="how many (default: 1000)")
    parser.add_argument("--seed", metavar="N", help="of the campaign: it decides every plan (default: a fresh one)")
    parser.add_argument("--defect", action="append", default=[], metavar="NAME", help="plant a bug (repeatable)")
    parser.add_argument("--out", type=Path, default=Path("campaigns"), metavar="DIR", help="default: campaigns")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")


def execute(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Run what is left, then tell each finding once."""
    from harness import seeds
    from harness.commands.run import check_defects
    from harness.matrix import Pace

    if arguments.plans < 1:
        raise UsageError("--plans must be at least 1")
    check_defects(arguments.defect)
    (seed,) = seeds.chosen(arguments.seed, "1", None)
    defects = tuple(arguments.defect)
    out = arguments.out / "+".join([seeds.text(seed), *defects])
    pace = Pace(arguments.plans)
    terminal.say(f"{arguments.plans} plans of campaign {seeds.text(seed)} in {out}")
    try:
        from results.campaign.fanout import run_campaign
        from results.campaign.findings import findings_of

        with Ticker(terminal) as ticker:

            def tick(done: int) -> None:
                pace.done = done
                ticker.tick(pace.line)

            rows = run_campaign(seed, arguments.plans, out, defects, tick)
    except ModuleNotFoundError as error:
        raise BackendUnavailable(f"{error.name} is not installed", hint="pip install 'mqchaos[spark]'") from error
    except KeyboardInterrupt:
        terminal.say(f"go on with: mqchaos campaign --plans {arguments.plans} --seed {seeds.text(seed)}")
        raise
    counts = Counter(rows["outcome"].to_pylist())
    findings = findings_of(rows, out, defects)
    order = ("PASS", "FAIL", "UNKNOWN", "ERROR", "REFUSED")
    terminal.result(", ".join(f"{counts[name]:,} {name}" for name in order if counts[name]))
    for finding in findings[:FINDINGS_SHOWN]:
        terminal.result(f"{finding.outcome}  {finding.cause}, {finding.plans} plans: {finding.headline[:200]}")
        terminal.result(f"  least plan: {finding.faults}")
        terminal.result(f"  {finding.command(defects)}")
    if len(findings) > FINDINGS_SHOWN:
        terminal.result(f"… and {len(findings) - FINDINGS_SHOWN} more causes in {out}")
    terminal.result(f"seed {seeds.text(seed)}")
    if arguments.json:
        terminal.document({"seed": seeds.text(seed), "plans": arguments.plans, "outcomes": dict(counts),
                           "findings": [{**vars(found), "file": str(found.file), "command": found.command(defects)}
                                        for found in findings]})  # fmt: skip
    for name, code in (("FAIL", EXIT_FAIL), ("ERROR", EXIT_ERROR), ("UNKNOWN", EXIT_UNKNOWN)):
        if counts[name]:
            return code
    return EXIT_PASS
