"""``python -m suites.hostile [ATTACK …] [--seeds N] [--first S]``: attacks with many seeds, and the seed that broke it.

Each seed has at most ``--limit`` seconds; one that takes longer counts as a hang. After ``--seconds`` no further seed
begins, and the last line says how many there were. Ends with 1 if anything did not hold.
"""

from __future__ import annotations

import argparse
import faulthandler
import math
import resource
import signal
import sys
import time
import traceback
from importlib import import_module
from types import FrameType
from typing import Final

ATTACKS: Final = ("frames", "nameserver_frames", "stores", "tables", "configurations", "histories")
ASKED_FOR: Final = ("kills", "container_kills")
"""Take a quarter of a minute a seed, root, and disks and namespaces of this machine, or an engine."""
SEEDS: Final = 200
SHOWN_MAX: Final = 5


class TooLong(Exception):
    """A seed did not come to its end."""


def attack(name: str, first: int, seeds: int, limit_s: int, until_s: float = math.inf) -> int:
    """How many of the seeds did not hold."""
    module = import_module(f"suites.hostile.{name}")
    bad = done = 0
    for seed in range(first, first + seeds):
        if time.monotonic() > until_s:
            break
        done += 1
        signal.alarm(limit_s)
        try:
            module.attack(seed)
        except Exception:  # noqa: BLE001  # whatever it is, it did not hold
            signal.alarm(0)
            bad += 1
            _say(f"{name} --first {seed} --seeds 1")
            if bad <= SHOWN_MAX:
                traceback.print_exc(limit=-12, file=sys.stdout)
        finally:
            signal.alarm(0)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    _say(f"{name}: {done} seeds from {first} on ({module.A_SEED}), {bad} did not hold, {peak_mb:.0f} MB at most")
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m suites.hostile", description=__doc__.splitlines()[0])
    parser.add_argument(
        "attacks", nargs="*", metavar="ATTACK", help=f"of {', '.join(ATTACKS)} (default: these), {', '.join(ASKED_FOR)}"
    )
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"how many (default: {SEEDS})")
    parser.add_argument("--first", type=int, default=1, help="the first (default: 1)")
    parser.add_argument("--limit", type=int, default=60, help="seconds a seed (default: 60)")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no seed later (default: do all)")
    arguments = parser.parse_args()
    until_s = time.monotonic() + arguments.seconds
    unknown = [name for name in arguments.attacks if name not in (*ATTACKS, *ASKED_FOR)]
    if unknown:
        parser.error(f"no attack {unknown[0]!r}")
    faulthandler.enable()
    signal.signal(signal.SIGALRM, _too_long)
    names = arguments.attacks or ATTACKS
    return min(1, sum(attack(name, arguments.first, arguments.seeds, arguments.limit, until_s) for name in names))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _too_long(signum: int, frame: FrameType | None) -> None:
    raise TooLong(f"in {frame.f_code.co_qualname}" if frame else "")


if __name__ == "__main__":
    sys.exit(main())
