"""How long does a person wait for ``mqchaos --help``?

Whole processes, wall time, interpreter start included: the best of many, and the median. The yardstick is the bare
interpreter, measured in turns with the commands, since everything up to that is not ours. The aim is 100 ms for the
first command.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.figure import Figure, wall_seconds

ROOT = Path(__file__).resolve().parent.parent
TIMES = 15
AIM_MS = 100
BARE = "bare interpreter"

CALLS = {
    BARE: ["-c", "pass"],
    "mqchaos --help": ["-m", "harness.cli", "--help"],
    "mqchaos run --help": ["-m", "harness.cli", "run", "--help"],
    "mqchaos list scenarios": ["-m", "harness.cli", "list", "scenarios"],
    "mqchaos list promises": ["-m", "harness.cli", "list", "promises"],
}


def milliseconds(words: list[str]) -> float:
    """One whole process."""
    return 1000 * wall_seconds(
        lambda: subprocess.run([sys.executable, *words], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    )


def measure(quick: bool) -> Iterator[Figure]:
    measured: dict[str, list[float]] = {label: [] for label in CALLS}
    for _ in range(2 if quick else TIMES):
        for label, words in CALLS.items():
            measured[label].append(milliseconds(words))
    bare = min(measured[BARE])
    for label, values in measured.items():
        aim = AIM_MS if label == "mqchaos --help" else None
        note = f"median {median(values):.0f} ms"
        yield Figure(label, min(values), "ms", min(values) / bare, "bare", at_most=aim, note=note)
