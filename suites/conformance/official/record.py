"""Run the cases and write down what was observed: the source of the page's table.

    python -m suites.conformance.official.record --target rocketmq:4.9.7 --client java:4.9.8 [--only NAME …]

What has run replaces its own entry in ``official.jsonl`` of the recordings; everything else stays.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import suites.conformance.official.cases  # noqa: F401 - they add themselves
from suites import recorded
from suites.conformance.official.case import CASES, Observation
from suites.conformance.official.comparison import RESULTS
from suites.conformance.official.mqadmin import TOOLS
from suites.conformance.official.place import Place, place


def observe(where: Place, client: str, name: str) -> Observation:
    """What that case comes to; an exception is an observation, too."""
    kind, _, version = client.partition(":")
    try:
        if kind == "mqadmin":
            return TOOLS[name](where, version)
        return CASES[name].steps(where, where.client(client))
    except AssertionError as error:
        return f"did not come to an end: {str(error)[:200]}"


def names_for(client: str) -> list[str]:
    """Cases for that client."""
    kind = client.partition(":")[0]
    return list(TOOLS) if kind == "mqadmin" else [each.name for each in CASES.values() if kind in each.clients]


def keep(client: str, name: str, target: str, seen: Observation) -> None:
    """Write one observation."""
    about = (client, name, target)
    kept = [entry for entry in recorded.read(RESULTS) if _about(entry) != about]
    recorded.write(RESULTS, [*kept, {"client": client, "case": name, "target": target, "seen": seen}], _about)


def _about(entry: recorded.Entry) -> tuple[str, ...]:
    return entry["client"], entry["case"], entry["target"]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", required=True)
    parser.add_argument("--client", required=True)
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, place(options.target, Path(folder)) as where:
        for name in names_for(options.client):
            if options.only and name not in options.only:
                continue
            seen = observe(where, options.client, name)
            keep(options.client, name, options.target, seen)
            sys.stdout.write(f"{name}: {json.dumps(seen, ensure_ascii=False)[:150]}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
