"""How fast is it, beside what, and is that what was aimed at?

    python -m benchmarks                 all of them, one after the other
    python -m benchmarks simulator runs  some of them
    python -m benchmarks --quick         tiny sizes: shows that they work, measures nothing
    python -m benchmarks --list

Each benchmark is a module of this package with ``measure(quick) -> Iterator[Figure]``. They are for people: no figure
fails a build, since what a machine that others use gives today says nothing about the code. Exit code 0 whether aims
are met or not; the table says which. After a cluster that did not start, one line of error, the next one is measured,
and the exit code is 3.
"""

from __future__ import annotations

import argparse
import gc
import platform
import sys
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from time import monotonic_ns

from benchmarks.figure import Figure, load_average
from harness.errors import EXIT_ERROR, EXIT_PASS, HarnessError

BENCHMARKS = {
    "command_line": "how long a person waits for --help",
    "recorder": "events recorded, and folded into columns again",
    "simulator": "simulated seconds a second: a cluster under load",
    "checkers": "operations decided a second, memory, and Porcupine beside it",
    "runs": "simulated runs a minute: drawn, run, checked",
    "lake": "answers over 100 to 10,000 stored runs, beside DuckDB",
    "recheck": "stored runs judged again on all cores, beside one process",
    "brokers": "sends a second on real processes, beside Apache RocketMQ",
    "groups": "sends a second of a group of three, beside Apache RocketMQ",
    "failover": "a group without its leader: detect, elect, register, route, beside Apache RocketMQ",
    "controllers": "a broker name whose master dies, in controller mode: until another is listed, and takes messages",
    "clients": "deliveries, new owners and messages in order, beside Apache RocketMQ",
    "memory": "what clients that mean no good make a node keep, and how long others wait",
    "replication": "how far a slave is behind, and what waiting for it costs, beside Apache RocketMQ",
}


def measured(name: str, quick: bool) -> list[Figure]:
    """Run one benchmark; its figures are printed as they come."""
    begin_ns = monotonic_ns()
    print(f"\n{name}: {BENCHMARKS[name]}   ({load_average()})", flush=True)
    figures = []
    for figure in import_module(f"benchmarks.{name}").measure(quick):
        if quick:
            figure = replace(figure, at_least=None, at_most=None)
        figures.append(figure)
        print(figure.line(), flush=True)
    print(f"  {(monotonic_ns() - begin_ns) / 1e9:.0f} s, {load_average()}")
    gc.collect()
    return figures


def machine() -> str:
    """What the figures hold for."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("msgspec", "numpy", "pyarrow"))
    return (
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {libraries}, {load_average()}"
    )


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="tiny sizes, no meaning in the figures")
    parser.add_argument("--list", action="store_true", help="names and what they measure")
    options = parser.parse_args(words)
    if options.list:
        print("\n".join(f"{name:<14} {what}" for name, what in BENCHMARKS.items()))
        return 0
    if unknown := [name for name in options.names if name not in BENCHMARKS]:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    print(machine())
    figures: list[Figure] = []
    code = EXIT_PASS
    for name in options.names or BENCHMARKS:
        try:
            figures += measured(name, options.quick)
        except HarnessError as error:  # a cluster that does not start: the other benchmarks can still be had
            print(f"  error: {error.what}" + (f"\n  hint: {error.hint}" if error.hint else ""), file=sys.stderr)
            code = EXIT_ERROR
    aimed = [figure for figure in figures if figure.aim]
    print(f"\n{sum(bool(figure.is_met) for figure in aimed)} of {len(aimed)} aims met" if aimed else "")
    return code


if __name__ == "__main__":
    sys.exit(main())
