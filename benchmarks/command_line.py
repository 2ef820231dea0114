"""How long does a person wait for ``mqchaos --help``?

    python benchmarks/command_line.py [--times 15]

Whole processes, wall time, the median of many, interpreter start included. Beside it the bare interpreter, measured in
turns with it, since everything below that is not ours. The aim is 100 ms for the first line.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import monotonic_ns

ROOT = Path(__file__).resolve().parent.parent

CALLS = {
    "bare interpreter": ["-c", "pass"],
    "mqchaos --help": ["-m", "harness.cli", "--help"],
    "mqchaos run --help": ["-m", "harness.cli", "run", "--help"],
    "mqchaos list scenarios": ["-m", "harness.cli", "list", "scenarios"],
    "mqchaos list promises": ["-m", "harness.cli", "list", "promises"],
}


def milliseconds(words: list[str]) -> float:
    start_ns = monotonic_ns()
    subprocess.run([sys.executable, *words], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return (monotonic_ns() - start_ns) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=15)
    times = parser.parse_args().times
    measured: dict[str, list[float]] = {label: [] for label in CALLS}
    for _ in range(times):
        for label, words in CALLS.items():
            measured[label].append(milliseconds(words))
    bare = median(measured["bare interpreter"])
    for label, values in measured.items():
        print(
            f"{label:<26} {median(values):>7.0f} ms   {median(values) / bare:5.1f} × bare   best {min(values):.0f} ms"
        )


if __name__ == "__main__":
    main()
