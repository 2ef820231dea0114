"""``make soak``: ten thousand simulated runs of brokers without planted bugs over the whole grid; none may FAIL.

    python scripts/soak.py [--runs 10000] [--seed N] [--jobs N]

All modes with either flush type, every column of the matrix, random plans among them. The figure that a checker's
silence is worth. Prints the cells and the number of runs; ends with 1 if any run FAILed (in a random plan: in a way
that RocketMQ is not known for), with 2 if any was UNKNOWN.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

from harness.errors import EXIT_FAIL, EXIT_PASS, EXIT_UNKNOWN
from harness.matrix import JOBS, NAMES, ROWS, exists

JUDGED = (EXIT_PASS, EXIT_FAIL, EXIT_UNKNOWN)
"""Exit codes of a grid that was run to its end."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000, help="how many runs in all (default: 10000)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed of every cell (default: 1)")
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"worker processes (default: {JOBS})")
    arguments = parser.parse_args()
    cells = sum(exists(row.name, column) for row in ROWS for column in NAMES)
    seeds = -(-arguments.runs // cells)
    command = ["matrix", "--seeds", str(seeds), "--seed", str(arguments.seed), "--out", "runs/soak"]
    command += ["--jobs", str(arguments.jobs)]
    command += [word for row in ROWS for word in ("--row", row.name)]
    command += [word for column in NAMES for word in ("--fault", column)]
    began = time.monotonic()
    code = subprocess.run([sys.executable, "-m", "harness.cli", *command], check=False).returncode
    took_s = time.monotonic() - began
    if code not in JUDGED:
        print(f"not finished: exit code {code} after {took_s:.0f} s; the cells above hold what was done")
        return code
    print(f"{seeds * cells} runs in {took_s:.0f} s ({seeds * cells / took_s * 60:.0f} a minute), exit code {code}")
    return code


if __name__ == "__main__":
    sys.exit(main())
