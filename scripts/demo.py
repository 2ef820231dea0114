"""``make demo``: brokers die, verdicts, a dashboard. Every step is a command that a person can type.

Three parts: the grid of modes and faults on the simulator, the same guarantees on real processes (as root with real
power cuts, one of them in a container where an engine answers), and Spark's tables and page over all of it. What this
user may not do is named and left out. Runs, lake, marts and page go to ``demo/``, which is made anew.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from harness.backends.table import BACKENDS

DEMO = Path("demo")
RUNS = DEMO / "runs"
GRID_SEEDS = 20


def main() -> int:
    shutil.rmtree(DEMO, ignore_errors=True)
    started = time.monotonic()
    steps = [
        ("Modes × faults × seeds, simulated", _grid()),
        ("One of three brokers is killed, real processes", _run("multi-master-kill", "process")),
        *_power_cuts(),
        ("A planted bug: acknowledging before the disk has it. The verdict must be FAIL", _planted()),
        ("All runs into the lake", ["lake", "add", str(RUNS), "--lake", str(DEMO / "lake")]),
        (
            "Spark's tables over all of them",
            ["lake", "marts", "--lake", str(DEMO / "lake"), "--out", str(DEMO / "marts")],
        ),
        ("One page", ["dashboard", "--marts", str(DEMO / "marts"), "--out", str(DEMO / "dashboard.html")]),
    ]
    for title, arguments in steps:
        wanted = 1 if "--defect" in arguments else 0
        if (code := _step(title, arguments)) != wanted:
            print(f"\ndemo: that step should have ended with exit code {wanted}, it was {code}", file=sys.stderr)
            return code or 1
    print(f"\ndemo: all of it in {time.monotonic() - started:.0f} s. Open {DEMO / 'dashboard.html'} in a browser.")
    return 0


def _step(title: str, arguments: list[str]) -> int:
    print(f"\n── {title}\n$ mqchaos {' '.join(arguments)}", flush=True)
    return subprocess.run([sys.executable, "-m", "harness.cli", *arguments], check=False).returncode


def _grid() -> list[str]:
    return ["matrix", "--seeds", str(GRID_SEEDS), "--seed", "1", "--keep", "all", "--out", str(RUNS)]


def _run(scenario: str, backend: str) -> list[str]:
    return ["run", scenario, "--backend", backend, "--out", str(RUNS)]


def _power_cuts() -> list[tuple[str, list[str]]]:
    if os.geteuid() != 0:
        print("demo: left out, needs root: power cuts on real disks (the simulator's are in the grid)")
        return []
    if lack := _lack_of_containers():
        print(f"demo: left out, nodes in containers: {lack}")
    backend, place = ("process", "real process") if lack else ("docker", "in a container")
    return [
        ("Power cut under ASYNC_FLUSH, real process, real disk", _run("single-master-async-power-cut", "process")),
        (f"Power cut under SYNC_FLUSH, {place}, real disk", _run("single-master-sync-power-cut", backend)),
    ]


def _lack_of_containers() -> str:
    """Why no node runs in a container here; also where its image would have to be made first, which takes minutes."""
    if lack := BACKENDS["docker"].capabilities().lacks().get("power", ""):
        return lack
    from faults.mechanisms import engine
    from harness.backends.docker.images import is_there

    client = engine.connect()
    has_image = is_there(client, "mqchaos/reference:latest")
    client.close()
    return "" if has_image else "no image of nodes yet (scripts/setup --docker)"


def _planted() -> list[str]:
    return [*_run("single-master-sync-power-cut", "sim"), "--defect", "ack-before-fsync", "--seed", "1"]


if __name__ == "__main__":
    sys.exit(main())
